//! `[clients.retry]`: what clients do when one of several replicas refuses.

use super::choices::{FIRST, FirstReplica};
use super::section::Section;
use std::time::Duration;
use tailwater_core::Ratio;

/// How calls are tried again at another replica. Only where the server has replicas.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Retry {
    /// Most replicas that one call is tried at. Default 2, a retry (Protego §5.3); 1 for none. Each
    /// server's controller is built for the objective divided by this, which is the paper's rule for its
    /// target delay (§3.3).
    pub tries: u32,
    /// How long a call waits for credit before it goes to another replica. Default: until its client
    /// gives it up. The paper: 10 µs.
    pub credit_wait: Option<Duration>,
    /// Retries after a shed for each request of a client; default 0.1. At 1 a full fleet gets double
    /// the load.
    pub budget: Ratio,
    /// Such retries that may come at once. Default 10; with few requests per client, this is most of
    /// them.
    pub burst: u32,
    /// Where requests go first. Default `own`.
    pub first: FirstReplica,
}

impl Retry {
    /// `replicas` are those of the server.
    pub(super) fn read(section: &Section<'_>, replicas: u32) -> Self {
        let tries = section.whole("tries").unwrap_or(2);
        if let Some(item) = section.item("tries")
            && replicas > 1
            && tries > replicas
        {
            item.problem(format!(
                "{} is {tries}, but server.replicas is {replicas}; as many at most are needed, since no \
                 request is tried twice at one",
                item.name
            ));
        }
        Self {
            tries,
            credit_wait: section.duration("credit_wait"),
            budget: Ratio(section.number("budget").unwrap_or(0.1)),
            burst: section.whole("burst").unwrap_or(10),
            first: section.choice("first", FIRST).unwrap_or(FirstReplica::Own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    const LEAST: &str = r#"
slo = "220us"
server.service = { distribution = "exponential", mean = "10us" }
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
"#;

    fn parsed(said: &str) -> Result<Scenario, String> {
        Scenario::parse("x.toml", &format!("{LEAST}{said}")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_without_replicas_has_one_and_targets_the_objective() {
        let scenario = parsed("").unwrap();
        assert_eq!((scenario.server.replicas, scenario.clients.retry.tries), (1, 2));
        assert_eq!(scenario.target(scenario.slo[0]), scenario.slo[0]);
        assert_eq!(scenario.needs_simulator(), None);
    }

    #[test]
    fn every_key_is_read_and_tries_divide_the_objective() {
        let said = "server.replicas = 3\nclients.retry = { tries = 2, credit_wait = \"10us\", \
                    budget = 1, burst = 5, first = \"primary\" }\n";
        let scenario = parsed(said).unwrap();
        let expected = Retry {
            tries: 2,
            credit_wait: Some(Duration::from_micros(10)),
            budget: Ratio(1.0),
            burst: 5,
            first: FirstReplica::Primary,
        };
        assert_eq!((scenario.server.replicas, scenario.clients.retry), (3, expected));
        assert_eq!(scenario.target(scenario.slo[0]), Duration::from_micros(110));
        assert_eq!((scenario.needs_simulator(), scenario.needs_sockets()), (None, None));
    }

    #[test]
    fn messages_say_what_does_not_go_together() {
        for (said, message) in [
            (
                "clients.retry = { tries = 2 }",
                "x.toml:7:17: clients.retry is given, but server.replicas is 1; two or more are needed, \
                 or leave it out",
            ),
            (
                "server.replicas = 2\nclients.retry = { tries = 3 }",
                "x.toml:8:27: clients.retry.tries is 3, but server.replicas is 2; as many at most are \
                 needed, since no request is tried twice at one",
            ),
            (
                "server.replicas = 2\nclients.retry = { first = \"primry\" }",
                "x.toml:8:27: clients.retry.first is \"primry\"; did you mean primary? Known are: own, \
                 primary, least-loaded",
            ),
            (
                "server.replicas = 2\nserver.cores = [0, 1, 2]",
                "x.toml:8:16: server.cores names 3 cores; one for each loop of each replica (2) is needed, or leave \
                 it out",
            ),
            (
                "server.replicas = 33",
                "x.toml:7:19: server.replicas is 33; a whole number from 1 to 32 is needed",
            ),
        ] {
            assert_eq!(parsed(said).err().unwrap_or_default(), message, "{said}");
        }
    }
}
