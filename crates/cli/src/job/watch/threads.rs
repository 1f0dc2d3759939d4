//! What the threads of each process do, and which softirqs run on their time: from the kernel's events.

use super::processes::Processes;
use super::turns::{Part, Turn};
use super::{Place, Window, follows};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_kernel::schedule::{Account, Fact, Interruption, Interval, Machine, WaitQuantiles};
use tailwater_kernel::{Missing, Probe, Recorder, Source, now_ns, softirq_name};
use tailwater_rt::time::now;
use tailwater_stats::traits::{SoftirqTraits, ThreadTime, Traits};

/// Between two readings of the rings.
const PERIOD: Duration = Duration::from_millis(10);

/// A recording under way.
pub(super) struct Threads<'a> {
    recorder: Recorder,
    machine: Machine,
    books: Books<'a>,
}

impl<'a> Threads<'a> {
    /// Of what the turn is for, and from its beginning on.
    pub(super) fn open(place: &'a Place, turn: Turn) -> Result<Self, Missing> {
        let source = match turn.part {
            Part::Softirqs => Source::Softirqs,
            Part::Waits | Part::Calls => Source::Scheduling,
        };
        let recorder = Recorder::start(Probe::look().only(&[source]))?;
        let mut machine = Machine::new(recorder.cpus());
        let (at_ns, time) = (now_ns(), now());
        // The events have a clock of their own.
        let of = |at: Instant| at_ns + u64::try_from(at.since(time).as_nanos()).unwrap_or(u64::MAX);
        let account = || Account::new(of(turn.from), of(turn.to));
        let accounts = place.processes.iter().map(|of| (of, account())).collect();
        let books = Books { accounts, known: HashMap::new() };
        let threads = place.processes.iter().flat_map(Processes::threads);
        threads.for_each(|tid| machine.follow(tid, at_ns));
        Ok(Self { recorder, machine, books })
    }

    /// Until its turn ends; writes what was seen of each tier, and what is missing of those that are gone by then.
    pub(super) fn watch_until(mut self, turn: Turn, window: &Window, seen: &mut Traits) {
        self.read_until(turn.to);
        let Self { recorder, mut machine, mut books } = self;
        let losses = recorder.finish(|event| machine.apply(event, &mut |fact| books.add(&fact)));
        machine.finish(now_ns(), &mut |fact| books.add(&fact));
        for ((processes, account), tier) in books.accounts.iter().zip(&mut seen.tiers) {
            if let Some(why) = processes.absence() {
                seen.missing.push(processes.without(turn.part.what(), why));
                continue;
            }
            match turn.part {
                Part::Softirqs => tier.softirqs = Some(softirqs(account, window)),
                Part::Waits | Part::Calls => {
                    tier.time = Some(time(account, processes.spins, window));
                }
            }
        }
        seen.events_lost += losses.events + losses.late + losses.unread;
    }

    /// Sleeps until then, and reads events meanwhile.
    pub(super) fn read_until(&mut self, until: Instant) {
        let Self { recorder, machine, books } = self;
        loop {
            let left = until.since(now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(PERIOD));
            recorder.read(|event| machine.apply(event, &mut |fact| books.add(&fact)));
        }
    }
}

/// An account for the front, and for each tier.
struct Books<'a> {
    accounts: Vec<(&'a Processes, Account)>,
    /// Which account a thread's facts go to; none for threads of no process here.
    known: HashMap<u32, Option<usize>>,
}

impl Books<'_> {
    fn add(&mut self, fact: &Fact) {
        let (Fact::Interval(Interval { tid, .. }) | Fact::Interruption(Interruption { tid, .. })) =
            fact
        else {
            return;
        };
        let accounts = &self.accounts;
        // A process may make threads while it is watched.
        let look = || accounts.iter().position(|(of, _)| is_thread_of(&of.pids, *tid));
        if let Some(at) = *self.known.entry(*tid).or_insert_with(look) {
            self.accounts[at].1.add(fact);
        }
    }
}

fn time(account: &Account, spins: bool, window: &Window) -> ThreadTime {
    let (times, waits) = (account.times(), account.waits());
    // Shares of time are no counts per request.
    let ratio = |ns: u64| window.by_time(ns) / 1e9;
    ThreadTime {
        threads: u32::try_from(account.threads()).unwrap_or(u32::MAX),
        running_ratio: ratio(times.running_ns),
        runnable_ratio: ratio(times.runnable_ns),
        asleep_ratio: ratio(times.asleep_ns),
        unknown_ratio: ratio(times.unknown_ns),
        waits_per_s: follows::waits(waits.count, spins, window),
        wait_p50_us: micros(waits.p50_ns),
        wait_p99_us: micros(waits.p99_ns),
        wait_p999_us: micros(waits.p999_ns),
    }
}

fn softirqs(account: &Account, window: &Window) -> BTreeMap<String, SoftirqTraits> {
    let told = account.softirqs().map(|one| {
        let WaitQuantiles { count, p50_ns, p99_ns, .. } = one.spread;
        let (p50_us, p99_us) = (micros(p50_ns), micros(p99_ns));
        let name = softirq_name(one.vector);
        let per_s = follows::softirqs(name, count, window);
        (name.to_owned(), SoftirqTraits { per_s, p50_us, p99_us })
    });
    told.collect()
}

#[expect(clippy::cast_precision_loss, reason = "times of seconds")]
fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn is_thread_of(pids: &[u32], tid: u32) -> bool {
    pids.iter().any(|pid| Path::new(&format!("/proc/{pid}/task/{tid}")).exists())
}

#[cfg(test)]
mod tests {
    use super::super::processes::tests::of;
    use super::*;
    use tailwater_kernel::schedule::{Interrupting, State};

    #[test]
    fn facts_go_to_the_process_of_their_thread_and_to_no_other() {
        let own = std::process::id();
        let account = || Account::new(0, 1_000);
        let (other, ours) = (of("", &[1]), of("leaf", &[own]));
        let accounts = vec![(&other, account()), (&ours, account())];
        let mut books = Books { accounts, known: HashMap::new() };
        let fact = |tid, to_ns| {
            let state = State::Running { cpu: 0 };
            Fact::Interval(Interval { tid, name: Default::default(), from_ns: 0, to_ns, state })
        };
        let by = Interrupting::Softirq(3);
        let softirq = Interruption { tid: own, from_ns: 10, to_ns: 60, by };
        // The main thread has the number of its process; the last has none.
        [fact(own, 300), fact(1, 200), fact(u32::MAX, 900), Fact::Interruption(softirq)]
            .iter()
            .for_each(|fact| books.add(fact));
        let running: Vec<u64> =
            books.accounts.iter().map(|(_, account)| account.times().running_ns).collect();
        assert_eq!(running, [200, 300]);
        // Twice as many requests were due in the window's mean: counts double, shares of time do not.
        let window = Window { length: Duration::from_nanos(1_000), scale: 2.0 };
        let time = time(&books.accounts[1].1, false, &window);
        assert_eq!((time.threads, time.running_ratio), (1, 0.3));
        let softirqs = softirqs(&books.accounts[1].1, &window);
        assert_eq!(softirqs["net_rx"].per_s, 2e6);
        assert!(self::softirqs(&books.accounts[0].1, &window).is_empty());
    }
}
