//! The folder below which `/sys`, `/proc` and `/run` lie.

use rustix::fs::{Access, access};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use tailwater_tune::knobs::{Form, part_fits};

/// Bytes of a knob's file that are read: a page, which is the most that the kernel says in one.
const BYTES_MAX: u64 = 4_096;

/// `/`, or a folder that stands for it.
#[derive(Clone, Debug)]
pub(in crate::tune) struct Root(PathBuf);

impl Root {
    pub(in crate::tune) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Where a path from the root lies.
    pub(in crate::tune) fn join(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The files of a pattern, as paths from the root, in order.
    pub(in crate::tune) fn files(&self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        for part in pattern.trim_start_matches('/').split('/') {
            found = found.iter().flat_map(|folder| self.within(folder, part)).collect();
        }
        found.retain(|path| self.join(path).is_file());
        found
    }

    /// What fits one name of a pattern in a folder.
    fn within(&self, folder: &str, part: &str) -> Vec<String> {
        if !part.contains('*') {
            return vec![format!("{folder}/{part}")];
        }
        let entries = fs::read_dir(self.join(folder)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| part_fits(part, name)).collect();
        names.sort_unstable();
        names.into_iter().map(|name| format!("{folder}/{name}")).collect()
    }

    /// The text of a file.
    pub(in crate::tune) fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        fs::File::open(self.join(path))?.take(BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    }

    /// The value that a knob's file says.
    pub(in crate::tune) fn value(&self, path: &str, form: Form) -> Result<String, String> {
        let shown = self.join(path);
        let text = self.read(path).map_err(|error| format!("{}: {error}", shown.display()))?;
        form.now(&text).ok_or_else(|| {
            format!("{}: {:?} is no value that is understood", shown.display(), text.trim())
        })
    }

    /// Writes a value, in one piece as the kernel takes it.
    pub(in crate::tune) fn write(&self, path: &str, value: &str) -> Result<(), String> {
        let shown = self.join(path);
        let whole = || {
            let mut file = fs::OpenOptions::new().write(true).truncate(true).open(&shown)?;
            file.write_all(format!("{value}\n").as_bytes())
        };
        whole().map_err(|error: io::Error| {
            format!("{}: {value} cannot be written: {error}", shown.display())
        })
    }

    /// Why this process cannot write a file, if it cannot.
    pub(in crate::tune) fn refuses(&self, path: &str) -> Option<String> {
        let denied = access(self.join(path), Access::WRITE_OK).err()?;
        Some(match denied {
            rustix::io::Errno::ACCESS | rustix::io::Errno::PERM => {
                "this user may not write it: become root".into()
            }
            rustix::io::Errno::ROFS => "it is mounted for reading only, as in containers".into(),
            other => other.to_string(),
        })
    }
}
