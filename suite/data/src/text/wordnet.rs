//! The glosses of WordNet (Fellbaum, "WordNet: An Electronic Lexical Database", 1998) from its database
//! files, whose format is described by `man 5 wndb`.

use super::files::{self, Lines};
use super::{CorpusError, Take};
use crate::package::{Member, Package};
use std::path::{Path, PathBuf};

/// WordNet as Debian publishes it. In this order its files are read.
pub const PACKAGE: Package = Package {
    set: "wordnet",
    name: "wordnet-base",
    version: "1:3.0-37",
    about: "WordNet 3.0: 117,659 glosses, each with its words",
    licence: "WordNet 3.0 licence (Princeton University): free for any purpose, with its notice, which is on top of each file",
    installed: "/usr/share/wordnet",
    files: &[
        Member {
            name: "data.noun",
            bytes: 15_300_280,
            sha256: "fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2",
        },
        Member {
            name: "data.verb",
            bytes: 2_772_517,
            sha256: "adcf43e35b581e8036d8b5a52d63d9cd3d3b4870b2720d3c03c799df44777bc2",
        },
        Member {
            name: "data.adj",
            bytes: 3_155_427,
            sha256: "c89120dfc1f046ddff4a631bf9b7e9fa1a36b5e86565a23bf82dbe14f30b88a7",
        },
        Member {
            name: "data.adv",
            bytes: 516_696,
            sha256: "444a63bf3955080ab7524f5079cfc07ff9bc682cb98bdb1db73b0fb9829f1139",
        },
    ],
};

/// For people: whether the files are those that Debian publishes, byte for byte. Another version is no error.
pub(super) fn verdict(folder: &Path) -> String {
    let verdict = if PACKAGE.verify(folder).is_ok() { "as" } else { "other than" };
    format!("{verdict} published ({} {})", PACKAGE.name, PACKAGE.version)
}

/// The paths of its files.
fn paths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    PACKAGE.files.iter().map(|file| folder.join(file.name))
}

/// The version that all of its files name in the licence on top, such as "WordNet 3.0".
pub(super) fn version(folder: &Path) -> Option<String> {
    let mut versions = paths(folder).map(|file| version_of(&file));
    let first = versions.next()??;
    versions.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

fn version_of(file: &Path) -> Option<String> {
    let mut lines = Lines::open(file).ok()?;
    while let Some(line) = lines.next_line().ok()? {
        // The licence on top is indented by two spaces; the first other line ends it.
        let version = versioned(line.strip_prefix("  ")?);
        if version.is_some() {
            return version;
        }
    }
    None
}

/// Of "14 WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved.", where 14 is the line's number.
fn versioned(line: &str) -> Option<String> {
    let (_, line) = line.split_once(' ')?;
    let (version, owner) = line.split_once(" Copyright ")?;
    let digits = version.strip_prefix("WordNet ")?;
    let is_digits = digits.chars().all(|it| it.is_ascii_digit() || it == '.');
    let is_one = is_digits && !digits.is_empty() && owner.contains(" by Princeton University.");
    is_one.then(|| version.to_owned())
}

/// Sizes and times of the files.
pub(super) fn stamp(folder: &Path) -> Result<String, CorpusError> {
    if !PACKAGE.is_in(folder) {
        return Err(CorpusError::NotInstalled(folder.into()));
    }
    // Data of before the files were compared say nothing of that: they have another stamp, and are made anew.
    files::stamp_of(&paths(folder).collect::<Vec<_>>()).map(|stamp| stamp + ", compared")
}

pub(super) fn each(folder: &Path, documents: usize, take: Take<'_>) -> Result<(), CorpusError> {
    if !PACKAGE.is_in(folder) {
        return Err(CorpusError::NotInstalled(folder.into()));
    }
    let mut left = documents;
    for path in paths(folder) {
        let (mut lines, mut number) = (Lines::open(&path)?, 0);
        while left > 0
            && let Some(line) = lines.next_line()?
        {
            number += 1;
            // The licence on top is indented by two spaces.
            if line.starts_with("  ") {
                continue;
            }
            let malformed = || CorpusError::Malformed(path.clone(), number);
            take(&document(&line).ok_or_else(malformed)?).map_err(CorpusError::Stopped)?;
            left -= 1;
        }
    }
    Ok(())
}

/// "words: gloss" of a line `offset file type count word id word id … | gloss`, whose count is
/// of two hexadecimal digits.
fn document(line: &str) -> Option<String> {
    let (head, gloss) = line.split_once(" | ")?;
    let mut fields = head.split(' ');
    let count = u8::from_str_radix(fields.nth(3)?, 16).ok()?;
    let mut document = String::with_capacity(gloss.len() + 16 * usize::from(count));
    for number in 0..count {
        let word = fields.next()?;
        fields.next()?;
        // Adjectives may say where they stand: "galore(ip)".
        let word = word.split_once('(').map_or(word, |(word, _)| word);
        document.push_str(if number == 0 { "" } else { ", " });
        document.push_str(&word.replace('_', " "));
    }
    document.push_str(": ");
    document.push_str(gloss.trim());
    Some(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_gloss_are_taken() {
        let line = "00004258 03 n 02 living_thing 0 animate_thing 0 001 @ 00003553 n 0000 | a living \
                    (or once living) entity  ";
        let text = "living thing, animate thing: a living (or once living) entity";
        assert_eq!(document(line).as_deref(), Some(text));
        let adjective = "00014490 00 s 01 galore(ip) 0 001 & 00013887 a 0000 | in great numbers";
        assert_eq!(document(adjective).as_deref(), Some("galore: in great numbers"));
    }

    #[test]
    fn only_files_that_say_so_are_wordnet() {
        let folder = std::env::temp_dir().join(format!("tailwater-wordnet-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let licence = |version: &str| {
            format!(
                "  13   \n  14 WordNet {version} Copyright 2006 by Princeton University.  All rights reserved.  \n"
            )
        };
        let entry = "00001740 03 n 01 entity 0 003 | that which is\n";
        let written = |last: &str| {
            let adverbs = folder.join("data.adv");
            for file in paths(&folder) {
                let head = if file == adverbs { last.to_owned() } else { licence("3.0") };
                std::fs::write(file, head + entry).expect("written");
            }
            (version(&folder), super::super::wordnet_name(&folder))
        };
        assert_eq!(written(&licence("3.0")), (Some("WordNet 3.0".into()), "WordNet 3.0".into()));
        let source = super::super::Source::WordNet(folder.clone());
        assert_eq!(source.licence(), "WordNet 3.0 licence (Princeton University)");
        // Another version, none, one behind the licence, and one of somebody else.
        let behind = entry.to_owned() + &licence("3.0");
        let other = licence("3.0").replace("Princeton", "Another");
        for last in [licence("3.1"), String::new(), behind, other, licence("x")] {
            let (version, name) = written(&last);
            assert_eq!((version, &*name), (None, "text in WordNet's format"), "{last}");
        }
        assert!(source.to_string().starts_with("text in WordNet's format in "), "{source}");
        assert!(source.licence().contains("which tailwater does not know"));
        assert!(source.to_string().ends_with(", other than published (wordnet-base 1:3.0-37)"));
        assert!(source.stamp().expect("there").ends_with(", compared"));
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        // Room for so many words is not there.
        const HUGE: &str = "1 2 n 0fffffffffffffff one 0 | gloss";
        for line in [
            "",
            "a b c",
            "1 2 n 02 one 0 | gloss",
            "1 2 n zz one 0 | gloss",
            "1 2 n 01 one 0",
            HUGE,
        ] {
            assert_eq!(document(line), None, "{line}");
        }
    }
}
