//! The mid-tier over memcacheds: [`nodes`](crate::nodes) carry out what its methods ask, by the same rules as for clients of
//! the proxy.
//!
//! One thread has one connection to each memcached. So all replicas carry out the writes of a key in one order, whatever
//! thread a handler is of.

mod questions;

use super::keys::{key_of, preloaded};
use super::wire::{self, BAD_REQUEST, EACH, GET, Held, Holds, MISS, NEEDED, SET};
use crate::caches::{Answer, Asker, BUFFERS, Slot};
use crate::choice::Choice;
use crate::nodes::{Nodes, NodesConfig};
use crate::placement::Placement;
use questions::{Question, Questions, Said, Seen, Told, What};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_control::retry::HedgeConfig;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::parse::is_key;
use tailwater_load::application::Unanswered;
use tailwater_rt::{Address, Reply, Request, Router};

/// Keys that are stored at a time at the start: as many as keep the memcacheds busy.
const STORED_AT_ONCE: usize = 1_024;

/// How memcacheds are used, wherever they listen.
#[derive(Clone, Debug)]
pub(super) struct BackEnd {
    pub(super) placement: Placement,
    pub(super) choice: Choice,
    pub(super) silence_max: Duration,
    pub(super) hedge: Option<HedgeConfig>,
    /// How many keys are stored at the start.
    pub(super) keys: u32,
}

impl BackEnd {
    /// The same for those at these addresses.
    pub(super) fn config(&self, nodes: &[Address]) -> NodesConfig {
        NodesConfig {
            replicas: self.placement.replicas(),
            choice: self.choice,
            timeout: self.silence_max,
            hedge: self.hedge,
            ..NodesConfig::new(nodes.to_vec())
        }
    }

    /// Connects to them, and stores every key at all its replicas.
    ///
    /// # Errors
    /// As [`Memcacheds::start`] and [`Memcacheds::store`].
    pub(super) fn stored(&self, config: &NodesConfig) -> Result<Memcacheds, String> {
        let memcacheds = Memcacheds::start(config, self.placement.clone())?;
        memcacheds.store(self.keys)?;
        Ok(memcacheds)
    }
}

/// The memcacheds, and where keys lie on them.
#[derive(Debug)]
pub(super) struct Memcacheds {
    asker: Asker<Question>,
    placement: Placement,
    /// Of the nodes.
    names: Vec<String>,
    /// See [`NodesConfig::settle`].
    settle: Duration,
}

impl Memcacheds {
    /// Connects to them.
    ///
    /// # Errors
    /// A sentence for the operator when the kernel refuses a descriptor or a thread.
    fn start(config: &NodesConfig, placement: Placement) -> Result<Self, String> {
        let nodes = Nodes::placed(config, placement.clone(), 0, BUFFERS);
        let questions = Questions::new(config.nodes.len());
        let asker = Asker::start(vec![nodes], questions).map_err(|error| error.to_string())?;
        let names = config.nodes.iter().map(ToString::to_string).collect();
        Ok(Self { asker, placement, names, settle: config.settle })
    }

    /// Stores so many keys at all their replicas: what these have, as a mid-tier before this one left it, or else what keys have
    /// at first.
    ///
    /// # Errors
    /// A sentence for the operator when a replica does not tell what it has or does not store, or replicas have different values.
    fn store(&self, keys: u32) -> Result<(), String> {
        let mut has_settled = false;
        for first in (0..keys).step_by(STORED_AT_ONCE) {
            let batch = first..keys.min(first + STORED_AT_ONCE as u32);
            let mut seen = self.look(batch.clone());
            let is_value = |seen: &Seen| matches!(seen, Seen::Value(_));
            if !has_settled && seen.iter().flatten().any(is_value) {
                // Writes of the mid-tier before may still be under way.
                std::thread::sleep(self.settle);
                has_settled = true;
                seen = self.look(batch.clone());
            }
            let mut asked: Vec<(u32, Answer<Said>)> = Vec::new();
            for (key, seen) in batch.zip(seen) {
                let lacking = self.lacks(key, &seen)?;
                asked.extend(
                    lacking.map(|value| (key, self.ask(&key_of(key), What::Set(value), None))),
                );
            }
            let replicas = self.placement.replicas();
            for (key, answer) in asked {
                let stored = match answer.wait() {
                    Ok(Said { told: Told::Stored(stored), .. }) => stored,
                    Ok(_) | Err(_) => 0,
                };
                if stored < replicas {
                    return Err(format!(
                        "key-{key} could be stored by {stored} of the {replicas} memcacheds that are to hold it; each must \
                         answer, and have room: raise -m in tier.command, or lower server.settings.keys"
                    ));
                }
            }
        }
        Ok(())
    }

    /// What the replicas of these keys have.
    fn look(&self, keys: Range<u32>) -> Vec<Vec<Seen>> {
        let asked: Vec<Answer<Said>> =
            keys.map(|key| self.ask(&key_of(key), What::Each, None)).collect();
        let seen = |answer: Answer<Said>| match answer.wait() {
            Ok(Said { told: Told::Each(seen), .. }) => seen,
            Ok(_) | Err(_) => vec![Seen::Untold; self.placement.replicas()],
        };
        asked.into_iter().map(seen).collect()
    }

