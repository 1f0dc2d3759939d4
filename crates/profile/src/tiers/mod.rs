//! Requests across processes: traces that were recorded at once, joined by the names of the calls between them.
//!
//! A [`Survey`] reads each trace once, for its requests and their calls. [`Joined`] brings the clocks to one axis and
//! follows the slowest requests of the first trace into the others. A [`Search`] reads a trace again for requests that it
//! left out, where those have called them. [`Review`]s read each trace once more for what happened in the requests that are
//! met so, and [`Joined::finish`] divides the time.

mod survey;
mod longest;
mod calls;
mod offset;
mod counter;
mod axis;
mod clocks;
mod tree;
mod search;
mod path;
mod review;
mod report;

pub use axis::Basis;
pub use clocks::ClockRow;
pub use path::Doing;
pub use report::{LegRow, Part, PathStep, Report, RootRow, TierRequest, TierRow};
pub use review::Review;
pub use search::{Counterparts, Search};
pub use survey::{Survey, Tier, Unmeasured};

use axis::Axis;
use calls::Calls;
use std::collections::BTreeSet;
use tree::{CallCounts, DEPTH_MAX, Roots, Tree};

/// Slow requests told of at most.
pub const SLOWEST_MAX: usize = 100;
/// Names looked for in one reading; further ones are looked for in the next.
const NAMES_MAX: usize = 1 << 18;
/// Times that traces are searched; each follows the calls a tier further. What would be found later is as if no trace had it.
const SEARCHES_MAX: usize = DEPTH_MAX;

/// Traces that are read together.
pub struct Joined {
    tiers: Vec<Tier>,
    /// How many requests of the first trace are told of: its longest, which no search changes.
    roots: usize,
    found: Followed,
    sought: Sought,
}

/// The slowest requests and what was called for them, as far as is known.
struct Followed {
    axis: Axis,
    clocks: Vec<ClockRow>,
    trees: Vec<Tree>,
    counts: CallCounts,
}

/// Names of calls of the slowest requests, in traces that have left requests out.
#[derive(Default)]
struct Sought {
    /// To be looked for next.
    open: BTreeSet<u64>,
    /// Looked for; at most [`NAMES_MAX`] in each search.
    done: BTreeSet<u64>,
    /// Of these, such as several calls or called requests have.
    doubled: BTreeSet<u64>,
    searches: usize,
}

impl Joined {
    /// Of so many slowest requests of the first trace.
    #[must_use]
    pub fn new(tiers: Vec<Tier>, slowest: usize) -> Self {
        let roots = slowest.clamp(1, SLOWEST_MAX).min(tiers[0].requests.len());
        let mut sought = Sought::default();
        let found = Followed::new(&tiers, roots, &sought.doubled);
        sought.begin(&tiers, &found.trees);
        Self { tiers, roots, found, sought }
    }

    /// The places of the traces that are to be searched now, each once; none where all is known that can be.
    #[must_use]
    pub fn unsearched(&self) -> Vec<usize> {
        let lacks = |tier: &usize| self.tiers[*tier].left_out > 0 && !self.sought.open.is_empty();
        (0..self.tiers.len()).filter(lacks).collect()
    }

    /// Begins a further reading of a trace, by its place among them.
    #[must_use]
    pub fn search(&self, tier: usize) -> Search<'_> {
        let names = self.sought.open.iter().copied();
        Search::new(tier, &self.tiers[tier].requests, names, search::LEGS_MAX)
    }

    /// Takes what was found in all traces of [`Joined::unsearched`], which may have more to search then.
    pub fn take(&mut self, found: Vec<Counterparts>) {
        for Counterparts { trace, requests, doubled } in found {
            self.tiers[trace].take(requests);
            self.sought.doubled.extend(doubled);
        }
        self.found = Followed::new(&self.tiers, self.roots, &self.sought.doubled);
        self.sought.end();
        self.sought.begin(&self.tiers, &self.found.trees);
    }

    /// How many traces these are.
    #[must_use]
    pub const fn tiers(&self) -> usize {
        self.tiers.len()
    }

    /// Begins the second reading of a trace, by its place among them.
    #[must_use]
    pub fn review(&self, tier: usize) -> Review {
        let met = self.found.trees.iter().flat_map(|tree| &tree.nodes);
        let met = met.filter(|node| node.tier == tier);
        Review::new(met.map(|node| &self.tiers[tier].requests[node.request]))
    }

    /// Concludes, with the second reading of each trace.
    #[must_use]
    pub fn finish(self, reviews: Vec<Review>) -> Report {
        report::build(self, reviews)
    }
}

impl Followed {
    fn new(tiers: &[Tier], roots: usize, doubled: &BTreeSet<u64>) -> Self {
        let calls = Calls::new(tiers, doubled);
        let messages = calls.messages(tiers);
        let counters = counter::counters(tiers, &messages);
        let axis = Axis::new(tiers, &counters, &messages);
        let clocks = clocks::rows(tiers, &axis, &counters, &messages);
        let roots_of = Roots::new(tiers, &axis, &calls);
        let (trees, counts) = (roots_of.slowest(roots), roots_of.counts());
        Self { axis, clocks, trees, counts }
    }
}

impl Sought {
    /// Looks for what the requests of the trees call, beside what was looked for.
    fn begin(&mut self, tiers: &[Tier], trees: &[Tree]) {
        if self.searches >= SEARCHES_MAX || tiers.iter().all(|tier| tier.left_out == 0) {
            return;
        }
        let nodes = trees.iter().flat_map(|tree| &tree.nodes);
        let legs = nodes.flat_map(|node| &tiers[node.tier].requests[node.request].legs);
        let names = legs.map(|leg| leg.call).filter(|name| !self.done.contains(name));
        self.open = names.take(NAMES_MAX).collect();
    }

    fn end(&mut self) {
        self.searches += 1;
        self.done.append(&mut self.open);
    }
}

#[cfg(test)]
mod tests;
