//! Traces of several processes whose truth is known.

mod sample;

use tailwater_profile::record::{Clock, Hop, HopKind, Mark, MarkKind, Record, ThreadId};
use tailwater_profile::tiers::{Basis, Doing, Joined, Part, Report, Survey};
use tailwater_profile::trace::{Ending, Header};

const MS: u64 = 1_000_000;

/// A machine whose clock is ahead of the true time and runs fast; a tick is a nanosecond of it, and its counter began earlier.
#[derive(Clone, Copy)]
struct Machine {
    ahead_ns: i64,
    ppm: i64,
    counter: u64,
}

const TRUE: Machine = Machine { ahead_ns: 0, ppm: 0, counter: 0 };

impl Machine {
    /// What its clock shows at a true time.
    fn at(self, true_ns: u64) -> u64 {
        let own = true_ns as i64 * (1_000_000 + self.ppm) / 1_000_000;
        (own + self.ahead_ns) as u64
    }
}

/// A trace in the making; times are true ones.
struct Process {
    machine: Machine,
    records: Vec<Record>,
}

impl Process {
    /// Recorded from the fifth second of the true time to the twentieth.
    fn new(machine: Machine) -> Self {
        let mut process = Self { machine, records: Vec::new() };
        let last = process.clock(20_000 * MS);
        process.records.push(Record::Clock(last));
        process
    }

    fn clock(&self, true_ns: u64) -> Clock {
        let own = self.machine.at(true_ns);
        Clock { ticks: own + self.machine.counter, raw_ns: own, real_ns: own }
    }

    fn mark(&mut self, kind: MarkKind, request: u64, at: u64) {
        let at = self.machine.at(at) + self.machine.counter;
        self.records.push(Record::Mark(Mark { thread: ThreadId(0), request, kind, at }));
    }

    fn hop(&mut self, kind: HopKind, (request, call): (u64, u64), at: u64) {
        let at = self.machine.at(at) + self.machine.counter;
        self.records.push(Record::Hop(Hop { thread: ThreadId(0), request, kind, call, at }));
    }

    /// A request that works in this time, as the call of this name.
    fn serves(&mut self, request: u64, call: u64, (from, to): (u64, u64)) {
        self.mark(MarkKind::Start, request, from);
        self.hop(HopKind::Called, (request, call), from);
        self.mark(MarkKind::EndAll, request, to);
    }

    /// A request in this time that waits for its calls, each with when it was sent and answered, from the first to the last.
    fn calls(&mut self, request: u64, (from, to): (u64, u64), calls: &[(u64, u64, u64)]) {
        self.mark(MarkKind::Start, request, from);
        for &(call, sent, _) in calls {
            self.hop(HopKind::Sent, (request, call), sent);
        }
        self.mark(MarkKind::Block, request, calls.iter().map(|one| one.1).max().expect("calls"));
        for &(call, _, answered) in calls {
            self.hop(HopKind::Answered, (request, call), answered);
        }
        self.mark(MarkKind::Start, request, calls.iter().map(|one| one.2).max().expect("calls"));
        self.mark(MarkKind::EndAll, request, to);
    }
}

fn report(processes: &[(&str, Process)]) -> Report {
    let tiers = processes.iter().map(|(name, process)| {
        let header = Header { clock: process.clock(5_000 * MS), ..sample::header() };
        let mut survey = Survey::new(name, &header);
        process.records.iter().for_each(|record| survey.add(record));
        survey.finish(&Ending::Unfinished)
    });
    let joined = Joined::new(tiers.collect(), 3);
    let reviews = processes.iter().enumerate().map(|(place, (_, process))| {
        let mut review = joined.review(place);
        process.records.iter().for_each(|record| review.add(record));
        review
    });
    let reviews = reviews.collect();
    joined.finish(reviews)
}

/// A front that asks a middle, which asks a leaf: 1,400 requests, one each ten milliseconds. Networks take from 30 to 300 µs,
/// and the leaf 1 ms; every hundredth request finds it slow, with 50 ms.
fn three_tiers(mid: Machine, leaf: Machine) -> Report {
    let mut tiers = [TRUE, mid, leaf].map(Process::new);
    for n in 1..1_400u64 {
        // Never the same delay twice in a row, and in each direction another.
        let delay = |salt: u64| 30_000 + (n * 7_919 + salt * 104_729) % 270_000;
        let work = if n % 100 == 50 { 50 * MS } else { MS };
        let begun = 5_500 * MS + n * 10 * MS;
        let sent = begun + 20_000;
        let at_mid = sent + delay(1);
        let mid_sent = at_mid + 40_000;
        let at_leaf = mid_sent + delay(2);
        let leaf_done = at_leaf + work;
        let mid_answered = leaf_done + delay(3);
        let mid_done = mid_answered + 30_000;
        let answered = mid_done + delay(4);
        tiers[0].calls(n, (begun, answered + 10_000), &[(n, sent, answered)]);
        let call = 1_000_000 + n;
        tiers[1].calls(n + 7, (at_mid, mid_done), &[(call, mid_sent, mid_answered)]);
        tiers[1].hop(HopKind::Called, (n + 7, n), at_mid);
        tiers[2].serves(n + 9, call, (at_leaf, leaf_done));
    }
    let [front, mid, leaf] = tiers;
    report(&[("front", front), ("mid", mid), ("leaf", leaf)])
}

