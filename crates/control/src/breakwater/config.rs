//! Breakwater's settings and its profiles.
//!
//! `paper` follows the OSDI '20 text, `artifact` the authors' published code where it departs from
//! the text, `default` is ours. Every result says which one it used.

mod efficiency;

pub use efficiency::{Decrease, Efficiency, Judge, Span};

use crate::config_error::{ConfigError, above_zero, within};
use std::time::Duration;

/// All that one Breakwater server needs to know. Built by a profile, changed by overrides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Hand out credits at all; without them every client may send (`aqm-only`).
    pub credits: bool,
    /// What sizes the pool.
    pub law: Law,
    /// Queueing delay the pool is steered to, `d_t` (§3.2.1). Paper: 40 % of the SLO. Too low
    /// idles the server between bursts; too high leaves no room in the SLO for service and network.
    pub target_delay: Duration,
    /// Shed on arrival at this queueing delay or above (§3.2.3); paper: 2·d_t. `None` never sheds.
    pub drop_threshold: Option<Duration>,
    /// Refuse a request whose deadline cannot be met any more, on arrival and at start. Ours.
    pub deadline_aware: bool,
    /// The least share of each class's requests that is served while the cheaper classes come first; `None`:
    /// the AQM knows no classes. Ours. Too low starves what is dear; too high leaves nothing to choose.
    pub classes: Option<f64>,
    /// Additive increase per client, α (eq. 3); paper: 0.001.
    pub alpha: f64,
    /// Strength of the decrease, β (eq. 2); paper: 0.02. Too low lets queues stand; too high
    /// empties the server after each burst.
    pub beta: f64,
    /// The most that one update may take: the pool shrinks to this share at worst (eq. 2: 0.5).
    pub decrease_floor: f64,
    /// What becomes of changes below one credit.
    pub increase: Increase,
    /// What the regulator and the AQM take for the queueing delay.
    pub signal: Signal,
    /// When the pool may grow.
    pub growth: Growth,
    /// What the AQM lets wait, less what a request of each client, all at once, waits on average, is the clients' reserve.
    /// The pool grows unused while that holds what is not issued, and a queue as long is no reason for a pause. It falls to
    /// nothing as clients become many. Ours, for clients with many calls each, as those of a tier: without it calls expire
    /// behind each other's answers.
    pub reserve: bool,
    /// The share of requests that handlers may refuse, as where a tier behind them is overloaded. Beyond it what they
    /// refuse costs credits, and from half of it on the pool does not grow. `None`: it says nothing. Ours. Low holds back
    /// what the tier could serve; high leaves it to the tier to refuse most of the work. A tier that serves few of the
    /// methods takes credits from all.
    pub refusals: Option<f64>,
    /// How often the pool is updated.
    pub interval: Interval,
    /// Whether the loops of a server share one pool.
    pub pools: Pools,
    /// What counts against the pool.
    pub issued: Issued,
    /// Whether a session may lose its last credit when the pool is exceeded.
    pub last_credit: LastCredit,
    /// An answer asks its client to send nothing for this many times what a new request would wait beyond the
    /// target delay; paper: 0, never. Low leaves the queue to the pool, which can only take credits away;
    /// high lets few clients idle the server. What [`Config::reserve`] allows is no reason for a pause.
    pub pause: f64,
    /// The session that an explicit credit goes to.
    pub explicit: Explicit,
    /// How the server learns of demand (Fig. 8).
    pub demand: Demand,
    /// How far a client's claim of demand is believed.
    pub trust: Trust,
    /// A session is idle when it was silent for so long at least, and eight times as long as clients of its loop
    /// usually are. Its last credit then counts in neither pool nor issued until it is heard again. What it
    /// holds beyond that is taken back while another session wants credit and there is none. `None` counts the
    /// credits of silent clients for as long as they are connected. Too short takes windows from clients that pause;
    /// too long, and a crowd that falls silent starves the others.
    pub idle_after: Option<Duration>,
    /// Whose round trip paces the updates.
    pub round_trip: RoundTrip,
    /// Cut a window at once when a request reveals less demand (artifact).
    pub revoke_on_demand: bool,
    /// A session that has been without credit for this long gets one even from an empty pool, the longest stranded
    /// first. So none starves for ever. Sixteen get one at once, and from then on one for every 32 requests served.
    /// `None` trusts the pool to recover.
    pub starvation_limit: Option<Duration>,
    /// Largest window of a session; paper: no bound; artifact: 63.
    pub window_max: u32,
    /// Smallest pool of the whole server, at least the number of cores, or it could never recover. With a
    /// pool for each loop, each is at least its share of this, and at least one credit.
    pub pool_min: u32,
}

