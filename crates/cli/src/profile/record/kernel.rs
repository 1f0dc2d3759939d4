//! `--kernel` of `record` and `attach`: what the operating system does with the program's threads, written beside the trace.

use crate::profile::kernel::kernel_file;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use tailwater_kernel::schedule::{self, Fact, Machine, WaitQuantiles, Waits};
use tailwater_kernel::{
    Losses, Missing, Name, Probe, Recorder, Syscalls, Throttling, first_touch_ns, now_ns,
};
use tailwater_profile::kernel::{
    After, Did, Interrupting, Interruption, OCCUPANTS_MAX, Occupant, ThreadState, WaitedBehind,
    Waker,
};
use tailwater_profile::record::{
    Clock, Figure, Gap, Loss, LossKind, Measured, Record, Thread, ThreadId,
};
use tailwater_profile::retention::{Gone, Last};
use tailwater_profile::trace::{Header, Writer};
use tailwater_report::{count, time};

/// Between two readings of the rings.
const PERIOD: Duration = Duration::from_millis(10);
/// Readings between two writings of what is held back: about a second.
const FLUSH: u32 = 100;
/// The system call that is counted apart: what locks make where they wait.
const COUNTED: &str = "futex";
/// Threads told apart, by number and name; of further ones nothing is told but the time. No more than [`Last`] remembers names of.
const NAMES_MAX: usize = 65_536;
/// Threads that one fact names at most: its own, the one that woke it, and those that had the core.
const NAMED_MAX: usize = 2 + OCCUPANTS_MAX;

/// Whose threads are followed.
#[derive(Clone, Copy)]
pub(in super::super) enum Whose {
    /// Those of the program that the calling thread starts next; [`KernelRecording::follow`] tells its number.
    Next,
    /// Those of a process that runs.
    Running(u32),
}

/// A recording under way, or why there is none.
pub(in super::super) struct KernelRecording {
    working: Option<(Sender<u32>, JoinHandle<io::Result<Summary>>)>,
    syscalls: Result<Syscalls, Missing>,
    path: PathBuf,
    /// Where it is written meanwhile: a process may refuse to be recorded, and then what lies at `path` stays.
    written: PathBuf,
    /// What is missing, in sentences.
    missing: String,
}

/// What was recorded.
#[derive(Default)]
struct Summary {
    facts: u64,
    threads: usize,
    losses: Losses,
    /// Threads that were not followed, and facts that were left out, for want of room.
    beyond: u64,
    /// Segments that TCP sent again, of the whole machine.
    retransmissions: u64,
    waits: WaitQuantiles,
    /// How often a CPU quota stopped the program's control groups, where that can be read.
    throttled: Option<u64>,
    bytes: u64,
    /// Where the last alone are kept: of how long, and what went.
    kept: Option<(Duration, Gone)>,
}

impl KernelRecording {
    /// Begins, or says on standard error what is missing and what to type. With `last`, only facts of so long before the end
    /// are written, when that has come.
    pub(in super::super) fn start(trace: &Path, whose: Whose, last: Option<Duration>) -> Self {
        let path = kernel_file(trace);
        let written = match whose {
            Whose::Next => path.clone(),
            Whose::Running(_) => path.with_added_extension("begun"),
        };
        let probe = Probe::look();
        let missing = probe.sources().filter_map(|(source, found)| Some((source, found.err()?)));
        let lacking: Vec<String> =
            missing.map(|(source, missing)| format!("{}: {missing}", source.name())).collect();
        let began_ns = now_ns();
        let syscalls = match whose {
            Whose::Next => Syscalls::of_next_program(&[COUNTED]),
            Whose::Running(pid) => Syscalls::of_threads(&threads(pid), &[COUNTED]),
        };
        let recorder = match Recorder::start(probe) {
            Ok(recorder) => recorder,
            Err(missing) => {
                super::tell(&format!(
                    "tailwater: recording without the kernel's events: {missing}"
                ));
                return Self { working: None, syscalls, path, written, missing: String::new() };
            }
        };
        let missing =
            lacking.iter().map(|one| format!("\nNot told by this kernel: {one}.")).collect();
        // With the events on, as it will be for the program.
        let first_touch = first_touch_ns();
        let (tell, told) = channel();
        let to = written.clone();
        let work = move || {
            let root = told.recv().ok()?;
            let facts = Facts::create(&to, (root, began_ns), last);
            Some(facts.and_then(|facts| record(recorder, root, first_touch, &told, facts)))
        };
        let work = std::thread::spawn(move || work().unwrap_or_else(|| Ok(Summary::default())));
        let started = Self { working: Some((tell, work)), syscalls, path, written, missing };
        if let Whose::Running(pid) = whose {
            started.follow(pid);
        }
        started
    }

