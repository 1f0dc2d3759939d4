//! One loop's CoDel: knows how many requests wait, asks the law about each that starts.

use super::config::Config;
use super::law::Law;
use crate::server::{Arrival, Offer, Reached, Reason, RequestEnd, Shard, Verdict};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_core::{Event, Instant, Nanos, Observer, SessionId};

pub(super) struct CodelShard {
    config: Config,
    law: Law,
    /// Requests in the queue, by session, so that those of a lost connection can be taken out; one
    /// entry for each session the loop has had at once.
    waiting: Vec<u32>,
    queued: u64,
    waits_ns: Arc<[AtomicU64]>,
    index: usize,
}

impl CodelShard {
    pub(super) const fn new(config: Config, waits_ns: Arc<[AtomicU64]>, index: usize) -> Self {
        let law = Law::new();
        Self { config, law, waiting: Vec::new(), queued: 0, waits_ns, index }
    }

    fn publish(&self, wait: Duration) {
        self.waits_ns[self.index].store(wait.nanos(), Relaxed);
    }

    fn note_drained(&mut self) {
        if self.queued == 0 {
            self.law.on_drained();
        }
    }

    fn dequeue(&mut self, id: SessionId, requests: u32) {
        if let Some(waiting) = self.waiting.get_mut(id.index()) {
            let gone = requests.min(*waiting);
            *waiting -= gone;
            self.queued -= u64::from(gone);
        }
    }
}

impl Shard for CodelShard {
    fn on_open(&mut self, _: Instant, id: SessionId, _: &mut dyn Observer) -> Offer {
        if self.waiting.len() <= id.index() {
            self.waiting.resize(id.index() + 1, 0);
        }
        Offer::OPEN
    }

    fn on_close(&mut self, _: Instant, id: SessionId, _: &mut dyn Observer) {
        self.dequeue(id, u32::MAX);
        self.note_drained();
    }

    fn on_request(
        &mut self,
        _: Instant,
        id: SessionId,
        _: &Arrival,
        _: Duration,
        _: &mut dyn Observer,
    ) -> Verdict {
        if let Some(waiting) = self.waiting.get_mut(id.index()) {
            *waiting += 1;
            self.queued += 1;
        }
        Verdict::Admit
    }

    fn on_start(
        &mut self,
        now: Instant,
        id: SessionId,
        waited: Duration,
        _: Option<Duration>,
        observer: &mut dyn Observer,
    ) -> Verdict {
        self.dequeue(id, 1);
        self.publish(waited);
        if self.law.sheds(&self.config, now, waited, self.queued == 0) {
            observer.on_event(now, &Event::Shed(id, Reason::Delay.name()));
            return Verdict::Shed(Reason::Delay);
        }
        Verdict::Admit
    }

    fn on_done(&mut self, _: Instant, id: SessionId, done: &RequestEnd) -> Offer {
        if done.reached == Reached::Queue {
            self.dequeue(id, 1);
            self.note_drained();
        }
        Offer::OPEN
    }

    fn on_tick(&mut self, _: Instant, delay: Duration, _: &mut dyn Observer) {
        // For the gauges alone: what was long ago in the queue is no reading of an idle server.
        if self.queued == 0 {
            self.publish(delay);
        }
    }
}
