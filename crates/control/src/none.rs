//! No control at all: the reference that every other controller is compared with.

use crate::server::{Admission, Arrival, Gauges, Shard, Verdict};
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
}
