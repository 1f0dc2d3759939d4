//! What is asked of a comparison, and what it has found.

use super::chosen::Chosen;
use super::side::Side;
use serde::Serialize;

/// A difference in the calls that were seen within may be why a function itself has moved, where chance makes it less often than this.
const SEEN_ALIKE: f64 = 0.05;

/// What is to be found out, and of what.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Asked {
    /// That no function is told of by chance alone, from 0 to below 1.
    pub confidence: f64,
    /// Changes that are no greater do not count, as a share of a call from 0 to below 1.
    pub within: f64,
    /// Calls that are shorter may be missed, in nanoseconds.
    pub resolution_ns: u64,
    /// Of before and of after: each is a block. Of one each, parts are.
    pub recordings: [usize; 2],
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// What was asked.
    #[serde(flatten)]
    pub asked: Asked,
    /// Comparisons that were made, and corrected for: four for most functions.
    pub comparisons: usize,
    /// All functions that were compared: those that moved by themselves first, then those that moved with others. Those that moved
    /// themselves within calls that vary too much come third. Of each kind the greatest change comes first: of the function itself, or with
    /// others of whole calls.
    pub functions: Vec<Moved>,
    /// Functions of both sides with calls in too few blocks: no difference could be sure enough.
    pub too_few: Vec<String>,
    /// Functions of which for that reason the median alone is compared.
    pub median_only: Vec<String>,
    /// Functions of both sides many calls of which are shorter than the resolution, or were seen by one look alone.
    pub too_short: Vec<String>,
    /// What was to be compared, and what was not.
    #[serde(flatten)]
    pub chosen: Chosen,
}

/// A function, and how its calls have changed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Moved {
    /// Demangled.
    pub name: String,
    /// Calls before that were seen from their start to their end.
    pub calls_before: u64,
    /// The same after.
    pub calls_after: u64,
    /// Whether its calls take another time, by the one or the other quantile, or surely do in the function itself.
    pub moved: bool,
    /// Whether they do so for what the function does itself, by the one or the other quantile.
    pub by_itself: bool,
    /// Of its calls' median; none where that is not compared.
    pub p50: Option<Quantile>,
    /// Of their 99th percentile; none where that is not compared.
    pub p99: Option<Quantile>,
    /// How many calls were seen within one of its own; none where too few blocks tell.
    pub calls_within: Option<CallsWithin>,
    /// Blocks of one side have more than twice as many calls as those of the other: 99th percentiles differ by that alone.
    pub uneven: bool,
}

/// How a quantile of its calls has changed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Quantile {
    /// Of whole calls.
    #[serde(flatten)]
    pub whole: Change,
    /// The same quantile of the time in it and in no call that was seen within. Its ratio is of a whole call that took
    /// [`Self::share_of_ns`]: by what that has changed if nothing else has.
    #[serde(rename = "self")]
    pub itself: Change,
    /// The lower quartile of the blocks' quantiles of whole calls before, in nanoseconds: of calls that no other work disturbed.
    pub share_of_ns: f64,
    /// How much of the function's own change may be none, for when looks came, in nanoseconds. So much the side that took less may have
    /// taken more, and the other less, together: the medians of the blocks.
    #[serde(rename = "self_unsure_ns")]
    pub unsure_ns: f64,
    /// Whether the function is named for it.
    pub by_itself: bool,
}

/// How many calls were seen within one of a function, without those that these made.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CallsWithin {
    /// The median of the blocks' means before.
    pub before: f64,
    /// The same after.
    pub after: f64,
    /// The chance of such a difference where there is none. It is not corrected: by it nothing is named.
    pub p: f64,
}

/// How a time has changed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Change {
    /// The median of the blocks' quantiles before, in nanoseconds.
    pub before_ns: f64,
    /// The same after.
    pub after_ns: f64,
    /// After over before.
    pub ratio: f64,
    /// The ratio is not below this, of all functions together as surely as was asked; `null` where the blocks are too few to say.
    pub low: Option<f64>,
    /// Nor above this.
    pub high: Option<f64>,
    /// The chance of such a difference where there is none, corrected over all comparisons.
    pub p: f64,
    /// Whether it counts: it is as sure as was asked, and greater than what does not count.
    pub moved: bool,
}

/// What a comparison comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// There was no function to judge.
    NothingCompared,
    /// No function has moved.
    Unmoved,
    /// So many functions have moved, none of them surely by itself.
    WithOthers(usize),
    /// So many functions have moved by themselves.
    ByThemselves(usize),
}

