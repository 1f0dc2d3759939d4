//! A thread's part: sends what its handlers ask, and brings them the answers.

use super::TierConfig;
use super::counts::Tallies;
use super::desk::Desk;
use super::part::Part;
use crate::client::{ChannelConfig, Exchange, Order, Replica, drawn_number};
use crate::net::DialError;
use crate::poll::{EventBell, Poller, Readiness};
use crate::time::now;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::retry::HedgeCounts;
use tailwater_core::Instant;

/// The poller's key of the first channel. Connections are numbered below: a loop has at most 2^24 of them.
const FIRST_KEY: u64 = 1 << 31;
/// The poller's key of the bell by which the crew ends a sleep: no channel has it, and no loop either.
pub(super) const CREW: u64 = u64::MAX - 2;

/// Most reads of a channel when it has its go: a mebibyte.
const READS: usize = 16;
/// Bytes of one read.
const SCRATCH: usize = 64 << 10;
/// Calls of a turn to one shard for which a list is kept.
const KEPT: usize = 1_024;
/// The longest sleep of a thread that waits for its handler's calls. Whether the thread is needed for something else is
/// asked between two: its bell cannot be watched, as it may have been rung for what the thread cannot do now.
const NAP: Duration = Duration::from_millis(10);

/// Whether the poller means a channel to another tier. The loop's own sources have been looked at before.
pub(crate) const fn is_downstream(key: u64) -> bool {
    key & FIRST_KEY != 0
}

/// One exchange for each shard of each tier, and when each must have its turn.
pub(super) struct Stage {
    desk: Rc<Desk>,
    /// A part of the thread's own: of the channels alone.
    poller: Poller,
    /// Rung by the crew, if there is one.
    bell: Option<EventBell>,
    shards: Vec<Shard>,
    /// The first poller key of each shard, in order; then the first that none has.
    keys: Vec<u64>,
    /// The earliest time of a turn of any shard.
    due: Option<Instant>,
    /// When its poller was asked last.
    looked: Instant,
    ready: Vec<Readiness>,
    scratch: Vec<u8>,
}

struct Shard {
    exchange: Exchange<Part>,
    /// Where second tries are counted, and what was told there last.
    tallies: Arc<Tallies>,
    told: HedgeCounts,
    /// Why a server is not reached, as the desk was told last.
    trouble: Option<DialError>,
    /// For its next turn: calls to be made, and the tokens of those that nobody awaits.
    orders: Vec<Order<Part>>,
    given_up: Vec<u64>,
    /// Something has happened since its last turn.
    is_touched: bool,
    due: Option<Instant>,
}

impl Stage {
    pub(super) fn new(
        tiers: &[TierConfig],
        desk: Rc<Desk>,
        poller: Poller,
        bell: Option<EventBell>,
    ) -> Self {
        let (mut shards, mut keys) = (Vec::new(), vec![FIRST_KEY]);
        // Each thread of each process is a client of its own: with the same number all would be at home at the
        // same replicas, and come back in step.
        let drawn = drawn_number();
        for tier in tiers {
            for servers in tier.shards() {
                let key = keys[shards.len()];
                let number = drawn.wrapping_add(shards.len() as u64);
                shards.push(Shard::new(tier, servers, key, number));
                keys.push(key + servers.len() as u64);
            }
        }
        // The first turn begins to connect.
        let due = (!shards.is_empty()).then_some(Instant::ZERO);
        let scratch = vec![0; if shards.is_empty() { 0 } else { SCRATCH }];
        let (looked, ready) = (Instant::ZERO, Vec::new());
        Self { desk, poller, bell, shards, keys, due, looked, ready, scratch }
    }

    /// How many sockets the poller may tell of.
    pub(super) fn sockets(&self) -> usize {
        let channels = self.keys.last().map_or(0, |end| (end - FIRST_KEY) as usize);
        channels + usize::from(self.bell.is_some())
    }

    pub(super) fn on_ready(&mut self, time: Instant, readiness: Readiness) {
        if readiness.key == CREW {
            return self.bell.iter().for_each(EventBell::hush);
        }
        let index = self.keys.partition_point(|&first| first <= readiness.key);
        let Some(shard) = index.checked_sub(1).and_then(|index| self.shards.get_mut(index)) else {
            return;
        };
        // The answers to a turn's requests come by few sockets, each request by one of many.
        for _ in 0..READS {
            if !shard.exchange.on_ready(time, &self.poller, readiness, &mut self.scratch) {
                break;
            }
        }
        shard.is_touched = true;
        self.due = Some(Instant::ZERO);
    }

