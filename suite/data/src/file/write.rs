//! Writing a file: under another name first, so that no reader ever sees half of it.

use super::{DataError, FORM, Header, MAGIC, Origin, Section};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

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

    /// Writes it to this path, whole or not at all.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn write(&self, path: &Path) -> Result<Header, DataError> {
        let header = self.header();
        let draft = path.with_extension(format!("{}.part", std::process::id()));
        self.write_draft(&draft, &header).and_then(|()| fs::rename(&draft, path)).map_err(
            |error| {
                // What is left of the draft helps nothing.
                let _ = fs::remove_file(&draft);
                DataError::Io(path.into(), error)
            },
        )?;
        Ok(header)
    }

    fn header(&self) -> Header {
        let mut start = 0;
        let mut hash = Sha256::new();
        let sections = self.sections.iter().map(|(name, bytes)| {
            hash.update(bytes);
            let section = Section { name: name.clone(), start, bytes: bytes.len() as u64 };
            start += section.bytes;
            section
        });
        let sections = sections.collect();
        let sha256 = hexadecimal(&hash.finalize());
        Header { kind: self.kind.clone(), origin: self.origin.clone(), sections, sha256 }
    }

    fn write_draft(&self, draft: &Path, header: &Header) -> io::Result<()> {
        if let Some(folder) = draft.parent() {
            fs::create_dir_all(folder)?;
        }
        let header = serde_json::to_vec(header)?;
        let mut file = File::create(draft)?;
        file.write_all(format!("{MAGIC} {FORM} {}\n", header.len()).as_bytes())?;
        file.write_all(&header)?;
        self.sections.iter().try_for_each(|(_, bytes)| file.write_all(bytes))?;
        // A rename that reaches the disk before what was written would leave an empty file.
        file.sync_all()
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
