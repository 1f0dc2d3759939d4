//! What a program says of its own calls, beside what a trace says of them.

use crate::Result;
use crate::quantile::quantile;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use tailwater_profile::record::{CallFlags, Gap, Record};
use tailwater_profile::trace::Reader;

/// Calls that last longer are to be found.
const LONG_US: f64 = 14.0;

/// A call by the program's own clock, which is the trace's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fact {
    generation: u64,
    start: u64,
    end: u64,
}

/// What `programs/truth.c` prints.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) round_ns: f64,
    ns_per_tick: f64,
    facts: Vec<Fact>,
}

/// Of the calls that are to be found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Matched {
    /// Not in the trace at all.
    pub(super) missed_percent: f64,
    /// The same, of those that took place while the scanner was there.
    pub(super) overlooked_percent: f64,
    /// In the trace, with bounds as wide as an absence of the scanner.
    pub(super) gap_percent: f64,
    /// Of the duration, where no absence touches it.
    pub(super) error_p50_us: f64,
    pub(super) error_p99_us: f64,
}

impl Said {
    /// `ROUND_NS ROUNDS NS_PER_TICK`, then `GENERATION START END` on each line.
    pub(super) fn read(text: &str) -> Result<Self> {
        let wrong = || format!("truth said `{}`", text.lines().next().unwrap_or_default());
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default().split(' ').map(str::parse::<f64>);
        let head: Vec<f64> = head.collect::<std::result::Result<_, _>>().map_err(|_| wrong())?;
        let [round_ns, _, ns_per_tick] = head[..] else { return Err(wrong()) };
        let fact = |line: &str| {
            let mut words = line.split(' ').map_while(|word| word.parse::<u64>().ok());
            Some(Fact { generation: words.next()?, start: words.next()?, end: words.next()? })
        };
        let facts = lines.map(|line| fact(line).ok_or_else(wrong)).collect::<Result<_>>()?;
        Ok(Self { round_ns, ns_per_tick, facts })
    }

    /// Holds them against a trace.
    pub(super) fn find_in(&self, trace: &Path) -> Result<Matched> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", trace.display());
        let file = File::open(trace).map_err(|error| failed(&error))?;
        let reader = Reader::new(BufReader::new(file)).map_err(|error| failed(&error))?;
        let long = self.facts.iter().filter(|fact| self.us(fact.end - fact.start) > LONG_US);
        let long: Vec<Fact> = long.copied().collect();
        let mut seen: HashMap<u64, Seen> = HashMap::new();
        let mut gaps = vec![];
        let wanted: std::collections::HashSet<u64> =
            long.iter().map(|fact| fact.generation).collect();
        for record in reader {
            match record.map_err(|error| failed(&error))? {
                Record::Call(call) if wanted.contains(&call.generation) => {
                    let ticks = call.end.saturating_sub(call.start);
                    let is_gap = call.flags.has(CallFlags::GAP);
                    seen.insert(call.generation, Seen { ticks, is_gap });
                }
                Record::Gap(gap) => gaps.push(gap),
                _ => {}
            }
        }
        gaps.sort_unstable_by_key(|gap| gap.start);
        Ok(self.compare(&long, &seen, &gaps))
    }

    fn compare(&self, long: &[Fact], seen: &HashMap<u64, Seen>, gaps: &[Gap]) -> Matched {
        let mut matched = Matched::default();
        let (mut watched, mut errors) = (0, vec![]);
        for fact in long {
            let is_watched = is_watched(fact, gaps);
            watched += u32::from(is_watched);
            match seen.get(&fact.generation) {
                None => {
                    matched.missed_percent += 1.0;
                    matched.overlooked_percent += f64::from(u8::from(is_watched));
                }
                Some(seen) if seen.is_gap => matched.gap_percent += 1.0,
                Some(seen) => errors.push(self.us(seen.ticks.abs_diff(fact.end - fact.start))),
            }
        }
        matched.missed_percent *= 100.0 / (long.len().max(1) as f64);
        matched.gap_percent *= 100.0 / (long.len().max(1) as f64);
        matched.overlooked_percent *= 100.0 / f64::from(watched.max(1));
        errors.sort_unstable_by(f64::total_cmp);
        let error = |share| quantile(&errors, share).unwrap_or(f64::NAN);
        matched.error_p50_us = error(0.5);
        matched.error_p99_us = error(0.99);
        matched
    }

    fn us(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick / 1000.0
    }
}

/// A call in the trace.
struct Seen {
    ticks: u64,
    is_gap: bool,
}

/// `gaps` are by time, and apart.
fn is_watched(fact: &Fact, gaps: &[Gap]) -> bool {
    let after = gaps.partition_point(|gap| gap.end <= fact.start);
    gaps.get(after).is_none_or(|gap| gap.start >= fact.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_missed_overlooked_left_out_or_compared() {
        let said = "1000.0 7 0.500000000\n1 0 20000\n2 0 40000\n3 50000 90000\n4 100000 140000\n\
                    5 200000 240000\n";
        let said = Said::read(said).unwrap();
        assert_eq!((said.facts.len(), said.us(4000)), (5, 2.0));
        let seen = HashMap::from([
            (2, Seen { ticks: 42_000, is_gap: false }),
            (3, Seen { ticks: 42_000, is_gap: true }),
        ]);
        let gaps = [Gap { thread: None, start: 95_000, end: 110_000 }];
        // The first lasts 10 µs, and nobody asks for it.
        let found = said.compare(&said.facts[1..], &seen, &gaps);
        let expected = Matched {
            missed_percent: 50.0,
            overlooked_percent: 100.0 / 3.0,
            gap_percent: 25.0,
            error_p50_us: 1.0,
            error_p99_us: 1.0,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_answer_is_shown() {
        for text in ["", "usage", "1 2\n", "1 2 0.5\n3 4\n"] {
            let error = Said::read(text).unwrap_err();
            assert!(error.contains(text.lines().next().unwrap_or_default()), "{error}");
        }
    }
}
