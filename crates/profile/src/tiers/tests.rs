//! Traces with more requests than there is room for.

use super::longest::Room;
use super::{Basis, Joined, Report, Search, Survey};
use crate::record::{Clock, Hop, HopKind, Mark, MarkKind, Record, ThreadId};
use crate::trace::{Ending, Header};

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
/// Of each trace but the first.
const ROOM: Room = Room { requests: 2, legs: 10 };
const ENOUGH: Room = Room { requests: 100, legs: 100 };

/// A trace in the making; a tick is a nanosecond, and the counter began at `counter`.
struct Process {
    counter: u64,
    records: Vec<Record>,
}

impl Process {
    fn new(counter: u64) -> Self {
        let process = Self { counter, records: Vec::new() };
        let last = Record::Clock(process.clock(9_000 * MS));
        Self { records: vec![last], ..process }
    }

    fn clock(&self, ns: u64) -> Clock {
        Clock { ticks: self.counter + ns, raw_ns: ns, real_ns: ns }
    }

    fn mark(&mut self, kind: MarkKind, request: u64, at: u64) {
        let at = at + self.counter;
        self.records.push(Record::Mark(Mark { thread: ThreadId(0), request, kind, at }));
    }

    fn hop(&mut self, kind: HopKind, (request, call): (u64, u64), at: u64) {
        let at = at + self.counter;
        self.records.push(Record::Hop(Hop { thread: ThreadId(0), request, kind, call, at }));
    }

    /// A request in this time, maybe as the call of a name. It may wait for a call of its own in the middle of its time.
    fn request(&mut self, called: Option<u64>, call: Option<u64>, (from, to): (u64, u64)) {
        let request = self.records.len() as u64;
        let quarter = (to - from) / 4;
        self.mark(MarkKind::Start, request, from);
        called.into_iter().for_each(|name| self.hop(HopKind::Called, (request, name), from));
        if let Some(name) = call {
            self.hop(HopKind::Sent, (request, name), from + quarter);
            self.mark(MarkKind::Block, request, from + quarter);
            self.hop(HopKind::Answered, (request, name), to - quarter);
            self.mark(MarkKind::Start, request, to - quarter);
        }
        self.mark(MarkKind::EndAll, request, to);
    }

    fn header(&self) -> Header {
        Header {
            architecture: "x86_64".into(),
            pid: 1,
            program: "bin/tier".into(),
            build_id: Vec::new(),
            clock: self.clock(0),
        }
    }
}

/// Three slow requests of a front, which spend their time there. Each has a quick call to a mid-tier, and that one to a leaf
/// on another machine. Both have been busy with longer requests of others.
fn quick_calls_of_slow_requests() -> [Process; 3] {
    let [mut front, mut mid, mut leaf] = [0, 0, 5_000 * MS].map(Process::new);
    for other in 0..5 {
        let from = 500 * MS + other * 10 * MS;
        mid.request(None, None, (from, from + 9 * MS));
        leaf.request(None, None, (from, from + 9 * MS));
    }
    for n in 1..=3 {
        let from = n * 20 * MS;
        front.request(None, Some(n), (from, from + 4 * MS));
        mid.request(Some(n), Some(10 + n), (from + 1_100 * US, from + 2_900 * US));
        leaf.request(Some(10 + n), None, (from + 1_700 * US, from + 2_300 * US));
    }
    [front, mid, leaf]
}

fn joined(processes: &[Process; 3]) -> Joined {
    let tier = |(name, (process, room)): (&str, (&Process, Room))| {
        let mut survey = Survey::with_room(name, &process.header(), room);
        process.records.iter().for_each(|record| survey.add(record));
        survey.finish(&Ending::Unfinished).expect("two clock readings")
    };
    let rooms = processes.iter().zip([ENOUGH, ROOM, ROOM]);
    Joined::new(["front", "mid", "leaf"].into_iter().zip(rooms).map(tier).collect(), 3)
}

/// Searches once.
fn search(joined: &mut Joined, processes: &[Process; 3]) {
    let found = joined.unsearched().into_iter().map(|place| {
        let mut search = joined.search(place);
        processes[place].records.iter().for_each(|record| search.add(record));
        search.finish()
    });
    let found = found.collect();
    joined.take(found);
}

