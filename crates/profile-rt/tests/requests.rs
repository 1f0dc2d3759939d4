//! A Rust program that marks its requests and records itself.

use std::fs::File;
use std::path::Path;
use tailwater_profile::record::{MarkKind, Record};
use tailwater_profile::trace::{Ending, Reader};
use tailwater_profile_rt::request::{Request, now, record_to, stop};

/// One test, since a process has one recording at a time.
#[test]
fn marks_are_recorded_in_their_order_between_start_and_stop() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("requests.trace");
    let _ = std::fs::remove_file(&path);
    drop(Request::start(99));
    record_to(&path).expect("a recording");
    assert!(record_to(&path).is_err(), "it records already");
    let enqueued = now();
    let first = Request::start_queued(1, enqueued);
    let second = Request::start(2);
    first.block();
    drop(second);
    Request::start(1).finish();
    std::thread::spawn(|| drop(Request::start(3))).join().expect("a thread");
    stop().expect("the file is written");
    drop(Request::start(98));
    stop().expect("nothing to stop");

    let mut reader = Reader::new(File::open(&path).expect("a trace")).expect("a header");
    let mut marks = Vec::new();
    for record in reader.by_ref() {
        if let Record::Mark(mark) = record.expect("no damage") {
            marks.push(mark);
        }
    }
    assert!(matches!(reader.ending(), Ending::Finished(_)));
    // Threads' rings are emptied one after the other.
    marks.sort_by_key(|mark| mark.request == 3);
    assert_eq!(marks[0].at, enqueued);
    let told: Vec<_> = marks.iter().map(|mark| (mark.request, mark.kind)).collect();
    assert_eq!(
        told,
        [
            (1, MarkKind::Enqueue),
            (1, MarkKind::Start),
            (2, MarkKind::Start),
            (1, MarkKind::Block),
            (2, MarkKind::End),
            (1, MarkKind::Start),
            (1, MarkKind::EndAll),
            (3, MarkKind::Start),
            (3, MarkKind::End),
        ]
    );
    assert_ne!(marks.iter().find(|m| m.request == 3).expect("it").thread, marks[0].thread);
}
