//! The result, as tables, pages and JSON show it.

use super::axis::Axis;
use super::clocks::ClockRow;
use super::longest::Brief;
use super::path::{self, Doing, States, Walk};
use super::review::{Review, Seen};
use super::survey::Tier;
use super::tree::CallCounts;
use super::tree::{Node, Tree};
use super::{Followed, Joined};
use crate::clock::TickRate;
use crate::kernel::Coverage;
use crate::names::Names;
use crate::quality::Quality;
use crate::requests::{
    Activity, Handlings, Incomplete, Request, RequestRow, RunQueue, View, pieces, row,
};
use serde::Serialize;

/// Steps listed of a request.
const STEPS_MAX: usize = 1_000;

/// The slowest requests of the first trace, and where their time went in all traces.
#[derive(Debug, Serialize)]
pub struct Report {
    /// In the order in which they were given.
    pub traces: Vec<TierRow>,
    /// How their clocks were brought together.
    pub clocks: Vec<ClockRow>,
    /// Calls of the first trace's requests that are followed.
    pub calls: u64,
    /// Of these such as another trace has.
    pub calls_found: u64,
    /// Names that several calls or several called requests have, in any trace: which belong together is not known, so none
    /// of these calls is followed.
    pub doubled_names: u64,
    /// Slowest first.
    pub slowest: Vec<RootRow>,
}

/// A trace.
#[derive(Debug, Serialize)]
pub struct TierRow {
    /// What people call it.
    pub trace: String,
    /// Path of the program.
    pub program: String,
    /// Requests that were seen from their start to their end; where the trace has kept a part, all that there were.
    pub requests: u64,
    /// The median of their durations, in nanoseconds.
    pub p50_ns: u64,
    /// One in a hundred is longer.
    pub p99_ns: u64,
    /// One in a thousand.
    pub p999_ns: u64,
    /// Of the shortest, those that found no room in the reader and were called for none of the slowest: they are in the quantiles alone.
    pub left_out: u64,
    /// Others, of which no end or no beginning was seen: they are followed nowhere.
    #[serde(flatten)]
    pub incomplete: Incomplete,
    /// Records read.
    pub records: u64,
    /// How its ticks became time.
    pub rate: TickRate,
    /// What it does not tell.
    pub quality: Quality,
    /// What its kernel's file does not tell, filled in by whoever has that. `null` without one, and where the trace has kept a
    /// part.
    pub kernel: Option<Coverage>,
    /// How long its requests waited in a run queue, filled in likewise. `null` also where it has no request.
    pub run_queue: Option<RunQueue>,
    /// When which thread had each request, where [`Survey::with_every`](super::Survey::with_every) asked for it. `None` where
    /// the trace has kept a part.
    #[serde(skip)]
    pub every: Option<Handlings>,
    /// The tables, for whoever wants addresses and lines.
    #[serde(skip)]
    pub names: Names,
}

/// A slow request of the first trace.
#[derive(Debug, Serialize)]
pub struct RootRow {
    /// The program's own number.
    pub request: u64,
    /// When it began, in nanoseconds since recording began.
    pub start_ns: u64,
    /// How long it took; the parts add up to it.
    pub total_ns: u64,
    /// One for each trace, in their order.
    pub parts: Vec<Part>,
    /// Calls that no trace tells of had the time.
    pub unrecorded_ns: u64,
    /// What held it up, by time, at most a thousand steps.
    pub steps: Vec<PathStep>,
    /// It, and what was called for it; callers come before what they call.
    pub requests: Vec<TierRequest>,
    /// Requests and steps that found no room.
    pub left_out: u64,
}

/// What a trace's process had of a request's time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Part {
    /// A thread worked for it.
    pub running_ns: u64,
    /// Threads waited for a lock and the like.
    pub waiting_ns: u64,
    /// It stood in a queue of the process.
    pub queued_ns: u64,
    /// No thread worked for it, and no call was awaited.
    pub pending_ns: u64,
    /// The scanner was away, or no mark says.
    pub unknown_ns: u64,
    /// Calls were on their way to the process, or their answers back.
    pub between_ns: u64,
}

