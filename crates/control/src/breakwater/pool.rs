//! A pool of credits, for all loops of a server or for one: its size, what is issued, how many sessions
//! there are.
//!
//! A handful of atomics and no lock. All use relaxed ordering, as each is a number of its own. A reading that is torn
//! between two of them costs at most a few credits for one round trip.

use super::config::{Config, Efficiency, Law};
use super::delay::{self, Reading};
use super::efficiency::{self, Decision};
use super::meter::Meter;
use super::refusals::Refusals;
use super::share_shed::{self, Tally};
use crate::ewma::ROUND_TRIP;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64};
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// What the loops of a pool share.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) config: Config,
    total: AtomicU32,
    issued: AtomicI64,
    /// Registered, idle ones included.
    sessions: AtomicU32,
    idle: AtomicU32,
    /// Sessions on the loops' lists of those that only an explicit credit can wake.
    stranded: AtomicU32,
    /// When the next update is due. The loop that moves it forward makes the update.
    due_ns: AtomicU64,
    /// The regulator's fraction, as bits; touched only by the loop that claimed the update, of either law.
    carry_bits: AtomicU64,
    /// [`Reading::mean_delay`]; touched as the fraction is.
    mean_delay_ns: AtomicU64,
    /// The share of requests that the server's queue shed of late, as bits; touched as the fraction is.
    shed_bits: AtomicU64,
    /// The efficiency law's last word: do not grow.
    held: AtomicBool,
    /// Its last word on hurry: grow by eq. 3 alone.
    wary: AtomicBool,
    /// What the efficiency law looks at.
    meter: Meter,
    refusals: Refusals,
    rtt_ns: AtomicU64,
    /// Each loop's median round trip, by its place; zero while unknown.
    rtts_ns: Box<[AtomicU64]>,
    last_delay_ns: AtomicU64,
    /// Each loop's queueing delay as of its last tick.
    delays_ns: Box<[AtomicU64]>,
}

/// What a loop says on every turn.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    /// Its queueing delay.
    pub(super) delay: Duration,
    /// Its time between completions while requests wait.
    pub(super) pace: Duration,
    /// What became of its requests since it last made an update, which empties it.
    pub(super) tally: &'a mut Tally,
}

/// An update that took place.
pub(super) struct Resized {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) delay: Duration,
}

fn zeros(loops: usize) -> Box<[AtomicU64]> {
    (0..loops).map(|_| AtomicU64::new(0)).collect()
}

impl Pool {
    pub(super) fn new(config: Config, loops: usize) -> Self {
        Self {
            config,
            total: AtomicU32::new(config.pool_min),
            issued: AtomicI64::new(0),
            sessions: AtomicU32::new(0),
            idle: AtomicU32::new(0),
            stranded: AtomicU32::new(0),
            due_ns: AtomicU64::new(0),
            carry_bits: AtomicU64::new(0),
            mean_delay_ns: AtomicU64::new(0),
            shed_bits: AtomicU64::new(0),
            held: AtomicBool::new(false),
            wary: AtomicBool::new(false),
            meter: Meter::default(),
            refusals: Refusals::default(),
            rtt_ns: AtomicU64::new(0),
            rtts_ns: zeros(loops),
            last_delay_ns: AtomicU64::new(0),
            delays_ns: zeros(loops),
        }
    }

    pub(super) fn total(&self) -> u32 {
        self.total.load(Relaxed)
    }

    /// Never negative for a reader: the sum can dip below zero only while two loops' changes cross.
    pub(super) fn issued(&self) -> u32 {
        u32::try_from(self.issued.load(Relaxed).max(0)).unwrap_or(u32::MAX)
    }

    pub(super) fn sessions(&self) -> u32 {
        self.sessions.load(Relaxed)
    }

    pub(super) fn idle(&self) -> u32 {
        self.idle.load(Relaxed)
    }

