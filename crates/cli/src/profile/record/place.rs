//! Where a trace comes to lie, and what lies beside it afterwards.

use crate::failure::Failure;
use std::ffi::OsStr;
use std::fs::{DirEntry, File, TryLockError};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tailwater_report::count;

/// Traces beside the first that are named.
const BESIDE_MAX: usize = 8;
/// Files are stamped by a clock that ticks up to so seldom.
const COARSE: Duration = Duration::from_millis(10);

/// The runtime takes what exists for another process's. A trace that cannot be written is found out by writing it,
/// before the program does its work in vain.
pub(super) fn make_room(trace: &Path) -> Result<(), Failure> {
    let trouble = |error: std::io::Error| Failure::usage(format!("{}: {error}", trace.display()));
    if let Some(folder) = trace.parent().filter(|folder| !folder.as_os_str().is_empty())
        && !folder.is_dir()
    {
        let folder = folder.display();
        let trace = trace.display();
        return Err(Failure::usage(format!(
            "{trace}: found no folder {folder}; type: mkdir -p {folder}"
        )));
    }
    let is_other = |found: std::fs::Metadata| !found.is_file() && !found.is_symlink();
    if std::fs::symlink_metadata(trace).is_ok_and(is_other) {
        // Such as /dev/null, which root could replace.
        let trace = trace.display();
        return Err(Failure::usage(format!(
            "{trace}: found a folder or a device; the name of a file is needed: -o x.trace"
        )));
    }
    if is_written(trace) {
        let trace = trace.display();
        return Err(Failure::usage(format!(
            "{trace}: another recording is writing it; name another file by -o, or let that one end"
        )));
    }
    if let Err(error) = std::fs::remove_file(trace)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(trouble(error));
    }
    File::create_new(trace).map_err(trouble)?;
    std::fs::remove_file(trace).map_err(trouble)
}

/// Whether a recording is under way there: the process that writes a trace has it locked.
fn is_written(trace: &Path) -> bool {
    let locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    File::open(trace).is_ok_and(locked)
}

/// Which traces of other processes have come to lie beside this one, in words.
pub(super) fn beside(trace: &Path, since: SystemTime) -> String {
    let folder = trace.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten();
    let is_ours = |name: &OsStr| {
        let (name, trace) = (name.as_bytes(), trace.file_name().unwrap_or_default().as_bytes());
        let rest = name.strip_prefix(trace).and_then(|rest| rest.strip_prefix(b"."));
        rest.is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    };
    let is_new = |entry: &DirEntry| {
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| changed + COARSE >= since)
    };
    let found = entries.flatten().filter(|entry| is_ours(&entry.file_name()) && is_new(entry));
    let mut names: Vec<String> =
        found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(BESIDE_MAX);
    names.truncate(BESIDE_MAX);
    match (names.is_empty(), more) {
        (true, _) => String::new(),
        (_, 0) => {
            format!("\nBeside it, of processes that it forked or started: {}.", names.join(", "))
        }
        _ => format!(
            "\nBeside it, of processes that it forked or started: {} and {} more.",
            names.join(", "),
            count(more as u64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_recording_writes_is_not_replaced() {
        let trace = std::env::temp_dir().join(format!("tailwater-written-{}", std::process::id()));
        let other = File::create(&trace).expect("a file");
        other.lock().expect("it is ours");
        let refused = make_room(&trace).expect_err("it is being written");
        assert!(format!("{refused}").contains("-o"), "{refused}");
        assert!(trace.exists());
        drop(other);
        make_room(&trace).expect("it is a trace of before");
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let socket = std::env::temp_dir().join(format!("tailwater-place-{}", std::process::id()));
        let _open = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        assert!(make_room(&socket).is_err());
        assert!(socket.exists());
        std::fs::remove_file(&socket).expect("it was made");
    }
}
