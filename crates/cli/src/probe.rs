//! `tailwater probe`: for how long and how often the machine takes its cores away, measured by spinning
//! threads that do nothing but read the clock.
//!
//! What it prints is what `[sim]` of a scenario takes. It is to run in the same hour as the runs that it
//! shall explain, before them: machines of others are quiet at one time and busy at another.

use crate::args::ProbeOptions;
use crate::failure::{Failure, say};
use crate::terminal::style;
use std::thread;
use std::time::{Duration, Instant};
use tailwater_report::{ColumnUnit, grid_within};
use tailwater_rt::cpu;
use tailwater_workload::scenario::{StallKind, Stalls};

/// Stalls of one core that are kept; with more than these the rest of the time is not watched.
const KEPT_MAX: usize = 1_000_000;

pub(crate) fn probe(options: &ProbeOptions) -> Result<(), Failure> {
    refuse_twice(&options.cores)?;
    let watches = watch_all(options)?;
    let all: Vec<Duration> = watches.iter().flat_map(|it| it.lengths.iter().copied()).collect();
    let watched = watches.iter().map(|watch| watch.watched).sum();
    let stalls = Stalls::observed(all, watched);
    if options.json {
        let cores: Vec<_> = watches.iter().map(Watch::json).collect();
        let kinds: Vec<_> = stalls.kinds().iter().map(kind_json).collect();
        let found = serde_json::json!({
            "stalls": kinds,
            "longer_than_us": micros(options.longer_than),
            "cores": cores,
        });
        return say(&serde_json::to_string_pretty(&found).map_err(Failure::work)?);
    }
    say(&table(&watches, style().width))?;
    say(&format!("\nFor [sim] of a scenario:\n\n{stalls}"))
}

/// Two threads that spin on one core take it from one another, and each would find that the machine did.
fn refuse_twice(cores: &[usize]) -> Result<(), Failure> {
    let again = cores.iter().enumerate().find(|(at, core)| cores[..*at].contains(core));
    again.map_or(Ok(()), |(_, core)| {
        Err(Failure::usage(format!("--core names core {core} twice; each is needed once")))
    })
}

/// All cores at once: a machine whose cores are all busy stalls otherwise than one with a busy core.
fn watch_all(options: &ProbeOptions) -> Result<Vec<Watch>, Failure> {
    let (span, longer_than) = (options.seconds, options.longer_than);
    let threads: Vec<_> = options
        .cores
        .iter()
        .map(|&core| {
            thread::spawn(move || -> Result<Watch, String> {
                cpu::pin(core).map_err(|error| error.to_string())?;
                Ok(Watch::spin(core, Duration::from_secs_f64(span), longer_than))
            })
        })
        .collect();
    let joined = threads
        .into_iter()
        .map(|thread| thread.join().unwrap_or_else(|_| Err("a probing thread panicked".into())));
    joined.collect::<Result<_, _>>().map_err(Failure::usage)
}

/// What was seen of one core.
struct Watch {
    core: usize,
    watched: Duration,
    lengths: Vec<Duration>,
}

impl Watch {
    /// Reads the clock as often as it can.
    fn spin(core: usize, span: Duration, longer_than: Duration) -> Self {
        let start = Instant::now();
        let readings = std::iter::repeat_with(|| start.elapsed());
        Self::of(core, readings.take_while(|now| *now < span), longer_than)
    }

    /// What consecutive readings of the clock tell: between two of them lies next to nothing, or a stall.
    fn of(core: usize, readings: impl Iterator<Item = Duration>, longer_than: Duration) -> Self {
        let (mut last, mut lengths) = (Duration::ZERO, Vec::new());
        for now in readings {
            let gap = now - last;
            last = now;
            if gap >= longer_than {
                lengths.push(gap);
                if lengths.len() >= KEPT_MAX {
                    break;
                }
            }
        }
        Self { core, watched: last, lengths }
    }

    fn per_second(&self) -> f64 {
        self.lengths.len() as f64 / self.watched.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn share(&self) -> f64 {
        let total: Duration = self.lengths.iter().sum();
        total.as_secs_f64() / self.watched.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn longest(&self) -> Duration {
        self.lengths.iter().max().copied().unwrap_or_default()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "core": self.core,
            "watched_s": self.watched.as_secs_f64(),
            "per_second": self.per_second(),
            "share": self.share(),
            "longest_us": micros(self.longest()),
        })
    }
}

fn kind_json(kind: &StallKind) -> serde_json::Value {
    let lengths: Vec<f64> = kind.lengths.iter().copied().map(micros).collect();
    serde_json::json!({ "per_second": kind.per_second, "lengths_us": lengths })
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn table(watches: &[Watch], width: Option<u16>) -> String {
    let longest = |watch: &Watch| micros(watch.longest());
    let unit = ColumnUnit::of_largest(watches.iter().map(longest));
    let row = |watch: &Watch| {
        vec![
            format!("core {}", watch.core),
            format!("{:.1}", watch.per_second()),
            format!("{:.2} %", 100.0 * watch.share()),
            unit.show(longest(watch)),
        ]
    };
    let heads = ["", "stalls/s", "of its time", &format!("longest, {}", unit.name())];
    grid_within(&heads, 1, &watches.iter().map(row).collect::<Vec<_>>(), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn gaps_between_readings_are_stalls_if_they_are_long_enough() {
        let readings = [1, 2, 21, 22, 42, 43, 2_043, 2_044].map(us);
        let watch = Watch::of(0, readings.into_iter(), us(20));
        assert_eq!(watch.lengths, [us(20), us(2_000)]);
        assert_eq!(watch.watched, us(2_044));
        let found = Stalls::observed(watch.lengths.clone(), watch.watched);
        assert_eq!(found.kinds().len(), 2, "{found}");
        assert!((found.share() - watch.share()).abs() < 1e-3);
    }

    /// Half of its time was said to be stalls.
    #[test]
    fn a_core_that_is_named_twice_is_refused() {
        assert!(refuse_twice(&[0, 1, 7]).is_ok() && refuse_twice(&[]).is_ok());
        let why = refuse_twice(&[3, 0, 3]).expect_err("twice").to_string();
        assert_eq!(why, "--core names core 3 twice; each is needed once");
    }

    #[test]
    fn a_calm_core_has_no_stalls() {
        let watch = Watch::of(3, (1..1_000).map(us), us(20));
        assert!(watch.lengths.is_empty());
        assert_eq!(
            (watch.per_second(), watch.share(), watch.longest()),
            (0.0, 0.0, Duration::ZERO)
        );
        assert!(table(&[watch], None).contains("core 3"));
    }

    /// Each core had the unit that suited it, so that 950 µs stood above 1.05 ms.
    #[test]
    fn the_longest_stalls_are_in_one_unit() {
        let stalled =
            |core, length| Watch { core, watched: us(10_000_000), lengths: vec![us(length)] };
        let table = table(&[stalled(0, 950), stalled(1, 21_050)], Some(80));
        assert!(table.contains("longest, ms"), "{table}");
        assert!(table.contains("0.95\n") && table.ends_with("21.1"), "{table}");
    }
}
