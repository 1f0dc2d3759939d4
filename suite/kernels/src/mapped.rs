//! Files in memory, read where they lie.

use crate::plain::{Plain, numbers};
use memmap2::{Mmap, MmapOptions};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file that is mapped into memory to be read.
///
/// The file must not change meanwhile: a file that is cut short kills the processes that read behind its end.
/// Whatever makes such files therefore writes them under another name and renames them when they are whole; the
/// old file then lives on for those that have mapped it.
#[derive(Debug)]
pub struct Mapped {
    path: PathBuf,
    /// `None` for an empty file, which cannot be mapped.
    map: Option<Mmap>,
}

/// Why a file, or a part of it, cannot be read.
#[derive(Debug)]
pub enum MappedError {
    /// The system's reason.
    Io(PathBuf, io::Error),
    /// Bytes were asked for that the file has not.
    Short {
        /// Which file.
        path: PathBuf,
        /// The byte behind the last one asked for.
        needed: usize,
        /// How many it has.
        found: usize,
    },
    /// The byte where numbers begin is no multiple of a number's size.
    Unaligned(PathBuf, usize),
}

impl Mapped {
    /// Maps a file; its pages come when they are first read.
    ///
    /// # Errors
    /// When it cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<Self, MappedError> {
        Self::map(path, &MmapOptions::new())
    }

    /// Maps a file and reads all of it at once, so that no request waits for a page.
    ///
    /// # Errors
    /// When it cannot be opened or mapped.
    pub fn open_loaded(path: &Path) -> Result<Self, MappedError> {
        Self::map(path, MmapOptions::new().populate())
    }

    fn map(path: &Path, options: &MmapOptions) -> Result<Self, MappedError> {
        let failed = |error| MappedError::Io(path.into(), error);
        let file = File::open(path).map_err(failed)?;
        let is_empty = file.metadata().map_err(failed)?.len() == 0;
        let map = if is_empty {
            None
        } else {
            // SAFETY: rule 5. The map is private and read-only: what is written here reaches no file.
            Some(unsafe { options.map_copy_read_only(&file) }.map_err(failed)?)
        };
        Ok(Self { path: path.into(), map })
    }

    /// All of it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }

    /// So many numbers from this byte on, as this machine orders the bytes of numbers.
    ///
    /// # Errors
    /// When the file ends before, or the byte is no multiple of a number's size.
    pub fn numbers<T: Plain>(&self, at: usize, count: usize) -> Result<&[T], MappedError> {
        let bytes = self.bytes();
        let needed = count.checked_mul(size_of::<T>()).and_then(|length| at.checked_add(length));
        let part = needed.and_then(|end| bytes.get(at..end));
        let short = || MappedError::Short {
            path: self.path.clone(),
            needed: needed.unwrap_or(usize::MAX),
            found: bytes.len(),
        };
        let unaligned = || MappedError::Unaligned(self.path.clone(), at);
        numbers(part.ok_or_else(short)?).ok_or_else(unaligned)
    }
}

impl fmt::Display for MappedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Short { path, needed, found } => {
                let path = path.display();
                write!(f, "{path}: found {found} bytes; {needed} are needed: make the file anew")
            }
            Self::Unaligned(path, at) => {
                let path = path.display();
                write!(f, "{path}: found numbers at byte {at}; a multiple of their size is needed")
            }
        }
    }
}

impl std::error::Error for MappedError {}
