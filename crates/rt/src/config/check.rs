//! Which configurations cannot work.

use super::{Completion, KeepAlive, LockRules, Placement, ServerConfig};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;
use tailwater_control::Admission;
use tailwater_wire::Limits;

/// Connections and tasks are numbered by 32 bits, of which a loop needs a few for itself.
const NUMBERED_MAX: usize = 1 << 24;
/// Faster than any client may be expected to read or write all the time: a gibibyte a second.
const RATE_MAX: u64 = 1 << 30;

impl ServerConfig {
    /// Why it cannot run like this, if it cannot.
    ///
    /// # Errors
    /// A sentence that names the field, what was found and what is needed.
    pub fn check(&self) -> Result<(), String> {
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
    /// A sentence that names both numbers.
    pub(crate) fn check_controller(&self, admission: &dyn Admission) -> Result<(), String> {
        match admission.shards() {
            Some(shards) if shards < self.loops => Err(format!(
                "loops is {}, and the controller was built for {shards}; build it for {} or more",
                self.loops, self.loops
            )),
            _ => Ok(()),
        }
    }

    fn check_threads(&self) -> Result<(), String> {
        within("loops", self.loops, 1..=1_024)?;
        if let Placement::Workers(count) = self.model.placement {
            within("model: the number of workers", count, 1..=Placement::WORKERS_MAX)?;
        }
        if let Some(most) = self.workers_max {
            within("workers_max", most, self.model.workers()..=Placement::WORKERS_MAX)?;
        }
        let (crew, most) = (self.model.completion.crew(), Completion::CREW_MAX);
        if matches!(self.model.completion, Completion::Responders(_) | Completion::ForkJoin(_)) {
            within("model: the number of threads for calls", crew, 1..=most)?;
        }
        if let Some(wanted) = self.crew_max {
            within("crew_max", wanted, crew..=most)?;
        }
        if self.cores.len() > self.loops {
            let (cores, loops) = (self.cores.len(), self.loops);
            return Err(format!("{cores} cores are named for {loops} loops; one each is the most"));
        }
        Ok(())
    }

    fn check_tiers(&self) -> Result<(), String> {
        for (index, tier) in self.tiers.iter().enumerate() {
            tier.check()?;
            if self.tiers[..index].iter().any(|other| other.name() == tier.name()) {
                return Err(format!(
                    "two tiers are called {}; handlers could reach one only",
                    tier.name()
                ));
            }
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), String> {
        within("connections_max", self.connections_max, 1..=NUMBERED_MAX)?;
        within("tasks_max", self.tasks_max, 1..=NUMBERED_MAX)?;
        within("queue_max", self.queue_max, 1..=usize::MAX)?;
        within("pending_max", self.pending_max, 1..=u32::MAX as usize)?;
        let tasks_of_one = self.tasks_per_connection_max.unwrap_or(1);
        within("tasks_per_connection_max", tasks_of_one, 1..=usize::MAX)
    }

    /// Each loop has an equal share of what is bounded in all, and one frame or one full connection must
    /// fit into it.
    fn check_memory(&self) -> Result<(), String> {
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

    fn check_times(&self) -> Result<(), String> {
        let handler_max = self.handler_max.unwrap_or(Duration::MAX);
        for (name, time, usual) in [
            ("drain_every", self.drain_every, "50 µs"),
            ("patience", self.patience, "10 s"),
            ("ping_after", self.ping_after, "30 s"),
            ("handler_max", handler_max, "10 s"),
        ] {
            if time.is_zero() {
                return Err(format!("{name} is zero; a usual value is {usual}"));
            }
        }
        within("rate_min", self.rate_min, 1..=RATE_MAX)
    }
}

impl LockRules {
    /// Beyond an hour a unit was mistaken, or `Policy::Plain` is meant.
    fn check(&self) -> Result<(), String> {
        let timed =
            if let super::Policy::Timed(after) = self.policy { after } else { Duration::ZERO };
        let budget = self.budget.unwrap_or(Duration::ZERO);
        for (name, time) in [("policy", timed), ("target", self.target), ("budget", budget)] {
            if time > Duration::from_secs(3_600) {
                return Err(format!("locks: {name} is {time:?}; an hour at most is needed"));
            }
        }
        Ok(())
    }
}

fn within<T: PartialOrd + Display>(
    name: &str,
    found: T,
    range: RangeInclusive<T>,
) -> Result<(), String> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(format!("{name} is {found}; {} to {} is needed", range.start(), range.end()))
}

fn share(name: &str, total: usize, loops: usize, of: &str, least: usize) -> Result<(), String> {
    if total / loops >= least {
        return Ok(());
    }
    let needed = least.saturating_mul(loops);
    Err(format!("{name} is {total}; {needed} is needed for {loops} loops and a {of} of {least}"))
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
            assert!(why.contains(name) && why.contains(" is "), "{name}: {why}");
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
