//! Requests across processes: traces that were recorded at once, joined by the names of the calls between them.
//!
//! A [`Survey`] reads each trace once, for its requests and their calls. [`Joined`] brings the clocks to one axis and
//! follows the slowest requests of the first trace into the others. [`Review`]s read each trace again for what
//! happened in the requests that are met so, and [`Joined::finish`] divides the time.

mod survey;
mod longest;
mod calls;
mod offset;
mod counter;
mod axis;
mod clocks;
mod tree;
mod path;
mod review;
mod report;

pub use axis::Basis;
pub use clocks::ClockRow;
pub use path::Doing;
pub use report::{LegRow, Part, PathStep, Report, RootRow, TierRequest, TierRow};
pub use review::Review;
pub use survey::{Survey, Tier, Unmeasured};

use axis::Axis;
use calls::Calls;
use tree::{CallCounts, Roots, Tree};

/// Slow requests told of at most.
pub const SLOWEST_MAX: usize = 100;

/// Traces that are read together.
pub struct Joined {
    tiers: Vec<Tier>,
    axis: Axis,
    clocks: Vec<ClockRow>,
    trees: Vec<Tree>,
    counts: CallCounts,
}

impl Joined {
    /// Of so many slowest requests of the first trace.
    #[must_use]
    pub fn new(tiers: Vec<Tier>, slowest: usize) -> Self {
        let calls = Calls::new(&tiers);
        let messages = calls.messages(&tiers);
        let counters = counter::counters(&tiers, &messages);
        let axis = Axis::new(&tiers, &counters, &messages);
        let clocks = clocks::rows(&tiers, &axis, &counters, &messages);
        let roots = Roots::new(&tiers, &axis, &calls);
        let trees = roots.slowest(slowest.clamp(1, SLOWEST_MAX));
        let counts = roots.counts();
        Self { tiers, axis, clocks, trees, counts }
    }

    /// How many traces these are.
    #[must_use]
    pub const fn tiers(&self) -> usize {
        self.tiers.len()
    }

    /// Begins the second reading of a trace, by its place among them.
    #[must_use]
    pub fn review(&self, tier: usize) -> Review {
        let met = self.trees.iter().flat_map(|tree| &tree.nodes).filter(|node| node.tier == tier);
        Review::new(met.map(|node| &self.tiers[tier].requests[node.request]))
    }

    /// Concludes, with the second reading of each trace.
    #[must_use]
    pub fn finish(self, reviews: Vec<Review>) -> Report {
        report::build(self, reviews)
    }
}
