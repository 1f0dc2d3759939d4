//! How a server waits for requests, by which its readings are told.

use serde::{Deserialize, Serialize};
use tailwater_core::threads::{Model, Reception};

/// How the server's threads wait for requests.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Waiting {
    Asleep,
    /// They spin for a while before they sleep, or in a part of the run; or nothing is known of it.
    Partly,
    Spinning,
}

impl Waiting {
    /// Of a run in which the server has these models.
    pub(crate) fn of(models: impl IntoIterator<Item = Model>) -> Self {
        let receptions: Vec<Reception> = models.into_iter().map(|it| it.reception).collect();
        if receptions.iter().all(|it| *it == Reception::Block) {
            Self::Asleep
        } else if receptions.iter().all(|it| *it == Reception::Poll) {
            Self::Spinning
        } else {
            Self::Partly
        }
    }

    /// Whether CPU time is that of waiting, too, so that only busy time says what requests cost.
    pub(crate) const fn spends_cpu(self) -> bool {
        !matches!(self, Self::Asleep)
    }

    /// Whether calls and waits are as many with few requests: a server that sleeps between them makes them for each.
    pub(super) const fn is_by_time(self) -> bool {
        matches!(self, Self::Spinning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_always_spins_makes_its_calls_by_time() {
        let of = |names: &[&str]| {
            let models = names.iter().map(|name| name.parse().expect("a model"));
            let waiting = Waiting::of(models);
            (waiting.spends_cpu(), waiting.is_by_time())
        };
        assert_eq!(of(&["sib"]), (false, false));
        assert_eq!(of(&["sip", "adp:4"]), (true, true));
        for sleeps_too in [&["sib@spin:20us"][..], &["sip", "sib"], &["sip", "sib@spin:20us"]] {
            assert_eq!(of(sleeps_too), (true, false), "{sleeps_too:?}");
        }
    }
}
