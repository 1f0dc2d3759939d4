//! What is wrong with a scenario file, and where.

use crate::limits::PROBLEMS_MAX;
use std::cell::RefCell;
use std::fmt;

pub use tailwater_core::words::TextPlace;

/// A scenario file that cannot be used: at least one problem, in order of place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
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

impl ScenarioError {
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

impl fmt::Display for ScenarioError {
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

impl std::error::Error for ScenarioError {}

/// Collects problems while a file is read. Readers put a stand-in for what is wrong and go on, so
/// that one attempt finds everything; a scenario leaves the parser only when nothing was reported.
pub(super) struct Report<'t> {
    text: &'t str,
    read: ReadFile<'t>,
    /// Names and texts of the files that were read along with it.
    files: RefCell<Vec<(String, String)>>,
    found: RefCell<Found>,
}

/// Gives the text of a file that a scenario names, or says why not. Names are relative to the scenario's
/// folder.
pub type ReadFile<'r> = &'r dyn Fn(&str) -> Result<String, String>;

#[derive(Default)]
struct Found {
    /// Byte offsets, which become places at the end: that takes time in proportion to the file.
    problems: Vec<(usize, String)>,
    omitted: usize,
}

impl<'t> Report<'t> {
    /// Problems that are kept until they are sorted; later ones are only counted.
    const KEPT_MAX: usize = 1_000;

    pub(super) fn new(text: &'t str, read: ReadFile<'t>) -> Self {
        Self { text, read, files: RefCell::default(), found: RefCell::default() }
    }

    /// The text of another file; each is read once.
    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        if let Some((_, text)) = self.files.borrow().iter().find(|(known, _)| known == name) {
            return Ok(text.clone());
        }
        let text = (self.read)(name)?;
        self.files.borrow_mut().push((name.into(), text.clone()));
        Ok(text)
    }

    /// Names and texts of what was read.
    pub(super) fn files(&self) -> Vec<(String, String)> {
        self.files.take()
    }

    /// Notes a problem at a byte offset.
    pub(super) fn push(&self, offset: usize, message: String) {
        let mut found = self.found.borrow_mut();
        if found.problems.len() < Self::KEPT_MAX {
            found.problems.push((offset, message));
        } else {
            found.omitted += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.borrow().problems.is_empty()
    }

    pub(super) fn into_error(self, file: &str) -> ScenarioError {
        let found = self.found.take();
        let (mut problems, omitted) = (found.problems, found.omitted);
        problems.sort();
        let omitted = omitted + problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        let problem = |(offset, message)| Problem { place: self.place(offset), message };
        ScenarioError {
            file: file.into(),
            problems: problems.into_iter().map(problem).collect(),
            omitted,
        }
    }

    pub(super) fn place(&self, offset: usize) -> TextPlace {
        TextPlace::of(self.text, offset)
    }
}
