//! Stalls of a machine: times in which a core does nothing for the server, because the host or another
//! program has it.
//!
//! `tailwater probe` measures them and writes what a scenario takes. They are played as they were
//! measured, by rate and length; no number here is fitted to a result of the server.

use super::item::Item;
use std::fmt;
use std::time::Duration;
use tailwater_core::duration::format_duration;
use tailwater_core::{Nanos, Rng};

/// All stalls of one core; every core of a node has its own, independent of the others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stalls(Vec<StallKind>);

/// Stalls of similar length. Short ones are frequent and long ones rare, so a machine has several kinds.
#[derive(Clone, PartialEq, Debug)]
pub struct StallKind {
    /// How many begin per second of one core.
    pub per_second: f64,
    /// Lengths, each as likely as the others; a length that stands twice is twice as likely.
    pub lengths: Vec<Duration>,
}

/// Upper ends of the kinds into which observed stalls are divided: half a decade each.
const KIND_ENDS: [Duration; 7] = [
    Duration::from_micros(30),
    Duration::from_micros(100),
    Duration::from_micros(300),
    Duration::from_millis(1),
    Duration::from_millis(3),
    Duration::from_millis(10),
    Duration::MAX,
];
/// Lengths that are written of a kind; more say nothing that a run could show.
const LENGTHS_OF_KIND: usize = 16;

impl Stalls {
    /// What was observed of cores that were watched for `watched`, added up.
    ///
    /// A kind with more than sixteen stalls keeps the means of sixteen equal parts, in order of length:
    /// rate and total time stay as they were.
    #[must_use]
    pub fn observed(mut lengths: Vec<Duration>, watched: Duration) -> Self {
        lengths.sort_unstable();
        let mut kinds = Vec::new();
        let mut rest = &lengths[..];
        for end in KIND_ENDS {
            let (kind, longer) = rest.split_at(rest.partition_point(|length| *length < end));
            rest = longer;
            if !kind.is_empty() && !watched.is_zero() {
                let per_second = kind.len() as f64 / watched.as_secs_f64();
                // Six digits: more than any measurement has, and short to write.
                let per_second = (per_second * 1e3).round() / 1e3;
                kinds.push(StallKind { per_second, lengths: parts(kind) });
            }
        }
        Self(kinds)
    }

    /// The kinds; none where the machine does not stall.
    #[must_use]
    pub fn kinds(&self) -> &[StallKind] {
        &self.0
    }

    /// How many begin per second of one core.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.0.iter().map(|kind| kind.per_second).sum()
    }

    /// The share of a core's time that they take.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.0.iter().map(|kind| kind.per_second * kind.mean().as_secs_f64()).sum()
    }

    /// The length of the next one; zero where there is none.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        let mut left = rng.unit() * self.per_second();
        for kind in &self.0 {
            left -= kind.per_second;
            if left < 0.0 {
                return kind.lengths[rng.below(kind.lengths.len() as u32) as usize];
            }
        }
        self.0.last().map_or(Duration::ZERO, |kind| kind.lengths[0])
    }

    /// From the end of one to the beginning of the next; `None` where there is none. With the lengths
    /// it makes up the measured rate exactly.
    pub fn draw_gap(&self, rng: &mut Rng) -> Option<Duration> {
        let per_second = self.per_second();
        (per_second > 0.0).then(|| {
            let mean_ns = (1.0 - self.share()).max(0.0) / per_second * 1e9;
            Duration::from_nanos(rng.exponential(mean_ns) as u64)
        })
    }

    pub(super) fn read(item: &Item<'_>) -> Self {
        let kinds = item.one_or_list();
        let stalls = Self(kinds.iter().filter_map(StallKind::read).collect());
        if stalls.share() >= 1.0 {
            let percent = 100.0 * stalls.share();
            item.problem(format!(
                "{} takes {percent:.0} % of a core's time; less than 100 % is needed",
                item.name
            ));
        }
        stalls
    }
}

impl From<StallKind> for Stalls {
    /// Of one kind only.
    fn from(kind: StallKind) -> Self {
        Self(vec![kind])
    }
}

/// Equal parts of sorted lengths, each by its mean.
fn parts(sorted: &[Duration]) -> Vec<Duration> {
    let count = sorted.len().min(LENGTHS_OF_KIND);
    let mean = |part: usize| {
        let part = &sorted[part * sorted.len() / count..(part + 1) * sorted.len() / count];
        let total_ns: u64 = part.iter().map(|length| length.nanos()).sum();
        // Whole microseconds are what a person can read; the clock's own steps are finer.
        let mean_us = (total_ns as f64 / part.len() as f64 / 1e3).round().max(1.0);
        Duration::from_micros(mean_us as u64)
    };
    (0..count).map(mean).collect()
}

