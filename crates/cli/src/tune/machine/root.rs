//! The folder below which `/sys`, `/proc` and `/run` lie, and beyond which nothing is read or written.
//!
//! Paths are resolved by the kernel as though the folder were `/` (`RESOLVE_IN_ROOT`, openat2(2)): a link out of it, or
//! a `..` above it, leads to what has that path within it. What a folder from elsewhere says is thus never written over
//! the machine's own files.

use crate::failure::Failure;
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tailwater_tune::knobs::{Form, part_fits};

/// Bytes of a knob's file that are read: a page, which is the most that the kernel says in one.
const BYTES_MAX: u64 = 4_096;
/// How often a path is resolved anew: the kernel gives up where something is renamed meanwhile.
const TRIES: u32 = 16;

/// `/`, or a folder that stands for it.
#[derive(Clone, Debug)]
pub(in crate::tune) struct Root {
    /// For messages.
    shown: PathBuf,
    folder: Arc<OwnedFd>,
}

impl Root {
    pub(in crate::tune) fn new(folder: &Path) -> Result<Self, Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = open(folder, flags, Mode::empty()).map_err(|error| {
            Failure::usage(format!(
                "{}: {error}; give a folder that stands for / by --root",
                folder.display()
            ))
        })?;
        Ok(Self { shown: folder.to_owned(), folder: Arc::new(opened) })
    }

    /// The folder itself.
    pub(super) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Where a path from the root lies, for messages.
    pub(in crate::tune) fn join(&self, path: &str) -> PathBuf {
        self.shown.join(path.trim_start_matches('/'))
    }

    /// Opens what has this path within the folder.
    pub(super) fn open(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let within = path.trim_start_matches('/');
        let within = if within.is_empty() { "." } else { within };
        let flags = flags | OFlags::CLOEXEC;
        for _ in 0..TRIES {
            match openat2(&*self.folder, within, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS) => {
                    return Err(io::Error::other(
                        "openat2 is missing; Linux 5.6 or later is needed",
                    ));
                }
                found => return Ok(found?),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// The files of a pattern, as paths from the root, in order.
    pub(in crate::tune) fn files(&self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        for part in pattern.trim_start_matches('/').split('/') {
            found = found.iter().flat_map(|folder| self.within(folder, part)).collect();
        }
        found.retain(|path| self.is_file(path));
        found
    }

    fn is_file(&self, path: &str) -> bool {
        let opened = self.open(path, OFlags::PATH);
        let stat = opened.ok().and_then(|file| fstat(file).ok());
        stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// What fits one name of a pattern in a folder.
    fn within(&self, folder: &str, part: &str) -> Vec<String> {
        if !part.contains('*') {
            return vec![format!("{folder}/{part}")];
        }
        let opened = self.open(folder, OFlags::RDONLY | OFlags::DIRECTORY);
        let entries = opened.ok().and_then(|opened| Dir::new(opened).ok());
        let entries = entries.into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(String::from));
        let mut names: Vec<String> = names.filter(|name| part_fits(part, name)).collect();
        names.sort_unstable();
        names.into_iter().map(|name| format!("{folder}/{name}")).collect()
    }

    /// The text of a file.
    pub(in crate::tune) fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        File::from(self.open(path, OFlags::RDONLY)?).take(BYTES_MAX).read_to_string(&mut text)?;
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
        let whole = || {
            let mut file = File::from(self.open(path, OFlags::WRONLY | OFlags::TRUNC)?);
            file.write_all(format!("{value}\n").as_bytes())
        };
        whole().map_err(|error: io::Error| {
            format!("{}: {value} cannot be written: {error}", self.join(path).display())
        })
    }

    /// Why this process cannot write a file, if it cannot.
    pub(in crate::tune) fn refuses(&self, path: &str) -> Option<String> {
        let denied = self.open(path, OFlags::WRONLY).err()?;
        Some(match denied.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::ACCESS | Errno::PERM) => "this user may not write it: become root".into(),
            Some(Errno::ROFS) => "it is mounted for reading only, as in containers".into(),
            _ => denied.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_that_lead_out_of_the_root_stay_within() {
        let name = format!("tailwater-root-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let (inside, outside) = (folder.join("root"), folder.join("outside"));
        fs::create_dir_all(inside.join("proc")).expect("a folder of the test's own");
        fs::write(&outside, "60\n").expect("a file in it");
        symlink(&outside, inside.join("proc/absolute")).expect("a link");
        symlink("../../outside", inside.join("proc/relative")).expect("a link");
        symlink("/proc/own", inside.join("proc/link")).expect("a link");
        fs::write(inside.join("proc/own"), "10\n").expect("a file in it");
        let root = Root::new(&inside).expect("it is there");
        for path in ["/proc/absolute", "/proc/relative", "/../outside"] {
            assert!(root.read(path).is_err() && root.write(path, "1").is_err(), "{path}");
            assert!(root.refuses(path).is_some() && root.files(path).is_empty(), "{path}");
        }
        assert_eq!(fs::read_to_string(&outside).expect("it is there"), "60\n");
        // A link within the root is followed, as the kernel's own are.
        assert_eq!(root.read("/proc/link").expect("it is within"), "10\n");
        assert_eq!(root.files("/proc/l*"), ["/proc/link"]);
        fs::remove_dir_all(&folder).expect("the test's own");
    }
}
