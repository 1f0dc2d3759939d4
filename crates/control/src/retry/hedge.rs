//! A second try beside the first, where that takes long.
//!
//! Dean and Barroso, The Tail at Scale (CACM 56(2), 2013, "Hedged requests"): the second copy leaves once the first has
//! been out for longer than 95 % of the calls take. That limits the further load to some 5 %. Their limit is only as good
//! as the percentile: when a server slows down, more calls are late than that. Here a budget bounds it in any case.

use super::budget::Budget;
use crate::asqm::Quantile;
use crate::config_error::{ConfigError, above_zero, within};
use std::ops::Add;
use std::time::Duration;
use tailwater_core::{Instant, Ratio};

/// When a call that may be carried out twice is tried at a second replica, though the first has not failed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HedgeConfig {
    /// After how long; default the 95th percentile.
    pub after: HedgeAfter,
    /// Second tries for each call; default 0.05. At 0 only the burst is left; at 1 a slow replica's load comes twice.
    pub share: Ratio,
    /// Second tries that may come at once, and all that is ever saved up; default 10. At 0 there is none.
    pub burst: u32,
}

/// How long the first try is waited for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum HedgeAfter {
    /// For this long. Below the median most calls would be tried twice, as far as the budget goes.
    Delay(Duration),
    /// For as long as this share of the calls took, above 0 and below 1, by those that one thread made to one shard.
    /// Until 128 of them have ended there is no second try.
    Quantile(Ratio),
}

impl Default for HedgeConfig {
    fn default() -> Self {
        Self { after: HedgeAfter::Quantile(Ratio(0.95)), share: Ratio(0.05), burst: 10 }
    }
}

impl HedgeConfig {
    /// Whether it can work.
    ///
    /// # Errors
    /// The field that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.after {
            // It would double every call.
            HedgeAfter::Delay(delay) => above_zero("hedge.after", delay)?,
            HedgeAfter::Quantile(Ratio(share)) if !(share > 0.0 && share < 1.0) => {
                let found = format!("the quantile {share}");
                return Err(ConfigError::new("hedge.after", found, "one between 0 and 1"));
            }
            HedgeAfter::Quantile(_) => {}
        }
        within("hedge.share", self.share.0, 0.0..=1.0)
    }
}

/// What was decided so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HedgeCounts {
    /// Second tries.
    pub sent: u64,
    /// Of these, those that were answered while the first was still out. One that goes on alone, its first having failed,
    /// is not among them.
    pub won: u64,
    /// Calls that were late while the budget was spent.
    pub over_budget: u64,
}

/// Of several clients together.
impl Add for HedgeCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            won: self.won + other.won,
            over_budget: self.over_budget + other.over_budget,
        }
    }
}

/// One client's second tries: when they are due, and what they may cost. [`Replicas`](super::Replicas) has one. A driver
/// that chooses replicas itself, as by the key of a call, uses it alone.
#[derive(Clone, Debug)]
pub struct Hedges {
    budget: Budget,
    after: After,
    counts: HedgeCounts,
}

#[derive(Clone, Debug)]
enum After {
    Delay(Duration),
    Seen(Quantile),
}

impl Hedges {
    /// None so far.
    #[must_use]
    pub fn new(config: HedgeConfig) -> Self {
        let after = match config.after {
            HedgeAfter::Delay(delay) => After::Delay(delay),
            HedgeAfter::Quantile(share) => After::Seen(Quantile::new(share.0)),
        };
        let budget = Budget::new(config.share, config.burst);
        Self { budget, after, counts: HedgeCounts::default() }
    }

    /// A call that may be carried out twice: how long its first try is waited for, if that is known.
    pub fn on_call(&mut self) -> Option<Duration> {
        self.budget.on_call();
        match &self.after {
            After::Delay(delay) => Some(*delay),
            After::Seen(quantile) => quantile.value(),
        }
    }

    /// Takes from the budget what a second try costs, if it is there. To be asked where there is a replica for it.
    pub const fn take(&mut self) -> bool {
        let has = self.budget.take();
        match has {
            true => self.counts.sent += 1,
            false => self.counts.over_budget += 1,
        }
        has
    }

