//! Traces of several processes whose truth is known.

use crate::sample;
use tailwater_profile::record::{
    Clock, Figure, Hop, HopKind, Mark, MarkKind, Measured, Record, ThreadId,
};
use tailwater_profile::requests::Incomplete;
use tailwater_profile::tiers::{
    Basis, ClockRow, Doing, Joined, Part, Report, Survey, Tier, Unmeasured,
};
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

fn surveyed(name: &str, process: &Process) -> Result<Tier, Unmeasured> {
    let header = Header { clock: process.clock(5_000 * MS), ..sample::header() };
    let mut survey = Survey::new(name, &header);
    process.records.iter().for_each(|record| survey.add(record));
    survey.finish(&Ending::Unfinished)
}

fn report(processes: &[(&str, Process)]) -> Report {
    let tiers = processes
        .iter()
        .map(|(name, process)| surveyed(name, process).expect("two clock readings"));
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
    assert_eq!(report.clocks.len(), 3);
    for (row, machine) in report.clocks[1..].iter().zip([mid, leaf]) {
        assert_eq!((row.basis, row.contradiction_ns), (Basis::Calls, 0), "{row:?}");
        let off = row.ahead_ns.abs_diff(truth(machine));
        // The middle of the requests is a few milliseconds beside that: some hundred nanoseconds.
        assert!(off <= row.error_ns + 1_000, "{row:?}: {off} off");
        // The quickest of the ways there and back take 30 µs each; the leaf is two hops away.
        assert!((20_000..200_000).contains(&row.error_ns), "{row:?}");
    }
    assert_eq!(report.clocks[0].basis, Basis::First);
    assert!(!report.slowest.is_empty());
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
    assert_eq!(report.clocks.len(), 3);
    for row in &report.clocks[1..] {
        let found = (row.basis, row.ahead_ns, row.error_ns, row.contradiction_ns);
        assert_eq!(found, (Basis::SameCounter, 0, 0, 0));
        assert_eq!(row.counter_excluded_ns, 0);
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

/// Calls of a front that each take 0.2 ms of a leaf, whose clock counts as that much later than the front's.
fn two_tiers(calls: impl Iterator<Item = (u64, i64)>) -> Report {
    let (mut front, mut leaf) = (Process::new(TRUE), Process::new(TRUE));
    for (n, later) in calls {
        let begun = 6_000 * MS + n * MS;
        front.calls(n, (begun, begun + 500_000), &[(n, begun + 100_000, begun + 400_000)]);
        let read = (begun + 150_000).wrapping_add_signed(later);
        leaf.serves(n, n, (read, read + 200_000));
    }
    report(&[("front", front), ("leaf", leaf)])
}

/// The counters of both go together, and yet each answer was read before it was sent, by one and the same time: the two
/// machines' counters agree by chance.
#[test]
fn calls_that_disprove_one_counter_win() {
    let later = 7_000 * MS as i64;
    let report = two_tiers((1..50).map(|n| (n, later)));
    let row = &report.clocks[1];
    assert_eq!((row.basis, row.contradiction_ns), (Basis::Calls, 0), "{row:?}");
    assert!(row.counter_excluded_ns.abs_diff(7_000 * MS) < MS, "{row:?}");
    assert!(row.ahead_ns.abs_diff(later) <= row.error_ns && row.error_ns < 51_000, "{row:?}");
    assert!(!report.slowest.is_empty());
    for root in &report.slowest {
        assert_eq!(root.parts[1].running_ns, 200_000, "the leaf worked within the call");
    }
}

/// Each answer was sent 5 µs after it was read, as it seems: the server's mark of its end came late.
#[test]
fn a_counter_stands_where_calls_exclude_it_by_less_than_clocks_are_compared_to() {
    let report = two_tiers((1..50).map(|n| (n, 55_000)));
    let row = &report.clocks[1];
    assert_eq!((row.basis, row.counter_excluded_ns), (Basis::SameCounter, 0), "{row:?}");
    assert!(row.contradiction_ns.abs_diff(5_000) < 100, "it is told: {row:?}");
    let row = &two_tiers((1..50).map(|n| (n, 155_000))).clocks[1];
    assert_eq!((row.basis, row.contradiction_ns), (Basis::Calls, 0), "{row:?}");
    assert!(row.counter_excluded_ns.abs_diff(105_000) < 100, "{row:?}");
}

/// No lead explains that one call was read seven seconds late and the others at once: it is the calls that are wrong.
#[test]
fn calls_that_contradict_each_other_disprove_no_counter_and_are_told() {
    let report = two_tiers((1..50).map(|n| (n, if n == 20 { 7_000 * MS as i64 } else { 0 })));
    let row = &report.clocks[1];
    assert_eq!((row.basis, row.counter_excluded_ns), (Basis::SameCounter, 0));
    assert!(row.contradiction_ns.abs_diff(7_000 * MS) < MS, "{row:?}");
}

/// The front never calls the leaf, whose counter its own calls disprove.
#[test]
fn a_counter_is_disproved_by_calls_of_any_tier_on_it() {
    let later = |at: u64| at + 4_000 * MS;
    let mut tiers = [TRUE; 3].map(Process::new);
    for n in 1..50 {
        let begun = 6_000 * MS + n * MS;
        tiers[0].calls(n, (begun, begun + 900_000), &[(n, begun + 10_000, begun + 800_000)]);
        let call = 1_000 + n;
        let (sent, answered) = (begun + 100_000, begun + 700_000);
        tiers[1].calls(n, (begun + 60_000, begun + 750_000), &[(call, sent, answered)]);
        tiers[1].hop(HopKind::Called, (n, n), begun + 60_000);
        tiers[2].serves(n, call, (later(begun + 140_000), later(begun + 640_000)));
    }
    let [front, mid, leaf] = tiers;
    // Before the tier that its calls are of, so that the order in which they are given decides nothing.
    let report = report(&[("front", front), ("leaf", leaf), ("mid", mid)]);
    let bases: Vec<_> = report.clocks.iter().map(|row| row.basis).collect();
    assert_eq!(bases, [Basis::First, Basis::Calls, Basis::SameCounter]);
    let (leaf, mid) = (&report.clocks[1], &report.clocks[2]);
    assert_eq!((mid.counter_excluded_ns, mid.contradiction_ns, leaf.contradiction_ns), (0, 0, 0));
    assert!(leaf.counter_excluded_ns.abs_diff(4_000 * MS) < MS, "{leaf:?}");
    assert!(leaf.ahead_ns.abs_diff(4_000 * MS as i64) <= leaf.error_ns, "{leaf:?}");
    assert_eq!(report.slowest[0].parts[1].running_ns, 500_000);
}

/// What is told of a mid-tier and a leaf, when the mid's clock is set by so much while it is recorded. Calls to the leaf take
/// 2 ms each way.
fn hops(set_ns: i64) -> [ClockRow; 2] {
    const FAR: [Machine; 2] = [
        Machine { ahead_ns: 900 * MS as i64, ppm: 0, counter: 77_000 * MS },
        Machine { ahead_ns: -40 * MS as i64, ppm: 0, counter: 5_000_000 * MS },
    ];
    let mut tiers = [TRUE, FAR[0], FAR[1]].map(Process::new);
    for n in 1..100 {
        let begun = 12_000 * MS + n * 10 * MS;
        let set = |at: u64| if n < 50 { at } else { at.wrapping_add_signed(set_ns) };
        tiers[0].calls(n, (begun, begun + 8 * MS), &[(n, begun + 10_000, begun + 7 * MS)]);
        let call = 1_000 + n;
        let mid = (set(begun + 40_000), set(begun + 7 * MS - 30_000));
        let sent = begun + 100_000;
        tiers[1].calls(n, mid, &[(call, set(sent), set(sent + 5 * MS))]);
        tiers[1].hop(HopKind::Called, (n, n), mid.0);
        tiers[2].serves(n, call, (set(sent + 2 * MS), set(sent + 3 * MS)));
    }
    let [front, mid, leaf] = tiers;
    let report = report(&[("front", front), ("mid", mid), ("leaf", leaf)]);
    let [_, mid, leaf] = <[ClockRow; 3]>::try_from(report.clocks).expect("three traces");
    [mid, leaf]
}

#[test]
fn errors_add_up_over_hops_and_a_contradiction_on_the_way_is_told() {
    let [mid, leaf] = hops(0);
    assert_eq!((mid.contradiction_ns, leaf.contradiction_ns), (0, 0));
    assert!((30_000..31_000).contains(&mid.error_ns), "{mid:?}");
    assert!((2_030_000..2_032_000).contains(&leaf.error_ns), "{leaf:?}");
    // What the front's calls exclude of each other by 3 ms, the leaf's wide bounds must not fill up.
    let [mid, leaf] = hops(3 * MS as i64);
    for row in [&mid, &leaf] {
        assert_eq!(row.basis, Basis::Calls);
        assert!((2_700_000..3_000_000).contains(&row.contradiction_ns), "{row:?}");
    }
    assert!(leaf.error_ns >= mid.error_ns + 2 * MS, "{mid:?} {leaf:?}");
}

/// The mid-tier's clock is known by the front's calls to 30 µs; its own calls to the leaf take 2 ms each way.
#[test]
fn traces_with_one_counter_that_the_first_has_not_have_one_place() {
    let machine = Machine { ahead_ns: 900 * MS as i64, ppm: 0, counter: 77_000 * MS };
    let mut tiers = [TRUE, machine, machine].map(Process::new);
    for n in 1..100 {
        let begun = 12_000 * MS + n * 10 * MS;
        tiers[0].calls(n, (begun, begun + 8 * MS), &[(n, begun + 10_000, begun + 7 * MS)]);
        let (call, sent) = (1_000 + n, begun + 100_000);
        let mid = (begun + 40_000, begun + 7 * MS - 30_000);
        tiers[1].calls(n, mid, &[(call, sent, sent + 5 * MS)]);
        tiers[1].hop(HopKind::Called, (n, n), mid.0);
        tiers[2].serves(n, call, (sent + 2 * MS, sent + 3 * MS));
    }
    let [front, mid, leaf] = tiers;
    // The leaf first, so that the order in which they are given decides nothing.
    let report = report(&[("front", front), ("leaf", leaf), ("mid", mid)]);
    let found: Vec<_> =
        report.clocks.iter().map(|row| (row.basis, row.counter_of.as_deref())).collect();
    let by_mid = (Basis::SameCounter, Some("mid"));
    assert_eq!(found, [(Basis::First, None), by_mid, (Basis::Calls, None)]);
    let (leaf, mid) = (&report.clocks[1], &report.clocks[2]);
    assert!((30_000..31_000).contains(&mid.error_ns), "{mid:?}");
    assert_eq!((leaf.contradiction_ns, mid.contradiction_ns), (0, 0));
    assert!(leaf.error_ns.abs_diff(mid.error_ns) < 1_000, "{leaf:?} {mid:?}");
    assert!(!report.slowest.is_empty());
    for root in &report.slowest {
        let [_, leaf, mid] = root.parts[..] else { panic!("three traces") };
        assert_eq!((leaf.running_ns, leaf.between_ns), (MS, 4 * MS), "{mid:?}");
    }
}

/// By the counter of the mid-tier and the leaf, the leaf reads each call before it was sent.
#[test]
fn calls_against_a_counter_that_the_first_trace_has_not_are_told_too() {
    let machine = Machine { ahead_ns: 900 * MS as i64, ppm: 0, counter: 77_000 * MS };
    let early = |ns: u64| {
        let mut tiers = [TRUE, machine, machine].map(Process::new);
        for n in 1..50 {
            let begun = 6_000 * MS + n * 10 * MS;
            tiers[0].calls(n, (begun, begun + 8 * MS), &[(n, begun + 10_000, begun + 7 * MS)]);
            let (call, sent) = (1_000 + n, begun + 2 * MS);
            tiers[1].calls(n, (begun + 40_000, begun + 6 * MS), &[(call, sent, sent + MS)]);
            tiers[1].hop(HopKind::Called, (n, n), begun + 40_000);
            tiers[2].serves(n, call, (sent + 50_000 - ns, sent + 200_000 - ns));
        }
        let [front, mid, leaf] = tiers;
        report(&[("front", front), ("mid", mid), ("leaf", leaf)]).clocks[2].clone()
    };
    // What is told is not covered by what is not known of the mid-tier's place.
    let row = early(100_000);
    assert_eq!((row.basis, row.counter_excluded_ns), (Basis::SameCounter, 0), "{row:?}");
    assert!(row.contradiction_ns.abs_diff(50_000) < 100, "{row:?}");
    let row = early(1_050_000);
    assert_eq!((row.basis, row.contradiction_ns), (Basis::Calls, 0), "{row:?}");
    assert!(row.counter_excluded_ns.abs_diff(MS) < 100, "{row:?}");
}

/// The leaf has its place by the front's calls, and the mid-tier's calls say that it is 5 ms elsewhere.
#[test]
fn calls_that_contradict_those_of_another_tier_are_told() {
    let machine = |counter| Machine { ahead_ns: 0, ppm: 0, counter };
    let mut tiers = [TRUE, machine(77_000 * MS), machine(5_000_000 * MS)].map(Process::new);
    for n in 1..50 {
        let begun = 6_000 * MS + n * 10 * MS;
        let call = |k: u64| 1_000 * k + n;
        let legs = [0, 1].map(|k| (call(k), begun + 10_000, begun + MS));
        tiers[0].calls(n, (begun, begun + 2 * MS), &legs);
        tiers[1].serves(n, call(0), (begun + 40_000, begun + MS - 30_000));
        tiers[2].serves(n, call(1), (begun + 40_000, begun + MS - 30_000));
        let sent = begun + 2 * MS;
        tiers[1].calls(500 + n, (sent, sent + MS), &[(call(2), sent + 10_000, sent + 200_000)]);
        tiers[2].serves(500 + n, call(2), (sent + 5 * MS + 40_000, sent + 5 * MS + 170_000));
    }
    let [front, mid, leaf] = tiers;
    let report = report(&[("front", front), ("mid", mid), ("leaf", leaf)]);
    let found: Vec<_> = report.clocks.iter().map(|row| row.contradiction_ns).collect();
    assert_eq!(found[..2], [0, 0]);
    assert!((4_800_000..5_000_000).contains(&found[2]), "{found:?}");
}

/// A second process sends calls of the front's names, and a third takes some of these names for its requests: seconds away.
#[test]
fn a_name_that_two_have_joins_nothing_and_is_counted() {
    let leaf = Machine { ahead_ns: -3 * MS as i64, ppm: 0, counter: 5_000_000 * MS };
    let mut tiers = [TRUE, leaf, TRUE, leaf].map(Process::new);
    for n in 1..=20 {
        let begun = 6_000 * MS + n * 10 * MS;
        tiers[0].calls(n, (begun, begun + n * MS), &[(n, begun + 10_000, begun + n * MS - 10_000)]);
        tiers[1].serves(n, n, (begun + 40_000, begun + n * MS - 40_000));
    }
    let begun = 15_000 * MS;
    tiers[2].calls(1, (begun, begun + 9 * MS), &[(20, begun + 10_000, begun + 8 * MS)]);
    tiers[3].serves(1, 19, (begun, begun + MS));
    let [front, leaf, sender, server] = tiers;
    let report =
        report(&[("front", front), ("leaf", leaf), ("sender", sender), ("server", server)]);
    assert_eq!((report.doubled_names, report.calls, report.calls_found), (2, 20, 18));
    let row = &report.clocks[1];
    assert_eq!((row.basis, row.calls, row.contradiction_ns), (Basis::Calls, 18, 0));
    assert!(row.ahead_ns.abs_diff(-3 * MS as i64) <= row.error_ns, "{row:?}");
    let followed: Vec<_> = report.slowest.iter().map(|one| one.requests.len()).collect();
    assert_eq!(followed, [1, 1, 2], "the two slowest have the names");
    assert_eq!(report.slowest[0].unrecorded_ns, 20 * MS - 20_000);
}

#[test]
fn requests_without_an_end_or_a_beginning_are_counted_for_each_trace() {
    let (mut front, mut leaf) = (Process::new(TRUE), Process::new(TRUE));
    let begun = 6_000 * MS;
    front.calls(1, (begun, begun + 5 * MS), &[(1, begun + 10_000, begun + 4 * MS)]);
    leaf.serves(1, 1, (begun + 100_000, begun + MS));
    // What the front asked for next was under way in both when they ended.
    front.mark(MarkKind::Start, 2, begun + 6 * MS);
    front.hop(HopKind::Sent, (2, 2), begun + 7 * MS);
    leaf.mark(MarkKind::EndAll, 7, begun + 2 * MS);
    leaf.mark(MarkKind::Start, 2, begun + 8 * MS);
    leaf.hop(HopKind::Called, (2, 2), begun + 8 * MS);
    let report = report(&[("front", front), ("leaf", leaf)]);
    let unfinished = Incomplete { unfinished: 1, ..Incomplete::default() };
    let incomplete: Vec<_> = report.traces.iter().map(|trace| trace.incomplete).collect();
    let front = Incomplete { unfinished_max_ns: MS, ..unfinished };
    assert_eq!(incomplete, [front, Incomplete { orphan_marks: 1, ..unfinished }]);
    let counts: Vec<_> = report.traces.iter().map(|trace| trace.requests).collect();
    assert_eq!(counts, [1, 1]);
}

#[test]
fn where_a_part_is_kept_the_quantiles_are_those_of_all_requests() {
    let [mut front, mut leaf] = [TRUE, TRUE].map(Process::new);
    front.calls(1, (6_000 * MS, 6_050 * MS), &[(7, 6_001 * MS, 6_040 * MS)]);
    leaf.serves(2, 7, (6_002 * MS, 6_039 * MS));
    let figures = [
        (Measured::Requests, 1_000),
        (Measured::RequestsP50Ns, 2 * MS),
        (Measured::RequestsP99Ns, 9 * MS),
        (Measured::RequestsP999Ns, 40 * MS),
    ];
    let figures = figures.map(|(what, value)| Record::Figure(Figure { what, value }));
    front.records.extend(figures);
    let report = report(&[("front", front), ("leaf", leaf)]);
    let told = report.traces.iter().map(|one| (one.requests, one.p50_ns, one.p99_ns, one.p999_ns));
    let told: Vec<_> = told.collect();
    assert_eq!(told, [(1_000, 2 * MS, 9 * MS, 40 * MS), (1, 37 * MS, 37 * MS, 37 * MS)]);
}

/// Else a tick would count as a nanosecond beside traces where it does not.
#[test]
fn a_trace_without_two_clock_readings_a_millisecond_apart_is_refused() {
    let mut process = Process { machine: TRUE, records: Vec::new() };
    process.serves(1, 1, (6_000 * MS, 6_001 * MS));
    let refused = |process: &Process| surveyed("short", process).err();
    assert_eq!(refused(&process), Some(Unmeasured));
    process.records.push(Record::Clock(process.clock(5_001 * MS - 1)));
    assert_eq!(refused(&process), Some(Unmeasured));
    process.records.push(Record::Clock(process.clock(5_001 * MS)));
    assert_eq!(refused(&process), None);
}

/// Sums of such times would overflow.
#[test]
fn damaged_clocks_make_a_report_all_the_same() {
    for ahead_ns in [i64::MAX - 21_000 * MS as i64, 1 << 59] {
        let broken = Machine { ahead_ns, ppm: 0, counter: 77_000 * MS };
        for (mid, leaf) in [(broken, TRUE), (TRUE, broken), (broken, broken)] {
            let report = three_tiers(mid, Machine { counter: leaf.counter + 9_000 * MS, ..leaf });
            assert_eq!(report.slowest.len(), 3);
        }
    }
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
