//! Why data cannot be used.

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
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
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
