//! Where a set lies while it is fetched: beside its place, which is given to it as a whole or not at all.

use crate::failure::Failure;
use rustix::fs::statvfs;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A folder of this process, gone when this is dropped.
pub(super) struct Draft {
    path: PathBuf,
    /// Holds others off; they would take this for what an ended process left.
    _alone: File,
}

/// How the names of drafts end.
const ENDING: &str = ".part";

/// Package, archive and files together: WordNet's take 58 MB.
const BYTES_MAX: u64 = 128 << 20;

/// Of the draft: what is kept.
const FILES: &str = "files";

impl Draft {
    /// Beside a place. What ended processes have left there is removed.
    pub(super) fn beside(place: &Path) -> Result<Self, Failure> {
        let folder = place.parent().unwrap_or(place);
        let trouble = |error: io::Error| refused(folder, &error);
        fs::create_dir_all(folder).map_err(trouble)?;
        let alone = File::open(folder).map_err(trouble)?;
        match alone.try_lock() {
            Ok(()) => clear(folder),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::work(format!(
                    "another tailwater data fetch is at work in {}; wait for its end, then try again",
                    folder.display()
                )));
            }
            // File systems without locks: there nothing is cleared, and this draft has a name of its own.
            Err(TryLockError::Error(_)) => {}
        }
        let free = statvfs(folder).map_err(|error| trouble(error.into()))?;
        enough(folder, free.f_bavail.saturating_mul(free.f_frsize))?;
        let set = place.file_name().unwrap_or_default().display().to_string();
        let path = folder.join(format!("{set}.{}{ENDING}", std::process::id()));
        let draft = Self { path, _alone: alone };
        fs::create_dir_all(draft.files()).map_err(trouble)?;
        Ok(draft)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the files that are kept.
    pub(super) fn files(&self) -> PathBuf {
        self.path.join(FILES)
    }

    /// How many bytes clients have written so far.
    ///
    /// # Errors
    /// Where that is more than any set takes, together with what they wrote `elsewhere`.
    pub(super) fn within_bounds(&self, elsewhere: u64) -> Result<u64, Failure> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let bytes: u64 = entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
        if bytes + elsewhere > BYTES_MAX {
            return Err(Failure::work(format!(
                "found more than {} MiB, which no set takes; nothing was kept: another archive of packages is needed",
                BYTES_MAX >> 20
            )));
        }
        Ok(bytes)
    }

    /// Gives the files their place, where others may lie that are not sound.
    pub(super) fn put_at(&self, place: &Path) -> Result<(), Failure> {
        let put = || {
            for entry in fs::read_dir(self.files())? {
                // A rename that reaches the disk before what was written would leave empty files.
                File::open(entry?.path())?.sync_all()?;
            }
            if place.exists() {
                fs::remove_dir_all(place)?;
            }
            fs::rename(self.files(), place)
        };
        put().map_err(|error| self.trouble(&error))
    }

    /// What the file system refused.
    pub(super) fn trouble(&self, error: &io::Error) -> Failure {
        refused(&self.path, error)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What is left of it helps nothing; the next draft clears it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    let needed = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "more room there is needed, or "
        }
        _ => "",
    };
    Failure::work(format!(
        "{}: {error}; {needed}a folder that can be written to: --data DIR",
        path.display()
    ))
}

fn enough(folder: &Path, free: u64) -> Result<(), Failure> {
    if free >= BYTES_MAX {
        return Ok(());
    }
    Err(Failure::work(format!(
        "{}: found {} MiB of room; {} MiB are needed while a set is fetched, there or in another folder: --data DIR",
        folder.display(),
        free >> 20,
        BYTES_MAX >> 20
    )))
}

/// Drafts in a folder in which no other process works.
fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().ends_with(ENDING) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_of_ended_processes_go_and_one_at_work_keeps_others_off() {
        let data = std::env::temp_dir().join(format!("tailwater-draft-{}", std::process::id()));
        let place = data.join("set");
        let left = data.join("set.1.part");
        fs::create_dir_all(&left).expect("a folder");
        fs::write(left.join("half"), "half").expect("written");
        let draft = Draft::beside(&place).expect("alone");
        assert!(!left.exists(), "it was an ended process'");
        let other = Draft::beside(&place).err().expect("at work").to_string();
        assert!(other.contains("wait for its end"), "{other}");
        assert!(draft.files().is_dir(), "it is not the other's to clear");
        // What was there and is not sound gives way.
        fs::create_dir_all(&place).expect("a folder");
        fs::write(place.join("old"), "old").expect("written");
        fs::write(draft.files().join("new"), "new").expect("written");
        draft.put_at(&place).expect("put");
        assert!(place.join("new").exists() && !place.join("old").exists());
        let path = draft.path().to_owned();
        drop(draft);
        assert!(!path.exists());
        fs::remove_dir_all(data).expect("removed");
    }

    #[test]
    fn too_little_room_and_too_much_that_comes_are_refused() {
        enough("/a".as_ref(), BYTES_MAX).expect("enough");
        let told = enough("/a".as_ref(), BYTES_MAX - 1).expect_err("too little").to_string();
        assert!(told.starts_with("/a: found 127 MiB of room; 128 MiB are needed"), "{told}");
        let data = std::env::temp_dir().join(format!("tailwater-bounds-{}", std::process::id()));
        let draft = Draft::beside(&data.join("set")).expect("alone");
        let file = File::create(draft.path().join("a.deb")).expect("created");
        // A hole takes no room.
        file.set_len(BYTES_MAX / 2).expect("as long as it says");
        draft.within_bounds(0).expect("within");
        assert!(draft.within_bounds(BYTES_MAX).is_err());
        file.set_len(2 * BYTES_MAX).expect("longer");
        assert!(draft.within_bounds(0).is_err());
        drop(draft);
        fs::remove_dir_all(data).expect("removed");
    }
}
