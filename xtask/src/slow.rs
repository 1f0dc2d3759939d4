//! The slowest of many things, named at the end: where the time of a check goes.

use std::time::{Duration, Instant};

/// So many are named.
const NAMED: usize = 8;

/// What took how long, and what it has computed where that is known. On a machine that others use, too, the latter alone
/// tells whether there is less work.
#[derive(Default)]
pub(crate) struct Slow(Vec<(Duration, Option<Duration>, String)>);

impl Slow {
    /// Does something, and notes how long it took.
    pub(crate) fn time<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let outcome = work();
        self.add(name, start.elapsed(), None);
        outcome
    }

    /// Notes what was timed elsewhere.
    pub(crate) fn add(&mut self, name: &str, took: Duration, computed: Option<Duration>) {
        self.0.push((took, computed, name.to_owned()));
    }

    /// A line for each of the slowest.
    pub(crate) fn print(self) {
        self.lines().iter().for_each(|line| println!("{line}"));
    }

    fn lines(mut self) -> Vec<String> {
        self.0.sort_by_key(|(took, ..)| std::cmp::Reverse(*took));
        let slowest = self.0.iter().take(NAMED);
        let line = |(took, computed, name): &(Duration, Option<Duration>, String)| {
            let computed = computed.map(of_cpu).unwrap_or_default();
            format!("slow: {:>7.1} s{computed}  {name}", took.as_secs_f64())
        };
        slowest.map(line).collect()
    }
}

/// What stands behind the time that something took.
pub(crate) fn of_cpu(computed: Duration) -> String {
    format!(" {:>7.1} s of CPU", computed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_named_first() {
        let mut slow = Slow::default();
        for tenths in 0..12 {
            let took = Duration::from_millis(100 * tenths);
            slow.add(&format!("of {tenths}"), took, (tenths == 11).then_some(took * 2));
        }
        assert_eq!(slow.time("an answer", || 7), 7);
        let lines = slow.lines();
        assert_eq!(lines.len(), NAMED);
        assert_eq!(lines[0], "slow:     1.1 s     2.2 s of CPU  of 11");
        assert_eq!(lines[7], "slow:     0.4 s  of 4");
    }
}
