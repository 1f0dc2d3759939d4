//! What is asked for.

use std::path::PathBuf;

/// Which set, and what to do with it.
pub(crate) struct Arguments {
    pub(crate) vectors: String,
    pub(crate) points: Option<usize>,
    pub(crate) queries: usize,
    pub(crate) write: Option<PathBuf>,
    pub(crate) out: Option<PathBuf>,
}

const USAGE: &str = "it takes --short, --vectors words|images|wordnet|FILE, --points N, --queries N, --write DIR and --out FILE";

impl Arguments {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let vectors = "words".into();
        let mut found = Self { vectors, points: None, queries: 1_000, write: None, out: None };
        while let Some(flag) = arguments.next() {
            if flag == "--short" {
                (found.points, found.queries) = (Some(5_000), 100);
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("found {flag} alone; {USAGE}"))?;
            let number = || value.parse().map_err(|_| format!("found {flag} {value}; {USAGE}"));
            match &*flag {
                "--vectors" => found.vectors = value,
                "--points" => found.points = Some(number()?),
                "--queries" => found.queries = number()?,
                "--write" => found.write = Some(value.into()),
                "--out" => found.out = Some(value.into()),
                _ => return Err(format!("found {flag}; {USAGE}")),
            }
        }
        Ok(found)
    }
}