/// See [`Config::law`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Law {
    /// Queueing delay against a target (Breakwater eq. 1–3).
    Delay,
    /// What more credits bring in served requests (Protego, Algorithm 1).
    Efficiency(Efficiency),
}

/// See [`Config::increase`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Increase {
    /// A = max(α·n_c, 1), the paper's eq. 3.
    AtLeastOne,
    /// The fraction is carried to the next update and lost on a decrease (artifact).
    Carried,
    /// The pool is a real number, both ways. A gentle β works only so: rounded down, every decrease
    /// takes a whole credit at least, and the pool saws. It also loses what the server's queue sheds
    /// beyond 30 % of what comes, which eq. 2 is blind to.
    Fractional,
}

/// See [`Config::signal`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// How long the oldest waiting request has waited (paper, §3.1).
    OldestAge,
    /// How long a request that comes now will wait: those before it times the smoothed time between
    /// completions. It is known at once when a burst comes; the age of the oldest only when the
    /// burst has stood for that long.
    Predicted,
}

/// See [`Config::growth`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Growth {
    /// On every update below the target (paper).
    Always,
    /// Only while nearly all of the pool is out: an unused pool is an incast in waiting.
    /// The number is the share of the pool that must be issued. See also [`Config::reserve`].
    WhileUsed(f64),
}

/// See [`Config::interval`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    /// The measured network RTT, within these bounds (paper: every RTT).
    Measured {
        /// Never more often than this: a loopback RTT would update faster than requests finish.
        min: Duration,
        /// Never more seldom, so that a lying client cannot stop the loop.
        max: Duration,
    },
    /// The time in which every issued credit is used once, divided by sixteen, but no less than the network RTT;
    /// within the same bounds. Ours: a change of the pool shows in the queue only as clients use their credits. A
    /// pool of many idle credits must therefore be moved more slowly than a round trip, or it chases its own noise.
    Turnover {
        /// As above.
        min: Duration,
        /// As above.
        max: Duration,
    },
    /// A constant (artifact: 10 µs).
    Fixed(Duration),
}

/// See [`Config::pools`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pools {
    /// One for all; the slowest loop decides on its size (paper, §4). Right where cores take each other's
    /// work, as the paper's do. Loops that do not: the one that is idle for a moment takes the credits of
    /// the others.
    Shared,
    /// One for each loop, by that loop's own delay.
    PerLoop,
}

/// See [`Config::issued`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Issued {
    /// Credits that clients hold and have not used (paper, §4).
    Unused,
    /// Those and the requests they were used for until the answer leaves (artifact): the pool then
    /// bounds what can be in the server.
    Outstanding,
}

/// See [`Config::last_credit`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LastCredit {
    /// Taken like any other (eq. 6).
    Revoked,
    /// Kept unless one of its requests was shed since the last offer (artifact).
    KeptUnlessShed,
    /// Kept while the pool is exceeded by no more than this share. A session without credit costs
    /// a message to be woken, so the sawtooth of the pool should not drain sessions.
    KeptWithin(f64),
}

/// See [`Config::explicit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Explicit {
    /// Any stranded session (paper, §3.2.2).
    Random,
    /// The one stranded for the longest time (artifact).
    OldestFirst,
}

/// See [`Config::demand`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Learnt from requests only; credits are overcommitted (the paper's design).
    Speculated,
    /// Clients announce every change; no overcommitment (the alternative of Fig. 8).
    Synchronised,
}

/// See [`Config::trust`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// Whatever it claims, up to the largest window (paper).
    Claimed,
    /// What it used lately: its requests, each worth half after every second, one at least.
    Used,
}

