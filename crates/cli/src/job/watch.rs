//! What the operating system does to the servers of a run while it is measured.
//!
//! A thread of the generator's process opens the kernel's events during the warm-up and reads them until the window ends.
//! Where the right to do so is lacking, it reads what the kernel tells everybody, and says what is missing.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_kernel::schedule::{Account, Fact, Interruption, Interval, Machine, WaitQuantiles};
use tailwater_kernel::{Missing, Probe, Recorder, Source, Syscalls, System, now_ns, softirq_name};
use tailwater_rt::time::now;
use tailwater_stats::traits::{ALL_CALLS, SoftirqTraits, ThreadTime, TierTraits, Traits};

/// Between two readings of the rings.
const PERIOD: Duration = Duration::from_millis(10);

/// System calls that are told apart: what sockets, locks, polls and sleeps make. Those that a kernel lacks are left out.
const CALLS: [&str; 16] = [
    "clock_nanosleep",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex",
    "ppoll",
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "sendmsg",
    "sendto",
    "write",
    "writev",
];

/// The events that are recorded; page faults and retransmissions are counted elsewhere.
const SOURCES: [Source; 2] = [Source::Scheduling, Source::Softirqs];

/// What may be missing, by name.
const CALLS_OF_TIERS: &str = "system calls";
const WAITS_OF_TIERS: &str = "waits for a core and softirqs of each tier";

/// Where a watch looks, and when.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The processes of the front, and of each tier.
    pub(super) pids: Vec<Vec<u32>>,
    /// The measured window.
    pub(super) from: Instant,
    pub(super) to: Instant,
    /// A core for it, which the servers' own cores are not.
    pub(super) core: Option<usize>,
}

/// A watch under way.
pub(super) struct Watch(JoinHandle<Traits>);

impl Watch {
    pub(super) fn begin(place: Place) -> Self {
        Self(std::thread::spawn(move || watch(&place)))
    }

    /// What was seen, once the window has ended; `None` where the thread failed.
    pub(super) fn finish(self) -> Option<Traits> {
        self.0.join().ok()
    }
}

fn watch(place: &Place) -> Traits {
    if let Some(core) = place.core {
        // Elsewhere it would take time from the servers; what is measured is right all the same.
        let _ = tailwater_rt::cpu::pin(core);
    }
    let mut missing = Vec::new();
    let mut calls =
        Calls::open(&place.pids).map_err(|why| missing.push(sentence(CALLS_OF_TIERS, &why))).ok();
    let mut threads =
        Threads::open(place).map_err(|why| missing.push(sentence(WAITS_OF_TIERS, &why))).ok();
    // What was opened late saw a part of the window, or nothing of it; what was not opened has been named.
    if now() > place.from {
        let late = "the watch was late; end what else runs here";
        missing.extend(calls.take().map(|_| sentence(CALLS_OF_TIERS, &late)));
        missing.extend(threads.take().map(|_| sentence(WAITS_OF_TIERS, &late)));
    }
    read_until(place.from, threads.as_mut());
    let (began, before, calls) = (now(), System::read(), calls.map(Calls::begin));
    read_until(place.to, threads.as_mut());
    let (ended, after) = (now(), System::read());
    let window = Window(ended.since(began));
    let mut tiers = vec![TierTraits::default(); place.pids.len()];
    if let Some(calls) = calls {
        let told = calls.end().into_iter().zip(&mut tiers);
        told.for_each(|(counts, tier)| tier.syscalls_per_s = window.rates(counts));
    }
    let events_lost = threads.map_or(0, |threads| threads.end(place, &mut tiers));
    let System { retransmissions, softirqs } = after.since(&before);
    Traits {
        missing,
        events_lost,
        retransmissions_per_s: retransmissions.map(|count| window.rate(count)),
        softirqs_per_s: window.rates(softirqs),
        tiers,
        ..Traits::default()
    }
}

fn sentence(what: &str, why: &impl std::fmt::Display) -> String {
    format!("No {what}: {why}.")
}

