//! What a time line is of: a request, or a call.

use super::{LOCK, PENDING, QUEUED, RUNNING, SERIES, UNKNOWN};
use crate::profile::bounds::{bounded, shown};
use std::collections::BTreeMap;
use tailwater_profile::record::{ThreadId, Ticks};
use tailwater_profile::requests::{RequestRow, State, Step, WaitRow};
use tailwater_profile::slowest::CallRow;
use tailwater_report::TimelineBar;

/// A request or a call.
pub(in crate::profile) struct Subject<'a> {
    /// Its name on the page.
    pub(super) id: String,
    pub(super) title: String,
    /// Of its own row.
    pub(super) label: &'static str,
    pub(super) whose: Whose,
    /// What is read of the trace, in ticks.
    pub(super) span: (Ticks, Ticks),
    pub(super) window: Window,
    /// By how much its ends may be wrong.
    unsure: (u64, u64),
    steps: &'a [Step],
    /// The locks that it waited for, by their addresses, as the program calls them.
    locks: BTreeMap<u64, &'a str>,
}

/// Its threads.
pub(super) enum Whose {
    /// The threads that marked this request.
    Request(u64),
    Thread(ThreadId),
}

/// The time that is drawn, in nanoseconds since the recording began.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) from: u64,
    pub(super) to: u64,
    /// What the axis counts from.
    pub(super) zero: u64,
}

impl<'a> Subject<'a> {
    /// The `nth` slowest request, from zero.
    pub(in crate::profile) fn request((nth, row): (usize, &'a RequestRow)) -> Self {
        let (from, to) = (row.start_ns, row.start_ns.saturating_add(row.total_ns));
        Self {
            id: format!("request-{}", nth + 1),
            title: format!("Request {}, {}", row.request, shown(row.total_ns)),
            label: "the request",
            whose: Whose::Request(row.request),
            span: row.span,
            window: Window { from, to, zero: from },
            unsure: (0, 0),
            steps: &row.steps,
            locks: locks(&row.waits),
        }
    }

    /// The `nth` slowest call, from zero; with what lies within its error bars.
    pub(in crate::profile) fn call((nth, row): (usize, &'a CallRow)) -> Self {
        let parts = row.parts;
        let length_ns = parts.running_ns + parts.waiting_ns + parts.unknown_ns;
        let (before, after) = row.slack_ns;
        let window = Window {
            from: row.start_ns.saturating_sub(before),
            to: row.start_ns.saturating_add(length_ns).saturating_add(after),
            zero: row.start_ns,
        };
        let function = &row.tree.function;
        Self {
            id: format!("call-{}", nth + 1),
            title: format!("Call {} of {function}, {}", nth + 1, bounded(row.took)),
            label: "the call",
            whose: Whose::Thread(row.thread_id),
            span: row.span,
            window,
            unsure: row.slack_ns,
            steps: &row.steps,
            locks: locks(&row.waits),
        }
    }

    /// Its states, one after another.
    pub(super) fn states(&self) -> Vec<TimelineBar> {
        let length_ns = (self.window.to - self.window.zero).saturating_sub(self.unsure.1);
        let bar = |(nth, step): (usize, &Step)| {
            let series = match step.state {
                State::Running => RUNNING,
                State::Waiting => LOCK,
                State::Queued => QUEUED,
                State::Pending => PENDING,
                State::Unknown => UNKNOWN,
            };
            let thread =
                step.thread.as_ref().map_or(String::new(), |thread| format!(" in thread {thread}"));
            let from = step.at_ns as i64;
            TimelineBar {
                ends: (from, from + step.ns as i64),
                unsure: (
                    if nth == 0 { self.unsure.0 } else { 0 },
                    // Of many steps the last ones are left out. Both ends are rounded.
                    if step.at_ns + step.ns + 2 >= length_ns { self.unsure.1 } else { 0 },
                ),
                lane: 0,
                series,
                name: SERIES[series].into(),
                tip: format!("{}{thread}: {}", SERIES[series], shown(step.ns)),
            }
        };
        self.steps.iter().enumerate().map(bar).collect()
    }

    /// What to call a lock.
    pub(super) fn lock(&self, object: u64) -> String {
        self.locks.get(&object).map_or_else(|| format!("{object:#x}"), |&name| name.to_owned())
    }
}

fn locks(waits: &[WaitRow]) -> BTreeMap<u64, &str> {
    waits.iter().filter_map(|wait| Some((wait.object, wait.lock.as_deref()?))).collect()
}

impl Window {
    /// The part of a span within it, as the axis has it.
    pub(super) fn cut(self, start_ns: u64, ns: u64) -> Option<(i64, i64)> {
        let (from, to) = (start_ns.max(self.from), start_ns.saturating_add(ns).min(self.to));
        // A point in time has its place too.
        let is_seen = from < to || (ns == 0 && from == to);
        is_seen.then(|| (self.at(from), self.at(to)))
    }

    /// A time as the axis has it.
    pub(super) const fn at(self, ns: u64) -> i64 {
        ns as i64 - self.zero as i64
    }

    pub(super) const fn ends(self) -> (i64, i64) {
        (self.at(self.from), self.at(self.to))
    }

    pub(super) const fn holds(self, ns: u64) -> bool {
        self.from <= ns && ns <= self.to
    }
}
