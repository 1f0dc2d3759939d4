//! What the kernel did, on its way to the file beside a trace.

use super::written::{Kept, Source, Written, gone};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;
use tailwater_kernel::schedule::{self, Fact, Totals, WaitQuantiles, Waits};
use tailwater_kernel::{Losses, Name};
use tailwater_profile::kernel::{
    After, Did, Interrupting, Interruption, OCCUPANTS_MAX, Occupant, ThreadState, WaitedBehind,
    Waker,
};
use tailwater_profile::record::{
    Clock, Figure, Gap, Loss, LossKind, Measured, OUTSIDE, Record, Thread, ThreadId,
};
use tailwater_report::{count, time};

/// Threads told apart, by number and name; of further ones nothing is told but the time. No more than `retention::Last` remembers names of.
const NAMES_MAX: usize = 65_536;
/// Threads that one fact names at most: its own, the one that woke it, and those that had the core.
const NAMED_MAX: usize = 2 + OCCUPANTS_MAX;
// A trace numbers threads outside as the recorder of events does.
const _: () = assert!(OUTSIDE == tailwater_kernel::OUTSIDE);
/// Facts between two times that threads are forgotten, at least: all that is held is looked through.
const FORGETS_EVERY: usize = 4_096;

/// Facts on their way to the file.
pub(super) struct Facts {
    file: Written,
    pub(super) began_ns: u64,
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

impl Facts {
    pub(super) fn create(path: &Path, source: Source, last: Option<Duration>) -> io::Result<Self> {
        let began_ns = source.began.raw_ns;
        Ok(Self {
            file: Written::create(path, source, last)?,
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

    pub(super) fn add(&mut self, fact: Fact) {
        self.waits.add(&fact);
        // Between facts: what is numbered for this one is not held yet.
        if self.threads.len() + NAMED_MAX > NAMES_MAX
            && self.facts + self.left_out >= self.forgets_at
        {
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
        let Some(needed) = self.file.forget_threads() else { return };
        self.threads.retain(|_, id| needed.contains(id));
        // A fact takes the room of so many threads at most.
        let room = ((NAMES_MAX - self.threads.len()) / NAMED_MAX).max(FORGETS_EVERY);
        self.forgets_at = self.facts + self.left_out + room as u64;
        self.own.retain(|_, id| needed.contains(id));
    }

    pub(super) fn write(&mut self, record: Record) {
        self.file.add(record);
    }

    pub(super) fn flush(&mut self) {
        self.file.flush();
    }

    pub(super) fn finish(
        mut self,
        end: Clock,
        losses: Losses,
        totals: Totals,
        throttled: Option<u64>,
    ) -> io::Result<Summary> {
        let lost = [losses.events, losses.late, losses.unread, totals.all_untold()];
        let lost = lost.into_iter().fold(0, u64::saturating_add);
        if lost > 0 {
            self.write(Record::Loss(Loss { thread: None, kind: LossKind::Events, count: lost }));
        }
        if let Some(value) = throttled {
            self.write(Record::Figure(Figure { what: Measured::Throttlings, value }));
        }
        let (bytes, kept) = self.file.finish(end)?;
        Ok(Summary {
            facts: self.facts,
            threads: self.followed,
            losses,
            totals: Totals { beyond: totals.beyond + self.left_out, ..totals },
            bytes,
            kept,
            waits: self.waits.spread(),
            throttled,
        })
    }
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

/// What was recorded.
#[derive(Default)]
pub(super) struct Summary {
    facts: u64,
    threads: usize,
    losses: Losses,
    /// Of what is beyond, facts that were left out are a part.
    totals: Totals,
    waits: WaitQuantiles,
    /// How often a CPU quota stopped the program's control groups, where that can be read.
    throttled: Option<u64>,
    bytes: u64,
    kept: Kept,
}

impl Summary {
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} facts of the kernel about {} threads; {} bytes. Lost: {} of its events.",
            count(self.facts),
            count(self.threads as u64),
            count(self.bytes),
            count(self.losses.events.saturating_add(self.totals.all_untold())),
        );
        text.push_str(&gone(self.kept));
        let rest = [
            (self.losses.late, "events came too late"),
            (self.losses.unread, "records could not be read"),
            (
                self.losses.unwatched,
                "processors came online and could not be watched: from then on most is unknown",
            ),
            (self.totals.beyond, "threads or facts were left out for want of room"),
            (self.totals.retransmissions, "segments were sent again by TCP, by all programs here"),
        ];
        for (number, what) in rest.iter().filter(|(number, _)| *number > 0) {
            text.push_str(&format!(" {} {what}.", count(*number)));
        }
        for (cpu, times) in &self.totals.untold {
            text.push_str(&format!(
                "\nProcessor {cpu} became idle or busy at least {} times without an event of it: this kernel does not tell all that \
                 happens there. Times there are unknown, and sleeps and waits for a core may be told too long. `perf record` \
                 may have the same gap. Another processor may tell all: try taskset -c.",
                count(*times)
            ));
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

#[cfg(test)]
mod tests {
    use super::super::written::reading;
    use super::*;
    use std::collections::BTreeMap;
    use std::fs::File;
    use tailwater_kernel::now_ns;
    use tailwater_profile::retention::Gone;
    use tailwater_profile::trace::Reader;

    fn source(began_ns: u64) -> Source {
        Source { teller: "kernel", root: 7, began: reading(began_ns) }
    }

    #[test]
    fn events_that_the_kernel_left_out_count_as_lost_and_its_processor_is_named() {
        let name = format!("tailwater-facts-untold-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let began_ns = now_ns();
        let facts = Facts::create(&path, source(began_ns), None).expect("a file");
        let losses = Losses { events: 2, ..Losses::default() };
        let totals = Totals { untold: BTreeMap::from([(3, 40)]), ..Totals::default() };
        let summary =
            facts.finish(reading(began_ns + 1), losses, totals, None).expect("it is written");
        let records: Vec<Record> = Reader::new(File::open(&path).expect("it is there"))
            .expect("a header")
            .filter_map(Result::ok)
            .collect();
        std::fs::remove_file(&path).expect("it was made");
        let lost = Loss { thread: None, kind: LossKind::Events, count: 42 };
        assert!(records.contains(&Record::Loss(lost)), "{records:?}");
        let text = summary.text();
        assert!(text.contains("Lost: 42 of its events."), "{text}");
        assert!(text.contains("Processor 3 became idle or busy at least 40 times"), "{text}");
    }

    /// States in a file of one thousand, a millisecond each, and what came of it.
    fn states(name: &str, last: Option<Duration>) -> (usize, Summary) {
        let name = format!("tailwater-facts-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let began_ns = now_ns() - 1_000_000_000;
        let mut facts = Facts::create(&path, source(began_ns), last).expect("a file");
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
        let summary = facts
            .finish(reading(end_ns), Losses::default(), Totals::default(), None)
            .expect("it is written");
        let reader = Reader::new(File::open(&path).expect("it is there")).expect("a header");
        let states = reader.filter(|item| matches!(item, Ok(Record::State(_)))).count();
        std::fs::remove_file(&path).expect("it was made");
        (states, summary)
    }

    /// One that lives throughout, and three times as many that live for a microsecond as are told apart. What came of it. How many
    /// states were written, how many of these are of threads with a name, and how many of the first one.
    fn crowd(name: &str, last: Duration) -> (Summary, [usize; 3]) {
        let path =
            std::env::temp_dir().join(format!("tailwater-facts-{name}-{}", std::process::id()));
        let began_ns = now_ns() - 1_000_000_000;
        let last = Some(last);
        let mut facts = Facts::create(&path, source(began_ns), last).expect("a file");
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
        let summary = facts
            .finish(reading(to_ns), Losses::default(), Totals::default(), None)
            .expect("it is written");
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
        (summary, [states.len(), of_all, of_one])
    }

    #[test]
    fn threads_of_which_nothing_is_held_make_room_where_the_last_alone_are_kept() {
        let (summary, states) = crowd("names", Duration::from_millis(1));
        assert_eq!((summary.totals.beyond, states), (0, [2_002, 2_002, 1_001]));
        // All that are told apart are within it at first. As they become old they make room, though nothing else is held.
        let (summary, _) = crowd("longer", Duration::from_millis(70));
        assert!(summary.totals.beyond < NAMES_MAX as u64 / 2, "{:?}", summary.totals);
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
