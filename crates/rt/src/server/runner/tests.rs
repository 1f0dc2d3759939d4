//! Requests that are ended early.

use super::super::testing::{at, job, open};
use super::*;
use crate::bell::{Bell, Doorbell};
use crate::service::Request;
use std::cell::Cell;
use std::sync::Arc;

#[derive(Clone)]
struct Mute;

impl Bell for Mute {
    fn ring(&self) {}
}

thread_local! {
    /// Handlers that are there.
    static ALIVE: Cell<u32> = const { Cell::new(0) };
}

struct Alive;

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

async fn hang(_: Request) -> Reply {
    ALIVE.set(ALIVE.get() + 1);
    let _alive = Alive;
    std::future::pending().await
}

fn runner<F: Future<Output = Reply>>(_: &impl Service<Future = F>) -> Runner<F> {
    let doorbell = Arc::new(Doorbell::new(Box::new(Mute)));
    Runner::new(Inline::new(doorbell, 8, false), None, Some(Duration::from_millis(10)))
}

#[test]
fn whether_a_worker_had_begun_what_is_cut_is_told() {
    let pool = Arc::new(Pool::new(vec![Mute, Mute]));
    let max = Some(Duration::from_millis(10));
    let inline = Inline::new(Arc::new(Doorbell::new(Box::new(Mute))), 8, false);
    let workers = Some(Workers::new(pool.clone(), 0));
    let mut runner: Runner<std::future::Pending<Reply>> = Runner::new(inline, workers, max);
    runner.set_dispatch(true);
    let mut connections = Connections::default();
    let (it, _client) = open(&mut connections);
    for id in 0..2 {
        assert!(runner.reserve());
        let never = |_: Request| std::future::pending();
        assert!(runner.start(job(0, id, 1), at(1), &mut it.work, &never).is_none());
    }
    let (handed, _) = pool.next(0, false).expect("the first is there");
    assert!(handed.handover.take(0), "a worker begins it");
    let cuts = std::iter::from_fn(|| runner.cut_overdue(at(11), &mut connections));
    let begun: Vec<_> = cuts.map(|cut| (cut.origin.key.id.0, cut.begun)).collect();
    assert_eq!(begun, [(0, true), (1, false)]);
}

#[test]
fn a_request_that_is_ended_early_leaves_its_handler_its_place_and_its_connections_list() {
    let mut runner = runner(&hang);
    let mut connections = Connections::default();
    let (it, _client) = open(&mut connections);
    for id in 0..8 {
        assert!(runner.reserve());
        assert!(runner.start(job(0, id, 1), at(1 + id), &mut it.work, &hang).is_none());
    }
    assert!(!runner.reserve() && ALIVE.get() == 8);
    let cut = runner.cancel(RequestId(3), &mut it.work).expect("it runs");
    assert_eq!((cut.origin.key.id.0, cut.started), (3, at(4)));
    assert!(runner.cancel(RequestId(3), &mut it.work).is_none(), "once");
    assert_eq!((ALIVE.get(), it.work.running()), (7, 7));
    assert_eq!(runner.next_due(), Some(at(11)));
    let mut late = Vec::new();
    while let Some(cut) = runner.cut_overdue(at(13), &mut connections) {
        late.push(cut.origin.key.id.0);
    }
    assert_eq!(late, [0, 1, 2], "those that began by the third millisecond");
    let Some(it) = connections.of_session(tailwater_core::SessionId(0)) else {
        panic!("it is there");
    };
    assert_eq!(it.work.running(), 4);
    runner.cancel_all(&mut it.work);
    assert_eq!((ALIVE.get(), it.work.running(), runner.next_due()), (0, 0, None));
    assert!(runner.reserve());
}