    /// The process whose threads are to be followed, and all that it makes.
    pub(super) fn follow(&self, pid: u32) {
        if let Some((tell, _)) = &self.working {
            // Where the other side has failed, it says so at the end.
            let _ = tell.send(pid);
        }
    }

    /// Ends the recording of what was not recorded after all.
    pub(in super::super) fn discard(self) {
        if let Some((tell, work)) = self.working {
            drop(tell);
            let _ = work.join();
            // It may never have been made.
            let _ = std::fs::remove_file(self.written);
        }
    }

    /// Ends the recording; what came of it, in words.
    pub(in super::super) fn finish(self) -> String {
        let Some((tell, work)) = self.working else { return String::new() };
        drop(tell);
        let path = self.path.display();
        let (missing, syscalls) = (self.missing, called(self.syscalls));
        let recorded = work.join();
        let placed = std::fs::rename(&self.written, &self.path);
        match recorded.map(|recorded| placed.and(recorded)) {
            Ok(Ok(summary)) => format!("\n{path}: {}{syscalls}{missing}", summary.text()),
            Ok(Err(error)) => {
                format!("\n{path}: the kernel's events could not be written: {error}")
            }
            Err(_) => format!("\n{path}: the recorder of the kernel's events has failed"),
        }
    }
}

/// The threads of a process; of one that is gone its own number.
fn threads(pid: u32) -> Vec<u32> {
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

/// What system calls the program made, or why that is not known.
fn called(syscalls: Result<Syscalls, Missing>) -> String {
    let mut syscalls = match syscalls {
        Ok(syscalls) => syscalls,
        Err(missing) => return format!("\nSystem calls are not counted: {missing}."),
    };
    match syscalls.read() {
        Ok((all, named)) => {
            let named =
                named.iter().map(|(name, calls)| format!(", {} of them {name}", count(*calls)));
            format!(" {} system calls{}.", count(all), named.collect::<String>())
        }
        Err(error) => format!("\nSystem calls are not counted: {error}."),
    }
}

impl Summary {
    fn text(&self) -> String {
        let mut text = format!(
            "{} facts of the kernel about {} threads; {} bytes. Lost: {} of its events.",
            count(self.facts),
            count(self.threads as u64),
            count(self.bytes),
            count(self.losses.events),
        );
        if let Some((last, gone)) = self.kept {
            let (last, old) = (time(last.as_secs_f64() * 1e6), count(gone.old));
            text.push_str(&format!(" Kept: those of the last {last}; {old} before are gone."));
            if gone.crowded > 0 {
                let crowded = count(gone.crowded);
                text.push_str(&format!(" For want of memory {crowded} later ones are, too."));
            }
        }
        let rest = [
            (self.losses.late, "events came too late"),
            (self.losses.unread, "records could not be read"),
            (
                self.losses.unwatched,
                "processors came online and could not be watched: from then on most is unknown",
            ),
            (self.beyond, "threads or facts were left out for want of room"),
            (self.retransmissions, "segments were sent again by TCP, by all programs here"),
        ];
        for (number, what) in rest.iter().filter(|(number, _)| *number > 0) {
            text.push_str(&format!(" {} {what}.", count(*number)));
        }
        if let Some(times) = self.throttled.filter(|times| *times > 0) {
            text.push_str(&format!(" A CPU quota stopped the program {} times.", count(times)));
        }
        if self.waits.count > 0 {
            let [p50, p99, max] = [self.waits.p50_ns, self.waits.p99_ns, self.waits.max_ns]
                .map(|ns| time(ns as f64 / 1e3));
            let waits = count(self.waits.count);
            text.push_str(&format!(
                " {waits} waits for a core: p50 {p50}, p99 {p99}, longest {max}."
            ));
        }
        text
    }
}

/// Follows a process until the other side hangs up.
fn record(
    mut recorder: Recorder,
    root: u32,
    first_touch: Option<u64>,
    told: &Receiver<u32>,
    mut facts: Facts,
) -> io::Result<Summary> {
    let throttling = Throttling::begin(root);
    if let Some(value) = first_touch {
        facts.write(Record::Figure(Figure { what: Measured::FirstTouchNs, value }));
    }
    let mut machine = Machine::new(recorder.cpus());
    // After the events were turned on, which tell of all that are made from then on.
    threads(root).into_iter().for_each(|tid| machine.follow(tid, facts.began_ns));
    let mut readings = 0u32;
    // The program has begun: what is silent may be visited.
    recorder.read(|event| machine.apply(event, &mut |fact| facts.add(fact)));
    while told.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
        recorder.read(|event| machine.apply(event, &mut |fact| facts.add(fact)));
        readings = readings.wrapping_add(1);
        if readings.is_multiple_of(FLUSH) {
            facts.flush();
        }
    }
    // Not when the events are closed, which may take longer than the last moments do.
    let mut end_ns = now_ns();
    let losses = recorder.finish(|event| {
        end_ns = end_ns.max(event.at_ns);
        machine.apply(event, &mut |fact| facts.add(fact));
    });
    let (beyond, retransmissions) = (machine.beyond(), machine.retransmissions());
    machine.finish(end_ns, &mut |fact| facts.add(fact));
    let throttled = throttling.map(|throttling| throttling.times());
    let summary = facts.finish(end_ns, losses, beyond, throttled)?;
    Ok(Summary { retransmissions, ..summary })
}

