//! A leaf that was emptied gets what others hold: a state machine without a socket.
//!
//! It goes through all that the whole leaves hold, part by part, and gives the leaf what belongs there and is not there. When it
//! has been through, and none of these leaves was lost or has missed a write meanwhile, the leaf lacks nothing: it is warm
//! again. For that each of its keys must have a whole replica. So fewer leaves than a key has replicas may be cold or lost, or
//! have missed a write.
//!
//! What is written meanwhile goes to the leaf as well, and is kept there: values are added only where nothing is.

use super::replicas::{Known, Replicas};
use crate::placement::Placement;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::Duration;
use tailwater_core::Instant;

/// Keys of one step: requests go on beside it.
const KEYS_AT_ONCE: usize = 16;

/// What is asked next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Which keys a leaf holds, from this part on.
    List { from: Known, part: u32 },
    /// What a leaf holds of these keys.
    Read { from: Known, keys: Vec<Vec<u8>> },
    /// That a leaf takes these values where it has none.
    Give { to: Known, values: Vec<(Vec<u8>, Vec<u8>)> },
}

/// The refills of all cold leaves, a step at a time.
#[derive(Debug, Default)]
pub(super) struct Refills {
    /// One for each cold leaf. The first goes on; one whose step has failed goes behind the others.
    queue: VecDeque<Refill>,
    /// A step of the first is under way.
    is_asking: bool,
}

#[derive(Debug)]
struct Refill {
    to: Known,
    /// The whole leaves, of which the first so many have been gone through.
    sources: Vec<Known>,
    through: usize,
    /// Where the next one is gone on with.
    part: u32,
    /// Keys that are to be copied from a leaf.
    keys: VecDeque<(Known, Vec<u8>)>,
    /// Those of them that are read and given now, until they were given.
    batch: Vec<(Known, Vec<u8>)>,
    /// What was read of these.
    values: Vec<(Vec<u8>, Vec<u8>)>,
    /// After steps that failed, no other is made before that.
    not_before: Instant,
    /// The pause after the next one that fails.
    pause: Option<Duration>,
}

impl Refills {
    /// The next step, if one is due. It is under way until one of the functions below is called.
    pub(super) fn next(
        &mut self,
        replicas: &mut Replicas,
        of_key: usize,
        now: Instant,
    ) -> Option<Step> {
        if self.is_asking {
            return None;
        }
        self.queue.retain(|refill| refill.is_sound(replicas));
        self.begin(replicas, of_key);
        let at = self.queue.iter().position(|refill| refill.not_before <= now)?;
        self.queue.rotate_left(at);
        let step = self.queue.front_mut()?.step();
        if step.is_none() {
            let done = self.queue.pop_front()?;
            replicas.is_refilled(done.to.0);
        }
        self.is_asking = step.is_some();
        step
    }

    /// Takes up the cold leaves that none is for.
    fn begin(&mut self, replicas: &Replicas, of_key: usize) {
        let known = |node| Some((node, replicas.known(node)?));
        for to in (0..replicas.count()).filter(|node| replicas.is_cold(*node)).filter_map(known) {
            if self.queue.iter().all(|refill| refill.to != to) {
                self.queue.extend(Refill::of(to, replicas, of_key));
            }
        }
    }

    /// A leaf has listed keys; a next part of zero means that these were the last.
    pub(super) fn listed(&mut self, placement: &Placement, next: u32, keys: Vec<Vec<u8>>) {
        if let Some(refill) = self.succeeded() {
            refill.listed(placement, next, keys);
        }
    }

    /// A leaf has said what it holds of some keys. It may have missed a write of one meanwhile.
    pub(super) fn read(
        &mut self,
        replicas: &Replicas,
        from: Known,
        values: Vec<(Vec<u8>, Vec<u8>)>,
    ) {
        if let Some(refill) = self.succeeded() {
            let is_last = |(key, _): &(Vec<u8>, Vec<u8>)| replicas.has_last(from.0, key);
            refill.values = values.into_iter().filter(is_last).collect();
            if refill.values.is_empty() {
                refill.batch.clear();
            }
        }
    }

