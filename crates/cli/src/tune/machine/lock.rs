//! One process at a time tunes a machine: two would disturb each other's blocks, also where neither writes a file.

use super::root::Root;
use crate::failure::Failure;
use rustix::fs::{Mode, OFlags, fstat, openat};
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// Locks that are listed.
const LOCKS: &str = "/proc/locks";

/// How long the lock is waited for. A process that is killed while it starts a program leaves a copy of itself, which has
/// the lock until it becomes that program.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Held while the file is open: the kernel gives it back however this process ends.
///
/// It lies on the root folder itself, which everybody can open: a user who may write no knob must keep away, too.
pub(super) fn take(root: &Root) -> Result<File, Failure> {
    let trouble = |error: std::io::Error| {
        Failure::work(format!("{}: it cannot be locked: {error}", root.join("").display()))
    };
    // Opened anew: a lock is shared by all that one opening is handed on to.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(root.folder(), ".", flags, Mode::empty());
    let folder = File::from(opened.map_err(|error| trouble(error.into()))?);
    let began = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(folder),
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => {
                std::thread::sleep(LOOK_EVERY);
            }
            Err(TryLockError::WouldBlock) => {
                let holder = holder(&folder);
                let named = holder.map_or_else(String::new, |pid| format!(" (process {pid})"));
                return Err(Failure::usage(format!(
                    "another tailwater tune{named} measures on this machine; wait until it has ended"
                )));
            }
            Err(TryLockError::Error(error)) => return Err(trouble(error)),
        }
    }
}

/// The process that has it, where the kernel tells.
fn holder(folder: &File) -> Option<u32> {
    let inode = fstat(folder).ok()?.st_ino;
    let locks = std::fs::read_to_string(LOCKS).ok()?;
    locks.lines().find_map(|line| held(line, inode))
}

/// Of a line as `1: FLOCK  ADVISORY  WRITE 417 fe:00:2 0 EOF` (proc_locks(5)).
fn held(line: &str, inode: u64) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, _, pid, place, ..] = words.as_slice() else { return None };
    let is_ours = place.rsplit(':').next()?.parse() == Ok(inode);
    pid.parse().ok().filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_that_of_the_inode() {
        let line = "1: FLOCK  ADVISORY  WRITE 417 fe:00:2 0 EOF";
        assert_eq!(held(line, 2), Some(417));
        assert_eq!(held(line, 3), None);
        assert_eq!(held("1: POSIX  ADVISORY  WRITE 417 fe:00:2 0 EOF", 2), None);
        assert_eq!(held("1: -> FLOCK  ADVISORY  WRITE 417 fe:00:2 0 EOF", 2), None);
    }
}
