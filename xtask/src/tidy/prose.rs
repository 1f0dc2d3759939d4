//! Plain words in the documents: short sentences, and no persons for things.

use super::Problem;
use crate::tree::Tree;

/// Words of a sentence, `spans` left out. Longer ones are read twice.
const WORDS_MAX: usize = 25;

/// Words for persons that were found of things.
const PERSONS: [&str; 4] = ["whoever", "whomever", "who", "whom"];

/// Drawn from declarations and results, or history.
const NOT_WRITTEN: [&str; 2] = ["docs/scenarios.md", "CHANGELOG.md"];

/// A sentence, and the line in which it begins.
#[derive(PartialEq, Eq, Debug)]
struct Sentence {
    line: usize,
    text: String,
}

/// Sentences have at most 25 words.
pub(super) fn sentences_are_short(tree: &Tree) -> Vec<Problem> {
    let long = |path: &str, sentence: Sentence| {
        let words = sentence.text.split_whitespace().count();
        let start: String = sentence.text.chars().take(50).collect();
        (words > WORDS_MAX).then(|| {
            let found = format!("found a sentence of {words} words: \"{start}…\"");
            let mend = format!("make two of it, of {WORDS_MAX} words each at most");
            Problem::new(format!("{path}:{}", sentence.line), found, mend)
        })
    };
    in_documents(tree, long)
}

/// Documents speak of servers, requests and threads: none of these is a person.
pub(super) fn things_are_no_persons(tree: &Tree) -> Vec<Problem> {
    let person = |path: &str, sentence: Sentence| {
        let lower = sentence.text.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric());
        let found = words.find(|word| PERSONS.contains(word))?;
        let mend = "name the thing, or write which, what or that; people are readers or users";
        Some(Problem::new(format!("{path}:{}", sentence.line), format!("found \"{found}\""), mend))
    };
    in_documents(tree, person)
}

fn in_documents(tree: &Tree, fault: impl Fn(&str, Sentence) -> Option<Problem>) -> Vec<Problem> {
    let at_the_root = tree.matching("", ".md").filter(|(path, _)| !path.contains('/'));
    let documents = at_the_root.chain(tree.matching("docs/", ".md"));
    let written = documents.filter(|(path, _)| !NOT_WRITTEN.contains(path));
    let of_one = |(path, text)| -> Vec<Problem> {
        sentences(text).into_iter().filter_map(|sentence| fault(path, sentence)).collect()
    };
    written.flat_map(of_one).collect()
}

/// The sentences outside of fenced blocks, tables and headings. A list item begins a new one.
fn sentences(text: &str) -> Vec<Sentence> {
    let (mut found, mut inside) = (Vec::new(), false);
    let mut open: Option<Sentence> = None;
    for (index, line) in text.lines().enumerate() {
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
                open.get_or_insert_with(|| Sentence { line: index + 1, text: String::new() });
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

    fn places(problems: Vec<Problem>) -> Vec<String> {
        problems.into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn long_sentences_are_found_by_the_line_in_which_they_begin() {
        let long = "word ".repeat(26);
        let text = format!(
            "# {long}\n\nShort one. {long}\nends here.\n\n```text\n{long}\n```\n| {long} |\n- {}\n- {long}\n",
            "word ".repeat(25)
        );
        let tree = Tree::from([("docs/a.md", text.as_str()), ("crates/b.md", long.as_str())]);
        assert_eq!(places(sentences_are_short(&tree)), ["docs/a.md:3", "docs/a.md:11"]);
    }

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
    fn code_is_no_word_and_colons_divide() {
        let text = format!("{}: {}`a b` `c` end.", "word ".repeat(20), "word ".repeat(24));
        assert!(sentences_are_short(&Tree::from([("README.md", text.as_str())])).is_empty());
    }

    #[test]
    fn persons_are_found_and_parts_of_words_are_not() {
        let text = "The client who asks.\nThe whole.\n\nWhoever finds it. A lock whose holder waits.\n`who` is code.\n";
        let tree = Tree::from([("README.md", text), ("CHANGELOG.md", text)]);
        assert_eq!(places(things_are_no_persons(&tree)), ["README.md:1", "README.md:4"]);
    }
}
