//! The folder in which prepared data lie.

use crate::file::{Content, Data, DataError, Header};
use std::path::{Path, PathBuf};

/// Where prepared data lie. Removing the folder loses nothing but the time to prepare them again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder(PathBuf);

/// How files of prepared data end.
const ENDING: &str = "data";

/// What became of a file that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Checked {
    /// It is what was written.
    Sound(Header),
    /// It is not; the sentence says why, and what to do.
    Unsound(String),
}

impl Folder {
    /// This folder, which need not exist.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of this name, such as `setalgebra/wordnet`.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        // No `with_extension`: names have dots.
        self.0.join(format!("{name}.{ENDING}"))
    }

    /// The data of this name and kind if they are sound and their source has this stamp still.
    #[must_use]
    pub fn ready(&self, name: &str, kind: &str, stamp: &str) -> Option<Header> {
        let mut data = Data::open_as(&self.file(name), kind).ok()?;
        if data.header().origin.stamp != stamp {
            return None;
        }
        data.verify().ok()?;
        Some(data.header().clone())
    }

    /// Writes data under this name.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn write(&self, name: &str, content: &Content) -> Result<Header, DataError> {
        content.write(&self.file(name))
    }

    /// Opens the data of this name and kind.
    ///
    /// # Errors
    /// As [`Data::open_as`].
    pub fn open(&self, name: &str, kind: &str) -> Result<Data, DataError> {
        Data::open_as(&self.file(name), kind)
    }

    /// Every file of prepared data in it and in the folders right in it, by name. Their headers are read alone.
    ///
    /// # Errors
    /// When the folder cannot be read. One that is not there has no files.
    pub fn list(&self) -> Result<Vec<(PathBuf, Checked)>, DataError> {
        self.each(|_| Ok(()))
    }

    /// The same, each read and compared with its hash.
    ///
    /// # Errors
    /// As above.
    pub fn check(&self) -> Result<Vec<(PathBuf, Checked)>, DataError> {
        self.each(Data::verify)
    }

    fn each(
        &self,
        look: impl Fn(&mut Data) -> Result<(), DataError>,
    ) -> Result<Vec<(PathBuf, Checked)>, DataError> {
        let mut files = self.files()?;
        files.sort_unstable();
        let check = |path: PathBuf| {
            let checked = Data::open(&path).and_then(|mut data| {
                look(&mut data)?;
                Ok(data.header().clone())
            });
            let checked =
                checked.map_or_else(|why| Checked::Unsound(why.to_string()), Checked::Sound);
            (path, checked)
        };
        Ok(files.into_iter().map(check).collect())
    }

    fn files(&self) -> Result<Vec<PathBuf>, DataError> {
        let mut files = Vec::new();
        for path in entries(&self.0)? {
            match path.is_dir() {
                true => files.extend(entries(&path)?),
                false => files.push(path),
            }
        }
        files.retain(|file| file.is_file() && file.extension().is_some_and(|it| it == ENDING));
        Ok(files)
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let trouble = |error| DataError::Io(folder.into(), error);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).map_err(trouble)?;
    entries.map(|entry| Ok(entry.map_err(trouble)?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Origin;
    use std::fs;

    #[test]
    fn files_are_ready_until_their_source_or_they_change() {
        let path = std::env::temp_dir().join(format!("tailwater-folder-{}", std::process::id()));
        let folder = Folder::new(&path);
        assert_eq!(folder.check().expect("nothing is no error"), []);
        let text = |text: &str| text.to_owned();
        let origin =
            Origin { about: text("a"), source: text("b"), licence: text("c"), stamp: text("d") };
        let content = Content::new("test", origin).with("one", vec![1, 2, 3]);
        let header = folder.write("of/one-1.5", &content).expect("written");
        assert_eq!(folder.ready("of/one-1.5", "test", "d").as_ref(), Some(&header));
        assert_eq!(folder.ready("of/one-1.5", "test", "e"), None, "another source");
        assert_eq!(folder.ready("of/one-1.5", "other", "d"), None, "another kind");
        let file = folder.file("of/one-1.5");
        assert_eq!(folder.check().expect("listed"), [(file.clone(), Checked::Sound(header))]);
        let mut bytes = fs::read(&file).expect("read");
        *bytes.last_mut().expect("some") ^= 1;
        fs::write(&file, bytes).expect("written");
        assert_eq!(folder.ready("of/one-1.5", "test", "d"), None, "damaged");
        assert!(matches!(&folder.list().expect("listed")[..], [(_, Checked::Sound(_))]));
        let checked = folder.check().expect("listed");
        assert!(matches!(&checked[..], [(_, Checked::Unsound(why))] if why.contains("SHA-256")));
        fs::remove_dir_all(path).expect("removed");
    }
}
