//! A request on its way: chooses among the replicas of its key, and makes its calls.

use super::super::life::{self, OTHER};
use super::super::replicas::{Heard, Known, Replicas};
use super::{LEAVES, MidTier, Outcome, State};
use crate::placement;
use crate::spooky::hash64;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::{Instant, MethodId};
use tailwater_keyvalue::rpc;
use tailwater_load::application::Unanswered;
use tailwater_rt::Request;
use tailwater_rt::client::{Answer, CallError};
use tailwater_rt::downstream::{self, Fan, Tier};
use tailwater_rt::time::now;

/// A call to an incarnation of a node.
pub(super) struct Call {
    node: u16,
    asked: u64,
    payload: Vec<u8>,
}

impl Call {
    pub(super) fn of((node, asked): Known, request: &[u8]) -> Self {
        Self { node, asked, payload: life::of(asked, request) }
    }
}

/// Calls under way. One that is given up before it was heard was late, if it was out for `patience`.
pub(super) struct Listening {
    midtier: Arc<MidTier>,
    asked: Vec<Known>,
    made: Instant,
    patience: Duration,
}

/// A request on its way: whose calls they are, and for which key.
pub(super) struct Asking<'a> {
    pub(super) midtier: &'a Arc<MidTier>,
    pub(super) tier: Tier,
    request: &'a Request,
    pub(super) key: &'a [u8],
    pub(super) nodes: placement::Replicas,
    /// Of the connections to each node, that which the key's calls take.
    connection: usize,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        midtier: &'a Arc<MidTier>,
        request: &'a Request,
        key: &'a [u8],
    ) -> Result<Self, Unanswered> {
        let tier = downstream::tier(LEAVES).ok_or(Unanswered::Wrong)?;
        let connection = connection_of(&tier, midtier.nodes, key);
        let nodes = midtier.placement.of(key);
        Ok(Self { midtier, tier, request, key, nodes, connection })
    }

    /// The connections to a node.
    fn shards(&self, node: u16) -> Range<usize> {
        let connections = (self.tier.shards() / self.midtier.nodes).max(1);
        let first = usize::from(node) * connections;
        first..first + connections
    }

    /// That of them which the key's calls take.
    pub(super) fn shard(&self, node: u16) -> usize {
        self.shards(node).start + self.connection
    }

    /// That of them which another key's calls take.
    pub(super) fn shard_of(&self, node: u16, key: &[u8]) -> usize {
        self.shards(node).start + connection_of(&self.tier, self.midtier.nodes, key)
    }

    /// When its answer is worthless.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.request.deadline
    }

    /// Whether a call to a node would not wait for a connection, as far as is known.
    pub(super) fn is_reached(&self, node: u16) -> bool {
        !self.shards(node).any(|shard| self.tier.has_trouble(shard))
    }

    /// Calls that wait for no connection which was lost.
    pub(super) fn fan(&self) -> Fan {
        self.tier.fan(self.request).reached_only()
    }

    /// Calls of one method, by the connections that are said, and what is to hear of them.
    pub(super) fn prepare(&self, method: MethodId, calls: Vec<(usize, Call)>) -> (Fan, Listening) {
        let asked = calls.iter().map(|(_, call)| (call.node, call.asked)).collect();
        let patience = self.midtier.silence_max / 10;
        let listening = Listening { midtier: self.midtier.clone(), asked, made: now(), patience };
        let fan = calls
            .into_iter()
            .fold(self.fan(), |fan, (shard, call)| fan.call(shard, method.0, call.payload));
        (fan, listening)
    }

    /// The same of the key itself.
    fn prepare_own(&self, method: MethodId, calls: Vec<Call>) -> (Fan, Listening) {
        let calls = calls.into_iter().map(|call| (self.shard(call.node), call));
        self.prepare(method, calls.collect())
    }

    /// Makes calls of one method, and hears how each ends.
    pub(super) async fn call(&self, method: MethodId, calls: Vec<Call>) -> Vec<Outcome> {
        let (fan, listening) = self.prepare_own(method, calls);
        self.end(fan, listening).await
    }

    /// What a replica says of the key. Given up within `patience`, it was not late.
    pub(super) async fn ask(&self, known: Known, payload: &[u8], patience: Duration) -> Outcome {
        let (fan, mut listening) = self.prepare_own(rpc::GET, vec![Call::of(known, payload)]);
        listening.patience = patience;
        let outcomes = self.end(fan, listening).await;
        outcomes.into_iter().next().unwrap_or(Err(CallError::Expired))
    }

    async fn end(&self, fan: Fan, listening: Listening) -> Vec<Outcome> {
        let outcomes = fan.by(listening.made + self.midtier.silence_max).await;
        listening.hear(&outcomes);
        outcomes
    }

    /// Loses the replicas whose connections are: a call would wait for another one.
    pub(super) fn look(&self) {
        let mut state = self.midtier.state();
        for &node in self.nodes.nodes() {
            if state.replicas.known(node).is_some() && !self.is_reached(node) {
                state.replicas.lose(node, now());
            }
        }
    }

    /// One of the replicas that have what was last written to the key: of those that answer, if there is one.
    pub(super) fn choose(&self, tried: &[u16]) -> Option<Known> {
        self.look();
        self.choose_answering(tried).or_else(|| self.choose_where(tried, |_, _| true))
    }

    /// One of those that answer.
    fn choose_answering(&self, tried: &[u16]) -> Option<Known> {
        let time = now();
        self.choose_where(tried, |replicas, node| replicas.answers(node, time))
    }

    fn choose_where(&self, tried: &[u16], is: impl Fn(&Replicas, u16) -> bool) -> Option<Known> {
        let mut state = self.midtier.state();
        let State { replicas, chooser, .. } = &mut *state;
        let may = |node: u16| {
            !tried.contains(&node) && replicas.has_last(node, self.key) && is(replicas, node)
        };
        let node = chooser.choose(self.nodes.nodes(), may)?;
        let asked = replicas.known(node)?;
        replicas.on_get(node, now());
        Some((node, asked))
    }

    /// Gives the value to those that have none of it, as they were emptied. They keep what was written meanwhile. Whether they
    /// have it then need not be known, so nothing waits for it: what they lack is asked of others.
    pub(super) fn copy(&self, lack: &[Known], value: &[u8]) {
        if !lack.is_empty() {
            let request = store_request(rpc::ADD, self.key, value);
            let calls = lack.iter().map(|known| Call::of(*known, &request)).collect();
            let (fan, listening) = self.prepare_own(rpc::ADD, calls);
            let until = listening.made + self.midtier.silence_max;
            fan.detach(until, move |outcomes| listening.hear(&outcomes));
        }
    }
}

