//! `record --keep`: the trace is read while it grows, and only its slowest requests stay.
//!
//! The runtime writes all of it to `TRACE.all`. This side follows it, and writes what may be among the slowest to
//! `TRACE.candidates`. The room of what it has read goes back to the file system. When the program has ended, the
//! candidates are cut down to `TRACE`. Until then the room taken is that of the candidates, and of what is not read as yet.

use super::place::{is_written, traces_beside};
use crate::failure::Failure;
use crate::profile::keep::{self, Kept, Sink};
use crate::profile::percentile::percentile_name;
use rustix::fs::{FallocateFlags, fallocate};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use tailwater_profile::retention::{Found, Retention, SLOWEST_KEPT};
use tailwater_profile::trace::{Ending, Header, Reader};
use tailwater_report::count;

/// Between two looks whether the file has grown; the runtime writes some times a second.
const NAP: Duration = Duration::from_millis(20);
/// Read bytes before their room is given back.
const GIVEN_BACK: u64 = 4 << 20;
/// Bytes that stay: without the header nothing that is left could be read.
const HEAD: u64 = 4 << 10;

/// A recording that is being cut down.
pub(in crate::profile) struct Retained {
    trace: PathBuf,
    above: f64,
    over: Arc<AtomicBool>,
    following: JoinHandle<Result<Option<First>, Failure>>,
}

/// What following it came to.
struct First {
    header: Header,
    found: Found,
    damages: u64,
    /// Bytes in all, and whether their room could be given back.
    read: u64,
    gives_back: bool,
}

impl Retained {
    /// Begins to follow what will be recorded for `trace`. Where the runtime is to write it is [`all_of`]. `failed` is told at
    /// once where that ends too early.
    pub(in crate::profile) fn start(
        trace: &Path,
        above: f64,
        failed: impl FnOnce(&Failure) + Send + 'static,
    ) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (from, to, is_over) = (all_of(trace), candidates_of(trace), over.clone());
        let following = following(move || follow(&from, &to, above, is_over), failed);
        Self { trace: trace.to_owned(), above, over, following }
    }

    /// The program has ended: cuts down the rest, and says in words what came of it. Where nothing was recorded there is
    /// nothing to say.
    pub(in crate::profile) fn finish(self, since: SystemTime) -> Result<String, Failure> {
        let Self { trace, above, over, following } = self;
        over.store(true, Release);
        let all = all_of(&trace);
        let first = following.join().expect("a panic is a failure");
        let keeps_all = format!("{} has what was not read of it", all.display());
        let Some(first) = first.map_err(|failure| failure.and(&keeps_all))? else {
            return Ok(String::new());
        };
        let candidates = candidates_of(&trace);
        let has_them = format!("{} has what may be among the slowest", candidates.display());
        keep::write(&candidates, &first.header, &trace, &first.found)
            .map_err(|failure| failure.and(&has_them))?;
        let _ = std::fs::remove_file(&candidates);
        let _ = std::fs::remove_file(&all);
        let mut text = format!("\nKept: {}", Kept::new(first.found, first.damages).text(above));
        text.push_str(&format!("; {} bytes were recorded.", count(first.read)));
        if !first.gives_back {
            text.push_str(" The file system could not give room back while the program ran.");
        }
        for child in traces_beside(&all, since) {
            text.push_str(&of_child(&trace, &child, above));
        }
        Ok(text)
    }
}

/// Follows a trace on a thread of its own. Where that fails, all that is recorded from then on stays: `failed` is told
/// at once, and not at the end of a recording that may take hours.
pub(in crate::profile) fn following<T: Send + 'static>(
    follow: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    failed: impl FnOnce(&Failure) + Send + 'static,
) -> JoinHandle<Result<T, Failure>> {
    std::thread::spawn(move || {
        // The program comes first. Of this thread alone, on Linux.
        let _ = rustix::process::nice(10);
        // Nothing of what it had is used after a panic.
        let followed = catch_unwind(AssertUnwindSafe(follow))
            .unwrap_or_else(|_| Err(Failure::work("what reads the trace has failed")));
        followed.inspect_err(failed)
    })
}

