//! From a process's number to its shared memory.

use super::mappings::{self, Mapping};
use super::numbers::{self, Numbers};
use super::{ARENA, Other, Refusal};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Where shared memory without a file is mapped from.
const NAMELESS: &str = "/dev/zero (deleted)";
/// Shorter ones are not ours: an arena is larger, whatever its stride.
const ARENA_MIN: u64 = 1 << 30;

impl Other {
    /// Finds it, and the file of its shared memory, which nobody has checked yet.
    ///
    /// # Errors
    ///
    /// Whatever stands against it.
    pub(crate) fn find(pid: u32) -> Result<(Self, File), Refusal> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Refusal::Absent)?;
        // First: what is read below is of this process, if it lives on at the end.
        let alive = pidfd_open(number, PidfdFlags::empty()).map_err(|_| Refusal::Absent)?;
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let mapped = mappings::of(&folder).map_err(|error| gone_or(&folder, error))?;
        let Some(arena) = mapped.iter().find(|one| one.path == ARENA) else {
            let is_limited = |one: &Mapping| {
                one.path == NAMELESS && one.end.saturating_sub(one.start) >= ARENA_MIN
            };
            let limited = mapped.iter().any(is_limited);
            return Err(if limited { Refusal::Limited } else { Refusal::NotBuilt });
        };
        let file = file_of(&folder, arena)?;
        let memory = File::open(folder.join("mem")).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::Unreadable,
            _ => Refusal::Trouble(error),
        })?;
        let status = std::fs::read_to_string(folder.join("status")).unwrap_or_default();
        let numbers = numbers::is_elsewhere(&status).then(Numbers::default);
        let own = numbers::innermost(&status).unwrap_or(pid);
        let other = Self { folder, own, numbers, memory, alive, arena: arena.inode };
        if other.has_ended() { Err(Refusal::Absent) } else { Ok((other, file)) }
    }
}

fn gone_or(folder: &Path, error: io::Error) -> Refusal {
    if folder.exists() { Refusal::from(error) } else { Refusal::Absent }
}

/// The file among the process's descriptors, by its number on its device. A process that closed all of them has it
/// mapped still, and root finds it there.
fn file_of(folder: &Path, arena: &Mapping) -> Result<File, Refusal> {
    let open = |path: &Path| File::options().read(true).write(true).open(path);
    let is_it = |path: &PathBuf| {
        let named = std::fs::read_link(path).is_ok_and(|to| to == Path::new(ARENA));
        named && path.metadata().is_ok_and(|found| found.ino() == arena.inode)
    };
    let numbers = std::fs::read_dir(folder.join("fd"))?.flatten();
    if let Some(found) = numbers.map(|entry| entry.path()).find(is_it) {
        return Ok(open(&found)?);
    }
    let mapped = format!("map_files/{:x}-{:x}", arena.start, arena.end);
    open(&folder.join(mapped)).map_err(|_| Refusal::Closed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::process;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn this_process_is_found_with_its_memory_and_what_it_is() {
        let _ = process::arena().expect("address space");
        let (found, file) = Other::find(std::process::id()).expect("it is built for it");
        let there = crate::memory::foreign::open(&file).expect("it is an arena");
        // Other tests have others.
        assert!(found.is_owner(there.header().pid.load(Relaxed)) && !found.is_owner(1 << 30));
        assert!(!found.is_replaced() && !found.has_ended());
        let modules = found.modules();
        let program = found.program().expect("it has one");
        assert_eq!(modules[0].path, program.to_string_lossy());
        let here = this_process_is_found_with_its_memory_and_what_it_is as *const () as u64;
        assert!((modules[0].start..modules[0].end).contains(&here));
    }

    #[test]
    fn a_number_that_nobody_has_and_a_program_of_another_build_are_refused() {
        assert!(matches!(Other::find(u32::MAX), Err(Refusal::Absent)));
        let mut sleep = std::process::Command::new("sleep").arg("100").spawn().expect("it starts");
        let found = Other::find(sleep.id());
        sleep.kill().expect("it is ours");
        sleep.wait().expect("it ends");
        assert!(matches!(found, Err(Refusal::NotBuilt)), "{found:?}");
    }
}
