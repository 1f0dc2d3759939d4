//! The mid-tier's handler, over the tier [`LEAVES`].

use crate::midtier::MidTier;
use crate::wire::{self, BAD_REQUEST, PREDICT};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tailwater_load::application::Unanswered;
use tailwater_rt::{Reply, Request, Router, downstream};

/// The name of the tier of leaves.
pub const LEAVES: &str = "leaf";

/// The method, which asks all leaves. A query whose leaves do not all answer is refused as they refused it: part of an
/// answer is none.
#[must_use]
pub fn router(midtier: MidTier) -> Router {
    let service = Arc::new(Service { midtier, turn: AtomicUsize::new(0) });
    Router::new().route(PREDICT.0, move |request| answer(Arc::clone(&service), request))
}

struct Service {
    midtier: MidTier,
    /// Counts queries: a leaf has as many connections as the scenario says, which are used in turn.
    turn: AtomicUsize,
}

async fn answer(service: Arc<Service>, request: Request) -> Result<Reply, Reply> {
    let Service { midtier, turn } = &*service;
    let bad = |why: wire::WireError| Reply::failure(BAD_REQUEST, &why.to_string());
    let (tag, query) = wire::read_request(&request.payload).map_err(bad)?;
    let (method, payload) = midtier.plan(query).map_err(bad)?;
    let tier = downstream::tier(LEAVES).ok_or(Unanswered::Wrong)?;
    let leaves = midtier.leaves as usize;
    let connections = (tier.shards() / leaves).max(1);
    // Relaxed: which connection is used orders nothing.
    let turn = turn.fetch_add(1, Ordering::Relaxed) % connections;
    let payload = Bytes::from(payload);
    let fan = (0..leaves).fold(tier.fan(&request).fail_fast(), |fan, leaf| {
        fan.call(leaf * connections + turn, method.0, payload.clone())
    });
    let (mut answers, mut reasons) = (Vec::with_capacity(leaves), Vec::new());
    for outcome in fan.await {
        match outcome {
            Ok(answer) if answer.status == 0 => answers.push(answer.payload),
            Ok(_) => reasons.push(Unanswered::Wrong),
            Err(error) => reasons.extend(Unanswered::because_of(&error)),
        }
    }
    if let Some(why) = Unanswered::worst(reasons) {
        return Err(why.into());
    }
    if answers.len() < leaves {
        // Calls that are not awaited any more were given up because of another, which says why.
        return Err(Unanswered::Wrong.into());
    }
    let answers = answers.iter().map(|bytes| &bytes[..]);
    let rating = midtier.merge(query, answers).map_err(|_| Unanswered::Wrong)?;
    Ok(Reply::ok(wire::answer(tag, rating)))
}
