//! What the loops of a server share: tallies that each loop alone writes, the admission level that
//! all read, and the regulator that whichever loop finds it due moves on.

use super::config::{Config, Variant};
use super::law;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// The shared half of a DAGOR server. All atomics are relaxed: each is a number of its own, and a
/// sum that misses a loop's newest request counts it in the next window.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    /// The last level admitted.
    cursor: AtomicU16,
    /// When the regulator wants to look again. Moved by whoever holds `regulator`.
    look_ns: AtomicU64,
    /// When the window ends at the latest.
    window_ends_ns: AtomicU64,
    delay_ns: AtomicU64,
    tallies: Box<[Tally]>,
    /// Never waited for: a loop that finds it taken knows that another does the work.
    regulator: Mutex<Regulator>,
}

/// One loop's counts since the server began, wrapping. Written by that loop alone, so that counting
/// needs no read-modify-write; aligned, so that loops do not share cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally {
    /// Requests that arrived, by level; those that were shed are among them.
    levels: Box<[AtomicU32]>,
    arrived: AtomicU32,
    started: AtomicU32,
    waited_ns: AtomicU64,
    /// The queueing delay as of the last tick.
    delay_ns: AtomicU64,
}

impl Tally {
    fn new(levels: u16) -> Self {
        Self {
            levels: (0..levels).map(|_| AtomicU32::new(0)).collect(),
            arrived: AtomicU32::new(0),
            started: AtomicU32::new(0),
            waited_ns: AtomicU64::new(0),
            delay_ns: AtomicU64::new(0),
        }
    }

    pub(super) fn on_arrival(&self, level: u16) {
        add(&self.arrived, 1);
        if let Some(count) = self.levels.get(usize::from(level)) {
            add(count, 1);
        }
    }

    pub(super) fn on_start(&self, waited: Duration) {
        add(&self.started, 1);
        let sum = self.waited_ns.load(Relaxed).wrapping_add(waited.nanos());
        self.waited_ns.store(sum, Relaxed);
    }
}

fn add(counter: &AtomicU32, more: u32) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

/// What only the loop that holds it may touch.
#[derive(Debug)]
struct Regulator {
    last_look: Instant,
    smoothed: Duration,
    /// The admission level with its fraction; `cursor` is the whole part.
    position: f64,
    /// The sums at the beginning of the window.
    base: Sums,
    /// Arrivals by level at the beginning of the window; then scratch space for those in it.
    base_levels: Vec<u32>,
    counts: Vec<u32>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    arrived: u32,
    started: u32,
    waited_ns: u64,
}

impl Shared {
    pub(super) fn new(config: Config, shards: usize) -> Self {
        let start = config.levels.top().min(config.start_level);
        let count = usize::from(config.levels.count());
        let regulator = Regulator {
            last_look: Instant::ZERO,
            smoothed: Duration::ZERO,
            position: f64::from(start),
            base: Sums::default(),
            base_levels: vec![0; count],
            counts: vec![0; count],
        };
        Self {
            config,
            cursor: AtomicU16::new(start),
            look_ns: AtomicU64::new(0),
            window_ends_ns: AtomicU64::new(0),
            delay_ns: AtomicU64::new(0),
            tallies: (0..shards.max(1)).map(|_| Tally::new(config.levels.count())).collect(),
            regulator: Mutex::new(regulator),
        }
    }

    pub(super) fn cursor(&self) -> u16 {
        self.cursor.load(Relaxed)
    }

    pub(super) fn tally(&self, shard: usize) -> &Tally {
        &self.tallies[shard]
    }

    /// The delay that the last update went by.
    pub(super) fn last_delay(&self) -> Duration {
        Duration::from_nanos(self.delay_ns.load(Relaxed))
    }

