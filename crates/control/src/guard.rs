//! The safety around any controller: an off switch, a dry run, and a cap on shedding.
//!
//! A controller whose signal goes wrong (delay that load did not cause) can shed everything; the
//! guard bounds that harm, and lets an operator watch decisions before enforcing them.

use crate::server::{
    Admission, Arrival, Gauges, Offer, Reason, RequestEnd, Shard, Verdict, Wish, is_older,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_core::{Event, Instant, Observer, SessionId};

/// What becomes of a controller's decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Mode {
    /// They are carried out.
    #[default]
    Enforce,
    /// They are computed and explained to the observer, but every request is admitted and every
    /// client may send.
    DryRun,
    /// As in a dry run, and nobody is told.
    Off,
}

/// A [`Mode`] that can be switched while the server runs.
#[derive(Debug, Default)]
pub struct Switch(AtomicU8);

impl Switch {
    /// A switch in this position.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self(AtomicU8::new(mode as u8))
    }

    /// Takes effect with the next request of each loop.
    pub fn set(&self, mode: Mode) {
        self.0.store(mode as u8, Relaxed);
    }

    /// Its position.
    #[must_use]
    pub fn get(&self) -> Mode {
        match self.0.load(Relaxed) {
            0 => Mode::Enforce,
            1 => Mode::DryRun,
            _ => Mode::Off,
        }
    }
}

/// Any controller, guarded.
pub struct Guarded {
    inner: Arc<dyn Admission>,
    switch: Arc<Switch>,
    shed_cap: f64,
}

impl Guarded {
    /// `shed_cap` is the largest share of requests that may be shed, from 0 to 1, by a token
    /// bucket of 64: short bursts may exceed it. Sends without credit do not count against it.
    #[must_use]
    pub fn new(inner: Arc<dyn Admission>, switch: Arc<Switch>, shed_cap: f64) -> Self {
        Self { inner, switch, shed_cap }
    }
}

impl Admission for Guarded {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn shards(&self) -> Option<usize> {
        self.inner.shards()
    }

    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard> {
        Box::new(GuardedShard {
            inner: Arc::clone(&self.inner).shard(index),
            switch: Arc::clone(&self.switch),
            shed_cap: self.shed_cap,
            tokens: BUCKET,
            amnesty: Vec::new(),
        })
    }

    fn gauges(&self) -> Gauges {
        self.inner.gauges()
    }
}

/// Sheds that may come in a row before the cap binds.
const BUCKET: f64 = 64.0;

struct GuardedShard {
    inner: Box<dyn Shard>,
    switch: Arc<Switch>,
    shed_cap: f64,
    tokens: f64,
    /// Per session, what is left of having been told that it may send at will.
    amnesty: Vec<Option<Amnesty>>,
}

/// Sending without credit is no violation while a client may not have heard that limits are back:
/// until it echoes a newer sequence number, or for a second after it was told.
#[derive(Clone, Copy, Debug)]
struct Amnesty {
    seq: u32,
    ends: Instant,
}

/// Our choice: five times Linux' shortest time until a lost segment is sent again, 200 ms.
const AMNESTY: Duration = Duration::from_secs(1);

impl GuardedShard {
    /// Hides the limits while not enforcing, and remembers having done so.
    fn present(&mut self, now: Instant, id: SessionId, offer: Offer) -> Offer {
        if self.switch.get() == Mode::Enforce {
            if let Some(Some(amnesty)) = self.amnesty.get_mut(id.index()) {
                amnesty.ends = amnesty.ends.min(now + AMNESTY);
            }
            return offer;
        }
        if self.amnesty.len() <= id.index() {
            self.amnesty.resize(id.index() + 1, None);
        }
        self.amnesty[id.index()] = Some(Amnesty { seq: offer.seq, ends: Instant::FAR_FUTURE });
        Offer { seq: offer.seq, ..Offer::OPEN }
    }

    fn may_send_at_will(&mut self, now: Instant, id: SessionId, acked: u32) -> bool {
        let Some(Some(amnesty)) = self.amnesty.get(id.index()).copied() else {
            return false;
        };
        let newer = acked != amnesty.seq && !is_older(acked, amnesty.seq);
        let over = newer || now >= amnesty.ends;
        if over {
            self.amnesty[id.index()] = None;
        }
        !over
    }

    /// Turns a shed into an admission where the switch or the cap says so.
    fn temper(
        &mut self,
        now: Instant,
        id: SessionId,
        verdict: Verdict,
        observer: &mut dyn Observer,
    ) -> Verdict {
        let (Verdict::Shed(reason) | Verdict::Close(reason)) = verdict else {
            return verdict;
        };
        let mode = self.switch.get();
        let capped = reason != Reason::NoCredit && self.tokens < 1.0;
        if mode == Mode::Enforce && !capped {
            if reason != Reason::NoCredit {
                self.tokens -= 1.0;
            }
            return verdict;
        }
        if mode != Mode::Off {
            observer.on_event(now, &Event::Spared(id, reason.name()));
        }
        Verdict::Admit
    }
}

impl Shard for GuardedShard {
    fn on_open(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) -> Offer {
        if let Some(amnesty) = self.amnesty.get_mut(id.index()) {
            *amnesty = None;
        }
        let offer = self.inner.on_open(now, id, observer);
        self.present(now, id, offer)
    }

    fn on_close(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        self.inner.on_close(now, id, observer);
    }

    fn on_deregister(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        self.inner.on_deregister(now, id, observer);
    }

    fn on_demand(&mut self, now: Instant, id: SessionId, demand: u32, acked: u32) {
        self.inner.on_demand(now, id, demand, acked);
    }

    fn on_request(
        &mut self,
        now: Instant,
        id: SessionId,
        arrival: &Arrival,
        delay: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict {
        self.tokens = (self.tokens + self.shed_cap).min(BUCKET);
        let quiet = self.switch.get() == Mode::Off;
        let verdict = if quiet {
            self.inner.on_request(now, id, arrival, delay, &mut tailwater_core::Silent)
        } else {
            self.inner.on_request(now, id, arrival, delay, observer)
        };
        let without_credit =
            matches!(verdict, Verdict::Shed(Reason::NoCredit) | Verdict::Close(Reason::NoCredit));
        if without_credit && self.may_send_at_will(now, id, arrival.acked) {
            return Verdict::Admit;
        }
        self.temper(now, id, verdict, observer)
    }

    fn on_start(
        &mut self,
        now: Instant,
        id: SessionId,
        waited: Duration,
        time_left: Option<Duration>,
        observer: &mut dyn Observer,
    ) -> Verdict {
        let verdict = self.inner.on_start(now, id, waited, time_left, observer);
        self.temper(now, id, verdict, observer)
    }

    fn on_sent(&mut self, now: Instant, id: SessionId) {
        self.inner.on_sent(now, id);
    }

    fn on_done(&mut self, now: Instant, id: SessionId, done: &RequestEnd) -> Offer {
        let offer = self.inner.on_done(now, id, done);
        self.present(now, id, offer)
    }

    fn on_tick(&mut self, now: Instant, delay: Duration, observer: &mut dyn Observer) {
        self.inner.on_tick(now, delay, observer);
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        self.inner.next_deadline(now)
    }

    fn poll_wish(&mut self, now: Instant, observer: &mut dyn Observer) -> Option<Wish> {
        let Wish::Credit(id, offer) = self.inner.poll_wish(now, observer)?;
        Some(Wish::Credit(id, self.present(now, id, offer)))
    }
}

#[cfg(test)]
mod tests;
