//! Which configurations cannot work.

use super::{Completion, KeepAlive, LockRules, Placement, ServerConfig};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;
use tailwater_control::{Admission, ConfigError};
use tailwater_wire::Limits;

/// Connections and tasks are numbered by 32 bits, of which a loop needs a few for itself.
const NUMBERED_MAX: usize = 1 << 24;
/// Faster than any client may be expected to read or write all the time: a gibibyte a second.
const RATE_MAX: u64 = 1 << 30;

impl ServerConfig {
    /// Whether it can run like this.
    ///
    /// # Errors
    /// The field that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_threads()?;
        self.check_counts()?;
        self.check_memory()?;
        self.check_times()?;
        self.check_tiers()?;
        self.locks.as_ref().map_or(Ok(()), LockRules::check)?;
        self.sockets.check()?;
        self.keep_alive.as_ref().map_or(Ok(()), KeepAlive::check)
    }

    /// Whether the controller was built for as many loops.
    ///
    /// # Errors
    /// Both numbers, where it was built for fewer.
    pub(crate) fn check_controller(&self, admission: &dyn Admission) -> Result<(), ConfigError> {
        let loops = self.loops;
        match admission.shards() {
            Some(shards) if shards < loops => {
                let found = format!("{loops}, and the controller was built for {shards}");
                let needed = format!("a controller for {loops} or more");
                Err(ConfigError::new("loops", found, needed))
            }
            _ => Ok(()),
        }
    }

    fn check_threads(&self) -> Result<(), ConfigError> {
        let of_model = |error: ConfigError| error.at("model");
        within("loops", self.loops, 1..=1_024)?;
        if let Placement::Workers(count) = self.model.placement {
            within("workers", count, 1..=Placement::WORKERS_MAX).map_err(of_model)?;
        }
        if let Some(most) = self.workers_max {
            within("workers_max", most, self.model.workers()..=Placement::WORKERS_MAX)?;
        }
        let (crew, most) = (self.model.completion.crew(), Completion::CREW_MAX);
        if matches!(self.model.completion, Completion::Responders(_) | Completion::ForkJoin(_)) {
            within("threads for calls", crew, 1..=most).map_err(of_model)?;
        }
        if let Some(wanted) = self.crew_max {
            within("crew_max", wanted, crew..=most)?;
        }
        if self.cores.len() > self.loops {
            let found = format!("a list of {}", self.cores.len());
            let needed = format!("one of {} at most, as many as loops,", self.loops);
            return Err(ConfigError::new("cores", found, needed));
        }
        Ok(())
    }

    fn check_tiers(&self) -> Result<(), ConfigError> {
        for (index, tier) in self.tiers.iter().enumerate() {
            tier.check()?;
            if self.tiers[..index].iter().any(|other| other.name() == tier.name()) {
                let found = format!("{} for two of them", tier.name());
                let needed = "one for each, by which handlers reach it,";
                return Err(ConfigError::new("name", found, needed).at("tiers"));
            }
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), ConfigError> {
        within("connections_max", self.connections_max, 1..=NUMBERED_MAX)?;
        within("tasks_max", self.tasks_max, 1..=NUMBERED_MAX)?;
        within("queue_max", self.queue_max, 1..=usize::MAX)?;
        within("pending_max", self.pending_max, 1..=u32::MAX as usize)?;
        let tasks_of_one = self.tasks_per_connection_max.unwrap_or(1);
        within("tasks_per_connection_max", tasks_of_one, 1..=usize::MAX)
    }

    /// Each loop has an equal share of what is bounded in all, and one frame or one full connection must
    /// fit into it.
    fn check_memory(&self) -> Result<(), ConfigError> {
        within("frame_max", self.frame_max, Limits::FLOOR..=Limits::CEILING)?;
        within("pending_bytes_max", self.pending_bytes_max, 1..=usize::MAX)?;
        within("output_high", self.output_high, 1..=usize::MAX)?;
        let frame = self.frame_max as usize;
        share("input_total_max", self.input_total_max, self.loops, "frame_max", frame)?;
        share(
            "output_total_max",
            self.output_total_max,
            self.loops,
            "output_high",
            self.output_high,
        )
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let handler_max = self.handler_max.unwrap_or(Duration::MAX);
        for (name, time, usual) in [
            ("drain_every", self.drain_every, "50 µs"),
            ("patience", self.patience, "10 s"),
            ("ping_after", self.ping_after, "30 s"),
            ("handler_max", handler_max, "10 s"),
        ] {
            if time.is_zero() {
                let needed = format!("a time above zero, such as {usual},");
                return Err(ConfigError::new(name, "zero", needed));
            }
        }
        within("rate_min", self.rate_min, 1..=RATE_MAX)
    }
}

impl LockRules {
    /// Beyond an hour a unit was mistaken, or `Policy::Plain` is meant.
    fn check(&self) -> Result<(), ConfigError> {
        let timed =
            if let super::Policy::Timed(after) = self.policy { after } else { Duration::ZERO };
        let budget = self.budget.unwrap_or(Duration::ZERO);
        for (name, time) in [("policy", timed), ("target", self.target), ("budget", budget)] {
            if time > Duration::from_secs(3_600) {
                let found = format!("{time:?}");
                return Err(ConfigError::new(name, found, "an hour at most").at("locks"));
            }
        }
        Ok(())
    }
}

