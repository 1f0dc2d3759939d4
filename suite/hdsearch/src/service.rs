//! The mid-tier's handler, over the tier [`LEAVES`].

use crate::leaf::BAD_REQUEST;
use crate::midtier::MidTier;
use crate::wire;
use std::sync::Arc;
use tailwater_rt::client::CallError;
use tailwater_rt::{Reply, Request, Router, downstream};

/// The name of the tier of leaves, of which shard i is leaf i.
pub const LEAVES: &str = "leaf";

/// The status of an answer when a leaf cannot be asked, or answers something else; the answer says why.
pub const NO_ANSWER: u16 = 502;

/// The method, which asks the leaves. A query whose leaves do not all answer is refused as they refused it: part of
/// an answer is none.
#[must_use]
pub fn router(midtier: Arc<MidTier>) -> Router {
    Router::new().route(wire::SEARCH.0, move |request| answer(Arc::clone(&midtier), request))
}

async fn answer(midtier: Arc<MidTier>, request: Request) -> Result<Reply, Reply> {
    let (tag, query) = wire::read_request(&request.payload, midtier.dimensions())
        .map_err(|error| Reply::failure(BAD_REQUEST, &error.to_string()))?;
    let mut plan = midtier.plan(&query);
    let leaves = downstream::tier(LEAVES)
        .ok_or_else(|| Reply::failure(NO_ANSWER, "found no tier \"leaf\"; name its servers"))?;
    let mut fan = leaves.fan(&request).fail_fast();
    let mut asked = Vec::with_capacity(plan.calls.len());
    for call in plan.calls.drain(..) {
        asked.push(call.leaf);
        fan = fan.call(call.leaf, wire::DISTANCES.0, call.request);
    }
    let mut answers = Vec::with_capacity(asked.len());
    for (leaf, outcome) in asked.into_iter().zip(fan.await) {
        match outcome {
            Ok(answer) if answer.status == 0 => answers.push((leaf, answer.payload)),
            Ok(answer) => {
                return Err(Reply::failure(NO_ANSWER, &String::from_utf8_lossy(&answer.payload)));
            }
            Err(CallError::NotAwaited) => {}
            Err(CallError::Shed(reason)) => return Err(Reply::Shed(reason)),
            Err(error) => return Err(Reply::failure(NO_ANSWER, &format!("leaf {leaf}: {error}"))),
        }
    }
    let answers = answers.iter().map(|(leaf, bytes)| (*leaf, &bytes[..]));
    let found = midtier
        .merge(answers, query.neighbours.into())
        .map_err(|error| Reply::failure(NO_ANSWER, &error.to_string()))?;
    Ok(Reply::ok(wire::answer(&plan.answer(tag, found))))
}