    /// A second try was answered while the first was still out.
    pub const fn on_won(&mut self) {
        self.counts.won += 1;
    }

    /// What was decided so far.
    #[must_use]
    pub const fn counts(&self) -> HedgeCounts {
        self.counts
    }

    /// A first try took so long, or longer.
    pub fn on_end(&mut self, took: Duration) {
        if let After::Seen(quantile) = &mut self.after {
            quantile.record(took);
        }
    }
}

/// When a call is to be looked at as late. All drivers of hedged calls ask here: on sockets, in simulation, and both of the suite's
/// router.
///
/// To a caller that stood still all its calls are late at once, and their answers may be there unread. One that is looked at too late
/// by more than its wait is waited for anew. So a stop is followed by no burst of second tries for calls that were answered
/// meanwhile. That happens once to a call: to a caller whose turns are always so long it would happen without end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lateness {
    at: Instant,
    wait: Duration,
    is_anew: bool,
}

impl Lateness {
    /// Of a call that is made now, and whose first try is waited for so long.
    #[must_use]
    pub fn new(now: Instant, wait: Duration) -> Self {
        Self { at: now + wait, wait, is_anew: false }
    }

    /// When to look.
    #[must_use]
    pub const fn at(self) -> Instant {
        self.at
    }

    /// It is looked at now, then or later. `None`: it is time for its second try. Else it is to be looked at again at the given time.
    pub fn look(&mut self, now: Instant) -> Option<Instant> {
        if self.is_anew || now.since(self.at) <= self.wait {
            return None;
        }
        (self.at, self.is_anew) = (now + self.wait, true);
        Some(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Load, Replicas, RetryConfig};
    use super::*;
    use tailwater_core::Rng;

    fn idle(_: usize) -> Load {
        Load::default()
    }

    fn replicas(config: HedgeConfig, count: usize) -> Replicas {
        Replicas::new(RetryConfig::default(), count, 0).hedged(config)
    }

    fn after(us: u64) -> HedgeConfig {
        let after = HedgeAfter::Delay(Duration::from_micros(us));
        HedgeConfig { after, ..HedgeConfig::default() }
    }

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    #[test]
    fn without_being_asked_for_there_is_no_second_try() {
        let mut replicas = Replicas::new(RetryConfig::default(), 2, 0);
        assert!(!replicas.hedges());
        assert_eq!(replicas.hedge_after(), None);
        let (_, mut tries) = replicas.first(idle);
        assert_eq!(replicas.hedge(at(0), None, &mut tries, idle), None);
    }

    #[test]
    fn the_second_try_goes_to_a_replica_that_is_up_not_paused_and_not_seen() {
        let mut replicas = replicas(after(5), 3);
        assert_eq!(replicas.hedge_after(), Some(Duration::from_micros(5)));
        let (first, tries) = replicas.first(idle);
        assert_eq!(first, 0);
        let mut again = tries;
        assert_eq!(replicas.hedge(at(0), None, &mut again, idle), Some(1));
        assert_eq!(replicas.hedge(at(0), None, &mut again, idle), Some(2));
        assert_eq!(replicas.hedge(at(0), None, &mut again, idle), None, "it has seen all");
        replicas.set_up(1, false);
        assert_eq!(replicas.hedge(at(0), None, &mut tries.clone(), idle), Some(2));
        let paused = |_| Load { is_paused: true, ..Load::default() };
        assert_eq!(replicas.hedge(at(0), None, &mut tries.clone(), paused), None);
        assert_eq!(replicas.hedge(at(9), Some(at(9)), &mut tries.clone(), idle), None, "too late");
        assert_eq!(replicas.hedge_counts().sent, 3);
    }

    #[test]
    fn where_the_next_is_not_open_the_second_try_goes_to_one_that_is() {
        let mut replicas = replicas(after(5), 3);
        let (_, tries) = replicas.first(idle);
        let paused = |replica| Load { is_paused: replica == 1, ..Load::default() };
        assert_eq!(replicas.hedge(at(0), None, &mut tries.clone(), paused), Some(2));
        let waiting = |replica| Load { has_waiting: replica == 1, ..Load::default() };
        assert_eq!(replicas.hedge(at(0), None, &mut tries.clone(), waiting), Some(2));
        let all = |_| Load { has_waiting: true, ..Load::default() };
        assert_eq!(replicas.hedge(at(0), None, &mut tries.clone(), all), None);
        let HedgeCounts { sent, over_budget, .. } = replicas.hedge_counts();
        assert_eq!((sent, over_budget), (2, 0));
    }

    #[test]
    fn a_replica_that_is_alone_has_no_second_tries() {
        assert!(!replicas(after(5), 1).hedges());
        assert!(replicas(after(5), 2).hedges());
    }

    #[test]
    fn second_tries_are_a_share_of_the_calls_once_the_burst_is_spent() {
        let mut replicas = replicas(after(5), 2);
        let mut sent = 0;
        for _ in 0..10_000 {
            let _ = replicas.hedge_after();
            let (_, mut tries) = replicas.first(idle);
            sent += u64::from(replicas.hedge(at(0), None, &mut tries, idle).is_some());
        }
        assert!((500..=510).contains(&sent), "{sent}: a twentieth, and a burst of ten");
        assert_eq!(
            replicas.hedge_counts(),
            HedgeCounts { sent, won: 0, over_budget: 10_000 - sent }
        );
    }

    #[test]
    fn what_is_looked_at_too_late_by_more_than_its_wait_is_waited_for_anew_once() {
        let wait = Duration::from_micros(5);
        let new = Lateness::new(at(2), wait);
        assert_eq!(new.at(), at(7));
        for (now, again) in [(7, None), (12, None), (13, Some(at(18))), (900, Some(at(905)))] {
            let mut late = new;
            assert_eq!(late.look(at(now)), again, "{now} µs");
            assert_eq!(late.at(), again.unwrap_or(at(7)));
            assert_eq!(late.look(at(9_000)), if again.is_some() { None } else { Some(at(9_005)) });
        }
    }

    #[test]
    fn the_quantile_of_what_was_seen_follows_the_calls() {
        let mut replicas = replicas(HedgeConfig::default(), 2);
        let mut rng = Rng::from_seed(1);
        for call in 0..20_000 {
            assert_eq!(replicas.hedge_after().is_some(), call >= 128, "call {call}");
            replicas.on_hedgeable_end(Duration::from_nanos(rng.exponential(10_000.0) as u64));
        }
        // ln 20 = 2.996 means.
        let found = replicas.hedge_after().expect("it is known").as_nanos() as f64 / 29_957.0;
        assert!((0.9..1.15).contains(&found), "{found} of the true quantile");
    }

    #[test]
    fn what_cannot_work_is_named() {
        assert_eq!(HedgeConfig::default().check(), Ok(()));
        let quantile = |share| HedgeAfter::Quantile(Ratio(share));
        let wrong = [
            (after(0), "hedge.after is zero"),
            (HedgeConfig { after: quantile(1.0), ..after(1) }, "hedge.after is the quantile 1"),
            (HedgeConfig { after: quantile(0.0), ..after(1) }, "hedge.after is the quantile 0"),
            (
                HedgeConfig { after: quantile(f64::NAN), ..after(1) },
                "hedge.after is the quantile NaN",
            ),
            (HedgeConfig { share: Ratio(1.5), ..after(1) }, "hedge.share is 1.5"),
        ];
        for (config, begins) in wrong {
            let error = config.check().expect_err(begins).to_string();
            assert!(error.starts_with(begins), "{error}");
        }
    }

    #[test]
    fn second_tries_that_won_are_counted() {
        let mut replicas = replicas(after(5), 2);
        (0..2).for_each(|_| replicas.on_hedge_won());
        assert_eq!(replicas.hedge_counts(), HedgeCounts { won: 2, ..HedgeCounts::default() });
    }
}
