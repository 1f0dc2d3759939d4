//! Medians over the rounds, the goals, and how both are printed.

use crate::handler::Kind;
use crate::mechanism::Mechanism;
use crate::shape::Shape;
use machine::Origin;
use serde::Serialize;
use tailwater_stats::result::Spread;

/// What is measured in a closed loop.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
pub(crate) struct Case {
    pub(crate) mechanism: Mechanism,
    pub(crate) queues: usize,
    pub(crate) shape: Shape,
    pub(crate) handler: Kind,
    /// The handler also reads a mebibyte.
    pub(crate) pollutes: bool,
}

/// A case with what was found, once for each round.
#[derive(Serialize)]
pub(crate) struct Found {
    #[serde(flatten)]
    pub(crate) case: Case,
    /// Half of a round trip of one cache line between the two cores, just before: a host may move them apart meanwhile.
    pub(crate) hand_over_ns: Vec<f64>,
    /// A read of the clock, just before.
    pub(crate) clock_ns: Vec<f64>,
    /// Items per second in the closed loop.
    pub(crate) throughput_rps: Vec<f64>,
    /// From push to pop at light load; under the balanced shape only.
    #[serde(flatten)]
    pub(crate) light: Quantiles,
}

/// What is measured in an open loop: a part of a peak, under the balanced shape.
#[derive(Clone, Copy, PartialEq, Serialize, Debug)]
pub(crate) struct Load {
    pub(crate) mechanism: Mechanism,
    pub(crate) queues: usize,
    pub(crate) handler: Kind,
    /// Of the closed loop's throughput in the same round: its own with one queue, otherwise the ready set's.
    pub(crate) share: f64,
}

/// A load with what was found, once for each round.
#[derive(Serialize)]
pub(crate) struct Loaded {
    #[serde(flatten)]
    pub(crate) load: Load,
    pub(crate) offered_rps: Vec<f64>,
    #[serde(flatten)]
    pub(crate) seen: Quantiles,
    /// Items of all rounds by latency: below each of [`BOUNDS_US`], and beyond.
    pub(crate) counts: [u64; BOUNDS_US.len() + 1],
}

/// Microseconds.
pub(crate) const BOUNDS_US: [u64; 7] = [1, 3, 5, 10, 20, 50, 100];

/// Nanoseconds, once for each round.
#[derive(Default, Serialize)]
pub(crate) struct Quantiles {
    pub(crate) mean_ns: Vec<f64>,
    pub(crate) p50_ns: Vec<f64>,
    pub(crate) p99_ns: Vec<f64>,
}

impl Quantiles {
    /// Of nanoseconds, sorted, of which there is one at least.
    pub(crate) fn add(&mut self, seen: &[u64]) {
        let quantile = |share: f64| seen[(seen.len() as f64 * share) as usize] as f64;
        self.mean_ns.push(seen.iter().sum::<u64>() as f64 / seen.len() as f64);
        self.p50_ns.push(quantile(0.5));
        self.p99_ns.push(quantile(0.99));
    }
}

/// All that was measured.
#[derive(Default, Serialize)]
pub(crate) struct Report {
    pub(crate) short: bool,
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) bounds_us: Vec<u64>,
    /// What could not be measured here, each with its reason, in a sentence.
    pub(crate) left_out: Vec<String>,
    pub(crate) cases: Vec<Found>,
    pub(crate) loads: Vec<Loaded>,
    goals: Vec<Goal>,
}

/// What was promised beforehand, and what was found.
#[derive(Serialize)]
struct Goal {
    goal: String,
    found: f64,
    needed: f64,
    met: bool,
}

impl Goal {
    fn at_most(goal: String, found: f64, needed: f64) -> Self {
        Self { goal, found, needed, met: found <= needed }
    }

    fn at_least(goal: String, found: f64, needed: f64) -> Self {
        Self { goal, found, needed, met: found >= needed }
    }
}

/// Not a number for none: a zero would meet goals.
pub(crate) fn median(values: &[f64]) -> f64 {
    if values.is_empty() { f64::NAN } else { Spread::of(values).median }
}

