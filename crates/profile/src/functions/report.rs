//! The result, as tables and JSON show it.

use super::Pair;
use super::locks::{Key, Locks, Sum};
use crate::clock::Rate;
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{FunctionId, WaitKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// Statistics of a whole trace.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// How ticks became time.
    pub rate: Rate,
    /// What the trace does not tell.
    pub quality: Quality,
    /// In the order of their numbers; sorting is the reader's choice.
    pub functions: Vec<FunctionRow>,
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

/// How long calls took. Calls that touch a gap, or that began or ended outside the recording, are
/// counted but in no quantile.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Durations {
    /// Calls measured.
    pub count: u64,
    /// Their sum, in nanoseconds.
    pub total_ns: u64,
    /// The median.
    pub p50: Quantile,
    /// One in a hundred is longer.
    pub p99: Quantile,
    /// One in a thousand.
    pub p999: Quantile,
    /// One in ten thousand.
    pub p9999: Quantile,
    /// The longest.
    pub max: Quantile,
    /// Measured calls that come from torn scans.
    pub salvaged: u64,
    /// Calls kept out because the scanner was away at some time of them.
    pub gap: u64,
    /// Calls kept out because they began before or were live after the recording.
    pub partial: u64,
    /// The longest of these, as far as it was seen: a lower bound, in nanoseconds.
    pub partial_max_ns: u64,
}

/// A quantile with the bounds within which it truly lies, in nanoseconds.
///
/// The bounds come from when the scanner looked, not from chance: they say nothing about how well a
/// few calls stand for all that might have been.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Quantile {
    /// Taking the middle of what each duration may have been.
    pub ns: u64,
    /// Not less than this.
    pub low_ns: u64,
    /// Not more than this.
    pub high_ns: u64,
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

/// Puts the result together.
pub(super) fn build(
    pairs: Vec<Pair>,
    locks: Locks,
    names: Names,
    rate: Rate,
    quality: Quality,
    records: u64,
) -> Report {
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
    Report { records, rate, quality, functions, names }
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
    callers.sort_by_key(|pair| (std::cmp::Reverse(pair.spread.total()), pair.caller));
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
    let quantile = |q| {
        let (middle, low, high) = pair.spread.quantile(q);
        Quantile { ns: rate.ns(middle), low_ns: rate.ns(low), high_ns: rate.ns(high) }
    };
    let (longest, slack) = pair.spread.longest();
    Durations {
        count: pair.spread.count(),
        total_ns: rate.ns(pair.spread.total()),
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
        p9999: quantile(0.9999),
        max: Quantile {
            ns: rate.ns(longest),
            low_ns: rate.ns(longest.saturating_sub(slack)),
            high_ns: quantile(1.0).high_ns,
        },
        salvaged: pair.salvaged,
        gap: pair.gap,
        partial: pair.partial.0,
        partial_max_ns: rate.ns(pair.partial.1),
    }
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