/// Sleeps until then, and reads events meanwhile.
fn read_until(until: Instant, mut threads: Option<&mut Threads>) {
    loop {
        let left = until.since(now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(PERIOD));
        if let Some(threads) = &mut threads {
            threads.read();
        }
    }
}

/// The length of what was counted.
struct Window(Duration);

impl Window {
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.0.as_secs_f64().max(1e-9)
    }

    fn rates(&self, counts: BTreeMap<String, u64>) -> BTreeMap<String, f64> {
        counts.into_iter().map(|(name, count)| (name, self.rate(count))).collect()
    }
}

/// The system calls of each process.
struct Calls {
    tiers: Vec<Syscalls>,
    before: Vec<BTreeMap<String, u64>>,
}

impl Calls {
    fn open(pids: &[Vec<u32>]) -> Result<Self, Missing> {
        let open = |pids: &Vec<u32>| Syscalls::of_threads(&threads_of(pids), &CALLS);
        let tiers = pids.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { tiers, before: Vec::new() })
    }

    fn begin(mut self) -> Self {
        self.before = self.read();
        self
    }

    /// How many each process made since it was begun, by name.
    fn end(mut self) -> Vec<BTreeMap<String, u64>> {
        let mut counts = self.read();
        for (after, before) in counts.iter_mut().zip(&self.before) {
            for (name, count) in after {
                *count = count.saturating_sub(before.get(name).copied().unwrap_or(0));
            }
        }
        counts
    }

    fn read(&mut self) -> Vec<BTreeMap<String, u64>> {
        let read = |syscalls: &mut Syscalls| {
            let Ok((all, named)) = syscalls.read() else { return BTreeMap::new() };
            named.into_iter().chain([(ALL_CALLS.to_owned(), all)]).collect()
        };
        self.tiers.iter_mut().map(read).collect()
    }
}

/// What the threads of each process do.
struct Threads {
    recorder: Recorder,
    machine: Machine,
    books: Books,
}

impl Threads {
    fn open(place: &Place) -> Result<Self, Missing> {
        let recorder = Recorder::start(Probe::look().only(&SOURCES))?;
        let mut machine = Machine::new(recorder.cpus());
        let (at_ns, time) = (now_ns(), now());
        // The events have a clock of their own.
        let of = |at: Instant| at_ns + u64::try_from(at.since(time).as_nanos()).unwrap_or(u64::MAX);
        let account = || Account::new(of(place.from), of(place.to));
        let accounts = place.pids.iter().map(|pids| (pids.clone(), account())).collect();
        let books = Books { accounts, known: HashMap::new() };
        place
            .pids
            .iter()
            .flat_map(|pids| threads_of(pids))
            .for_each(|tid| machine.follow(tid, at_ns));
        Ok(Self { recorder, machine, books })
    }

    fn read(&mut self) {
        let Self { recorder, machine, books } = self;
        recorder.read(|event| machine.apply(event, &mut |fact| books.add(&fact)));
    }

    /// Writes what was seen into the tiers; how many events were lost.
    fn end(self, place: &Place, tiers: &mut [TierTraits]) -> u64 {
        let Self { recorder, mut machine, mut books } = self;
        let losses = recorder.finish(|event| machine.apply(event, &mut |fact| books.add(&fact)));
        machine.finish(now_ns(), &mut |fact| books.add(&fact));
        let length = place.to.since(place.from);
        for ((_, account), tier) in books.accounts.iter().zip(tiers) {
            tell(account, length, tier);
        }
        losses.events + losses.late + losses.unread
    }
}

/// An account for the front, and for each tier.
struct Books {
    accounts: Vec<(Vec<u32>, Account)>,
    /// Which account a thread's facts go to; none for threads of no process here.
    known: HashMap<u32, Option<usize>>,
}

impl Books {
    fn add(&mut self, fact: &Fact) {
        let (Fact::Interval(Interval { tid, .. }) | Fact::Interruption(Interruption { tid, .. })) =
            fact
        else {
            return;
        };
        let accounts = &self.accounts;
        // A process may make threads while it is watched.
        let look = || accounts.iter().position(|(pids, _)| is_thread_of(pids, *tid));
        if let Some(at) = *self.known.entry(*tid).or_insert_with(look) {
            self.accounts[at].1.add(fact);
        }
    }
}

