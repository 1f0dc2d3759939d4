//! A request on its way: meets the replicas of its key, chooses among them, and makes its calls.

use super::super::life::{self, MEET, Meeting, OTHER};
use super::super::replicas::Heard;
use super::{LEAVES, MidTier, Outcome, State};
use crate::placement;
use crate::spooky::hash64;
use std::ops::Range;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::{Instant, MethodId};
use tailwater_keyvalue::rpc;
use tailwater_load::application::Unanswered;
use tailwater_rt::Request;
use tailwater_rt::client::{Answer, CallError};
use tailwater_rt::downstream::{self, Tier};
use tailwater_rt::time::now;

/// A call to an incarnation of a node.
pub(super) struct Call {
    node: u16,
    asked: u64,
    payload: Vec<u8>,
}

impl Call {
    pub(super) fn of(node: u16, asked: u64, request: &[u8]) -> Self {
        Self { node, asked, payload: life::of(asked, request) }
    }
}

/// A request on its way: whose calls they are, and for which key.
pub(super) struct Asking<'a> {
    pub(super) midtier: &'a MidTier,
    tier: Tier,
    request: &'a Request,
    pub(super) key: &'a [u8],
    pub(super) nodes: placement::Replicas,
    /// Of the connections to each node, that which the key's calls take.
    connection: usize,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        midtier: &'a MidTier,
        request: &'a Request,
        key: &'a [u8],
    ) -> Result<Self, Unanswered> {
        let tier = downstream::tier(LEAVES).ok_or(Unanswered::Wrong)?;
        let connections = (tier.shards() / midtier.nodes).max(1);
        let connection = (hash64(key, 1) % connections as u64) as usize;
        let nodes = midtier.placement.of(key);
        Ok(Self { midtier, tier, request, key, nodes, connection })
    }

    /// The connections to a node.
    fn shards(&self, node: u16) -> Range<usize> {
        let connections = (self.tier.shards() / self.midtier.nodes).max(1);
        let first = usize::from(node) * connections;
        first..first + connections
    }

    /// That of them which a key's calls take.
    fn shard(&self, node: u16) -> usize {
        self.shards(node).start + self.connection
    }

    /// Whether a call to a node would not wait for a connection, as far as is known.
    fn is_reached(&self, node: u16) -> bool {
        !self.shards(node).any(|shard| self.tier.has_trouble(shard))
    }

    /// Makes calls of one method, and hears how each ends.
    pub(super) async fn call(
        &self,
        method: MethodId,
        calls: Vec<Call>,
        patience: Duration,
    ) -> Vec<Outcome> {
        let made = now();
        let fan = self.tier.fan(self.request).by(made + patience).reached_only();
        let asked: Vec<_> = calls.iter().map(|call| (call.node, call.asked)).collect();
        let fan = calls
            .into_iter()
            .fold(fan, |fan, call| fan.call(self.shard(call.node), method.0, call.payload));
        let outcomes = fan.await;
        let mut state = self.midtier.state();
        for ((node, asked), outcome) in asked.into_iter().zip(&outcomes) {
            state.replicas.hear(node, asked, heard(outcome, made), now());
        }
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

    /// Meets the replicas of which that is due.
    pub(super) async fn meet(&self) {
        self.look();
        let due: Vec<_> = {
            let replicas = &mut self.midtier.state().replicas;
            let reached = self.nodes.nodes().iter().filter(|node| self.is_reached(**node));
            let meeting = |&node: &u16| Some((node, replicas.meeting(node, now())?));
            reached.filter_map(meeting).collect()
        };
        if due.is_empty() {
            return;
        }
        let patience = due.iter().map(|(_, (_, patience))| *patience).max().unwrap_or_default();
        let calls = due.iter().map(|(node, (it, _))| {
            // A lost one is not asked by any number: how this ends says nothing beside whether it was met.
            Call { node: *node, asked: 0, payload: it.bytes() }
        });
        let calls = calls.collect();
        let under_way = due.into_iter().map(|(node, (it, _))| (node, Some(it))).collect();
        let mut meetings = Meetings { midtier: self.midtier, under_way };
        let outcomes = self.call(MEET, calls, patience).await;
        meetings.end(&outcomes);
    }

    /// One of the replicas that have what was last written to the key: of those that answer, if there is one.
    pub(super) fn choose(&self, tried: &[u16]) -> Option<(u16, u64)> {
        self.look();
        let (nodes, mut state) = (self.nodes.nodes(), self.midtier.state());
        let State { replicas, chooser } = &mut *state;
        let may = |node: u16| !tried.contains(&node) && replicas.has_last(node, self.key);
        let answers = |node: u16| may(node) && replicas.answers(node);
        let chosen = chooser.choose(nodes, answers);
        let node = chosen.or_else(|| chooser.choose(nodes, may))?;
        Some((node, replicas.known(node)?))
    }

    /// Gives the value to those that have none of it, as they were emptied. They keep what was written meanwhile.
    pub(super) async fn copy(&self, lack: &[(u16, u64)], value: &[u8]) {
        if !lack.is_empty() {
            let request = store_request(rpc::ADD, self.key, value);
            let calls = lack.iter().map(|&(node, asked)| Call::of(node, asked, &request));
            // Whether they have it then need not be known: what they lack is asked of others.
            self.call(rpc::ADD, calls.collect(), self.midtier.silence_max).await;
        }
    }
}

/// Meetings under way: what a node is to forget is kept when the request ends before the node has answered.
struct Meetings<'a> {
    midtier: &'a MidTier,
    under_way: Vec<(u16, Option<Meeting>)>,
}

impl Meetings<'_> {
    fn end(&mut self, outcomes: &[Outcome]) {
        let replicas = &mut self.midtier.state().replicas;
        for ((node, meeting), outcome) in self.under_way.iter_mut().zip(outcomes) {
            if let Ok(Answer { status: 0, payload, .. }) = outcome
                && let Some((incarnation, is_kept)) = life::read_met(payload)
            {
                *meeting = None;
                replicas.met(*node, incarnation, is_kept, now());
            }
        }
    }
}

impl Drop for Meetings<'_> {
    fn drop(&mut self) {
        let replicas = &mut self.midtier.state().replicas;
        for (node, meeting) in &mut self.under_way {
            if let Some(meeting) = meeting.take() {
                replicas.not_met(*node, meeting);
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
