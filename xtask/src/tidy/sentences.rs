//! The sentences of a text in Markdown, and which of them have to be read twice.

use super::Problem;

/// Words of a sentence, `spans` left out. Longer ones are read twice.
const WORDS_MAX: usize = 25;

/// A sentence, and the line in which it begins.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Sentence {
    pub(super) line: usize,
    pub(super) text: String,
}

impl Sentence {
    /// The problem of a sentence with more than 25 words.
    pub(super) fn is_long(&self, path: &str) -> Option<Problem> {
        let words = self.text.split_whitespace().count();
        let start: String = self.text.chars().take(50).collect();
        (words > WORDS_MAX).then(|| {
            let found = format!("found a sentence of {words} words: \"{start}…\"");
            let mend = format!("make two of it, of {WORDS_MAX} words each at most");
            Problem::new(format!("{path}:{}", self.line), found, mend)
        })
    }

    /// The words without what stands around them.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
    }
}

/// The sentences of numbered lines, outside of fenced blocks, tables and headings. An empty line ends a
/// sentence, and a list item begins a new one.
pub(super) fn sentences<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<Sentence> {
    let (mut found, mut inside) = (Vec::new(), false);
    let mut open: Option<Sentence> = None;
    for (number, line) in lines {
        let line = line.trim();
        let is_fence = line.starts_with("```");
        inside ^= is_fence;
        if inside || is_fence || line.is_empty() || line.starts_with(['|', '#', '<', '>']) {
            found.extend(open.take());
            continue;
        }
        let (item, rest) = item(line);
        if item {
            found.extend(open.take());
        }
        for word in without_spans(rest).split_whitespace() {
            let sentence =
                open.get_or_insert_with(|| Sentence { line: number, text: String::new() });
            sentence.text.push_str(if sentence.text.is_empty() { "" } else { " " });
            sentence.text.push_str(word);
            if ends(word) {
                found.extend(open.take());
            }
        }
    }
    found.extend(open);
    found
}

/// Whether a line begins a list item, and what follows the mark.
fn item(line: &str) -> (bool, &str) {
    let bullet = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    let number = || {
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.strip_prefix(". ").filter(|_| digits.len() < line.len())
    };
    bullet.or_else(number).map_or((false, line), |rest| (true, rest))
}

/// A `span` is no word: a list of names is seen, not read.
fn without_spans(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// A colon and a semicolon let the reader breathe as well.
fn ends(word: &str) -> bool {
    let word = word.trim_end_matches(['"', ')', '*', '_', '”']);
    word.ends_with(['?', '!', ':', ';']) || (word.ends_with('.') && !is_shortened(word))
}

/// As in "e.g.", and the initial of a name.
fn is_shortened(word: &str) -> bool {
    let letters = word.trim_start_matches('(').trim_end_matches('.');
    let is_initial = letters.len() == 1 && letters.starts_with(|c: char| c.is_ascii_uppercase());
    let is_letter = |part: &str| part.len() == 1 && part.starts_with(char::is_alphabetic);
    is_initial || (letters.contains('.') && letters.split('.').all(is_letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_stop_ends_a_sentence_whatever_it_follows_save_shortened_words() {
        for word in ["end.", "%.", "s.", "0.042).", "2.0.", "why?", "that:", "(file.md)."] {
            assert!(ends(word), "{word}");
        }
        for word in ["e.g.", "(i.e.", "D.", "2.0", "word,"] {
            assert!(!ends(word), "{word}");
        }
    }

    #[test]
    fn words_stand_without_their_marks() {
        let sentence = Sentence { line: 1, text: "(He asks \"whom?\") It's read.".to_owned() };
        let words: Vec<&str> = sentence.words().collect();
        assert_eq!(words, ["He", "asks", "whom", "It", "s", "read"]);
    }
}
