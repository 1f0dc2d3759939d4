//! The slowest of many things, named at the end: where the time of a check goes.

use std::time::{Duration, Instant};

/// So many are named.
const NAMED: usize = 8;

/// What took how long.
#[derive(Default)]
pub(crate) struct Slow(Vec<(Duration, String)>);

impl Slow {
    /// Does something, and notes how long it took.
    pub(crate) fn time<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let outcome = work();
        self.add(name, start.elapsed());
        outcome
    }

    /// Notes what was timed elsewhere.
    pub(crate) fn add(&mut self, name: &str, took: Duration) {
        self.0.push((took, name.to_owned()));
    }

    /// A line for each of the slowest.
    pub(crate) fn print(self) {
        self.lines().iter().for_each(|line| println!("{line}"));
    }

    fn lines(mut self) -> Vec<String> {
        self.0.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
        let slowest = self.0.iter().take(NAMED);
        slowest.map(|(took, name)| format!("slow: {:>7.1} s  {name}", took.as_secs_f64())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_named_first() {
        let mut slow = Slow::default();
        for tenths in 0..12 {
            slow.add(&format!("of {tenths}"), Duration::from_millis(100 * tenths));
        }
        assert_eq!(slow.time("an answer", || 7), 7);
        let lines = slow.lines();
        assert_eq!(lines.len(), NAMED);
        assert_eq!(lines[0], "slow:     1.1 s  of 11");
        assert_eq!(lines[7], "slow:     0.4 s  of 4");
    }
}
