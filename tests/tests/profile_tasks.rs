//! Futures of a tokio runtime whose tasks move between its threads, each recorded as the request that it is.

use std::fs::File;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::task::Poll;
use std::time::Duration;
use tailwater_marks::Marked;
use tailwater_profile::requests::{Incomplete, Report, Requests, State};
use tailwater_profile::trace::Reader;
use tailwater_profile_rt::control::{record_to, stop};

const TASKS: usize = 40;
/// Waits of each.
const WAITS: usize = 5;

/// Waits some milliseconds at a time; woken, it may go on at either worker.
async fn waits() {
    for wait in 0..WAITS {
        tokio::time::sleep(Duration::from_millis(2)).await;
        // The timers' worker wakes many at once, and would poll them itself if it were not held up.
        if wait % 2 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Polled once, and woken by nobody.
async fn is_given_up() {
    poll_fn(|_| Poll::<()>::Pending).await;
}

fn recorded() -> PathBuf {
    let trace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tasks.trace");
    let _ = std::fs::remove_file(&trace);
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_time().build().expect("a runtime");
    record_to(&trace).expect("a recording");
    runtime.block_on(async {
        let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(Marked::new(waits()))).collect();
        for task in tasks {
            task.await.expect("it ends");
        }
        let given_up = tokio::time::timeout(Duration::from_millis(5), Marked::new(is_given_up()));
        given_up.await.unwrap_err();
    });
    drop(runtime);
    stop().expect("the trace is written");
    trace
}

fn report(trace: &Path) -> Report {
    let mut reader = Reader::new(File::open(trace).expect("a trace")).expect("a header");
    let mut first = Requests::new(reader.header(), TASKS + 1);
    reader.by_ref().for_each(|record| first.add(&record.expect("no damage")));
    let mut second = first.finish(&reader.ending());
    let again = Reader::new(File::open(trace).expect("a trace")).expect("a header");
    again.for_each(|record| second.add(&record.expect("no damage")));
    second.finish()
}

#[test]
fn a_task_is_one_request_with_its_polls_wherever_they_were() {
    let report = report(&recorded());
    assert_eq!((report.count, report.incomplete), (TASKS as u64 + 1, Incomplete::default()));
    let mut moved = 0;
    for row in &report.slowest {
        // Numbers count from one on, and that was made last.
        let is_given_up = row.request == TASKS as u64 + 1;
        // On a full machine a sleep may be over before it is polled.
        assert!((2..=WAITS as u64 + 1).contains(&row.turns), "{} polls", row.turns);
        let pending = row.steps.iter().filter(|step| step.state == State::Pending).count() as u64;
        // It ends within a poll, or is dropped between two.
        assert_eq!(pending, if is_given_up { row.turns } else { row.turns - 1 }, "{:?}", row.steps);
        assert!(row.parts.pending_ns > 0 && row.parts.queued_ns == 0, "{:?}", row.parts);
        moved += usize::from(row.threads.len() == 2);
    }
    // Forty tasks with five waits each stay at one of two busy workers in no run.
    assert!(moved > 0, "none has moved");
}
