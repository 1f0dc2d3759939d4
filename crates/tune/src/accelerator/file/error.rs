//! What is wrong with a file, and where.

use std::cell::RefCell;
use std::fmt;
use tailwater_core::words::TextPlace;

/// Problems that are told; the rest is counted.
const PROBLEMS_MAX: usize = 20;
/// Problems that are kept until they are sorted; later ones are left out.
const KEPT_MAX: usize = 1_000;

/// A file that cannot be used: at least one problem, in order of place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    /// The file, as it was named.
    pub file: String,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub omitted: usize,
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where it stands, or where the part begins that lacks something.
    pub place: TextPlace,
    /// What was found and what is needed.
    pub message: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Problem { place, message }) in self.problems.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{}:{}:{}: {message}", self.file, place.line, place.column)?;
        }
        if self.omitted > 0 {
            write!(f, "\n{}: and {} more", self.file, self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}

/// Collects problems, so that one attempt finds all.
pub(super) struct Report<'t> {
    text: &'t str,
    problems: RefCell<Vec<(usize, String)>>,
}

impl<'t> Report<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, problems: RefCell::default() }
    }

    /// Notes a problem at a byte offset, once: what is said for all cases is read for each.
    pub(super) fn push(&self, offset: usize, message: String) {
        let mut problems = self.problems.borrow_mut();
        let is_known = || problems.iter().any(|known| known.0 == offset && known.1 == message);
        if problems.len() < KEPT_MAX && !is_known() {
            problems.push((offset, message));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    pub(super) fn into_error(self, file: &str) -> FileError {
        let mut problems = self.problems.into_inner();
        problems.sort();
        let omitted = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        let problem =
            |(offset, message)| Problem { place: TextPlace::of(self.text, offset), message };
        FileError {
            file: file.into(),
            problems: problems.into_iter().map(problem).collect(),
            omitted,
        }
    }
}
