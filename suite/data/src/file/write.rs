//! Writing a file: under another name first, so that no reader ever sees half of it.

use super::{DataError, FORM, HEADER_BYTES_MAX, Header, MAGIC, Origin, Section, sums_of};
use crate::numbers::bytes_of_u32;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What is to be written.
#[derive(Debug)]
pub struct Content {
    kind: String,
    origin: Origin,
    sections: Vec<(String, Vec<u8>)>,
}

impl Content {
    /// Data of this kind, as yet without sections.
    #[must_use]
    pub fn new(kind: &str, origin: Origin) -> Self {
        Self { kind: kind.to_owned(), origin, sections: Vec::new() }
    }

    /// The same with a section more.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, bytes: Vec<u8>) -> Self {
        self.sections.push((name.into(), bytes));
        self
    }

    /// The same with a section of records of so many bytes, of which a reader may take some. Beside it lies a section
    /// with a sum of each.
    ///
    /// # Panics
    /// When they are no whole number of records: a mistake of the program.
    #[must_use]
    pub fn with_records(self, name: &str, record_bytes: usize, bytes: Vec<u8>) -> Self {
        let records = bytes.chunks_exact(record_bytes);
        assert!(records.remainder().is_empty(), "whole records are needed");
        let sums = bytes_of_u32(&records.map(crc32fast::hash).collect::<Vec<_>>());
        self.with(sums_of(name), sums).with(name, bytes)
    }

    /// Writes it to this path, whole or not at all.
    ///
    /// # Errors
    /// A header that no reader would take; what the file system refuses.
    pub fn write(&self, path: &Path) -> Result<Header, DataError> {
        let trouble = |error| DataError::Io(path.into(), error);
        let header = self.header();
        let text = serde_json::to_vec(&header).map_err(|error| trouble(error.into()))?;
        if text.len() > HEADER_BYTES_MAX {
            return Err(DataError::HeaderTooLong(path.into(), text.len()));
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(trouble)?;
            clear_drafts(folder);
        }
        let mut draft = Draft::beside(path).map_err(trouble)?;
        let written = self.write_draft(&mut draft.file, &text).and_then(|()| draft.put_at(path));
        written.map_err(|error| {
            // What is left of the draft helps nothing.
            let _ = fs::remove_file(&draft.path);
            trouble(error)
        })?;
        Ok(header)
    }

    fn header(&self) -> Header {
        let mut start = 0;
        let mut hash = Sha256::new();
        let sections = self.sections.iter().map(|(name, bytes)| {
            hash.update(bytes);
            let sha256 = hexadecimal(&Sha256::digest(bytes));
            let section = Section { name: name.clone(), start, bytes: bytes.len() as u64, sha256 };
            start += section.bytes;
            section
        });
        let sections = sections.collect();
        let sha256 = hexadecimal(&hash.finalize());
        Header { kind: self.kind.clone(), origin: self.origin.clone(), sections, sha256 }
    }

    pub(super) fn write_draft(&self, file: &mut File, header: &[u8]) -> io::Result<()> {
        file.write_all(first_line(header).as_bytes())?;
        file.write_all(header)?;
        self.sections.iter().try_for_each(|(_, bytes)| file.write_all(bytes))?;
        // A rename that reaches the disk before what was written would leave an empty file.
        file.sync_all()
    }
}

/// How drafts end.
const DRAFT: &str = "part";

/// Each try meets another process that takes the draft for one that nobody writes.
const TRIES: usize = 8;

/// The hexadecimal digits in a draft's name.
const DIGITS: usize = 16;

/// A file that is being written, locked until this is dropped: a draft without a lock is nobody's any more.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

impl Draft {
    /// A new file beside this one. In a folder that others can write to, nobody can foresee its name, and no file or
    /// link that lies there already is opened.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let random = RandomState::new().hash_one(std::process::id());
            let draft = path.with_extension(format!("{random:0DIGITS$x}.{DRAFT}"));
            let file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
            match file.try_lock() {
                // Before it was locked, another process may have taken it away, as it had no lock.
                Ok(()) if draft.exists() => return Ok(Self { path: draft, file }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                // File systems without locks: there no process takes drafts away.
                Err(TryLockError::Error(_)) => return Ok(Self { path: draft, file }),
            }
        }
        Err(io::Error::other("other processes took each draft away; try again"))
    }

    /// Gives it this name. It keeps its lock: without one, another process would take it away before it has the name.
    pub(super) fn put_at(&self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)
    }
}

/// Takes away what processes that were ended amid writing have left in a folder. Whatever stands in the way of that is
/// no reason not to write.
pub(super) fn clear_drafts(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for draft in entries.map(|entry| entry.path()) {
        // No link is followed, and nothing opened that has no end.
        let is_file = fs::symlink_metadata(&draft).is_ok_and(|it| it.is_file());
        if is_file
            && is_draft(&draft)
            && let Some(lock) = lock_of_nobodys(&draft)
        {
            let _ = fs::remove_file(&draft);
            // Until then: a process that has made it, and has not locked it yet, must find that it is locked or gone.
            drop(lock);
        }
    }
}

/// The lock of a draft that no process writes.
pub(super) fn lock_of_nobodys(draft: &Path) -> Option<File> {
    let file = File::open(draft).ok()?;
    file.try_lock().is_ok().then_some(file)
}

/// Whether a draft may be called so. Other programs call what they have not finished `part`, too.
fn is_draft(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let digits = name.and_then(|name| {
        let (_, digits) = name.strip_suffix(DRAFT)?.strip_suffix('.')?.rsplit_once('.')?;
        Some(digits)
    });
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(is_digit))
}

/// What stands before this header.
pub(super) fn first_line(header: &[u8]) -> String {
    format!("{MAGIC} {FORM} {} {}\n", header.len(), hexadecimal(&Sha256::digest(header)))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
