//! Texts: WordNet's glosses, files, or generated ones, and the terms in them.

pub mod tokens;
mod wordnet;
mod files;
pub mod generate;

pub use wordnet::PACKAGE as WORDNET_PACKAGE;

use crate::file::hexadecimal;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// More text than this is not loaded: positions in an index are kept in 32 bits.
pub const BYTES_MAX: u64 = 1 << 30;

/// Where Debian's package `wordnet-base` puts its files.
pub const WORDNET: &str = WORDNET_PACKAGE.installed;

/// Whether a folder has WordNet's files.
#[must_use]
pub fn is_wordnet_in(folder: &Path) -> bool {
    WORDNET_PACKAGE.is_in(folder)
}

/// For people: what these files are by the licence on top of them, such as "WordNet 3.0".
#[must_use]
pub fn wordnet_name(folder: &Path) -> String {
    wordnet::version(folder).unwrap_or_else(|| "text in WordNet's format".into())
}

/// Documents, numbered from zero.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Each one's text.
    pub documents: Vec<String>,
}

/// Which documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Glosses, each after its words, from the files in this folder: nouns, verbs, adjectives, adverbs. WordNet 3.0 has 117,659.
    WordNet(PathBuf),
    /// Each paragraph of a file, or each file of a folder by name.
    Files(PathBuf),
    /// Each line of a file that is not blank.
    Lines(PathBuf),
    /// See [`generate`], with this seed.
    Generated(u64),
}

/// Why there are no documents.
#[derive(Debug)]
pub enum CorpusError {
    /// WordNet is not where it should be.
    NotInstalled(PathBuf),
    /// The file or folder cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// This line of the file is not what it should be.
    Malformed(PathBuf, usize),
    /// There is no document.
    Empty(PathBuf),
    /// It is a device, a pipe or a socket.
    NoFile(PathBuf),
    /// It is a folder, of which lines were asked for.
    Folder(PathBuf),
    /// There is more than [`BYTES_MAX`].
    TooMuch(PathBuf),
    /// After so many generated documents one more would be more than [`BYTES_MAX`].
    TooMuchGenerated(usize),
    /// The receiver of the documents had enough, and said this.
    Stopped(String),
}

/// Takes documents one after the other; its error ends the reading.
pub type Take<'a> = &'a mut dyn FnMut(&str) -> Result<(), String>;

/// Gives the first so many documents of a source; without a number, all, or as many as [`generate::Text`] has by default.
/// What is read is read line by line: no more than one document is in memory.
///
/// # Errors
/// When they cannot be read, or there is none; what `take` returns.
pub fn each(source: &Source, documents: Option<usize>, take: Take<'_>) -> Result<(), CorpusError> {
    let first = documents.unwrap_or(usize::MAX);
    match source {
        Source::WordNet(folder) => wordnet::each(folder, first, take),
        Source::Files(path) => files::each(path, first, take),
        Source::Lines(path) => files::each_line(path, first, take),
        Source::Generated(seed) => {
            let default = generate::Text::default();
            let generator = generate::Generator::new(default, *seed);
            generated(&generator, documents.unwrap_or(default.documents), BYTES_MAX, take)
        }
    }
}

/// Gives so many documents of no more than so many bytes in all.
fn generated(
    generator: &generate::Generator,
    documents: usize,
    bytes_max: u64,
    take: Take<'_>,
) -> Result<(), CorpusError> {
    let mut bytes_left = bytes_max;
    for number in 0..documents {
        let text = generator.document(number);
        let left = bytes_left.checked_sub(text.len() as u64);
        bytes_left = left.ok_or(CorpusError::TooMuchGenerated(number))?;
        take(&text).map_err(CorpusError::Stopped)?;
    }
    Ok(())
}

impl Corpus {
    /// As [`each`], and keeps all of them.
    ///
    /// # Errors
    /// As [`each`].
    pub fn load(source: &Source, documents: Option<usize>) -> Result<Self, CorpusError> {
        let mut loaded = Vec::new();
        each(source, documents, &mut |text| {
            loaded.push(text.to_owned());
            Ok(())
        })?;
        Ok(Self { documents: loaded })
    }

    /// The texts in their order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.documents.iter().map(String::as_str)
    }
}

