//! The last moments of a recording, as a flight recorder keeps them.

use super::held::span;
use crate::clock::{Clocks, TickRate};
use crate::record::{Record, Ticks};
use crate::trace::Header;
use std::collections::VecDeque;
use std::time::Duration;

/// Records held; 2²¹ take some 300 MB. When they are more, the oldest go before their time.
const HELD_MAX: usize = 1 << 21;

/// A record may end so long after the last clock: one comes each second, and what writes may be late. An end beyond is a
/// damaged or hostile program's, and would make all others too old.
const AHEAD_MAX: Duration = Duration::from_secs(2);

/// Holds the records of a trace, as they come, for so long.
pub struct Last {
    length: Duration,
    /// [`Last::length`] in ticks; nothing goes before that is known.
    window: Option<Ticks>,
    clocks: Clocks,
    latest: Ticks,
    /// Ends beyond this say nothing of how late it is; unbounded before a rate is known.
    latest_max: Ticks,
    held: VecDeque<Record>,
    /// What went, and of that what went for want of room.
    gone: u64,
    crowded: u64,
}

/// What was not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone {
    /// Calls, waits, marks and gaps that were too old.
    pub old: u64,
    /// Such that were not, and for which there was no room.
    pub crowded: u64,
}

impl Last {
    /// Of the trace with this header.
    #[must_use]
    pub const fn new(header: &Header, length: Duration) -> Self {
        Self {
            length,
            window: None,
            clocks: Clocks::new(header.clock),
            latest: 0,
            latest_max: Ticks::MAX,
            held: VecDeque::new(),
            gone: 0,
            crowded: 0,
        }
    }

    /// Takes the next record. Names, clocks and losses are handed on at once, whatever their time.
    pub fn add(&mut self, record: Record, mut keep: impl FnMut(&Record)) {
        if let Record::Clock(clock) = &record {
            self.clocks.add(clock);
            if let Some(rate) = self.rate() {
                self.window = Some(rate.ticks(self.length));
                self.latest_max = clock.ticks.saturating_add(rate.ticks(AHEAD_MAX));
                if self.latest > self.latest_max {
                    self.latest = clock.ticks;
                }
            }
        }
        let Some(end) = end(&record) else { return keep(&record) };
        if end <= self.latest_max {
            self.latest = self.latest.max(end);
        }
        self.held.push_back(record);
        self.let_go();
    }

    /// How long a tick is, once two clocks have come.
    #[must_use]
    pub fn rate(&self) -> Option<TickRate> {
        Some(self.clocks.rate()).filter(|rate| rate.measured)
    }

    /// No more comes: hands on what is held, in the order in which it came.
    pub fn finish(mut self, mut keep: impl FnMut(&Record)) -> Gone {
        let from = self.from();
        for record in self.held.drain(..) {
            // Threads have their turns, and so an old record may stand behind one that is not.
            if end(&record).is_some_and(|end| end < from) {
                self.gone += 1;
            } else {
                keep(&record);
            }
        }
        Gone { old: self.gone, crowded: self.crowded }
    }

    /// What ended before is too old.
    fn from(&self) -> Ticks {
        self.window.map_or(0, |window| self.latest.saturating_sub(window))
    }

    fn let_go(&mut self) {
        let from = self.from();
        while self.held.front().and_then(end).is_some_and(|end| end < from) {
            self.held.pop_front();
            self.gone += 1;
        }
        if self.held.len() > HELD_MAX {
            self.held.pop_front();
            self.crowded += 1;
        }
    }
}

/// When a record's fact was over, in the middle of what is known of that; `None` for what has no time.
fn end(record: &Record) -> Option<Ticks> {
    match record {
        Record::Call(call) => Some(call.end),
        other => span(other).map(|(_, end)| end),
    }
}