    /// When an idle server must still be ticked: while it sheds anything, or it would meet the next
    /// burst with the level of the last one. `None` once all is admitted.
    pub(super) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        (self.cursor() < self.config.levels.top())
            .then(|| Instant::from_nanos(self.window_ends_ns.load(Relaxed)).max(now))
    }

    /// Loops that it has room for.
    pub(super) const fn shards(&self) -> usize {
        self.tallies.len()
    }

    /// Publishes a loop's delay; looks at all loops if that is due, and ends the window if its time
    /// or its requests are spent. One update, however many windows have passed.
    pub(super) fn tick(&self, now: Instant, shard: usize, delay: Duration) {
        // Relaxed: a number of its own, and a first look without the lock. A loop that sees the time before looks once more.
        self.tallies[shard].delay_ns.store(delay.nanos(), Relaxed);
        if now.as_nanos() < self.look_ns.load(Relaxed) {
            return;
        }
        let Ok(mut regulator) = self.regulator.try_lock() else {
            return;
        };
        let config = &self.config;
        // Relaxed: below, times are written by the lock's holder alone, and the lock orders one holder's after another's.
        let first = self.window_ends_ns.load(Relaxed) == 0;
        if first {
            self.window_ends_ns.store((now + config.update_every).as_nanos(), Relaxed);
            regulator.last_look = now;
        }
        let delay = self.slowest();
        let elapsed = now.since(regulator.last_look);
        regulator.smoothed = law::smooth(config, regulator.smoothed, delay, elapsed);
        regulator.last_look = now;
        let sums = self.sums();
        let arrived = sums.arrived.wrapping_sub(regulator.base.arrived);
        let ends = self.window_ends_ns.load(Relaxed);
        if now.as_nanos() >= ends || arrived >= config.update_requests {
            self.end_window(&mut regulator, sums, delay);
            self.window_ends_ns.store((now + config.update_every).as_nanos(), Relaxed);
        }
        let look = (now + config.sample_every).as_nanos();
        self.look_ns.store(look.min(self.window_ends_ns.load(Relaxed)), Relaxed);
    }

    fn end_window(&self, regulator: &mut Regulator, sums: Sums, delay: Duration) {
        let config = &self.config;
        let mean = regulator.base.mean_wait_until(sums);
        regulator.base = sums;
        let before = regulator.position;
        let (seen, after) = match config.variant {
            Variant::Threshold => {
                let overloaded = regulator.smoothed >= config.delay_limit;
                (regulator.smoothed, law::threshold(config, before, overloaded))
            }
            Variant::Histogram => {
                // Nothing started: the server stands still with a queue, or has none. What waits
                // tells which; what was served does not.
                let mean = mean.unwrap_or(delay);
                self.count_window(regulator);
                let overloaded = mean > config.delay_limit;
                (mean, law::position(config, &regulator.counts, before, overloaded))
            }
        };
        regulator.position = after;
        self.delay_ns.store(seen.nanos(), Relaxed);
        self.cursor.store(whole(after), Relaxed);
    }

    /// The slowest loop counts, as in the artifact.
    fn slowest(&self) -> Duration {
        let delays = self.tallies.iter().map(|tally| tally.delay_ns.load(Relaxed));
        Duration::from_nanos(delays.max().unwrap_or(0))
    }

    fn sums(&self) -> Sums {
        self.tallies.iter().fold(Sums::default(), |sums, tally| Sums {
            arrived: sums.arrived.wrapping_add(tally.arrived.load(Relaxed)),
            started: sums.started.wrapping_add(tally.started.load(Relaxed)),
            waited_ns: sums.waited_ns.wrapping_add(tally.waited_ns.load(Relaxed)),
        })
    }

    /// Leaves in `counts` what arrived since the last call.
    fn count_window(&self, regulator: &mut Regulator) {
        let Regulator { base_levels, counts, .. } = regulator;
        for (level, (base, count)) in base_levels.iter_mut().zip(counts).enumerate() {
            let total = self
                .tallies
                .iter()
                .fold(0_u32, |sum, tally| sum.wrapping_add(tally.levels[level].load(Relaxed)));
            *count = total.wrapping_sub(*base);
            *base = total;
        }
    }
}

impl Sums {
    /// The mean wait of the requests that started between `self` and `end`.
    fn mean_wait_until(self, end: Self) -> Option<Duration> {
        let started = u64::from(end.started.wrapping_sub(self.started));
        let waited_ns = end.waited_ns.wrapping_sub(self.waited_ns);
        waited_ns.checked_div(started).map(Duration::from_nanos)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a level between 0 and 255"
)]
fn whole(position: f64) -> u16 {
    position as u16
}

#[cfg(test)]
mod tests;
