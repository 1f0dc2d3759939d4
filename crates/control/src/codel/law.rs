//! CoDel's state machine (Nichols and Jacobson; RFC 8289, §5), asked once for each request that
//! leaves the queue.

use super::config::Config;
use std::time::Duration;
use tailwater_core::Instant;

/// One queue's state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// When waits will have been at the target or above for an interval; `None` while they are not.
    overloaded_at: Option<Instant>,
    /// Set in the dropping state: when the next request is to be shed.
    shed_next: Option<Instant>,
    /// When the last dropping state would have shed next.
    last_shed_next: Instant,
    /// Sheds in this dropping state, from which the law's rate follows.
    count: u32,
    /// `count` as it was when this dropping state began.
    count_at_entry: u32,
}

impl Law {
    pub(super) const fn new() -> Self {
        Self {
            overloaded_at: None,
            shed_next: None,
            last_shed_next: Instant::ZERO,
            count: 0,
            count_at_entry: 0,
        }
    }

    /// Whether the request that leaves the queue at `now` is to be shed. It waited for `waited`, and
    /// `is_last` says that none waits behind it.
    pub(super) fn sheds(
        &mut self,
        config: &Config,
        now: Instant,
        waited: Duration,
        is_last: bool,
    ) -> bool {
        if !self.is_overloaded(config, now, waited, is_last) {
            self.leave();
            return false;
        }
        let above_ceiling = config.ceiling.is_some_and(|ceiling| waited >= ceiling);
        match self.shed_next {
            None => {
                self.enter(config, now);
                true
            }
            Some(at) if now >= at => {
                self.count = self.count.saturating_add(1);
                self.shed_next = Some(at + spacing(config, self.count));
                true
            }
            Some(_) => above_ceiling,
        }
    }

    /// Nothing waits any more.
    pub(super) fn on_drained(&mut self) {
        self.overloaded_at = None;
        self.leave();
    }

    /// `dodequeue` of the RFC. A queue of one is no standing queue, however long that one waited.
    fn is_overloaded(
        &mut self,
        config: &Config,
        now: Instant,
        waited: Duration,
        is_last: bool,
    ) -> bool {
        if waited < config.target || is_last {
            self.overloaded_at = None;
            return false;
        }
        now >= *self.overloaded_at.get_or_insert(now + config.interval)
    }

    /// Begins to shed; near the rate at which it last stopped, if that was not long ago.
    fn enter(&mut self, config: &Config, now: Instant) {
        let grown = self.count - self.count_at_entry;
        // RFC 8289, §5.5: within 16 intervals, as Linux has it, the last rate is where to begin.
        let is_recent = now.since(self.last_shed_next) < 16 * config.interval;
        self.count = if grown > 1 && is_recent { grown } else { 1 };
        self.count_at_entry = self.count;
        self.shed_next = Some(now + spacing(config, self.count));
    }

    fn leave(&mut self) {
        if let Some(at) = self.shed_next.take() {
            self.last_shed_next = at;
        }
    }
}

