//! The rows of threads: what the kernel did with each, what it waited for, and its calls.

use super::subject::{Subject, Window};
use super::{ASLEEP, CORE, FUNCTION, INTERRUPTED, LOCK, RUNNING, UNKNOWN};
use crate::profile::bounds::{bounded, shown};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use tailwater_profile::history::{CallSpan, Report, WaitSpan};
use tailwater_profile::kernel::KernelSpan;
use tailwater_profile::record::ThreadId;
use tailwater_report::{TimelineArrow, TimelineBar};

/// Bars of each kind that are drawn of a thread, the longest.
const BARS_MAX: usize = 1_000;
/// Arrows drawn, those of the longest waits.
const ARROWS_MAX: usize = 100;

/// What a thread did in a window.
#[derive(Default)]
pub(super) struct Did<'a> {
    calls: Vec<&'a CallSpan>,
    waits: Vec<&'a WaitSpan>,
}

/// The same as bars.
pub(super) struct Drawn<'a> {
    pub(super) bars: Vec<TimelineBar>,
    /// The waits among them, and their lane.
    waits: (Vec<&'a WaitSpan>, usize),
    /// The calls among them, each with its lane.
    calls: Vec<(&'a CallSpan, usize)>,
}

/// The calls and waits that touch a window.
pub(super) fn by_thread(history: &Report, window: Window) -> BTreeMap<ThreadId, Did<'_>> {
    let mut threads: BTreeMap<ThreadId, Did<'_>> = BTreeMap::new();
    for call in history.calls.iter().filter(|one| window.cut(one.start_ns, one.ns).is_some()) {
        threads.entry(call.thread).or_default().calls.push(call);
    }
    for wait in history.waits.iter().filter(|one| window.cut(one.start_ns, one.ns).is_some()) {
        threads.entry(wait.thread).or_default().waits.push(wait);
    }
    threads
}

/// All threads, in the order in which they are worth a row: its own, those that held these up, and then those that did most.
pub(super) fn chosen(
    threads: &BTreeMap<ThreadId, Did<'_>>,
    own: &BTreeSet<ThreadId>,
    window: Window,
) -> Vec<ThreadId> {
    let waits = own.iter().filter_map(|id| threads.get(id)).flat_map(|did| &did.waits);
    let holders: BTreeSet<ThreadId> = waits.filter_map(|wait| wait.held_by).collect();
    let all: BTreeSet<ThreadId> = threads.keys().chain(own).chain(&holders).copied().collect();
    let mut all: Vec<ThreadId> = all.into_iter().collect();
    all.sort_by_cached_key(|id| {
        let busy_ns = threads.get(id).map_or(0, |did| did.busy_ns(window));
        (!own.contains(id), !holders.contains(id), Reverse(busy_ns), *id)
    });
    all
}

