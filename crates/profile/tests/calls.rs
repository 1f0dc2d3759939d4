//! Calls as rows: their bounds, and the request that each was for.

use crate::sample;
use tailwater_profile::calls::{Calls, Rows};
use tailwater_profile::record::{
    Call, CallFlags, FunctionId, Mark, MarkKind, Record, ThreadId, Ticks,
};
use tailwater_profile::trace::Ending;

/// Of the clocks of `sample`.
const US: Ticks = 2_000;
const BEGAN: Ticks = 1_000;

fn call(thread: u32, start: u64, end: u64) -> Call {
    Call {
        thread: ThreadId(thread),
        function: FunctionId(1),
        parent: None,
        depth: 3,
        generation: 1,
        start: BEGAN + start * US,
        start_slack: US as u32,
        end: BEGAN + end * US,
        end_slack: 2 * US as u32,
        flags: CallFlags::default(),
        site: 0,
    }
}

fn mark(thread: u32, request: u64, kind: MarkKind, at: u64) -> Record {
    Record::Mark(Mark { thread: ThreadId(thread), request, kind, at: BEGAN + at * US })
}

fn rows(records: &[Record]) -> Rows {
    let mut calls = Calls::new(&sample::header());
    calls.add(&sample::second_clock());
    records.iter().for_each(|record| calls.add(record));
    calls.finish(&Ending::Unfinished)
}

#[test]
fn a_call_began_and_ended_between_two_times() {
    let rows = rows(&[sample::function(1, "handle")]);
    let row = rows.row(&call(7, 100, 200));
    assert_eq!(row.began_ns, [Some(99_000), Some(101_000)]);
    assert_eq!(row.ended_ns, [Some(198_000), Some(202_000)]);
    assert_eq!((row.thread, row.depth, row.tid, row.request), (ThreadId(7), 3, None, None));
    assert_eq!(row.described.expect("its name is there").name, "handle");
}

#[test]
fn what_was_live_at_an_end_of_the_recording_has_no_bound_there() {
    let rows = rows(&[]);
    let cut = CallFlags(CallFlags::STARTED_BEFORE | CallFlags::UNFINISHED);
    let row = rows.row(&Call { flags: cut, ..call(7, 100, 200) });
    assert_eq!((row.began_ns, row.ended_ns), ([None, Some(101_000)], [Some(198_000), None]));
    let row = rows.row(&Call { end_slack: u32::MAX, ..call(7, 100, 200) });
    assert_eq!((row.began_ns, row.ended_ns), ([Some(99_000), Some(101_000)], [None, None]));
    assert!(row.described.is_none());
}

#[test]
fn a_call_is_of_the_request_that_its_thread_worked_for_if_it_was_one() {
    use MarkKind::{End, Enqueue, Start};
    let rows = rows(&[
        mark(1, 10, Start, 100),
        mark(1, 10, Enqueue, 190),
        mark(1, 10, End, 200),
        mark(1, 11, Start, 200),
        mark(1, 11, End, 300),
        // Another thread goes on with the first, and works for a second one meanwhile.
        mark(2, 10, Start, 400),
        mark(2, 12, Start, 450),
        mark(2, 12, End, 460),
        mark(2, 10, End, 500),
        // Numbers come again.
        mark(1, 10, Start, 600),
        mark(1, 10, End, 610),
    ]);
    let of = |thread, start, end| rows.row(&call(thread, start, end)).request;
    assert_eq!([of(1, 110, 190), of(1, 210, 290)], [Some(10), Some(11)]);
    assert_eq!(of(1, 90, 203), None, "until after the next has begun");
    // Around its request, as far as is sure: it may have ended with that.
    assert_eq!(of(1, 90, 201), Some(10));
    assert_eq!([of(1, 0, 90), of(1, 320, 590), of(3, 110, 190)], [None; 3]);
    assert_eq!([of(2, 410, 440), of(2, 440, 470), of(2, 470, 490)], [Some(10), None, Some(10)]);
    // Shorter than its bounds: its middle counts.
    assert_eq!(of(1, 605, 606), Some(10));
}