    /// The leaf has what it was given, or had something.
    pub(super) fn given(&mut self) {
        if let Some(refill) = self.succeeded() {
            refill.batch.clear();
        }
    }

    fn succeeded(&mut self) -> Option<&mut Refill> {
        self.is_asking = false;
        let refill = self.queue.front_mut()?;
        refill.pause = None;
        Some(refill)
    }

    /// A step was not carried out. It is tried again after a pause, and others go on meanwhile. Pauses double up to the longest.
    pub(super) fn failed(&mut self, now: Instant, pauses: RangeInclusive<Duration>) {
        self.is_asking = false;
        if let Some(mut refill) = self.queue.pop_front() {
            refill.undo();
            let pause = refill.pause.unwrap_or(*pauses.start());
            refill.not_before = now + pause;
            refill.pause = Some((pause * 2).min(*pauses.end()));
            self.queue.push_back(refill);
        }
    }
}

impl Refill {
    /// Of a cold leaf, where each of its keys has a whole replica.
    fn of(to: Known, replicas: &Replicas, of_key: usize) -> Option<Self> {
        let known = (0..replicas.count()).filter_map(|node| Some((node, replicas.known(node)?)));
        let sources: Vec<Known> = known.filter(|(node, _)| replicas.is_whole(*node)).collect();
        let without = usize::from(replicas.count()) - sources.len();
        let (through, part, keys, batch, values, not_before, pause) = Default::default();
        (without < of_key).then_some(Self {
            to,
            sources,
            through,
            part,
            keys,
            batch,
            values,
            not_before,
            pause,
        })
    }

    /// Whether all are as they were when it began.
    fn is_sound(&self, replicas: &Replicas) -> bool {
        let is_there = |(node, incarnation): &Known| replicas.known(*node) == Some(*incarnation);
        let is_whole = |source: &Known| is_there(source) && replicas.is_whole(source.0);
        is_there(&self.to) && self.sources.iter().all(is_whole)
    }

    fn step(&mut self) -> Option<Step> {
        if !self.values.is_empty() {
            return Some(Step::Give { to: self.to, values: std::mem::take(&mut self.values) });
        }
        if let Some(&(from, _)) = self.keys.front() {
            let count = self.keys.len().min(KEYS_AT_ONCE);
            self.batch = self.keys.drain(..count).collect();
            let keys = self.batch.iter().map(|(_, key)| key.clone()).collect();
            return Some(Step::Read { from, keys });
        }
        let from = *self.sources.get(self.through)?;
        Some(Step::List { from, part: self.part })
    }

    /// What was read and not given is read anew: it may have been written since.
    fn undo(&mut self) {
        self.values.clear();
        for key in self.batch.drain(..).rev() {
            self.keys.push_front(key);
        }
    }

