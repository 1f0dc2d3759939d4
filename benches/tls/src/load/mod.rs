//! The generator: a closed loop through each system's own client, on one thread.

mod tailwater;
mod tonic;

use crate::certificates::Certificates;
use crate::host;
use crate::peer::{Case, Peer};
use crate::server::Server;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::{Duration, Instant};

/// How long to run.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) warmup: Duration,
    pub(crate) window: Duration,
}

/// One run's findings.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Outcome {
    /// Answers received within the window, each with its right payload.
    pub(crate) answers: u64,
    pub(crate) window_ns: u64,
    /// CPU time of the server in the window.
    pub(crate) server_cpu_ns: u64,
    /// CPU time in the window that neither server nor generator used, or that was stolen.
    pub(crate) foreign_cpu_ns: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
}

impl Outcome {
    pub(crate) fn cpu_ns_per_request(&self) -> f64 {
        self.server_cpu_ns as f64 / self.answers.max(1) as f64
    }
}

/// Loads a server as the case says.
pub(crate) fn run(
    peer: Peer,
    case: Case,
    server: &Server,
    certificates: &Certificates,
    times: Times,
) -> Result<Outcome, String> {
    let root = peer.speaks_tls().then_some(certificates.root.as_str());
    let watch = Watch::new(server.pid(), times);
    if peer.is_tailwater() {
        tailwater::run(case, server.port, root, watch)
    } else {
        tonic::run(case, server.port, root, watch)
    }
}

/// Bytes of a payload.
const LENGTH: usize = 64;

/// The payload of one call: different for every call, so that an answer that was mixed up, stale or
/// invented is noticed.
fn payload(number: u64) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for (turn, at) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *at = word.rotate_left(turn as u32 * 8 + 1).to_le_bytes();
    }
    bytes
}

/// Counts answers within the window, and reads the clocks at both its ends.
struct Watch {
    server: u32,
    times: Times,
    began: Instant,
    opened: Option<Reading>,
    answers: u64,
    trips: Histogram<u64>,
}

struct Reading {
    at: Instant,
    server: Duration,
    own: Duration,
    busy: Duration,
}

impl Reading {
    fn now(server: u32) -> Result<Self, String> {
        Ok(Self {
            at: Instant::now(),
            server: host::cpu_of(server)?,
            own: host::cpu_of(std::process::id())?,
            busy: host::busy()?,
        })
    }
}

impl Watch {
    fn new(server: u32, times: Times) -> Self {
        // Up to a minute: a call that takes longer has met a machine that stood still.
        let trips = Histogram::new_with_bounds(1, 60_000_000_000, 3);
        let trips = trips.expect("the bounds are sound");
        Self { server, times, began: Instant::now(), opened: None, answers: 0, trips }
    }

    /// Begins to count the warm-up: all connections stand.
    fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// A call was answered. False when the window is over.
    fn answered(&mut self, sent: Instant, number: u64, answer: &[u8]) -> Result<bool, String> {
        if answer != payload(number) {
            return Err(format!("call {number} got another answer than it needs"));
        }
        let now = Instant::now();
        match &self.opened {
            None if now - self.began >= self.times.warmup => {
                self.opened = Some(Reading::now(self.server)?);
            }
            None => {}
            Some(opened) if now - opened.at >= self.times.window => return Ok(false),
            Some(_) => {
                self.answers += 1;
                self.trips.saturating_record((now - sent).as_nanos() as u64);
            }
        }
        Ok(true)
    }

    fn end(self) -> Result<Outcome, String> {
        let before = self.opened.ok_or("no call was answered after the warm-up")?;
        let after = Reading::now(self.server)?;
        let server = after.server.saturating_sub(before.server);
        let own = after.own.saturating_sub(before.own);
        let busy = after.busy.saturating_sub(before.busy);
        Ok(Outcome {
            answers: self.answers,
            window_ns: (after.at - before.at).as_nanos() as u64,
            server_cpu_ns: server.as_nanos() as u64,
            foreign_cpu_ns: busy.saturating_sub(server + own).as_nanos() as u64,
            p50_ns: self.trips.value_at_quantile(0.5),
            p99_ns: self.trips.value_at_quantile(0.99),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_answer_ends_the_experiment() {
        let times = Times { warmup: Duration::ZERO, window: Duration::from_secs(3_600) };
        let mut watch = Watch::new(std::process::id(), times);
        let now = Instant::now() - Duration::from_micros(1);
        assert_eq!(watch.answered(now, 7, &payload(7)), Ok(true));
        let mut flipped = payload(8);
        flipped[63] ^= 1;
        assert!(watch.answered(now, 8, &flipped).unwrap_err().contains("call 8"));
        assert!(watch.answered(now, 8, &payload(7)).is_err());
        assert_eq!(watch.answered(now, 8, &payload(8)), Ok(true));
        let outcome = watch.end().unwrap();
        assert_eq!(outcome.answers, 1, "the first opened the window");
        assert!(outcome.p50_ns >= 1_000, "{outcome:?}");
    }
}
