//! What the watch costs: runs with it, with each part of it, and without, in blocks that a drift of the machine does not tell
//! apart.

use super::answered::{ANSWERED_MIN, answered};
use crate::job::{Part, Watching};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailwater_stats::PairedRatio;
use tailwater_stats::result::Run;

/// What each run of a block watches, there and back: what drifts steadily weighs on all alike. The whole watch is next to
/// none of it.
pub(super) const BLOCK: [Watching; 10] = [
    Watching::Nothing,
    Watching::InTurn,
    Watching::One(Part::Calls),
    Watching::One(Part::Waits),
    Watching::One(Part::Softirqs),
    Watching::One(Part::Softirqs),
    Watching::One(Part::Waits),
    Watching::One(Part::Calls),
    Watching::InTurn,
    Watching::Nothing,
];
/// Blocks, unless others are asked for. Two pairs each: their spread is told with the mean.
pub(super) const BLOCKS: u32 = 3;
/// The largest ratio that the watch was made for.
const GOAL: f64 = 1.05;

/// What the watch costs a service at a load.
#[derive(Serialize, Deserialize)]
pub(super) struct Cost {
    /// Requests per second.
    pub(super) rps: f64,
    /// Of the watch as it is, whose parts take turns.
    #[serde(flatten)]
    pub(super) whole: Ratios,
    /// Of each part that watches all the time: what servers pay in its turn.
    pub(super) parts: BTreeMap<String, Ratios>,
    /// The least share of its requests that one of the runs answered.
    pub(super) answered: f64,
    /// Runs that noise would set aside elsewhere; here they count in their pair.
    pub(super) noisy: usize,
    /// Answers that were not what was asked for.
    pub(super) wrong_answers: u64,
}

/// With it ÷ without it, from pairs of the same half of a block.
#[derive(Serialize, Deserialize)]
pub(super) struct Ratios {
    /// CPU time of all tiers per answer: a capacity that CPU limits falls by as much.
    pub(super) cpu: Option<PairedRatio>,
    pub(super) p50: Option<PairedRatio>,
    pub(super) p99: Option<PairedRatio>,
}

/// A step of a block: what was watched, and its run, if it had one.
pub(super) type Step = (Watching, Option<Run>);

impl Cost {
    /// From the steps in the order of the blocks.
    pub(super) fn of(rps: f64, steps: &[Step]) -> Self {
        let runs = || steps.iter().filter_map(|(_, run)| run.as_ref());
        let part = |part: Part| (key(part).to_owned(), Ratios::of(steps, Watching::One(part)));
        Self {
            rps,
            whole: Ratios::of(steps, Watching::InTurn),
            parts: Part::ALL.map(part).into(),
            answered: runs().map(answered).fold(1.0, f64::min),
            noisy: runs().filter(|run| !run.verdict.valid).count(),
            wrong_answers: runs().map(|run| run.answers.wrong).sum(),
        }
    }

    /// In sentences.
    pub(super) fn text(&self) -> String {
        let Ratios { cpu, p50, p99 } = &self.whole;
        let all = [ratio("CPU per answer", cpu), ratio("p50", p50), ratio("p99", p99)];
        let parts: Vec<String> = self.parts.iter().map(|(key, of)| ratio(key, &of.cpu)).collect();
        let pairs = cpu.as_ref().map_or(0, |cpu| cpu.pairs);
        format!(
            "The watch costs, at {:.0} requests/s, in {pairs} pairs with 95 % intervals: {}. {}{} Each part all the time, CPU \
             per answer: {}. {} of these runs were noisy.",
            self.rps,
            all.join(", "),
            self.verdict(),
            self.latency(),
            parts.join(", "),
            self.noisy
        )
    }