fn finished(joined: Joined, processes: &[Process; 3]) -> Report {
    let reviews = processes.iter().enumerate().map(|(place, process)| {
        let mut review = joined.review(place);
        process.records.iter().for_each(|record| review.add(record));
        review
    });
    let reviews = reviews.collect();
    joined.finish(reviews)
}

fn searched(processes: &[Process; 3]) -> Report {
    let mut joined = joined(processes);
    while !joined.unsearched().is_empty() {
        search(&mut joined, processes);
    }
    finished(joined, processes)
}

/// The traces of each slow request's tree.
fn met(report: &Report) -> Vec<Vec<usize>> {
    let of = |root: &super::RootRow| root.requests.iter().map(|one| one.trace).collect();
    report.slowest.iter().map(of).collect()
}

#[test]
fn quick_calls_of_slow_requests_are_found_a_tier_at_a_time() {
    let processes = quick_calls_of_slow_requests();
    let mut joined = joined(&processes);
    let mut names = Vec::new();
    while !joined.unsearched().is_empty() {
        assert_eq!(joined.unsearched(), [1, 2], "the front has left nothing out");
        names.push(joined.sought.open.iter().copied().collect::<Vec<_>>());
        search(&mut joined, &processes);
    }
    assert_eq!(names, [vec![1, 2, 3], vec![11, 12, 13]]);
    let report = finished(joined, &processes);
    assert_eq!(met(&report), [[0, 1, 2]; 3]);
    assert_eq!((report.calls, report.calls_found), (3, 3));
    // What was found joins the clock of the leaf's machine.
    assert_eq!(report.clocks[2].basis, Basis::Calls);
    let left_out: Vec<u64> = report.traces.iter().map(|trace| trace.left_out).collect();
    assert_eq!(left_out, [0, 3, 3], "others of the five long ones");
    for root in &report.slowest {
        assert_eq!((root.unrecorded_ns, root.parts[1].own_ns()), (0, 900 * US));
    }
}

/// What else has such a name was left out, too: as a call of that name, or as the one that has sent it.
#[test]
fn a_name_that_requests_beyond_the_room_share_joins_nothing() {
    let mut processes = quick_calls_of_slow_requests();
    processes[2].request(Some(11), None, (900 * MS, 900 * MS + 10 * US));
    processes[1].request(None, Some(3), (901 * MS, 901 * MS + 10 * US));
    let report = searched(&processes);
    assert_eq!(report.doubled_names, 2);
    assert_eq!(met(&report), [vec![0, 1], vec![0, 1, 2], vec![0]]);
    assert_eq!(report.slowest[2].unrecorded_ns, 2 * MS);
}

/// Nor does one that a request has which is kept.
#[test]
fn a_name_is_doubled_by_a_kept_request_and_one_beyond_the_room() {
    let mut processes = quick_calls_of_slow_requests();
    processes[2].request(Some(2), None, (900 * MS, 990 * MS));
    let report = searched(&processes);
    assert_eq!(report.doubled_names, 1);
    assert_eq!(met(&report), [vec![0, 1, 2], vec![0], vec![0, 1, 2]]);
}

#[test]
fn requests_that_find_no_room_in_a_search_are_not_told_of_and_keep_their_names() {
    let [_, mut mid, _] = quick_calls_of_slow_requests();
    let found = |mid: &Process, legs_max: usize| {
        let mut search = Search::new(1, &[], [1, 2, 3].into_iter(), legs_max);
        mid.records.iter().for_each(|record| search.add(record));
        search.finish()
    };
    let counts = [0, 2, 3].map(|legs_max| found(&mid, legs_max).requests.len());
    assert_eq!(counts, [0, 2, 3]);
    mid.request(Some(1), None, (800 * MS, 801 * MS));
    let twice = found(&mid, 0);
    assert!(twice.requests.is_empty(), "the second is no more the call than the first was");
    assert_eq!(twice.doubled.into_iter().collect::<Vec<_>>(), [1]);
}
