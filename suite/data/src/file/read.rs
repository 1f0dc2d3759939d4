//! Reading a file: its header at once, its sections when they are asked for.

use super::write::first_line;
use super::{
    DataError, FORM, HEADER_BYTES_MAX, Header, LINE_BYTES_MAX, MAGIC, Section, hexadecimal,
};
use crate::numbers::u32_of_bytes;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// A file of prepared data.
#[derive(Debug)]
pub struct Data {
    pub(super) path: PathBuf,
    pub(super) file: File,
    header: Header,
    /// Where the sections begin.
    pub(super) start: u64,
}

impl Data {
    /// Reads the header, and checks that it has its hash, and that the file is as long as it says.
    ///
    /// # Errors
    /// When it is not there, is something else, or is cut off.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => DataError::Missing(path.into()),
            _ => DataError::Io(path.into(), error),
        })?;
        let trouble = |error| DataError::Io(path.into(), error);
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        let most = LINE_BYTES_MAX as u64;
        reader.by_ref().take(most).read_until(b'\n', &mut line).map_err(trouble)?;
        let length =
            header_length(&line).map_err(|found| DataError::Foreign(path.into(), found))?;
        let mut text = vec![0; length];
        let cut = |_| DataError::Damaged(path.into(), "it ends within its header".into());
        reader.read_exact(&mut text).map_err(cut)?;
        if first_line(&text).as_bytes() != line {
            let found = "the SHA-256 of its header is not that of its first line";
            return Err(DataError::Damaged(path.into(), found.into()));
        }
        let header: Header = serde_json::from_slice(&text)
            .map_err(|error| DataError::Damaged(path.into(), format!("its header: {error}")))?;
        let start = (line.len() + length) as u64;
        let bytes = file.metadata().map_err(trouble)?.len();
        let needed = laid_out(&header).and_then(|sections| sections.checked_add(start));
        if needed != Some(bytes) {
            let found = format!("it has {bytes} bytes, which is not what its header says");
            return Err(DataError::Damaged(path.into(), found));
        }
        Ok(Self { path: path.into(), file, header, start })
    }

    /// The same, of this kind.
    ///
    /// # Errors
    /// As [`Data::open`], and where it is of another kind.
    pub fn open_as(path: &Path, kind: &str) -> Result<Self, DataError> {
        let data = Self::open(path)?;
        if data.header.kind != kind {
            let found =
                format!("data of the kind \"{}\" where \"{kind}\" is needed", data.header.kind);
            return Err(DataError::Foreign(path.into(), found));
        }
        Ok(data)
    }

    /// What it says of itself.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes of a section.
    ///
    /// # Errors
    /// When there is none of this name, it cannot be read, or it has not its hash.
    pub fn section(&mut self, name: &str) -> Result<Vec<u8>, DataError> {
        let section = self.named(name)?;
        // No longer than the file, which was looked at.
        let mut bytes = vec![0; section.bytes as usize];
        let trouble = |error| DataError::Io(self.path.clone(), error);
        self.file.read_exact_at(&mut bytes, self.start + section.start).map_err(trouble)?;
        match hexadecimal(&Sha256::digest(&bytes)) == section.sha256 {
            true => Ok(bytes),
            false => {
                Err(self.damaged(format!("the SHA-256 of its {name} is not that of its header")))
            }
        }
    }

    /// The numbers of a section, as [`bytes_of_u32`](crate::numbers::bytes_of_u32) wrote them.
    ///
    /// # Errors
    /// As [`Data::section`], and where its bytes are no whole number of them.
    pub fn numbers(&mut self, name: &str) -> Result<Vec<u32>, DataError> {
        let numbers = u32_of_bytes(&self.section(name)?);
        numbers.ok_or_else(|| self.damaged(format!("its {name} are no whole number of numbers")))
    }

    pub(super) fn named(&self, name: &str) -> Result<&Section, DataError> {
        let found = self.header.sections.iter().find(|section| section.name == name);
        found.ok_or_else(|| self.damaged(format!("it has no section {name}")))
    }

    /// Reads everything, and compares it with the hash of the header.
    ///
    /// # Errors
    /// When it differs, or cannot be read.
    pub fn verify(&mut self) -> Result<(), DataError> {
        let trouble = |error| DataError::Io(self.path.clone(), error);
        self.file.seek(SeekFrom::Start(self.start)).map_err(trouble)?;
        let mut hash = Sha256::new();
        let mut part = vec![0; 1 << 18];
        loop {
            match self.file.read(&mut part).map_err(trouble)? {
                0 => break,
                count => hash.update(&part[..count]),
            }
        }
        if hexadecimal(&hash.finalize()) == self.header.sha256 {
            return Ok(());
        }
        Err(self.damaged("its SHA-256 is not that of its header".into()))
    }

    /// An error that names this file: for readers that find nonsense in a section.
    #[must_use]
    pub fn damaged(&self, found: String) -> DataError {
        DataError::Damaged(self.path.clone(), found)
    }
}

/// The length of the header that the first line says.
fn header_length(line: &[u8]) -> Result<usize, String> {
    let line = std::str::from_utf8(line).ok().and_then(|line| line.strip_suffix('\n'));
    let mut words = line.unwrap_or_default().split(' ');
    if words.next() != Some(MAGIC) {
        return Err("something else than prepared data".into());
    }
    let form = words.next().and_then(|form| form.parse::<u32>().ok());
    if form != Some(FORM) {
        return Err("prepared data of another version of tailwater".into());
    }
    let length = words.next().and_then(|length| length.parse().ok());
    length
        .filter(|&length| length <= HEADER_BYTES_MAX)
        .ok_or_else(|| "a header of no length".into())
}

/// How long the sections are together, where they lie one behind the other.
fn laid_out(header: &Header) -> Option<u64> {
    header.sections.iter().try_fold(0_u64, |end, section| {
        (section.start == end).then(|| end.checked_add(section.bytes)).flatten()
    })
}