    /// What the verdict on CPU has nothing of.
    fn latency(&self) -> String {
        let Ratios { p50, p99, .. } = &self.whole;
        let of = [("p50", p50), ("p99", p99)].into_iter();
        let rising = of.filter(|(_, ratio)| ratio.as_ref().is_some_and(|it| it.low > 1.0));
        let names: Vec<&str> = rising.map(|(name, _)| name).collect();
        if names.is_empty() {
            return String::new();
        }
        format!(
            " But latency rises ({}): the thread that reads the events shares a core with the load, and its time is in no CPU \
             per answer.",
            names.join(", ")
        )
    }

    fn verdict(&self) -> String {
        match &self.whole.cpu {
            _ if self.answered < ANSWERED_MIN => format!(
                "Whether CPU stays within the goal of × {GOAL} is not told: one of the runs answered {:.0} % of its requests.",
                100.0 * self.answered
            ),
            Some(cpu) if cpu.high <= GOAL => format!("CPU stays within the goal of × {GOAL}."),
            Some(cpu) if cpu.low > GOAL => format!("CPU misses the goal of × {GOAL}."),
            _ => format!("Whether CPU stays within the goal of × {GOAL} these pairs do not tell."),
        }
    }
}

impl Ratios {
    fn of(steps: &[Step], watching: Watching) -> Self {
        let compared =
            |of: fn(&Run) -> Option<f64>| PairedRatio::of(&pairs(steps, watching, of)).ok();
        Self {
            cpu: compared(cores_per_answer),
            p50: compared(|run| Some(run.latency.p50_us)),
            p99: compared(|run| Some(run.latency.p99_us)),
        }
    }
}

/// In JSON and in sentences.
const fn key(part: Part) -> &'static str {
    match part {
        Part::Calls => "system calls",
        Part::Waits => "waits",
        Part::Softirqs => "softirqs",
    }
}

fn ratio(name: &str, of: &Option<PairedRatio>) -> String {
    match of {
        Some(PairedRatio { ratio, low, high, .. }) => {
            format!("{name} × {ratio:.3} ({low:.3} to {high:.3})")
        }
        None => format!("{name} not known"),
    }
}

/// Without the watch and with it, of each half of a block. A step without a run, or whose run does not know, takes the pair of
/// its half, and no other.
fn pairs(steps: &[Step], watching: Watching, of: fn(&Run) -> Option<f64>) -> Vec<(f64, f64)> {
    let pair = |half: &[Step]| {
        let run = |what| half.iter().find(|(watched, _)| *watched == what)?.1.as_ref();
        of(run(Watching::Nothing)?).zip(of(run(watching)?))
    };
    steps.chunks(BLOCK.len() / 2).filter_map(pair).collect()
}

