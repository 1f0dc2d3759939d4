//! How many things passed, and which failed: the number that CI reads from the last line.

use crate::Result;

/// A count of checks, tests or commands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    passed: u64,
    /// A line for each that failed: what, and what was found.
    failures: Vec<String>,
}

impl Tally {
    /// So many that passed.
    pub(crate) fn passed(passed: u64) -> Self {
        Self { passed, failures: vec![] }
    }

    /// One outcome, counted.
    pub(crate) fn of(what: &str, outcome: Result) -> Self {
        let mut tally = Self::default();
        tally.count(what, outcome);
        tally
    }

    /// Counts one outcome, and prints it when it is a failure, so that none goes unseen.
    pub(crate) fn count(&mut self, what: &str, outcome: Result) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(message) => {
                let failure = format!("{what}: {message}");
                eprintln!("FAILED {failure}");
                self.fail(failure);
            }
        }
    }

    /// Counts one that failed, about which all has been said.
    pub(crate) fn fail(&mut self, failure: String) {
        self.failures.push(failure);
    }

    /// What failed, in order.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Adds another count.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
    }

    /// An error when nothing was there to be tried: a list that is empty by mistake would be green.
    pub(crate) fn some(self, what: &str) -> Result<Self> {
        if self == Self::default() { Err(format!("found no {what} at all")) } else { Ok(self) }
    }

    /// As a verb's answer: an error when anything failed.
    pub(crate) fn verdict(&self, what: &str) -> Result {
        let Self { passed, failures } = self;
        if failures.is_empty() {
            println!("{what}: {passed} passed");
            return Ok(());
        }
        Err(format!("{what}: {passed} passed, {} failed", failures.len()))
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failures.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_add_up() {
        let mut tally = Tally::of("a", Ok(()));
        tally.count("b", Err("broken".into()));
        tally.add(Tally::passed(5));
        assert_eq!(tally.to_string(), "6 passed, 1 failed");
        assert_eq!(tally.failures(), ["b: broken"]);
        assert!(tally.verdict("all").is_err());
        assert!(Tally::passed(1).verdict("all").is_ok());
    }
    #[test]
    fn a_count_of_nothing_is_an_error() {
        let none = Tally::default().some("examples").unwrap_err();
        assert!(none.contains("no examples"), "{none}");
        assert!(Tally::passed(1).some("examples").is_ok());
        assert!(Tally::of("a", Err("broken".into())).some("examples").is_ok());
    }
}
