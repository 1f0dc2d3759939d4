//! Which functions have moved, corrected for how many were looked at.

use super::chosen::Chosen;
use super::testable::testable;
use serde::Serialize;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use tailwater_profile::blocks::FunctionBlocks;
use tailwater_stats::shift::{RankSum, Shift, holm};

/// Blocks that must have a quantile, in either trace; more where the corrected confidence asks for more.
const BLOCKS_MIN: usize = 8;
/// Where more of the seen calls than this share are shorter than the scanner surely sees, others like them were not seen.
const SHORT_MAX: f64 = 0.1;

/// Where the blocks of one trace have so many times as many calls as those of the other, 99th percentiles differ by that.
const UNEVEN: u64 = 2;

/// What is to be found out.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Asked {
    /// That no function is told of by chance alone.
    pub(super) confidence: f64,
    /// Changes that are no greater do not count.
    pub(super) within: f64,
    /// Calls that are shorter may be missed.
    pub(super) resolution_ns: u64,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Verdict {
    #[serde(flatten)]
    pub(super) asked: Asked,
    /// Comparisons that were made, and corrected for: two for most functions.
    pub(super) comparisons: usize,
    /// All functions that were compared: those that moved first, the greatest change first.
    pub(super) functions: Vec<Moved>,
    /// Functions of both traces with calls in too few of twenty parts of the time: no difference could be sure enough.
    pub(super) too_few: Vec<String>,
    /// Functions of which for that reason the median alone is compared.
    pub(super) median_only: Vec<String>,
    /// Functions of both traces many calls of which are shorter than the resolution, or were seen by one look alone.
    pub(super) too_short: Vec<String>,
    #[serde(flatten)]
    pub(super) chosen: Chosen,
}

/// A function, and how its calls have changed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Moved {
    pub(super) name: String,
    pub(super) calls_before: u64,
    pub(super) calls_after: u64,
    /// Whether one of the two has moved.
    pub(super) moved: bool,
    pub(super) p50: Option<Change>,
    pub(super) p99: Option<Change>,
    /// Parts of one trace have more than twice as many calls as those of the other: 99th percentiles differ by that alone.
    pub(super) uneven: bool,
}

/// How a quantile has changed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Change {
    /// The median of the blocks' quantiles.
    pub(super) before_ns: f64,
    pub(super) after_ns: f64,
    /// After over before.
    pub(super) ratio: f64,
    /// Between which it lies, of all functions together as surely as was asked; `null` where the blocks are too few to say.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The chance of such a difference where there is none, corrected over all comparisons.
    pub(super) p: f64,
    pub(super) moved: bool,
}

/// Blocks of one function in both traces, as logarithms: shifts are ratios.
struct Pair<'a> {
    name: &'a str,
    blocks: [&'a FunctionBlocks; 2],
}

/// Laws of the rank sum by the sizes of the samples.
#[derive(Default)]
struct Laws(HashMap<(usize, usize), RankSum>);

