//! The journal on disk: written whole, and forced there before a knob is turned.

use super::root::Root;
use crate::failure::Failure;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use tailwater_tune::journal::{BYTES_MAX, Damaged, Journal};

/// Its folder, which only its owner may read or write: what stands there is put back as root.
const FOLDER: &str = "/run/tailwater";
const PATH: &str = "/run/tailwater/tune.journal";
/// Until it is whole.
const PART: &str = "/run/tailwater/tune.journal.part";

/// What lies on disk.
pub(super) enum Stored {
    Nothing,
    Whole(Journal),
    Broken(Damaged),
}

/// The journal's place, for messages.
pub(super) fn shown(root: &Root) -> String {
    root.join(PATH).display().to_string()
}

pub(super) fn make_folder(root: &Root) -> Result<(), Failure> {
    let folder = root.join(FOLDER);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| {
        Failure::work(format!(
            "{}: {error}; what knobs were before is kept there, so none can be turned",
            folder.display()
        ))
    })
}

/// Whether something is left, as far as this user can see.
pub(super) fn is_there(root: &Root) -> bool {
    // What may not be looked into may hold something.
    root.join(PATH).try_exists().unwrap_or(true)
}

/// Reads it, whatever is there.
pub(super) fn read(root: &Root) -> Result<Stored, Failure> {
    let path = root.join(PATH);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::Nothing),
        Err(error) => return Err(Failure::work(format!("{}: {error}", path.display()))),
    };
    let mut bytes = Vec::new();
    file.take(BYTES_MAX as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::work(format!("{}: {error}", path.display())))?;
    Ok(match Journal::parse(&String::from_utf8_lossy(&bytes)) {
        Ok(journal) => Stored::Whole(journal),
        Err(damaged) => Stored::Broken(damaged),
    })
}

/// Puts it on disk: the file first, then its name, then the folder that has the name.
pub(super) fn write(root: &Root, journal: &Journal) -> Result<(), Failure> {
    let (path, part) = (root.join(PATH), root.join(PART));
    let whole = || {
        let mut file = File::create(&part)?;
        file.write_all(journal.text().as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        sync(&root.join(FOLDER))
    };
    whole().map_err(|error: io::Error| Failure::work(format!("{}: {error}", path.display())))
}

/// The same, or removes it where nothing is left to put back.
pub(super) fn keep(root: &Root, journal: &Journal) -> Result<(), Failure> {
    if journal.entries.is_empty() { remove(root) } else { write(root, journal) }
}

fn remove(root: &Root) -> Result<(), Failure> {
    let path = root.join(PATH);
    let gone = || match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => sync(&root.join(FOLDER)),
    };
    gone().map_err(|error| Failure::work(format!("{}: {error}", path.display())))
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
