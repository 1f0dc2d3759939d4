//! The result, as text and JSON show it.

use super::Slow;
use crate::clock::{Clocks, TickRate};
use crate::counted::{Count, told};
use crate::functions::{Bounds, bounds};
use crate::kernel::{Account, Coverage, Stretch};
use crate::names::Names;
use crate::paths::Branch;
use crate::quality::Quality;
use crate::record::{Call, CallFlags, Counts, Place, ThreadId, Ticks};
use crate::requests::{Parts, Request, RequestRow, Scene, Share, Step, View, WaitRow, row};
use crate::sampled::{SampleCoverage, Sampled};
use serde::Serialize;
use std::cmp::Reverse;

/// The slowest calls of some functions.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Records read in the first pass.
    pub records: u64,
    /// How ticks became time.
    pub rate: TickRate,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Functions that were asked for and are in the trace.
    pub functions: u64,
    /// Their calls.
    pub count: u64,
    /// Calls beside these of whose duration nothing is known.
    pub left_out: u64,
    /// Slowest first, by the lower bound.
    pub slowest: Vec<CallRow>,
    /// What the kernel's file does not tell, filled in by whoever has it; `null` where there is none.
    pub kernel: Option<Coverage>,
    /// What is not in the samples, filled in by whoever has them; `null` where there are none.
    pub samples: Option<SampleCoverage>,
    /// The tables, for whoever wants addresses and lines.
    #[serde(skip)]
    pub names: Names,
}

/// A slow call.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CallRow {
    /// Its thread.
    pub thread: String,
    /// When it began, in nanoseconds since 1970: the middle of what it is known by.
    pub start_real_ns: u64,
    /// The same since recording began.
    pub start_ns: u64,
    /// How long it took.
    pub took: Bounds,
    /// It began before the recording, or had not ended with it.
    pub open: bool,
    /// Where the time went, from the middle of its start to that of its end: running, waiting, and unknown where the scanner
    /// was away. A call neither queues nor is pending.
    pub parts: Parts,
    /// What it waited for, longest first, at most twenty.
    pub waits: Vec<WaitRow>,
    /// The functions in which it ran, most time first, at most five; the innermost recorded call counts.
    pub running: Vec<Share>,
    /// The states of `parts` in order of time, at most two hundred steps.
    pub steps: Vec<Step>,
    /// It and the calls within it, by path.
    pub tree: Node,
    /// Details that are not listed, as of a request; they count in the parts.
    pub left_out: u64,
    /// Its thread, for a reading of its own.
    #[serde(skip)]
    pub thread_id: ThreadId,
    /// When it may have begun and ended, in ticks.
    #[serde(skip)]
    pub span: (Ticks, Ticks),
    /// By how much either may differ from its middle, in nanoseconds.
    #[serde(skip)]
    pub slack_ns: (u64, u64),
    /// The time of its thread that `parts` are of.
    #[serde(skip)]
    pub stretches: Vec<Stretch>,
    /// How much of that it waited for locks and the like.
    #[serde(skip)]
    pub waited_ns: u64,
    /// What its thread counted in it, of a clocked call of a recording with counters.
    pub counted: Vec<Count>,
    /// Where that time went, filled in by whoever has the kernel's file.
    pub kernel: Option<Account>,
    /// At which lines its thread was, in the calls within it as well; filled in by whoever has samples.
    pub lines: Option<Sampled>,
}

/// A function as called from one place on one path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Node {
    /// Its name.
    pub function: String,
    /// Where its caller goes on afterwards.
    #[serde(skip)]
    pub at: Option<Place>,
    /// File and line of the call, filled in by whoever has the program's debug information.
    pub line: Option<String>,
    /// How often it was called there.
    pub calls: u64,
    /// How long these took in all, of the recording.
    pub total: Bounds,
    /// Time in it and in none of its callees. Calls too short to be seen are in it.
    #[serde(rename = "self")]
    pub itself: Bounds,
    /// What it called, most time first.
    pub callees: Vec<Self>,
}

pub(super) fn rows(
    calls: impl Iterator<Item = (Slow, Request, Option<Branch>, Counts)>,
    scene: &Scene,
    names: &Names,
    clocks: &Clocks,
) -> Vec<CallRow> {
    let view = View { scene, names, clocks, rate: clocks.rate() };
    // A call of the first reading is in the second, unless the file was changed between them.
    let rows = calls.filter_map(|(slow, request, tree, counts)| {
        let RequestRow {
            start_real_ns,
            start_ns,
            parts,
            waits,
            running,
            steps,
            left_out,
            stretches,
            waited_ns,
            ..
        } = row(&request, &view);
        let Call { thread, start, end, start_slack, end_slack, .. } = slow.call;
        let slack = [start_slack, end_slack].map(u64::from);
        Some(CallRow {
            thread: names.of_thread(thread),
            start_real_ns,
            start_ns,
            took: bounds(slow.took, view.rate),
            open: slow.call.flags.has(CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE),
            parts,
            waits,
            running,
            steps,
            tree: node(&tree?, names, view.rate),
            left_out,
            thread_id: thread,
            span: (start.saturating_sub(slack[0]), end.saturating_add(slack[1])),
            slack_ns: (view.rate.ns(slack[0]), view.rate.ns(slack[1])),
            stretches,
            waited_ns,
            counted: told(&counts),
            kernel: None,
            lines: None,
        })
    });
    rows.collect()
}

/// Trees are some hundred branches deep at most.
fn node(branch: &Branch, names: &Names, rate: TickRate) -> Node {
    let mut callees: Vec<&Branch> = branch.callees.iter().collect();
    callees.sort_by_key(|one| (Reverse(one.time.low), Reverse(one.time.high), one.key));
    Node {
        function: names.of(branch.key.function),
        at: names.place(branch.key.caller, branch.key.site),
        line: None,
        calls: branch.calls,
        total: bounds(branch.time, rate),
        itself: bounds(branch.itself(), rate),
        callees: callees.into_iter().map(|one| node(one, names, rate)).collect(),
    }
}