/// The control law: interval/√count.
fn spacing(config: &Config, count: u32) -> Duration {
    config.interval.div_f64(f64::from(count.max(1)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONFIG: Config = Config {
        target: Duration::from_micros(80),
        interval: Duration::from_micros(200),
        ceiling: None,
    };

    const LONG: Duration = Duration::from_micros(100);

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// When, in µs, the law sheds from a queue that yields one request every 10 µs, all of which
    /// waited for `waited`, from `from` until `until`.
    fn sheds(law: &mut Law, config: &Config, waited: Duration, from: u64, until: u64) -> Vec<u64> {
        let times = (from..until).step_by(10);
        times.filter(|&us| law.sheds(config, at(us), waited, false)).collect()
    }

    #[test]
    fn sheds_follow_at_the_interval_over_the_root_of_their_count() {
        let mut law = Law::new();
        // Entered 200 µs after the first long wait; then 200/√1 = 200, 200/√2 = 141.4, 115.5, 100,
        // each rounded up to the next request.
        let found = sheds(&mut law, &CONFIG, LONG, 1_000, 1_800);
        assert_eq!(found, [1_200, 1_400, 1_550, 1_660, 1_760]);
    }

    /// RFC 8289, §5.5: `sojourn_time < TARGET` is below, the target itself is not.
    #[test]
    fn a_wait_of_the_target_itself_counts_as_above() {
        let mut law = Law::new();
        assert_eq!(sheds(&mut law, &CONFIG, CONFIG.target, 0, 500), [200, 400]);
        let below = CONFIG.target - Duration::from_nanos(1);
        assert_eq!(sheds(&mut Law::new(), &CONFIG, below, 0, 500), []);
    }

    #[test]
    fn one_short_wait_in_an_interval_is_enough() {
        let mut law = Law::new();
        for us in (0..2_000).step_by(10) {
            let waited = if us % 190 == 0 { CONFIG.target / 2 } else { 10 * LONG };
            assert!(!law.sheds(&CONFIG, at(us), waited, false), "{us} µs");
        }
    }

    #[test]
    fn the_dropping_state_ends_with_a_short_wait_or_a_drained_queue() {
        for drained in [false, true] {
            let mut law = Law::new();
            assert!(!sheds(&mut law, &CONFIG, LONG, 0, 900).is_empty());
            let waited = if drained { LONG } else { Duration::ZERO };
            assert!(!law.sheds(&CONFIG, at(900), waited, drained));
            assert_eq!(law.shed_next, None);
            assert_eq!(sheds(&mut law, &CONFIG, LONG, 910, 1_110), [], "an interval of grace");
        }
    }

    #[test]
    fn overload_that_returns_soon_is_met_at_the_old_rate() {
        let mut law = Law::new();
        assert!(sheds(&mut law, &CONFIG, LONG, 0, 4_000).len() > 20);
        let grown = law.count - law.count_at_entry;
        law.on_drained();
        let mut later = law;
        sheds(&mut law, &CONFIG, LONG, 4_010, 4_220);
        assert_eq!(law.count, grown);
        sheds(&mut later, &CONFIG, LONG, 40_000, 40_210);
        assert_eq!(later.count, 1, "16 intervals later it is forgotten");
    }

    #[test]
    fn soon_is_less_than_sixteen_intervals() {
        let last = at(10_000);
        let law = Law { count: 9, count_at_entry: 2, last_shed_next: last, ..Law::new() };
        let entered = |after: Duration| {
            let mut law = law;
            law.enter(&CONFIG, last + after);
            law.count
        };
        let limit = 16 * CONFIG.interval;
        assert_eq!((entered(limit - Duration::from_nanos(1)), entered(limit)), (7, 1));
    }

    #[test]
    fn the_ceiling_sheds_at_once_but_only_under_overload() {
        let config = Config { ceiling: Some(LONG), ..CONFIG };
        let mut law = Law::new();
        assert_eq!(sheds(&mut law, &config, LONG, 0, 200), []);
        assert_eq!(sheds(&mut law, &config, LONG, 200, 300).len(), 10);
        let below = LONG - Duration::from_nanos(1);
        assert_eq!(sheds(&mut law, &config, below, 300, 390), []);
    }

    proptest! {
        #[test]
        fn never_sheds_what_waited_less_than_the_target_or_waited_alone(
            queue in prop::collection::vec((1_u64..500, 0_u64..300, any::<bool>()), 1..200),
        ) {
            let mut law = Law::new();
            let mut now = 0;
            for (gap, waited_us, is_last) in queue {
                now += gap;
                let waited = Duration::from_micros(waited_us);
                if law.sheds(&CONFIG, at(now), waited, is_last) {
                    prop_assert!(waited >= CONFIG.target && !is_last);
                }
            }
        }
    }
}
