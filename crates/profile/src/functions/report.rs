//! The result, as tables and JSON show it.

use super::interval::Interval;
use super::locks::{Key, Locks, Sum};
use super::rows::{
    CalleeRow, CallerRow, ContendedRow, Durations, FunctionRow, HoldRow, LockRow, SlowLine, bounds,
};
use super::together::Together;
use super::{LeftOut, Pair};
use crate::clock::TickRate;
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{FunctionId, Ticks, WaitKind};
use crate::sampled::{SampleCoverage, Sampled};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Statistics of a whole trace.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// How ticks became time.
    pub rate: TickRate,
    /// From the beginning of the recording to the last end of a call, in nanoseconds.
    pub length_ns: u64,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Calls of all functions that are in no quantile, since nothing is known of their duration.
    pub left_out: u64,
    /// The most that one of these can have taken of the recording, in nanoseconds.
    pub left_out_max_ns: u64,
    /// Calls of all functions whose place in their caller is not told, since more places were seen than are kept (16,384).
    /// They count in all else.
    pub unplaced: u64,
    /// In the order of their numbers; sorting is the reader's choice.
    pub functions: Vec<FunctionRow>,
    /// All locks that were waited for, the most time first.
    pub locks: Vec<ContendedRow>,
    /// Locks that were held for long, by the function that took them, the longest in all first: whether anything waited for them or
    /// not. Empty where that was not recorded.
    pub holds: Vec<HoldRow>,
    /// Waits, and holds of locks, that may be missing from these and from the locks of functions, since they are beyond what is kept.
    pub locks_left_out: u64,
    /// The functions that were asked for, as one.
    pub together: Option<Together>,
    /// What is not in the samples, filled in by whoever has them; `null` where there are none.
    pub samples: Option<SampleCoverage>,
    /// The lines at which threads were at all, where no call was seen and there are samples; `null` elsewhere. Filled in as `samples` is.
    pub sampled: Option<Sampled>,
    /// The lines at which threads were in slow calls of whichever function, those first that added the most to these, by the lower
    /// bound; filled in by whoever has samples. Each sample counts once, for the innermost function that was known by then.
    pub slow_lines: Vec<SlowLine>,
    /// Samples that are of no call, slow or not: calls began or ended then while the scanner was away, in no slow one for certain.
    pub unclear_samples: u64,
    /// The tables, for whoever wants addresses and lines.
    #[serde(skip)]
    pub names: Names,
}

/// What a reading has gathered by its end. Fields have the names that they have in the result.
pub(super) struct Gathered {
    pub(super) records: u64,
    pub(super) rate: TickRate,
    pub(super) quality: Quality,
    pub(super) unplaced: u64,
    pub(super) locks: Vec<ContendedRow>,
    pub(super) holds: Vec<HoldRow>,
    pub(super) locks_left_out: u64,
    pub(super) together: Option<Together>,
    pub(super) names: Names,
    /// From the beginning of the recording to the last end of a call.
    pub(super) length: Ticks,
    /// Of which the rows of functions are made.
    pub(super) pairs: Vec<Pair>,
    /// The waits within calls of functions.
    pub(super) waits: Locks,
}

