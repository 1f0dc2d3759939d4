//! Foreign words in messages: clipped, where they stand, the nearest of what is known, and why a word is none of
//! those.

use std::fmt;

/// A place in a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TextPlace {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl TextPlace {
    /// The beginning of a file.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Where a byte of a text lies; its end for what is beyond. Counts in bytes, so that no offset can split a
    /// character and panic.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let newline = before.iter().rposition(|&byte| byte == b'\n');
        let in_line = &before[newline.map_or(0, |at| at + 1)..];
        let begins_character = |byte: &&u8| **byte & 0xc0 != 0x80;
        Self {
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            column: in_line.iter().filter(begins_character).count() + 1,
        }
    }
}

/// Keeps messages readable whatever was written: the first 40 characters, escaped.
#[must_use]
pub fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        clipped.push('…');
    }
    clipped
}

/// Leads into the list of what is known, with what is near first: `did you mean NAME? Known are`, or `known are`.
#[must_use]
pub fn suggestion(found: &str, known: &[&str]) -> String {
    match nearest(found, known)[..] {
        [] => "known are".into(),
        ref near => format!("did you mean {}? Known are", near.join(" or ")),
    }
}

/// The word that is nearest by typing errors; else those with a part of that spelling, such as `server-slow` for
/// `slow`, at most three.
#[must_use]
pub fn nearest<'k>(found: &str, known: &[&'k str]) -> Vec<&'k str> {
    let near = known
        .iter()
        .map(|name| (distance(found, name), *name))
        // Of a single letter nothing would be left.
        .filter(|(distance, name)| *distance <= name.len().div_ceil(3) && *distance < name.len())
        .min();
    if let Some((_, name)) = near {
        return vec![name];
    }
    let holds =
        |name: &&&str| !found.is_empty() && name.split(['-', '_']).any(|part| part == found);
    known.iter().filter(holds).take(3).copied().collect()
}

/// Levenshtein's distance in characters, capital or not, of the first 40: typing errors happen in short words.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(40).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, a) in one.chars().take(40).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, b) in other.iter().enumerate() {
            let substituted = diagonal + usize::from(!a.eq_ignore_ascii_case(b));
            diagonal = row[column + 1];
            row[column + 1] = substituted.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_suggested_where_one_is_near() {
        let known = ["none", "breakwater", "dagor"];
        for (found, near) in [("breakwatr", "breakwater"), ("nnoe", "none"), ("dagr", "dagor")] {
            assert_eq!(suggestion(found, &known), format!("did you mean {near}? Known are"));
        }
        assert_eq!(suggestion("DAGOR", &known), "did you mean dagor? Known are");
        for far in ["", "windbreaker", "x"] {
            assert_eq!(suggestion(far, &known), "known are", "{far}");
        }
        let parted = ["server-slow", "slow-link", "flood", "target_delay"];
        let said = suggestion("slow", &parted);
        assert_eq!(said, "did you mean server-slow or slow-link? Known are");
        assert_eq!(nearest("target", &parted), ["target_delay"]);
        assert_eq!(suggestion("", &["a-"]), "known are");
        assert_eq!(suggestion("x", &[]), "known are");
        assert_eq!(suggestion("1", &["3", "5"]), "known are");
    }
}
