//! Whether a server stayed while it was asked.

use serde::{Deserialize, Serialize};

/// What became of a fleet's connections since all stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// All that there are, one for each client and one for the counts of each server.
    pub all: u64,
    /// Those that stand now.
    pub up: u64,
    /// Lost, and attempts to make them again that failed: closed, broken off, refused or silent.
    pub lost: u64,
    /// Ended by the server's GOODBYE, as when it drains.
    pub goodbyes: u64,
}

impl Connections {
    /// Of several fleets together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            up: self.up + other.up,
            lost: self.lost + other.lost,
            goodbyes: self.goodbyes + other.goodbyes,
        }
    }

    /// What happened, where anything did.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let Self { all, up, lost, goodbyes } = self;
        (lost + goodbyes > 0 || up < all).then(|| {
            format!(
                "the server did not stay: connections and attempts were lost {lost} times and ended by its \
                 goodbye {goodbyes} times; {up} of {all} stand at the end"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::{Fleet, FleetError};
    use std::time::Duration;
    use tailwater_control::Site;
    use tailwater_control::catalog::{Controller, Spec};
    use tailwater_rt::{Reply, Request, Server, ServerConfig};

    fn none() -> Controller {
        Spec::named("none").build(&Site::one_loop(Duration::from_secs(60), 1)).unwrap()
    }

    fn start() -> Server {
        let echo = |request: Request| async { Reply::ok(request.payload) };
        Server::start(ServerConfig::default(), none().admission, echo).unwrap()
    }

    #[test]
    fn a_server_that_stays_is_no_trouble_and_one_that_goes_is_told() {
        let server = start();
        let mut fleet = Fleet::connect(server.address(), 3, &none(), &[]).unwrap();
        let all_stand = Connections { all: 4, up: 4, lost: 0, goodbyes: 0 };
        assert_eq!(fleet.connections(), all_stand);
        assert_eq!(all_stand.trouble(), None);
        let _ = server.drain(Duration::ZERO);
        while fleet.connections().up > 0 {
            fleet.turn(Duration::from_millis(10));
        }
        let found = fleet.connections();
        assert!(found.lost + found.goodbyes >= 4, "{found:?}");
        let trouble = found.plus(all_stand).trouble().unwrap_or_default();
        assert!(trouble.ends_with("4 of 8 stand at the end"), "{trouble}");
    }

    #[test]
    fn a_node_that_is_asked_for_counts_and_does_not_listen_is_named() {
        let (server, gone) = (start(), start());
        let node = gone.address().clone();
        let _ = gone.drain(Duration::ZERO);
        match Fleet::connect(server.address(), 2, &none(), std::slice::from_ref(&node)) {
            Err(error @ FleetError::Unreachable { .. }) => {
                let told = error.to_string();
                assert!(told.contains(&node.to_string()) && told.contains("refused"), "{told}");
            }
            other => panic!("{:?}", other.err()),
        }
    }

    #[test]
    fn where_nothing_listens_the_clients_are_counted_without_the_one_for_counts() {
        let server = start();
        let address = server.address().clone();
        let _ = server.drain(Duration::ZERO);
        match Fleet::connect(&address, 2, &none(), &[]) {
            Err(error @ FleetError::Unconnected { up: 0, wanted: 2, .. }) => {
                let told = error.to_string();
                assert!(told.contains("0 of 2 clients") && told.contains("refused"), "{told}");
            }
            other => panic!("{:?}", other.err()),
        }
    }
}
