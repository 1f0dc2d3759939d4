//! Where a request's time went: in each moment one thing, in whichever process.
//!
//! A request that waits for several calls waits for the one that was answered last. So from its end backwards: before the
//! last answer the time is that call's, before that call was sent the one's that was answered last until then, and so
//! on. Within a call the time is the server's from its request's start to its end, and before and after that it is
//! *between* the two: the network, sockets, and a reactor's turn.

use super::tree::{Limb, Tree};
use serde::Serialize;

/// What held a request up in a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// A thread worked for it.
    Running,
    /// Its threads waited: for a lock, a condition, or a thread's end.
    Waiting,
    /// It stood in a queue of its process.
    Queued,
    /// No thread works for it, as the program has marked it: calls that are under way have the time.
    Pending,
    /// The scanner was away, or no mark says.
    Unknown,
    /// A call is on its way to a server or back.
    Between,
    /// A call of which no trace tells.
    Unrecorded,
}

/// A time on the axis in which one thing held the request up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) doing: Doing,
    /// The request in the tree that did it; of what is between two processes that which is called.
    pub(super) node: usize,
}

/// The states of a request of the tree, by time and without hole.
pub(super) type States = Vec<(i64, i64, Doing)>;

/// Walks through a tree whose requests were in these states.
pub(super) struct Walk<'a> {
    pub(super) tree: &'a Tree,
    pub(super) states: &'a [States],
    steps: Vec<Step>,
}

impl<'a> Walk<'a> {
    pub(super) const fn new(tree: &'a Tree, states: &'a [States]) -> Self {
        Self { tree, states, steps: Vec::new() }
    }

    /// The whole time of the tree's first request.
    pub(super) fn steps(mut self) -> Vec<Step> {
        let (from, to) = (self.tree.nodes[0].from, self.tree.nodes[0].to);
        self.node(0, from, to);
        self.steps
    }

    /// What a request did in a part of its time.
    fn node(&mut self, node: usize, from: i64, to: i64) {
        let states = self.states;
        let mut done = from;
        for &(start, end, doing) in &states[node] {
            let (start, end) = (start.max(done), end.min(to));
            if start >= end {
                continue;
            }
            self.push(done, start, Doing::Unknown, node);
            match doing {
                Doing::Pending => self.pending(node, start, end),
                _ => self.push(start, end, doing, node),
            }
            done = end;
        }
        self.push(done, to, Doing::Unknown, node);
    }

    /// No thread worked for it in this time: which calls were waited for.
    fn pending(&mut self, node: usize, from: i64, to: i64) {
        let mut parts = Vec::new();
        let mut until = to;
        while until > from {
            let Some((leg, end)) = awaited(&self.tree.nodes[node].legs, from, until) else { break };
            parts.push((end, until, None));
            let begin = leg.sent.max(from);
            parts.push((begin, end, Some(leg)));
            until = begin;
        }
        parts.push((from, until, None));
        for (from, to, leg) in parts.into_iter().rev() {
            match leg {
                None => self.push(from, to, Doing::Pending, node),
                Some(leg) => self.leg(node, leg, from, to),
            }
        }
    }

    fn leg(&mut self, caller: usize, leg: Limb, from: i64, to: i64) {
        let Some(node) = leg.node else { return self.push(from, to, Doing::Unrecorded, caller) };
        // What the clocks' error moves out of the call is cut off.
        let begin = self.tree.nodes[node].from.clamp(from, to);
        let end = self.tree.nodes[node].to.clamp(begin, to);
        self.push(from, begin, Doing::Between, node);
        self.node(node, begin, end);
        self.push(end, to, Doing::Between, node);
    }

    fn push(&mut self, from: i64, to: i64, doing: Doing, node: usize) {
        if from >= to {
            return;
        }
        match self.steps.last_mut() {
            Some(last) if (last.doing, last.node, last.to) == (doing, node, from) => last.to = to,
            _ => self.steps.push(Step { from, to, doing, node }),
        }
    }
}

