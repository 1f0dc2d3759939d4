//! The result, as tables and JSON show it.

use super::interval::Interval;
use super::locks::{Key, Locks, Sum};
use super::{LeftOut, Pair};
use crate::clock::Rate;
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{FunctionId, Ticks, WaitKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// Statistics of a whole trace.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// How ticks became time.
    pub rate: Rate,
    /// From the beginning of the recording to the last end of a call, in nanoseconds.
    pub length_ns: u64,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Calls of all functions that are in no quantile, since nothing is known of their duration.
    pub left_out: u64,
    /// The most that one of these can have taken of the recording, in nanoseconds.
    pub left_out_max_ns: u64,
    /// In the order of their numbers; sorting is the reader's choice.
    pub functions: Vec<FunctionRow>,
    /// All locks that were waited for, the most time first.
    pub locks: Vec<ContendedRow>,
    /// The tables, for whoever wants addresses and lines.
    #[serde(skip)]
    pub names: Names,
}

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
    /// The same by caller, most time first.
    pub callers: Vec<CallerRow>,
    /// Waits within its calls, most time first.
    pub locks: Vec<LockRow>,
}

/// A function as called by one caller.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CallerRow {
    /// The instrumented function below it; `None` at the bottom of a stack.
    pub caller: Option<String>,
    /// The calls from there.
    #[serde(flatten)]
    pub calls: Durations,
}

/// How long calls took. Every call counts as the interval that its duration is known to lie in.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Durations {
    /// Calls that the quantiles are of.
    pub count: u64,
    /// Their sum.
    pub total: Bounds,
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
}

/// Puts the result together.
pub(super) fn build(
    pairs: Vec<Pair>,
    locks: Locks,
    names: Names,
    rate: Rate,
    length: Ticks,
    quality: Quality,
    records: u64,
) -> Report {
    let mut left_out = LeftOut::default();
    pairs.iter().for_each(|pair| left_out.add(pair.left_out));
    let mut by_function: BTreeMap<FunctionId, Vec<Pair>> = BTreeMap::new();
    for pair in pairs {
        by_function.entry(pair.function).or_default().push(pair);
    }
    let mut waits: BTreeMap<FunctionId, Vec<(Key, Sum)>> = BTreeMap::new();
    for (key, sum) in locks.sums() {
        waits.entry(key.function).or_default().push((key, sum));
    }
    let functions = by_function
        .into_iter()
        .map(|(id, pairs)| {
            let waits = waits.remove(&id).unwrap_or_default();
            row(id, &pairs, waits, &names, rate)
        })
        .collect();
    let (left_out, left_out_max_ns) = (left_out.count, rate.ns(left_out.longest));
    let length_ns = rate.ns(length);
    let locks = Vec::new();
    Report { records, rate, length_ns, quality, left_out, left_out_max_ns, functions, locks, names }
}

fn row(
    id: FunctionId,
    pairs: &[Pair],
    mut waits: Vec<(Key, Sum)>,
    names: &Names,
    rate: Rate,
) -> FunctionRow {
    let mut all = Pair::new(id, None);
    pairs.iter().for_each(|pair| all.merge(pair));
    let mut callers: Vec<&Pair> = pairs.iter().collect();
    callers.sort_by_key(|pair| (std::cmp::Reverse(pair.spread.total().low), pair.caller));
    waits.sort_by_key(|(key, sum)| (std::cmp::Reverse(sum.total), *key));
    let known = names.function(id);
    FunctionRow {
        id,
        name: names.of(id),
        symbol: known.map_or_else(String::new, |function| function.name.clone()),
        file: known.map_or_else(String::new, |function| function.file.clone()),
        line: known.map_or(0, |function| function.line),
        calls: durations(&all, rate),
        callers: callers
            .into_iter()
            .map(|pair| CallerRow {
                caller: pair.caller.map(|id| names.of(id)),
                calls: durations(pair, rate),
            })
            .collect(),
        locks: waits.iter().map(|(key, sum)| lock(key, sum, names, rate)).collect(),
    }
}

fn durations(pair: &Pair, rate: Rate) -> Durations {
    let quantile = |q| bounds(pair.spread.quantile(q), rate);
    Durations {
        count: pair.spread.count(),
        total: bounds(pair.spread.total(), rate),
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
        p9999: quantile(0.9999),
        max: bounds(pair.spread.longest(), rate),
        salvaged: pair.salvaged,
        gap: pair.gap,
        partial: pair.partial,
        left_out: pair.left_out.count,
        left_out_max_ns: rate.ns(pair.left_out.longest),
    }
}

fn bounds(ticks: Interval, rate: Rate) -> Bounds {
    let high_ns = (ticks.high != Ticks::MAX).then(|| rate.ns(ticks.high));
    Bounds { low_ns: rate.ns(ticks.low), high_ns }
}

fn lock(key: &Key, sum: &Sum, names: &Names, rate: Rate) -> LockRow {
    LockRow {
        kind: wait_name(key.kind),
        object: key.object,
        holder: key.holder.map(|id| names.of(id)),
        waits: sum.waits,
        total_ns: rate.ns(sum.total),
        max_ns: rate.ns(sum.longest),
        site: sum.site,
        lock: None,
        line: None,
    }
}

/// What a wait was for, in one word.
pub(crate) const fn wait_name(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Mutex => "mutex",
        WaitKind::Read => "read",
        WaitKind::Write => "write",
        WaitKind::Condition => "condition",
        WaitKind::Join => "join",
    }
}