/// What held a request up for some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct PathStep {
    /// Nanoseconds after the first request's start.
    pub at_ns: u64,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// What was so.
    pub doing: Doing,
    /// In which of the requests; of what is between two that which is called.
    pub request: usize,
}

/// A request of a tree.
#[derive(Debug, Serialize)]
pub struct TierRequest {
    /// Its trace's place.
    pub trace: usize,
    /// Nanoseconds from the first request's start to its own; below zero where the clocks' error makes it so.
    pub at_ns: i64,
    /// How much of the first request's time it had, without what is between it and its caller.
    pub held_ns: u64,
    /// Its own time, whether or not the first request waited for it; `null` where the file has changed since the first reading.
    pub row: Option<RequestRow>,
    /// Its calls, by when they were sent.
    pub legs: Vec<LegRow>,
}

/// A call of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LegRow {
    /// Nanoseconds from the first request's start to when it was sent.
    pub sent_ns: i64,
    /// The same of its answer; `null`: none while the request was under way.
    pub answered_ns: Option<i64>,
    /// Its place among the requests of the tree; `null`: no trace has it, or not it alone has its name.
    pub request: Option<usize>,
}

impl Part {
    /// All but what is between.
    #[must_use]
    pub const fn own_ns(&self) -> u64 {
        self.running_ns + self.waiting_ns + self.queued_ns + self.pending_ns + self.unknown_ns
    }

    const fn add(&mut self, doing: Doing, ns: u64) {
        match doing {
            Doing::Running => self.running_ns += ns,
            Doing::Waiting => self.waiting_ns += ns,
            Doing::Queued => self.queued_ns += ns,
            Doing::Pending => self.pending_ns += ns,
            Doing::Unknown => self.unknown_ns += ns,
            Doing::Between => self.between_ns += ns,
            Doing::Unrecorded => {}
        }
    }
}

pub(super) fn build(joined: Joined, reviews: Vec<Review>) -> Report {
    let Joined { tiers, found, .. } = joined;
    let Followed { axis, clocks, trees, counts } = found;
    let seen: Vec<Seen> = reviews.into_iter().map(Review::finish).collect();
    let all = All { tiers: &tiers, axis: &axis, seen: &seen };
    let slowest = trees.iter().map(|tree| all.root(tree)).collect();
    let traces = tiers.into_iter().zip(seen).map(|(tier, seen)| tier_row(tier, seen)).collect();
    let CallCounts { all: calls, found: calls_found, doubled: doubled_names } = counts;
    Report { traces, clocks, calls, calls_found, doubled_names, slowest }
}

fn tier_row(tier: Tier, seen: Seen) -> TierRow {
    let Tier { clocks, mut quality, lengths, every, requests, .. } = tier;
    let rate = clocks.rate();
    // A bucket's upper edge may lie above the longest of all.
    let longest = requests.first().map_or(0, Brief::length);
    let quantile = |share| rate.ns(lengths.value_at_quantile(share).min(longest));
    // Of all, where the trace has the slowest alone.
    let (requests, [p50_ns, p99_ns, p999_ns]) = quality.kept.as_ref().map_or_else(
        || (lengths.len(), [0.5, 0.99, 0.999].map(quantile)),
        |kept| (kept.requests, [kept.p50_ns, kept.p99_ns, kept.p999_ns]),
    );
    quality.beyond_bounds += seen.left_out;
    // Of a part of the trace quantiles would not be those of all.
    let every = every.filter(|_| quality.kept.is_none());
    let every = every.map(|every| every.told(&clocks, &seen.names));
    TierRow {
        trace: tier.name,
        program: tier.program,
        requests,
        p50_ns,
        p99_ns,
        p999_ns,
        left_out: tier.left_out,
        incomplete: tier.incomplete,
        records: tier.records,
        rate,
        quality,
        kernel: None,
        run_queue: None,
        every,
        names: seen.names,
    }
}