    /// Sessions that the pool is for, `n_c` of the laws: those that are not idle.
    fn active(&self) -> u32 {
        self.sessions().saturating_sub(self.idle())
    }

    /// `C_avail = C_total − C_issued`; negative when the pool is exceeded.
    pub(super) fn room(&self) -> i64 {
        i64::from(self.total()) - self.issued.load(Relaxed)
    }

    /// Credits that every client may have beyond its demand, eq. 4.
    pub(super) fn overcommitment(&self) -> u32 {
        let share = self.room() / i64::from(self.active().max(1));
        u32::try_from(share.max(1)).unwrap_or(u32::MAX)
    }

    /// A session's holding changed.
    pub(super) fn shift_issued(&self, from: u32, to: u32) {
        if from != to {
            self.issued.fetch_add(i64::from(to) - i64::from(from), Relaxed);
        }
    }

    pub(super) fn join(&self) {
        self.sessions.fetch_add(1, Relaxed);
    }

    pub(super) fn leave(&self) {
        // Relaxed: of two loops whose last sessions leave at once, the count itself says which one finds none left.
        if self.sessions.fetch_sub(1, Relaxed) == 1 {
            // As in the artifact: no session is left, and what the last crowd needed says nothing.
            self.total.store(self.config.pool_min, Relaxed);
            self.mean_delay_ns.store(0, Relaxed);
        }
    }

    /// A session that held so much is idle now: its credits leave the pool, so that there is as much room as
    /// before and neither increase nor decrease counts with them.
    pub(super) fn set_idle(&self, held: u32) {
        self.idle.fetch_add(1, Relaxed);
        self.resize(|total| total.saturating_sub(held).max(self.config.pool_min));
    }

    /// It is back with the one credit that it kept. Another loop's update may overwrite this change of
    /// the total; that is a credit.
    pub(super) fn set_active(&self) {
        self.idle.fetch_sub(1, Relaxed);
        let most = self.config.pool_most(self.sessions());
        self.resize(|total| if total < most { total + 1 } else { total });
    }

    /// An idle session leaves, with nothing in the pool.
    pub(super) fn forget_idle(&self) {
        self.idle.fetch_sub(1, Relaxed);
    }

    fn resize(&self, change: impl Fn(u32) -> u32) {
        self.total.store(change(self.total()), Relaxed);
    }

    /// A loop's list of sessions that only an explicit credit can wake has changed.
    pub(super) fn shift_stranded(&self, from: usize, to: usize) {
        let [from, to] = [from, to].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        if from != to {
            self.stranded.fetch_add(to.wrapping_sub(from), Relaxed);
        }
    }

    /// A session wants credit and there is none.
    pub(super) fn is_short(&self) -> bool {
        self.stranded.load(Relaxed) > 0 && self.room() <= 0
    }

    pub(super) fn rtt(&self) -> Duration {
        Duration::from_nanos(self.rtt_ns.load(Relaxed))
    }

    /// A sample of any session, smoothed. Two loops may overwrite each other's; neither matters.
    pub(super) fn on_rtt(&self, sample: Duration) {
        let mean_ns = ROUND_TRIP.after_any(self.rtt_ns.load(Relaxed), sample.nanos());
        self.rtt_ns.store(mean_ns, Relaxed);
    }

    /// The median of a loop's sessions. The lower median of all loops counts, so that a loop with few
    /// sessions has no more to say than the others.
    pub(super) fn on_median(&self, place: usize, median: Duration) {
        self.rtts_ns[place].store(median.nanos(), Relaxed);
        let known = self.rtts_ns.iter().map(|rtt| rtt.load(Relaxed)).filter(|rtt| *rtt > 0);
        let mut known: Vec<u64> = known.collect();
        known.sort_unstable();
        let middle = known.len().saturating_sub(1) / 2;
        self.rtt_ns.store(known.get(middle).copied().unwrap_or(0), Relaxed);
    }

