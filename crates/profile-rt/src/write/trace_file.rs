//! The trace's file, in a program that may close any descriptor and open another of the same number.
//!
//! The thread that creates it has it among the program's descriptors. The thread that writes takes a table of
//! descriptors of its own, with that one alone: what the program closes stays open there, and a number that the
//! program uses anew is not written to.

use crate::system::shim;
use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::{dup2, fcntl_dupfd_cloexec};
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use tailwater_profile::trace::{KERNEL_ENDING, LINES_ENDING};

/// Traces beside each other, of processes that were one after another of the same number.
const BESIDE_MAX: u32 = 100;

/// The first number that is not a standard stream's: what a program without one writes there must not go to the trace.
const NUMBER_MIN: RawFd = 3;

/// A new file: what is there already is another process's recording.
pub(crate) fn create(path: &Path, pid: u32) -> io::Result<File> {
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
    let file = File::from(fcntl_dupfd_cloexec(result?, NUMBER_MIN)?);
    // For as long as this process writes it, `tailwater profile record` replaces no such file. Some file systems have
    // no locks.
    let _ = file.try_lock();
    Ok(file)
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
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let found = fstat(file)?;
        Ok(Self { number: file.as_raw_fd(), file: (found.st_dev, found.st_ino) })
    }

    /// The calling thread keeps the trace open, and nothing else that the program has. Since Linux 5.9; before, the
    /// descriptors stay those of the program. Where the program has closed the trace before, and opened a file of its own in its place,
    /// nothing can be written.
    pub(crate) fn keep_alone(self) {
        if shim::keep_open(self.number) && !self.is_there() {
            // SAFETY: of this thread's own table, in which nothing else has the number.
            let mut place = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(self.number) });
            let read_only = open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
            let _ = read_only.and_then(|file| dup2(file, &mut place));
        }
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
    fn nothing_is_written_to_a_file_that_the_program_has_opened_in_the_place_of_the_trace() {
        let folder = folder("replaced");
        let [trace, own] = ["trace", "own"].map(|name| folder.join(name));
        for is_replaced in [false, true] {
            let mut file = File::create(&trace).expect("a place");
            let programs = Programs::of(&file).expect("a file");
            let own_file = File::create(&own).expect("a place");
            if is_replaced {
                // SAFETY: the file is there, and stays the number's owner.
                let mut place =
                    ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(file.as_raw_fd()) });
                dup2(&own_file, &mut place).expect("a number");
            }
            let written = std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    programs.keep_alone();
                    std::io::Write::write(&mut file, b"a trace")
                });
                writer.join().expect("it ends")
            });
            // Before Linux 5.9 there is no table of a thread's own.
            assert!(written.is_ok() != is_replaced, "{written:?}");
            assert_eq!(std::fs::metadata(&own).expect("it is there").len(), 0);
        }
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
        let written = create(&trace, 1).expect("new");
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
        let [first, second] = ["a", "b"].map(|name| create(&folder.join(name), 1).expect("new"));
        let opened = Programs::of(&first).expect("it is open");
        let taken = Programs { number: second.as_raw_fd(), ..opened };
        taken.close();
        assert!(second.metadata().is_ok(), "another's");
        std::fs::remove_dir_all(&folder).expect("it was made");
    }
}