/// Puts the result together.
pub(super) fn build(gathered: Gathered) -> Report {
    let Gathered { pairs, waits: within, names, rate, .. } = gathered;
    let mut left_out = LeftOut::default();
    pairs.iter().for_each(|pair| left_out.add(pair.left_out));
    let mut by_function: BTreeMap<FunctionId, Pairs<'_>> = BTreeMap::new();
    for pair in &pairs {
        by_function.entry(pair.function).or_default().of_it.push(pair);
        if let Some(caller) = pair.caller {
            by_function.entry(caller).or_default().by_it.push(pair);
        }
    }
    let mut waits: BTreeMap<FunctionId, Vec<(Key, Sum)>> = BTreeMap::new();
    for (key, sum) in within.sums() {
        waits.entry(key.function).or_default().push((key, sum));
    }
    let functions = by_function
        .into_iter()
        .filter(|(_, pairs)| !pairs.of_it.is_empty())
        .map(|(id, pairs)| {
            let waits = waits.remove(&id).unwrap_or_default();
            row(id, pairs, waits, &names, rate)
        })
        .collect();
    let (left_out, left_out_max_ns) = (left_out.count, rate.ns(left_out.longest));
    Report {
        records: gathered.records,
        rate,
        length_ns: rate.ns(gathered.length),
        quality: gathered.quality,
        left_out,
        left_out_max_ns,
        unplaced: gathered.unplaced,
        functions,
        locks: gathered.locks,
        holds: gathered.holds,
        locks_left_out: gathered.locks_left_out,
        together: gathered.together,
        samples: None,
        sampled: None,
        slow_lines: Vec::new(),
        unclear_samples: 0,
        names,
    }
}

/// What one function's row is made of.
#[derive(Default)]
struct Pairs<'a> {
    /// Its calls, by place in a caller.
    of_it: Vec<&'a Pair>,
    /// Calls that it made, by place in it.
    by_it: Vec<&'a Pair>,
}

fn row(
    id: FunctionId,
    Pairs { mut of_it, mut by_it }: Pairs<'_>,
    mut waits: Vec<(Key, Sum)>,
    names: &Names,
    rate: TickRate,
) -> FunctionRow {
    let mut all = Pair::new(id, None, 0);
    of_it.iter().for_each(|pair| all.merge(pair));
    let mut children = Interval::NONE;
    by_it.iter().for_each(|pair| children.add(pair.within));
    let most_first =
        |pair: &&Pair| (Reverse(pair.within.low), pair.caller, pair.function, pair.site);
    of_it.sort_by_key(most_first);
    by_it.sort_by_key(most_first);
    waits.sort_by_key(|(key, sum)| (Reverse(sum.total), *key));
    let known = names.function(id);
    let caller = |pair: &Pair| CallerRow {
        caller: pair.caller.map(|id| names.of(id)),
        at: names.place(pair.caller, pair.site),
        line: None,
        calls: durations(pair, rate),
    };
    let callee = |pair: &Pair| CalleeRow {
        callee: names.of(pair.function),
        at: names.place(pair.caller, pair.site),
        line: None,
        calls: durations(pair, rate),
    };
    FunctionRow {
        id,
        name: names.of(id),
        symbol: known.map_or_else(String::new, |function| function.name.clone()),
        file: known.map_or_else(String::new, |function| function.file.clone()),
        line: known.map_or(0, |function| function.line),
        calls: durations(&all, rate),
        itself: bounds(all.within.without(children), rate),
        callers: of_it.into_iter().map(caller).collect(),
        callees: by_it.into_iter().map(callee).collect(),
        locks: waits.iter().map(|(key, sum)| lock(key, sum, names, rate)).collect(),
        lines: None,
        counted: None,
    }
}

fn durations(pair: &Pair, rate: TickRate) -> Durations {
    let quantile = |q| bounds(pair.spread.quantile(q), rate);
    let total = pair.spread.total();
    Durations {
        count: pair.spread.count(),
        total: bounds(total, rate),
        mean: bounds(total.divided(pair.spread.count()), rate),
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
        p9999: quantile(0.9999),
        max: bounds(pair.spread.longest(), rate),
        salvaged: pair.salvaged,
        clocked: pair.clocked,
        gap: pair.gap,
        partial: pair.partial,
        left_out: pair.left_out.count,
        left_out_max_ns: rate.ns(pair.left_out.longest),
    }
}

fn lock(key: &Key, sum: &Sum, names: &Names, rate: TickRate) -> LockRow {
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
        held_at: names.place(key.holder, sum.holder_site),
        holder_line: None,
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