/// Facts on their way to the file.
struct Facts {
    out: Out,
    /// Where the last alone are kept.
    last: Option<(Duration, Last)>,
    began_ns: u64,
    threads: HashMap<(u32, Name), ThreadId>,
    /// Numbers that were given, those of threads that were forgotten included.
    numbered: u32,
    /// What each followed thread was last called.
    own: HashMap<u32, ThreadId>,
    /// Threads that were followed. One of which nothing was told for long may count twice.
    followed: usize,
    waits: Waits,
    facts: u64,
    /// How many there must be before threads are forgotten again: all that is held is looked through.
    forgets_at: u64,
    left_out: u64,
}

/// The file. The first failure is kept: a full disk ends no program.
struct Out {
    writer: Writer<BufWriter<File>>,
    failed: Option<io::Error>,
}

impl Out {
    fn add(&mut self, record: &Record) {
        if self.failed.is_none() {
            self.failed = self.writer.write(record).err();
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.writer.flush().err();
        }
    }

    /// Answers how many bytes it has.
    fn finish(mut self) -> io::Result<u64> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.writer.finish()?;
        Ok(self.writer.written())
    }
}

impl Facts {
    /// Of the process `root`, since that time.
    fn create(
        path: &Path,
        (root, began_ns): (u32, u64),
        last: Option<Duration>,
    ) -> io::Result<Self> {
        let header = Header {
            architecture: std::env::consts::ARCH.into(),
            pid: root,
            program: "kernel".into(),
            build_id: vec![],
            clock: reading(began_ns),
        };
        let file = BufWriter::new(File::create(path)?);
        Ok(Self {
            out: Out { writer: Writer::new(file, &header)?, failed: None },
            last: last.map(|length| (length, Last::new(&header, length))),
            began_ns,
            threads: HashMap::new(),
            numbered: 0,
            own: HashMap::new(),
            followed: 0,
            waits: Waits::default(),
            facts: 0,
            forgets_at: 0,
            left_out: 0,
        })
    }

    fn add(&mut self, fact: Fact) {
        self.waits.add(&fact);
        // Between facts: what is numbered for this one is not held yet.
        if self.threads.len() + NAMED_MAX > NAMES_MAX && self.facts >= self.forgets_at {
            self.forget_threads();
        }
        match fact {
            Fact::Interval(schedule::Interval { tid, name, from_ns, to_ns, state }) => {
                let Some(thread) = self.thread(tid, name) else { return self.left_out += 1 };
                self.followed += usize::from(self.own.insert(tid, thread).is_none());
                let did = self.did(state);
                self.write(Record::State(ThreadState { thread, start: from_ns, end: to_ns, did }));
            }
            Fact::Interruption(schedule::Interruption { tid, from_ns, to_ns, by }) => {
                let own = self.own.get(&tid).copied();
                let thread = own.or_else(|| self.thread(tid, Name::default()));
                let Some(thread) = thread else { return self.left_out += 1 };
                let by = interrupting(by);
                let one = Interruption { thread, start: from_ns, end: to_ns, by };
                self.write(Record::Interruption(one));
            }
            Fact::Void { from_ns, to_ns } => {
                self.write(Record::Gap(Gap { thread: None, start: from_ns, end: to_ns }));
            }
        }
        self.facts += 1;
    }

