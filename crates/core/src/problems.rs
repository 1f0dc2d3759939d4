//! What is wrong with a text file that people write, and where: collected while it is read, and told all at once.
//!
//! Scenarios and descriptions of accelerators are told by it. Of the text it knows nothing but its lines: whoever reads
//! values says what was found and what is needed.

use crate::words::TextPlace;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

/// Problems that are told of one file; the rest is counted.
pub const PROBLEMS_MAX: usize = 20;
/// Problems that are kept until the file is read; later ones are only counted.
const KEPT_MAX: usize = 1_000;

/// A file that cannot be used: at least one problem, in order of place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    /// The file, as it was named to the parser.
    pub file: String,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub omitted: usize,
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// Where it stands, or where the part begins that lacks something.
    pub place: TextPlace,
    /// What was found and what is needed.
    pub message: String,
}

impl FileError {
    /// These, in order of place and each once; `None` of none.
    #[must_use]
    pub fn of(file: &str, problems: impl IntoIterator<Item = Problem>) -> Option<Self> {
        let all: BTreeSet<Problem> = problems.into_iter().collect();
        let omitted = all.len().saturating_sub(PROBLEMS_MAX);
        let problems: Vec<Problem> = all.into_iter().take(PROBLEMS_MAX).collect();
        (!problems.is_empty()).then(|| Self { file: file.into(), problems, omitted })
    }

    /// A single problem.
    #[must_use]
    pub fn at(file: &str, place: TextPlace, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            problems: vec![Problem { place, message: message.into() }],
            omitted: 0,
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Problem { place, message }) in self.problems.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            let TextPlace { line, column } = place;
            write!(f, "{newline}{}:{line}:{column}: {message}", self.file)?;
        }
        if self.omitted > 0 {
            write!(f, "\n{}: and {} more", self.file, self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}

/// Collects problems while a file is read. Readers put a stand-in for what is wrong and go on, so that one attempt finds
/// everything.
pub struct Problems<'t> {
    text: &'t str,
    found: RefCell<Found>,
}

#[derive(Default)]
struct Found {
    /// Byte offsets, which become places at the end: that takes time in proportion to the file.
    kept: BTreeSet<(usize, String)>,
    omitted: usize,
}

impl<'t> Problems<'t> {
    /// None yet of this text.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        Self { text, found: RefCell::default() }
    }

    /// Notes a problem at a byte offset, once: the same value may be read for several parts of a file.
    pub fn push(&self, offset: usize, message: String) {
        let mut found = self.found.borrow_mut();
        let problem = (offset, message);
        if found.kept.len() < KEPT_MAX {
            found.kept.insert(problem);
        } else if !found.kept.contains(&problem) {
            found.omitted += 1;
        }
    }

    /// Whether the file is sound so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.borrow().kept.is_empty()
    }

    /// Where a byte of the text lies.
    #[must_use]
    pub fn place(&self, offset: usize) -> TextPlace {
        TextPlace::of(self.text, offset)
    }

    /// All of them, of the file that was named so. Call it only where there is one.
    #[must_use]
    pub fn into_error(self, file: &str) -> FileError {
        let Found { kept, omitted } = self.found.take();
        let omitted = omitted + kept.len().saturating_sub(PROBLEMS_MAX);
        let told = kept.into_iter().take(PROBLEMS_MAX);
        let problem = |(offset, message)| Problem { place: self.place(offset), message };
        FileError { file: file.into(), problems: told.map(problem).collect(), omitted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_told_by_place_and_each_once() {
        let problems = Problems::new("one\ntwo\n");
        assert!(problems.is_empty());
        for (offset, message) in [(5, "late"), (0, "early"), (5, "late"), (5, "another")] {
            problems.push(offset, message.into());
        }
        assert!(!problems.is_empty());
        let told = problems.into_error("x.toml").to_string();
        assert_eq!(told, "x.toml:1:1: early\nx.toml:2:2: another\nx.toml:2:2: late");
    }

    /// Of an accelerator's file 1,000 were counted at most.
    #[test]
    fn what_is_neither_told_nor_kept_is_counted() {
        let problems = Problems::new("");
        (0..1_100).for_each(|number| problems.push(0, format!("{number:04}")));
        problems.push(0, "0000".into());
        let error = problems.into_error("x.toml");
        assert_eq!((error.problems.len(), error.omitted), (20, 1_080));
        assert!(error.to_string().ends_with("0019\nx.toml: and 1080 more"), "{error}");
    }

    #[test]
    fn problems_of_several_readings_are_one_error() {
        let problem = |line, message: &str| Problem {
            place: TextPlace { line, column: 1 },
            message: message.into(),
        };
        assert_eq!(FileError::of("x.toml", []), None);
        let found = [problem(2, "late"), problem(1, "early"), problem(2, "late")];
        let told = FileError::of("x.toml", found).map(|error| error.to_string());
        assert_eq!(told.as_deref(), Some("x.toml:1:1: early\nx.toml:2:1: late"));
        let many = (1..=21).map(|line| problem(line, "wrong"));
        assert_eq!(FileError::of("x.toml", many).map(|error| error.omitted), Some(1));
    }
}
