//! A request and all that was called for it, in whichever trace.

use super::clocks::Axis;
use super::survey::Tier;
use crate::hash::Map;
use std::cmp::Reverse;

/// Requests of one tree; further calls are told of as if no trace had them, and counted.
const NODES_MAX: usize = 512;
/// Tiers below the first.
const DEPTH_MAX: usize = 16;

/// A request of the first trace with what was called for it; callers come before what they call.
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Calls that a trace has, and that found no room.
    pub(super) left_out: u64,
}

/// A request in it.
pub(super) struct Node {
    pub(super) tier: usize,
    /// Its place among those of its trace.
    pub(super) request: usize,
    /// How far its clock counts as ahead of the axis.
    pub(super) lead: i64,
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
    /// By name, the trace and the request's place there; `None` where two have the name.
    called: Map<u64, Option<(usize, usize)>>,
}

impl<'a> Roots<'a> {
    pub(super) fn new(tiers: &'a [Tier], axis: &'a Axis) -> Self {
        let mut called: Map<u64, Option<(usize, usize)>> = Map::default();
        for (tier, it) in tiers.iter().enumerate().filter(|(tier, _)| axis.knows(*tier)) {
            for (place, request) in it.requests.iter().enumerate() {
                let Some((call, _)) = request.called else { continue };
                // A name that two have tells of neither.
                called.entry(call).and_modify(|one| *one = None).or_insert(Some((tier, place)));
            }
        }
        Self { tiers, axis, called }
    }

    /// Of the calls of the first trace's requests those that a trace has, and how many there are.
    pub(super) fn found(&self) -> (u64, u64) {
        let legs = || self.tiers[0].requests.iter().flat_map(|one| &one.legs);
        let found =
            legs().filter(|leg| self.called.get(&leg.call).is_some_and(Option::is_some)).count();
        (found as u64, legs().count() as u64)
    }

    /// The slowest so many, slowest first.
    pub(super) fn slowest(&self, wanted: usize) -> Vec<Tree> {
        let requests = &self.tiers[0].requests;
        let mut places: Vec<usize> = (0..requests.len()).collect();
        places.sort_by_key(|&place| {
            let one = &requests[place];
            (Reverse(one.length()), one.start, one.number)
        });
        places.truncate(wanted);
        places.into_iter().map(|place| self.tree(place)).collect()
    }

    fn tree(&self, root: usize) -> Tree {
        let mut tree = Tree { nodes: vec![self.node(0, root, 0)], left_out: 0 };
        let mut next = 0;
        while next < tree.nodes.len() {
            let Node { tier, request, lead, depth, .. } = tree.nodes[next];
            let mut legs = Vec::new();
            for leg in &self.tiers[tier].requests[request].legs {
                let found = self.called.get(&leg.call).copied().flatten();
                let has_room = tree.nodes.len() < NODES_MAX && depth < DEPTH_MAX;
                tree.left_out += u64::from(found.is_some() && !has_room);
                let node = found.filter(|_| has_room).map(|(tier, place)| {
                    tree.nodes.push(self.node(tier, place, depth + 1));
                    tree.nodes.len() - 1
                });
                let on_axis = |ticks| self.axis.at(self.tiers, tier, ticks, lead);
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
        let lead = self.axis.lead_at(self.tiers, tier, middle);
        let on_axis = |ticks| self.axis.at(self.tiers, tier, ticks, lead);
        let (from, to) = (on_axis(brief.start), on_axis(brief.end));
        Node { tier, request, lead, from, to, depth, legs: Vec::new() }
    }
}
