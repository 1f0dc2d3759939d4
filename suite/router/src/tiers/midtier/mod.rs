//! The mid-tier: writes go to all replicas of a key, a read to one of them.
//!
//! A write is acknowledged when each replica has stored it or has failed, and one has stored it. Replicas that may hold
//! something else by then are not asked for the key. One that was lost is met before it is asked anything.
//!
//! All replicas must carry out the writes of a key in one order. So one thread makes all calls, and those of a key go over
//! one connection to each replica.

mod asking;
mod each;
mod meeting;
mod refilling;
mod second;

use super::life::{self, OTHER};
use super::refill::Refills;
use super::replicas::{End, Replicas};
use super::wire::{self, BAD_REQUEST, EACH, GET, MISS, NEEDED, SET};
use crate::choice::Chooser;
use crate::parts::Part;
use crate::placement::Placement;
use asking::{Asking, Call, store_request};
use each::each;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_control::retry::{HedgeConfig, Hedges};
use tailwater_keyvalue::rpc::{self, Message};
use tailwater_load::application::Unanswered;
use tailwater_rt::client::{Answer, CallError};
use tailwater_rt::time::now;
use tailwater_rt::{Reply, Request, Router};

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
    replicas: Replicas,
    chooser: Chooser,
    meetings: Meetings,
    refills: Refills,
    /// Second tries of gets, if there are some.
    hedges: Option<Hedges>,
}

/// Meetings of leaves, and the requests that wait for the end of one: each of these is in the server anyway.
#[derive(Debug, Default)]
struct Meetings {
    ended: u64,
    /// Numbers the waits.
    waits: u64,
    waiting: BTreeMap<u64, Waker>,
}

type Outcome = Result<Answer, CallError>;

impl MidTier {
    /// Over so many nodes, of which one is lost that answers nothing for `silence_max`.
    #[must_use]
    pub fn new(
        placement: Placement,
        chooser: Chooser,
        (nodes, silence_max): (usize, Duration),
    ) -> Self {
        let replicas = Replicas::new(nodes, silence_max);
        let (meetings, refills) = Default::default();
        let state = State { replicas, chooser, meetings, refills, hedges: None };
        Self { placement, nodes, silence_max, state: Mutex::new(state) }
    }

    /// The same with a second try for gets that are late, where a key has a second replica.
    #[must_use]
    pub fn hedged(self, hedge: HedgeConfig) -> Self {
        if self.placement.replicas() > 1 {
            self.state().hedges = Some(Hedges::new(hedge));
        }
        self
    }

    /// Its methods.
    #[must_use]
    pub fn router(self) -> Router {
        let of_get = Arc::new(self);
        let (of_set, of_each) = (of_get.clone(), of_get.clone());
        Router::new()
            .route(GET.0, move |request| get(of_get.clone(), request))
            .route(SET.0, move |request| set(of_set.clone(), request))
            .route(EACH.0, move |request| each(of_each.clone(), request))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of no replica alone.
    fn answer(&self, tag: u64, value: &[u8]) -> Vec<u8> {
        self.answer_of(None, tag, value)
    }

    /// Of the replica at this place in the key's order.
    fn answer_of(&self, place: Option<usize>, tag: u64, value: &[u8]) -> Vec<u8> {
        let upheavals = self.state().replicas.upheavals();
        // Of a few replicas.
        let place = place.and_then(|place| u8::try_from(place).ok());
        wire::Answer { tag, upheavals, place, value }.bytes()
    }
}

/// A write under way. Where its request ends before it, the replicas may differ, and that is noted.
struct Writing<'a> {
    asking: &'a Asking<'a>,
    number: u64,
    ends: Vec<End>,
    is_over: bool,
}

impl<'a> Writing<'a> {
    /// Its calls are made next.
    fn begin(asking: &'a Asking<'a>) -> Self {
        let replicas = &mut asking.midtier.state().replicas;
        let known =
            asking.nodes.nodes().iter().filter_map(|&node| Some((node, replicas.known(node)?)));
        let ends = known.map(|(node, asked)| End { node, asked, part: Part::Lost }).collect();
        Self { asking, number: replicas.begin_write(), ends, is_over: false }
    }

    /// Whether a replica has stored it.
    fn end(&mut self) -> bool {
        self.is_over = true;
        let asking = self.asking;
        let replicas = &mut asking.midtier.state().replicas;
        let write = (self.number, asking.key);
        replicas.end_write(write, asking.nodes.nodes(), &self.ends, now())
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.end();
        }
    }
}

