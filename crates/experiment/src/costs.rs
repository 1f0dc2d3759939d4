//! What control costs: server CPU per request against `none`, pair by pair.

use tailwater_stats::PairedRatio;
use tailwater_stats::result::{AskedRun, CostOfControl, Run};

/// One comparison for each controller, demand, objective and number of clients that ran beside
/// `none` in at least two valid repetitions.
pub(crate) fn of(runs: &[Run]) -> Vec<CostOfControl> {
    let mut costs: Vec<CostOfControl> = Vec::new();
    for run in runs.iter().filter(|run| run.asked.controller != "none") {
        let known = costs.iter().any(|cost| {
            cost.controller == run.asked.controller
                && cost.profile == run.asked.profile
                && same_setting(&run.asked, cost.clients, cost.slo_us, cost.demand_ratio)
        });
        if !known && let Some(cost) = of_group(runs, &run.asked) {
            costs.push(cost);
        }
    }
    costs
}

fn of_group(runs: &[Run], like: &AskedRun) -> Option<CostOfControl> {
    let group = |run: &&Run| {
        run.verdict.valid && same_setting(&run.asked, like.clients, like.slo_us, like.demand_ratio)
    };
    let pairs: Vec<(f64, f64)> = runs
        .iter()
        .filter(group)
        .filter(|run| run.asked.controller == like.controller && run.asked.profile == like.profile)
        .filter_map(|run| {
            let none = beside(runs, &run.asked)?;
            Some((none.server.cpu_ns_per_request, run.server.cpu_ns_per_request))
        })
        // What could not be read is stored as zero.
        .filter(|(none, own)| *none > 0.0 && *own > 0.0)
        .collect();
    Some(CostOfControl {
        controller: like.controller.clone(),
        profile: like.profile.clone(),
        clients: like.clients,
        slo_us: like.slo_us,
        demand_ratio: like.demand_ratio,
        ratio: PairedRatio::of(&pairs).ok()?,
    })
}

/// The valid run of `none` beside another one. Where there are several, as with a threading model each, it is the one that is
/// called alike: the cost of control is not that of a model.
fn beside<'a>(runs: &'a [Run], like: &AskedRun) -> Option<&'a Run> {
    let is_beside = |other: &&Run| {
        other.asked.controller == "none"
            && other.asked.repetition == like.repetition
            && other.asked.arrivals == like.arrivals
            && same_setting(&other.asked, like.clients, like.slo_us, like.demand_ratio)
    };
    let all: Vec<&Run> = runs.iter().filter(is_beside).collect();
    let found = match all[..] {
        [only] => Some(only),
        _ => all.iter().copied().find(|other| other.asked.profile == like.profile),
    };
    found.filter(|none| none.verdict.valid)
}

/// Set by the scenario, so equal to the last bit but for the demand, which a capacity went into.
fn same_setting(asked: &AskedRun, clients: u32, slo_us: f64, demand_ratio: f64) -> bool {
    asked.clients == clients
        && (asked.slo_us - slo_us).abs() < 1e-9
        && (asked.demand_ratio - demand_ratio).abs() < 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{RunVerdict, ServerReading};

    fn run(controller: &str, repetition: u32, cpu: f64, valid: bool) -> Run {
        Run {
            asked: AskedRun { controller: controller.into(), repetition, ..AskedRun::default() },
            server: ServerReading { cpu_ns_per_request: cpu, ..ServerReading::default() },
            verdict: RunVerdict { valid, ..RunVerdict::default() },
            ..Run::default()
        }
    }

    #[test]
    fn pairs_are_of_one_repetition_and_both_valid() {
        let runs = [
            run("none", 0, 10.0, true),
            run("breakwater", 0, 11.0, true),
            run("breakwater", 1, 22.0, true),
            run("none", 1, 20.0, true),
            run("none", 2, 10.0, false),
            run("breakwater", 2, 99.0, true),
        ];
        let costs = of(&runs);
        assert_eq!(costs.len(), 1);
        assert_eq!(costs[0].ratio.pairs, 2);
        assert!((costs[0].ratio.ratio - 1.1).abs() < 1e-9);
    }

    /// One such run left the controller without any comparison.
    #[test]
    fn a_run_whose_cpu_time_is_not_known_is_in_no_pair() {
        let mut runs = Vec::new();
        for (at, none, own) in [(0, 10.0, 11.0), (1, 10.0, 0.0), (2, 20.0, 22.0), (3, 0.0, 9.0)] {
            runs.extend([run("none", at, none, true), run("breakwater", at, own, true)]);
        }
        let costs = of(&runs);
        assert_eq!(costs.iter().map(|cost| cost.ratio.pairs).collect::<Vec<_>>(), [2]);
        assert!((costs[0].ratio.ratio - 1.1).abs() < 1e-9);
        assert!(of(&runs[..4]).is_empty(), "one pair has no spread");
    }

    /// The first of them was the one for all, and the cost of a threading model one of control.
    #[test]
    fn of_several_without_control_the_one_called_alike_is_compared_with() {
        let of = |controller: &str, profile: &str, cpu| {
            [0, 1].map(|at| Run {
                asked: AskedRun { profile: profile.into(), ..run(controller, at, cpu, true).asked },
                ..run(controller, at, cpu, true)
            })
        };
        let nones = [of("none", "model=sib", 10.0), of("none", "model=sdb", 20.0)].concat();
        let ours = [of("breakwater", "model=sdb", 22.0), of("breakwater", "own", 99.0)].concat();
        let costs = super::of(&[nones, ours].concat());
        assert_eq!(costs.len(), 1, "{costs:?}");
        assert_eq!((&*costs[0].profile, costs[0].ratio.pairs), ("model=sdb", 2));
        assert!((costs[0].ratio.ratio - 1.1).abs() < 1e-9);
    }
}
