//! The file of `--out`: tried before the work begins, and whole or not there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A file that could be written when it was tried.
pub(crate) struct Out<'a> {
    path: &'a Path,
    draft: PathBuf,
}

impl<'a> Out<'a> {
    /// Tries to write beside its place. What lies there stays.
    ///
    /// # Errors
    /// What must be changed: better said before minutes of work than after.
    pub(crate) fn prepare(path: &'a Path) -> Result<Self, String> {
        let shown = path.display();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let folder = folder.display();
            return Err(format!(
                "{folder}: found no such folder; make it first: mkdir -p {folder}"
            ));
        }
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            let found = if path.is_dir() { "a folder" } else { "a device, a pipe or a socket" };
            return Err(format!("{shown}: found {found}; give a file's name by --out"));
        }
        let draft = path.with_extension(format!("{}.part", std::process::id()));
        File::create(&draft).and_then(|_| fs::remove_file(&draft)).map_err(|error| {
            format!("{shown}: nothing can be written there ({error}); give another file by --out")
        })?;
        Ok(Self { path, draft })
    }

    /// Under another name first: a reader never sees half a file.
    pub(crate) fn write(&self, text: &str) -> Result<(), String> {
        let written =
            fs::write(&self.draft, text).and_then(|()| fs::rename(&self.draft, self.path));
        written.map_err(|error| {
            let _ = fs::remove_file(&self.draft);
            format!("{}: {error}", self.path.display())
        })
    }
}
