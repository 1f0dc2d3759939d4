//! A quantile of one function before and after, compared by the law of the rank sum.

use super::side::UNITS_MIN;
use super::verdict::{CallsWithin, Change, Quantile};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use tailwater_stats::shift::{RankSum, Shift};

/// Laws of the rank sum by the sizes of the samples.
#[derive(Default)]
pub(super) struct Laws(BTreeMap<(usize, usize), RankSum>);

impl Laws {
    pub(super) fn law(&mut self, sizes: (usize, usize)) -> Option<&RankSum> {
        Some(match self.0.entry(sizes) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(RankSum::of(sizes.0, sizes.1)?),
        })
    }

    pub(super) fn quantile(
        &mut self,
        [whole, itself]: [[&[f64]; 2]; 2],
        [above_least, below_most]: [[&[f64]; 2]; 2],
        confidence: f64,
    ) -> Option<Quantile> {
        // Shifts of logarithms are ratios. A call of no ticks is one of a tick at most.
        let log = |ns: f64| ns.max(0.1).ln();
        // It may be nothing in one build, so its own ratio would say little. It is a part of the whole. Other work on the machine makes
        // calls longer and never shorter: where that met half of the blocks, the median is of what was disturbed.
        let share_of_ns = quarter(whole[0]).max(0.1);
        let itself =
            self.change(itself, confidence, |ns| ns / share_of_ns, |more| (1.0 + more).max(0.0))?;
        // Up, what was before may have been more, and what came after less. Down, it is the other way round.
        let (less, more) = if itself.ratio > 1.0 {
            (below_most[0], above_least[1])
        } else {
            (below_most[1], above_least[0])
        };
        Some(Quantile {
            whole: self.change(whole, confidence, log, f64::exp)?,
            itself,
            share_of_ns,
            unsure_ns: median(less) + median(more),
            by_itself: false,
        })
    }

    pub(super) fn calls_within(&mut self, [before, after]: [&[f64]; 2]) -> Option<CallsWithin> {
        if before.len().min(after.len()) < UNITS_MIN {
            return None;
        }
        // Any confidence will do: no interval is told.
        let found = self.law((before.len(), after.len()))?.shift(before, after, 0.95)?;
        Some(CallsWithin { before: median(before), after: median(after), p: found.p })
    }

    /// Compares values on the scale of `of`; `back` makes a ratio of a shift on it.
    fn change(
        &mut self,
        [before, after]: [&[f64]; 2],
        confidence: f64,
        of: impl Fn(f64) -> f64,
        back: impl Fn(f64) -> f64,
    ) -> Option<Change> {
        let law = self.law((before.len(), after.len()))?;
        let scaled = |values: &[f64]| values.iter().map(|ns| of(*ns)).collect::<Vec<f64>>();
        let found = law.shift(&scaled(before), &scaled(after), confidence)?;
        let Shift { p, estimate, low, high } = found;
        let ratio = |shift: f64| shift.is_finite().then(|| back(shift));
        Some(Change {
            before_ns: median(before),
            after_ns: median(after),
            ratio: back(estimate),
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

/// The lower quartile.
fn quarter(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 4]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was the wider distance of both bounds of one side, beyond which both sides may still have taken the same.
    #[test]
    fn looks_leave_open_what_lies_between_what_was_seen_and_the_bounds_that_face_each_other() {
        let [less, more]: [&[f64]; 2] = [&[100.0; UNITS_MIN], &[200.0; UNITS_MIN]];
        let above_least: [&[f64]; 2] = [&[1.0; UNITS_MIN], &[20.0; UNITS_MIN]];
        let below_most: [&[f64]; 2] = [&[300.0; UNITS_MIN], &[4_000.0; UNITS_MIN]];
        for (times, unsure_ns) in [([less, more], 320.0), ([more, less], 4_001.0)] {
            let found = Laws::default().quantile([times; 2], [above_least, below_most], 0.95);
            assert_eq!(found.map(|one| one.unsure_ns), Some(unsure_ns));
        }
    }
}