    fn did(&mut self, state: schedule::State) -> Did {
        match state {
            schedule::State::Running { cpu } => Did::Running { cpu },
            schedule::State::Runnable { cpu, after, behind } => {
                let after = match after {
                    schedule::After::Woken => After::Woken,
                    schedule::After::Preempted => After::Preempted,
                    schedule::After::Made => After::Made,
                };
                Did::Runnable { cpu, after, behind: self.behind(&behind) }
            }
            schedule::State::Asleep { is_uninterruptible, woken } => {
                Did::Asleep { is_uninterruptible, woken: self.waker(woken) }
            }
            schedule::State::Stopped { woken } => Did::Stopped { woken: self.waker(woken) },
            schedule::State::Unknown => Did::Unknown,
        }
    }

    fn waker(&mut self, woken: schedule::Waker) -> Waker {
        match woken {
            schedule::Waker::Thread { tid, name } => {
                self.thread(tid, name).map_or(Waker::Unknown, Waker::Thread)
            }
            schedule::Waker::Timer => Waker::Timer,
            schedule::Waker::Softirq(vector) => Waker::Softirq(vector),
            schedule::Waker::Interrupt(line) => Waker::Interrupt(line),
            schedule::Waker::Unknown => Waker::Unknown,
        }
    }

    fn behind(&mut self, behind: &schedule::Behind) -> WaitedBehind {
        let mut others = behind.others_ns;
        let mut occupants = Vec::new();
        for one in &behind.occupants {
            match self.thread(one.tid, one.name) {
                Some(thread) => occupants.push(Occupant { thread, time: one.ns }),
                None => others += one.ns,
            }
        }
        WaitedBehind { occupants, others, idle: behind.idle_ns }
    }

    /// A thread's number in the file; one that has a new name has a new number.
    fn thread(&mut self, tid: u32, name: Name) -> Option<ThreadId> {
        if let Some(id) = self.threads.get(&(tid, name)) {
            return Some(*id);
        }
        if self.threads.len() >= NAMES_MAX {
            return None;
        }
        let id = ThreadId(self.numbered);
        self.numbered += 1;
        self.threads.insert((tid, name), id);
        self.write(Record::Thread(Thread { id, tid, name: name.to_string() }));
        Some(id)
    }

    /// Where the last alone are kept, threads of which nothing is held make room for others.
    fn forget_threads(&mut self) {
        let Some((_, last)) = &mut self.last else { return };
        self.forgets_at = self.facts + NAMES_MAX as u64;
        let needed = last.forget_threads();
        self.threads.retain(|_, id| needed.contains(id));
        self.own.retain(|_, id| needed.contains(id));
    }

    fn write(&mut self, record: Record) {
        match &mut self.last {
            Some((_, last)) => last.add(record, |record| self.out.add(record)),
            None => self.out.add(&record),
        }
    }

    /// Writes what is held back; of the last alone, what has become too old goes.
    fn flush(&mut self) {
        if self.last.is_some() {
            self.write(Record::Clock(reading(now_ns())));
        }
        self.out.flush();
    }

    fn finish(
        mut self,
        end_ns: u64,
        losses: Losses,
        beyond: u64,
        throttled: Option<u64>,
    ) -> io::Result<Summary> {
        let lost = losses.events + losses.late + losses.unread;
        if lost > 0 {
            self.write(Record::Loss(Loss { thread: None, kind: LossKind::Events, count: lost }));
        }
        if let Some(value) = throttled {
            self.write(Record::Figure(Figure { what: Measured::Throttlings, value }));
        }
        self.write(Record::Clock(reading(end_ns)));
        let kept =
            self.last.map(|(length, last)| (length, last.finish(|record| self.out.add(record))));
        Ok(Summary {
            facts: self.facts,
            threads: self.followed,
            losses,
            beyond: beyond + self.left_out,
            bytes: self.out.finish()?,
            kept,
            waits: self.waits.spread(),
            throttled,
            ..Summary::default()
        })
    }
}

