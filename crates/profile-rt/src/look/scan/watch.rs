//! When to glimpse at a thread, when to walk its stack, and when to leave it alone.

use super::pace::{Pace, Purse};
use super::thread::{Seen, ThreadScan};
use super::{Ended, Gaps, Probe, Window};
use tailwater_profile::record::Ticks;

/// A thread that stood still is looked at less often when there are many: after a share of the time
/// that it has stood still, so that what that costs in precision stays below the same share.
const IDLE_SHARE: u64 = 64;

/// The pause after news doubles with each look that finds more, this often.
const NEWS_MAX: u32 = 4;

/// From so many on, it calls all the time, and not in bursts with rests.
const NEWS_BUSY: u32 = 2;

/// One thread under the scanner's eyes.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) scan: ThreadScan,
    purse: Purse,
    next: Ticks,
    /// The last glimpse found news, and one more look costs little if they were the last.
    settling: bool,
    /// Looks in a row that found news: the thread is busy calling, and each look stops it for a moment.
    news: u32,
    /// Since when there are frames that are not known.
    unknown_since: Option<Ticks>,
    changed_at: Ticks,
}

impl Watch {
    /// See [`ThreadScan::new`].
    pub(crate) fn new(generation: u64, began: Window, delay: Ticks, now: Ticks) -> Self {
        Self {
            scan: ThreadScan::new(generation, began, delay),
            purse: Purse::new(now),
            next: now,
            settling: false,
            news: 0,
            unknown_since: None,
            changed_at: now,
        }
    }

    /// Whether it is time to look.
    #[inline]
    pub(crate) fn is_due(&self, now: Ticks) -> bool {
        now >= self.next
    }

    /// Looks, and walks where that is worth it. `before` is the clock's last reading; returns the
    /// next. `idle_max` bounds how long a quiet thread is left alone.
    #[inline]
    pub(crate) fn turn(
        &mut self,
        pace: &Pace,
        idle_max: Ticks,
        before: Ticks,
        probe: &mut impl Probe,
        gaps: &mut Gaps,
        out: &mut Vec<Ended>,
    ) -> Ticks {
        let (now, seen) = self.scan.glimpse(before, probe, gaps, out);
        if seen == Seen::Nothing {
            self.news = 0;
            let still = now.saturating_sub(self.changed_at);
            let pause = if self.purse.is_poor(pace) { pace.settle } else { 0 };
            self.next = now + (still / IDLE_SHARE).min(idle_max).max(pause);
            return now;
        }
        self.changed_at = now;
        let since = *self.unknown_since.get_or_insert(now);
        let head = match seen {
            Seen::Quiet => 0,
            _ if self.news < NEWS_BUSY => pace.costs.change,
            _ => pace.costs.head,
        };
        let walks = match seen {
            Seen::Quiet => true,
            Seen::Changed => now.saturating_sub(since) >= pace.force,
            Seen::Fewer | Seen::Nothing => false,
        };
        if walks {
            return self.walk(pace, now, head, probe, gaps, out);
        }
        let allowed = self.purse.spend(pace, now, head);
        self.settling = seen == Seen::Changed && !self.settling;
        self.next = if self.settling { now } else { allowed }.max(now + (pace.settle << self.news));
        self.news = (self.news + 1).min(NEWS_MAX);
        if seen == Seen::Fewer {
            self.unknown_since = None;
        }
        now
    }

    fn walk(
        &mut self,
        pace: &Pace,
        before: Ticks,
        head: Ticks,
        probe: &mut impl Probe,
        gaps: &mut Gaps,
        out: &mut Vec<Ended>,
    ) -> Ticks {
        let (now, lines) = self.scan.walk(before, probe, gaps, out);
        self.next = self.purse.spend(pace, now, head + lines * pace.costs.line);
        self.settling = false;
        self.news = if self.scan.is_whole() { 0 } else { self.news.max(NEWS_BUSY) };
        self.unknown_since = None;
        now
    }
}
