//! What counts follow: requests, or time.
//!
//! A part of the window has more requests than another, and just as many timers. Only what requests cause is told by them.

use super::Window;
use std::collections::BTreeMap;
use tailwater_stats::traits::ALL_CALLS;

/// System calls of sleeps and of spinning, which requests do not cause.
const CALLS_BY_TIME: [&str; 2] = ["clock_nanosleep", "sched_yield"];
/// By these a server that spins looks for requests, the less often the more it finds.
const POLLS: [&str; 4] = ["epoll_pwait", "epoll_pwait2", "epoll_wait", "ppoll"];
/// Softirqs of packets. All others are those of timers, of balancing and of the kernel's own chores.
const SOFTIRQS_BY_REQUESTS: [&str; 2] = ["net_rx", "net_tx"];

/// System calls per second, by name.
pub(super) fn rates(
    counts: BTreeMap<String, u64>,
    spins: bool,
    window: &Window,
) -> BTreeMap<String, f64> {
    let by_time = |name: &str| CALLS_BY_TIME.contains(&name) || spins && POLLS.contains(&name);
    let steady = counts.iter().filter(|(name, _)| by_time(name)).map(|(_, count)| count).sum();
    let rate = |(name, count): (String, u64)| {
        let per_s = match &*name {
            // The two are not read at the same instant.
            ALL_CALLS => window.by_time(steady) + window.by_requests(count.saturating_sub(steady)),
            name if by_time(name) => window.by_time(count),
            _ => window.by_requests(count),
        };
        (name, per_s)
    };
    counts.into_iter().map(rate).collect()
}

/// Waits for a core per second: each follows a waking, or being preempted, which a server that spins is all the time.
pub(super) fn waits(count: u64, spins: bool, window: &Window) -> f64 {
    if spins { window.by_time(count) } else { window.by_requests(count) }
}

/// Softirqs of a kind per second.
pub(super) fn softirqs(name: &str, count: u64, window: &Window) -> f64 {
    match SOFTIRQS_BY_REQUESTS.contains(&name) {
        true => window.by_requests(count),
        false => window.by_time(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// In this part twice as many requests were due as in the mean.
    const WINDOW: Window = Window { length: Duration::from_secs(2), scale: 0.5 };

    /// All were counted by requests.
    #[test]
    fn timers_and_sleeps_are_counted_by_time_and_what_requests_cause_by_requests() {
        let softirqs = |name| softirqs(name, 40, &WINDOW);
        assert_eq!(["net_rx", "net_tx"].map(softirqs), [10.0; 2]);
        assert_eq!(["timer", "sched", "rcu", "hrtimer", "other"].map(softirqs), [20.0; 5]);
        let all = [("futex", 30), ("clock_nanosleep", 8), ("epoll_wait", 20), (ALL_CALLS, 100)];
        let counts = || all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let found = rates(counts(), false, &WINDOW);
        assert_eq!((found["futex"], found["clock_nanosleep"]), (7.5, 4.0));
        assert_eq!((found["epoll_wait"], found[ALL_CALLS]), (5.0, 4.0 + 23.0));
        assert_eq!(waits(40, false, &WINDOW), 10.0);
    }

    #[test]
    fn a_server_that_spins_polls_by_time() {
        let counts = [("futex", 30), ("epoll_wait", 20), (ALL_CALLS, 50)];
        let counts = counts.map(|(name, count)| (name.to_owned(), count)).into();
        let found = rates(counts, true, &WINDOW);
        assert_eq!((found["futex"], found["epoll_wait"], found[ALL_CALLS]), (7.5, 10.0, 17.5));
        assert_eq!(waits(40, true, &WINDOW), 20.0);
    }
}
