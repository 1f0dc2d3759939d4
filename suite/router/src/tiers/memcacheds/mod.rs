//! The mid-tier over memcacheds: [`nodes`](crate::nodes) carry out what its methods ask, by the same rules as for clients of
//! the proxy.
//!
//! One thread has one connection to each memcached. So all replicas carry out the writes of a key in one order, whatever
//! thread a handler is of.

mod questions;

use super::keys::{key_of, preloaded};
use super::wire::{self, BAD_REQUEST, EACH, GET, Held, Holds, MISS, NEEDED, SET};
use crate::caches::{Answer, Asker, Slot};
use crate::nodes::{Nodes, NodesConfig};
use crate::placement::Placement;
use questions::{Question, Questions, Said, Seen, Told, What};
use std::sync::Arc;
use tailwater_control::Reason;
use tailwater_core::Instant;
use tailwater_load::application::Unanswered;
use tailwater_rt::{Reply, Request, Router};

/// What commands may borrow that memcacheds have not taken.
const BUFFERS: usize = 16 << 20;
/// Keys that are stored at a time at the start: as many as keep the memcacheds busy.
const STORED_AT_ONCE: usize = 1_024;

/// The memcacheds, and where keys lie on them.
#[derive(Debug)]
pub(super) struct Memcacheds {
    asker: Asker<Question>,
    placement: Placement,
}

impl Memcacheds {
    /// Connects to them.
    ///
    /// # Errors
    /// A sentence for the operator when the kernel refuses a descriptor or a thread.
    pub(super) fn start(config: &NodesConfig, placement: Placement) -> Result<Self, String> {
        let nodes = Nodes::placed(config, placement.clone(), 0, BUFFERS);
        let questions = Questions::new(config.nodes.len());
        let asker = Asker::start(vec![nodes], questions).map_err(|error| error.to_string())?;
        Ok(Self { asker, placement })
    }

    /// Stores so many keys: what one of its replicas has, as a mid-tier before this one left it, or else what it has at first.
    ///
    /// # Errors
    /// A sentence for the operator when a replica does not store one.
    pub(super) fn store(&self, keys: u32) -> Result<(), String> {
        let replicas = self.placement.replicas();
        for first in (0..keys).step_by(STORED_AT_ONCE) {
            let batch = first..keys.min(first + STORED_AT_ONCE as u32);
            let ask = |key: u32, what: What| (key, self.ask(&key_of(key), what, None));
            let looked: Vec<(u32, Answer<Said>)> = batch.map(|key| ask(key, What::Each)).collect();
            let lacking = looked
                .into_iter()
                .filter_map(|(key, answer)| Some((key, lacks(key, answer.wait())?)));
            let asked: Vec<(u32, Answer<Said>)> =
                lacking.map(|(key, value)| ask(key, What::Set(value))).collect();
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

/// What all replicas of a key are to have; nothing where they have it.
fn lacks(key: u32, said: Result<Said, Unanswered>) -> Option<Vec<u8>> {
    let seen = match said {
        Ok(Said { told: Told::Each(seen), .. }) => seen,
        // What is set then is refused as well.
        Ok(_) | Err(_) => Vec::new(),
    };
    let found = seen.iter().find_map(|seen| match seen {
        Seen::Value(value) => Some(value.clone()),
        Seen::Nothing | Seen::Untold => None,
    });
    let value = found.unwrap_or_else(|| preloaded(key));
    let has_it = |seen: &Seen| matches!(seen, Seen::Value(found) if *found == value);
    let all_have_it = !seen.is_empty() && seen.iter().all(has_it);
    (!all_have_it).then_some(value)
}

async fn get(memcacheds: Arc<Memcacheds>, request: Request) -> Result<Reply, Reply> {
    let (tag, key) = wire::read_get(&request.payload).ok_or_else(bad)?;
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
    let what = What::Set(value.to_vec());
    let Said { upheavals, .. } = memcacheds.ask(key, what, request.deadline).await?;
    Ok(Reply::ok(wire::Answer { tag, upheavals, place: None, value: &[] }.bytes()))
}

async fn each(memcacheds: Arc<Memcacheds>, request: Request) -> Result<Reply, Reply> {
    let (tag, key) = wire::read_get(&request.payload).ok_or_else(bad)?;
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

fn bad() -> Reply {
    Reply::failure(BAD_REQUEST, NEEDED)
}