/// See [`Config::round_trip`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundTrip {
    /// All readings of all sessions, smoothed (paper).
    Smoothed,
    /// The median of the sessions' own; and what a request still needs counts with its own client's.
    Median,
}

/// How often the pool is updated while all credits are used once. Fewer, and it follows a falling
/// demand too late; many more, and 1,000 clients cost a point or two of goodput (`docs/breakwater.md`, *Each taken back*).
const TURNOVER_UPDATES: u32 = 16;

/// What Protego leaves of the target delay for queues. The paper's own example (§5.1) takes the 99th percentiles of
/// the network (20 µs) and of the service time (46 µs) off its 200 µs.
const QUEUEING_BUDGET: f64 = 0.67;

impl Config {
    /// The paper's text: §3.2, §4, §5.1.
    #[must_use]
    pub fn paper(slo: Duration, cores: u32) -> Self {
        let target_delay = slo.mul_f64(0.4);
        Self {
            credits: true,
            law: Law::Delay,
            target_delay,
            drop_threshold: Some(2 * target_delay),
            deadline_aware: false,
            classes: None,
            alpha: 0.001,
            beta: 0.02,
            decrease_floor: 0.5,
            increase: Increase::AtLeastOne,
            signal: Signal::OldestAge,
            growth: Growth::Always,
            reserve: false,
            refusals: None,
            interval: Interval::Measured {
                min: Duration::from_micros(1),
                max: Duration::from_millis(100),
            },
            pools: Pools::Shared,
            issued: Issued::Unused,
            last_credit: LastCredit::Revoked,
            pause: 0.0,
            explicit: Explicit::Random,
            demand: Demand::Speculated,
            trust: Trust::Claimed,
            idle_after: None,
            round_trip: RoundTrip::Smoothed,
            revoke_on_demand: false,
            starvation_limit: None,
            window_max: u32::MAX / 2,
            pool_min: cores.max(1),
        }
    }

    /// The authors' published code (caladan, folder `breakwater`, as of the OSDI artifact).
    #[must_use]
    pub fn artifact(slo: Duration, cores: u32) -> Self {
        Self {
            increase: Increase::Carried,
            interval: Interval::Fixed(Duration::from_micros(10)),
            issued: Issued::Outstanding,
            last_credit: LastCredit::KeptUnlessShed,
            explicit: Explicit::OldestFirst,
            revoke_on_demand: true,
            window_max: 63,
            ..Self::paper(slo, cores)
        }
    }

    /// Ours; `docs/breakwater.md` says what each departure is worth.
    #[must_use]
    pub fn tuned(slo: Duration, cores: u32) -> Self {
        Self {
            target_delay: slo.mul_f64(0.3),
            drop_threshold: Some(slo.mul_f64(0.85)),
            deadline_aware: true,
            beta: 0.005,
            increase: Increase::Fractional,
            signal: Signal::Predicted,
            growth: Growth::WhileUsed(0.9),
            reserve: true,
            interval: Interval::Turnover {
                min: Duration::from_micros(20),
                // A hundred thousand clients to a core use their credits once in 1.5 s.
                max: Duration::from_millis(100),
            },
            pools: Pools::PerLoop,
            issued: Issued::Outstanding,
            last_credit: LastCredit::KeptWithin(0.05),
            pause: 5.0,
            explicit: Explicit::OldestFirst,
            trust: Trust::Used,
            idle_after: Some(Duration::from_millis(20)),
            round_trip: RoundTrip::Median,
            starvation_limit: Some(Duration::from_secs(1)),
            window_max: 64,
            ..Self::paper(slo, cores)
        }
    }

    /// Protego by the paper's text: Breakwater's pool and AQM under Algorithm 1.
    #[must_use]
    pub fn efficiency_paper(slo: Duration, cores: u32) -> Self {
        Self {
            law: Law::Efficiency(Efficiency::PAPER),
            drop_threshold: Some(slo.mul_f64(QUEUEING_BUDGET)),
            ..Self::paper(slo, cores)
        }
    }

