//! Waiting for an accelerator that several share: Q from a queueing model.

/// Offloads arrive at random (Poisson) and are served in order of arrival.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Queue {
    /// Exponential service times.
    MM1,
    /// Each offload takes equally long.
    MD1,
    /// Any service times; the squared coefficient of variation, or `None` to take that of the sizes.
    MG1(Option<f64>),
    /// Exponential service times, so many accelerators behind one queue.
    MMc(u32),
}

/// The names of the models in files.
pub const QUEUES: [&str; 4] = ["M/M/1", "M/D/1", "M/G/1", "M/M/c"];

/// Accelerators behind one queue at most.
pub const SERVERS_MAX: u32 = 1_024;

impl Queue {
    /// How many accelerators serve.
    #[must_use]
    pub fn servers(self) -> f64 {
        match self {
            Self::MMc(servers) => f64::from(servers),
            _ => 1.0,
        }
    }

    /// The mean wait, in units of the mean service time; `None` where arrivals outrun service.
    ///
    /// `utilisation` is the share of its time that each accelerator is busy; `variation` the squared coefficient of
    /// variation that M/G/1 takes where it has none of its own. M/G/1 by Pollaczek and Khinchine, M/M/c by Erlang's C.
    #[must_use]
    pub fn wait(self, utilisation: f64, variation: f64) -> Option<f64> {
        if !(0.0..1.0).contains(&utilisation) {
            return None;
        }
        let single = utilisation / (1.0 - utilisation);
        Some(match self {
            Self::MM1 => single,
            Self::MD1 => single / 2.0,
            Self::MG1(own) => single * f64::midpoint(1.0, own.unwrap_or(variation)),
            Self::MMc(servers) => {
                let free = f64::from(servers) * (1.0 - utilisation);
                waiting_probability(servers, utilisation) / free
            }
        })
    }
}

/// Erlang's C by way of Erlang's B, whose recursion does not overflow.
fn waiting_probability(servers: u32, utilisation: f64) -> f64 {
    let offered = f64::from(servers) * utilisation;
    let blocked = (1..=servers)
        .fold(1.0, |blocked, n| offered * blocked / (f64::from(n) + offered * blocked));
    blocked / (1.0 - utilisation * (1.0 - blocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_the_textbook() {
        let close = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} for {expected}");
        };
        close(Queue::MM1.wait(0.5, 0.0), 1.0);
        close(Queue::MD1.wait(0.5, 0.0), 0.5);
        close(Queue::MG1(Some(1.0)).wait(0.5, 0.0), 1.0);
        close(Queue::MG1(None).wait(0.5, 3.0), 2.0);
        close(Queue::MMc(1).wait(0.8, 0.0), 4.0);
        // Two servers at 0.75: C = 9/14, wait C/(2·0.25) = 9/7.
        close(Queue::MMc(2).wait(0.75, 0.0), 9.0 / 7.0);
    }

    #[test]
    fn more_servers_at_the_same_utilisation_wait_less() {
        let waits: Vec<f64> =
            [1, 2, 8, 64, 1_024].map(|n| Queue::MMc(n).wait(0.9, 0.0).unwrap()).to_vec();
        assert!(waits.is_sorted_by(|one, other| one > other), "{waits:?}");
    }

    #[test]
    fn what_arrives_faster_than_it_is_served_has_no_wait() {
        for queue in [Queue::MM1, Queue::MD1, Queue::MG1(None), Queue::MMc(3)] {
            assert_eq!(queue.wait(1.0, 0.0), None);
            assert_eq!(queue.wait(f64::NAN, 0.0), None);
            assert_eq!(queue.wait(0.0, 0.0), Some(0.0));
        }
    }
}