impl Source {
    /// What it is now, so that data made of it can be told from data of an earlier state: sizes and times of its
    /// files; of generated text the seed.
    ///
    /// # Errors
    /// When its files are not there.
    pub fn stamp(&self) -> Result<String, CorpusError> {
        match self {
            Self::WordNet(folder) => wordnet::stamp(folder),
            Self::Files(path) | Self::Lines(path) => files::stamp(path),
            Self::Generated(seed) => Ok(format!("seed {seed}")),
        }
    }

    /// For names of files that are made of it: sources at different places have different names.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::WordNet(folder) if folder == Path::new(WORDNET) => "wordnet".into(),
            Self::WordNet(folder) => format!("wordnet-{}", place_name(folder)),
            Self::Files(path) => format!("files-{}", place_name(path)),
            Self::Lines(path) => format!("lines-{}", place_name(path)),
            Self::Generated(seed) => format!("generated-{seed}"),
        }
    }

    /// Under which terms its text may be used, for results.
    #[must_use]
    pub fn licence(&self) -> String {
        let version = match self {
            Self::WordNet(folder) => wordnet::version(folder),
            Self::Files(_) | Self::Lines(_) => None,
            Self::Generated(_) => return "none needed".into(),
        };
        let known = version.map(|version| format!("{version} licence (Princeton University)"));
        known.unwrap_or_else(|| "the files' own, which tailwater does not know".into())
    }
}

/// The end of a path, which tells files best, and the hash of the whole, wherever it is said from.
fn place_name(path: &Path) -> String {
    // Far from the 255 bytes that a name may have.
    const END_MAX: usize = 60;
    const HASH_DIGITS: usize = 16;
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let letters: String = path.display().to_string().chars().map(letter).collect();
    let end = letters[letters.len().saturating_sub(END_MAX)..].trim_matches('-');
    let hash = hexadecimal(&Sha256::digest(whole.as_os_str().as_encoded_bytes()));
    format!("{end}-{}", &hash[..HASH_DIGITS])
}

/// For results: where the text is from.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WordNet(folder) => {
                let (name, verdict) = (wordnet_name(folder), wordnet::verdict(folder));
                write!(f, "{name} in {}, {verdict}", folder.display())
            }
            Self::Files(path) => write!(f, "{}", path.display()),
            Self::Lines(path) => write!(f, "the lines of {}", path.display()),
            Self::Generated(seed) => write!(f, "generated from seed {seed}"),
        }
    }
}

impl FromStr for Source {
    type Err = std::convert::Infallible;

    /// `wordnet`, `generated`, `lines:` and a path, or a path; a folder with WordNet's files is WordNet.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "wordnet" => Self::WordNet(WORDNET.into()),
            "generated" => Self::Generated(1),
            path if is_wordnet_in(path.as_ref()) => Self::WordNet(path.into()),
            path => match path.strip_prefix("lines:") {
                Some(path) => Self::Lines(path.into()),
                None => Self::Files(path.into()),
            },
        })
    }
}

