//! Text files of one's own.

use super::{BYTES_MAX, CorpusError, Take};
use crate::file::hexadecimal;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
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

/// Gives each paragraph of a file, or each file of a folder, in the order of their names.
pub(super) fn each(path: &Path, documents: usize, take: Take<'_>) -> Result<(), CorpusError> {
    some(path, take, |counted| match path.is_dir() {
        true => folder(path, documents, counted),
        false => paragraphs(Lines::open(path)?, documents, counted),
    })
}

/// Gives each line of a file that is not blank.
pub(super) fn each_line(path: &Path, documents: usize, take: Take<'_>) -> Result<(), CorpusError> {
    if path.is_dir() {
        return Err(CorpusError::Folder(path.into()));
    }
    some(path, take, |counted| {
        let (mut lines, mut left) = (Lines::open(path)?, documents);
        while left > 0
            && let Some(line) = lines.next_line()?
        {
            let line = line.trim();
            if !line.is_empty() {
                counted(line).map_err(CorpusError::Stopped)?;
                left -= 1;
            }
        }
        Ok(())
    })
}

/// At least one document must be given.
fn some(
    path: &Path,
    take: Take<'_>,
    give: impl FnOnce(Take<'_>) -> Result<(), CorpusError>,
) -> Result<(), CorpusError> {
    let mut count = 0;
    give(&mut |text: &str| {
        count += 1;
        take(text)
    })?;
    if count == 0 { Err(CorpusError::Empty(path.into())) } else { Ok(()) }
}

/// The lines of a file, one after the other. What is no UTF-8 in them is replaced: old texts have a few bytes of other
/// encodings.
pub(super) struct Lines {
    path: PathBuf,
    reader: io::Take<BufReader<File>>,
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, CorpusError> {
        let unreadable = |error| CorpusError::Unreadable(path.into(), error);
        let metadata = path.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(CorpusError::NoFile(path.into()));
        }
        if metadata.len() > BYTES_MAX {
            return Err(CorpusError::TooMuch(path.into()));
        }
        let file = File::open(path).map_err(unreadable)?;
        // The file may grow meanwhile.
        let reader = BufReader::new(file).take(BYTES_MAX + 1);
        Ok(Self { path: path.into(), reader, line: Vec::new() })
    }

    /// The next line, without its end; `None` after the last.
    pub(super) fn next_line(&mut self) -> Result<Option<Cow<'_, str>>, CorpusError> {
        let Self { path, reader, line } = self;
        line.clear();
        let unreadable = |error| CorpusError::Unreadable(path.clone(), error);
        if reader.read_until(b'\n', line).map_err(unreadable)? == 0 {
            return Ok(None);
        }
        if reader.limit() == 0 {
            return Err(CorpusError::TooMuch(path.clone()));
        }
        let line: &[u8] = line;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(Some(String::from_utf8_lossy(line)))
    }
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

fn folder(path: &Path, documents: usize, take: Take<'_>) -> Result<(), CorpusError> {
    let mut bytes_left = BYTES_MAX;
    for file in list(path)?.into_iter().take(documents) {
        let (mut lines, mut text) = (Lines::open(&file)?, String::new());
        while let Some(line) = lines.next_line()? {
            text.push_str(&line);
            text.push('\n');
        }
        let too_much = || CorpusError::TooMuch(path.into());
        bytes_left = bytes_left.checked_sub(text.len() as u64).ok_or_else(too_much)?;
        take(&text).map_err(CorpusError::Stopped)?;
    }
    Ok(())
}

/// Gives the runs of lines that are not blank, each as one line.
fn paragraphs(mut lines: Lines, documents: usize, take: Take<'_>) -> Result<(), CorpusError> {
    let (mut paragraph, mut left) = (String::new(), documents);
    while left > 0 {
        let line = lines.next_line()?;
        let is_last = line.is_none();
        let line = line.as_deref().map_or("", str::trim);
        if !line.is_empty() {
            paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
            paragraph.push_str(line);
        } else if !paragraph.is_empty() {
            take(&paragraph).map_err(CorpusError::Stopped)?;
            paragraph.clear();
            left -= 1;
        }
        if is_last {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(path: &Path, documents: usize) -> Result<Vec<String>, CorpusError> {
        let mut loaded = Vec::new();
        each(path, documents, &mut |text| {
            loaded.push(text.to_owned());
            Ok(())
        })?;
        Ok(loaded)
    }

    #[test]
    fn paragraphs_end_at_blank_lines() {
        let path = std::env::temp_dir().join(format!("tailwater-lines-{}", std::process::id()));
        let text = b"\n one\ntwo \r\n\n \nth\xffree\n\n\nfour";
        std::fs::write(&path, text).expect("written");
        let all = ["one two", "th\u{fffd}ree", "four"];
        assert_eq!(load(&path, usize::MAX).expect("read"), all);
        assert_eq!(load(&path, 2).expect("read"), all[..2]);
        // Line by line: what is behind the last document that is wanted is not looked at.
        let mut taken = 0;
        let stopped = each(&path, usize::MAX, &mut |_| {
            taken += 1;
            Err("enough".to_owned())
        });
        assert!(matches!(stopped, Err(CorpusError::Stopped(why)) if why == "enough") && taken == 1);
        std::fs::remove_file(path).expect("removed");
    }

    #[test]
    fn each_line_is_a_document_where_that_is_asked_for() {
        let path = std::env::temp_dir().join(format!("tailwater-each-line-{}", std::process::id()));
        let load = |documents| {
            let mut loaded = Vec::new();
            let mut take = |text: &str| {
                loaded.push(text.to_owned());
                Ok(())
            };
            each_line(&path, documents, &mut take).map(|()| loaded)
        };
        std::fs::write(&path, "one\ntwo words \r\n\n \nthree").expect("written");
        assert_eq!(load(usize::MAX).expect("read"), ["one", "two words", "three"]);
        assert_eq!(load(2).expect("read"), ["one", "two words"]);
        std::fs::write(&path, "\n \n").expect("written");
        assert!(matches!(load(2), Err(CorpusError::Empty(_))));
        std::fs::remove_file(&path).expect("removed");
        let folder = each_line(env!("CARGO_MANIFEST_DIR").as_ref(), 1, &mut |_| Ok(()));
        let error = folder.expect_err("a folder").to_string();
        assert!(error.contains("without lines: each file is a document"), "{error}");
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