fn within<T: PartialOrd + Display>(
    name: &'static str,
    found: T,
    range: RangeInclusive<T>,
) -> Result<(), ConfigError> {
    if range.contains(&found) {
        return Ok(());
    }
    let needed = format!("a number from {} to {}", range.start(), range.end());
    Err(ConfigError::new(name, found, needed))
}

fn share(
    name: &'static str,
    total: usize,
    loops: usize,
    of: &str,
    least: usize,
) -> Result<(), ConfigError> {
    if total / loops >= least {
        return Ok(());
    }
    let most = least.saturating_mul(loops);
    let needed = format!("{most} for {loops} loops and a {of} of {least}");
    Err(ConfigError::new(name, total, needed))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn default() -> ServerConfig {
        ServerConfig::default()
    }

    /// Each with the word that its refusal must name.
    fn senseless() -> Vec<(&'static str, ServerConfig)> {
        let zero = Duration::ZERO;
        vec![
            ("loops", ServerConfig { loops: 0, ..default() }),
            ("loops", ServerConfig { loops: usize::MAX, ..default() }),
            ("cores", ServerConfig { cores: vec![0, 1], ..default() }),
            ("workers", ServerConfig { model: Placement::Workers(0).into(), ..default() }),
            ("workers", ServerConfig { model: Placement::Workers(usize::MAX).into(), ..default() }),
            ("workers_max", ServerConfig { workers_max: Some(usize::MAX), ..default() }),
            (
                "workers_max",
                ServerConfig {
                    model: Placement::Workers(2).into(),
                    workers_max: Some(1),
                    ..default()
                },
            ),
            ("crew_max", ServerConfig { crew_max: Some(usize::MAX), ..default() }),
            (
                "crew_max",
                ServerConfig {
                    model: Completion::Responders(2).into(),
                    crew_max: Some(1),
                    ..default()
                },
            ),
            (
                "threads for calls",
                ServerConfig { model: Completion::ForkJoin(0).into(), ..default() },
            ),
            ("connections_max", ServerConfig { connections_max: 0, ..default() }),
            ("connections_max", ServerConfig { connections_max: usize::MAX, ..default() }),
            ("tasks_max", ServerConfig { tasks_max: 0, ..default() }),
            ("tasks_max", ServerConfig { tasks_max: usize::MAX, ..default() }),
            ("queue_max", ServerConfig { queue_max: 0, ..default() }),
            ("pending_max", ServerConfig { pending_max: 0, ..default() }),
            ("pending_max", ServerConfig { pending_max: usize::MAX, ..default() }),
            ("pending_bytes_max", ServerConfig { pending_bytes_max: 0, ..default() }),
            (
                "tasks_per_connection_max",
                ServerConfig { tasks_per_connection_max: Some(0), ..default() },
            ),
            ("frame_max", ServerConfig { frame_max: 0, ..default() }),
            ("frame_max", ServerConfig { frame_max: 4_095, ..default() }),
            ("frame_max", ServerConfig { frame_max: u32::MAX, ..default() }),
            ("output_high", ServerConfig { output_high: 0, ..default() }),
            ("output_total_max", ServerConfig { output_high: usize::MAX, ..default() }),
            ("output_total_max", ServerConfig { output_total_max: 0, ..default() }),
            ("input_total_max", ServerConfig { input_total_max: 0, ..default() }),
            ("input_total_max", ServerConfig { input_total_max: (1 << 20) - 1, ..default() }),
            ("input_total_max", ServerConfig { loops: 257, ..default() }),
            ("drain_every", ServerConfig { drain_every: zero, ..default() }),
            ("patience", ServerConfig { patience: zero, ..default() }),
            ("ping_after", ServerConfig { ping_after: zero, ..default() }),
            ("handler_max", ServerConfig { handler_max: Some(zero), ..default() }),
            ("rate_min", ServerConfig { rate_min: 0, ..default() }),
            ("rate_min", ServerConfig { rate_min: u64::MAX, ..default() }),
        ]
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        for (name, config) in senseless() {
            let why = config.check().expect_err(name);
            assert_eq!(why.setting, name, "{why}");
        }
    }

    #[test]
    fn the_ends_of_each_range_can_work() {
        for config in [
            default(),
            ServerConfig {
                loops: 1_024,
                input_total_max: 1 << 30,
                output_total_max: 1 << 30,
                ..default()
            },
            ServerConfig {
                connections_max: 1,
                tasks_max: 1,
                queue_max: 1,
                pending_max: 1,
                ..default()
            },
            ServerConfig { pending_bytes_max: 1, output_high: 1, rate_min: 1, ..default() },
            ServerConfig { frame_max: 4_096, input_total_max: 4_096, ..default() },
            ServerConfig { frame_max: Limits::CEILING, ..default() },
            ServerConfig { patience: Duration::MAX, ping_after: Duration::MAX, ..default() },
            ServerConfig {
                handler_max: Some(Duration::MAX),
                drain_every: Duration::MAX,
                ..default()
            },
            ServerConfig { tasks_per_connection_max: Some(usize::MAX), ..default() },
        ] {
            assert_eq!(config.check(), Ok(()), "{config:?}");
        }
    }
}