/// The call for which a request waited until then, and until when it did.
fn awaited(legs: &[Limb], from: i64, until: i64) -> Option<(Limb, i64)> {
    let sent = || legs.iter().filter(|leg| leg.sent < until).copied();
    let answered = sent()
        .filter_map(|leg| Some((leg, leg.answered?)))
        .filter(|&(_, end)| end > from && end <= until)
        .max_by_key(|&(_, end)| end);
    // Or for one that was sent since and had no answer by then: it was given up, or a clock made the request go on.
    let open = sent()
        .filter(|leg| leg.answered.is_none_or(|end| end > until))
        .filter(|leg| answered.is_none_or(|(_, end)| leg.sent >= end))
        .min_by_key(|leg| leg.sent);
    open.map(|leg| (leg, until)).or(answered)
}

#[cfg(test)]
mod tests {
    use super::super::tree::Node;
    use super::*;
    use Doing::{Between, Pending, Queued, Running, Unrecorded};

    fn limb(sent: i64, answered: i64, node: Option<usize>) -> Limb {
        Limb { sent, answered: Some(answered), node }
    }

    fn steps(nodes: Vec<Node>, states: &[States]) -> Vec<(i64, i64, Doing, usize)> {
        let tree = Tree { nodes, left_out: 0 };
        let steps = Walk::new(&tree, states).steps();
        steps.iter().map(|step| (step.from, step.to, step.doing, step.node)).collect()
    }

    #[test]
    fn of_two_calls_at_once_the_one_that_was_answered_last_has_the_time() {
        let legs = vec![limb(10, 30, Some(1)), limb(11, 90, Some(2))];
        let nodes = vec![
            Node::made(0, (0, 100), legs),
            Node::made(1, (15, 25), vec![]),
            Node::made(2, (20, 80), vec![]),
        ];
        let states = [
            vec![(0, 12, Running), (12, 95, Pending), (95, 100, Running)],
            vec![(15, 25, Running)],
            vec![(20, 30, Queued), (30, 80, Running)],
        ];
        let expected = [
            (0, 12, Running, 0),
            (12, 20, Between, 2),
            (20, 30, Queued, 2),
            (30, 80, Running, 2),
            (80, 90, Between, 2),
            // It was answered, and waited for its thread.
            (90, 95, Pending, 0),
            (95, 100, Running, 0),
        ];
        assert_eq!(steps(nodes, &states), expected);
    }

    #[test]
    fn calls_one_after_the_other_have_their_own_times_and_a_lost_one_what_is_left() {
        let legs = vec![
            limb(10, 30, Some(1)),
            limb(35, 50, None),
            Limb { answered: None, ..limb(55, 0, None) },
        ];
        let nodes = vec![Node::made(0, (0, 70), legs), Node::made(1, (12, 28), vec![])];
        let states = [vec![(0, 10, Running), (10, 70, Pending)], vec![(12, 28, Running)]];
        let expected = [
            (0, 10, Running, 0),
            (10, 12, Between, 1),
            (12, 28, Running, 1),
            (28, 30, Between, 1),
            (30, 35, Pending, 0),
            (35, 50, Unrecorded, 0),
            (50, 55, Pending, 0),
            (55, 70, Unrecorded, 0),
        ];
        assert_eq!(steps(nodes, &states), expected);
    }

    #[test]
    fn a_clock_that_is_wrong_makes_no_time_out_of_nothing() {
        let legs = vec![limb(10, 30, Some(1))];
        let nodes = vec![Node::made(0, (0, 40), legs), Node::made(1, (-500, -480), vec![])];
        let states = [
            vec![(0, 10, Running), (10, 30, Pending), (30, 40, Running)],
            vec![(-500, -480, Running)],
        ];
        let found = steps(nodes, &states);
        assert_eq!(found, [(0, 10, Running, 0), (10, 30, Between, 1), (30, 40, Running, 0)]);
    }

    impl Node {
        fn made(tier: usize, (from, to): (i64, i64), legs: Vec<Limb>) -> Self {
            Self { tier, request: 0, ahead: 0, from, to, depth: 0, legs }
        }
    }
}
