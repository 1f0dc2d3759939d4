//! Why a run's share of the bound is in doubt. Results never decide which runs count, so such a run stays valid.

use crate::bound::{carried_over, over};
use std::time::Duration;
use tailwater_core::Rate;
use tailwater_core::duration::format_duration;
use tailwater_stats::result::Run;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Amount, Configuration, Course, CycleStep};

/// Goodput may exceed the bound by so much: the bound itself is drawn.
const ABOVE_BOUND_MAX: f64 = 1.05;

/// How much of the bound a run's goodput is, and why more than all of it; `None` where chance explains it.
///
/// Allowed for is what the schedule drew beyond the rate that was asked for. Three standard errors of the service times
/// that goodput and bound drew are allowed for, too. `before` is the capacity that demand was a share of and that the bound is
/// made of, `after` the one that was measured next.
pub(crate) fn doubt(
    run: &Run,
    scenario: &Scenario,
    configuration: &Configuration,
    (before, after): (Rate, Rate),
) -> Option<String> {
    let (rates, yardstick) = (&run.rates, &run.yardstick);
    let drawn = if rates.asked_rps > 0.0 { rates.offered_rps / rates.asked_rps } else { 1.0 };
    let bound_rps = yardstick.bound_rps.max(run.known_bound_rps) * drawn.max(1.0);
    let most = ABOVE_BOUND_MAX + 3.0 * yardstick.bound_error;
    let exceeds = |bound_rps: f64| rates.goodput_rps > most * bound_rps;
    if bound_rps <= 0.0 || !exceeds(bound_rps) {
        return None;
    }
    let found = 100.0 * rates.goodput_rps / bound_rps;
    let carried_rps = match &configuration.course {
        Course::Steady(_) => 0.0,
        Course::Cycle(cycle) => carried_over(cycle, before, configuration.slo).0,
    };
    // Where the capacity fell, the bound was rather too high.
    let rise = if before.0 > 0.0 { (after.0 / before.0).max(1.0) } else { 1.0 };
    let rose = format!("the capacity rose by {:.1} % around it", 100.0 * (rise - 1.0));
    let later = format!(
        "an objective of {} lets later steps answer what a step leaves, and the bound counts each step alone",
        format_duration(configuration.slo)
    );
    let why = if !["", "poisson"].contains(&&*run.asked.arrivals) {
        format!(", which is that of Poisson arrivals, and these are {}", run.asked.arrivals)
    } else if !exceeds(bound_rps + carried_rps) {
        format!(": {later}")
    } else if !exceeds(bound_rps * rise) {
        format!(": {rose}")
    } else if !exceeds((bound_rps + carried_rps) * rise) {
        format!(": {later}, and {rose}")
    } else if scenario.capacity.fixed.is_some() {
        ", which nothing can beat: the scenario's capacity.fixed_rps is lower than what the server can do".to_owned()
    } else {
        ", which nothing can beat: the capacity around it may have been measured too low".to_owned()
    };
    Some(format!("goodput is {found:.0} % of the bound{why}"))
}