/// The median of the rounds' ratios.
fn ratio(over: &[f64], under: &[f64]) -> f64 {
    median(&over.iter().zip(under).map(|(over, under)| over / under).collect::<Vec<_>>())
}

impl Report {
    pub(crate) fn new(short: bool) -> Self {
        let (origin, bounds_us) = (Origin::now(), BOUNDS_US.to_vec());
        Self { short, origin, bounds_us, ..Self::default() }
    }

    /// The case's place in the report, which it has from its first round on.
    pub(crate) fn case(&mut self, case: Case) -> &mut Found {
        let at = self.cases.iter().position(|found| found.case == case).unwrap_or_else(|| {
            let (hand_over_ns, clock_ns, throughput_rps, light) = Default::default();
            self.cases.push(Found { case, hand_over_ns, clock_ns, throughput_rps, light });
            self.cases.len() - 1
        });
        &mut self.cases[at]
    }

    /// The same for a load.
    pub(crate) fn load(&mut self, load: Load) -> &mut Loaded {
        let at = self.loads.iter().position(|loaded| loaded.load == load).unwrap_or_else(|| {
            let (offered_rps, seen, counts) = Default::default();
            self.loads.push(Loaded { load, offered_rps, seen, counts });
            self.loads.len() - 1
        });
        &mut self.loads[at]
    }

    fn found(&self, case: Case) -> Option<&Found> {
        self.cases.iter().find(|found| found.case == case)
    }

    /// Items per second of the last round.
    pub(crate) fn last_peak(&self, case: Case) -> Option<f64> {
        self.found(case)?.throughput_rps.last().copied()
    }

    /// Holds what was measured against the goals. Whether all that could be judged were met.
    pub(crate) fn judge(&mut self) -> bool {
        let mut goals = self.finding();
        goals.extend(self.hot_queue());
        self.goals = goals;
        self.goals.iter().all(|goal| goal.met)
    }

    /// Finding a ready queue at light load, in hand-overs of a cache line, without the clock's part; and beside a scan
    /// where that is faster.
    fn finding(&self) -> Vec<Goal> {
        let ready = self.cases.iter().filter(|found| {
            let Case { mechanism, queues, handler, pollutes, .. } = found.case;
            let judged = handler == Kind::None && !pollutes && queues <= 65_536;
            judged && mechanism == Mechanism::Ready && !found.light.p50_ns.is_empty()
        });
        let mut goals = Vec::new();
        for ready in ready {
            let queues = ready.case.queues;
            let most = if queues <= 4_096 { 6.0 } else { 8.0 };
            let p50 = ready.light.p50_ns.iter().zip(&ready.clock_ns);
            let without_clock: Vec<f64> = p50.map(|(p50, clock)| p50 - clock).collect();
            let found = ratio(&without_clock, &ready.hand_over_ns);
            goals.push(Goal::at_most(format!("find among {queues}, hand-overs"), found, most));
            let scan = self.found(Case { mechanism: Mechanism::Scan, ..ready.case });
            let worse = scan
                .map(|scan| median(&ready.light.p50_ns) - median(&scan.light.p50_ns))
                .filter(|worse| *worse > 0.0);
            if let Some(worse) = worse {
                goals.push(Goal::at_most(
                    format!("slower than a scan of {queues}, ns"),
                    worse,
                    100.0,
                ));
            }
        }
        goals
    }

    /// The number of queues from which on the ready set is found no later than by a scan.
    fn crossover(&self) -> Option<usize> {
        let p50 = |mechanism, queues| {
            let (shape, handler, pollutes) = (Shape::Fb, Kind::None, false);
            let found = self.found(Case { mechanism, queues, shape, handler, pollutes })?;
            Some(median(&found.light.p50_ns))
        };
        let mut queues: Vec<usize> = self.cases.iter().map(|found| found.case.queues).collect();
        queues.sort_unstable();
        queues.dedup();
        let slower = |&queues: &usize| {
            p50(Mechanism::Ready, queues).zip(p50(Mechanism::Scan, queues)).map(|(a, b)| a > b)
        };
        let known = queues.into_iter().filter_map(|queues| Some((queues, slower(&queues)?)));
        let known: Vec<(usize, bool)> = known.collect();
        let after = known.iter().rposition(|(_, slower)| *slower).map_or(0, |last| last + 1);
        known.get(after).map(|(queues, _)| *queues)
    }

