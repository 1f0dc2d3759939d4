//! Between which durations a call lies.

use crate::record::{Call, CallFlags, Ticks};

/// A duration that is known to lie between two others, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Interval {
    /// It is not less.
    pub(crate) low: Ticks,
    /// It is not more; [`Ticks::MAX`] where nothing is known of that.
    pub(crate) high: Ticks,
}

impl Interval {
    /// What a call's times say of its duration.
    ///
    /// A call that was live at an end of the recording has a lower bound only. A slack of `u32::MAX` stands
    /// for all that are longer (`docs/trace.md`): a time with such a slack may lie anywhere.
    pub(crate) fn of(call: &Call) -> Self {
        if [call.start_slack, call.end_slack].contains(&u32::MAX) {
            return Self { low: 0, high: Ticks::MAX };
        }
        let (start, end) = (u64::from(call.start_slack), u64::from(call.end_slack));
        let low = call.end.saturating_sub(end).saturating_sub(call.start.saturating_add(start));
        let is_cut = call.flags.has(CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE);
        Self { low, high: if is_cut { Ticks::MAX } else { within_recording(call) } }
    }

    /// What a call took of the recording: as [`Interval::of`], and no more than the recording lasted.
    pub(crate) fn within(call: &Call) -> Self {
        Self { high: within_recording(call), ..Self::of(call) }
    }

    /// Nothing, as a sum begins.
    pub(crate) const NONE: Self = Self { low: 0, high: 0 };

    /// Adds a duration, of which the sum may be as unsure.
    pub(crate) fn add(&mut self, other: Self) {
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.saturating_add(other.high);
    }

    /// What is left without a part of it.
    pub(crate) fn without(self, part: Self) -> Self {
        Self { low: self.low.saturating_sub(part.high), high: self.high.saturating_sub(part.low) }
    }

    /// The mean of `count` durations whose sum this is; nothing of none.
    pub(crate) const fn divided(self, count: u64) -> Self {
        let count = if count == 0 { 1 } else { count };
        let high = if self.high == Ticks::MAX { Ticks::MAX } else { self.high.div_ceil(count) };
        Self { low: self.low / count, high }
    }

    /// Whether neither bound says anything.
    pub(crate) const fn is_unknown(self) -> bool {
        self.low == 0 && self.high == Ticks::MAX
    }
}

/// The most that a call can have taken of the recording.
pub(crate) fn within_recording(call: &Call) -> Ticks {
    let slacks = u64::from(call.start_slack) + u64::from(call.end_slack);
    call.end.saturating_sub(call.start).saturating_add(slacks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{FunctionId, ThreadId};

    fn call(start: (u64, u32), end: (u64, u32), flags: u8) -> Call {
        Call {
            thread: ThreadId(0),
            function: FunctionId(0),
            parent: None,
            depth: 0,
            generation: 1,
            start: start.0,
            start_slack: start.1,
            end: end.0,
            end_slack: end.1,
            flags: CallFlags(flags),
            site: 0,
        }
    }

    #[test]
    fn a_gap_widens_an_interval_and_takes_nothing_away() {
        let found = Interval::of(&call((1_000, 10), (9_000, 4_000), CallFlags::GAP));
        assert_eq!(found, Interval { low: 3_990, high: 12_010 });
    }

    #[test]
    fn windows_that_overlap_have_no_time_between_them() {
        let found = Interval::of(&call((1_000, 600), (2_000, 600), 0));
        assert_eq!(found, Interval { low: 0, high: 2_200 });
        assert!(!found.is_unknown());
    }

    #[test]
    fn a_call_cut_at_either_end_or_both_took_at_least_what_was_seen() {
        let (before, after) = (CallFlags::STARTED_BEFORE, CallFlags::UNFINISHED);
        for flags in [before, after, before | after, before | CallFlags::GAP] {
            let found = Interval::of(&call((1_000, 10), (9_000, 20), flags));
            assert_eq!(found, Interval { low: 7_970, high: Ticks::MAX }, "{flags}");
        }
    }

    #[test]
    fn a_slack_beyond_the_format_says_nothing() {
        let times = [((1_000, u32::MAX), (9_000, 0)), ((1_000, 0), (9_000, u32::MAX))];
        for (start, end) in times {
            assert!(Interval::of(&call(start, end, 0)).is_unknown());
        }
        let extreme = call((u64::MAX, 9), (u64::MAX, 9), 0);
        assert_eq!(Interval::of(&extreme), Interval { low: 0, high: 18 });
    }
}
