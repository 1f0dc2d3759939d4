//! Medians over the rounds, the goals, and how both are printed.

use crate::mechanism::Mechanism;
use crate::shape::Shape;
use serde::Serialize;

/// One mechanism with so many queues under one shape, once for each round.
#[derive(Serialize)]
pub(crate) struct Case {
    pub(crate) mechanism: Mechanism,
    pub(crate) queues: usize,
    pub(crate) shape: Shape,
    /// Items per second in the closed loop.
    pub(crate) throughput_rps: Vec<f64>,
    /// Nanoseconds from push to pop at light load; under the balanced shape only.
    pub(crate) p50_ns: Vec<f64>,
    pub(crate) p99_ns: Vec<f64>,
}

/// All that was measured.
#[derive(Default, Serialize)]
pub(crate) struct Report {
    pub(crate) short: bool,
    pub(crate) pollutes: bool,
    /// Half of a round trip of one cache line between the two cores, once for each round.
    pub(crate) hand_over_ns: Vec<f64>,
    pub(crate) cases: Vec<Case>,
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

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median of the rounds' ratios.
fn ratio(over: &[f64], under: &[f64]) -> f64 {
    median(&over.iter().zip(under).map(|(over, under)| over / under).collect::<Vec<_>>())
}

impl Report {
    pub(crate) fn new(short: bool, pollutes: bool) -> Self {
        Self { short, pollutes, ..Self::default() }
    }

    /// The case's place in the report, which it has from its first round on.
    pub(crate) fn case(&mut self, mechanism: Mechanism, queues: usize, shape: Shape) -> &mut Case {
        let at = self.position(mechanism, queues, shape).unwrap_or_else(|| {
            let (throughput_rps, p50_ns, p99_ns) = Default::default();
            self.cases.push(Case { mechanism, queues, shape, throughput_rps, p50_ns, p99_ns });
            self.cases.len() - 1
        });
        &mut self.cases[at]
    }

    fn position(&self, mechanism: Mechanism, queues: usize, shape: Shape) -> Option<usize> {
        let is = |case: &Case| {
            case.mechanism == mechanism && case.queues == queues && case.shape == shape
        };
        self.cases.iter().position(is)
    }

    fn find(&self, mechanism: Mechanism, queues: usize, shape: Shape) -> Option<&Case> {
        Some(&self.cases[self.position(mechanism, queues, shape)?])
    }

    /// Holds what was measured against the goals. Whether all that could be judged were met.
    pub(crate) fn judge(&mut self) -> bool {
        let mut goals = self.finding();
        goals.extend(self.hot_queue());
        self.goals = goals;
        self.goals.iter().all(|goal| goal.met)
    }

    /// Finding a ready queue at light load, in hand-overs of a cache line; and beside a scan where that is faster.
    fn finding(&self) -> Vec<Goal> {
        let ready = self.cases.iter().filter(|case| {
            case.mechanism == Mechanism::Ready && !case.p50_ns.is_empty() && case.queues <= 65_536
        });
        let mut goals = Vec::new();
        for case in ready {
            let queues = case.queues;
            let most = if queues <= 4_096 { 6.0 } else { 8.0 };
            let found = ratio(&case.p50_ns, &self.hand_over_ns);
            goals.push(Goal::at_most(format!("find among {queues}, hand-overs"), found, most));
            let scan = self.find(Mechanism::Scan, queues, case.shape);
            if let Some(scan) = scan.filter(|scan| median(&scan.p50_ns) < median(&case.p50_ns)) {
                let worse = median(&case.p50_ns) - median(&scan.p50_ns);
                goals.push(Goal::at_most(
                    format!("slower than a scan of {queues}, ns"),
                    worse,
                    100.0,
                ));
            }
        }
        goals
    }

    /// One hot queue among 1,000. What spins is held against what spins, and what sleeps against what sleeps: crossbeam's
    /// `Select` spins for some microseconds before it sleeps, as the ready set does then.
    fn hot_queue(&self) -> Vec<Goal> {
        let of = |mechanism, queues| self.find(mechanism, queues, Shape::Sq);
        let others = [
            (Mechanism::Ready, Mechanism::Ready, 1, 0.9),
            (Mechanism::Ready, Mechanism::Scan, 1_000, 8.0),
            (Mechanism::Ready, Mechanism::EpollSpin, 1_000, 2.5),
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
        println!("hand-over of a cache line: {:.0} ns\n", median(&self.hand_over_ns));
        println!(
            "{:<12} {:>7} {:>5} {:>12} {:>9} {:>9}",
            "mechanism", "queues", "shape", "million/s", "p50 ns", "p99 ns"
        );
        for case in &self.cases {
            println!(
                "{:<12} {:>7} {:>5} {:>12} {:>9} {:>9}",
                case.mechanism.name(),
                case.queues,
                format!("{:?}", case.shape).to_uppercase(),
                cell(&case.throughput_rps, 1e-6, 3),
                cell(&case.p50_ns, 1.0, 0),
                cell(&case.p99_ns, 1.0, 0),
            );
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