/// The longest objective of a scenario and its shortest step, where the objective is so long that goodput may exceed the
/// bound. Later steps then answer what a step leaves, and the bound counts each step alone. `None` elsewhere.
///
/// Whether steps leave something is not known where the capacity is measured, and demand is no share of it. There an
/// objective longer than a step counts.
#[must_use]
pub fn long_objective(scenario: &Scenario) -> Option<(Duration, Duration)> {
    let cycle = scenario.demand.cycle()?;
    let slo = scenario.slo.iter().copied().max()?;
    let step = cycle.steps.iter().map(|step| step.length).min()?;
    let is_share = |step: &CycleStep| {
        matches!((step.amount, step.end), (Amount::OfCapacity(_), Amount::OfCapacity(_)))
    };
    let shares = cycle.steps.iter().all(is_share).then_some(Rate(1.0));
    let is_long = match shares.or(scenario.capacity.fixed) {
        None => slo > step,
        Some(capacity) => {
            let served = over(cycle, capacity, |demand| Rate(demand.0.min(capacity.0)));
            served.0 + carried_over(cycle, capacity, slo).0 > ABOVE_BOUND_MAX * served.0
        }
    };
    is_long.then_some((slo, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{AskedRun, Rates, Yardstick};

    const STEADY: &str = r#"
slo = "400ms"
clients.count = 40
demand.of_capacity = 1.0
controller = { name = "none" }
server.service = { distribution = "exponential", mean = "100us" }
"#;
    const STEPS: &str = "demand.steps = [{ of_capacity = 2.0, for = \"200ms\" }, \
                         { of_capacity = 0.5, for = \"200ms\" }]";

    fn scenario(text: &str) -> Scenario {
        Scenario::parse("x.toml", text).unwrap()
    }

    fn stepped() -> String {
        STEADY.replace("demand.of_capacity = 1.0", STEPS)
    }

    /// A goodput of 112 % of the bound.
    fn beaten() -> Run {
        Run {
            rates: Rates {
                asked_rps: 10_000.0,
                offered_rps: 9_900.0,
                goodput_rps: 8_960.0,
                ..Rates::default()
            },
            yardstick: Yardstick { bound_rps: 8_000.0, ..Yardstick::default() },
            ..Run::default()
        }
    }

    fn told(run: &Run, text: &str) -> Option<String> {
        told_around(run, text, 10_000.0)
    }

    /// The same, where the capacity was another one behind the run.
    fn told_around(run: &Run, text: &str, after: f64) -> Option<String> {
        let scenario = scenario(text);
        let around = (Rate(10_000.0), Rate(after));
        doubt(run, &scenario, &scenario.configurations()[0], around)
    }

    #[test]
    fn a_bound_that_is_beaten_is_in_doubt() {
        let doubt = |run: Run| told(&run, STEADY);
        let why = "goodput is 112 % of the bound, which nothing can beat: the capacity around it may have been measured too low";
        assert_eq!(doubt(beaten()).as_deref(), Some(why));
        let bound = |bound_rps, bound_error| {
            let yardstick = Yardstick { bound_rps, bound_error, ..Yardstick::default() };
            doubt(Run { yardstick, ..beaten() })
        };
        assert_eq!(bound(8_600.0, 0.0), None);
        assert_eq!(doubt(Run { known_bound_rps: 9_000.0, ..beaten() }), None, "costs known");
        assert_eq!(
            doubt(Run { rates: Rates { offered_rps: 11_500.0, ..beaten().rates }, ..beaten() }),
            None,
            "more was drawn"
        );
        assert_eq!(bound(0.0, 0.0), None, "there is none");
        assert_eq!(bound(8_000.0, 0.03), None, "9 points may be chance");
        assert!(bound(8_000.0, 0.02).is_some());
    }

    #[test]
    fn other_arrivals_and_capacities_are_named() {
        let even =
            Run { asked: AskedRun { arrivals: "periodic".into(), ..beaten().asked }, ..beaten() };
        let why = "goodput is 112 % of the bound, which is that of Poisson arrivals, and these are periodic";
        assert_eq!(told(&even, STEADY).as_deref(), Some(why));
        assert_eq!(
            told(
                &Run {
                    asked: AskedRun { arrivals: "poisson".into(), ..beaten().asked },
                    ..beaten()
                },
                STEADY
            ),
            told(&beaten(), STEADY)
        );
        let why = "goodput is 112 % of the bound: the capacity rose by 10.0 % around it";
        let drifted = |after| told_around(&beaten(), STEADY, after);
        assert_eq!(drifted(11_000.0).as_deref(), Some(why));
        assert_eq!(drifted(10_500.0), drifted(10_000.0), "so small a rise does not explain it");
        assert_eq!(drifted(8_000.0), drifted(10_000.0), "a fall explains nothing");
        let fixed = told(&beaten(), &format!("capacity.fixed_rps = 10_000\n{STEADY}"));
        let fixed = fixed.unwrap_or_default();
        let why = "capacity.fixed_rps is lower than what the server can do";
        assert!(fixed.ends_with(why), "{fixed}");
    }

    /// The capacity was blamed where an objective was longer than a step.
    #[test]
    fn an_objective_longer_than_a_step_is_the_cause_as_far_as_it_reaches() {
        let run = |goodput_rps| Run {
            yardstick: Yardstick { bound_rps: 7_500.0, ..beaten().yardstick },
            rates: Rates { goodput_rps, ..beaten().rates },
            ..beaten()
        };
        let of = |goodput_rps| told(&run(goodput_rps), &stepped()).unwrap_or_default();
        let cause = "goodput is 115 % of the bound: an objective of 400ms lets later steps answer what a step leaves, \
                     and the bound counts each step alone";
        assert_eq!(of(8_625.0), cause);
        assert_eq!(of(7_800.0), "", "chance");
        // With what the steps leave, 10,000 requests per second can be answered.
        let both = told_around(&run(10_700.0), &stepped(), 11_000.0).unwrap_or_default();
        assert!(
            both.ends_with("each step alone, and the capacity rose by 10.0 % around it"),
            "{both}"
        );
        assert!(of(10_700.0).ends_with("may have been measured too low"), "{}", of(10_700.0));
        let short = stepped().replace("slo = \"400ms\"", "slo = \"1ms\"");
        let why = told(&run(8_625.0), &short).unwrap_or_default();
        assert!(why.ends_with("may have been measured too low"), "{why}");
    }

    #[test]
    fn objectives_are_long_where_steps_leave_something_to_others() {
        let of = |text: &str| long_objective(&scenario(text));
        let ms = Duration::from_millis;
        assert_eq!(of(STEADY), None);
        assert_eq!(of(&stepped()), Some((ms(400), ms(200))));
        assert_eq!(of(&stepped().replace("400ms", "1ms")), None);
        assert_eq!(of(&stepped().replace("= 2.0", "= 0.9")), None, "nothing is left");
        let absolute = stepped().replace("of_capacity", "requests_per_second");
        let absolute = absolute.replace("= 2.0", "= 20_000").replace("= 0.5", "= 5_000");
        assert_eq!(of(&absolute), Some((ms(400), ms(200))), "the capacity is not known");
        assert_eq!(of(&absolute.replace("400ms", "200ms")), None);
        let fixed = |rps: u32| of(&format!("capacity.fixed_rps = {rps}\n{absolute}"));
        assert_eq!((fixed(10_000), fixed(30_000)), (Some((ms(400), ms(200))), None));
    }
}