    pub(super) fn last_delay(&self) -> Duration {
        Duration::from_nanos(self.last_delay_ns.load(Relaxed))
    }

    /// The time in which all issued credits are used once, for a loop that completes a request every
    /// `pace` (Little's law).
    fn turnover(&self, pace: Duration) -> Duration {
        self.time_for(self.issued(), pace)
    }

    /// What so many requests take the loops, each of which completes one every `pace`.
    fn time_for(&self, requests: u32, pace: Duration) -> Duration {
        let loops = u32::try_from(self.delays_ns.len()).unwrap_or(u32::MAX);
        pace / loops * requests
    }

    /// How long a queue the clients' reserve may make: what is shed waits for as long beyond a request of each, all at
    /// once, on average. Nothing where they are too many for that, and while `pace` ([`Turn`]) is unknown.
    pub(super) fn reserve(&self, pace: Duration) -> Duration {
        let Config { reserve, drop_threshold, target_delay, .. } = self.config;
        if !reserve || pace.is_zero() {
            return Duration::ZERO;
        }
        let others = self.active().saturating_sub(1);
        let longest = drop_threshold.unwrap_or(2 * target_delay);
        longest.saturating_sub(self.time_for(others, pace) / 2)
    }

    /// Whether the reserve holds what the pool has not issued. By eq. 4 clients hold about as much unused as the pool
    /// keeps.
    fn is_reserve_small(&self, pace: Duration) -> bool {
        let unissued = u32::try_from(self.room().max(0)).unwrap_or(u32::MAX);
        self.time_for(unissued, pace) < self.reserve(pace)
    }

    /// The delay law's update interval as things stand.
    fn interval(&self, pace: Duration) -> Duration {
        let interval = self.config.interval_for(self.rtt(), self.turnover(pace));
        interval.max(self.refusals.felt_after())
    }

    /// A handler served or refused a request, so long after it came.
    pub(super) fn on_handled(&self, sojourn: Duration) {
        if self.config.refusals.is_some() {
            self.refusals.on_handled(sojourn);
        }
    }

    /// Where to count requests; nowhere under a law that does not ask.
    pub(super) const fn meter(&self) -> Option<&Meter> {
        match self.config.law {
            Law::Delay => None,
            Law::Efficiency(_) => Some(&self.meter),
        }
    }

    /// How long the pool may be left alone while a session waits for it to change. `pace` as in [`Turn`].
    pub(super) fn next_look(&self, pace: Duration) -> Duration {
        match self.config.law {
            Law::Efficiency(law) if !law.delay_steers => {
                let (interval, settle) = self.meter.pace(&law, self.rtt());
                // A part of no length says nothing: a loop that went by it would never sleep.
                let parts = [settle, interval.saturating_sub(settle)];
                parts.into_iter().filter(|part| !part.is_zero()).min().unwrap_or(interval)
            }
            _ => self.interval(pace),
        }
    }

    /// Publishes a loop's delay. If an update is due and no other loop claims it, makes one: a single one, however
    /// many intervals have passed.
    pub(super) fn tick(&self, now: Instant, place: usize, turn: Turn<'_>) -> Option<Resized> {
        self.delays_ns[place].store(turn.delay.nanos(), Relaxed);
        match self.config.law {
            Law::Delay => self.steer(now, turn),
            Law::Efficiency(law) if law.delay_steers => {
                // Each law's update is claimed for itself. Of two loops that share the pool each may make one at the same time;
                // one step is lost then, and the next iteration decides from what is there.
                let judged = self.judge(now, &law);
                let steered = self.steer(now, turn);
                match (judged, steered) {
                    (Some(first), Some(second)) => Some(Resized { from: first.from, ..second }),
                    (first, second) => first.or(second),
                }
            }
            Law::Efficiency(law) => self.judge(now, &law),
        }
    }

