//! `[sim]`: what the simulator is to assume of machine and network. Nothing else reads it.

use super::choices::{WAKES, Wake};
use super::section::Section;
use super::stalls::Stalls;
use super::times;
use crate::distribution::Distribution;
use crate::service::Service;
use std::time::Duration;

/// A simulated server and its network. The defaults are close to one loop on loopback.
#[derive(Clone, PartialEq, Debug)]
pub struct Sim {
    /// Cores that serve, equally many for each loop of the server. Default one for each. Cores of one
    /// loop share its queues: one loop with all of them is the central queue of the papers' testbeds.
    pub cores: u32,
    /// A core that finds nothing in its own loop takes the work of the loop that is furthest behind, as
    /// runtimes with work stealing do; ours does not. Default false.
    pub stealing: bool,
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
    /// What turning to a connection that has sent something costs the server beside that: its readiness, its
    /// read, its cold state. Once in each turn of a loop, so that it weighs more the more clients share the
    /// load. Default none.
    pub connection_cost: Duration,
    /// Messages of one connection that are received in one turn of a loop cost what one does. So do those that are
    /// sent over it. Default false: each costs as much.
    pub coalescing: bool,
    /// How long handlers run before waiting messages are parsed; zero: each is parsed at once, as by
    /// the dispatcher of Breakwater §3.1. Default 50 µs.
    pub parse_every: Duration,
    /// Where a request goes that was handed a lock. Default to the front.
    pub wake: Wake,
    /// From waking a sleeping thread until it runs on an idle core, drawn for each wake-up. Default 26 µs.
    pub wake_up: Service,
    /// What it costs a thread to wake another one, on an idle core, for a request that it hands over. Default 10 µs.
    pub hand_over: Duration,
    /// What it costs a core to turn to another thread. Default 2.5 µs.
    pub switch: Duration,
    /// When the machine takes a core away, and for how long: `tailwater probe` measures it. Default never.
    pub stalls: Stalls,
}

impl Sim {
    /// Of a server with so many loops.
    pub(super) fn read(section: &Section<'_>, loops: u32) -> Self {
        let cost =
            |key, default_ns| section.duration(key).unwrap_or(Duration::from_nanos(default_ns));
        Self {
            cores: cores(section, loops),
            stealing: stealing(section, loops),
            rtt: cost("rtt", 25_000),
            jitter: cost("jitter", 0),
            receive: cost("receive", 1_700),
            send: cost("send", 2_700),
            shed: cost("shed", 1_000),
            connection_cost: cost("connection", 0),
            coalescing: section.truth("coalescing").unwrap_or(false),
            parse_every: cost("parse_every", 50_000),
            wake: section.choice("wake", WAKES).unwrap_or(Wake::Front),
            // Medians of a two-core virtual machine. A futex's wake-up after a sleep of 50 µs, and what it costs the
            // waker. Half a ping-pong of two threads over pipes on one core.
            wake_up: section.item("wake_up").and_then(|item| times::read(&item)).unwrap_or(
                Service { distribution: Distribution::Constant, mean: Duration::from_micros(26) },
            ),
            hand_over: cost("hand_over", 10_000),
            switch: cost("switch", 2_500),
            stalls: section.item("stalls").map(|item| Stalls::read(&item)).unwrap_or_default(),
        }
    }
}

fn cores(section: &Section<'_>, loops: u32) -> u32 {
    let Some(item) = section.item("cores") else { return loops };
    let cores: u32 = item.whole().unwrap_or(loops);
    if !cores.is_multiple_of(loops) {
        item.wrong::<()>(format_args!("a multiple of the {loops} loops of the server"));
    }
    cores
}

fn stealing(section: &Section<'_>, loops: u32) -> bool {
    let Some(item) = section.item("stealing") else { return false };
    let stealing = item.truth().unwrap_or(false);
    if stealing && loops == 1 {
        item.problem(format!(
            "{} is given, but there is one loop, whose cores share its queue; leave it out, or set \
             server.loops",
            item.name
        ));
    }
    stealing
}
