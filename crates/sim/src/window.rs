//! What the nodes did in the measured window, each tier's together.

use crate::node::Counts;
use crate::topology::Topology;
use std::ops::{Add, Range};
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_control::retry::HedgeCounts;
use tailwater_core::Nanos;
use tailwater_stats::result::{HedgeReading, TierReading};

/// What was read at both of its ends.
#[derive(Default)]
pub(crate) struct Window {
    /// The totals of each node.
    counts: [Vec<Counts>; 2],
    /// The second tries of calls to each tier.
    hedges: [Vec<HedgeCounts>; 2],
    /// The queueing delays that the controllers knew at the end, of each node.
    delays: Vec<Duration>,
}

/// What the nodes of a tier did in the window.
pub(crate) struct OfTier {
    nodes: u32,
    pub(crate) counts: Counts,
    /// The queueing delay that a controller knew at the end, of the node where it was longest.
    delay: Duration,
    /// Of calls to it.
    hedges: HedgeCounts,
}

impl Window {
    /// It begins, or it ends.
    pub(crate) fn read(&mut self, begins: bool, topology: &Topology) {
        let (end, nodes) = (usize::from(!begins), &topology.nodes);
        self.counts[end] = nodes.iter().map(|node| node.counts).collect();
        let tiers = topology.groups().len() - 1;
        let of = |tier| {
            nodes.iter().map(|node| node.hedges(tier)).fold(HedgeCounts::default(), Add::add)
        };
        self.hedges[end] = (0..tiers).map(of).collect();
        self.delays = nodes.iter().map(|node| node.control().gauges().delay).collect();
    }

    /// The front and each tier, in the order of their nodes. A run that broke before the window's end has none.
    pub(crate) fn tiers(&self, topology: &Topology) -> Vec<OfTier> {
        let [from, to] = &self.counts;
        let since: Vec<Counts> = to.iter().zip(from).map(|(to, from)| to.since(from)).collect();
        let of = |(group, nodes): (usize, &Range<usize>)| OfTier {
            nodes: nodes.len() as u32,
            hedges: group.checked_sub(1).map(|tier| self.hedges_of(tier)).unwrap_or_default(),
            counts: since
                .get(nodes.clone())
                .unwrap_or_default()
                .iter()
                .copied()
                .fold(Counts::default(), Counts::plus),
            delay: self
                .delays
                .get(nodes.clone())
                .unwrap_or_default()
                .iter()
                .copied()
                .max()
                .unwrap_or_default(),
        };
        topology.groups().iter().enumerate().map(of).collect()
    }

    /// Second tries of calls to a tier in the window.
    fn hedges_of(&self, tier: usize) -> HedgeCounts {
        let [from, to] = self.hedges.each_ref().map(|all| all.get(tier).copied());
        let Some((from, to)) = from.zip(to) else { return HedgeCounts::default() };
        HedgeCounts {
            sent: to.sent - from.sent,
            won: to.won - from.won,
            over_budget: to.over_budget - from.over_budget,
        }
    }
}

impl OfTier {
    /// As results tell it; `tier` is its name, empty for the front.
    pub(crate) fn reading(&self, tier: &str, window: Duration) -> TierReading {
        let Self { nodes, counts, delay, hedges } = self;
        let window_ns = window.nanos().max(1) as f64;
        let per_second = |count: u64| count as f64 * 1e9 / window_ns;
        let requests = counts.requests.max(1) as f64;
        let by_reason = Reason::ALL.into_iter().zip(counts.shed);
        TierReading {
            tier: tier.to_owned(),
            nodes: *nodes,
            received_rps: Some(per_second(counts.requests)),
            served_rps: Some(per_second(counts.served)),
            drop_ratio: Some(counts.shed_total() as f64 / requests),
            shed_by_reason: by_reason
                .filter(|(_, count)| *count > 0)
                .map(|(reason, count)| (reason.name().to_owned(), count))
                .collect(),
            cores_used: Some(counts.busy_ns as f64 / window_ns),
            cpu_ns_per_request: Some(counts.busy_ns as f64 / requests),
            delay_us: delay.nanos() as f64 / 1e3,
            run_delay_ratio: Some(0.0),
            involuntary_per_s: Some(0.0),
            hedges: (*hedges != HedgeCounts::default()).then(|| HedgeReading {
                sent_per_s: per_second(hedges.sent),
                won_per_s: per_second(hedges.won),
                over_budget_per_s: per_second(hedges.over_budget),
            }),
            ..TierReading::default()
        }
    }
}