/// A child's trace lies beside `TRACE.all`, and the part of it that is kept beside `TRACE`. One that goes on, as a daemon does,
/// has its file as it is: what it writes yet would go with it.
fn of_child(trace: &Path, child: &Path, above: f64) -> String {
    // Of several processes that had one number in turn, the later ones' have two: `.7.1`.
    let (all, name) = (all_of(trace), child.file_name().unwrap_or_default());
    let all = all.file_name().unwrap_or_default();
    let numbers = name.as_bytes().strip_prefix(all.as_bytes()).unwrap_or_default();
    let to = with(trace, OsStr::from_bytes(numbers));
    if is_written(child) {
        let above = percentile_name(above);
        return format!(
            "\n{child} is whole, as its process goes on. When that has ended, type: tailwater profile keep {child} --above {above} -o {to}",
            child = child.display(),
            to = to.display(),
        );
    }
    match Kept::of(child, &to, above) {
        Ok(kept) => {
            let _ = std::fs::remove_file(child);
            format!("\n{}: {}.", to.display(), kept.text(above))
        }
        Err(failure) => format!("\n{failure}"),
    }
}

/// Where the runtime writes.
pub(in crate::profile) fn all_of(trace: &Path) -> PathBuf {
    with(trace, ".all")
}

fn candidates_of(trace: &Path) -> PathBuf {
    with(trace, ".candidates")
}

fn with(path: &Path, more: impl AsRef<OsStr>) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(more);
    name.into()
}

/// The first reading, to the end of the program and of what writes the trace. `None`: there is no trace.
fn follow(
    from: &Path,
    to: &Path,
    above: f64,
    over: Arc<AtomicBool>,
) -> Result<Option<First>, Failure> {
    let trouble = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::work(format!("{}: {error}", path.display()))
    };
    let Some(growing) = Growing::open(from, over).map_err(|error| trouble(from, &error))? else {
        return Ok(None);
    };
    let mut reader = Reader::new(growing).map_err(|error| trouble(from, &error))?;
    let header = reader.header().clone();
    let out = File::create(to).map_err(|error| trouble(to, &error))?;
    let mut out = Sink::new(BufWriter::new(out), &header).map_err(|error| trouble(to, &error))?;
    let mut retention = Retention::of_slowest(&header, SLOWEST_KEPT);
    let mut damages = 0;
    for item in reader.by_ref() {
        match item {
            Ok(record) => retention.add(record, |record| out.add(record)),
            Err(_) => damages += 1,
        }
        if out.has_failed() {
            break;
        }
    }
    let found = retention.finish(above, |record| out.add(record));
    let (ending, read): (Ending, u64) = (reader.ending(), reader.offset());
    out.finish(&ending).map_err(|error| trouble(to, &error))?;
    let gives_back = reader.get_ref().gives_back;
    Ok(Some(First { header, found, damages, read, gives_back }))
}

/// A file that another process appends to. It ends when `over` is set and nobody writes it any more.
pub(in crate::profile) struct Growing {
    file: File,
    path: PathBuf,
    over: Arc<AtomicBool>,
    read: u64,
    given_back: u64,
    gives_back: bool,
}

