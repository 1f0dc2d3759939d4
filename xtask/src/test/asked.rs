//! What is typed behind `cargo xtask test`.

use crate::Result;

/// Which tests, how often, and beside what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    /// For cargo: which packages and programs are built.
    pub(super) flags: Vec<String>,
    /// For the programs: the tests whose names contain one of these words. All, where there is none.
    pub(super) names: Vec<String>,
    /// One round after the other.
    pub(super) times: u32,
    /// Threads that always compute meanwhile.
    pub(super) busy: usize,
}

impl Asked {
    /// `[--busy N] [--times N] [FLAGS of cargo] [-- NAMES]`.
    pub(super) fn read(args: &[String]) -> Result<Self> {
        let mut asked = Self { flags: Vec::new(), names: Vec::new(), times: 1, busy: 0 };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--busy" => asked.busy = number(word, words.next(), 0)?,
                "--times" => asked.times = number(word, words.next(), 1)?,
                "--" => asked.names = words.by_ref().cloned().collect(),
                _ => asked.flags.push(word.clone()),
            }
        }
        Ok(asked)
    }

    /// Whether every test of the workspace is meant.
    pub(super) const fn is_all(&self) -> bool {
        self.flags.is_empty() && self.names.is_empty()
    }
}

/// More threads, or rounds, than that are a slip of the keyboard.
const MOST: u32 = 10_000;

fn number<N: TryFrom<u32>>(flag: &str, said: Option<&String>, least: u32) -> Result<N> {
    let number = said.and_then(|said| said.parse().ok()).filter(|n| (least..=MOST).contains(n));
    let number = number.and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| {
        let found = said.map_or_else(|| "nothing".to_owned(), |said| format!("`{said}`"));
        format!("{flag}: found {found}; a number from {least} to {MOST} is needed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Asked> {
        Asked::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_are_cargos_and_names_the_programs() {
        let asked = read("--busy 2 -p x --times 50 --test y -- one two").unwrap();
        assert_eq!((asked.busy, asked.times), (2, 50));
        assert_eq!(asked.flags, ["-p", "x", "--test", "y"]);
        assert_eq!(asked.names, ["one", "two"]);
        assert!(!asked.is_all() && read("--busy 2").unwrap().is_all());
        assert_eq!(read("").map(|asked| (asked.busy, asked.times)), Ok((0, 1)));
        assert!(!read("-- one").unwrap().is_all());
    }

    #[test]
    fn what_is_no_number_is_told_with_what_is_needed() {
        for (line, found) in [
            ("--times", "nothing"),
            ("--times 0", "`0`"),
            ("--busy -p x", "`-p`"),
            ("--busy 99999", "`99999`"),
        ] {
            let why = read(line).unwrap_err();
            assert!(why.contains(found) && why.contains("is needed"), "{why}");
        }
    }
}