    /// Sends what handlers have asked, and ends calls. The desk has the wakers of the handlers that have what
    /// they need. True if there was something to do.
    pub(super) fn turn(&mut self, time: Instant) -> bool {
        self.take();
        if self.due.is_none_or(|due| due > time) {
            return false;
        }
        for (index, shard) in self.shards.iter_mut().enumerate() {
            shard.turn(time, &self.poller);
            if shard.orders.capacity() > 0 {
                self.desk.return_list(index, &mut shard.orders);
            }
            if let Some(trouble) = shard.news_of_trouble() {
                self.desk.set_trouble(index, trouble);
            }
        }
        self.due = self.shards.iter().filter_map(|shard| shard.due).min();
        true
    }

    /// Sleeps until a channel has something, the crew rings, or a turn or `other` is due; for [`NAP`] at most. How long
    /// it slept.
    pub(super) fn nap(&mut self, other: Option<Instant>) -> Duration {
        let began = now();
        let until = [self.due, other].into_iter().flatten().fold(began + NAP, Instant::min);
        self.poll(until.since(began)).since(began)
    }

    /// Takes what the channels have now.
    pub(super) fn look(&mut self) {
        self.poll(Duration::ZERO);
    }

    /// When the wait was over.
    fn poll(&mut self, timeout: Duration) -> Instant {
        let mut ready = std::mem::take(&mut self.ready);
        self.poller.wait(Some(timeout), &mut ready);
        let time = now();
        for readiness in ready.drain(..) {
            self.on_ready(time, readiness);
        }
        self.ready = ready;
        self.looked = time;
        time
    }

    pub(super) const fn looked(&self) -> Instant {
        self.looked
    }

    pub(super) const fn next_due(&self) -> Option<Instant> {
        self.due
    }

    /// Takes what handlers have left.
    fn take(&mut self) {
        if self.desk.is_empty() {
            return;
        }
        for (shard, token) in self.desk.notes().take_given_up() {
            self.touch(shard).given_up.push(token);
        }
        for (index, shard) in self.shards.iter_mut().enumerate() {
            if self.desk.ordered() == 0 {
                break;
            }
            self.desk.take_orders(index, &mut shard.orders);
            shard.is_touched |= !shard.orders.is_empty();
        }
        self.due = Some(Instant::ZERO);
    }

    fn touch(&mut self, shard: usize) -> &mut Shard {
        let shard = &mut self.shards[shard];
        shard.is_touched = true;
        shard
    }
}

/// Gives the memory of a burst back. A list that was shorter is used again in the next turn.
fn give_back(orders: &mut Vec<Order<Part>>) {
    if orders.capacity() > KEPT {
        *orders = Vec::new();
    }
}

impl Shard {
    /// `number` decides which replica is its own, and its jitter.
    fn new(tier: &TierConfig, servers: &[ChannelConfig], first_key: u64, number: u64) -> Self {
        let replica = |(index, config): (u64, &ChannelConfig)| {
            Replica::nth(index, config.clone(), number, |seed| tier.half(seed))
        };
        let replicas = (0..).zip(servers).map(replica).collect();
        let choice = tier.choice(servers.len(), number);
        Self {
            exchange: Exchange::new(replicas, choice, first_key),
            tallies: tier.tallies().clone(),
            told: HedgeCounts::default(),
            trouble: None,
            orders: Vec::new(),
            given_up: Vec::new(),
            is_touched: true,
            due: None,
        }
    }

    /// Why a server is not reached from now on, if that has changed; inner `None`: all are.
    fn news_of_trouble(&mut self) -> Option<Option<String>> {
        let trouble = self.exchange.trouble();
        if trouble == self.trouble.as_ref() {
            return None;
        }
        self.trouble = trouble.cloned();
        Some(self.trouble.as_ref().map(ToString::to_string))
    }

    fn turn(&mut self, time: Instant, poller: &Poller) {
        if !self.is_touched && self.due.is_none_or(|due| due > time) {
            return;
        }
        for token in self.given_up.drain(..) {
            self.exchange.give_up(time, token);
        }
        self.exchange.turn(time, poller, self.orders.drain(..));
        give_back(&mut self.orders);
        let counts = self.exchange.hedge_counts();
        if counts != self.told {
            self.tallies.add(counts, std::mem::replace(&mut self.told, counts));
        }
        // What was done at the end may call for a decision.
        self.is_touched = self.exchange.has_news(time);
        self.due = if self.is_touched { Some(time) } else { self.exchange.next_deadline(time) };
    }
}
