//! What is asked of a comparison, and what it has found.

use super::chosen::Chosen;
use super::side::Side;
use serde::Serialize;

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
    /// Whether its calls take another time, by the one or the other quantile.
    pub moved: bool,
    /// Whether they do so for what the function does itself.
    pub by_itself: bool,
    /// Of its calls' median; none where that is not compared.
    pub p50: Option<Quantile>,
    /// Of their 99th percentile; none where that is not compared.
    pub p99: Option<Quantile>,
    /// Blocks of one side have more than twice as many calls as those of the other: 99th percentiles differ by that alone.
    pub uneven: bool,
}

/// How a quantile of its calls has changed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Quantile {
    /// Of whole calls.
    #[serde(flatten)]
    pub whole: Change,
    /// The same quantile of the time in it and in no call that was seen within. As a ratio of the whole: by what that has
    /// changed if nothing else has.
    #[serde(rename = "self")]
    pub itself: Change,
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

    /// Functions that moved for what they do themselves, and of whose whole calls it is not sure: these vary too much to tell.
    pub fn in_themselves(&self) -> impl Iterator<Item = &Moved> {
        self.functions.iter().filter(|one| one.is_in_itself())
    }
}

impl Moved {
    /// Whether it is one of [`Verdict::in_themselves`].
    pub(super) fn is_in_itself(&self) -> bool {
        let quantiles = [self.p50, self.p99];
        !self.moved && quantiles.iter().flatten().any(Quantile::is_itself_alone)
    }
}

impl Quantile {
    /// Whether the whole has moved, and the function itself with it. Where only the latter has, it may have taken over
    /// work of those that it calls. Or more of their calls were too short to be seen.
    #[must_use]
    pub fn is_by_itself(&self) -> bool {
        let Self { whole, itself } = self;
        whole.moved && itself.moved && (whole.ratio > 1.0) == (itself.ratio > 1.0)
    }

    /// Whether the function itself has moved, and the whole may have moved as much. Where it has surely not, the function has
    /// taken over work of those that it calls.
    #[must_use]
    pub fn is_itself_alone(&self) -> bool {
        let Self { whole, itself } = self;
        itself.moved && !whole.moved && whole.may_be(itself.ratio)
    }
}

impl Change {
    /// Whether this is between its bounds.
    fn may_be(&self, ratio: f64) -> bool {
        self.low.is_none_or(|low| low <= ratio) && self.high.is_none_or(|high| ratio <= high)
    }
}
