//! How many things passed and failed: the number CI reads from the last line.

use crate::Result;

/// A count of checks, tests or commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    /// Counts one outcome, and prints it when it is a failure, so that none goes unseen.
    pub(crate) fn count(&mut self, what: &str, outcome: Result) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(message) => {
                eprintln!("FAILED {what}: {message}");
                self.failed += 1;
            }
        }
    }

    /// One outcome, counted.
    pub(crate) fn of(what: &str, outcome: Result) -> Self {
        let mut tally = Self::default();
        tally.count(what, outcome);
        tally
    }

    /// Adds another count.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// As a verb's answer: an error when anything failed.
    pub(crate) fn verdict(self, what: &str) -> Result {
        match self {
            Self { failed: 0, passed } => {
                println!("{what}: {passed} passed");
                Ok(())
            }
            Self { failed, passed } => Err(format!("{what}: {passed} passed, {failed} failed")),
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_add_up() {
        let mut tally = Tally::of("a", Ok(()));
        tally.count("b", Err("broken".into()));
        tally.add(Tally { passed: 5, failed: 0 });
        assert_eq!(tally.to_string(), "6 passed, 1 failed");
        assert!(tally.verdict("all").is_err());
        assert!(Tally { passed: 1, failed: 0 }.verdict("all").is_ok());
    }
}
