//! The scenarios of tiers, each with its result on sockets or in the simulator.

use super::{head, line};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Run, Spread};

/// A line for each scenario, driver, controller and demand; numbers of the valid runs alone.
pub(super) fn table(results: &[String]) -> String {
    let heads = ["scenario", "driver", "controller", "asked", "p50", "p99", "in time", "runs"];
    let mut text = head(&heads.map(str::to_owned));
    for result in results {
        let result: Experiment = serde_json::from_str(result).expect("a result");
        let mut seen: Vec<(&str, f64)> = Vec::new();
        for run in &result.runs {
            let group = (&*run.asked.controller, run.asked.demand_ratio);
            if !seen.contains(&group) {
                seen.push(group);
                text += &line(&row(&result, group));
            }
        }
    }
    text
}

fn row(result: &Experiment, (controller, demand): (&str, f64)) -> Vec<String> {
    let ours = |run: &&Run| run.asked.controller == controller && run.asked.demand_ratio == demand;
    let all: Vec<&Run> = result.runs.iter().filter(ours).collect();
    let valid: Vec<&Run> = all.iter().copied().filter(|run| run.verdict.valid).collect();
    let of = |field: fn(&Run) -> f64, shown: fn(f64) -> String| {
        let values: Vec<f64> = valid.iter().map(|run| field(run)).collect();
        if values.is_empty() { "–".to_owned() } else { shown(Spread::of(&values).median) }
    };
    vec![
        format!("`{}`", result.scenario),
        result.driver.clone(),
        controller.to_owned(),
        of(|run| run.rates.asked_rps, |rps| format!("{rps:.0}/s")),
        of(|run| run.latency.p50_us, time),
        of(|run| run.latency.p99_us, time),
        of(
            |run| run.rates.goodput_rps / run.rates.offered_rps,
            |share| format!("{} %", percent(share)),
        ),
        format!("{} of {} count", valid.len(), all.len()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{AskedRun, LatencyReading, Rates, RunVerdict};

    #[test]
    fn runs_that_do_not_count_have_no_numbers() {
        let run = |controller: &str, valid| Run {
            asked: AskedRun { controller: controller.into(), ..AskedRun::default() },
            rates: Rates {
                asked_rps: 400.0,
                offered_rps: 400.0,
                goodput_rps: 300.0,
                ..Rates::default()
            },
            latency: LatencyReading { p50_us: 100.0, p99_us: 2_000.0, ..LatencyReading::default() },
            verdict: RunVerdict { valid, ..RunVerdict::default() },
            ..Run::default()
        };
        let runs = vec![run("none", true), run("none", false), run("breakwater", false)];
        let (scenario, driver) = ("hedge".into(), "sim".into());
        let result = Experiment { scenario, driver, runs, ..Experiment::default() };
        let text = table(&[serde_json::to_string(&result).expect("it has text keys")]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| `hedge` | sim | none | 400/s | 100 µs | 2.00 ms | 75 % | 1 of 2 count |",
                "| `hedge` | sim | breakwater | – | – | – | – | 0 of 1 count |"
            ]
        );
    }
}
