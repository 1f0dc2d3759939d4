//! What is typed behind a test program without the standard library's harness, read as that harness reads it. What `--skip` names is not skipped.

/// Flags of that harness behind which a value stands.
const VALUED: [&str; 4] = ["--test-threads", "--skip", "--format", "--color"];

/// Which tests are meant.
pub(crate) struct Asked {
    /// Those whose names contain one of these; all, where there is none.
    pub(crate) words: Vec<String>,
    /// A word is a whole name.
    is_exact: bool,
    /// Their names are told, and none runs.
    pub(crate) lists: bool,
}

impl Asked {
    /// From what stands behind the program's name. Other flags than `--exact` and `--list` change nothing.
    pub(crate) fn read(mut typed: impl Iterator<Item = String>) -> Self {
        let mut asked = Self { words: Vec::new(), is_exact: false, lists: false };
        while let Some(word) = typed.next() {
            if word == "--exact" {
                asked.is_exact = true;
            } else if word == "--list" {
                asked.lists = true;
            } else if VALUED.contains(&word.as_str()) {
                typed.next();
            } else if !word.starts_with('-') {
                asked.words.push(word);
            }
        }
        asked
    }

    pub(crate) fn means(&self, name: &str) -> bool {
        let fits = |word: &String| {
            if self.is_exact { name == word.as_str() } else { name.contains(word.as_str()) }
        };
        self.words.is_empty() || self.words.iter().any(fits)
    }
}
