//! Sets that are files of a package, and what these files are known by.

use crate::file::hexadecimal;
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A package with the files of a set.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// What the set is called.
    pub set: &'static str,
    /// The package's own name, such as `wordnet-base`.
    pub name: &'static str,
    /// The version from which the sums are.
    pub version: &'static str,
    /// For people: what the set is.
    pub about: &'static str,
    /// For people: under which terms it may be used.
    pub licence: &'static str,
    /// Where its files lie once the package is installed.
    pub installed: &'static str,
    /// The files that are needed of it.
    pub files: &'static [Member],
}

/// A file of a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// Without a folder.
    pub name: &'static str,
    /// Its length.
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: &'static str,
}

/// Why files are not those of the package.
#[derive(Debug)]
pub enum Unfit {
    /// One is not there.
    Missing(&'static str),
    /// One cannot be read.
    Unreadable(&'static str, io::Error),
    /// One has another length: the found one, and the published one.
    Length(&'static str, u64, u64),
    /// One has another SHA-256: the found one, and the published one.
    Sum(&'static str, String, &'static str),
}

/// Where sets lie that were fetched, in the folder of prepared data.
const FETCHED: &str = "fetched";

impl Package {
    /// Where the set lies once it was fetched, below this folder of prepared data.
    #[must_use]
    pub fn fetched(&self, data: &Path) -> PathBuf {
        data.join(FETCHED).join(self.set)
    }

    /// Where the set is: installed, else fetched, else where it would be installed.
    #[must_use]
    pub fn place(&self, data: &Path) -> PathBuf {
        let (installed, fetched) = (PathBuf::from(self.installed), self.fetched(data));
        if !self.is_in(&installed) && self.is_in(&fetched) { fetched } else { installed }
    }

    /// A service's source as a text is parsed. Where that is the name of this set, `of` makes it of the set's
    /// [`place`](Self::place).
    #[must_use]
    pub fn source<S: FromStr<Err = Infallible>>(
        &self,
        said: &str,
        data: &Path,
        of: impl FnOnce(PathBuf) -> S,
    ) -> S {
        if said == self.set {
            return of(self.place(data));
        }
        let Ok(source) = said.parse();
        source
    }

    /// Whether a folder has all of its files, whatever is in them.
    #[must_use]
    pub fn is_in(&self, folder: &Path) -> bool {
        self.files.iter().all(|file| folder.join(file.name).is_file())
    }

    /// The length of all its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Reads the files in a folder, and compares them with what is known. The SHA-256 of all of them, one behind the
    /// other.
    ///
    /// # Errors
    /// For the first that is not as published.
    pub fn verify(&self, folder: &Path) -> Result<String, Unfit> {
        let mut all = Sha256::new();
        for file in self.files {
            file.verify(folder, &mut all)?;
        }
        Ok(hexadecimal(&all.finalize()))
    }
}

impl Member {
    fn verify(&self, folder: &Path, all: &mut Sha256) -> Result<(), Unfit> {
        const BLOCK: usize = 1 << 16;
        let path = folder.join(self.name);
        if !path.is_file() {
            return Err(Unfit::Missing(self.name));
        }
        let unreadable = |error| Unfit::Unreadable(self.name, error);
        let mut file = File::open(&path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        if length != self.bytes {
            return Err(Unfit::Length(self.name, length, self.bytes));
        }
        let (mut own, mut block) = (Sha256::new(), vec![0; BLOCK]);
        loop {
            let count = file.read(&mut block).map_err(unreadable)?;
            if count == 0 {
                break;
            }
            own.update(&block[..count]);
            all.update(&block[..count]);
        }
        let found = hexadecimal(&own.finalize());
        if found != self.sha256 {
            return Err(Unfit::Sum(self.name, found, self.sha256));
        }
        Ok(())
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(file) => write!(f, "found no file {file}"),
            Self::Unreadable(file, error) => write!(f, "{file}: {error}"),
            Self::Length(file, found, needed) => {
                write!(f, "{file}: found {found} bytes; {needed} are needed")
            }
            Self::Sum(file, found, needed) => {
                write!(f, "{file}: found SHA-256 {found}; {needed} is needed")
            }
        }
    }
}

impl std::error::Error for Unfit {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PACKAGE: Package = Package {
        set: "small",
        name: "small-base",
        version: "1",
        about: "two words",
        licence: "none needed",
        installed: "/nowhere/small",
        files: &[
            Member {
                name: "one",
                bytes: 3,
                sha256: "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
            },
            Member {
                name: "two",
                bytes: 3,
                sha256: "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
            },
        ],
    };

    #[test]
    fn files_are_those_of_the_package_or_it_is_said_which_is_not() {
        let data = std::env::temp_dir().join(format!("tailwater-package-{}", std::process::id()));
        let folder = PACKAGE.fetched(&data);
        fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
        let verified = || PACKAGE.verify(&folder).map_err(|why| why.to_string());
        write("one", "one");
        assert_eq!(verified().expect_err("one of two"), "found no file two");
        assert_eq!(PACKAGE.place(&data), Path::new(PACKAGE.installed), "half of it is none");
        write("two", "two");
        assert_eq!(PACKAGE.place(&data), folder);
        // Of "onetwo".
        let all = "25b6746d5172ed6352966a013d93ac846e1110d5a25e8f183b5931f4688842a1";
        assert_eq!(verified().expect("as published"), all);
        write("two", "owt");
        let error = verified().expect_err("other text");
        assert!(error.starts_with("two: found SHA-256") && error.contains("3fc4cc"), "{error}");
        write("two", "twos");
        assert_eq!(verified().expect_err("longer"), "two: found 4 bytes; 3 are needed");
        fs::remove_dir_all(data).expect("removed");
    }
}