    /// An iteration of the efficiency law, if one has ended.
    fn judge(&self, now: Instant, law: &Efficiency) -> Option<Resized> {
        let iteration = self.meter.poll(now, law, self.rtt())?;
        let from = self.total();
        let reading = efficiency::Reading {
            total: f64::from(from) + f64::from_bits(self.carry_bits.load(Relaxed)),
            issued: self.issued(),
            sessions: self.active(),
            last: iteration.last,
            current: iteration.current,
            trend: iteration.trend,
        };
        let decision = efficiency::decide(self.config.growth, law, &reading);
        // Relaxed: the last word for the delay law, which may hear of it one update late.
        self.held.store(!decision.grows(), Relaxed);
        self.wary.store(decision == Decision::Efficient, Relaxed);
        let total = efficiency::resize(&self.config, law, &reading, decision);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let to = total.floor() as u32;
        // As in `update`. Where the delay law steers, too, its own update may come between these two, which loses a step.
        self.total.store(to, Relaxed);
        self.carry_bits.store(total.fract().to_bits(), Relaxed);
        let delay = self.delays_ns.iter().map(|delay| delay.load(Relaxed)).max().unwrap_or(0);
        self.last_delay_ns.store(delay, Relaxed);
        Some(Resized { from, to, delay: Duration::from_nanos(delay) })
    }

    /// An update of the delay law, if one is due. It counts what this loop did alone: the others keep theirs
    /// for the updates that they make.
    fn steer(&self, now: Instant, turn: Turn<'_>) -> Option<Resized> {
        let due = self.due_ns.load(Relaxed);
        if now.as_nanos() < due {
            return None;
        }
        let interval = self.interval(turn.pace);
        let next = (now + interval).as_nanos();
        // Relaxed: the claim decides which loop makes the update, and publishes nothing. What the update before has written is an
        // interval old; a loop that does not see it yet repeats one step.
        self.due_ns.compare_exchange(due, next, Relaxed, Relaxed).ok()?;
        Some(self.update(turn, interval))
    }

    fn update(&self, turn: Turn<'_>, interval: Duration) -> Resized {
        let tally = std::mem::take(turn.tally);
        // The slowest loop counts, as the slowest queue does in the paper (§4).
        let delay_ns = self.delays_ns.iter().map(|delay| delay.load(Relaxed)).max().unwrap_or(0);
        let delay = Duration::from_nanos(delay_ns);
        let mean = Duration::from_nanos(self.mean_delay_ns.load(Relaxed));
        let mean = delay::follow(&self.config, mean, delay, interval);
        self.mean_delay_ns.store(mean.nanos(), Relaxed);
        let share =
            share_shed::follow(f64::from_bits(self.shed_bits.load(Relaxed)), tally, self.issued());
        self.shed_bits.store(share.to_bits(), Relaxed);
        let follow = |tolerated| self.refusals.follow(tolerated, tally, self.issued());
        let refused = self.config.refusals.map(follow).unwrap_or_default();
        let reading = Reading {
            held: self.held.load(Relaxed) || refused.holds,
            wary: self.wary.load(Relaxed),
            total: self.total(),
            issued: self.issued(),
            sessions: self.active(),
            // A pace of before the server was idle says nothing of the requests to come.
            is_reserve_small: tally.paced && self.is_reserve_small(turn.pace),
            delay,
            mean_delay: mean,
            shed_beyond_bursts: share_shed::beyond_bursts(share, tally) + refused.lost,
            carry: f64::from_bits(self.carry_bits.load(Relaxed)),
        };
        let (total, carry) = delay::update(&self.config, &reading);
        // Relaxed, one by one: only the next update reads the total and its fraction together. Others read the total alone.
        self.total.store(total, Relaxed);
        self.carry_bits.store(carry.to_bits(), Relaxed);
        self.last_delay_ns.store(delay_ns, Relaxed);
        Resized { from: reading.total, to: total, delay: reading.delay }
    }
}

#[cfg(test)]
mod tests;
