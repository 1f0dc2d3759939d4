//! What the report says, row by row.

use super::interval::Interval;
use crate::clock::TickRate;
use crate::counted::CountedCalls;
use crate::record::{FunctionId, Place, Ticks};
use crate::sampled::{Line, SlowLines};
use serde::Serialize;

/// One function.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FunctionRow {
    /// Its number in the trace.
    #[serde(skip)]
    pub id: FunctionId,
    /// Demangled.
    pub name: String,
    /// As the linker knows it.
    pub symbol: String,
    /// Source file; empty when unknown.
    pub file: String,
    /// Line of the definition; zero when unknown.
    pub line: u32,
    /// All its calls.
    #[serde(flatten)]
    pub calls: Durations,
    /// Time in it and in no call of [`FunctionRow::callees`], nor of those. Calls that were not seen are in it.
    #[serde(rename = "self")]
    pub itself: Bounds,
    /// The same by place in a caller, most time first.
    pub callers: Vec<CallerRow>,
    /// The seen calls that it made itself, by place in it, most time first.
    pub callees: Vec<CalleeRow>,
    /// Waits within its calls, most time first.
    pub locks: Vec<LockRow>,
    /// Where its threads were in its slow calls, filled in by whoever has samples; `null` where there are none.
    pub lines: Option<SlowLines>,
    /// What its calls counted, filled in by whoever was asked for it; `null` where nothing was.
    pub counted: Option<CountedCalls>,
}

/// A function as called from one place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CallerRow {
    /// The instrumented function below it; `None` at the bottom of a stack.
    pub caller: Option<String>,
    /// Where that goes on afterwards.
    #[serde(skip)]
    pub at: Option<Place>,
    /// File and line of the call, filled in by whoever has the program's debug information.
    pub line: Option<String>,
    /// The calls from there.
    #[serde(flatten)]
    pub calls: Durations,
}

/// What a function called from one place in it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CalleeRow {
    /// What it called, perhaps by way of code that is not instrumented.
    pub callee: String,
    /// Where it goes on afterwards.
    #[serde(skip)]
    pub at: Option<Place>,
    /// File and line of the call, filled in by whoever has the program's debug information.
    pub line: Option<String>,
    /// The calls from there.
    #[serde(flatten)]
    pub calls: Durations,
}

/// How long calls took. Every call counts as the interval that its duration is known to lie in.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Durations {
    /// Calls that the quantiles are of.
    pub count: u64,
    /// Their sum. One within another of the same function counts in both.
    pub total: Bounds,
    /// Their mean.
    pub mean: Bounds,
    /// The median.
    pub p50: Bounds,
    /// One in a hundred is longer.
    pub p99: Bounds,
    /// One in a thousand.
    pub p999: Bounds,
    /// One in ten thousand.
    pub p9999: Bounds,
    /// The longest.
    pub max: Bounds,
    /// Of `count`, calls that come from torn scans.
    pub salvaged: u64,
    /// Of `count`, calls that the program measured itself: these are known to 0.1 µs, and none was too short.
    pub clocked: u64,
    /// Of `count`, calls that began or ended while the scanner was away: their bounds are wide.
    pub gap: u64,
    /// Of `count`, calls that began before or were live after the recording: they have no upper bound.
    pub partial: u64,
    /// Calls beside `count`, of whose duration nothing is known.
    pub left_out: u64,
    /// The most that one of these can have taken of the recording, in nanoseconds.
    pub left_out_max_ns: u64,
}

/// What a quantile, a sum or the longest duration lies between, in nanoseconds.
///
/// The bounds come from when the scanner looked, not from chance: they say nothing about how well a
/// few calls stand for all that might have been.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Bounds {
    /// Not less than this.
    pub low_ns: u64,
    /// Not more than this; `None` (in JSON `null`): no upper bound is known.
    pub high_ns: Option<u64>,
}

/// A line at which threads were in slow calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SlowLine {
    /// The name of the innermost function that was under way.
    pub function: String,
    /// As of [`Line`].
    #[serde(flatten)]
    pub line: Line,
    /// How much longer than usual the slow calls took for what was done there: the time that these samples stand for. Time in
    /// which the thread waited is not in it.
    pub added: Bounds,
}

/// In nanoseconds at this rate.
pub(crate) fn bounds(ticks: Interval, rate: TickRate) -> Bounds {
    let high_ns = (ticks.high != Ticks::MAX).then(|| rate.ns(ticks.high));
    Bounds { low_ns: rate.ns(ticks.low), high_ns }
}

/// Locks of one address, held by one function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HoldRow {
    /// As what it was taken for longest: `mutex`, `read` or `write`.
    pub kind: &'static str,
    /// The lock's address.
    pub object: u64,
    /// The innermost function that took it, where known.
    pub function: Option<String>,
    /// How often it was held for as long as was asked for.
    pub holds: u64,
    /// All of these, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
    /// Where that took it: an address in the recorded process; zero when unknown.
    pub site: u64,
    /// The variable at that address, filled in by whoever has the program's symbols.
    pub lock: Option<String>,
    /// File and line of `site`, filled in by whoever has the program's debug information.
    pub line: Option<String>,
}

/// Waits for one lock within the calls of one function.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LockRow {
    /// `mutex`, `read`, `write`, `condition` or `join`.
    pub kind: &'static str,
    /// The lock's address.
    pub object: u64,
    /// The innermost function of whoever held it when it took it, where known.
    pub holder: Option<String>,
    /// How many.
    pub waits: u64,
    /// How long in all, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
    /// Return address of the longest; zero when unknown.
    pub site: u64,
    /// The lock's variable, filled in by whoever has the program's symbols.
    pub lock: Option<String>,
    /// File and line of the site, filled in by whoever has its debug information.
    pub line: Option<String>,
    /// Where the holder had taken the lock, of the longest.
    #[serde(skip)]
    pub held_at: Option<Place>,
    /// File and line of that.
    pub holder_line: Option<String>,
}

/// Waits for one lock, whoever waited.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ContendedRow {
    /// `mutex`, `read` or `write`: what the longest was.
    pub kind: &'static str,
    /// The lock's address.
    pub object: u64,
    /// How many.
    pub waits: u64,
    /// How long in all, in nanoseconds: waits of several threads add up.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
    /// The innermost function that waited the longest, where known.
    pub function: Option<String>,
    /// The innermost function of whoever held it then when it took it, where known.
    pub holder: Option<String>,
    /// Return address of the longest; zero when unknown.
    pub site: u64,
    /// The lock's variable, filled in by whoever has the program's symbols.
    pub lock: Option<String>,
    /// File and line of the site, filled in by whoever has its debug information.
    pub line: Option<String>,
    /// Where the holder had taken the lock, of the longest.
    #[serde(skip)]
    pub held_at: Option<Place>,
    /// File and line of that.
    pub holder_line: Option<String>,
}