#[test]
fn skewed_clocks_are_brought_together_within_the_bound_that_is_told() {
    let hour = 3_600_000 * MS as i64;
    let mid = Machine { ahead_ns: 2 * hour, ppm: 60, counter: 77_000 * MS };
    let leaf = Machine { ahead_ns: -3 * MS as i64, ppm: -80, counter: 5_000_000 * MS };
    let report = three_tiers(mid, leaf);
    assert_eq!((report.calls, report.calls_found), (1_399, 1_399));
    // In the middle of all requests, some 12.5 s of the true time.
    let truth = |machine: Machine| machine.ahead_ns + 12_500 * MS as i64 / 1_000_000 * machine.ppm;
    for (row, machine) in report.clocks[1..].iter().zip([mid, leaf]) {
        assert_eq!((row.basis, row.contradiction_ns), (Basis::Calls, 0), "{row:?}");
        let off = row.ahead_ns.abs_diff(truth(machine));
        // The middle of the requests is a few milliseconds beside that: some hundred nanoseconds.
        assert!(off <= row.error_ns + 1_000, "{row:?}: {off} off");
        // The quickest of the ways there and back take 30 µs each; the leaf is two hops away.
        assert!((20_000..200_000).contains(&row.error_ns), "{row:?}");
    }
    assert_eq!(report.clocks[0].basis, Basis::First);
    for root in &report.slowest {
        assert_eq!(root.request % 100, 50, "the slow ones were planted");
        let [front, mid, leaf] = root.parts[..] else { panic!("three traces") };
        let off = leaf.own_ns().abs_diff(50 * MS);
        // A clock that runs fast measures more of it: 80 in a million.
        assert!(off <= 10_000, "the leaf had {} of it", leaf.own_ns());
        assert!(front.own_ns() < 100_000 && mid.own_ns() < 200_000, "{front:?} {mid:?}");
        let between: u64 = root.parts.iter().map(|part| part.between_ns).sum();
        let own: u64 = root.parts.iter().map(Part::own_ns).sum();
        assert_eq!((own + between, root.unrecorded_ns), (root.total_ns, 0));
        let nodes: Vec<_> = root.requests.iter().map(|one| one.trace).collect();
        assert_eq!(nodes, [0, 1, 2]);
        assert!(root.requests[2].held_ns > 49 * MS && root.requests[0].held_ns < MS);
    }
}

#[test]
fn one_machine_has_one_counter_and_calls_check_it() {
    let report = three_tiers(TRUE, TRUE);
    for row in &report.clocks[1..] {
        let found = (row.basis, row.ahead_ns, row.error_ns, row.contradiction_ns);
        assert_eq!(found, (Basis::SameCounter, 0, 0, 0));
        assert!(row.calls >= 1_399);
    }
    let root = &report.slowest[0];
    assert_eq!(root.parts[2].running_ns, 50 * MS, "to the nanosecond");
    let doing: Vec<_> = root.steps.iter().map(|step| (step.doing, step.request)).collect();
    use Doing::{Between, Running};
    let there = [(Running, 0), (Between, 1), (Running, 1), (Between, 2), (Running, 2)];
    let back = [(Between, 2), (Running, 1), (Between, 1), (Running, 0)];
    assert_eq!(doing, [&there[..], &back[..]].concat());
}

/// The counters of both go together, and yet each answer was there before it was sent: one of the two is not what it seems.
#[test]
fn calls_that_contradict_the_counter_are_told() {
    let (mut front, mut leaf) = (Process::new(TRUE), Process::new(TRUE));
    for n in 1..50 {
        let begun = 6_000 * MS + n * MS;
        front.calls(n, (begun, begun + 500_000), &[(n, begun + 10_000, begun + 400_000)]);
        // Seven seconds later, by the same clock.
        leaf.serves(n, n, (begun + 7_000 * MS, begun + 7_000 * MS + 200_000));
    }
    let report = report(&[("front", front), ("leaf", leaf)]);
    let row = &report.clocks[1];
    assert_eq!(row.basis, Basis::SameCounter);
    assert!(row.contradiction_ns.abs_diff(7_000 * MS) < MS, "{row:?}");
}

#[test]
fn of_two_leaves_the_slow_one_has_the_time_and_an_unrecorded_one_is_told_as_such() {
    let (mut front, mut leaf) = (Process::new(TRUE), Process::new(TRUE));
    let begun = 6_000 * MS;
    // The first leaf is recorded and quick; of the second no trace tells.
    let calls = [(1, begun + 10_000, begun + 300_000), (2, begun + 10_000, begun + 9 * MS)];
    front.calls(1, (begun, begun + 9 * MS + 50_000), &calls);
    leaf.serves(1, 1, (begun + 100_000, begun + 200_000));
    let stranger =
        Process::new(Machine { ahead_ns: 5_000 * MS as i64, ppm: 0, counter: 9_000 * MS });
    let report = report(&[("front", front), ("leaf", leaf), ("stranger", stranger)]);
    assert_eq!((report.calls, report.calls_found), (2, 1));
    let root = &report.slowest[0];
    assert_eq!(root.unrecorded_ns, 9 * MS - 10_000);
    assert_eq!(root.parts[1].own_ns(), 0, "nobody waited for it");
    assert_eq!(report.clocks[2].basis, Basis::Unknown);
    assert_eq!(root.requests.len(), 2);
    assert_eq!(root.requests[1].row.as_ref().expect("it is there").total_ns, 100_000);
}
