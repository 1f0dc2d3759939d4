//! Foreign words in messages, and why a word is none of those that are known.

use std::fmt;

/// Keeps messages readable whatever was written: the first 40 characters, escaped.
#[must_use]
pub fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        clipped.push('…');
    }
    clipped
}

/// Why a text is none of some words. Says what is needed; the text itself is quoted by whoever knows where it stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WordError {
    /// No name begins like this; these are known.
    Unknown(&'static [&'static str]),
    /// The name is known, and what follows it does not fit; this is needed.
    Amount(&'static str),
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(known) => write!(f, "one of {} is needed", known.join(", ")),
            Self::Amount(needed) => write!(f, "{needed} is needed"),
        }
    }
}

impl std::error::Error for WordError {}