impl StallKind {
    /// Of all its lengths.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let total: Duration = self.lengths.iter().sum();
        total / (self.lengths.len().max(1) as u32)
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let section = item.section()?;
        let per_second = section.needed("per_second", Item::number)?;
        let lengths = section.needed("lengths", |item| {
            item.one_or_list().iter().filter_map(Item::duration).collect::<Vec<_>>()
        });
        (!lengths.is_empty()).then_some(Self { per_second, lengths })
    }
}

impl fmt::Display for Stalls {
    /// As a scenario takes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |kind: &StallKind| {
            let lengths: Vec<String> = kind
                .lengths
                .iter()
                .map(|length| format!("\"{}\"", format_duration(*length)))
                .collect();
            format!("{{ per_second = {}, lengths = [{}] }}", kind.per_second, lengths.join(", "))
        };
        match &self.0[..] {
            [] => f.write_str("stalls = { per_second = 0, lengths = [\"1ms\"] }"),
            [only] => write!(f, "stalls = {}", kind(only)),
            kinds => {
                let kinds: Vec<String> = kinds.iter().map(kind).collect();
                write!(f, "stalls = [\n    {},\n]", kinds.join(",\n    "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    const LEAST: &str = r#"
slo = "400us"
server.service = { distribution = "exponential", mean = "10us" }
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
[sim]
"#;

    fn read(said: &str) -> Result<Stalls, String> {
        let parsed = Scenario::parse("x.toml", &format!("{LEAST}{said}"));
        parsed.map(|scenario| scenario.sim.stalls).map_err(|error| error.to_string())
    }

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_scenario_reads_back_what_the_probe_writes() {
        let mut lengths: Vec<Duration> = (0..1_000).map(|n| us(20 + n % 9)).collect();
        lengths.extend((0..50).map(|n| us(1_500 + 60 * n)));
        let observed = Stalls::observed(lengths, Duration::from_secs(10));
        assert_eq!(observed.kinds().len(), 3, "{observed}");
        assert_eq!(read(&observed.to_string()), Ok(observed));
        let calm = Stalls::observed(Vec::new(), Duration::from_secs(1));
        let read_back = read(&calm.to_string()).unwrap();
        assert_eq!((read_back.per_second(), read_back.share()), (0.0, 0.0));
    }

    #[test]
    fn parts_keep_rate_and_total_time() {
        let lengths: Vec<Duration> = (0..1_000).map(|n| us(1_000 + n)).collect();
        let total: Duration = lengths.iter().sum();
        let observed = Stalls::observed(lengths, Duration::from_secs(100));
        let share = total.as_secs_f64() / 100.0;
        assert!((observed.share() / share - 1.0).abs() < 0.01, "{observed}");
        assert!((observed.per_second() - 10.0).abs() < 1e-9, "{observed}");
    }

    #[test]
    fn what_is_drawn_has_the_rate_and_the_lengths_that_were_said() {
        let said = "stalls = [{ per_second = 90, lengths = [\"20us\", \"40us\"] },\n\
                    { per_second = 10, lengths = \"4ms\" }]";
        let stalls = read(said).unwrap();
        let (mut rng, mut at, mut long, count) = (Rng::from_seed(1), Duration::ZERO, 0, 20_000);
        for _ in 0..count {
            let length = stalls.draw(&mut rng);
            long += u32::from(length == Duration::from_millis(4));
            assert!([us(20), us(40), us(4_000)].contains(&length), "{length:?}");
            at += length + stalls.draw_gap(&mut rng).unwrap();
        }
        let per_second = f64::from(count) / at.as_secs_f64();
        assert!((97.0..103.0).contains(&per_second), "{per_second}");
        assert!((1_850..2_150).contains(&long), "{long}");
        assert_eq!(Stalls::default().draw_gap(&mut rng), None);
    }

    #[test]
    fn stalls_that_leave_nothing_of_a_core_are_refused() {
        let refused = read("stalls = { per_second = 500, lengths = \"2ms\" }").unwrap_err();
        assert_eq!(
            refused,
            "x.toml:8:10: sim.stalls takes 100 % of a core's time; less than 100 % is needed"
        );
        let empty = read("stalls = { per_second = 5 }").unwrap_err();
        assert!(empty.contains("sim.stalls.lengths is missing"), "{empty}");
    }
}
