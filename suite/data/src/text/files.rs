//! Text files of one's own.

use super::{BYTES_MAX, CorpusError};
use crate::file::hexadecimal;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Sizes and times of the files that would be read.
pub(super) fn stamp(path: &Path) -> Result<String, CorpusError> {
    let files = if path.is_dir() { list(path)? } else { vec![path.into()] };
    stamp_of(&files)
}

/// The hash of names, sizes and times of these files: as short for a hundred thousand as for one.
pub(super) fn stamp_of(files: &[PathBuf]) -> Result<String, CorpusError> {
    let mut hash = Sha256::new();
    for file in files {
        let unreadable = |error| CorpusError::Unreadable(file.clone(), error);
        let metadata = file.metadata().map_err(unreadable)?;
        let changed = metadata.modified().map_err(unreadable)?;
        let since = changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = file.as_os_str().as_encoded_bytes();
        // The length keeps a name that ends in numbers apart from these.
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(metadata.len().to_le_bytes());
        hash.update(since.to_le_bytes());
    }
    Ok(format!("{} files, SHA-256 {}", files.len(), hexadecimal(&hash.finalize())))
}

/// Each paragraph of a file, or each file of a folder, in the order of their names.
pub(super) fn load(path: &Path, documents: usize) -> Result<Vec<String>, CorpusError> {
    let loaded = if path.is_dir() { folder(path, documents)? } else { file(path, documents)? };
    if loaded.is_empty() { Err(CorpusError::Empty(path.into())) } else { Ok(loaded) }
}

/// A whole file. What is no UTF-8 in it is replaced: old texts have a few bytes of other encodings.
pub(super) fn text(path: &Path) -> Result<String, CorpusError> {
    let unreadable = |error| CorpusError::Unreadable(path.into(), error);
    let metadata = path.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(CorpusError::NoFile(path.into()));
    }
    if metadata.len() > BYTES_MAX {
        return Err(CorpusError::TooMuch(path.into()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    // The file may have grown meanwhile.
    if bytes.len() as u64 > BYTES_MAX {
        return Err(CorpusError::TooMuch(path.into()));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn file(path: &Path, documents: usize) -> Result<Vec<String>, CorpusError> {
    Ok(paragraphs(&text(path)?).take(documents).collect())
}

/// The files of a folder, by name.
fn list(path: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let unreadable = |error| CorpusError::Unreadable(path.into(), error);
    let entries = std::fs::read_dir(path).map_err(unreadable)?;
    let files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>, _>>();
    let mut files = files.map_err(unreadable)?;
    files.retain(|file| file.is_file());
    files.sort_unstable();
    Ok(files)
}

fn folder(path: &Path, documents: usize) -> Result<Vec<String>, CorpusError> {
    let files = list(path)?;
    let mut bytes_left = BYTES_MAX;
    let mut loaded = Vec::new();
    for file in files.into_iter().take(documents) {
        let text = text(&file)?;
        let too_much = || CorpusError::TooMuch(path.into());
        bytes_left = bytes_left.checked_sub(text.len() as u64).ok_or_else(too_much)?;
        loaded.push(text);
    }
    Ok(loaded)
}

/// The runs of lines that are not blank, each as one line.
fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let paragraphs: Vec<_> = lines
        .split(|line| line.is_empty())
        .filter(|paragraph| !paragraph.is_empty())
        .map(|paragraph| paragraph.join(" "))
        .collect();
    paragraphs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_end_at_blank_lines() {
        let found: Vec<_> = paragraphs("\n one\ntwo \n\n \nthree\n").collect();
        assert_eq!(found, ["one two", "three"]);
    }

    #[test]
    fn this_folder_is_a_corpus_and_each_file_a_document() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/text");
        let documents = load(folder.as_ref(), usize::MAX).expect("it is there");
        assert_eq!(documents.len(), 5);
        assert!(documents[0].starts_with("//! Text files of one's own."));
        assert_eq!(load(folder.as_ref(), 2).expect("it is there").len(), 2);
    }

    #[test]
    fn what_cannot_be_loaded_is_named() {
        let error = load("/nowhere/at/all".as_ref(), 1).expect_err("not there").to_string();
        assert!(error.starts_with("/nowhere/at/all: "), "{error}");
        // Neither has an end that a reader could wait for.
        for device in ["/dev/null", "/dev/zero"] {
            let error = load(device.as_ref(), 1).expect_err("no file");
            assert!(matches!(error, CorpusError::NoFile(_)), "{error}");
        }
    }

    #[test]
    fn a_stamp_is_short_however_many_files_there_are() {
        let folder = std::env::temp_dir().join(format!("tailwater-many-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let number = |number: u32| folder.join(format!("{number}"));
        (0..300).for_each(|it| std::fs::write(number(it), "text").expect("written"));
        let all = stamp(&folder).expect("there");
        assert!(all.len() < 100, "{all}");
        std::fs::rename(number(7), number(300)).expect("renamed");
        assert_ne!(stamp(&folder).expect("there"), all);
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
