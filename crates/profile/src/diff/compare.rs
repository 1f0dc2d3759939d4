//! Which functions have moved, corrected for how many were looked at.

use super::chosen::Chosen;
use super::laws::Laws;
use super::side::UNITS_MIN;
use super::verdict::{Asked, Change, Moved, Quantile, Verdict};
use crate::blocks::{FunctionBlocks, Quantiles};
use std::collections::BTreeMap;
use tailwater_stats::shift::RankSum;
use tailwater_stats::{holm, tarone};

/// Where more of the seen calls than this share are shorter than the scanner surely sees, others like them were not seen.
const SHORT_MAX: f64 = 0.1;

/// Where the blocks of one side have so many times as many calls as those of the other, 99th percentiles differ by that.
const UNEVEN: u64 = 2;

/// Blocks of one function on both sides.
struct Pair<'a> {
    name: &'a str,
    blocks: [&'a FunctionBlocks; 2],
}

/// Judges the functions that were chosen by their blocks before and after, all together. Functions without blocks on either side
/// are passed over.
#[must_use]
pub fn compare(
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
    // Of either quantile both the whole and the function itself are compared.
    let all: Vec<f64> = least.iter().flatten().flatten().flat_map(|least| [*least; 2]).collect();
    let number = tarone::testable(&all, alpha);
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
        let group = |one: &Moved| (!one.by_itself, !one.moved, !one.is_in_itself());
        group(a).cmp(&group(b)).then_with(|| b.greatest().total_cmp(&a.greatest()))
    });
    Verdict { asked, comparisons, functions, too_few, median_only, too_short, chosen }
}

/// Corrects all chances together, and judges by them.
fn correct(functions: &mut [Moved], asked: Asked) {
    let chances: Vec<f64> =
        functions.iter_mut().flat_map(Moved::changes).map(|one| one.p).collect();
    let mut corrected = holm::corrected(&chances).into_iter();
    for function in functions {
        for change in function.changes() {
            change.p = corrected.next().unwrap_or(1.0);
            let is_sure = change.p < 1.0 - asked.confidence;
            change.moved = is_sure && change.ratio.ln().abs() > asked.within.ln_1p();
        }
        function.judge();
    }
}

impl Pair<'_> {
    /// The smallest chance that a comparison of medians, and one of 99th percentiles, can have; `None` where there are too
    /// few blocks for one.
    fn least(&self, laws: &mut Laws) -> [Option<f64>; 2] {
        let [a, b] = self.blocks.map(|one| &one.whole);
        [(&a.p50_ns, &b.p50_ns), (&a.p99_ns, &b.p99_ns)].map(|(a, b)| {
            let is_enough = a.len().min(b.len()) >= UNITS_MIN;
            is_enough.then(|| laws.law((a.len(), b.len()))).flatten().map(RankSum::least)
        })
    }

    fn moved(&self, laws: &mut Laws, confidence: f64, (median, tail): (bool, bool)) -> Moved {
        let [a, b] = self.blocks;
        let mut quantile = |is_made: bool, of: fn(&Quantiles) -> &[f64]| {
            let both = |part: fn(&FunctionBlocks) -> &Quantiles| [of(part(a)), of(part(b))];
            let times = [both(|one| &one.whole), both(|one| &one.itself)];
            let looks = [both(|one| &one.above_least), both(|one| &one.below_most)];
            is_made.then(|| laws.quantile(times, looks, confidence)).flatten()
        };
        let p50 = quantile(median, |one| &one.p50_ns);
        let p99 = quantile(tail, |one| &one.p99_ns);
        let [few, many] = {
            let [a, b] = [middle(&a.tail_calls), middle(&b.tail_calls)];
            [a.min(b), a.max(b)]
        };
        Moved {
            name: self.name.to_owned(),
            calls_before: a.calls,
            calls_after: b.calls,
            moved: false,
            by_itself: false,
            p50,
            p99,
            calls_within: laws.calls_within([&a.calls_within, &b.calls_within]),
            uneven: tail && many > few * UNEVEN,
        }
    }
}