/// All that was read.
struct All<'a> {
    tiers: &'a [Tier],
    axis: &'a Axis,
    seen: &'a [Seen],
}

impl All<'_> {
    fn root(&self, tree: &Tree) -> RootRow {
        let states: Vec<States> = tree.nodes.iter().map(|node| self.states(node)).collect();
        let path = Walk::new(tree, &states).steps();
        let (from, to) = (tree.nodes[0].from, tree.nodes[0].to);
        let mut parts = vec![Part::default(); self.tiers.len()];
        let mut held = vec![0; tree.nodes.len()];
        let mut unrecorded_ns = 0;
        for step in &path {
            let ns = (step.to - step.from).unsigned_abs();
            parts[tree.nodes[step.node].tier].add(step.doing, ns);
            match step.doing {
                Doing::Between => {}
                Doing::Unrecorded => unrecorded_ns += ns,
                _ => held[step.node] += ns,
            }
        }
        let request = |(node, held_ns): (&Node, u64)| {
            let (at_ns, row) = (node.from - from, self.row(node));
            TierRequest { trace: node.tier, at_ns, held_ns, row, legs: legs(node, from) }
        };
        let requests = tree.nodes.iter().zip(held).map(request).collect();
        let brief = &self.tiers[0].requests[tree.nodes[0].request];
        let steps = path.iter().take(STEPS_MAX).map(|one| step(one, from));
        RootRow {
            request: brief.number,
            start_ns: self.tiers[0].clocks.since_start_ns(brief.start),
            total_ns: (to - from).unsigned_abs(),
            parts,
            unrecorded_ns,
            steps: steps.collect(),
            requests,
            left_out: tree.left_out + path.len().saturating_sub(STEPS_MAX) as u64,
        }
    }

    /// The request as the second reading has it: it met the same marks, so it is there.
    fn request(&self, node: &Node) -> Option<&Request> {
        let brief = &self.tiers[node.tier].requests[node.request];
        self.seen[node.tier].requests.get(&(brief.number, brief.start))
    }

    fn states(&self, node: &Node) -> States {
        let Some(request) = self.request(node) else { return Vec::new() };
        let at = |ticks| self.axis.at(node.tier, ticks, node.ahead);
        let pieces = pieces(request, &self.seen[node.tier].scene);
        pieces.iter().map(|one| (at(one.from), at(one.to), doing(one.doing))).collect()
    }

    fn row(&self, node: &Node) -> Option<RequestRow> {
        let (tier, seen) = (&self.tiers[node.tier], &self.seen[node.tier]);
        let view = View {
            scene: &seen.scene,
            names: &seen.names,
            clocks: &tier.clocks,
            rate: tier.clocks.rate(),
        };
        Some(row(self.request(node)?, &view))
    }
}

const fn doing(activity: Activity) -> Doing {
    match activity {
        Activity::Running(_) => Doing::Running,
        Activity::Waiting(_) => Doing::Waiting,
        Activity::Queued => Doing::Queued,
        Activity::Pending => Doing::Pending,
        Activity::Unknown => Doing::Unknown,
    }
}

fn step(one: &path::Step, from: i64) -> PathStep {
    let ns = |length: i64| length.unsigned_abs();
    PathStep {
        at_ns: ns(one.from - from),
        ns: ns(one.to - one.from),
        doing: one.doing,
        request: one.node,
    }
}

fn legs(node: &Node, from: i64) -> Vec<LegRow> {
    let leg = |leg: &super::tree::Limb| LegRow {
        sent_ns: leg.sent - from,
        answered_ns: leg.answered.map(|at| at - from),
        request: leg.node,
    };
    node.legs.iter().map(leg).collect()
}