    fn listed(&mut self, placement: &Placement, next: u32, keys: Vec<Vec<u8>>) {
        let Some(&from) = self.sources.get(self.through) else { return };
        let is_wanted = |key: &Vec<u8>| {
            let nodes = placement.of(key);
            let holds = |known: &&Known| nodes.nodes().contains(&known.0);
            // Of several that hold it, one gives it.
            nodes.nodes().contains(&self.to.0) && self.sources.iter().find(holds) == Some(&from)
        };
        let wanted: Vec<_> = keys.into_iter().filter(is_wanted).map(|key| (from, key)).collect();
        self.keys.extend(wanted);
        self.part = next;
        self.through += usize::from(next == 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::Rule;

    const PAUSE: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Three leaves of the incarnations 10, 11 and 12, of which these are cold; a key is on two of them.
    fn leaves(cold: &[u16]) -> (Replicas, Placement) {
        let names = ["a", "b", "c"].map(String::from);
        let placement = Placement::new(Rule::Jump, &names, 2).expect("sound");
        let mut replicas = Replicas::new(3, PAUSE * 10);
        for node in 0..3 {
            replicas.meeting(node, at(0)).expect("due");
            replicas.met(node, 10 + u64::from(node), !cold.contains(&node), at(0));
        }
        (replicas, placement)
    }

    fn keys(range: std::ops::Range<u32>) -> Vec<Vec<u8>> {
        range.map(|key| format!("key-{key}").into_bytes()).collect()
    }

    #[test]
    fn an_emptied_leaf_is_given_all_that_belongs_there_once_and_is_warm_then() {
        let (mut replicas, placement) = leaves(&[1]);
        let mut refills = Refills::default();
        let mut given = Vec::new();
        while let Some(step) = refills.next(&mut replicas, 2, at(0)) {
            assert_eq!(refills.next(&mut replicas, 2, at(0)), None, "one at a time");
            match step {
                Step::List { from, part } => {
                    let held = |key: &Vec<u8>| placement.of(key).nodes().contains(&from.0);
                    let range = if part == 0 { 0..50 } else { 50..100 };
                    let listed = keys(range).into_iter().filter(held).collect();
                    refills.listed(&placement, u32::from(part == 0) * 7, listed);
                }
                Step::Read { from, keys } => {
                    assert!(keys.len() <= KEYS_AT_ONCE);
                    let values = keys.into_iter().map(|key| (key, b"value".to_vec())).collect();
                    refills.read(&replicas, from, values);
                }
                Step::Give { to, values } => {
                    assert_eq!(to, (1, 11));
                    given.extend(values.into_iter().map(|(key, _)| key));
                    assert!(replicas.is_cold(1));
                    refills.given();
                }
            }
        }
        given.sort_unstable();
        let mut wanted = keys(0..100);
        wanted.retain(|key| placement.of(key).nodes().contains(&1));
        wanted.sort_unstable();
        assert_eq!(given, wanted);
        assert!(!replicas.is_cold(1));
    }

    #[test]
    fn where_a_key_may_have_no_warm_replica_nothing_is_begun() {
        for cold in [&[0, 1][..], &[0, 1, 2]] {
            let (mut replicas, _) = leaves(cold);
            assert_eq!(Refills::default().next(&mut replicas, 2, at(0)), None, "{cold:?}");
        }
        let (mut replicas, _) = leaves(&[0]);
        replicas.lose(2, at(0));
        assert_eq!(Refills::default().next(&mut replicas, 2, at(0)), None, "one is lost");
        assert!(Refills::default().next(&mut replicas, 3, at(0)).is_some());
        assert_eq!(Refills::default().next(&mut leaves(&[]).0, 2, at(0)), None, "all are warm");
    }

    /// What it held may be lost with it.
    #[test]
    fn a_leaf_that_is_lost_meanwhile_ends_it_and_nothing_is_warm() {
        let (mut replicas, placement) = leaves(&[1]);
        let mut refills = Refills::default();
        let first = Step::List { from: (0, 10), part: 0 };
        assert_eq!(refills.next(&mut replicas, 2, at(0)), Some(first.clone()));
        refills.listed(&placement, 0, keys(0..1));
        replicas.lose(0, at(0));
        assert_eq!(refills.next(&mut replicas, 2, at(0)), None);
        replicas.meeting(0, at(0)).expect("due");
        replicas.met(0, 10, true, at(0));
        assert_eq!(
            refills.next(&mut replicas, 2, at(0)),
            Some(first.clone()),
            "from the beginning"
        );
        assert!(replicas.is_cold(1));
    }

    /// One that is on the first two leaves.
    fn key_of_both(placement: &Placement) -> Vec<u8> {
        let is_on = |key: &Vec<u8>, node: u16| placement.of(key).nodes().contains(&node);
        let key = keys(0..100).into_iter().find(|key| is_on(key, 0) && is_on(key, 1));
        key.expect("there is one")
    }

    /// The next step of `refills`, of which its leaf has nothing: no key is listed.
    fn empty(refills: &mut Refills, placement: &Placement) {
        refills.listed(placement, 0, Vec::new());
    }

    #[test]
    fn a_step_that_failed_is_made_again_after_pauses_that_double_and_nothing_else_is() {
        let (mut replicas, placement) = leaves(&[1]);
        let mut refills = Refills::default();
        refills.next(&mut replicas, 2, at(0)).expect("a list");
        let key = key_of_both(&placement);
        refills.listed(&placement, 0, vec![key.clone()]);
        let read = Step::Read { from: (0, 10), keys: vec![key.clone()] };
        let values = vec![(key, b"value".to_vec())];
        let give = Step::Give { to: (1, 11), values: values.clone() };
        let pauses = PAUSE..=PAUSE * 3;
        let mut ms = 0;
        for pause_ms in [100, 200, 300, 300] {
            assert_eq!(refills.next(&mut replicas, 2, at(ms)), Some(read.clone()), "at {ms}");
            refills.failed(at(ms), pauses.clone());
            assert_eq!(refills.next(&mut replicas, 2, at(ms + pause_ms - 1)), None, "at {ms}");
            ms += pause_ms;
        }
        // What was read for a gift that failed is read anew, and a success ends the long pauses.
        assert_eq!(refills.next(&mut replicas, 2, at(ms)), Some(read.clone()));
        refills.read(&replicas, (0, 10), values.clone());
        assert_eq!(refills.next(&mut replicas, 2, at(ms)), Some(give.clone()));
        refills.failed(at(ms), pauses);
        assert_eq!(refills.next(&mut replicas, 2, at(ms + 99)), None);
        assert_eq!(refills.next(&mut replicas, 2, at(ms + 100)), Some(read));
        refills.read(&replicas, (0, 10), values);
        assert_eq!(refills.next(&mut replicas, 2, at(ms + 100)), Some(give));
        refills.given();
        let second = Step::List { from: (2, 12), part: 0 };
        assert_eq!(refills.next(&mut replicas, 2, at(ms + 100)), Some(second));
        empty(&mut refills, &placement);
        assert_eq!(refills.next(&mut replicas, 2, at(ms + 100)), None);
        assert!(!replicas.is_cold(1));
    }

    #[test]
    fn a_leaf_that_fails_holds_up_no_other() {
        let (mut replicas, placement) = leaves(&[0, 1]);
        let mut refills = Refills::default();
        let list = Step::List { from: (2, 12), part: 0 };
        // The first of two has begun, and fails for ever.
        assert_eq!(refills.next(&mut replicas, 3, at(0)), Some(list.clone()));
        refills.failed(at(0), PAUSE..=PAUSE);
        assert_eq!(refills.next(&mut replicas, 3, at(0)), Some(list.clone()), "for the second");
        empty(&mut refills, &placement);
        assert_eq!(refills.next(&mut replicas, 3, at(0)), None);
        assert!(replicas.is_cold(0) && !replicas.is_cold(1));
        assert_eq!(refills.next(&mut replicas, 3, at(100)), Some(list), "for the first again");
        empty(&mut refills, &placement);
        assert_eq!(refills.next(&mut replicas, 3, at(100)), None);
        assert!(!replicas.is_cold(0));
    }

    /// It has missed a write while it was read.
    #[test]
    fn what_is_old_is_not_given() {
        use super::super::replicas::End;
        use crate::parts::Part;
        let (mut replicas, placement) = leaves(&[1]);
        let mut refills = Refills::default();
        refills.next(&mut replicas, 2, at(0)).expect("a list");
        let key = key_of_both(&placement);
        refills.listed(&placement, 0, vec![key.clone()]);
        let read = Step::Read { from: (0, 10), keys: vec![key.clone()] };
        assert_eq!(refills.next(&mut replicas, 2, at(0)), Some(read));
        let write = replicas.begin_write();
        let end = |node, asked, part| End { node, asked, part };
        let ends = [end(0, 10, Part::Lost), end(1, 11, Part::Done)];
        assert!(replicas.end_write((write, &key), &[0, 1], &ends, at(0)));
        refills.read(&replicas, (0, 10), vec![(key.clone(), b"old".to_vec())]);
        // No other leaf would give this key, so the leaf must not count as warm.
        assert_eq!(refills.next(&mut replicas, 2, at(0)), None);
        assert!(replicas.is_cold(1));
        let write = replicas.begin_write();
        assert!(replicas.end_write((write, &key), &[0, 1], &[end(0, 10, Part::Done)], at(0)));
        let first = Step::List { from: (0, 10), part: 0 };
        assert_eq!(refills.next(&mut replicas, 2, at(0)), Some(first), "it is whole again");
    }
}
