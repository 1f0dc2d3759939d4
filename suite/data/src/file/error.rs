//! Why data cannot be used.

use super::HEADER_BYTES_MAX;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why data cannot be used.
#[derive(Debug)]
pub enum DataError {
    /// There is no such file.
    Missing(PathBuf),
    /// It cannot be read or written.
    Io(PathBuf, io::Error),
    /// It is something else, or of another version.
    Foreign(PathBuf, String),
    /// It is not what was written.
    Damaged(PathBuf, String),
    /// It would have a header of so many bytes.
    HeaderTooLong(PathBuf, usize),
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(
                f,
                "found no prepared data in {}; tailwater run and tailwater suite run prepare them, as does \
                 tailwater data make",
                path.display()
            ),
            Self::Io(path, error) => {
                write!(f, "{}: {error}", path.display())?;
                f.write_str("; prepared data can lie elsewhere: say --data DIR")
            }
            Self::HeaderTooLong(path, bytes) => write!(
                f,
                "{}: found a header of {bytes} bytes; at most {HEADER_BYTES_MAX} are needed: a shorter path of the source \
                 or fewer leaves",
                path.display()
            ),
            Self::Foreign(path, found) => write!(
                f,
                "{}: found {found}; remove the file, and the data are made anew",
                path.display()
            ),
            Self::Damaged(path, found) => write!(
                f,
                "{}: the file is damaged: {found}; remove it, and the data are made anew",
                path.display()
            ),
        }
    }
}

impl std::error::Error for DataError {}