impl Growing {
    /// Waits for it. `None`: it never came.
    pub(in crate::profile) fn open(path: &Path, over: Arc<AtomicBool>) -> io::Result<Option<Self>> {
        loop {
            // Asked first: what is there by then is seen.
            let is_over = over.load(Acquire);
            match File::options().read(true).write(true).open(path) {
                Ok(file) => {
                    let path = path.to_owned();
                    let (read, given_back, gives_back) = (0, HEAD, true);
                    return Ok(Some(Self { file, path, over, read, given_back, gives_back }));
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Err(_) if is_over => return Ok(None),
                Err(_) => std::thread::sleep(NAP),
            }
        }
    }

    /// What was read is needed no more.
    fn give_back(&mut self) {
        if self.gives_back && self.read >= self.given_back + GIVEN_BACK {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let (from, length) = (self.given_back, self.read - self.given_back);
            self.gives_back = fallocate(&self.file, flags, from, length).is_ok();
            self.given_back = self.read;
        }
    }
}

impl Read for Growing {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            // Asked before: what a writer left by then is read.
            let is_over = self.over.load(Acquire) && !is_written(&self.path);
            let read = self.file.read(bytes)?;
            self.read += read as u64;
            if read > 0 || is_over {
                self.give_back();
                return Ok(read);
            }
            std::thread::sleep(NAP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::testing::header;
    use std::io::Write;
    use std::sync::mpsc::{TryRecvError, channel};
    use tailwater_profile::record::{Mark, MarkKind, Record, ThreadId};
    use tailwater_profile::trace::Writer;

    /// A runtime that writes a thousand requests, of which ten are long, while they are read.
    #[test]
    fn a_recording_is_cut_down_while_it_is_written_and_nothing_else_is_left() {
        let folder = std::env::temp_dir().join(format!("tailwater-kept-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let trace = folder.join("x.trace");
        let retained = Retained::start(&trace, 0.99, |failure| panic!("{failure}"));
        let file = File::create(all_of(&trace)).expect("a file");
        let mut writer = Writer::new(file, &header()).expect("it is written");
        for request in 0..1_000 {
            let from = request * 20_000_000;
            let length = if request % 100 == 7 { 10_000_000 } else { 10_000 };
            for (kind, at) in [(MarkKind::Start, from), (MarkKind::End, from + length)] {
                let mark = Mark { thread: ThreadId(0), request, kind, at };
                writer.write(&Record::Mark(mark)).expect("it is written");
            }
            writer.flush().expect("it is written");
        }
        writer.finish().expect("it is written");
        let text = retained.finish(SystemTime::now()).expect("it is cut down");
        assert!(text.contains("of 1,000 requests those above p99"), "{text}");
        let reader = Reader::new(File::open(&trace).expect("a trace")).expect("a header");
        let marks = reader.filter(|item| matches!(item, Ok(Record::Mark(_)))).count();
        assert_eq!(marks, 20, "of ten requests");
        let left = std::fs::read_dir(&folder).expect("it is there").count();
        assert_eq!(left, 1, "the trace alone");
        std::fs::remove_dir_all(&folder).expect("it was made");
    }

    #[test]
    fn a_failure_of_following_is_told_while_the_recording_goes_on() {
        let folder = std::env::temp_dir().join(format!("tailwater-unkept-{}", std::process::id()));
        let trace = folder.join("x.trace");
        // No file can be made there.
        std::fs::create_dir_all(candidates_of(&trace)).expect("a folder");
        let (tell, told) = channel();
        let retained = Retained::start(&trace, 0.99, move |failure| {
            tell.send(failure.to_string()).expect("it is heard");
        });
        let file = File::create(all_of(&trace)).expect("a file");
        let mut writer = Writer::new(file, &header()).expect("it is written");
        let told = loop {
            // The recording goes on.
            for _ in 0..1_000 {
                writer.write(&Record::Clock(header().clock)).expect("it is written");
            }
            writer.flush().expect("it is written");
            match told.try_recv() {
                Ok(told) => break told,
                Err(TryRecvError::Empty) => std::thread::yield_now(),
                Err(TryRecvError::Disconnected) => panic!("it ended untold"),
            }
        };
        assert!(told.contains("candidates"), "{told}");
        let failure = retained.finish(SystemTime::now()).expect_err("nothing was kept");
        assert!(failure.to_string().contains(&told), "{failure}");
        std::fs::remove_dir_all(&folder).expect("it was made");
    }

    #[test]
    fn so_is_a_panic() {
        let (tell, told) = channel();
        let failed = move |failure: &Failure| tell.send(failure.to_string()).expect("it is heard");
        let following = following(|| -> Result<(), Failure> { panic!("for the test") }, failed);
        assert!(told.recv().expect("it is told").contains("has failed"));
        assert!(following.join().expect("the panic was caught").is_err());
    }

    fn one_request(writer: &mut Writer<impl Write>) {
        for (kind, at) in [(MarkKind::Start, 0), (MarkKind::End, 5_000)] {
            let mark = Mark { thread: ThreadId(0), request: 1, kind, at };
            writer.write(&Record::Mark(mark)).expect("it is written");
        }
    }

    #[test]
    fn a_child_that_goes_on_has_its_trace_until_it_has_ended() {
        let folder = std::env::temp_dir().join(format!("tailwater-child-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (trace, child) = (folder.join("x.trace"), folder.join("x.trace.all.7"));
        let file = File::create(&child).expect("a file");
        file.try_lock().expect("nobody else has it");
        let mut writer = Writer::new(&file, &header()).expect("it is written");
        one_request(&mut writer);
        writer.flush().expect("it is written");
        let text = of_child(&trace, &child, 0.99);
        assert!(child.exists(), "{text}");
        assert!(text.contains("profile keep") && text.contains("--above p99 -o"), "{text}");
        writer.finish().expect("it is written");
        drop(writer);
        drop(file);
        let text = of_child(&trace, &child, 0.99);
        assert!(!child.exists() && folder.join("x.trace.7").exists(), "{text}");
        std::fs::remove_dir_all(&folder).expect("it was made");
    }

    /// Numbers come again in a server that forks for hours.
    #[test]
    fn of_children_that_had_one_number_in_turn_each_has_its_part() {
        let name = format!("tailwater-children-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let trace = folder.join("x.trace");
        for numbers in ["7", "7.1", "9.1"] {
            let child = folder.join(format!("x.trace.all.{numbers}"));
            let file = File::create(&child).expect("a file");
            let mut writer = Writer::new(file, &header()).expect("it is written");
            one_request(&mut writer);
            writer.finish().expect("it is written");
            drop(writer);
            let text = of_child(&trace, &child, 0.99);
            let part = folder.join(format!("x.trace.{numbers}"));
            assert!(part.exists() && !child.exists(), "{text}");
        }
        std::fs::remove_dir_all(&folder).expect("it was made");
    }

    #[test]
    fn a_file_that_grows_is_read_to_its_end_and_its_room_is_given_back() {
        let path = std::env::temp_dir().join(format!("tailwater-growing-{}", std::process::id()));
        let over = Arc::new(AtomicBool::new(false));
        let (to, is_over) = (path.clone(), over.clone());
        let writer = std::thread::spawn(move || {
            let mut file = File::create(&to).expect("a file");
            for part in 0..20_u8 {
                file.write_all(&vec![part; 1 << 20]).expect("room");
                std::thread::yield_now();
            }
            file.sync_all().expect("it is on the disk");
            is_over.store(true, Release);
        });
        let mut growing = Growing::open(&path, over).expect("it opens").expect("it comes");
        let mut all = Vec::new();
        growing.read_to_end(&mut all).expect("it is read");
        writer.join().expect("it was written");
        let expected: Vec<u8> = (0..20_u8).flat_map(|part| vec![part; 1 << 20]).collect();
        assert!(all == expected, "every byte, once");
        assert!(growing.given_back + GIVEN_BACK > 20 << 20, "{}", growing.given_back);
        std::fs::remove_file(&path).expect("it was made");
        let over = Arc::new(AtomicBool::new(true));
        assert!(Growing::open(&path, over).expect("no trouble").is_none(), "it never comes");
    }
}
