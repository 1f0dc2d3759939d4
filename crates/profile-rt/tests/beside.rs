//! `tailwater-recorder` beside a program that marks requests, which is the test itself: on a disk that is full, and standing
//! still while another recorder begins.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tailwater_marks::Mark;
use tailwater_profile::record::{LossKind, MarkKind, Record};
use tailwater_profile::trace::{Ending, Reader};
use tailwater_profile_rt::control::{record_to, stop};

const RECORDER: &str = env!("CARGO_BIN_EXE_tailwater-recorder");

/// One test at a time is the program.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Past the harness, which hides what tests that pass have printed.
fn passed_over(why: &str) {
    let line = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(std::io::stderr(), "PASSED OVER: {line}");
}

/// A thread that marks one request after the other while `work` is done.
fn while_marking<T>(between: Duration, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                let mut mark = Mark::new();
                mark.works();
                drop(mark);
                if !between.is_zero() {
                    std::thread::sleep(between);
                }
            }
        });
        // It ends also where the work panics.
        let _ends = Sets(&over);
        work()
    })
}

struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A recorder. Its input stays open until this is dropped or waited for.
struct Beside {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Beside {
    fn start(command: &mut Command) -> std::io::Result<Self> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn()?;
        let said = BufReader::new(child.stdout.take().expect("it is piped"));
        Ok(Self { child, said })
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("text");
        line
    }

    fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        let status = kill.args(["-s", name, &self.child.id().to_string()]).status();
        assert!(status.expect("it starts").success());
    }

    /// Waits for its end: its exit code, and what it said on its outputs.
    fn ends(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.said.read_to_string(&mut said).expect("text");
        let mut complained = self.child.stderr.take().expect("it is piped");
        complained.read_to_string(&mut said).expect("text");
        // Not before: waiting closes its input, which asks it to end.
        (self.child.wait().expect("it ends").code(), said)
    }
}

fn recorder(trace: &Path) -> Command {
    let mut command = Command::new(RECORDER);
    command.arg(std::process::id().to_string()).arg(trace);
    command
}

/// A reader of the trace at its end, and what it read; damage is its end alone.
fn read(trace: &Path) -> (Reader<File>, Vec<Record>) {
    let mut reader = Reader::new(File::open(trace).expect("a trace")).expect("a header");
    let records = reader.by_ref().filter_map(Result::ok).collect();
    (reader, records)
}

/// Whether a trace that is being written has a mark by now: what was recorded is written some times a second.
fn has_marks(trace: &Path) -> bool {
    let reader = File::open(trace).ok().and_then(|file| Reader::new(file).ok());
    reader.is_some_and(|mut reader| reader.any(|record| matches!(record, Ok(Record::Mark(_)))))
}

/// Looks again and again; fails with what is still so after a minute.
fn until(still: &str, mut is_over: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_mins(1);
    while !is_over() {
        assert!(Instant::now() < limit, "after a minute {still}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Marks by request and kind, and their times.
fn marks(records: &[Record]) -> Vec<(u64, MarkKind, u64)> {
    let marks = records.iter().filter_map(|record| match record {
        Record::Mark(mark) => Some((mark.request, mark.kind, mark.at)),
        _ => None,
    });
    marks.collect()
}

#[test]
fn a_full_disk_ends_the_recording_and_the_trace_is_there_up_to_then() {
    let _alone = alone();
    let folder = folder("full-disk");
    let (disk, kept) = (folder.join("disk"), folder.join("x.trace"));
    std::fs::create_dir(&disk).expect("a folder");
    // The disk is seen in the namespace alone, and is gone with its last process.
    let script = r#"mount -t tmpfs -o size=512k none "$0" || exit 77; "$1" "$2" "$0/x.trace"; code=$?
        cp "$0/x.trace" "$3"; exit $code"#;
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(&disk).arg(RECORDER);
    command.arg(std::process::id().to_string()).arg(&kept);
    // The first mark makes the memory that is attached to.
    drop(Mark::new());
    let ended = while_marking(Duration::ZERO, || Beside::start(&mut command).map(Beside::ends));
    let (code, said) = match ended {
        Err(error) => return passed_over(&format!("unshare: {error}")),
        Ok((Some(1), said)) if said.starts_with("unshare:") => {
            return passed_over(&format!("no namespace for a disk that is full: {said}"));
        }
        Ok((Some(77), said)) => return passed_over(&format!("no disk that is full: {said}")),
        Ok(ended) => ended,
    };
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the trace is incomplete: No space left on device"), "{said}");
    assert!(said.contains("over asked"), "it ended by itself: {said}");
    let (reader, records) = read(&kept);
    assert!(matches!(reader.ending(), Ending::Unfinished | Ending::Cut));
    assert!(marks(&records).len() > 1_000, "{} marks", marks(&records).len());
    // The next one begins as if nothing had happened.
    let trace = folder.join("next.trace");
    let mut next = Beside::start(&mut recorder(&trace)).expect("it starts");
    assert!(next.line().starts_with("recording"));
    drop(next.child.stdin.take());
    assert_eq!(next.ends().0, Some(0));
    assert!(matches!(read(&trace).0.ending(), Ending::Finished(_)));
}

#[test]
fn a_recorder_that_stood_still_takes_nothing_of_the_next_one() {
    let _alone = alone();
    let folder = folder("stood-still");
    let (first, own) = (folder.join("x.trace"), folder.join("own.trace"));
    drop(Mark::new());
    let said = while_marking(Duration::from_millis(1), || {
        let mut beside = Beside::start(&mut recorder(&first)).expect("it starts");
        assert!(beside.line().starts_with("recording"));
        until("the first trace has no mark", || has_marks(&first));
        beside.signal("STOP");
        // Its lease is over after some seconds.
        until("nothing else may record", || record_to(&own).is_ok());
        until("the next trace has no mark", || has_marks(&own));
        beside.signal("CONT");
        let said = beside.ends().1;
        stop().expect("it is written");
        said
    });
    assert!(said.contains("over late"), "{said}");
    let (next, records) = read(&own);
    let began = next.header().clock.ticks;
    let taken = marks(&read(&first).1);
    assert!(!taken.is_empty());
    assert!(taken.iter().all(|(_, _, at)| *at <= began), "what came later is the next one's");
    // A busy machine loses marks, and says how many.
    let lost = records.iter().filter_map(|record| match record {
        Record::Loss(it) if it.kind == LossKind::Marks => Some(it.count),
        _ => None,
    });
    let lost: u64 = lost.sum();
    let marks = marks(&records);
    let whole = |kind| -> BTreeSet<u64> {
        marks.iter().filter(|mark| mark.1 == kind).map(|mark| mark.0).collect()
    };
    let (started, ended) = (whole(MarkKind::Start), whole(MarkKind::EndAll));
    let (from, to) = (*started.first().expect("some"), *ended.last().expect("some"));
    let found = started.range(from..=to).count() + ended.range(from..=to).count();
    let missing = 2 * (to + 1 - from) - found as u64;
    assert!(missing <= lost, "{missing} marks are missing, and {lost} were lost");
}
