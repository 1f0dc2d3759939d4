//! Plain words in the comments of sources: short sentences, and no persons for things.

use super::Problem;
use super::sentences::{Sentence, sentences};
use crate::tree::Tree;

/// Words with which no sentence begins: what follows is a lock, a request or a thread.
const BEGINNINGS: [&str; 10] =
    ["Who", "Whoever", "Whom", "Nobody", "Somebody", "Someone", "Anybody", "He", "She", "Whomever"];

/// Words for one person. Users, authors and operators are many.
const PERSONS: [&str; 7] = ["he", "him", "his", "himself", "she", "her", "herself"];

/// The marks of comments, longer ones first.
const MARKS: [&str; 3] = ["///", "//!", "//"];

/// Sentences have at most 25 words.
pub(super) fn sentences_are_short(tree: &Tree) -> Vec<Problem> {
    in_comments(tree, |path, sentence| sentence.is_long(path))
}

/// Comments speak of servers, requests and threads: none of these is a person.
pub(super) fn things_are_no_persons(tree: &Tree) -> Vec<Problem> {
    in_comments(tree, |path, sentence| {
        let begins = sentence.words().next().filter(|word| BEGINNINGS.contains(word));
        let person =
            || sentence.words().find(|word| PERSONS.contains(&word.to_lowercase().as_str()));
        let found = begins.or_else(person)?;
        let mend = "begin with the thing's name, and write it, which or what";
        Some(Problem::new(format!("{path}:{}", sentence.line), format!("found \"{found}\""), mend))
    })
}

fn in_comments(tree: &Tree, fault: impl Fn(&str, &Sentence) -> Option<Problem>) -> Vec<Problem> {
    let of_one = |(path, text): (&str, &str)| -> Vec<Problem> {
        let all = sentences(comments(text));
        all.iter().filter_map(|sentence| fault(path, sentence)).collect()
    };
    tree.matching("", ".rs").flat_map(of_one).collect()
}

/// The comments of a source, by line. An empty line, which ends a sentence, divides those that are not lines of one mark
/// in a row.
fn comments(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut above = None;
    for (number, line) in (1..).zip(text.lines()) {
        let here = whole(line);
        let mark = here.map(|(mark, _)| mark);
        if mark.is_none() || mark != above {
            found.push((number, ""));
        }
        above = mark;
        found.extend(here.map(|(_, words)| words).or_else(|| beside(line)).map(|it| (number, it)));
    }
    found
}

/// The mark and the words of a line that is a comment.
fn whole(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    MARKS.iter().find_map(|mark| Some((*mark, line.strip_prefix(mark)?)))
}

/// The words of a comment that follows code. A mark inside quotes is none.
fn beside(line: &str) -> Option<&str> {
    let mut marks = line.match_indices(" // ");
    let (at, mark) = marks.find(|(at, _)| line[..*at].matches('"').count().is_multiple_of(2))?;
    Some(&line[at + mark.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str, check: fn(&Tree) -> Vec<Problem>) -> Vec<String> {
        let tree = Tree::from([("suite/a.rs", text)]);
        check(&tree).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn a_sentence_is_counted_over_the_lines_of_its_comment() {
        let half = "word ".repeat(13);
        for mark in ["//", "///", "//!"] {
            let text = format!("fn f() {{\n    {mark} Short. {half}\n    {mark} {half} end.\n}}\n");
            assert_eq!(places(&text, sentences_are_short), ["suite/a.rs:2"], "{mark}");
        }
        let beside = format!("let a = \" // \"; // {half}{half}\n");
        assert_eq!(places(&beside, sentences_are_short), ["suite/a.rs:1"]);
    }

    #[test]
    fn comments_end_with_their_lines_their_mark_and_at_code() {
        let half = "word ".repeat(13);
        let divided = [
            format!("// {half}\nlet a = 1;\n// {half}\n"),
            format!("//! {half}\n/// {half}\n"),
            format!("/// {half}\n///\n/// {half}\n"),
            format!("/// - {half}\n/// - {half}\n"),
            format!("let a = 1; // {half}\nlet b = 1; // {half}\n"),
        ];
        for text in divided {
            assert_eq!(places(&text, sentences_are_short), [""; 0], "{text}");
        }
    }

    #[test]
    fn code_tables_headings_and_strings_are_no_prose() {
        let long = "word ".repeat(30);
        let text = format!(
            "/// ```\n/// {long}\n/// ```\n/// | {long} |\n/// # {long}\nlet a = \"http://a // {long}\";\n"
        );
        assert!(places(&text, sentences_are_short).is_empty());
    }

    #[test]
    fn persons_are_found_at_the_beginning_and_one_person_anywhere() {
        for text in [
            "/// Who holds the lock.\n",
            "// One end. Nobody waits.\n",
            "let a = 1; // Whoever asks.\n",
            "/// A lock and\n/// his holder.\n",
        ] {
            assert_eq!(places(text, things_are_no_persons).len(), 1, "{text}");
        }
        for text in [
            "/// Users who type it.\n",
            "// The other lock; there it is.\n",
            "let who = \"Nobody waits\";\n",
            "/// `he` is a key.\n",
        ] {
            assert!(places(text, things_are_no_persons).is_empty(), "{text}");
        }
    }
}
