//! Where a trace comes to lie, and what lies beside it afterwards.

use crate::failure::Failure;
use crate::input::other_kind;
use crate::profile::companion::Companion;
use std::ffi::OsStr;
use std::fs::{DirEntry, File, TryLockError};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tailwater_report::count;

/// Traces beside the first that are named.
const BESIDE_MAX: usize = 8;
/// Files are stamped by a clock that ticks up to so seldom.
const COARSE: Duration = Duration::from_millis(10);

/// The runtime takes what exists for another process's. A trace that cannot be written is found out by writing it,
/// before the program does its work in vain.
pub(in crate::profile) fn make_room(trace: &Path) -> Result<(), Failure> {
    check_place(trace)?;
    remove(trace)?;
    check_writing(trace)?;
    // What was told of a recording of before belongs to no trace any more.
    Companion::ALL.into_iter().try_for_each(|companion| remove(&companion.file(trace)))
}

/// Whether a trace could come to lie there. What is there stays, for a recorder that may be refused to replace.
pub(in crate::profile) fn check_room(trace: &Path) -> Result<(), Failure> {
    check_place(trace)?;
    if trace.symlink_metadata().is_ok() { Ok(()) } else { check_writing(trace) }
}

fn trouble(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
}

fn remove(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(trouble(path, &error)),
        _ => Ok(()),
    }
}

fn check_writing(trace: &Path) -> Result<(), Failure> {
    let made = File::create_new(trace).and_then(|_| std::fs::remove_file(trace));
    made.map_err(|error| trouble(trace, &error))
}

fn check_place(trace: &Path) -> Result<(), Failure> {
    if let Some(folder) = trace.parent().filter(|folder| !folder.as_os_str().is_empty())
        && !folder.is_dir()
    {
        let folder = folder.display();
        let trace = trace.display();
        return Err(Failure::usage(format!(
            "{trace}: found no folder {folder}; type: mkdir -p {folder}"
        )));
    }
    if let Some(other) = other_than_file(trace) {
        let trace = trace.display();
        return Err(Failure::usage(format!(
            "{trace}: found {other}; the name of a file is needed: -o x.trace"
        )));
    }
    if is_written(trace) {
        let trace = trace.display();
        return Err(Failure::usage(format!(
            "{trace}: another recording is writing it; name another file by -o, or let that one end"
        )));
    }
    Ok(())
}

/// What lies there instead of a file, or at the end of a link there: such as /dev/null, which root could replace, or a
/// pipe, which to open would wait for a reader. A link that leads to a file or nowhere is replaced.
fn other_than_file(trace: &Path) -> Option<String> {
    let other = other_kind(std::fs::metadata(trace).ok()?.file_type())?;
    let is_link = std::fs::symlink_metadata(trace).is_ok_and(|found| found.is_symlink());
    Some(if is_link { format!("a link to {other}") } else { other.to_owned() })
}

/// Whether a recording is under way there: the process that writes a trace has it locked.
pub(super) fn is_written(trace: &Path) -> bool {
    let locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    File::open(trace).is_ok_and(locked)
}

/// The traces of other processes that have come to lie beside this one.
pub(super) fn traces_beside(trace: &Path, since: SystemTime) -> Vec<PathBuf> {
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
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

/// Which traces of other processes have come to lie beside this one, in words.
pub(super) fn written_beside(trace: &Path, since: SystemTime) -> String {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names: Vec<String> = traces_beside(trace, since).iter().map(name).collect();
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

    #[test]
    fn a_link_is_replaced_where_it_leads_to_a_file_and_refused_where_to_something_else() {
        use std::os::unix::fs::symlink;
        let folder = std::env::temp_dir().join(format!("tailwater-links-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let [pipe, link, file] = ["pipe", "link", "file"].map(|name| folder.join(name));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).expect("a pipe");
        for (to, word) in [(&pipe, "a link to a pipe"), (&folder, "a link to a folder")] {
            symlink(to, &link).expect("a link");
            let refused = make_room(&link).expect_err("no trace can lie there").to_string();
            assert!(refused.contains(word) && refused.contains("-o x.trace"), "{refused}");
            assert!(link.is_symlink(), "it was left alone");
            std::fs::remove_file(&link).expect("it was made");
        }
        assert!(make_room(&pipe).expect_err("a pipe").to_string().contains("found a pipe"));
        std::fs::write(&file, "kept").expect("a file");
        for to in [&file, &folder.join("nowhere")] {
            symlink(to, &link).expect("a link");
            make_room(&link).expect("the link itself is replaced");
            assert!(!link.is_symlink());
        }
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "kept");
        std::fs::remove_dir_all(&folder).expect("it was made");
    }
}
