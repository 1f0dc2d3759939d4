//! The trace's file, in a program that may close any descriptor and open another of the same number.
//!
//! The thread that creates it has it among the program's descriptors. The thread that writes takes a table of
//! descriptors of its own, with that one alone: what the program closes stays open there, and a number that the
//! program uses anew is not written to.

use crate::system::shim;
use rustix::fs::fstat;
use rustix::io::fcntl_dupfd_cloexec;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use tailwater_profile::trace::{KERNEL_ENDING, LINES_ENDING};

/// Traces beside each other, of processes that were one after another of the same number.
const BESIDE_MAX: u32 = 100;

/// The first number that is not a standard stream's: what a program without one writes there must not go to the trace.
const NUMBER_MIN: RawFd = 3;

/// A new file: what is there already is another process's recording. Beside it, the descriptor by which the program has it.
pub(crate) fn create(path: &Path, pid: u32) -> io::Result<(File, Programs)> {
    let open = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
    let beside = |nth: u32| {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{pid}"));
        if nth > 0 {
            beside.push(format!(".{nth}"));
        }
        beside
    };
    let mut result = open(path);
    for nth in 0..BESIDE_MAX {
        match &result {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                result = open(beside(nth).as_ref());
            }
            _ => break,
        }
    }
    let mut file = result?;
    // Which file it is, at once: the program may run, close all that it has and open others, as a daemon does.
    let found = fstat(&file)?;
    if file.as_raw_fd() < NUMBER_MIN {
        file = File::from(fcntl_dupfd_cloexec(file, NUMBER_MIN)?);
    }
    let programs = Programs { number: file.as_raw_fd(), file: (found.st_dev, found.st_ino) };
    // For as long as this process writes it, `tailwater profile record` replaces no such file. Some file systems have
    // no locks.
    let _ = file.try_lock();
    Ok((file, programs))
}

/// Where that could not be kept.
pub(crate) fn taken() -> io::Error {
    io::Error::other("the program closed the trace's descriptor as the recording began")
}

/// Removes the trace of before and what lies beside it of the same recording, for a recorder that has the right to its program: one
/// that is refused leaves them alone.
pub(crate) fn remove_last(path: &Path) -> io::Result<()> {
    let locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    if File::open(path).is_ok_and(locked) {
        return Err(io::Error::other("another recording writes there; name another file by -o"));
    }
    // What `tailwater profile` writes of the same recording.
    let beside = [KERNEL_ENDING, LINES_ENDING].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    });
    for path in std::iter::once(path).chain(beside.iter().map(PathBuf::as_path)) {
        // Root could remove a device or a pipe, too.
        let is_file = |found: Metadata| found.is_file() || found.is_symlink();
        if path.symlink_metadata().is_ok_and(is_file) {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// The program's own descriptor of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Programs {
    number: RawFd,
    file: (u64, u64),
}

impl Programs {
    /// The calling thread keeps the trace open, and nothing else that the program has. Since Linux 5.9; before, and where a filter
    /// of system calls refuses it, the descriptors stay those of the program. False: the program has closed the trace, and the number may
    /// be that of a file of its own.
    pub(crate) fn keep_alone(self) -> bool {
        shim::keep_open(self.number);
        self.is_there()
    }

    /// Whether the number is still that of the trace.
    fn is_there(self) -> bool {
        // SAFETY: borrowed for a question; a number that is not open is answered by an error.
        let found = fstat(unsafe { BorrowedFd::borrow_raw(self.number) });
        found.is_ok_and(|found| (found.st_dev, found.st_ino) == self.file)
    }

    /// Closes it, unless the program has, whatever it opened since.
    pub(crate) fn close(self) {
        if self.is_there() {
            // SAFETY: nobody else has it: the writer's is of another table, or closed.
            drop(unsafe { OwnedFd::from_raw_fd(self.number) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let name = format!("tailwater-trace-file-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        folder
    }

    #[test]
    fn a_trace_that_the_program_has_closed_or_replaced_is_not_written() {
        let folder = folder("replaced");
        let kept = |programs: Programs| {
            std::thread::scope(|scope| {
                scope.spawn(|| programs.keep_alone()).join().expect("it ends")
            })
        };
        let (file, programs) = create(&folder.join("trace"), 1).expect("new");
        let own = File::create(folder.join("own")).expect("a place");
        assert!(kept(programs));
        assert!(!kept(Programs { number: own.as_raw_fd(), ..programs }), "replaced");
        drop(file);
        assert!(!kept(programs), "closed");
        std::fs::remove_dir_all(&folder).expect("it was made");
    }

    #[test]
    fn what_is_there_stays_and_processes_of_one_number_have_a_file_each() {
        let folder = folder("beside");
        for name in ["x", "x.7", "x.7.1", "x.7.2"] {
            create(&folder.join("x"), 7).expect("a place beside");
            assert!(folder.join(name).exists(), "{name}");
        }
        std::fs::remove_dir_all(&folder).expect("it was made");
    }

    #[test]
    fn a_trace_of_before_goes_with_what_lies_beside_it_unless_it_is_being_written() {
        let folder = folder("before");
        let [trace, kernel, lines] = ["x", "x.kernel", "x.lines"].map(|name| folder.join(name));
        let (written, _) = create(&trace, 1).expect("new");
        for file in [&kernel, &lines] {
            std::fs::write(file, "kept").expect("a file");
        }
        assert!(remove_last(&trace).expect_err("it is locked").to_string().contains("-o"));
        assert!(trace.exists() && kernel.exists() && lines.exists());
        drop(written);
        remove_last(&trace).expect("nothing writes it");
        assert!(!trace.exists() && !kernel.exists() && !lines.exists());
        std::fs::remove_dir_all(&folder).expect("it was made");
    }

    #[test]
    fn a_number_that_names_another_file_is_left_open() {
        let folder = folder("number");
        let [(_first, opened), (second, _)] =
            ["a", "b"].map(|name| create(&folder.join(name), 1).expect("new"));
        let taken = Programs { number: second.as_raw_fd(), ..opened };
        taken.close();
        assert!(second.metadata().is_ok(), "another's");
        std::fs::remove_dir_all(&folder).expect("it was made");
    }
}
