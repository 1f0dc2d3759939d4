//! Records that wait until it is known whether they lie in a request that is kept.

use super::windows::Windows;
use crate::hash::Map;
use crate::record::{MarkKind, Record, Ticks};
use std::collections::{BTreeMap, VecDeque};

/// Records held; 2²⁰ take some 150 MB. When they are more, open requests are kept, whatever they will take.
const HELD_MAX: usize = 1 << 20;
/// Kept requests that are remembered for their marks before those whose marks have come are forgotten.
const REMEMBERED: usize = 65_536;

/// In the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Held(VecDeque<Record>);

/// Which times and whose marks are kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    windows: Windows,
    /// By number and start; the end is the latest time while it is open.
    requests: BTreeMap<(u64, Ticks), Ticks>,
    /// By number, the first and last mark that were kept for want of room, of what is not known yet. What follows of that
    /// request is kept, too: without an end it would be one with the next of its number.
    begun: Map<u64, (Ticks, Ticks)>,
    /// Until here records were let go of.
    gone: Ticks,
}

/// When a record's fact began and ended; `None` for what is always kept.
pub(super) fn span(record: &Record) -> Option<(Ticks, Ticks)> {
    match record {
        Record::Call(call) => {
            let early = call.start.saturating_sub(call.start_slack.into());
            Some((early, call.end.saturating_add(call.end_slack.into())))
        }
        // The holder lets go after the wait.
        Record::Wait(wait) => Some((wait.start, wait.end.max(wait.released))),
        Record::Hold(hold) => Some((hold.start, hold.end)),
        Record::Counted(one) => Some((one.start, one.end)),
        Record::Mark(mark) => Some((mark.at, mark.at)),
        Record::Hop(hop) => Some((hop.at, hop.at)),
        Record::Gap(gap) => Some((gap.start, gap.end)),
        Record::State(state) => Some((state.start, state.end)),
        Record::Interruption(one) => Some((one.start, one.end)),
        Record::Sample(sample) => Some((sample.at, sample.at)),
        _ => None,
    }
}

impl Held {
    pub(super) fn push(&mut self, record: Record) {
        self.0.push_back(record);
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= HELD_MAX
    }

    /// Decides about those in front that are over by `until`, as far as no request that began at `undecided` or later
    /// could want them.
    pub(super) fn let_go(
        &mut self,
        until: Ticks,
        undecided: Ticks,
        kept: &mut Kept,
        keep: &mut impl FnMut(&Record),
    ) {
        let room = if self.is_full() { HELD_MAX / 2 } else { HELD_MAX };
        while let Some(record) = self.0.front() {
            let Some((start, end)) = span(record) else { break };
            let is_open = end > until || end >= undecided;
            let is_wanted = kept.wants(record, (start, end), until);
            if !is_wanted && is_open && self.0.len() <= room {
                break;
            }
            // Where there is no room, what may yet be wanted is kept.
            if is_wanted || is_open {
                if !is_wanted {
                    kept.begin(record);
                }
                keep(record);
            } else if !matches!(record, Record::Mark(_) | Record::Hop(_)) {
                // Marks of other requests are not wanted in any window.
                kept.gone = kept.gone.max(end);
            }
            self.0.pop_front();
        }
    }

    /// When the earliest of them began, as they came; `None` where there are none.
    pub(super) fn front(&self) -> Option<Ticks> {
        self.0.front().and_then(span).map(|(start, _)| start)
    }
}

impl Kept {
    /// The latest end of what was let go of.
    pub(super) const fn gone(&self) -> Ticks {
        self.gone
    }

    /// An open request is kept so far.
    pub(super) fn goes_on(&mut self, number: u64, start: Ticks, until: Ticks) {
        self.windows.add(start, until);
        self.requests.insert((number, start), Ticks::MAX);
    }

    /// A request is over. One that was kept when it was open stays so.
    pub(super) fn ended(&mut self, number: u64, start: Ticks, end: Ticks, is_kept: bool) {
        let known = self.requests.get_mut(&(number, start));
        match known {
            Some(until) => *until = end,
            None if is_kept => {
                self.requests.insert((number, start), end);
            }
            None => return,
        }
        self.windows.add(start, end);
    }

    /// A record is kept of which it is not known whether it is wanted.
    fn begin(&mut self, record: &Record) {
        let Record::Mark(mark) = record else { return };
        let has_room = self.begun.len() < HELD_MAX || self.begun.contains_key(&mark.request);
        if mark.kind != MarkKind::Size && has_room {
            let (first, last) = self.begun.entry(mark.request).or_insert((mark.at, mark.at));
            (*first, *last) = ((*first).min(mark.at), (*last).max(mark.at));
        }
    }

    /// A mark from this time was kept of the request when nothing was known of it.
    pub(super) fn has_begun(&self, number: u64, start: Ticks, end: Ticks) -> bool {
        let begun = self.begun.get(&number);
        begun.is_some_and(|&(first, last)| first <= end && last >= start)
    }

    /// What is over by `until` is known.
    fn wants(&self, record: &Record, (start, end): (Ticks, Ticks), until: Ticks) -> bool {
        match record {
            // Marks of other requests would begin what never ends. One from after `until` may be of the next request with the
            // number of one that is open.
            Record::Mark(mark) if mark.kind != MarkKind::Size => {
                self.has(mark.request, mark.at, until)
            }
            Record::Hop(hop) => self.has(hop.request, hop.at, until),
            _ => self.windows.touch(start, end),
        }
    }

    /// At this time the request was one that is kept.
    fn has(&self, request: u64, at: Ticks, until: Ticks) -> bool {
        let before = self.requests.range(..=(request, at)).next_back();
        before.is_some_and(|((number, _), ends)| *number == request && at <= until.min(*ends))
    }

    /// No mark from before `from` is held any more, and what is over by `until` is known.
    pub(super) fn forget(
        &mut self,
        from: Ticks,
        until: Ticks,
        is_open: impl Fn(u64, Ticks) -> bool,
    ) {
        self.begun.retain(|_, (_, last)| *last > until);
        if self.requests.len() > REMEMBERED {
            self.requests.retain(|&(number, start), ends| {
                *ends >= from && (*ends < Ticks::MAX || is_open(number, start))
            });
        }
    }
}
