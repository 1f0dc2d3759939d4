//! A Rust program that marks its requests and records itself.

use std::fs::File;
use std::path::Path;
use tailwater_marks::{Mark, size};
use tailwater_profile::record::{MarkKind, Record};
use tailwater_profile::trace::{Ending, Reader};
use tailwater_profile_rt::control::{record_to, stop};

fn worked_for() -> Mark {
    let mut mark = Mark::new();
    mark.works();
    mark
}

/// One test, since a process has one recording at a time, and one row of numbers.
#[test]
fn marks_are_recorded_in_their_order_between_start_and_stop() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("requests.trace");
    let _ = std::fs::remove_file(&path);
    drop(worked_for());
    record_to(&path).expect("a recording");
    assert!(record_to(&path).is_err(), "it records already");
    let (mut second, third) = (worked_for(), worked_for());
    second.waits();
    drop(third);
    size(4_096);
    second.works();
    drop(second);
    std::thread::spawn(|| drop(worked_for())).join().expect("a thread");
    stop().expect("the file is written");
    drop(worked_for());
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
    marks.sort_by_key(|mark| mark.request == 4);
    let told: Vec<_> = marks.iter().map(|mark| (mark.request, mark.kind)).collect();
    assert_eq!(
        told,
        [
            (2, MarkKind::Start),
            (3, MarkKind::Start),
            (2, MarkKind::Block),
            (3, MarkKind::EndAll),
            (4_096, MarkKind::Size),
            (2, MarkKind::Start),
            (2, MarkKind::EndAll),
            (4, MarkKind::Start),
            (4, MarkKind::EndAll),
        ]
    );
    assert_ne!(marks.iter().find(|m| m.request == 4).expect("it").thread, marks[0].thread);
}
