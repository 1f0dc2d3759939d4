//! A request and all that was called for it, in whichever trace.

use super::axis::Axis;
use super::calls::Calls;
use super::survey::Tier;

/// Requests of one tree; further calls are told of as if no trace had them, and counted.
const NODES_MAX: usize = 512;
/// Tiers below the first.
pub(super) const DEPTH_MAX: usize = 16;

/// A request of the first trace with what was called for it; callers come before what they call.
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Calls that a trace has, and that found no room: what is nearer to the first request comes first.
    pub(super) left_out: u64,
}

/// A request in it.
pub(super) struct Node {
    pub(super) tier: usize,
    /// Its place among those of its trace.
    pub(super) request: usize,
    /// How far its clock counts as ahead of the axis.
    pub(super) ahead: i64,
    /// On the axis.
    pub(super) from: i64,
    pub(super) to: i64,
    /// Callers above it.
    pub(super) depth: usize,
    /// By when they were sent.
    pub(super) legs: Vec<Limb>,
}

/// A call of it.
#[derive(Clone, Copy)]
pub(super) struct Limb {
    /// On the axis.
    pub(super) sent: i64,
    /// `None`: not while the request was under way.
    pub(super) answered: Option<i64>,
    /// Its place in the tree, if a trace has it.
    pub(super) node: Option<usize>,
}

/// The first trace's requests, and what was called in all others.
pub(super) struct Roots<'a> {
    tiers: &'a [Tier],
    axis: &'a Axis,
    calls: &'a Calls<'a>,
}

/// Calls of the first trace's requests.
pub(super) struct CallCounts {
    pub(super) all: u64,
    /// Such as a trace has.
    pub(super) found: u64,
    /// Names of calls in any trace that tell of none, since several have them.
    pub(super) doubled: u64,
}

impl<'a> Roots<'a> {
    pub(super) const fn new(tiers: &'a [Tier], axis: &'a Axis, calls: &'a Calls<'a>) -> Self {
        Self { tiers, axis, calls }
    }

    pub(super) fn counts(&self) -> CallCounts {
        let legs = || self.tiers[0].requests.iter().flat_map(|one| &one.legs);
        CallCounts {
            all: legs().count() as u64,
            found: legs().filter(|leg| self.called(leg.call).is_some()).count() as u64,
            doubled: self.calls.doubled(),
        }
    }

    /// The slowest so many, slowest first.
    pub(super) fn slowest(&self, wanted: usize) -> Vec<Tree> {
        (0..self.tiers[0].requests.len().min(wanted)).map(|place| self.tree(place)).collect()
    }

    /// The request that a call is, in a trace that can be followed.
    fn called(&self, call: u64) -> Option<(usize, usize)> {
        self.calls.server(call).filter(|(tier, _)| self.axis.knows(*tier))
    }

    fn tree(&self, root: usize) -> Tree {
        let mut tree = Tree { nodes: vec![self.node(0, root, 0)], left_out: 0 };
        let mut next = 0;
        while next < tree.nodes.len() {
            let Node { tier, request, ahead, depth, .. } = tree.nodes[next];
            let mut legs = Vec::new();
            for leg in &self.tiers[tier].requests[request].legs {
                let found = self.called(leg.call);
                let has_room = tree.nodes.len() < NODES_MAX && depth < DEPTH_MAX;
                tree.left_out += u64::from(found.is_some() && !has_room);
                let node = found.filter(|_| has_room).map(|(tier, place)| {
                    tree.nodes.push(self.node(tier, place, depth + 1));
                    tree.nodes.len() - 1
                });
                let on_axis = |ticks| self.axis.at(tier, ticks, ahead);
                let (sent, answered) = (on_axis(leg.sent), leg.answered.map(on_axis));
                legs.push(Limb { sent, answered, node });
            }
            tree.nodes[next].legs = legs;
            next += 1;
        }
        tree
    }

    fn node(&self, tier: usize, request: usize, depth: usize) -> Node {
        let brief = &self.tiers[tier].requests[request];
        let middle = brief.start + brief.length() / 2;
        let ahead = self.axis.lead_at(tier, middle).ahead;
        let on_axis = |ticks| self.axis.at(tier, ticks, ahead);
        let (from, to) = (on_axis(brief.start), on_axis(brief.end));
        Node { tier, request, ahead, from, to, depth, legs: Vec::new() }
    }
}
