//! What is asked for.

use std::path::PathBuf;
use tailwater_data::text::{WORDNET, is_wordnet_in};

/// Which documents, how many queries, and where the result goes.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Arguments {
    /// `wordnet` or `generated`.
    pub(crate) text: &'static str,
    /// Of generated ones; `None`: as many as the service has.
    pub(crate) documents: Option<usize>,
    pub(crate) queries: usize,
    pub(crate) out: Option<PathBuf>,
}

const USAGE: &str = "it takes --short, --generated N, or neither (WordNet's glosses, where they are installed), and --out FILE";

impl Arguments {
    pub(crate) fn read(mut typed: impl Iterator<Item = String>) -> Result<Self, String> {
        let text = if is_wordnet_in(WORDNET.as_ref()) { "wordnet" } else { "generated" };
        let mut found = Self { text, documents: None, queries: 10_000, out: None };
        while let Some(flag) = typed.next() {
            if flag == "--short" {
                found = Self { documents: Some(5_000), queries: 1_000, text: "generated", ..found };
                continue;
            }
            let value = typed.next().ok_or_else(|| format!("found {flag} alone; {USAGE}"))?;
            match &*flag {
                "--generated" => {
                    let number = value.parse().map_err(|_| format!("found {value}; {USAGE}"))?;
                    found = Self { documents: Some(number), text: "generated", ..found };
                }
                "--out" => found.out = Some(value.into()),
                _ => return Err(format!("found {flag}; {USAGE}")),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(typed: &[&str]) -> Result<Arguments, String> {
        Arguments::read(typed.iter().map(|&word| word.to_owned()))
    }

    #[test]
    fn a_million_documents_and_a_file_may_be_asked_for() {
        let found = read(&["--generated", "1000000", "--out", "x.json"]).expect("known");
        assert_eq!((found.text, found.documents), ("generated", Some(1_000_000)));
        assert_eq!((found.queries, found.out), (10_000, Some("x.json".into())));
        assert_eq!(read(&["--short"]).map(|found| found.queries), Ok(1_000));
        assert_eq!(read(&[]).map(|found| found.documents), Ok(None));
    }

    #[test]
    fn what_is_unknown_is_named_with_what_is_known() {
        for typed in [&["--wide", "3"][..], &["--out"], &["--generated", "many"]] {
            assert!(read(typed).expect_err("refused").ends_with(USAGE), "{typed:?}");
        }
    }
}
