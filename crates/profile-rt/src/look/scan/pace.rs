//! What looking costs the thread that is looked at, and how often it may be done for that.
//!
//! A glimpse at a line that its thread has just written takes the line away: the thread pays for
//! getting it back. Each thread has a purse that fills with a share of the time that goes by; when it
//! is empty, nobody looks. Quiet threads cost nothing to look at.

use tailwater_profile::record::Ticks;

/// What one look may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Costs {
    /// For the thread's head, when it calls all the time.
    pub(crate) head: Ticks,
    /// For the thread's head, when it has changed after a rest: the rest is where the thread catches up.
    pub(crate) change: Ticks,
    /// For a line of its stack.
    pub(crate) line: Ticks,
}

impl Costs {
    /// Where the thread cannot run while it is looked at.
    pub(crate) const NONE: Self = Self { head: 0, change: 0, line: 0 };

    /// What was found on several machines, for where it cannot be measured. Rather too much: the
    /// program then pays less than it was said to, and fewer calls are found.
    pub(crate) const fn usual(us: Ticks) -> Self {
        Self { head: us * 240 / 1000, change: us * 120 / 1000, line: us * 40 / 1000 }
    }
}

/// When to look, in ticks; the same for all threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) costs: Costs,
    /// The share of a thread's time that scanning may take, in 65536ths.
    pub(crate) budget: u64,
    /// A stack counts as quiet when it stood still for this long: what a thread needs to go on after
    /// a look has stopped it. Sooner, the same burst of calls would be stopped again.
    pub(crate) settle: Ticks,
    /// A stack that is never quiet is walked after this time.
    pub(crate) force: Ticks,
}

/// [`Pace::budget`] of a whole.
pub(crate) const WHOLE: u64 = 1 << 16;
/// A thread that was quiet for long can be looked at for this many heads at once.
const BURST_HEADS: u64 = 16;
/// One walk of a deep stack stops all looking for this many forced walks at most.
const DEBT_FORCED: u64 = 16;

/// What may still be spent on one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purse {
    /// In 65536ths of a tick, less than nothing when too much was spent.
    money: i64,
    filled: Ticks,
}

impl Purse {
    pub(crate) const fn new(now: Ticks) -> Self {
        Self { money: 0, filled: now }
    }

    /// Whether little was left when it was last paid from. Looking without pause then finds the first
    /// call of a burst, and the thread is stopped in the middle of it; with pauses mostly after it.
    pub(crate) const fn is_poor(&self, pace: &Pace) -> bool {
        self.money < (pace.costs.head * (BURST_HEADS / 2) * WHOLE) as i64
    }

    /// Pays, and says from when on one may look again.
    pub(crate) fn spend(&mut self, pace: &Pace, now: Ticks, cost: Ticks) -> Ticks {
        // The longest wait that matters fits: a quiet minute fills any purse.
        let elapsed = now.saturating_sub(self.filled).min(1 << 36);
        self.filled = self.filled.max(now);
        let burst = (pace.costs.head * BURST_HEADS * WHOLE) as i64;
        let debt = (pace.force * DEBT_FORCED * pace.budget) as i64;
        let income = (elapsed * pace.budget) as i64;
        let spent = (cost.min(1 << 40) * WHOLE) as i64;
        self.money = (self.money.saturating_add(income).min(burst) - spent).max(-debt);
        if self.money >= 0 { now } else { now + self.money.unsigned_abs() / pace.budget.max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace =
        Pace { costs: Costs::usual(2600), budget: WHOLE / 20, settle: 60, force: 20_000 };

    #[test]
    fn a_busy_thread_pays_its_share_and_no_more() {
        let (mut purse, mut now, mut spent) = (Purse::new(0), 0, 0);
        while now < 100_000_000 {
            now = purse.spend(&PACE, now, PACE.costs.head) + 10;
            spent += PACE.costs.head;
        }
        let share = spent as f64 / now as f64;
        assert!((0.045..=0.0505).contains(&share), "{share}");
    }

    #[test]
    fn rest_is_saved_up_to_a_burst_and_debt_is_bounded() {
        let mut purse = Purse::new(0);
        for _ in 0..BURST_HEADS {
            assert_eq!(purse.spend(&PACE, 1 << 50, PACE.costs.head), 1 << 50);
        }
        assert!(purse.spend(&PACE, 1 << 50, PACE.costs.head) > 1 << 50);
        let again = purse.spend(&PACE, 1 << 50, u64::MAX);
        assert!(again - (1 << 50) <= PACE.force * DEBT_FORCED);
    }
}