/// The connections of a node are numbered alike; which of them a key's calls take.
fn connection_of(tier: &Tier, nodes: usize, key: &[u8]) -> usize {
    let connections = (tier.shards() / nodes).max(1);
    (hash64(key, 1) % connections as u64) as usize
}

impl Listening {
    pub(super) fn hear(mut self, outcomes: &[Outcome]) {
        let mut state = self.midtier.state();
        for ((node, asked), outcome) in std::mem::take(&mut self.asked).into_iter().zip(outcomes) {
            state.replicas.hear(node, asked, heard(outcome, self.made), now());
        }
    }
}

/// Given up, since another has answered or the request has ended: so far nothing came.
impl Drop for Listening {
    fn drop(&mut self) {
        let is_late = now().since(self.made) >= self.patience;
        if is_late && !self.asked.is_empty() {
            let mut state = self.midtier.state();
            for (node, asked) in std::mem::take(&mut self.asked) {
                state.replicas.hear(node, asked, Heard::Late, now());
            }
        }
    }
}

/// A request that stores a value.
pub(super) fn store_request(method: MethodId, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut payload = rpc::request(0, method, |out| out.extend_from_slice(key));
    payload.extend_from_slice(&0_u32.to_le_bytes());
    payload.extend_from_slice(value);
    payload
}

/// What the end of a call that was made at this time says of its node.
const fn heard(outcome: &Outcome, made: Instant) -> Heard {
    match outcome {
        // Whose connection is lost may have restarted, and what it was sent it may carry out yet.
        Err(CallError::Disconnected | CallError::Shed(Reason::Draining))
        | Ok(Answer { status: OTHER, .. }) => Heard::Gone,
        Err(CallError::TimedOut) => Heard::Silence(made),
        Ok(_) | Err(CallError::Shed(_) | CallError::Runtime(_)) => Heard::Answer,
        // Given up here, before it was sent.
        Err(_) => Heard::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::super::part;
    use super::*;
    use crate::parts::Part;

    #[test]
    fn a_call_that_was_not_sent_says_nothing_of_the_leaf_and_changes_nothing_there() {
        for error in [CallError::Expired, CallError::QueueFull] {
            assert_eq!(heard(&Err(error), Instant::ZERO), Heard::Nothing, "{error}");
            assert_eq!(part(&Err(error)), Part::Refused, "{error}");
        }
        assert_eq!(heard(&Err(CallError::TimedOut), Instant::ZERO), Heard::Silence(Instant::ZERO));
        assert_eq!(part(&Err(CallError::TimedOut)), Part::Lost);
    }

    #[test]
    fn another_incarnation_is_another_leaf() {
        let answer = Answer { status: OTHER, payload: vec![], sojourn: Duration::ZERO };
        assert_eq!(heard(&Ok(answer.clone()), Instant::ZERO), Heard::Gone);
        assert_eq!(part(&Ok(answer)), Part::Refused);
    }
}
