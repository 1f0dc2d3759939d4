//! What is recorded beside the trace, by a thread of this process, into a companion of it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two readings of the rings: what comes meanwhile is read at one go, and a thread of the program may wait for as long.
const PERIOD: Duration = Duration::from_millis(2);
/// Readings between two writings of what is held back: about a second.
const FLUSH: u32 = 500;

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
    /// Until it is to end.
    tell: Option<Sender<u32>>,
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
        let started = Self { what, tell: Some(tell), work, path, written };
        if let Whose::Running(pid) = whose {
            started.follow(pid);
        }
        started
    }

    /// The process whose threads are followed, and all that it makes.
    pub(super) fn follow(&self, pid: u32) {
        // Where the other side has failed, it says so at the end.
        let _ = self.tell.as_ref().map(|tell| tell.send(pid));
    }

    /// The recording is to end now. [`Self::finish`] waits until it has, so several are told first.
    pub(super) fn end(&mut self) {
        self.tell = None;
    }

    /// Ends the recording of what was not recorded after all.
    pub(super) fn discard(mut self) {
        self.end();
        let _ = self.work.join();
        // It may never have been made.
        let _ = std::fs::remove_file(self.written);
    }

    /// Ends the recording; what came of it, in words.
    pub(super) fn finish(mut self, text: impl FnOnce(S) -> String) -> String {
        self.end();
        let recorded = self.work.join();
        // Whatever came of it: up to where a disk was full it can be read.
        let placed = std::fs::rename(&self.written, &self.path);
        let lies = if self.written.exists() { &self.written } else { &self.path };
        let (lies, what) = (lies.display(), self.what);
        match (recorded, placed) {
            (Err(_), _) => format!("\n{lies}: the recorder of {what} has failed"),
            (Ok(None), _) => String::new(),
            (Ok(Some(Err(error))), _) => format!("\n{lies}: {what} could not be written: {error}"),
            (Ok(Some(Ok(found))), Ok(())) => format!("\n{lies}: {}", text(found)),
            (Ok(Some(Ok(found))), Err(error)) => {
                format!("\n{lies}: {} It is not {}: {error}", text(found), self.path.display())
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("tailwater-aside-{name}-{}", std::process::id()))
    }

    /// As on a full disk: what was written until then can be read, and nothing else stays.
    #[test]
    fn what_was_written_until_it_failed_lies_where_it_is_looked_for() {
        let path = path("fails");
        let begun = path.with_added_extension("begun");
        let aside =
            Aside::<()>::start("them", path.clone(), Whose::Running(1), |_, to, readings| {
                std::fs::File::create(to)?.write_all(b"some")?;
                readings.each(|_| {});
                Err(io::ErrorKind::StorageFull.into())
            });
        let said = aside.finish(|()| unreachable!("it fails"));
        let found = std::fs::read(&path).expect("it was renamed");
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!((&*found, begun.exists()), (&b"some"[..], false));
        assert!(said.starts_with(&format!("\n{}: them could not be", path.display())), "{said}");
    }

    /// One that takes long to end keeps no other from ending at the same time.
    #[test]
    fn several_are_told_to_end_before_the_first_is_waited_for() {
        let (ended, waits) = channel();
        let start = |name: &str, work: Box<dyn FnOnce() -> io::Result<()> + Send>| {
            Aside::start("it", path(name), Whose::Running(1), move |_, to, readings| {
                std::fs::File::create(to)?;
                readings.each(|_| {});
                work()
            })
        };
        let late = io::ErrorKind::TimedOut;
        let mut first = start(
            "first",
            Box::new(move || waits.recv_timeout(Duration::from_mins(1)).map_err(|_| late.into())),
        );
        let mut second =
            start("second", Box::new(move || ended.send(()).map_err(io::Error::other)));
        first.end();
        second.end();
        for (aside, name) in [(first, "first"), (second, "second")] {
            let said = aside.finish(|()| "done".to_owned());
            std::fs::remove_file(path(name)).expect("it was made");
            assert!(said.ends_with(": done"), "{said}");
        }
    }
}
