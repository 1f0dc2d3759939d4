//! What is wrong with a scenario file, and the files that it names.

use std::cell::RefCell;
use tailwater_core::problems::Problems;

pub use tailwater_core::problems::{FileError as ScenarioError, Problem};
pub use tailwater_core::words::TextPlace;

/// What comes up while a file is read: problems, and the texts of further files. A scenario leaves the parser only when
/// no problem was noted.
pub(super) struct Report<'t> {
    problems: Problems<'t>,
    read: ReadFile<'t>,
    /// Names and texts of the files that were read along with it.
    files: RefCell<Vec<(String, String)>>,
}

/// Gives the text of a file that a scenario names, or says why not. Names are relative to the scenario's
/// folder.
pub type ReadFile<'r> = &'r dyn Fn(&str) -> Result<String, String>;

impl<'t> Report<'t> {
    pub(super) fn new(text: &'t str, read: ReadFile<'t>) -> Self {
        Self { problems: Problems::new(text), read, files: RefCell::default() }
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
        self.problems.push(offset, message);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn into_error(self, file: &str) -> ScenarioError {
        self.problems.into_error(file)
    }

    pub(super) fn place(&self, offset: usize) -> TextPlace {
        self.problems.place(offset)
    }
}