/// The file's ticks are nanoseconds of the clock that the kernel's events have.
fn reading(raw_ns: u64) -> Clock {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let real_ns = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
    let real_ns = real_ns.saturating_sub(now_ns().saturating_sub(raw_ns));
    Clock { ticks: raw_ns, raw_ns, real_ns }
}

fn interrupting(by: schedule::Interrupting) -> Interrupting {
    use tailwater_kernel::LocalInterrupt::{Call, Reschedule, Timer};
    match by {
        schedule::Interrupting::Device(line) => Interrupting::Device(line),
        schedule::Interrupting::Softirq(vector) => Interrupting::Softirq(vector),
        schedule::Interrupting::Local(Timer) => Interrupting::Timer,
        schedule::Interrupting::Local(Reschedule) => Interrupting::Reschedule,
        schedule::Interrupting::Local(Call) => Interrupting::Call,
        schedule::Interrupting::Fault(address) => Interrupting::Fault(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_profile::trace::Reader;

    /// States in a file of one thousand, a millisecond each, and what came of it.
    fn states(name: &str, last: Option<Duration>) -> (usize, Summary) {
        let name = format!("tailwater-facts-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let began_ns = now_ns() - 1_000_000_000;
        let mut facts = Facts::create(&path, (7, began_ns), last).expect("a file");
        for nth in 1..=1_000 {
            let to_ns = began_ns + nth * 1_000_000;
            facts.add(Fact::Interval(schedule::Interval {
                tid: 7,
                name: Name::new(b"sleeper"),
                from_ns: to_ns - 1_000_000,
                to_ns,
                state: schedule::State::Unknown,
            }));
        }
        let end_ns = began_ns + 1_000_000_000;
        let summary = facts.finish(end_ns, Losses::default(), 0, None).expect("it is written");
        let reader = Reader::new(File::open(&path).expect("it is there")).expect("a header");
        let states = reader.filter(|item| matches!(item, Ok(Record::State(_)))).count();
        std::fs::remove_file(&path).expect("it was made");
        (states, summary)
    }

    #[test]
    fn threads_of_which_nothing_is_held_make_room_where_the_last_alone_are_kept() {
        let path =
            std::env::temp_dir().join(format!("tailwater-facts-names-{}", std::process::id()));
        let began_ns = now_ns() - 1_000_000_000;
        let last = Some(Duration::from_millis(1));
        let mut facts = Facts::create(&path, (7, began_ns), last).expect("a file");
        let mut to_ns = began_ns;
        for nth in 0..3 * NAMES_MAX as u32 {
            to_ns += 1_000;
            // One that lives throughout, and others that live for a moment.
            for tid in [7, 1_000 + nth] {
                facts.add(Fact::Interval(schedule::Interval {
                    tid,
                    name: Name::new(b"one"),
                    from_ns: to_ns - 1_000,
                    to_ns,
                    state: schedule::State::Unknown,
                }));
            }
            if nth.is_multiple_of(100) {
                facts.write(Record::Clock(reading(to_ns)));
            }
            assert!(facts.threads.len() <= NAMES_MAX && facts.own.len() <= NAMES_MAX);
        }
        let summary = facts.finish(to_ns, Losses::default(), 0, None).expect("it is written");
        assert_eq!(summary.beyond, 0);
        let (mut tids, mut states) = (HashMap::new(), vec![]);
        for record in Reader::new(File::open(&path).expect("it is there")).expect("a header") {
            match record.expect("sound") {
                Record::Thread(thread) => {
                    tids.insert(thread.id, thread.tid);
                }
                Record::State(state) => states.push(state.thread),
                _ => {}
            }
        }
        std::fs::remove_file(&path).expect("it was made");
        let of_all = states.iter().filter(|thread| tids.contains_key(thread)).count();
        let of_one = states.iter().filter(|thread| tids.get(thread) == Some(&7)).count();
        assert_eq!((states.len(), of_all, of_one), (2_002, 2_002, 1_001));
    }

    #[test]
    fn the_last_facts_alone_are_written_where_no_more_is_asked_for() {
        let (written, summary) = states("all", None);
        assert_eq!((written, summary.kept), (1_000, None));
        let (written, summary) = states("last", Some(Duration::from_millis(5)));
        let (_, gone) = summary.kept.expect("a part");
        assert_eq!((written, gone), (6, Gone { old: 994, crowded: 0 }));
        assert!(summary.text().contains("Kept: those of the last 5"), "{}", summary.text());
    }
}
