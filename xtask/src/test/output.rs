//! What a test program says, read as counts and names.

use crate::Result;
use crate::tally::PASSED_OVER;
use std::process::Output;

/// How a program ended.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) passed: u64,
    /// The names of tests. [`WHOLE`] stands for a program that failed otherwise.
    pub(super) failed: Vec<String>,
    /// Tests that are left out, or that have said that they show nothing here; each with why.
    pub(super) passed_over: Vec<String>,
    /// Both streams, one after the other.
    pub(super) said: String,
}

/// In the place of a test's name: the program ended badly and named no test, or has no tests to name.
pub(super) const WHOLE: &str = "(the whole program)";

impl Outcome {
    pub(super) fn of(run: &Result<Output>) -> Self {
        match run {
            Ok(output) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let said = text(&output.stdout) + &text(&output.stderr);
                Self::read(said, output.status.success(), &output.status.to_string())
            }
            Err(why) => Self::read(why.clone(), false, "no start"),
        }
    }

    /// Whether no test ran.
    pub(super) fn is_empty(&self) -> bool {
        self.passed == 0 && self.failed.is_empty()
    }

    fn read(mut said: String, succeeded: bool, status: &str) -> Self {
        let failed =
            said.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        // What libtest adds is no part of the name by which it is chosen.
        let named = failed.map(|name| name.trim_end_matches(" - should panic").to_owned());
        let mut failed: Vec<String> = named.collect();
        let counts: Vec<u64> = said.lines().filter_map(passed).collect();
        let passed_over = said.lines().filter_map(passed_over).collect();
        if !succeeded && failed.is_empty() {
            failed.push(WHOLE.to_owned());
            said.push_str(&format!("it ended with {status}{}\n", of_timeout(status)));
        }
        // A program without libtest counts as one.
        let alone = u64::from(succeeded && counts.is_empty());
        Self { passed: counts.iter().sum::<u64>() + alone, failed, passed_over, said }
    }
}

/// What a status means where `timeout` had to end the program.
fn of_timeout(status: &str) -> &'static str {
    if status.ends_with(": 124") || status.ends_with(": 137") { ": its time was over" } else { "" }
}

/// Reads `test NAME ... ignored, WHY`, or a line of a test past the harness, which hides what tests that pass print.
fn passed_over(line: &str) -> Option<String> {
    if let Some(why) = line.strip_prefix(PASSED_OVER) {
        return Some(why.to_owned());
    }
    let (name, why) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    let why = why.strip_prefix(", ").unwrap_or("it is ignored without a reason");
    Some(format!("{name}: {why}"))
}

/// Reads `test result: ok. 12 passed; 0 failed; …`.
pub(super) fn passed(line: &str) -> Option<u64> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    counts.split_once(" passed")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest d ... ignored\n\
                        \nfailures:\n    a::c\n\n\
                        test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n";

    #[test]
    fn tests_are_counted_and_failures_named() {
        let outcome = Outcome::read(SAID.to_owned(), false, "exit status: 101");
        assert_eq!((outcome.passed, &outcome.failed[..]), (1, &["a::c".to_owned()][..]));
        assert_eq!(outcome.said, SAID);
    }

    #[test]
    fn a_test_that_had_to_panic_is_told_by_the_name_that_chooses_it() {
        let said = "test a::b - should panic ... FAILED\n".to_owned();
        assert_eq!(Outcome::read(said, false, "").failed, ["a::b"]);
    }

    #[test]
    fn what_is_passed_over_is_told_with_its_reason() {
        let said = SAID.to_owned() + "test e ... ignored, minutes; type: x\nPASSED OVER: no y\n";
        let outcome = Outcome::read(said, true, "");
        let reasons = ["d: it is ignored without a reason", "e: minutes; type: x", "no y"];
        assert_eq!(outcome.passed_over, reasons);
    }

    #[test]
    fn what_ends_without_a_summary_is_not_passed_over() {
        let crashed = Outcome::read("running 3 tests\n".to_owned(), false, "signal: 11");
        assert_eq!((crashed.passed, &crashed.failed[..]), (0, &[WHOLE.to_owned()][..]));
        assert!(crashed.said.ends_with("signal: 11\n"));
        let hung = Outcome::read(String::new(), false, "exit status: 124");
        assert!(hung.said.contains("its time was over"), "{}", hung.said);
        let other = Outcome::read("fine\n".to_owned(), true, "");
        assert_eq!((other.passed, other.failed.len()), (1, 0));
        let empty = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(Outcome::read(empty.to_owned(), true, "").passed, 0);
    }
}