/// From each wait to its holder, where both have a row. The first row is the subject's own.
pub(super) fn arrows(rows: &[(ThreadId, Drawn<'_>)], subject: &Subject<'_>) -> Vec<TimelineArrow> {
    let waits = rows.iter().enumerate().flat_map(|(row, (_, drawn))| {
        let (waits, lane) = &drawn.waits;
        waits.iter().map(move |wait| (row, *lane, *wait))
    });
    let mut waits: Vec<(usize, usize, &WaitSpan)> = waits.collect();
    waits.sort_by_key(|(_, _, wait)| Reverse(wait.ns));
    let arrow = |(row, lane, wait): (usize, usize, &WaitSpan)| {
        let held_by = wait.held_by?;
        let holder = rows.iter().position(|(id, _)| *id == held_by).filter(|at| *at != row)?;
        let at_ns = wait.start_ns.max(subject.window.from);
        Some(TimelineArrow {
            at: subject.window.at(at_ns),
            from: (row + 1, lane),
            to: (holder + 1, rows[holder].1.holding(wait, at_ns)),
            tip: format!("{} {}{}", wait.kind, subject.lock(wait.object), held(wait)),
        })
    };
    waits.into_iter().filter_map(arrow).take(ARROWS_MAX).collect()
}

/// By whom, and in which function.
fn held(wait: &WaitSpan) -> String {
    let by = wait.holder.as_ref().map_or(String::new(), |holder| format!(", held by {holder}"));
    let within = wait.held_in.as_ref().map_or(String::new(), |function| format!(" in {function}"));
    format!("{by}{within}")
}

impl Did<'_> {
    /// How long it was in its outermost calls.
    fn busy_ns(&self, window: Window) -> u64 {
        let outermost = self.calls.iter().map(|call| call.depth).min();
        let calls = self.calls.iter().filter(|call| Some(call.depth) == outermost);
        let ends = calls.filter_map(|call| window.cut(call.start_ns, call.ns));
        ends.map(|(from, to)| (to - from).unsigned_abs()).sum()
    }
}

impl<'a> Drawn<'a> {
    /// What the kernel did with it lies above; then come its waits, and then `levels` of calls. What there is none of leaves
    /// no hole.
    pub(super) fn new<'k>(
        did: &Did<'a>,
        kernel: impl Iterator<Item = (i64, &'k KernelSpan)> + Clone,
        subject: &Subject<'_>,
        levels: usize,
    ) -> Self {
        let mut drawn = Self { bars: vec![], waits: (vec![], 0), calls: vec![] };
        let window = subject.window;
        let is_state = |span: &KernelSpan| series(span) != INTERRUPTED;
        drawn.lane(kernel.clone().filter(|(_, span)| is_state(span)), |one, lane| {
            of_kernel(one, window, lane)
        });
        drawn.lane(kernel.filter(|(_, span)| !is_state(span)), |one, lane| {
            of_kernel(one, window, lane)
        });
        let lane = drawn.lane(did.waits.iter().copied(), |one, lane| wait(one, subject, lane));
        drawn.waits = (longest(did.waits.clone(), |one| one.ns), lane);
        drawn.calls(did, window, levels);
        drawn
    }

    /// Draws things on a lane of their own, if there are any. Gives that lane.
    fn lane<T>(
        &mut self,
        all: impl Iterator<Item = T>,
        bar: impl Fn(T, usize) -> Option<TimelineBar>,
    ) -> usize {
        let lane = self.next_lane();
        let bars = all.filter_map(|one| bar(one, lane)).collect();
        self.bars
            .extend(longest(bars, |bar: &TimelineBar| (bar.ends.1 - bar.ends.0).unsigned_abs()));
        lane
    }

    fn next_lane(&self) -> usize {
        self.bars.iter().map(|bar| bar.lane + 1).max().unwrap_or(0)
    }

    fn calls(&mut self, did: &Did<'a>, window: Window, levels: usize) {
        // Of the levels that there are: what is not recorded leaves no hole.
        let depths: BTreeSet<u32> = did.calls.iter().map(|call| call.depth).collect();
        let level: BTreeMap<u32, usize> =
            depths.into_iter().take(levels).zip(self.next_lane()..).collect();
        for call in longest(did.calls.clone(), |call| call.ns) {
            let Some(&lane) = level.get(&call.depth) else { continue };
            self.bars.extend(of_call(call, window, lane));
            self.calls.push((call, lane));
        }
    }

    /// The lane of the call in which it had taken what is waited for; without one, its first.
    fn holding(&self, wait: &WaitSpan, at_ns: u64) -> usize {
        let is_open = |call: &CallSpan| {
            let [before, after] = call.slack_ns.map(|slack| slack.unwrap_or(u64::MAX));
            let end_ns = call.start_ns.saturating_add(call.ns).saturating_add(after);
            call.start_ns.saturating_sub(before) <= at_ns && at_ns <= end_ns
        };
        let is_it = |call: &CallSpan| wait.held_in.as_ref() == Some(&call.function);
        let holding = self.calls.iter().filter(|(call, _)| is_it(call) && is_open(call));
        holding.map(|(_, lane)| *lane).max().unwrap_or(0)
    }
}

/// The longest of them, as many as are drawn, longest first.
fn longest<T>(mut all: Vec<T>, ns: impl Fn(&T) -> u64) -> Vec<T> {
    all.sort_by_key(|one| Reverse(ns(one)));
    all.truncate(BARS_MAX);
    all
}

fn series(span: &KernelSpan) -> usize {
    match span.name.as_str() {
        "running" => RUNNING,
        "waiting for a core" => CORE,
        "asleep" | "stopped" => ASLEEP,
        "unknown" => UNKNOWN,
        _ => INTERRUPTED,
    }
}

fn of_kernel(
    (start_ns, span): (i64, &KernelSpan),
    window: Window,
    lane: usize,
) -> Option<TimelineBar> {
    // Before the recording nothing is drawn.
    let (from, before) = (start_ns.max(0).unsigned_abs(), start_ns.min(0).unsigned_abs());
    let ends = window.cut(from, span.ns.checked_sub(before)?)?;
    let length = if span.ns == 0 { String::new() } else { format!(" {}", shown(span.ns)) };
    let cpu = span.cpu.map_or(String::new(), |cpu| format!(", CPU {cpu}"));
    let why = span.why.as_ref().map_or(String::new(), |why| format!(", {why}"));
    let (name, tip) = (span.name.clone(), format!("{}{length}{cpu}{why}", span.name));
    Some(TimelineBar { ends, unsure: (0, 0), lane, series: series(span), name, tip })
}

fn wait(wait: &WaitSpan, subject: &Subject<'_>, lane: usize) -> Option<TimelineBar> {
    let ends = subject.window.cut(wait.start_ns, wait.ns)?;
    let by = wait.holder.as_ref().map_or(String::new(), |holder| format!(", held by {holder}"));
    Some(TimelineBar {
        ends,
        unsure: (0, 0),
        lane,
        series: LOCK,
        name: format!("waits for {}{by}", wait.kind),
        tip: format!(
            "waited {} for {} {}{}",
            shown(wait.ns),
            wait.kind,
            subject.lock(wait.object),
            held(wait)
        ),
    })
}

/// An end that lies beyond the window has no error bar.
fn of_call(call: &CallSpan, window: Window, lane: usize) -> Option<TimelineBar> {
    let ends = window.cut(call.start_ns, call.ns)?;
    let whole = (window.at(call.start_ns), window.at(call.start_ns.saturating_add(call.ns)));
    // What is not known at all may be anywhere in the window.
    let [begin, end] = call.slack_ns.map(|slack| slack.unwrap_or(window.to - window.from));
    Some(TimelineBar {
        ends,
        unsure: (
            if ends.0 == whole.0 { begin } else { 0 },
            if ends.1 == whole.1 { end } else { 0 },
        ),
        lane,
        series: FUNCTION,
        name: call.function.clone(),
        tip: format!("{}: {}", call.function, bounded(call.took)),
    })
}