/// Of counts; nothing of none.
fn middle(counts: &[u64]) -> u64 {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

impl Moved {
    fn changes(&mut self) -> impl Iterator<Item = &mut Change> {
        let quantiles = self.p50.iter_mut().chain(self.p99.iter_mut());
        quantiles.flat_map(|one| [&mut one.whole, &mut one.itself])
    }

    /// The greatest of its changes for which it is told. Of one that moved itself these are of that: a caller may have moved
    /// itself by little, and by much with what it calls.
    fn greatest(&self) -> f64 {
        let (is_alone, is_moved) = (self.is_in_itself(), self.moved);
        let change = |one: &Quantile| match self.by_itself {
            true => one.by_itself.then_some(one.itself),
            false if is_alone => one.is_itself_alone().then_some(one.itself),
            false => (one.whole.moved || !is_moved).then_some(one.whole),
        };
        let changes = self.p50.iter().chain(&self.p99).filter_map(change);
        changes.map(|one| one.ratio.ln().abs()).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Outcome;
    use super::*;
    use crate::blocks::BLOCKS;
    use tailwater_core::rng::Rng;

    const ASKED: Asked =
        Asked { confidence: 0.99, within: 0.01, resolution_ns: 100, recordings: [1, 1] };
    const FUNCTIONS: u32 = 40;
    /// What functions do themselves, of their time.
    const OWN: f64 = 0.6;

    /// Quantiles of blocks that scatter by some percent, as those of real recordings do, with a tail that scatters more.
    /// Skewed: a disturbance makes slower, never quicker. `factor` tells how much longer each block takes.
    fn scattered(rng: &mut Rng, around: f64, mut factor: impl FnMut(&mut Rng) -> f64) -> Quantiles {
        let mut blocks = |around: f64, by: f64| -> Vec<f64> {
            let mut block = || around * factor(rng) * (1.0 + rng.exponential(by));
            (0..BLOCKS).map(|_| block()).collect()
        };
        Quantiles { p50_ns: blocks(around, 0.02), p99_ns: blocks(around * 8.0, 0.1) }
    }

    fn function(whole: Quantiles, itself: Quantiles) -> FunctionBlocks {
        let tail_calls = vec![500; BLOCKS];
        // Alike in both builds, and not the same in all blocks.
        let calls_within = (0..BLOCKS).map(|nth| 1.0 + 0.01 * nth as f64).collect();
        let looks = || Quantiles { p50_ns: vec![50.0; BLOCKS], p99_ns: vec![50.0; BLOCKS] };
        let times = FunctionBlocks { calls: 10_000, whole, itself, ..FunctionBlocks::default() };
        let (above_least, below_most) = (looks(), looks());
        FunctionBlocks { above_least, below_most, calls_within, tail_calls, ..times }
    }

    /// Of a made-up recording. One function takes `slower` times as long, by what it does itself.
    fn recording(seed: u64, slower: f64) -> BTreeMap<String, FunctionBlocks> {
        let mut rng = Rng::from_seed(seed);
        let function = |n: u32| {
            let base = 1_000.0 * f64::from(n + 1);
            let more = if n == 7 { slower - 1.0 } else { 0.0 };
            let whole = scattered(&mut rng, base * (1.0 + more), |_| 1.0);
            let itself = scattered(&mut rng, base * (OWN + more), |_| 1.0);
            (format!("f{n}"), function(whole, itself))
        };
        (0..FUNCTIONS).map(function).collect()
    }

    /// Processes of one build differ in each function by up to 3 %, for as long as they live: layout, pages, cores.
    fn luck(rng: &mut Rng) -> f64 {
        0.97 + 0.06 * rng.unit()
    }

    /// Twenty recordings of a build, each a block.
    fn recordings(seed: u64, slower: f64) -> BTreeMap<String, FunctionBlocks> {
        let mut rng = Rng::from_seed(seed);
        let function = |n: u32| {
            let base = 1_000.0 * f64::from(n + 1);
            let more = if n == 7 { slower - 1.0 } else { 0.0 };
            let whole = scattered(&mut rng, base * (1.0 + more), luck);
            let itself = scattered(&mut rng, base * (OWN + more), luck);
            (format!("f{n}"), function(whole, itself))
        };
        (0..FUNCTIONS).map(function).collect()
    }

    /// Twenty parts of one process of the same build.
    fn parts(seed: u64) -> BTreeMap<String, FunctionBlocks> {
        let mut rng = Rng::from_seed(seed);
        let function = |n: u32| {
            let (base, lucky) = (1_000.0 * f64::from(n + 1), luck(&mut rng));
            let whole = scattered(&mut rng, base, |_| lucky);
            let itself = scattered(&mut rng, base * OWN, |_| lucky);
            (format!("f{n}"), function(whole, itself))
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

    fn by_themselves(verdict: &Verdict) -> Vec<&str> {
        verdict.by_themselves().map(|one| one.name.as_str()).collect()
    }

    /// 400 pairs of 40 functions and 160 comparisons: uncorrected, some 640 would be told of.
    #[test]
    fn of_recordings_of_one_program_no_function_has_moved() {
        let alarms = (0..400u64).map(|seed| {
            let verdict = compare(&recording(seed * 2, 1.0), &recording(seed * 2 + 1, 1.0), ASKED);
            assert_eq!((verdict.functions.len(), verdict.comparisons), (40, 160));
            usize::from(!moved(&verdict).is_empty())
        });
        // One in a hundred pairs may have one: four, and no more than three standard errors beyond.
        let alarms: usize = alarms.sum();
        assert!(alarms <= 10, "{alarms} of 400 pairs");
    }

    /// As measured on SQLite: of nine pairs of recordings of one build, five named functions, up to six of them.
    #[test]
    fn processes_that_differ_name_nothing_as_recordings_and_do_as_parts() {
        let named = |of: &dyn Fn(u64) -> BTreeMap<String, FunctionBlocks>| {
            let tries = 0..200u64;
            let verdicts = tries.map(|seed| compare(&of(seed * 2), &of(seed * 2 + 1), ASKED));
            verdicts.filter(|verdict| !moved(verdict).is_empty()).count()
        };
        // Two of 200 are promised, and no more than three standard errors beyond.
        let alarms = named(&|seed| recordings(seed, 1.0));
        assert!(alarms <= 6, "{alarms} of 200 pairs of recordings");
        let alarms = named(&parts);
        assert!(alarms > 150, "{alarms} of 200 pairs of parts: such processes would not differ");
    }

    #[test]
    fn five_percent_are_found_among_processes_that_differ() {
        let (mut finds, mut alarms) = (0, 0);
        for seed in 2_000..2_100 {
            let verdict = compare(&recordings(seed, 1.0), &recordings(seed + 500, 1.05), ASKED);
            finds += usize::from(by_themselves(&verdict).contains(&"f7"));
            alarms += usize::from(moved(&verdict).iter().any(|name| *name != "f7"));
        }
        assert!(finds >= 85, "{finds} of 100 pairs");
        // One pair in a hundred may have one, and no more than three standard errors beyond.
        assert!(alarms <= 4, "{alarms} of 100 pairs");
    }

    #[test]
    fn five_percent_are_found_and_hardly_anything_else_is() {
        let (mut finds, mut alarms) = (0, 0);
        for (seed, slower) in (1_000..1_100).zip([1.05, 1.0 / 1.05].into_iter().cycle()) {
            let verdict = compare(&recording(seed, 1.0), &recording(seed + 500, slower), ASKED);
            let found = verdict.functions.iter().find(|one| one.name == "f7").expect("compared");
            let quantile = found.p50.expect("it was compared");
            for change in [quantile.whole, quantile.itself] {
                let (low, high) = (change.low.expect("enough"), change.high.expect("enough"));
                assert!(low <= slower && slower <= high, "seed {seed}: {change:?}");
                assert_eq!(change.moved, change.p < 0.01, "seed {seed}: {change:?}");
            }
            finds += usize::from(quantile.by_itself);
            alarms += usize::from(moved(&verdict).iter().any(|name| *name != "f7"));
        }
        assert!(finds >= 95, "{finds} of 100 pairs");
        // One pair in a hundred may have one, and no more than three standard errors beyond.
        assert!(alarms <= 4, "{alarms} of 100 pairs");
    }

    #[test]
    fn a_caller_that_moved_with_what_it_calls_comes_after_what_moved_by_itself() {
        let before = recording(1, 1.0);
        let mut after = recording(2, 1.05);
        let caller = after.get_mut("f8").expect("a function");
        caller.whole.p50_ns.iter_mut().for_each(|ns| *ns *= 1.5);
        let verdict = compare(&before, &after, ASKED);
        let told: Vec<_> = verdict.functions.iter().take(2).map(|one| one.name.as_str()).collect();
        assert_eq!(told, ["f7", "f8"], "the greater change comes later");
        assert_eq!(by_themselves(&verdict), ["f7"]);
        let with: Vec<_> = verdict.with_others().map(|one| one.name.as_str()).collect();
        assert_eq!(with, ["f8"]);
        assert_eq!(verdict.outcome(), Outcome::ByThemselves(1));
    }

    /// A caller that moved itself by little came before the function that made it slow.
    #[test]
    fn what_moved_itself_the_most_comes_before_a_caller_that_moved_more_with_it() {
        let (before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        for (name, whole, itself) in [("f3", 1.3, 1.3), ("f8", 2.0, 1.1)] {
            let function = after.get_mut(name).expect("a function");
            function.whole.p50_ns.iter_mut().for_each(|ns| *ns *= whole);
            function.itself.p50_ns.iter_mut().for_each(|ns| *ns *= itself);
        }
        let verdict = compare(&before, &after, ASKED);
        assert_eq!(by_themselves(&verdict), ["f3", "f8"]);
    }

    /// By whole calls, of which nothing is sure, these had no order.
    #[test]
    fn of_functions_that_moved_in_themselves_alone_the_greatest_change_comes_first() {
        let (mut before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        for (name, itself) in [("f3", 1.2), ("f5", 1.6), ("f9", 1.4)] {
            for trace in [&mut before, &mut after] {
                let whole = &mut trace.get_mut(name).expect("a function").whole;
                for (nth, ns) in whole.p50_ns.iter_mut().enumerate() {
                    *ns *= 1.0 + (nth % 5) as f64;
                }
            }
            let function = &mut after.get_mut(name).expect("a function").itself;
            function.p50_ns.iter_mut().for_each(|ns| *ns *= itself);
        }
        assert_eq!(by_themselves(&compare(&before, &after, ASKED)), ["f5", "f9", "f3"]);
        for name in ["f3", "f5", "f9"] {
            after.get_mut(name).expect("a function").calls_within.fill(0.7);
        }
        let verdict = compare(&before, &after, ASKED);
        let alone: Vec<_> = verdict.in_themselves().map(|one| one.name.as_str()).collect();
        assert_eq!(alone, ["f5", "f9", "f3"]);
        let first: Vec<_> = verdict.functions.iter().take(3).map(|one| one.name.as_str()).collect();
        assert_eq!(first, alone, "they stand before those that have not moved");
    }

    #[test]
    fn the_outcome_is_of_those_by_themselves_or_else_of_those_with_others() {
        let (before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        assert_eq!(compare(&before, &after, ASKED).outcome(), Outcome::Unmoved);
        for name in ["f3", "f4"] {
            let function = after.get_mut(name).expect("a function");
            function.whole.p50_ns.iter_mut().for_each(|ns| *ns *= 1.5);
        }
        assert_eq!(compare(&before, &after, ASKED).outcome(), Outcome::WithOthers(2));
        let none = BTreeMap::new();
        assert_eq!(compare(&none, &after, ASKED).outcome(), Outcome::NothingCompared);
    }

    /// A callee that was too short to be seen in one build is so long in the other that it is.
    #[test]
    fn a_function_itself_that_moves_alone_or_against_the_whole_is_not_named_for_it() {
        let (before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        for (name, whole, itself) in [("f3", 1.0, 0.8), ("f4", 1.2, 0.8), ("f5", 1.2, 1.2)] {
            let function = after.get_mut(name).expect("a function");
            function.whole.p50_ns.iter_mut().for_each(|ns| *ns *= whole);
            function.itself.p50_ns.iter_mut().for_each(|ns| *ns *= itself);
        }
        let verdict = compare(&before, &after, ASKED);
        assert_eq!(by_themselves(&verdict), ["f5"]);
        assert_eq!(moved(&verdict), ["f5", "f4"]);
        let alone = verdict.functions.iter().find(|one| one.name == "f3").expect("compared");
        assert!(alone.p50.expect("compared").itself.moved && !alone.moved, "{alone:?}");
        assert_eq!(verdict.in_themselves().count(), 0, "its whole calls did surely not move");
    }

    /// In one of five pairs of builds of SQLite the slower function itself was told to a percent, and whole calls to 25.
    #[test]
    fn a_function_itself_that_moves_within_calls_that_vary_is_named_or_told_apart() {
        let (mut before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        for trace in [&mut before, &mut after] {
            let whole = &mut trace.get_mut("f3").expect("a function").whole;
            for (nth, ns) in whole.p50_ns.iter_mut().enumerate() {
                *ns *= 1.0 + (nth % 5) as f64;
            }
        }
        let itself = &mut after.get_mut("f3").expect("a function").itself;
        itself.p50_ns.iter_mut().for_each(|ns| *ns *= 1.2);
        let verdict = compare(&before, &after, ASKED);
        assert_eq!((moved(&verdict), by_themselves(&verdict)), (vec!["f3"], vec!["f3"]));
        // Fewer calls were seen within it.
        after.get_mut("f3").expect("a function").calls_within.fill(0.7);
        let verdict = compare(&before, &after, ASKED);
        assert!(moved(&verdict).is_empty());
        let alone: Vec<_> = verdict.in_themselves().map(|one| one.name.as_str()).collect();
        assert_eq!(alone, ["f3"]);
        assert_eq!(verdict.outcome(), Outcome::Unmoved);
    }

    #[test]
    fn of_a_function_itself_a_change_counts_as_a_share_of_the_whole() {
        let (mut before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        for (trace, own) in [(&mut before, [0.0, 1.0]), (&mut after, [5.0, 51.0])] {
            // Of 4,000 ns that all of it takes.
            let function = trace.get_mut("f3").expect("a function");
            function.itself.p50_ns.fill(own[0]);
            trace.get_mut("f0").expect("a function").itself.p50_ns.fill(own[1]);
        }
        let verdict = compare(&before, &after, ASKED);
        let of = |name: &str| {
            let found = verdict.functions.iter().find(|one| one.name == name);
            found.and_then(|one| one.p50).expect("compared").itself
        };
        assert!(!of("f3").moved && of("f3").p < 0.01, "{:?}", of("f3"));
        assert!(of("f0").moved && (1.04..1.05).contains(&of("f0").ratio), "{:?}", of("f0"));
    }

    /// In one of five pairs of builds of SQLite other work made most calls before ten times as long.
    #[test]
    fn a_change_of_a_function_itself_is_a_share_of_calls_that_nothing_disturbed() {
        let (mut before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        let disturbed = before.get_mut("f3").expect("a function");
        disturbed.whole.p50_ns[..12].iter_mut().for_each(|ns| *ns *= 10.0);
        // Of 4,000 ns.
        let slower = after.get_mut("f3").expect("a function");
        slower.itself.p50_ns.iter_mut().for_each(|ns| *ns += 200.0);
        let verdict = compare(&before, &after, ASKED);
        let found = verdict.functions.iter().find(|one| one.name == "f3").expect("compared");
        let itself = found.p50.expect("it was compared").itself;
        assert!(itself.moved && (1.03..1.07).contains(&itself.ratio), "{itself:?}");
    }

    #[test]
    fn a_tail_alone_moves_too_and_small_changes_do_not_count() {
        let before = recording(1, 1.0);
        let mut after = recording(2, 1.0);
        let tail = after.get_mut("f3").expect("a function");
        tail.whole.p99_ns.iter_mut().chain(&mut tail.itself.p99_ns).for_each(|ns| *ns *= 2.0);
        let verdict = compare(&before, &after, ASKED);
        assert_eq!((moved(&verdict), by_themselves(&verdict)), (vec!["f3"], vec!["f3"]));
        assert!(!verdict.functions[0].p50.expect("compared").whole.moved);
        let lax = Asked { within: 1.5, ..ASKED };
        assert!(moved(&compare(&before, &after, lax)).is_empty());
    }

    /// Leaves so many of a function's blocks.
    fn truncate(blocks: &mut BTreeMap<String, FunctionBlocks>, name: &str, p50: usize, p99: usize) {
        let one = blocks.get_mut(name).expect("a function");
        for quantiles in [&mut one.whole, &mut one.itself] {
            quantiles.p50_ns.truncate(p50);
            quantiles.p99_ns.truncate(p99);
        }
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let (mut before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        truncate(&mut before, "f1", 7, 7);
        after.get_mut("f2").expect("a function").short = 1_001;
        truncate(&mut after, "f3", BLOCKS, 7);
        let verdict = compare(&before, &after, ASKED);
        assert_eq!(
            (&verdict.too_few[..], &verdict.too_short[..]),
            (&["f1".to_owned()][..], &["f2".to_owned()][..])
        );
        assert_eq!(verdict.median_only, ["f3"]);
        let without_tail =
            verdict.functions.iter().find(|one| one.name == "f3").expect("its median is");
        assert!(without_tail.p50.is_some() && without_tail.p99.is_none());
        assert_eq!(verdict.comparisons, 4 * 38 - 2);
    }

    /// 160 comparisons at 1 % ask for a chance of 6.25e-5; eight blocks against eight have 1.55e-4 at least.
    #[test]
    fn what_could_never_be_found_is_named_and_makes_nothing_stricter() {
        let (mut before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        for name in ["f1", "f2"] {
            for trace in [&mut before, &mut after] {
                truncate(trace, name, 8, 8);
            }
        }
        let verdict = compare(&before, &after, ASKED);
        assert_eq!(verdict.too_few, ["f1", "f2"]);
        assert_eq!((verdict.functions.len(), verdict.comparisons), (38, 152));
        let lax = compare(&before, &after, Asked { confidence: 0.9, ..ASKED });
        assert_eq!((lax.too_few.len(), lax.comparisons), (0, 160));
    }

    #[test]
    fn tails_of_parts_of_other_sizes_are_marked() {
        let (before, mut after) = (recording(1, 1.0), recording(2, 1.0));
        after.get_mut("f1").expect("a function").tail_calls.fill(1_001);
        after.get_mut("f2").expect("a function").tail_calls.fill(1_000);
        let verdict = compare(&before, &after, ASKED);
        let uneven = verdict.functions.iter().filter(|one| one.uneven);
        assert_eq!(uneven.map(|one| one.name.as_str()).collect::<Vec<_>>(), ["f1"]);
    }
}
