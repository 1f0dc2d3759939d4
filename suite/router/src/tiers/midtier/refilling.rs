//! Steps by which an emptied leaf is given what others hold. Each request begins one where one is due, and waits for none.

use super::super::life::{self, LIST};
use super::super::refill::Step;
use super::super::replicas::Known;
use super::asking::{Asking, Call, store_request};
use super::{MidTier, Outcome, State};
use std::sync::Arc;
use tailwater_core::MethodId;
use tailwater_keyvalue::rpc::{self, Message};
use tailwater_rt::client::Answer;
use tailwater_rt::time::now;

/// A step under way; one that is dropped has failed.
struct UnderWay {
    midtier: Arc<MidTier>,
    is_over: bool,
}

impl Asking<'_> {
    /// Begins the next step of a refill, if one is due.
    pub(super) fn refill(&self) {
        let step = {
            let State { replicas, refills, .. } = &mut *self.midtier.state();
            refills.next(replicas, self.midtier.placement.replicas(), now())
        };
        match step {
            None => {}
            Some(Step::List { from, part }) => {
                let call = Call::of(from, &part.to_le_bytes());
                self.step(LIST, vec![(self.shard(from.0), call)], UnderWay::list);
            }
            Some(Step::Read { from, keys }) => {
                let call = |key: &Vec<u8>| {
                    let request = rpc::request(0, rpc::GET, |out| out.extend_from_slice(key));
                    (self.shard_of(from.0, key), Call::of(from, &request))
                };
                let calls = keys.iter().map(call).collect();
                self.step(rpc::GET, calls, move |step, outcomes| step.read(from, &keys, outcomes));
            }
            Some(Step::Give { to, values }) => {
                let call = |(key, value): (Vec<u8>, Vec<u8>)| {
                    let request = store_request(rpc::ADD, &key, &value);
                    (self.shard_of(to.0, &key), Call::of(to, &request))
                };
                let calls = values.into_iter().map(call).collect();
                self.step(rpc::ADD, calls, UnderWay::give);
            }
        }
    }

    /// Makes calls, by the connections that are said.
    fn step(
        &self,
        method: MethodId,
        calls: Vec<(usize, Call)>,
        then: impl FnOnce(UnderWay, &[Outcome]) + 'static,
    ) {
        let under_way = UnderWay { midtier: self.midtier.clone(), is_over: false };
        let (fan, listening) = self.prepare(method, calls);
        let until = now() + self.midtier.silence_max;
        fan.detach(until, move |outcomes| {
            listening.hear(&outcomes);
            then(under_way, &outcomes);
        });
    }
}

impl UnderWay {
    fn list(mut self, outcomes: &[Outcome]) {
        if let [Ok(Answer { status: 0, payload, .. })] = outcomes
            && let Some((next, keys)) =
                life::read(payload).and_then(|(_, list)| life::read_list(list))
        {
            self.is_over = true;
            self.midtier.state().refills.listed(&self.midtier.placement, next, keys);
        }
    }

    fn read(mut self, from: Known, keys: &[Vec<u8>], outcomes: &[Outcome]) {
        let mut values = Vec::new();
        for (key, outcome) in keys.iter().zip(outcomes) {
            match outcome {
                Ok(Answer { status: 0, payload, .. }) => {
                    let hit = life::read(payload).and_then(|(_, hit)| Message::read(hit));
                    let content = hit.filter(|hit| hit.key == key).and_then(|hit| hit.content);
                    let Some((_, value)) = content else { return };
                    values.push((key.clone(), value.to_vec()));
                }
                // It had to give way since it was listed.
                Ok(Answer { status: rpc::MISS, .. }) => {}
                _ => return,
            }
        }
        self.is_over = true;
        let State { replicas, refills, .. } = &mut *self.midtier.state();
        refills.read(replicas, from, values);
    }

    fn give(mut self, outcomes: &[Outcome]) {
        let is_there = |it: &Outcome| matches!(it, Ok(Answer { status: 0 | rpc::THERE, .. }));
        if outcomes.iter().all(is_there) {
            self.is_over = true;
            self.midtier.state().refills.given();
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if !self.is_over {
            let longest = self.midtier.silence_max;
            self.midtier.state().refills.failed(now(), longest / 10..=longest);
        }
    }
}