impl fmt::Display for CorpusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled(path) => write!(
                f,
                "found no WordNet in {}; its data.noun, data.verb, data.adj and data.adv are needed: \
                 tailwater data fetch wordnet, or apt-get install wordnet-base, or name another text: 'generated', a file \
                 or a folder",
                path.display()
            ),
            Self::Unreadable(path, error) => write!(
                f,
                "{}: {error}; name a file or folder that can be read, or leave the setting at its default",
                path.display()
            ),
            Self::NoFile(path) => write!(
                f,
                "{}: found a device, a pipe or a socket; a file or a folder is needed",
                path.display()
            ),
            Self::Malformed(path, line) => write!(
                f,
                "{}:{line}: found no entry of WordNet's database; its words and a gloss are needed \
                 (man 5 wndb)",
                path.display()
            ),
            Self::Empty(path) => write!(
                f,
                "{}: found no document; paragraphs of text with blank lines between them are needed, \
                 or a folder of files",
                path.display()
            ),
            Self::Folder(path) => write!(
                f,
                "{0}: found a folder, whose lines are asked for; a file is needed, or {0} without lines: each file is a \
                 document then",
                path.display()
            ),
            Self::TooMuch(path) => {
                write!(f, "{}: found more than {} MiB of text", path.display(), BYTES_MAX >> 20)?;
                f.write_str("; less is needed")
            }
            Self::TooMuchGenerated(documents) => write!(
                f,
                "found more than {} MiB of text in {} generated documents; fewer are needed: set documents to {documents}",
                BYTES_MAX >> 20,
                documents + 1
            ),
            Self::Stopped(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for CorpusError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_wordnet_names_its_package() {
        let error = Corpus::load(&Source::WordNet("/nowhere".into()), None).expect_err("not there");
        assert!(error.to_string().contains("apt-get install wordnet-base"), "{error}");
    }

    #[test]
    fn generated_text_has_a_bound_in_bytes_and_the_error_a_number_that_is_within() {
        let generator = generate::Generator::new(generate::Text::default(), 1);
        let bytes: u64 = (0..7).map(|number| generator.document(number).len() as u64).sum();
        let given = |documents, bytes_max| {
            let mut given = 0;
            let mut take = |_: &str| {
                given += 1;
                Ok(())
            };
            (generated(&generator, documents, bytes_max, &mut take), given)
        };
        assert!(matches!(given(7, bytes), (Ok(()), 7)));
        for bytes_max in [bytes, bytes + 1] {
            let (found, count) = given(8, bytes_max);
            let error = found.expect_err("more than that").to_string();
            assert!(count == 7 && error.ends_with("set documents to 7"), "{count}: {error}");
        }
    }

    #[test]
    fn a_stamp_changes_with_the_files() {
        let path = std::env::temp_dir().join(format!("tailwater-stamp-{}", std::process::id()));
        let stamp = || Source::Files(path.clone()).stamp();
        assert!(stamp().is_err(), "not there");
        std::fs::write(&path, "one").expect("written");
        let first = stamp().expect("there");
        assert_eq!(stamp().expect("there"), first);
        std::fs::write(&path, "one two").expect("written");
        assert_ne!(stamp().expect("there"), first);
        std::fs::remove_file(path).expect("removed");
    }

    #[test]
    fn sources_at_different_places_have_different_names() {
        let name = |text: &str| text.parse::<Source>().expect("any text is a source").name();
        let long = "x".repeat(90);
        let places = ["a/b", "a-b", "/a/b", &format!("/a/{long}"), &format!("/b/{long}"), "é", "è"];
        let names: std::collections::BTreeSet<_> = places.iter().map(|it| name(it)).collect();
        assert_eq!(names.len(), places.len(), "{names:?}");
        let of = |folder: &str| Source::WordNet(folder.into()).name();
        assert_eq!(of(WORDNET), "wordnet");
        assert_ne!(of("/a/wordnet"), of("/b/wordnet"));
        let here = std::env::current_dir().expect("a folder").join("a/b");
        let hash = |name: String| name[name.len() - 16..].to_owned();
        assert_eq!(hash(name("a/b")), hash(name(here.to_str().expect("text"))));
    }

    #[test]
    fn wordnet_is_the_installed_one_else_the_fetched() {
        let data = std::env::temp_dir().join(format!("tailwater-fetched-{}", std::process::id()));
        let fetched = WORDNET_PACKAGE.fetched(&data);
        std::fs::create_dir_all(&fetched).expect("a folder");
        let source = |said: &str| WORDNET_PACKAGE.source(said, &data, Source::WordNet);
        assert_eq!(source("wordnet"), Source::WordNet(WORDNET.into()), "neither");
        for file in WORDNET_PACKAGE.files {
            std::fs::write(fetched.join(file.name), "").expect("written");
        }
        let is_installed = is_wordnet_in(WORDNET.as_ref());
        let place = if is_installed { WORDNET.into() } else { fetched };
        assert_eq!(source("wordnet"), Source::WordNet(place));
        assert_eq!(source("lines:a/b"), Source::Lines("a/b".into()));
        std::fs::remove_dir_all(data).expect("removed");
    }

    #[test]
    fn sources_have_names() {
        let source = |text: &str| text.parse::<Source>().expect("any text is a source");
        assert_eq!(source("wordnet"), Source::WordNet(WORDNET.into()));
        assert_eq!(source("generated"), Source::Generated(1));
        assert_eq!(source("./wordnet"), Source::Files("./wordnet".into()));
        assert_eq!(source("lines:a/b"), Source::Lines("a/b".into()));
        assert_ne!(source("lines:a/b").name(), source("a/b").name());
    }
}