fn cores_per_answer(run: &Run) -> Option<f64> {
    let cores: f64 = run.tiers.iter().map(|tier| tier.cores_used).sum::<Option<_>>()?;
    (run.rates.throughput_rps > 0.0).then(|| cores / run.rates.throughput_rps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{Fates, LatencyReading, Rates, RunVerdict, TierReading};

    fn run(cores_used: f64) -> Run {
        let tier = TierReading { cores_used: Some(cores_used), ..TierReading::default() };
        let throughput_rps = 100.0;
        Run {
            tiers: vec![tier],
            rates: Rates { throughput_rps, ..Rates::default() },
            latency: LatencyReading { p50_us: 100.0, p99_us: 9.0, ..LatencyReading::default() },
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            ..Run::default()
        }
    }

    /// The watch costs a tenth, system calls alone a fifth, and the others nothing.
    fn steps() -> Vec<Step> {
        let cores = |watching| match watching {
            Watching::InTurn => 0.11,
            Watching::One(Part::Calls) => 0.12,
            _ => 0.10,
        };
        BLOCK.repeat(BLOCKS as usize).into_iter().map(|it| (it, Some(run(cores(it))))).collect()
    }

    #[test]
    fn each_part_and_the_whole_are_held_against_runs_without() {
        let cost = Cost::of(1_000.0, &steps());
        let cpu = cost.whole.cpu.as_ref().expect("six pairs");
        assert!((cpu.ratio - 1.1).abs() < 1e-9 && cpu.pairs == 6, "{cpu:?}");
        let of = |key: &str| cost.parts[key].cpu.as_ref().map(|cpu| (cpu.ratio * 1e3).round());
        let parts = [of("system calls"), of("waits"), of("softirqs")];
        assert_eq!(parts, [Some(1_200.0), Some(1_000.0), Some(1_000.0)]);
        let text = cost.text();
        for wanted in ["CPU per answer × 1.100", "misses the goal", "system calls × 1.200"] {
            assert!(text.contains(wanted), "no {wanted} in {text}");
        }
    }

    #[test]
    fn latency_that_rises_stands_beside_the_verdict_on_cpu() {
        let mut steps = steps();
        let text = |steps: &[Step]| Cost::of(1_000.0, steps).text();
        assert!(!text(&steps).contains("But latency rises"), "{}", text(&steps));
        let watched = steps.iter_mut().filter(|(what, _)| *what == Watching::InTurn);
        watched.filter_map(|(_, run)| run.as_mut()).for_each(|run| run.latency.p99_us *= 1.5);
        assert!(text(&steps).contains("misses the goal of × 1.05. But latency rises (p99): "));
    }

    /// A watch that makes requests expire would save their CPU time.
    #[test]
    fn runs_that_answer_too_few_tell_nothing_of_cpu() {
        let mut steps = steps();
        let run = steps[1].1.as_mut().expect("each has one");
        run.fates = Fates { ok: 97, shed: 3, ..Fates::default() };
        let text = Cost::of(1_000.0, &steps).text();
        assert!(text.contains("is not told: one of the runs answered 97 % of"), "{text}");
        steps[1].1.as_mut().expect("each has one").fates.ok = 300;
        assert!(Cost::of(1_000.0, &steps).text().contains("misses the goal"));
    }

    #[test]
    fn a_machine_that_slows_down_all_the_time_changes_no_ratio() {
        let mut steps = steps();
        for (nth, (_, run)) in steps.iter_mut().enumerate() {
            let run = run.as_mut().expect("each has one");
            let slower = 1.0 + 0.001 * nth as f64;
            run.tiers[0].cores_used.iter_mut().for_each(|cores| *cores *= slower);
        }
        let cost = Cost::of(1_000.0, &steps);
        let calls = cost.parts["system calls"].cpu.as_ref().expect("six pairs");
        assert!((calls.ratio - 1.2).abs() < 1e-4, "{calls:?}");
    }

    #[test]
    fn a_step_without_a_run_takes_its_pair_and_no_other() {
        let mut steps = steps();
        assert_eq!(steps[8].0, Watching::InTurn);
        steps[8].1 = None;
        let found = |steps: &[Step], what| {
            let of_pair = |(one, other): (f64, f64)| (one * 100.0, other * 100.0);
            pairs(steps, what, cores_per_answer).into_iter().map(of_pair).collect::<Vec<_>>()
        };
        assert_eq!(found(&steps, Watching::InTurn), [(0.10, 0.11); 5]);
        assert_eq!(found(&steps, Watching::One(Part::Calls)), [(0.10, 0.12); 6]);
        // A tier that could not be read would make the query look cheap.
        steps[2].1.as_mut().expect("it has one").tiers.push(TierReading::default());
        assert_eq!(found(&steps, Watching::One(Part::Calls)), [(0.10, 0.12); 5]);
    }

    #[test]
    fn runs_without_numbers_tell_nothing() {
        let steps = [(Watching::Nothing, Some(Run::default())), (Watching::InTurn, None)];
        let cost = Cost::of(100.0, &steps);
        assert!(cost.whole.cpu.is_none() && cost.text().contains("p50 not known"));
        assert_eq!(cost.noisy, 1);
    }
}
