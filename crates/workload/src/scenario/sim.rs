//! `[sim]`: what the simulator is to assume of machine and network. Nothing else reads it.

use super::limits;
use super::section::Section;
use super::stalls::Stalls;
use std::time::Duration;

/// A simulated server and its network. The defaults are close to one loop on loopback.
#[derive(Clone, PartialEq, Debug)]
pub struct Sim {
    /// Cores that serve. Default 1.
    pub cores: u32,
    /// A round trip through the network, without the server. Default 25 µs.
    pub rtt: Duration,
    /// Mean of an exponential delay on top of each way. Default none.
    pub jitter: Duration,
    /// What receiving a message costs the server. Default 1.7 µs.
    pub receive: Duration,
    /// What sending a message costs the server. Default 2.7 µs.
    pub send: Duration,
    /// What deciding on a reject and building it costs beside that. Default 1 µs.
    pub shed: Duration,
    /// How long handlers run before waiting messages are parsed; zero: each is parsed at once, as by
    /// the dispatcher of Breakwater §3.1. Default 50 µs.
    pub parse_every: Duration,
    /// When the machine takes a core away, and for how long: `tailwater probe` measures it. Default never.
    pub stalls: Stalls,
}

pub(super) const KEYS: &[&str] =
    &["cores", "rtt", "jitter", "receive", "send", "shed", "parse_every", "stalls"];

impl Sim {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let cost = |key, default_ns| {
            let cost = section.duration(key, Duration::ZERO..=limits::COST_MAX);
            cost.unwrap_or(Duration::from_nanos(default_ns))
        };
        Self {
            cores: section.whole("cores", 1..=limits::THREADS_MAX).unwrap_or(1),
            rtt: cost("rtt", 25_000),
            jitter: cost("jitter", 0),
            receive: cost("receive", 1_700),
            send: cost("send", 2_700),
            shed: cost("shed", 1_000),
            parse_every: cost("parse_every", 50_000),
            stalls: section.item("stalls").map(|item| Stalls::read(&item)).unwrap_or_default(),
        }
    }
}
