//! The mid-tier: writes go to all replicas of a key, a read to one of them.
//!
//! A write is acknowledged when each replica has stored it or has failed, and one has stored it. A replica that has failed
//! is not asked for the key until it has stored a later write. One whose connection was lost, or that is silent for too
//! long, is not asked again. While one is silent, reads go to others.
//!
//! All replicas must carry out the writes of a key in one order. So one thread makes all calls, and those of a key go over
//! one connection to each replica.

use super::stale::Nodes;
use super::wire::{self, BAD_REQUEST, GET, MISS, NEEDED, SET};
use crate::choice::Chooser;
use crate::placement::Placement;
use crate::spooky::hash64;
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_keyvalue::rpc::{self, Message};
use tailwater_load::application::Unanswered;
use tailwater_rt::client::{Answer, CallError};
use tailwater_rt::time::now;
use tailwater_rt::{Reply, Request, Router, downstream};

/// The name of the tier of stores.
pub const LEAVES: &str = "leaf";

/// Where keys are, and which of the replicas is asked.
#[derive(Debug)]
pub struct MidTier {
    placement: Placement,
    nodes: usize,
    /// A node that answers nothing for so long is lost.
    silence_max: Duration,
    // Of one thread: never contended.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    nodes: Nodes,
    chooser: Chooser,
    /// Numbers writes in the order in which their calls are made.
    writes: u64,
}

impl MidTier {
    /// Over so many nodes, of which one is lost that answers nothing for `silence_max`.
    #[must_use]
    pub fn new(
        placement: Placement,
        chooser: Chooser,
        (nodes, silence_max): (usize, Duration),
    ) -> Self {
        let state = Mutex::new(State { nodes: Nodes::new(nodes), chooser, writes: 0 });
        Self { placement, nodes, silence_max, state }
    }

