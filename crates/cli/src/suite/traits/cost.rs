//! What the watch costs: runs with it and without it, in blocks of four that a drift of the machine does not tell apart.

use serde::Serialize;
use tailwater_stats::PairedRatio;
use tailwater_stats::result::Run;

/// Whether each run of a block is watched: what drifts steadily weighs on both alike.
pub(super) const BLOCK: [bool; 4] = [false, true, true, false];
/// Blocks. Two pairs each: their spread is told with the mean.
pub(super) const BLOCKS: usize = 3;
/// The largest ratio that the watch was made for.
const GOAL: f64 = 1.05;

/// With the watch ÷ without it, from pairs that ran one after the other.
#[derive(Serialize)]
pub(super) struct Cost {
    /// Requests per second.
    pub(super) rps: f64,
    /// CPU time of all tiers per query: a capacity that CPU limits falls by as much.
    pub(super) cpu: Option<PairedRatio>,
    pub(super) p50: Option<PairedRatio>,
    pub(super) p99: Option<PairedRatio>,
    /// Runs that noise would set aside elsewhere; here they count in their pair.
    pub(super) noisy: usize,
    /// Answers that were not what was asked for.
    pub(super) wrong_answers: u64,
}

/// A step of a block: whether it was watched, and its run, if it had one.
pub(super) type Step = (bool, Option<Run>);

impl Cost {
    /// From the steps in the order of the blocks.
    pub(super) fn of(rps: f64, steps: &[Step]) -> Self {
        let compared = |of: fn(&Run) -> f64| PairedRatio::of(&pairs(steps, of)).ok();
        let runs = || steps.iter().filter_map(|(_, run)| run.as_ref());
        Self {
            rps,
            cpu: compared(cores_per_query),
            p50: compared(|run| run.p50_us),
            p99: compared(|run| run.p99_us),
            noisy: runs().filter(|run| !run.valid).count(),
            wrong_answers: runs().map(|run| run.wrong_answers).sum(),
        }
    }

    /// In sentences.
    pub(super) fn text(&self) -> String {
        let ratio = |name: &str, of: &Option<PairedRatio>| match of {
            Some(PairedRatio { ratio, low, high, .. }) => {
                format!("{name} × {ratio:.3} ({low:.3} to {high:.3})")
            }
            None => format!("{name} not known"),
        };
        let all =
            [ratio("CPU per query", &self.cpu), ratio("p50", &self.p50), ratio("p99", &self.p99)];
        let pairs = self.cpu.as_ref().map_or(0, |cpu| cpu.pairs);
        format!(
            "The watch costs, at {:.0} requests/s, in {pairs} pairs of ABBA blocks, with 95 % intervals: {}. {} {} of \
             their runs were noisy.",
            self.rps,
            all.join(", "),
            self.verdict(),
            self.noisy
        )
    }

    fn verdict(&self) -> String {
        match &self.cpu {
            Some(cpu) if cpu.high <= GOAL => format!("CPU stays within the goal of × {GOAL}."),
            Some(cpu) if cpu.low > GOAL => format!("CPU misses the goal of × {GOAL}."),
            _ => format!("Whether CPU stays within the goal of × {GOAL} these pairs do not tell."),
        }
    }
}

/// Without the watch and with it, neighbours in time. A step without a run takes its neighbour with it, and no other.
fn pairs(steps: &[Step], of: fn(&Run) -> f64) -> Vec<(f64, f64)> {
    let pair = |two: &[Step]| match two {
        [(false, Some(one)), (true, Some(other))] | [(true, Some(other)), (false, Some(one))] => {
            Some((of(one), of(other)))
        }
        _ => None,
    };
    steps.chunks(2).filter_map(pair).collect()
}

fn cores_per_query(run: &Run) -> f64 {
    let cores: f64 = run.tiers.iter().map(|tier| tier.cores_used).sum();
    run.tiers.first().map_or(0.0, |front| cores / front.received_rps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::TierReading;

    fn run(cores_used: f64, p50_us: f64) -> Run {
        let tier = TierReading { cores_used, received_rps: 100.0, ..TierReading::default() };
        Run { tiers: vec![tier], p50_us, p99_us: 9.0, valid: true, ..Run::default() }
    }

    #[test]
    fn neighbours_are_compared_whichever_came_first() {
        // The machine becomes slower all the time; the watch costs a tenth.
        let runs = [run(0.10, 100.0), run(0.11, 100.0), run(0.22, 100.0), run(0.20, 100.0)];
        let runs: Vec<Step> = BLOCK.into_iter().zip(runs.map(Some)).collect();
        let found = pairs(&runs, |run| run.tiers[0].cores_used);
        assert_eq!(found, [(0.10, 0.11), (0.20, 0.22)]);
        let cost = Cost::of(1_000.0, &runs);
        let cpu = cost.cpu.as_ref().expect("two pairs");
        assert!((cpu.ratio - 1.1).abs() < 1e-9 && cpu.pairs == 2, "{cpu:?}");
        let text = cost.text();
        assert!(
            text.contains("CPU per query × 1.100") && text.contains("misses the goal"),
            "{text}"
        );
    }

    #[test]
    fn a_step_without_a_run_shifts_no_other() {
        let mut steps: Vec<Step> = (0..2)
            .flat_map(|_| BLOCK)
            .map(|watched| (watched, Some(run(if watched { 0.2 } else { 0.1 }, 1.0))))
            .collect();
        steps[1].1 = None;
        let found = pairs(&steps, |run| run.tiers[0].cores_used);
        assert_eq!(found, [(0.1, 0.2); 3], "each of a run without the watch and one with it");
    }

    #[test]
    fn runs_without_numbers_tell_nothing() {
        let cost = Cost::of(100.0, &[(false, Some(Run::default())), (true, Some(Run::default()))]);
        assert!(cost.cpu.is_none() && cost.text().contains("p50 not known"), "{}", cost.text());
        assert_eq!(cost.noisy, 2);
    }
}
