//! How many things passed, which failed and which were passed over: the number that CI reads from the last line.

use crate::Result;

/// What a line of a test or a bench begins with that says what it passed over, why, and what to type.
pub(crate) const PASSED_OVER: &str = "PASSED OVER: ";

/// A count of checks, tests or commands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    passed: u64,
    /// A line for each that failed: what, and what was found.
    failures: Vec<String>,
    /// A line for each that could not be tried here: what, why, and what to type.
    passed_over: Vec<String>,
}

impl Tally {
    /// So many that passed.
    pub(crate) fn passed(passed: u64) -> Self {
        Self { passed, ..Self::default() }
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

    /// Notes what could not be tried here. It is named at the end, and counts neither as passed nor as failed.
    pub(crate) fn pass_over(&mut self, what: &str, why: &str) {
        self.passed_over.push(format!("{what}: {why}"));
    }

    /// Notes what a program said that it passed over.
    pub(crate) fn pass_over_as_said(&mut self, what: &str, said: &str) {
        for why in said.lines().filter_map(|line| line.strip_prefix(PASSED_OVER)) {
            self.pass_over(what, why);
        }
    }

    /// What failed, in order.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Adds another count.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        self.passed_over.extend(other.passed_over);
    }

    /// An error when nothing was there to be tried: a list that is empty by mistake would be green.
    pub(crate) fn some(self, what: &str) -> Result<Self> {
        if self == Self::default() { Err(format!("found no {what} at all")) } else { Ok(self) }
    }

    /// A line for each that was passed over or failed, and the count as the last.
    pub(crate) fn lines(&self) -> Vec<String> {
        let passed_over = self.passed_over.iter().map(|what| format!("PASSED OVER {what}"));
        let failed = self.failures.iter().map(|what| format!("FAILED {what}"));
        passed_over.chain(failed).chain([self.to_string()]).collect()
    }

    /// As a verb's answer: an error when anything failed.
    pub(crate) fn verdict(&self, what: &str) -> Result {
        self.passed_over.iter().for_each(|what| println!("PASSED OVER {what}"));
        let Self { passed, failures, .. } = self;
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
    fn what_is_passed_over_is_named_before_the_count_and_is_no_success() {
        let mut tally = Tally::passed(2);
        tally.pass_over("sanitizer", "found no nightly Rust");
        tally.pass_over_as_said("here", "fine\nPASSED OVER: events; type: x\nnot PASSED OVER: y\n");
        let mut all = Tally::of("b", Err("broken".into()));
        all.add(tally);
        assert_eq!(
            all.lines(),
            [
                "PASSED OVER sanitizer: found no nightly Rust",
                "PASSED OVER here: events; type: x",
                "FAILED b: broken",
                "2 passed, 1 failed",
            ]
        );
    }

    #[test]
    fn a_count_of_nothing_is_an_error() {
        let none = Tally::default().some("examples").unwrap_err();
        assert!(none.contains("no examples"), "{none}");
        assert!(Tally::passed(1).some("examples").is_ok());
        assert!(Tally::of("a", Err("broken".into())).some("examples").is_ok());
    }
}