    /// Protego as in the authors' published code.
    #[must_use]
    pub fn efficiency_artifact(slo: Duration, cores: u32) -> Self {
        Self {
            law: Law::Efficiency(Efficiency::ARTIFACT),
            drop_threshold: Some(slo.mul_f64(QUEUEING_BUDGET)),
            growth: Growth::WhileUsed(1.0),
            ..Self::artifact(slo, cores)
        }
    }

    /// Ours: Breakwater's default, which steers by delay, under an efficiency law that holds it back
    /// where delay is silent. Without a reserve: what locks refuse shrinks the pool, which would grow back unused between
    /// iterations.
    #[must_use]
    pub fn efficiency_tuned(slo: Duration, cores: u32) -> Self {
        let law = Law::Efficiency(Efficiency::TUNED);
        Self { law, reserve: false, ..Self::tuned(slo, cores) }
    }

    /// What each of `loops` pools goes by: its share of the server's bounds.
    pub(super) fn share_of(self, loops: u32) -> Self {
        let law = match self.law {
            Law::Delay => Law::Delay,
            Law::Efficiency(law) => {
                Law::Efficiency(Efficiency { pool_max: law.pool_max.div_ceil(loops), ..law })
            }
        };
        Self { law, pool_min: self.pool_min.div_ceil(loops), ..self }
    }

    /// The largest pool for so many sessions, whatever its smallest: what all together could hold, or less by the law's own bound.
    pub(super) fn pool_most(&self, sessions: u32) -> u32 {
        let crowd = sessions.saturating_mul(self.window_max);
        match self.law {
            Law::Delay => crowd,
            Law::Efficiency(law) => crowd.min(law.pool_max),
        }
    }

    /// The update interval for a measured `rtt` and `turnover` (each zero while unknown).
    #[must_use]
    pub fn interval_for(&self, rtt: Duration, turnover: Duration) -> Duration {
        match self.interval {
            Interval::Fixed(interval) => interval,
            Interval::Measured { min, max } => rtt.clamp(min, max),
            Interval::Turnover { min, max } => rtt.max(turnover / TURNOVER_UPDATES).clamp(min, max),
        }
    }

    /// Why these settings cannot work, if they cannot.
    ///
    /// # Errors
    /// The first setting at fault.
    pub fn check(&self) -> Result<(), ConfigError> {
        within("alpha", self.alpha, 0.0..=1.0)?;
        within("beta", self.beta, 0.0..=1.0)?;
        within("decrease_floor", self.decrease_floor, 0.0..=1.0)?;
        if let Law::Efficiency(law) = self.law {
            law.check()?;
        }
        within("pause", self.pause, 0.0..=100.0)?;
        if let Some(tolerated) = self.refusals {
            within("refusals", tolerated, 0.0..=1.0)?;
            if self.increase != Increase::Fractional {
                // Whole credits lose no share of one; see [`Increase`].
                return Err(ConfigError::new(
                    "refusals",
                    tolerated,
                    "off, or increase = fractional",
                ));
            }
        }
        if let Some(least) = self.classes {
            within("classes", least, 0.0..=1.0)?;
        }
        above_zero("target_delay", self.target_delay)?;
        if let Some(threshold) = self.drop_threshold {
            // No delay at all would be too long, and all be shed for ever.
            above_zero("drop_threshold", threshold)?;
        }
        if let Growth::WhileUsed(share) = self.growth {
            // More than all of it is never issued for long.
            within("growth", share, 0.0..=1.0)?;
        }
        for (name, credits) in [("window_max", self.window_max), ("pool_min", self.pool_min)] {
            if credits == 0 {
                // No client could ever send, or the pool would hold nothing for one that comes.
                return Err(ConfigError::new(name, 0, "at least 1"));
            }
        }
        if let Interval::Fixed(interval) = self.interval {
            // A loop that waits for the next update would never sleep.
            above_zero("interval", interval)?;
        }
        if let Interval::Measured { min, max } | Interval::Turnover { min, max } = self.interval
            && (min > max || min.is_zero())
        {
            let found = format!("{min:?} to {max:?}");
            return Err(ConfigError::new("interval", found, "0 < min ≤ max"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
