//! Text to terms: the maximal runs of letters and digits (Unicode's alphanumeric characters), in
//! lower case. No stemming, and nothing is left out but terms longer than [`TERM_BYTES_MAX`].

use std::borrow::Cow;

/// Longer terms are neither indexed nor found: they are no words, and a request carries its terms.
pub const TERM_BYTES_MAX: usize = 64;

/// The words too common to be asked for, the commonest first: those of Lucene's English analyzer.
/// They are indexed, but the workload asks for none of them ("excluding stop words", Protego §5.2).
pub const STOP_WORDS: [&str; 33] = [
    "the", "of", "and", "to", "a", "in", "is", "that", "for", "it", "was", "with", "as", "be",
    "on", "by", "at", "not", "this", "are", "but", "or", "they", "an", "if", "there", "their",
    "will", "no", "into", "then", "such", "these",
];

/// The terms of a text in their order, repeated as often as they occur.
pub fn tokens(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|run| !run.is_empty())
        .map(lower_case)
        .filter(|term| term.len() <= TERM_BYTES_MAX)
}

/// Whether the workload leaves it out.
#[must_use]
pub fn is_stop_word(term: &str) -> bool {
    STOP_WORDS.contains(&term)
}

/// Most words of most texts are in lower case already and cost no allocation.
fn lower_case(run: &str) -> Cow<'_, str> {
    if run.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        Cow::Borrowed(run)
    } else {
        Cow::Owned(run.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        tokens(text).map(Cow::into_owned).collect()
    }

    #[test]
    fn terms_are_runs_of_letters_and_digits_in_lower_case() {
        assert_eq!(
            list("The well-known Boat_3, (it's)"),
            ["the", "well", "known", "boat", "3", "it", "s"]
        );
        assert_eq!(list("ÉCOLE 東京 naïve"), ["école", "東京", "naïve"]);
        assert!(list(" -- .\n").is_empty());
    }

    #[test]
    fn what_is_too_long_is_left_out() {
        let longest = "x".repeat(TERM_BYTES_MAX);
        assert_eq!(list(&format!("{longest} {longest}y end")), [longest.as_str(), "end"]);
    }

    #[test]
    fn stop_words_are_distinct() {
        let mut sorted = STOP_WORDS.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), STOP_WORDS.len());
        assert!(is_stop_word("the") && !is_stop_word("boat"));
    }
}
