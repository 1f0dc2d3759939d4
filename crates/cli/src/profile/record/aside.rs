//! What is recorded beside the trace, by a thread of this process, into a companion of it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two readings of the rings.
const PERIOD: Duration = Duration::from_millis(10);
/// Readings between two writings of what is held back: about a second.
const FLUSH: u32 = 100;

/// Whose threads are followed.
#[derive(Clone, Copy)]
pub(in super::super) enum Whose {
    /// Those of the program that the calling thread starts next; [`Aside::follow`] tells its number.
    Next,
    /// Those of a process that runs.
    Running(u32),
}

/// A recording under way, of which an `S` comes.
pub(super) struct Aside<S> {
    /// What is recorded, in words.
    what: &'static str,
    tell: Sender<u32>,
    work: JoinHandle<Option<io::Result<S>>>,
    path: PathBuf,
    /// Where it is written meanwhile: a process may refuse to be recorded, and then what lies at `path` stays.
    written: PathBuf,
}

/// The readings of a recording.
pub(super) struct Readings(Receiver<u32>);

impl<S: Send + 'static> Aside<S> {
    /// Begins: `work` gets the number of the process when that is known, and the file to write.
    pub(super) fn start(
        what: &'static str,
        path: PathBuf,
        whose: Whose,
        work: impl FnOnce(u32, &Path, &Readings) -> io::Result<S> + Send + 'static,
    ) -> Self {
        let written = match whose {
            Whose::Next => path.clone(),
            Whose::Running(_) => path.with_added_extension("begun"),
        };
        let (tell, told) = channel();
        let to = written.clone();
        let work = std::thread::spawn(move || {
            let root = told.recv().ok()?;
            Some(work(root, &to, &Readings(told)))
        });
        let started = Self { what, tell, work, path, written };
        if let Whose::Running(pid) = whose {
            started.follow(pid);
        }
        started
    }

    /// The process whose threads are followed, and all that it makes.
    pub(super) fn follow(&self, pid: u32) {
        // Where the other side has failed, it says so at the end.
        let _ = self.tell.send(pid);
    }

    /// Ends the recording of what was not recorded after all.
    pub(super) fn discard(self) {
        drop(self.tell);
        let _ = self.work.join();
        // It may never have been made.
        let _ = std::fs::remove_file(self.written);
    }

    /// Ends the recording; what came of it, in words.
    pub(super) fn finish(self, text: impl FnOnce(S) -> String) -> String {
        drop(self.tell);
        let (path, what) = (self.path.display(), self.what);
        let Ok(recorded) = self.work.join() else {
            return format!("\n{path}: the recorder of {what} has failed");
        };
        // First why it was not written, where it was not.
        let place = |found| std::fs::rename(&self.written, &self.path).map(|()| found);
        match recorded.map(|recorded| recorded.and_then(place)) {
            None => String::new(),
            Some(Ok(found)) => format!("\n{path}: {}", text(found)),
            Some(Err(error)) => format!("\n{path}: {what} could not be written: {error}"),
        }
    }
}

impl Readings {
    /// Has `read` read until the recording ends. About once a second it is told that what is held back is to be written.
    pub(super) fn each(&self, mut read: impl FnMut(bool)) {
        let mut readings = 0u32;
        while self.0.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            readings = readings.wrapping_add(1);
            read(readings.is_multiple_of(FLUSH));
        }
    }
}

/// The threads of a process; of one that is gone its own number.
pub(super) fn threads(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_dir(format!("/proc/{pid}/task"));
    let names = listed
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| thread.file_name().into_string().ok());
    let mut tids: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    if tids.is_empty() {
        tids.push(pid);
    }
    tids
}