async fn get(midtier: Arc<MidTier>, request: Request) -> Result<Reply, Reply> {
    let (tag, key) =
        wire::read_get(&request.payload).ok_or_else(|| Reply::failure(BAD_REQUEST, NEEDED))?;
    let asking = Asking::new(&midtier, &request, key)?;
    asking.until_one_is_met().await;
    asking.refill();
    let payload = rpc::request(0, rpc::GET, |out| out.extend_from_slice(key));
    let (mut tried, mut lack) = (Vec::new(), Vec::new());
    while let Some(first) = asking.next(&tried).await {
        tried.push(first.0);
        let (mut found, mut ends) = (None, None);
        for (known, outcome) in asking.get(first, &payload, &mut tried).await {
            match outcome {
                Ok(Answer { status: 0, payload, .. }) => found = Some((known.0, payload)),
                // Another may have it still.
                Ok(Answer { status: rpc::MISS, .. }) => lack.push(known),
                Ok(Answer { status: OTHER, .. }) => {}
                Ok(_) => ends = Some(Unanswered::Wrong),
                Err(error) if is_over(&error, &request) => {
                    ends = Some(Unanswered::because_of(&error).unwrap_or(Unanswered::Wrong));
                }
                Err(_) => {}
            }
        }
        if let Some((node, payload)) = found {
            let hit = life::read(&payload).and_then(|(_, hit)| Message::read(hit));
            let content = hit.filter(|hit| hit.key == key).and_then(|hit| hit.content);
            let (_, value) = content.ok_or(Unanswered::Wrong)?;
            asking.copy(&lack, value);
            let place = asking.nodes.nodes().iter().position(|replica| *replica == node);
            return Ok(Reply::ok(midtier.answer_of(place, tag, value)));
        }
        if let Some(why) = ends {
            return Err(why.into());
        }
    }
    // One that was not heard of may have it, and so may one that is not asked since it has missed a write. Where all were
    // emptied, what they had is lost, and none of them knows whether that was something.
    let is_cold = |(node, _): &(u16, u64)| midtier.state().replicas.is_cold(*node);
    if lack.len() < midtier.placement.replicas() || lack.iter().all(is_cold) {
        return Err(Unanswered::Refused(Reason::Unavailable).into());
    }
    Ok(Reply::Response { status: MISS, payload: midtier.answer(tag, &[]) })
}

async fn set(midtier: Arc<MidTier>, request: Request) -> Result<Reply, Reply> {
    let wire::Set { tag, key, value } =
        wire::read_set(&request.payload).ok_or_else(|| Reply::failure(BAD_REQUEST, NEEDED))?;
    let asking = Asking::new(&midtier, &request, key)?;
    asking.until_none_is_strange().await;
    asking.refill();
    asking.look();
    let payload = store_request(rpc::SET, key, value);
    // Nothing is awaited between the number and the calls, so writes are numbered as they are made.
    let mut writing = Writing::begin(&asking);
    let calls = writing.ends.iter().map(|end| Call::of((end.node, end.asked), &payload)).collect();
    let outcomes = asking.call(rpc::SET, calls).await;
    let mut reasons = Vec::new();
    for (end, outcome) in writing.ends.iter_mut().zip(&outcomes) {
        end.part = part(outcome);
        match outcome {
            Ok(Answer { status: 0, .. }) => {}
            // It has no room; what it had of the key it may have still.
            Ok(Answer { status: rpc::OUT_OF_MEMORY, .. }) => {
                reasons.push(Unanswered::Refused(Reason::QueueFull));
            }
            Ok(Answer { status: OTHER, .. }) => {}
            Ok(_) => reasons.push(Unanswered::Wrong),
            Err(error) => reasons.extend(Unanswered::because_of(error)),
        }
    }
    let (is_stored, worst) = (writing.end(), Unanswered::worst(reasons));
    if is_stored && worst != Some(Unanswered::Wrong) {
        return Ok(Reply::ok(midtier.answer(tag, &[])));
    }
    let none_is_there = Unanswered::Refused(Reason::Unavailable);
    Err(worst.unwrap_or(none_is_there).into())
}

/// What the end of a call says of the write that it was.
const fn part(outcome: &Outcome) -> Part {
    match outcome {
        Ok(Answer { status: 0, .. }) => Part::Done,
        Ok(Answer { status: rpc::OUT_OF_MEMORY | OTHER, .. })
        | Err(
            CallError::Shed(_)
            | CallError::Expired
            | CallError::QueueFull
            | CallError::TooLong { .. },
        ) => Part::Refused,
        // Sent, and not answered by the store: whether it was carried out is not known.
        Ok(_) | Err(_) => Part::Lost,
    }
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