fn tell(account: &Account, length: Duration, tier: &mut TierTraits) {
    let window = Window(length);
    let (times, waits) = (account.times(), account.waits());
    let ratio = |ns: u64| window.rate(ns) / 1e9;
    tier.time = Some(ThreadTime {
        threads: u32::try_from(account.threads()).unwrap_or(u32::MAX),
        running_ratio: ratio(times.running_ns),
        runnable_ratio: ratio(times.runnable_ns),
        asleep_ratio: ratio(times.asleep_ns),
        unknown_ratio: ratio(times.unknown_ns),
        waits_per_s: window.rate(waits.count),
        wait_p50_us: micros(waits.p50_ns),
        wait_p99_us: micros(waits.p99_ns),
        wait_p999_us: micros(waits.p999_ns),
    });
    for one in account.softirqs() {
        let WaitQuantiles { count, p50_ns, p99_ns, .. } = one.spread;
        let told = SoftirqTraits {
            per_s: window.rate(count),
            p50_us: micros(p50_ns),
            p99_us: micros(p99_ns),
        };
        tier.softirqs.insert(softirq_name(one.vector).to_owned(), told);
    }
}

#[expect(clippy::cast_precision_loss, reason = "times of seconds")]
fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn threads_of(pids: &[u32]) -> Vec<u32> {
    let entries = pids.iter().flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")));
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.flatten().flatten().filter_map(number).collect()
}

fn is_thread_of(pids: &[u32], tid: u32) -> bool {
    pids.iter().any(|pid| Path::new(&format!("/proc/{pid}/task/{tid}")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_kernel::schedule::State;

    #[test]
    fn facts_go_to_the_process_of_their_thread_and_to_no_other() {
        let own = std::process::id();
        let account = || Account::new(0, 1_000);
        let accounts = vec![(vec![1], account()), (vec![own], account())];
        let mut books = Books { accounts, known: HashMap::new() };
        let fact = |tid, to_ns| {
            let state = State::Running { cpu: 0 };
            Fact::Interval(Interval { tid, name: Default::default(), from_ns: 0, to_ns, state })
        };
        // The main thread has the number of its process; the last has none.
        [fact(own, 300), fact(1, 200), fact(u32::MAX, 900)].iter().for_each(|fact| books.add(fact));
        let running: Vec<u64> =
            books.accounts.iter().map(|(_, account)| account.times().running_ns).collect();
        assert_eq!(running, [200, 300]);
        let mut tier = TierTraits::default();
        tell(&books.accounts[1].1, Duration::from_nanos(1_000), &mut tier);
        assert_eq!(tier.time.map(|time| (time.threads, time.running_ratio)), Some((1, 0.3)));
        assert!(threads_of(&[own]).contains(&own));
    }

    #[test]
    fn counts_are_those_since_the_window_began() {
        let counts = [("futex".to_owned(), 30_u64), ("read".to_owned(), 0)].into();
        let rates = Window(Duration::from_secs(2)).rates(counts);
        assert_eq!(rates, [("futex".to_owned(), 15.0), ("read".to_owned(), 0.0)].into());
    }

    /// With the right to trace or without it: what everybody may read is told, and what is missing named.
    #[test]
    fn a_watch_tells_what_it_saw_or_what_to_type() {
        let (pids, start) = (vec![vec![std::process::id()]], now());
        let (from, to) = (start, start + Duration::from_millis(30));
        let traits = Watch::begin(Place { pids, from, to, core: None }).finish().expect("it ends");
        assert_eq!(traits.tiers.len(), 1);
        let tier = &traits.tiers[0];
        // On a busy machine the watch may come late to one part, which is named, and tell the other.
        let all_told = tier.time.is_some() && !tier.syscalls_per_s.is_empty();
        assert!(all_told || !traits.missing.is_empty(), "{tier:?}");
        assert!(traits.missing.iter().all(|why| why.starts_with("No ") && why.ends_with('.')));
    }
}