    /// What all replicas of a key are to be given; nothing where they have it.
    fn lacks(&self, key: u32, seen: &[Seen]) -> Result<Option<Vec<u8>>, String> {
        if let Some(place) = seen.iter().position(|seen| *seen == Seen::Untold) {
            let node = self.placement.of(&key_of(key)).nodes()[place];
            let name = &self.names[usize::from(node)];
            return Err(format!(
                "the memcached at {name} does not tell what it has of key-{key}; each must answer at the start"
            ));
        }
        let mut values = seen.iter().filter_map(|seen| match seen {
            Seen::Value(value) => Some(value),
            Seen::Nothing | Seen::Untold => None,
        });
        let Some(value) = values.next() else { return Ok(Some(preloaded(key))) };
        let others: Vec<_> = values.collect();
        // Which of them was acknowledged last, only the mid-tier before has known.
        if others.iter().any(|other| *other != value) {
            return Err(format!(
                "memcacheds have different values of key-{key}, which a mid-tier before this one has left; empty them all \
                 (flush_all), or start them anew"
            ));
        }
        Ok((1 + others.len() < seen.len()).then(|| value.clone()))
    }

    /// The methods of the mid-tier.
    pub(super) fn router(self) -> Router {
        let of_get = Arc::new(self);
        let (of_set, of_each) = (of_get.clone(), of_get.clone());
        Router::new()
            .route(GET.0, move |request| get(of_get.clone(), request))
            .route(SET.0, move |request| set(of_set.clone(), request))
            .route(EACH.0, move |request| each(of_each.clone(), request))
    }

    fn ask(&self, key: &[u8], what: What, deadline: Option<Instant>) -> Answer<Said> {
        let slot = Arc::new(Slot::default());
        let question = Question { key: key.to_vec(), what, deadline, filler: slot.filler() };
        if let Err(question) = self.asker.leave(question) {
            question.filler.fill(Err(Unanswered::Refused(Reason::QueueFull)));
        }
        slot.answer()
    }
}

async fn get(memcacheds: Arc<Memcacheds>, request: Request) -> Result<Reply, Reply> {
    let (tag, key) = wire::read_get(&request.payload).ok_or_else(bad)?;
    is_sound(key)?;
    let Said { told, upheavals } = memcacheds.ask(key, What::Get, request.deadline).await?;
    let answer =
        |place: Option<u8>, value: &[u8]| wire::Answer { tag, upheavals, place, value }.bytes();
    match told {
        Told::Value(node, value) => {
            let replicas = memcacheds.placement.of(key);
            let place = replicas.nodes().iter().position(|replica| *replica == node);
            // Of a few replicas.
            let place = place.and_then(|place| u8::try_from(place).ok());
            Ok(Reply::ok(answer(place, &value)))
        }
        Told::Missing => Ok(Reply::Response { status: MISS, payload: answer(None, &[]) }),
        Told::Stored(_) | Told::Each(_) => Err(Unanswered::Wrong.into()),
    }
}

async fn set(memcacheds: Arc<Memcacheds>, request: Request) -> Result<Reply, Reply> {
    let wire::Set { tag, key, value } = wire::read_set(&request.payload).ok_or_else(bad)?;
    is_sound(key)?;
    let what = What::Set(value.to_vec());
    let Said { upheavals, .. } = memcacheds.ask(key, what, request.deadline).await?;
    Ok(Reply::ok(wire::Answer { tag, upheavals, place: None, value: &[] }.bytes()))
}

async fn each(memcacheds: Arc<Memcacheds>, request: Request) -> Result<Reply, Reply> {
    let (tag, key) = wire::read_get(&request.payload).ok_or_else(bad)?;
    is_sound(key)?;
    let Said { told, upheavals } = memcacheds.ask(key, What::Each, request.deadline).await?;
    let Told::Each(seen) = told else { return Err(Unanswered::Wrong.into()) };
    let replicas = memcacheds.placement.of(key);
    let held = replicas.nodes().iter().zip(&seen);
    let held: Vec<Held<'_>> = held.map(|(&node, seen)| Held { node, holds: holds(seen) }).collect();
    let value = &wire::each(&held);
    Ok(Reply::ok(wire::Answer { tag, upheavals, place: None, value }.bytes()))
}

fn holds(seen: &Seen) -> Holds<'_> {
    match seen {
        Seen::Untold => Holds::Untold,
        Seen::Nothing => Holds::Nothing,
        Seen::Value(value) => Holds::Value(value),
    }
}

/// memcached reads lines: what stands behind a space or a line's end would be another command.
fn is_sound(key: &[u8]) -> Result<(), Reply> {
    let needed = "a key without spaces and control characters is needed, as memcached has it";
    if is_key(key) { Ok(()) } else { Err(Reply::failure(BAD_REQUEST, needed)) }
}

fn bad() -> Reply {
    Reply::failure(BAD_REQUEST, NEEDED)
}
