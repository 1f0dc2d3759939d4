//! No control at all: the reference that every other controller is compared with.

use crate::server::{Admission, Arrival, Completion, Gauges, Offer, Shard, Verdict, Wish};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Instant, Observer, SessionId};

/// Admits everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct None;

impl Admission for None {
    fn name(&self) -> &'static str {
        "none"
    }

    fn shard(self: Arc<Self>, _index: usize) -> Box<dyn Shard> {
        Box::new(Self)
    }

    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}

/// A server that leaves control to its clients, under the name of the controller they run.
#[derive(Clone, Copy, Debug)]
pub struct LeftToClients(pub &'static str);

impl Admission for LeftToClients {
    fn name(&self) -> &'static str {
        self.0
    }

    fn shard(self: Arc<Self>, _index: usize) -> Box<dyn Shard> {
        Box::new(None)
    }

    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}

impl Shard for None {
    fn on_open(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) -> Offer {
        Offer::OPEN
    }
    fn on_close(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) {}
    fn on_deregister(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) {}
    fn on_demand(&mut self, _: Instant, _: SessionId, _: u32, _: u32) {}
    fn on_request(
        &mut self,
        _: Instant,
        _: SessionId,
        _: &Arrival,
        _: Duration,
        _: &mut dyn Observer,
    ) -> Verdict {
        Verdict::Admit
    }
    fn on_start(
        &mut self,
        _: Instant,
        _: SessionId,
        _: Duration,
        _: Option<Duration>,
        _: &mut dyn Observer,
    ) -> Verdict {
        Verdict::Admit
    }
    fn on_sent(&mut self, _: Instant, _: SessionId) {}
    fn on_done(&mut self, _: Instant, _: SessionId, _: &Completion) -> Offer {
        Offer::OPEN
    }
    fn on_tick(&mut self, _: Instant, _: Duration, _: &mut dyn Observer) {}
    fn next_deadline(&self, _: Instant) -> Option<Instant> {
        Option::None
    }
    fn poll_wish(&mut self, _: Instant, _: &mut dyn Observer) -> Option<Wish> {
        Option::None
    }
}