    /// Its methods.
    #[must_use]
    pub fn router(self) -> Router {
        let of_get = Arc::new(self);
        let of_set = of_get.clone();
        Router::new()
            .route(GET.0, move |request| get(of_get.clone(), request))
            .route(SET.0, move |request| set(of_set.clone(), request))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of the replicas that have what was last written to a key: of those that answer, if there is one.
    fn choose(&self, key: &[u8], tried: &[u16]) -> Option<u16> {
        let (replicas, mut state) = (self.placement.of(key), self.state());
        let State { nodes, chooser, .. } = &mut *state;
        let may = |node: u16| !tried.contains(&node) && nodes.has_last(node, key);
        let answers = |node: u16| may(node) && nodes.answers(node);
        chooser.choose(replicas.nodes(), answers).or_else(|| chooser.choose(replicas.nodes(), may))
    }

    /// Learns from how a call to a node has ended.
    fn hear(&self, node: u16, outcome: &Result<Answer, CallError>) {
        let nodes = &mut self.state().nodes;
        match outcome {
            // It may have forgotten what it had.
            Err(CallError::Disconnected | CallError::Shed(Reason::Draining)) => nodes.lose(node),
            // Not reached, or not heard of.
            Err(CallError::Expired | CallError::TimedOut) => {
                nodes.is_silent(node, now(), self.silence_max);
            }
            Ok(_) | Err(CallError::Shed(_) | CallError::Runtime(_)) => nodes.has_answered(node),
            Err(_) => {}
        }
    }

    /// The connection to a node that a key's calls take.
    fn shard(&self, shards: usize, node: u16, key: &[u8]) -> usize {
        let connections = (shards / self.nodes).max(1);
        usize::from(node) * connections + (hash64(key, 1) % connections as u64) as usize
    }
}

async fn get(midtier: Arc<MidTier>, request: Request) -> Result<Reply, Reply> {
    let (tag, key) =
        wire::read_get(&request.payload).ok_or_else(|| Reply::failure(BAD_REQUEST, NEEDED))?;
    let tier = downstream::tier(LEAVES).ok_or(Unanswered::Wrong)?;
    let payload = Bytes::from(rpc::request(0, rpc::GET, |out| out.extend_from_slice(key)));
    let (mut tried, mut misses) = (Vec::new(), 0);
    while let Some(node) = midtier.choose(key, &tried) {
        tried.push(node);
        let shard = midtier.shard(tier.shards(), node, key);
        let fan = tier.fan(&request).by(now() + midtier.silence_max);
        let outcomes = fan.call(shard, rpc::GET.0, payload.clone()).await;
        let outcome = outcomes.into_iter().next().ok_or(Unanswered::Wrong)?;
        midtier.hear(node, &outcome);
        match outcome {
            Ok(Answer { status: 0, payload, .. }) => {
                let hit = Message::read(&payload).filter(|hit| hit.key == key);
                let (_, value) = hit.and_then(|hit| hit.content).ok_or(Unanswered::Wrong)?;
                return Ok(Reply::ok(wire::answer(tag, value)));
            }
            // Another may have it still.
            Ok(Answer { status: rpc::MISS, .. }) => misses += 1,
            Ok(_) => return Err(Unanswered::Wrong.into()),
            Err(error) if is_over(&error, &request) => {
                let why = Unanswered::because_of(&error);
                return Err(why.unwrap_or(Unanswered::Wrong).into());
            }
            Err(_) => {}
        }
    }
    // One that was not heard of may have it, and so may one that is not asked since it has missed a write.
    if misses < midtier.placement.replicas() {
        return Err(Unanswered::Refused(Reason::Draining).into());
    }
    Ok(Reply::Response { status: MISS, payload: wire::answer(tag, &[]) })
}

async fn set(midtier: Arc<MidTier>, request: Request) -> Result<Reply, Reply> {
    let wire::Set { tag, key, value } =
        wire::read_set(&request.payload).ok_or_else(|| Reply::failure(BAD_REQUEST, NEEDED))?;
    let tier = downstream::tier(LEAVES).ok_or(Unanswered::Wrong)?;
    let mut payload = rpc::request(0, rpc::SET, |out| out.extend_from_slice(key));
    payload.extend_from_slice(&0_u32.to_le_bytes());
    payload.extend_from_slice(value);
    let payload = Bytes::from(payload);
    let replicas = midtier.placement.of(key);
    let (asked, write) = {
        let mut state = midtier.state();
        state.writes += 1;
        let there = replicas.nodes().iter().copied().filter(|&node| state.nodes.is_there(node));
        (there.collect::<Vec<u16>>(), state.writes)
    };
    // Nothing is awaited between the number and the calls, so writes are numbered as they are made.
    let fan = tier.fan(&request).by(now() + midtier.silence_max);
    let fan = asked.iter().fold(fan, |fan, &node| {
        fan.call(midtier.shard(tier.shards(), node, key), rpc::SET.0, payload.clone())
    });
    let outcomes = fan.await;
    let (mut stored, mut failed, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    for (&node, outcome) in asked.iter().zip(outcomes) {
        midtier.hear(node, &outcome);
        match outcome {
            Ok(Answer { status: 0, .. }) => stored.push(node),
            // It has no room; what it had of the key it may have still.
            Ok(Answer { status: rpc::OUT_OF_MEMORY, .. }) => {
                failed.push(node);
                reasons.push(Unanswered::Refused(Reason::QueueFull));
            }
            Ok(_) => return Err(Unanswered::Wrong.into()),
            Err(error) => {
                failed.push(node);
                reasons.extend(Unanswered::because_of(&error));
            }
        }
    }
    if stored.is_empty() {
        let none_is_there = Unanswered::Refused(Reason::Draining);
        return Err(Unanswered::worst(reasons).unwrap_or(none_is_there).into());
    }
    let mut state = midtier.state();
    failed.into_iter().for_each(|node| state.nodes.miss(node, key, write));
    stored.into_iter().for_each(|node| state.nodes.store(node, key, write));
    Ok(Reply::ok(wire::answer(tag, &[])))
}

/// Whether another replica is of no use: the request's time is over, or this one has refused it under load, to which another
/// try would add.
fn is_over(error: &CallError, request: &Request) -> bool {
    match error {
        CallError::Disconnected | CallError::Shed(Reason::Draining) => false,
        CallError::Expired | CallError::TimedOut => {
            request.deadline.is_some_and(|deadline| deadline <= now())
        }
        _ => true,
    }
}
