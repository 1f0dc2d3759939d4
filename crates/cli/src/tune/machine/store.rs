//! The journal on disk: written whole, and forced there before a knob is turned.

use super::root::Root;
use crate::failure::Failure;
use rustix::fs::{AtFlags, Mode, OFlags, fsync, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use tailwater_tune::journal::{BYTES_MAX, Damaged, ENTRIES_MAX, Journal};

/// Where its folder is made.
const ABOVE: &str = "/run";
/// Its folder, which only its owner may read or write: what stands there is put back as root.
const FOLDER: &str = "tailwater";
const NAME: &str = "tune.journal";
/// Until it is whole.
const PART: &str = "tune.journal.part";

/// What lies on disk.
pub(super) enum Stored {
    Nothing,
    Whole(Journal),
    Broken(Damaged),
}

/// The journal's place, for messages.
pub(super) fn shown(root: &Root) -> String {
    root.join(&format!("{ABOVE}/{FOLDER}/{NAME}")).display().to_string()
}

/// Reads it, whatever is there.
pub(super) fn read(root: &Root) -> Result<Stored, Failure> {
    let opened = root.open(&format!("{ABOVE}/{FOLDER}/{NAME}"), OFlags::RDONLY | OFlags::NOFOLLOW);
    let file = match opened {
        Ok(file) => File::from(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::Nothing),
        Err(error) => return Err(trouble(root, &error)),
    };
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX as u64).read_to_end(&mut bytes);
    read.map_err(|error| trouble(root, &error))?;
    Ok(match Journal::parse(&String::from_utf8_lossy(&bytes)) {
        Ok(journal) => Stored::Whole(journal),
        Err(damaged) => Stored::Broken(damaged),
    })
}

/// What is to be known where knobs are looked at without the lock: they may be turned. `None` where there is no journal.
pub(in crate::tune) fn may_be_turned(root: &Root) -> Option<String> {
    match read(root) {
        Ok(Stored::Nothing) => None,
        Ok(_) => Some(format!(
            "{} is there, so knobs may be turned: a tune is under way, or was killed; then type: tailwater tune undo",
            shown(root)
        )),
        Err(why) => Some(why.to_string()),
    }
}

/// Whether its folder is there, which is made before the first journal and removed with the last.
pub(super) fn has_folder(root: &Root) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    root.open(&format!("{ABOVE}/{FOLDER}"), flags).is_ok()
}

/// Puts it on disk: the file first, then its name, then the folder that has the name.
pub(super) fn write(root: &Root, journal: &Journal) -> Result<(), Failure> {
    let (text, entries) = (journal.text(), journal.entries.len());
    // What is longer would be taken for damaged when it is read, and then nothing be put back behind it.
    if entries > ENTRIES_MAX || text.len() > BYTES_MAX {
        return Err(Failure::work(format!(
            "{}: {entries} entries of {} bytes found, at most {ENTRIES_MAX} of {BYTES_MAX} bytes can be read again; turn \
             fewer knobs or values",
            shown(root),
            text.len()
        )));
    }
    let folder = made(root)?;
    let whole = || {
        // Of a start that was killed.
        gone(&folder, PART)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, PART, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        renameat(&folder, PART, &folder, NAME)?;
        Ok(fsync(&folder)?)
    };
    whole().map_err(|error: io::Error| trouble(root, &error))
}

/// The same, or removes it where nothing is left to put back.
pub(super) fn keep(root: &Root, journal: &Journal) -> Result<(), Failure> {
    if journal.entries.is_empty() { remove(root) } else { write(root, journal) }
}

/// The folder too: it would keep users out who may write no knob, and have none to put back.
fn remove(root: &Root) -> Result<(), Failure> {
    let all = || {
        let above = match root.open(ABOVE, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let folder = match openat(&above, FOLDER, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(()),
            opened => opened?,
        };
        gone(&folder, NAME)?;
        gone(&folder, PART)?;
        fsync(&folder)?;
        match unlinkat(&above, FOLDER, AtFlags::REMOVEDIR) {
            // Something else lies there, or the folder may not be removed: neither is a knob.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS | Errno::PERM | Errno::BUSY) => {
                Ok(())
            }
            removed => Ok(removed?),
        }
    };
    all().map_err(|error: io::Error| trouble(root, &error))
}

/// A folder and no link to one.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Its folder, which is made where it is missing.
fn made(root: &Root) -> Result<OwnedFd, Failure> {
    let opened = || {
        let above = match root.open(ABOVE, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                mkdirat(root.folder(), &ABOVE[1..], Mode::from_raw_mode(0o755))?;
                root.open(ABOVE, OFlags::RDONLY | OFlags::DIRECTORY)?
            }
            opened => opened?,
        };
        match mkdirat(&above, FOLDER, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(openat(&above, FOLDER, DIRECTORY, Mode::empty())?)
    };
    opened().map_err(|error: io::Error| {
        Failure::work(format!(
            "{}: {error}; what knobs were before is kept there, so none can be turned",
            root.join(&format!("{ABOVE}/{FOLDER}")).display()
        ))
    })
}

/// Removes a file, where it is still there.
fn gone(folder: &OwnedFd, name: &str) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn trouble(root: &Root, error: &io::Error) -> Failure {
    let whose = if error.kind() == io::ErrorKind::PermissionDenied {
        "; a tune of another user is under way, or was killed: then type as that user, mostly root: tailwater tune undo"
    } else {
        ""
    };
    Failure::work(format!("{}: {error}{whose}", shown(root)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_read_it_hears_who_may() {
        let root = Root::new(&std::env::temp_dir()).expect("it is there");
        let of = |kind: io::ErrorKind| trouble(&root, &kind.into()).to_string();
        assert!(of(io::ErrorKind::PermissionDenied).ends_with("tailwater tune undo"));
        assert!(!of(io::ErrorKind::StorageFull).contains("tailwater tune undo"));
    }
}
