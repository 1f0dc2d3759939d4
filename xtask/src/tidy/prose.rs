//! Plain words in the documents: short sentences, and no persons for things.

use super::Problem;
use super::sentences::{Sentence, sentences};
use crate::tree::Tree;

/// Words for persons that were found of things.
const PERSONS: [&str; 4] = ["whoever", "whomever", "who", "whom"];

/// Drawn from declarations and results, or history.
const NOT_WRITTEN: [&str; 2] = ["docs/scenarios.md", "CHANGELOG.md"];

/// Sentences have at most 25 words.
pub(super) fn sentences_are_short(tree: &Tree) -> Vec<Problem> {
    in_documents(tree, |path, sentence| sentence.is_long(path))
}

/// Documents speak of servers, requests and threads: none of these is a person.
pub(super) fn things_are_no_persons(tree: &Tree) -> Vec<Problem> {
    let person = |path: &str, sentence: &Sentence| {
        let mut words = sentence.words().map(str::to_lowercase);
        let found = words.find(|word| PERSONS.contains(&word.as_str()))?;
        let mend = "name the thing, or write which, what or that; people are readers or users";
        Some(Problem::new(format!("{path}:{}", sentence.line), format!("found \"{found}\""), mend))
    };
    in_documents(tree, person)
}

fn in_documents(tree: &Tree, fault: impl Fn(&str, &Sentence) -> Option<Problem>) -> Vec<Problem> {
    let at_the_root = tree.matching("", ".md").filter(|(path, _)| !path.contains('/'));
    let documents = at_the_root.chain(tree.matching("docs/", ".md"));
    let written = documents.filter(|(path, _)| !NOT_WRITTEN.contains(path));
    let of_one = |(path, text): (&str, &str)| -> Vec<Problem> {
        let all = sentences((1..).zip(text.lines()));
        all.iter().filter_map(|sentence| fault(path, sentence)).collect()
    };
    written.flat_map(of_one).collect()
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
