//! The files of a tar archive that are wanted: no other is written, whatever it is called.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use tailwater_data::Member;

/// Why files were not taken out of an archive.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is no archive, or ends too early.
    Archive(io::Error),
    /// What the file system refused.
    Folder(io::Error),
}

/// Copies files that lie in the folder `within` of the archive. One that is not in it is left out.
pub(super) fn extract(
    archive: impl Read,
    within: &str,
    files: &[Member],
    to: &Path,
) -> Result<(), Trouble> {
    let within = within.trim_start_matches('/');
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().map_err(Trouble::Archive)? {
        let entry = entry.map_err(Trouble::Archive)?;
        let path = entry.path().map_err(Trouble::Archive)?;
        let file = path.strip_prefix(".").unwrap_or(&path).strip_prefix(within).ok();
        let wanted = files.iter().find(|wanted| file == Some(Path::new(wanted.name)));
        let Some(wanted) = wanted.filter(|_| entry.header().entry_type().is_file()) else {
            continue;
        };
        let mut content = Vec::new();
        // A longer one is refused by its length.
        entry.take(wanted.bytes + 1).read_to_end(&mut content).map_err(Trouble::Archive)?;
        fs::write(to.join(wanted.name), content).map_err(Trouble::Folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, EntryType, Header};

    #[test]
    fn wanted_files_are_taken_and_no_others() {
        let to = std::env::temp_dir().join(format!("tailwater-archive-{}", std::process::id()));
        fs::create_dir_all(&to).expect("a folder");
        let member = |name| Member { name, bytes: 700, sha256: "" };
        let wanted = [member("one"), member("two"), member("three")];
        let long = [b'x'; 700];
        let mut archive = Builder::new(Vec::new());
        let mut add = |path: &str, kind: EntryType, content: &[u8]| {
            let mut header = Header::new_old();
            // A builder takes no path that leaves the folder; an archive may have one.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(kind);
            header.set_size(content.len() as u64);
            header.set_cksum();
            archive.append(&header, content).expect("in memory");
        };
        add("./usr/", EntryType::Directory, b"");
        add("./usr/share/one", EntryType::Regular, &long);
        add("./elsewhere/two", EntryType::Regular, b"of another folder");
        add("./usr/share/../two", EntryType::Regular, b"outside");
        add("./usr/share/three", EntryType::Symlink, b"");
        add("usr/share/two", EntryType::Regular, b"old");
        let archive = archive.into_inner().expect("in memory");
        let extracted = |bytes: &[u8]| extract(bytes, "/usr/share", &wanted, &to);
        extracted(&archive).expect("an archive");
        assert_eq!(fs::read(to.join("one")).expect("there"), long);
        assert_eq!(fs::read(to.join("two")).expect("there"), b"old");
        assert_eq!(fs::read_dir(&to).expect("a folder").count(), 2);
        // Cut within the first file, and none at all.
        for bytes in [&archive[..3 * 512], &[b'x'; 1_024]] {
            assert!(matches!(extracted(bytes), Err(Trouble::Archive(_))));
        }
        let nowhere = extract(&archive[..], "usr/share", &wanted, Path::new("/proc"));
        assert!(matches!(nowhere, Err(Trouble::Folder(_))), "{nowhere:?}");
        fs::remove_dir_all(to).expect("removed");
    }
}