pub(super) fn compare(
    [before, after]: [&BTreeMap<String, FunctionBlocks>; 2],
    chosen: Chosen,
    asked: Asked,
) -> Verdict {
    let (mut pairs, mut too_few, mut too_short) = (vec![], vec![], vec![]);
    for name in &chosen.both {
        let (Some(a), Some(b)) = (before.get(name), after.get(name)) else { continue };
        if [a, b].iter().any(|one| one.short as f64 > one.calls as f64 * SHORT_MAX) {
            too_short.push(name.clone());
        } else {
            pairs.push(Pair { name, blocks: [a, b] });
        }
    }
    let mut laws = Laws::default();
    let alpha = 1.0 - asked.confidence;
    let least: Vec<[Option<f64>; 2]> = pairs.iter().map(|pair| pair.least(&mut laws)).collect();
    let all: Vec<f64> = least.iter().flatten().flatten().copied().collect();
    let number = testable(&all, alpha);
    let can_pass = |least: Option<f64>| least.is_some_and(|least| least * (number as f64) < alpha);
    let comparisons = all.iter().filter(|least| can_pass(Some(**least))).count();
    // How wide the intervals must be hangs on how many comparisons there are.
    let each = 1.0 - alpha / comparisons.max(1) as f64;
    let (mut functions, mut median_only) = (vec![], vec![]);
    for (pair, [median, tail]) in pairs.iter().zip(least) {
        let (median, tail) = (can_pass(median), can_pass(tail));
        match (median, tail) {
            (false, false) => too_few.push(pair.name.to_owned()),
            (true, false) => median_only.push(pair.name.to_owned()),
            _ => {}
        }
        functions.extend((median || tail).then(|| pair.moved(&mut laws, each, (median, tail))));
    }
    correct(&mut functions, asked);
    functions.sort_by(|a, b| {
        let key = |one: &Moved| (!one.moved, -one.greatest());
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    Verdict { asked, comparisons, functions, too_few, median_only, too_short, chosen }
}

/// Corrects all chances together, and judges by them.
fn correct(functions: &mut [Moved], asked: Asked) {
    let chances: Vec<f64> =
        functions.iter_mut().flat_map(Moved::changes).map(|one| one.p).collect();
    let mut corrected = holm(&chances).into_iter();
    for function in functions {
        for change in function.changes() {
            change.p = corrected.next().unwrap_or(1.0);
            let is_sure = change.p < 1.0 - asked.confidence;
            change.moved = is_sure && change.ratio.ln().abs() > asked.within.ln_1p();
        }
        let has_moved = function.changes().any(|change| change.moved);
        function.moved = has_moved;
    }
}

impl Pair<'_> {
    /// The smallest chance that the comparison of medians, and that of 99th percentiles, can have; `None` where there are
    /// too few blocks for one.
    fn least(&self, laws: &mut Laws) -> [Option<f64>; 2] {
        let [a, b] = self.blocks;
        [(&a.p50_ns, &b.p50_ns), (&a.p99_ns, &b.p99_ns)].map(|(a, b)| {
            let is_enough = a.len().min(b.len()) >= BLOCKS_MIN;
            is_enough.then(|| laws.law((a.len(), b.len()))).flatten().map(RankSum::least)
        })
    }

    fn moved(&self, laws: &mut Laws, confidence: f64, (median, tail): (bool, bool)) -> Moved {
        let [a, b] = self.blocks;
        let mut change = |is_made: bool, a: &[f64], b: &[f64]| {
            is_made.then(|| laws.change(a, b, confidence)).flatten()
        };
        let (few, many) = (a.p99_calls.min(b.p99_calls), a.p99_calls.max(b.p99_calls));
        Moved {
            name: self.name.to_owned(),
            calls_before: a.calls,
            calls_after: b.calls,
            moved: false,
            p50: change(median, &a.p50_ns, &b.p50_ns),
            p99: change(tail, &a.p99_ns, &b.p99_ns),
            uneven: tail && many > few * UNEVEN,
        }
    }
}

impl Laws {
    fn law(&mut self, sizes: (usize, usize)) -> Option<&RankSum> {
        Some(match self.0.entry(sizes) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(RankSum::of(sizes.0, sizes.1)?),
        })
    }

    fn change(&mut self, before: &[f64], after: &[f64], confidence: f64) -> Option<Change> {
        let law = self.law((before.len(), after.len()))?;
        // A call of no ticks is one of a tick at most.
        let logs = |values: &[f64]| values.iter().map(|ns| ns.max(0.1).ln()).collect::<Vec<f64>>();
        let found = law.shift(&logs(before), &logs(after), confidence)?;
        let Shift { p, estimate, low, high } = found;
        let ratio = |log: f64| log.is_finite().then(|| log.exp());
        Some(Change {
            before_ns: median(before),
            after_ns: median(after),
            ratio: estimate.exp(),
            low: ratio(low),
            high: ratio(high),
            p,
            moved: false,
        })
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

impl Moved {
    fn changes(&mut self) -> impl Iterator<Item = &mut Change> {
        self.p50.iter_mut().chain(self.p99.iter_mut())
    }

    /// Of its changes, those that count before others.
    fn greatest(&self) -> f64 {
        let changes = self.p50.iter().chain(&self.p99).filter(|one| one.moved || !self.moved);
        changes.map(|one| one.ratio.ln().abs()).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::rng::Rng;
    use tailwater_profile::blocks::BLOCKS;

    const ASKED: Asked = Asked { confidence: 0.99, within: 0.01, resolution_ns: 100 };
    const FUNCTIONS: u32 = 40;

    /// Of a made-up recording: blocks whose quantiles scatter by some percent, as those of real ones do, with a tail that
    /// scatters more. One function takes `slower` times as long.
    fn recording(seed: u64, slower: f64) -> BTreeMap<String, FunctionBlocks> {
        let mut rng = Rng::from_seed(seed);
        let mut scatter = |around: f64, by: f64| -> Vec<f64> {
            // Skewed: a disturbance makes slower, never quicker.
            (0..BLOCKS).map(|_| around * (1.0 + rng.exponential(by))).collect()
        };
        let function = |n: u32| {
            let base = 1_000.0 * f64::from(n + 1) * if n == 7 { slower } else { 1.0 };
            let (p50_ns, p99_ns) = (scatter(base, 0.02), scatter(base * 8.0, 0.1));
            let blocks = FunctionBlocks { calls: 10_000, short: 0, p50_ns, p99_ns, p99_calls: 500 };
            (format!("f{n}"), blocks)
        };
        (0..FUNCTIONS).map(function).collect()
    }

    /// All functions of both.
    fn compare(
        before: &BTreeMap<String, FunctionBlocks>,
        after: &BTreeMap<String, FunctionBlocks>,
        asked: Asked,
    ) -> Verdict {
        let both = before.keys().filter(|name| after.contains_key(*name)).cloned().collect();
        super::compare([before, after], Chosen { both, ..Chosen::default() }, asked)
    }

    fn moved(verdict: &Verdict) -> Vec<&str> {
        verdict.functions.iter().filter(|one| one.moved).map(|one| one.name.as_str()).collect()
    }

    /// 400 pairs of 40 functions and 80 comparisons: uncorrected, some 320 would be told of.
    #[test]
    fn of_recordings_of_one_program_no_function_has_moved() {
        let alarms = (0..400u64).map(|seed| {
            let verdict = compare(&recording(seed * 2, 1.0), &recording(seed * 2 + 1, 1.0), ASKED);
            assert_eq!((verdict.functions.len(), verdict.comparisons), (40, 80));
            usize::from(!moved(&verdict).is_empty())
        });
        // One in a hundred pairs may have one: four, and no more than three standard errors beyond.
        let alarms: usize = alarms.sum();
        assert!(alarms <= 10, "{alarms} of 400 pairs");
    }

    #[test]
    fn five_percent_are_found_and_hardly_anything_else_is() {
        let (mut finds, mut alarms) = (0, 0);
        for (seed, slower) in (1_000..1_100).zip([1.05, 1.0 / 1.05].into_iter().cycle()) {
            let verdict = compare(&recording(seed, 1.0), &recording(seed + 500, slower), ASKED);
            let found = verdict.functions.iter().find(|one| one.name == "f7").expect("compared");
            let change = found.p50.expect("it was compared");
            let (low, high) = (change.low.expect("enough"), change.high.expect("enough"));
            assert!(low <= slower && slower <= high, "seed {seed}: {change:?}");
            assert_eq!(change.moved, change.p < 0.01, "seed {seed}: {change:?}");
            finds += usize::from(change.moved);
            alarms += usize::from(moved(&verdict).iter().any(|name| *name != "f7"));
        }
        assert!(finds >= 95, "{finds} of 100 pairs");
        // One pair in a hundred may have one, and no more than three standard errors beyond.
        assert!(alarms <= 4, "{alarms} of 100 pairs");
    }

    #[test]
    fn a_tail_alone_moves_too_and_small_changes_do_not_count() {
        let before = recording(1, 1.0);
        let mut after = recording(2, 1.0);
        let tail = after.get_mut("f3").expect("a function");
        tail.p99_ns.iter_mut().for_each(|ns| *ns *= 2.0);
        let verdict = compare(&before, &after, ASKED);
        assert_eq!(moved(&verdict), ["f3"]);
        assert!(!verdict.functions[0].p50.expect("compared").moved);
        let lax = Asked { within: 1.5, ..ASKED };
        assert!(moved(&compare(&before, &after, lax)).is_empty());
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let (mut before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        let rare = before.get_mut("f1").expect("a function");
        rare.p50_ns.truncate(7);
        rare.p99_ns.truncate(7);
        after.get_mut("f2").expect("a function").short = 1_001;
        after.get_mut("f3").expect("a function").p99_ns.truncate(7);
        let verdict = compare(&before, &after, ASKED);
        assert_eq!(
            (&verdict.too_few[..], &verdict.too_short[..]),
            (&["f1".to_owned()][..], &["f2".to_owned()][..])
        );
        assert_eq!(verdict.median_only, ["f3"]);
        let without_tail =
            verdict.functions.iter().find(|one| one.name == "f3").expect("its median is");
        assert!(without_tail.p50.is_some() && without_tail.p99.is_none());
        assert_eq!(verdict.comparisons, 2 * 38 - 1);
    }

    /// 80 comparisons at 1 % ask for a chance of 1.25e-4; eight parts against eight have 1.55e-4 at least.
    #[test]
    fn what_could_never_be_found_is_named_and_makes_nothing_stricter() {
        let (mut before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        for name in ["f1", "f2"] {
            for trace in [&mut before, &mut after] {
                let blocks = trace.get_mut(name).expect("a function");
                blocks.p50_ns.truncate(8);
                blocks.p99_ns.truncate(8);
            }
        }
        let verdict = compare(&before, &after, ASKED);
        assert_eq!(verdict.too_few, ["f1", "f2"]);
        assert_eq!((verdict.functions.len(), verdict.comparisons), (38, 76));
        let lax = compare(&before, &after, Asked { confidence: 0.9, ..ASKED });
        assert_eq!((lax.too_few.len(), lax.comparisons), (0, 80));
    }

    #[test]
    fn tails_of_parts_of_other_sizes_are_marked() {
        let (before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        after.get_mut("f1").expect("a function").p99_calls = 1_001;
        after.get_mut("f2").expect("a function").p99_calls = 1_000;
        let verdict = compare(&before, &after, ASKED);
        let uneven = verdict.functions.iter().filter(|one| one.uneven);
        assert_eq!(uneven.map(|one| one.name.as_str()).collect::<Vec<_>>(), ["f1"]);
    }
}
