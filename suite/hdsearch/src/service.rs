//! The mid-tier's handler, over the tier [`LEAVES`].

use crate::leaf::BAD_REQUEST;
use crate::midtier::MidTier;
use crate::wire;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tailwater_load::application::Unanswered;
use tailwater_rt::{Reply, Request, Router, downstream};

/// The name of the tier of leaves, of which shard i is leaf i.
pub const LEAVES: &str = "leaf";

/// The method, which asks the leaves. A query whose leaves do not all answer is refused as they refused it: part of
/// an answer is none.
#[must_use]
pub fn router(midtier: MidTier) -> Router {
    let service = Arc::new(Service { midtier, turn: AtomicUsize::new(0) });
    Router::new().route(wire::SEARCH.0, move |request| answer(Arc::clone(&service), request))
}

struct Service {
    midtier: MidTier,
    /// Counts queries: a leaf has as many connections as the scenario says, which are used in turn.
    turn: AtomicUsize,
}

async fn answer(service: Arc<Service>, request: Request) -> Result<Reply, Reply> {
    let Service { midtier, turn } = &*service;
    let (tag, query) = wire::read_request(&request.payload, midtier.dimensions())
        .map_err(|error| Reply::failure(BAD_REQUEST, &error.to_string()))?;
    let calls = midtier.plan(&query);
    let leaves = downstream::tier(LEAVES).ok_or(Unanswered::Wrong)?;
    let connections = (leaves.shards() / midtier.leaves()).max(1);
    // Relaxed: which connection is used orders nothing.
    let turn = turn.fetch_add(1, Ordering::Relaxed) % connections;
    let mut fan = leaves.fan(&request).fail_fast();
    let mut asked = Vec::with_capacity(calls.len());
    for call in calls {
        asked.push(call.leaf);
        fan = fan.call(call.leaf * connections + turn, wire::DISTANCES.0, call.request);
    }
    let (mut answers, mut reasons) = (Vec::with_capacity(asked.len()), Vec::new());
    for (leaf, outcome) in asked.iter().zip(fan.await) {
        match outcome {
            Ok(answer) if answer.status == 0 => answers.push((*leaf, answer.payload)),
            Ok(_) => reasons.push(Unanswered::Wrong),
            Err(error) => reasons.extend(Unanswered::because_of(&error)),
        }
    }
    if let Some(why) = Unanswered::worst(reasons) {
        return Err(why.into());
    }
    if answers.len() < asked.len() {
        // Calls that are not awaited any more were given up because of another, which says why.
        return Err(Unanswered::Wrong.into());
    }
    let answers = answers.iter().map(|(leaf, bytes)| (*leaf, &bytes[..]));
    let answer = midtier.merge(tag, answers, query.neighbours.into());
    Ok(Reply::ok(wire::answer(&answer.map_err(|_| Unanswered::Wrong)?)))
}
