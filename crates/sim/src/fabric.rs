//! The network: delay, jitter, and order within each connection.

use crate::connection::Connection;
use crate::faults::{Departure, Weather};
use crate::world::Link;
use std::time::Duration;
use tailwater_core::{Instant, Nanos, Rng};
use tailwater_workload::scenario::Direction;

/// All connections, those between nodes included.
#[derive(Debug)]
pub(crate) struct Fabric {
    link: Link,
    rng: Rng,
    /// By connection: when the last message to the server, and from it, arrives.
    last: Vec<[Instant; 2]>,
    pub(crate) weather: Weather,
}

impl Fabric {
    pub(crate) fn new(link: Link, connections: u32, rng: &Rng) -> Self {
        Self {
            link,
            rng: rng.split("fabric"),
            last: vec![[Instant::ZERO; 2]; connections as usize],
            weather: Weather::default(),
        }
    }

    /// When a message that leaves now arrives: never before one that left earlier on the same
    /// connection, as over TCP.
    pub(crate) fn deliver(
        &mut self,
        now: Instant,
        connection: Connection,
        way: Direction,
    ) -> Instant {
        let mut delay_ns = self.link.delay.nanos();
        let jitter_ns = self.link.jitter.nanos();
        if jitter_ns > 0 {
            delay_ns += self.rng.exponential(jitter_ns as f64) as u64;
        }
        let message = Departure { now, connection, way };
        delay_ns = self.weather.delay(message, delay_ns, &mut self.rng);
        let last = &mut self.last[connection.index()][way as usize];
        *last = (now + Duration::from_nanos(delay_ns)).max(*last);
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_connection_keep_their_order_and_the_mean_delay_is_delay_plus_jitter() {
        let us = Duration::from_micros;
        let link = Link { delay: us(5), jitter: us(20) };
        let mut fabric = Fabric::new(link, 2, &Rng::from_seed(1));
        let mut last = Instant::ZERO;
        for sent in 0..1_000 {
            let left = Instant::ZERO + us(sent);
            let arrives = fabric.deliver(left, Connection(0), Direction::Requests);
            assert!(arrives >= last && arrives >= Instant::ZERO + us(sent + 5));
            last = arrives;
        }
        // Far apart, so that order holds nothing up.
        let total: u64 = (1..=10_000_u64)
            .map(|n| {
                let now = Instant::ZERO + us(10_000 * n);
                fabric.deliver(now, Connection(1), Direction::Answers).nanos_since(now)
            })
            .sum();
        assert!((24_000..26_000).contains(&(total / 10_000)));
    }
}
