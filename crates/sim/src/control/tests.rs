use super::*;
use crate::fabric::Fabric;
use crate::world::Link;
use tailwater_control::{Outcome, Reached, Reason};
use tailwater_core::{Observer, RequestId, Rng};

/// Answers as it was told to, whatever happens.
#[derive(Clone)]
struct Stub {
    verdict: Verdict,
    window: u32,
    issued: u32,
}

impl Admission for Stub {
    fn name(&self) -> &'static str {
        "stub"
    }
    fn shard(self: Arc<Self>, _: usize) -> Box<dyn Shard> {
        Box::new((*self).clone())
    }
    fn gauges(&self) -> Gauges {
        Gauges { pool: 10, issued: self.issued, sessions: 1, ..Gauges::default() }
    }
}

impl Stub {
    fn offer(&self) -> Offer {
        Offer { window: self.window, seq: 1, level: 0 }
    }
}

impl Shard for Stub {
    fn on_open(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) -> Offer {
        Offer { window: 1, seq: 0, level: 0 }
    }
    fn on_request(
        &mut self,
        _: Instant,
        _: SessionId,
        _: &Arrival,
        _: Duration,
        _: &mut dyn Observer,
    ) -> Verdict {
        self.verdict
    }
    fn on_start(
        &mut self,
        _: Instant,
        _: SessionId,
        _: Duration,
        _: Option<Duration>,
        _: &mut dyn Observer,
    ) -> Verdict {
        self.verdict
    }
    fn on_done(&mut self, _: Instant, _: SessionId, _: &Completion) -> Offer {
        self.offer()
    }
}

/// Sends `requests` requests of one registered client through the controller, then answers them all.
fn complaint(stub: Stub, requests: u32) -> Option<(Rule, String)> {
    let link = Link { delay: Duration::ZERO, jitter: Duration::ZERO };
    let mut space = Space::new(Fabric::new(link, 1, &Rng::from_seed(1)), 1);
    let mut control = Control::new(Arc::new(stub), (1, 1), 0..1, &mut space);
    let now = Instant::ZERO;
    let (outcome, reached) = (Outcome::Served, Reached::Start);
    let done = Completion { outcome, reached, waited: Duration::ZERO, service: Duration::ZERO };
    // The first registers, and its answer brings the window that the others have.
    for (register, count) in [(true, 1), (false, requests)] {
        for _ in 0..count {
            let dispatch = Dispatch {
                id: RequestId(0),
                demand: 0,
                acked: 1,
                register,
                echo: None,
                budget: None,
                priority: 128,
            };
            let zero = Duration::ZERO;
            control.request(now, 0, &dispatch, zero, zero, &mut space);
        }
        for _ in 0..count {
            control.done(now, 0, &done, &mut space);
        }
    }
    control.tick(0, now, Duration::ZERO, &mut VecDeque::new(), &mut space);
    control.check_at_rest(now, &mut space);
    space.broken
}

const HONEST: Stub = Stub { verdict: Verdict::Admit, window: 2, issued: 2 };

#[test]
fn an_honest_controller_passes_every_check() {
    assert_eq!(complaint(HONEST, 2), None);
}

#[test]
fn each_broken_promise_is_noticed() {
    let broken = |stub, requests| complaint(stub, requests).expect("a broken rule");
    let accused = Stub { verdict: Verdict::Shed(Reason::NoCredit), ..HONEST };
    let inflated = Stub { issued: 3, ..HONEST };
    let leaking = Stub { issued: 1, ..HONEST };
    for (stub, requests, rule, words) in [
        (accused, 1, Rule::Honest, "kept to its window"),
        (HONEST, 3, Rule::Windows, "never exceeded 2"),
        (inflated, 1, Rule::Credits, "3 credits count as issued"),
        (leaking, 1, Rule::Credits, "at rest 1 credits"),
    ] {
        let (found, what) = broken(stub, requests);
        assert!(found == rule && what.contains(words), "{found:?}: {what}");
    }
}
