//! What each replica of a key holds, for those that compare them.

use super::super::replicas::{Known, Replicas};
use super::super::wire::{self, BAD_REQUEST, Held, Holds, NEEDED};
use super::asking::{Asking, Call};
use super::{MidTier, Outcome, life, rpc};
use std::sync::Arc;
use tailwater_keyvalue::rpc::Message;
use tailwater_rt::client::Answer;
use tailwater_rt::{Reply, Request};

/// Asks each replica that may be asked for the key. These calls are made in one turn, as those of a write are. So all replicas
/// carry them out between the same two writes.
pub(super) async fn each(midtier: Arc<MidTier>, request: Request) -> Result<Reply, Reply> {
    let (tag, key) =
        wire::read_get(&request.payload).ok_or_else(|| Reply::failure(BAD_REQUEST, NEEDED))?;
    let asking = Asking::new(&midtier, &request, key)?;
    asking.until_none_is_strange().await;
    asking.refill();
    asking.look();
    let (asked, cold): (Vec<Known>, Vec<bool>) = {
        let replicas = &midtier.state().replicas;
        let asked = standing(replicas, asking.nodes.nodes(), key);
        let cold = asked.iter().map(|known| replicas.is_cold(known.0)).collect();
        (asked, cold)
    };
    let payload = rpc::request(0, rpc::GET, |out| out.extend_from_slice(key));
    let calls: Vec<Call> = asked.iter().map(|known| Call::of(*known, &payload)).collect();
    let outcomes = if calls.is_empty() { Vec::new() } else { asking.call(rpc::GET, calls).await };
    let held: Vec<Held<'_>> = {
        let replicas = &midtier.state().replicas;
        // One that was lost meanwhile, or has missed a write, is not asked for the key any more.
        let still = standing(replicas, asking.nodes.nodes(), key);
        let held = |&node: &u16| {
            let place = asked.iter().position(|known| known.0 == node && still.contains(known));
            // One that was refilled meanwhile may have been asked before it had the key.
            let is_cold = |at: usize| cold[at] || replicas.is_cold(node);
            let holds = place.map_or(Holds::Untold, |at| holds(&outcomes[at], key, is_cold(at)));
            Held { node, holds }
        };
        asking.nodes.nodes().iter().map(held).collect()
    };
    Ok(Reply::ok(midtier.answer(tag, &wire::each(&held))))
}

/// Those of the nodes that may be asked for the key.
fn standing(replicas: &Replicas, nodes: &[u16], key: &[u8]) -> Vec<Known> {
    let has_last = nodes.iter().filter(|node| replicas.has_last(**node, key));
    has_last.filter_map(|&node| Some((node, replicas.known(node)?))).collect()
}

fn holds<'a>(outcome: &'a Outcome, key: &[u8], is_cold: bool) -> Holds<'a> {
    match outcome {
        Ok(Answer { status: 0, payload, .. }) => {
            let hit = life::read(payload).and_then(|(_, hit)| Message::read(hit));
            let content = hit.filter(|hit| hit.key == key).and_then(|hit| hit.content);
            // Another key's value is none of this key, whatever it says.
            content.map_or(Holds::Value(&[]), |(_, value)| Holds::Value(value))
        }
        Ok(Answer { status: rpc::MISS, .. }) if is_cold => Holds::Lacks,
        Ok(Answer { status: rpc::MISS, .. }) => Holds::Nothing,
        Ok(_) | Err(_) => Holds::Untold,
    }
}
