//! Questions in people's words, for programs that show a service: [`Application::inquiry`](super::Application::inquiry).

use super::Ask;
use serde::Serialize;

/// Turns texts to requests, and answers to what people read. Has all that it needs in memory, the oracle included.
pub trait Inquiry: Send {
    /// What there is to be found, in a sentence.
    fn about(&self) -> String;

    /// A few texts that find something.
    fn examples(&self) -> Vec<String>;

    /// The request of a text, with this tag.
    ///
    /// # Errors
    /// A sentence for the person who typed it, when nothing can be asked by it.
    fn ask(&self, text: &str, tag: u64) -> Result<Ask, String>;

    /// What the answer to it says, and whether it is the one that the oracle finds now, without the service.
    fn read(&self, text: &str, tag: u64, answer: (u16, &[u8])) -> ShownAnswer;
}

/// What a person is told of an answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ShownAnswer {
    /// What is wrong with it by the oracle; `None`: nothing.
    pub wrong: Option<String>,
    /// How much was found, in a sentence.
    pub summary: String,
    /// The first of it, the best first.
    pub rows: Vec<ShownRow>,
}

/// One thing that was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ShownRow {
    /// Its name.
    pub name: String,
    /// What it says; empty where it says nothing.
    pub text: String,
    /// A number for its place in the list, with its unit.
    pub measure: String,
    /// Whether its name finds something when it is asked in turn.
    pub asks: bool,
}

impl ShownAnswer {
    /// Of an answer that cannot be read.
    #[must_use]
    pub fn none(why: String) -> Self {
        Self { wrong: Some(why), summary: String::new(), rows: Vec::new() }
    }
}