    /// One hot queue among 1,000. What spins is held against what spins, and what sleeps against what sleeps: crossbeam's
    /// `Select` spins for some microseconds before it sleeps, as the ready set does then.
    fn hot_queue(&self) -> Vec<Goal> {
        let of = |mechanism, queues| {
            let (shape, handler, pollutes) = (Shape::Sq, Kind::None, false);
            self.found(Case { mechanism, queues, shape, handler, pollutes })
        };
        let others = [
            (Mechanism::Ready, Mechanism::Ready, 1, 0.9),
            (Mechanism::Ready, Mechanism::Scan, 1_000, 8.0),
            (Mechanism::Ready, Mechanism::EpollSpin, 1_000, 2.5),
            (Mechanism::Ready, Mechanism::EpollOne, 1_000, 2.5),
            (Mechanism::ReadySleep, Mechanism::Epoll, 1_000, 2.5),
            (Mechanism::ReadySleep, Mechanism::EpollEdge, 1_000, 2.5),
            (Mechanism::ReadySleep, Mechanism::Select, 1_000, 20.0),
        ];
        let goal = |(ours, other, queues, least): (Mechanism, Mechanism, usize, f64)| {
            let ready = of(ours, 1_000)?;
            let found = ratio(&ready.throughput_rps, &of(other, queues)?.throughput_rps);
            let (ours, other) = (ours.name(), other.name());
            let name = format!("{ours}, one hot of 1000, to {other} with {queues}");
            Some(Goal::at_least(name, found, least))
        };
        others.into_iter().filter_map(goal).collect()
    }

    pub(crate) fn print(&self) {
        println!(
            "{:<12} {:>7} {:>5} {:>7} {:>8} {:>12} {:>12} {:>9} {:>9}",
            "mechanism",
            "queues",
            "shape",
            "handler",
            "cache",
            "hand-over ns",
            "million/s",
            "p50 ns",
            "p99 ns"
        );
        for Found { case, hand_over_ns, throughput_rps, light, .. } in &self.cases {
            println!(
                "{:<12} {:>7} {:>5} {:>7} {:>8} {:>12} {:>12} {:>9} {:>9}",
                case.mechanism.name(),
                case.queues,
                format!("{:?}", case.shape).to_uppercase(),
                format!("{:?}", case.handler).to_lowercase(),
                if case.pollutes { "polluted" } else { "clean" },
                cell(hand_over_ns, 1.0, 0),
                cell(throughput_rps, 1e-6, 3),
                cell(&light.p50_ns, 1.0, 0),
                cell(&light.p99_ns, 1.0, 0),
            );
        }
        for Loaded { load, offered_rps, seen, .. } in &self.loads {
            println!(
                "{:<12} {:>7} {:>7} load {:>4.0} % {:>12} mean {:>9} p99 {:>9} ns",
                load.mechanism.name(),
                load.queues,
                format!("{:?}", load.handler).to_lowercase(),
                load.share * 100.0,
                cell(offered_rps, 1e-6, 3),
                cell(&seen.mean_ns, 1.0, 0),
                cell(&seen.p99_ns, 1.0, 0),
            );
        }
        for reason in &self.left_out {
            println!("\nPASSED OVER: {reason}");
        }
        if let Some(queues) = self.crossover() {
            println!("\nfaster than a scan at light load from {queues} queues on");
        }
        println!();
        for goal in &self.goals {
            let verdict = if goal.met { "met" } else { "NOT met" };
            println!("{:<56} {:>9.2} of {:>6.2} {verdict}", goal.goal, goal.found, goal.needed);
        }
    }
}

fn cell(values: &[f64], unit: f64, digits: usize) -> String {
    if values.is_empty() { "-".into() } else { format!("{:.digits$}", median(values) * unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_two_rounds_lies_between_them() {
        assert_eq!(ratio(&[30.0, 22.0], &[2.0, 2.0]), 13.0);
        assert!(median(&[]).is_nan());
    }
}