impl Asked {
    /// Of these sides, at this confidence and within this share.
    #[must_use]
    pub fn of([before, after]: [&Side; 2], confidence: f64, within: f64) -> Self {
        let resolution_ns = before.resolution_ns().max(after.resolution_ns());
        let recordings = [before.recordings.len(), after.recordings.len()];
        Self { confidence, within, resolution_ns, recordings }
    }
}

impl Verdict {
    /// What it comes to.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.functions.is_empty() {
            return Outcome::NothingCompared;
        }
        match (self.by_themselves().count(), self.with_others().count()) {
            (0, 0) => Outcome::Unmoved,
            (0, number) => Outcome::WithOthers(number),
            (number, _) => Outcome::ByThemselves(number),
        }
    }

    /// Functions that moved for what they do themselves.
    pub fn by_themselves(&self) -> impl Iterator<Item = &Moved> {
        self.functions.iter().filter(|one| one.by_itself)
    }

    /// Functions that moved, and of which that is not sure: with what they call, most likely.
    pub fn with_others(&self) -> impl Iterator<Item = &Moved> {
        self.functions.iter().filter(|one| one.moved && !one.by_itself)
    }

    /// Functions that moved themselves, while whole calls vary too much to tell. It may be for calls that were seen within in one build
    /// alone, or by no more than looks tell.
    pub fn in_themselves(&self) -> impl Iterator<Item = &Moved> {
        self.functions.iter().filter(|one| one.is_in_itself())
    }
}

impl Moved {
    /// Says for which quantiles the function is named, once the chances of all are corrected. It is named, too, for a median that has
    /// surely moved in itself, within whole calls of which nothing is sure. That must be more than looks tell, and not of
    /// calls that were seen within in one build alone. What was seen within the longest calls is not known.
    pub(super) fn judge(&mut self) {
        let is_own = self.p50.zip(self.calls_within).is_some_and(|(one, within)| {
            one.is_itself_alone()
                && one.moved_itself_ns() > one.unsure_ns
                && !within.may_explain(one.itself.ratio)
        });
        for (one, is_own) in [(&mut self.p50, is_own), (&mut self.p99, false)] {
            let Some(one) = one else { continue };
            one.by_itself = is_own || one.is_by_itself();
        }
        let quantiles = [self.p50, self.p99];
        self.by_itself = quantiles.iter().flatten().any(|one| one.by_itself);
        self.moved = self.by_itself || quantiles.iter().flatten().any(|one| one.whole.moved);
    }

    /// Whether it is one of [`Verdict::in_themselves`].
    pub(super) fn is_in_itself(&self) -> bool {
        let quantiles = [self.p50, self.p99];
        !self.moved && quantiles.iter().flatten().any(Quantile::is_itself_alone)
    }
}

impl Quantile {
    /// Whether the whole has moved, and the function itself with it. Where only the latter has, it may have taken over
    /// work of those that it calls. Or more of their calls were too short to be seen.
    fn is_by_itself(&self) -> bool {
        let Self { whole, itself, .. } = self;
        whole.moved && itself.moved && (whole.ratio > 1.0) == (itself.ratio > 1.0)
    }

    /// Whether the function itself has moved, and the whole may have moved as much. Where it has surely not, the function has
    /// taken over work of those that it calls.
    #[must_use]
    pub fn is_itself_alone(&self) -> bool {
        let Self { whole, itself, .. } = self;
        // Of calls as long as most were before, other work included: so the bounds of the whole are.
        let share = self.share_of_ns / whole.before_ns.max(self.share_of_ns);
        itself.moved && !whole.moved && whole.may_be(1.0 + (itself.ratio - 1.0) * share)
    }

    /// By how much the function itself has moved, up or down.
    fn moved_itself_ns(&self) -> f64 {
        (self.itself.ratio - 1.0).abs() * self.share_of_ns
    }
}

impl Change {
    /// Whether this is between its bounds.
    fn may_be(&self, ratio: f64) -> bool {
        self.low.is_none_or(|low| low <= ratio) && self.high.is_none_or(|high| ratio <= high)
    }
}

impl CallsWithin {
    /// Whether a function itself may take so many times as long for this alone: what is not seen within counts as its own.
    fn may_explain(&self, ratio: f64) -> bool {
        // What it does more of, or less, is no work that it took over.
        let is_against =
            if ratio > 1.0 { self.after > self.before } else { self.after < self.before };
        self.p < SEEN_ALIKE && !is_against
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSURE: Change = Change {
        before_ns: 800_000.0,
        after_ns: 850_000.0,
        ratio: 1.06,
        low: Some(0.75),
        high: Some(1.21),
        p: 0.95,
        moved: false,
    };

    /// Of which nothing is sure but that the function itself takes 5 % of a call more, or less.
    fn varied(ratio: f64, [before, after, p]: [f64; 3]) -> Moved {
        let itself = Change { ratio, p: 1e-9, moved: true, ..UNSURE };
        Moved {
            name: "f".into(),
            calls_before: 4_000,
            calls_after: 4_000,
            moved: false,
            by_itself: false,
            p50: Some(Quantile {
                whole: UNSURE,
                itself,
                share_of_ns: 800_000.0,
                unsure_ns: 1_000.0,
                by_itself: false,
            }),
            p99: None,
            calls_within: Some(CallsWithin { before, after, p }),
            uneven: false,
        }
    }

    fn is_named(mut one: Moved) -> bool {
        one.judge();
        let quantile = one.p50.expect("compared");
        assert_eq!((one.moved, one.by_itself), (quantile.by_itself, quantile.by_itself));
        assert_eq!(one.is_in_itself(), !quantile.by_itself, "it is told in any case");
        one.by_itself
    }

    /// In one of five pairs of builds of SQLite whole calls varied by a quarter, and the slower function was not named.
    #[test]
    fn a_function_that_surely_moved_itself_is_named_though_whole_calls_vary() {
        for ratio in [1.05, 1.0 / 1.05] {
            assert!(is_named(varied(ratio, [1.0, 1.0, 1.0])), "{ratio}");
        }
    }

    #[test]
    fn what_was_seen_within_in_one_build_alone_may_explain_it() {
        // Up with fewer calls seen within, and down with more.
        for (ratio, after) in [(1.05, 0.7), (1.0 / 1.05, 1.3)] {
            assert!(!is_named(varied(ratio, [1.0, after, 0.001])), "{ratio}");
            assert!(is_named(varied(ratio, [1.0, after, 0.5])), "{ratio} by chance");
        }
        assert!(is_named(varied(1.05, [1.0, 1.3, 0.001])), "it calls more, and is longer");
        assert!(!is_named(varied(1.05, [1.0, 1.0, 0.001])), "alike by their medians alone");
        let unknown = Moved { calls_within: None, ..varied(1.05, [1.0; 3]) };
        assert!(!is_named(unknown));
    }

    /// 5 % of 800 µs are 40.
    #[test]
    fn a_change_that_is_no_longer_than_looks_tell_does_not_name_a_function() {
        for (unsure_ns, is_enough) in [(40_001.0, false), (39_999.0, true)] {
            let mut one = varied(1.05, [1.0; 3]);
            one.p50.as_mut().expect("compared").unsure_ns = unsure_ns;
            assert_eq!(is_named(one), is_enough, "{unsure_ns}");
        }
    }

    /// Calls that are hardly ever seen within may be all that makes the longest ones long.
    #[test]
    fn a_tail_that_surely_moved_itself_names_no_function_while_whole_calls_vary() {
        let of = varied(1.05, [1.0; 3]);
        let mut one = Moved { p50: None, p99: of.p50, ..of };
        one.judge();
        assert!(!one.moved && !one.by_itself && one.is_in_itself());
    }

    /// The function itself has 30 % more of a call that nothing disturbed, and most calls before were three times as long.
    #[test]
    fn a_share_of_undisturbed_calls_is_held_against_what_whole_calls_may_be() {
        let mut one = varied(1.3, [1.0; 3]).p50.expect("compared");
        assert!(!one.is_itself_alone(), "whole calls moved by a fifth at most");
        one.whole.before_ns *= 3.0;
        assert!(one.is_itself_alone());
    }

    #[test]
    fn where_whole_calls_have_surely_moved_what_was_seen_within_does_not_matter() {
        let mut one = varied(1.05, [1.0, 0.7, 0.001]);
        one.p50.as_mut().expect("compared").whole.moved = true;
        one.judge();
        assert!(one.moved && one.by_itself);
        let mut with = varied(1.05, [1.0, 1.0, 1.0]);
        let quantile = with.p50.as_mut().expect("compared");
        (quantile.whole.moved, quantile.itself.moved) = (true, false);
        with.judge();
        assert!(with.moved && !with.by_itself);
    }
}
