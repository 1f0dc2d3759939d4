//! An experiment over a driver whose answers are known.

use std::time::Duration;
use tailwater_core::Rate;
use tailwater_experiment::{
    ClosedLoop, Cost, Driver, MergeError, OpenRun, Piece, Played, Shard, Silence, Spoiled,
    TierCores, Watch, check, merge, pieces, run, run_shard,
};
use tailwater_stats::Subject;
use tailwater_stats::naming::RunName;
use tailwater_stats::result::{
    AnswerReading, AskedRun, Discard, Experiment, Fates, Manifest, Noise, Rates, Run, Series,
};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::ControllerSpec;

const STEADY: &str = r#"
slo = "400us"
warm_up = "10ms"
duration = "100ms"
repetitions = 2
[server]
service = { distribution = "constant", mean = "10us" }
[clients]
count = [50, 100]
[demand]
of_capacity = [0.5, 2.0]
[[controller]]
name = "none"
[[controller]]
name = "breakwater"
override = { beta = 0.1 }
"#;

/// Serves all that is asked, up to what it can.
struct Table {
    drifts: bool,
    /// Heights of the sweeps to come; the last stays.
    capacities: Vec<f64>,
    asked: Vec<ClosedLoop>,
    /// Controller, demand in requests per second and seed of each run.
    runs: Vec<(String, f64, u64)>,
    /// Steal of the runs to come; none where they end.
    steal: Vec<f64>,
    /// Wrong answers of the runs to come; none where they end.
    wrong_answers: Vec<u64>,
    /// The run that fails, from 0.
    fails_at: Option<usize>,
    /// Of the next run.
    trouble: Option<String>,
}

impl Table {
    fn of(drifts: bool, capacities: &[f64]) -> Self {
        Self {
            drifts,
            capacities: capacities.to_vec(),
            asked: Vec::new(),
            runs: Vec::new(),
            steal: Vec::new(),
            wrong_answers: Vec::new(),
            fails_at: None,
            trouble: None,
        }
    }
}

impl Driver for Table {
    type Failure = String;

    fn name(&self) -> &'static str {
        "table"
    }

    fn manifest(&self) -> Manifest {
        Manifest::default()
    }

    fn drifts(&self) -> bool {
        self.drifts
    }

    fn cost(&self, _: &ControllerSpec, capacity: Rate) -> Cost {
        let overhead_ns = 1e9 / capacity.0 - 10_000.0;
        Cost {
            cores: 1,
            queues: 1,
            replicas: 1,
            sleeps: false,
            overhead_ns,
            path_overhead_ns: 0.0,
            tier_cores: TierCores::AsSaid,
            base: Duration::ZERO,
        }
    }

    fn closed_loop(&mut self, ask: &ClosedLoop) -> Result<Vec<(u32, f64)>, String> {
        let height = match self.capacities.len() {
            1 => self.capacities[0],
            _ => self.capacities.remove(0),
        };
        self.asked.push(ask.clone());
        Ok(ask.in_flight.iter().map(|&in_flight| (in_flight, height)).collect())
    }

    fn open_run(&mut self, ask: &OpenRun<'_>) -> Result<Played, String> {
        if self.fails_at == Some(self.runs.len()) {
            return Err("it broke".into());
        }
        let demand = ask.demand.steps.last().map_or(0.0, |step| step.rate.0);
        self.runs.push((ask.spec.name.clone(), demand, ask.seed));
        let steal_ratio = if self.steal.is_empty() { 0.0 } else { self.steal.remove(0) };
        let wrong = &mut self.wrong_answers;
        let wrong = if wrong.is_empty() { 0 } else { wrong.remove(0) };
        let bins = ask.configuration.bin().map(|bin| {
            let bins = ask.configuration.duration.as_nanos() / bin.as_nanos();
            Series {
                bin_us: bin.as_secs_f64() * 1e6,
                demand_ratio: vec![0.0; bins as usize],
                ..Series::default()
            }
        });
        let run = Run {
            asked: AskedRun {
                clients: ask.configuration.clients,
                slo_us: 400.0,
                ..AskedRun::default()
            },
            rates: Rates {
                offered_rps: ask.configuration.mean_demand(Rate(100e3)).0,
                goodput_rps: 50e3,
                ..Rates::default()
            },
            fates: Fates { ok: 100, ..Fates::default() },
            noise: Noise { steal_ratio, ..Noise::default() },
            answers: AnswerReading { wrong, partial: 0 },
            series: bins,
            ..Run::default()
        };
        Ok(Played { run, points: Vec::new(), trouble: self.trouble.take() })
    }
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse("scenarios/test.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn experiment(text: &str, table: &mut Table) -> Experiment {
    run(&scenario(text), table, &mut Silence).unwrap()
}

fn places(found: &Experiment) -> Vec<(u32, f64, String, u32)> {
    let place = |run: &Run| {
        (run.asked.clients, run.asked.demand_ratio, run.asked.profile.clone(), run.asked.repetition)
    };
    found.runs.iter().map(place).collect()
}

#[test]
fn runs_stand_in_the_files_order_whatever_order_they_were_made_in() {
    let still = experiment(STEADY, &mut Table::of(false, &[100e3]));
    let mut table = Table::of(true, &[100e3]);
    let drifting = experiment(STEADY, &mut table);
    assert_eq!(places(&still), places(&drifting));
    assert_eq!(places(&still)[0], (50, 0.5, "default".into(), 0));
    assert_eq!(places(&still)[3], (50, 0.5, "default [beta=0.1]".into(), 1));
    let made: Vec<_> = table.runs.iter().map(|(name, rate, _)| (name, rate.to_bits())).collect();
    let back: Vec<_> = made[4..8].iter().rev().copied().collect();
    assert_eq!(made[..4], back, "forth and back");
    assert_eq!(table.runs[0].2, table.runs[3].2, "all of a repetition are asked the same");
}

#[test]
fn where_nothing_drifts_capacity_is_measured_once_for_each_number_of_clients() {
    let mut still = Table::of(false, &[100e3]);
    experiment(STEADY, &mut still);
    assert_eq!(still.asked.len(), 2);
    let mut drifting = Table::of(true, &[100e3]);
    experiment(STEADY, &mut drifting);
    assert_eq!(drifting.asked.len(), 6);
    assert_eq!(drifting.asked[0], drifting.asked[2], "the same requests before and after");
    assert_eq!(drifting.asked[0].in_flight, [16, 50, 200]);
    assert_eq!(
        [false, true].map(|drifts| pieces(&scenario(STEADY), Shard::WHOLE, drifts)),
        [18, 22]
    );
}

#[test]
fn a_block_is_quoted_against_the_capacities_around_it() {
    let found = experiment(STEADY, &mut Table::of(true, &[100e3, 110e3, 120e3]));
    let of = |repetition| found.runs.iter().find(|run| run.asked.repetition == repetition).unwrap();
    assert_eq!((of(0).yardstick.capacity_rps, of(1).yardstick.capacity_rps), (105e3, 115e3));
    assert!((of(0).rates.goodput_of_capacity - 50.0 / 105.0).abs() < 1e-9);
    assert!((of(0).yardstick.capacity_drift - 10.0 / 105.0).abs() < 1e-9);
    let twice =
        found.runs.iter().find(|run| run.asked.repetition == 1 && run.asked.demand_ratio > 1.0);
    let (bound, capacity) = (twice.unwrap().yardstick.bound_rps, 115e3);
    assert!((bound / capacity - 1.0).abs() < 0.02, "{bound}: by the mean, as the share of it");
    assert_eq!(found.capacity_rps, 110e3);
    assert!((found.capacity_drift - 20.0 / 110.0).abs() < 1e-9);
}

#[test]
fn a_scenario_may_measure_capacity_around_every_run() {
    let text = STEADY
        .replace("count = [50, 100]", "count = 50")
        .replace("repetitions = 2", "repetitions = 1")
        .replace(
            "[demand]",
            "[capacity]\nevery = 1\n[validity]\ncapacity_drift_max = 0.15\n[demand]",
        );
    let found = experiment(&text, &mut Table::of(true, &[100e3, 110e3, 100e3, 125e3, 125e3]));
    let mut drifts: Vec<f64> = found.runs.iter().map(|run| run.yardstick.capacity_drift).collect();
    drifts.sort_by(f64::total_cmp);
    let expected = [0.0, 10.0 / 105.0, 10.0 / 105.0, 25.0 / 112.5];
    assert!(
        drifts.iter().zip(expected).all(|(found, due)| (found - due).abs() < 1e-9),
        "{drifts:?}"
    );
    let changed = |why: &&String| why.starts_with("capacity");
    let why: Vec<_> = found
        .runs
        .iter()
        .flat_map(|run| run.verdict.invalid_because.iter().filter(changed))
        .collect();
    assert_eq!(why, ["capacity changed by 22.2 % around it, above 15.0 %"]);
    let before: Vec<u32> = found.capacities.iter().map(|reading| reading.repetition).collect();
    assert_eq!(before, [0, 0, 0, 0, 1]);
    assert_eq!(pieces(&scenario(&text), Shard::WHOLE, true), 9);
}

/// Each repetition had another ratio, so that none was folded with another.
#[test]
fn a_demand_in_requests_per_second_has_one_name_in_all_repetitions() {
    let text = STEADY.replace("of_capacity = [0.5, 2.0]", "requests_per_second = 50000");
    let found = experiment(&text, &mut Table::of(true, &[100e3, 110e3, 120e3]));
    let fifty: Vec<_> = found.summary.iter().filter(|summary| summary.clients == 50).collect();
    assert_eq!(fifty.len(), 2, "one for each controller");
    assert!(fifty.iter().all(|summary| summary.repetitions == 2));
    assert_eq!(fifty[0].demand_ratio, 0.5);
}

/// The mean demand of a cycle of 0.2 and 1.8 × is the capacity; what a pause leaves over is lost.
#[test]
fn the_bound_of_steps_is_the_mean_of_the_bounds_of_each() {
    let steps = STEADY
        .replace("duration = \"100ms\"\n", "")
        .replace("count = [50, 100]", "count = 50")
        .replace(
            "of_capacity = [0.5, 2.0]",
            "steps = [{ of_capacity = 0.2, for = \"50ms\" }, { of_capacity = 1.8, for = \"50ms\" }]",
        );
    let found = experiment(&steps, &mut Table::of(false, &[100e3]));
    let run = &found.runs[0];
    assert!((run.asked.demand_ratio - 1.0).abs() < 1e-9);
    let share = run.yardstick.bound_rps / 100e3;
    assert!((0.55..0.62).contains(&share), "{share}: half of 0.2 and half of 1.0");
    let demand = &run.series.as_ref().unwrap().demand_ratio;
    assert_eq!((demand[9], demand[10]), (0.2, 1.8));
}

/// Every run has a goodput of half the capacity, be it asked for or not.
#[test]
fn a_goodput_above_the_bound_is_told_and_counts() {
    let text = STEADY.replace("of_capacity = [0.5, 2.0]", "of_capacity = [0.2, 2.0]");
    let found = experiment(&text, &mut Table::of(false, &[100e3]));
    let (low, high): (Vec<&Run>, Vec<&Run>) =
        found.runs.iter().partition(|run| run.asked.demand_ratio < 1.0);
    assert!(!low.is_empty() && low.len() == high.len());
    for run in low {
        let why = run.verdict.in_doubt.as_deref().unwrap_or_default();
        assert!(run.verdict.valid && why.ends_with("may have been measured too low"), "{why}");
    }
    assert!(high.iter().all(|run| run.verdict.in_doubt.is_none()));
}

#[test]
fn a_run_whose_server_ended_does_not_count() {
    let mut table = Table::of(false, &[100e3]);
    table.trouble = Some("the server did not stay".into());
    let found = experiment(STEADY, &mut table);
    let invalid: Vec<_> = found.runs.iter().filter(|run| !run.verdict.valid).collect();
    assert_eq!(invalid.len(), 1, "{invalid:?}");
    assert_eq!(invalid[0].verdict.invalid_because, ["the server did not stay"]);
}

#[test]
fn a_noisy_run_is_made_again_and_the_third_stands() {
    let once = STEADY
        .replace("count = [50, 100]", "count = 50")
        .replace("repetitions = 2", "repetitions = 1");
    let mut table = Table::of(true, &[100e3]);
    table.steal = vec![0.5, 0.0, 0.5, 0.5, 0.5];
    let found = experiment(&once, &mut table);
    assert_eq!(found.service, "constant, mean 10us");
    assert_eq!(found.discarded.len(), 3);
    // It was told as `0.50 ×, 50 clients, SLO 400us`, and the run that stands for it as `0.5×, 50 clients, SLO 400 µs`.
    let called: Vec<String> =
        found.runs.iter().map(|run| RunName::of(&run.asked).to_string()).collect();
    for Discard { what, .. } in &found.discarded {
        assert!(called.contains(what), "{what} in {called:?}");
        assert!(what.ends_with("×, 50 clients, SLO 400 µs, repetition 0"), "{what}");
    }
    // The first was quiet at its second try; the next was not at its third, and the others at once.
    let noisy: Vec<_> = found.runs.iter().filter(|run| !run.verdict.valid).collect();
    assert_eq!(noisy.len(), 1, "{noisy:?}");
    assert!(noisy[0].verdict.invalid_because[0].contains("steal"), "{noisy:?}");
}

/// What only shows that it works needs no quiet: CI would wait three times as long on a busy machine.
#[test]
fn a_noisy_run_of_a_short_version_stands() {
    let short = scenario(STEADY).shorten();
    let mut table = Table::of(true, &[100e3]);
    table.steal = vec![0.5];
    let found = run(&short, &mut table, &mut Silence).expect("it plays");
    assert!(found.discarded.is_empty(), "{:?}", found.discarded);
    let mut why = found.runs.iter().flat_map(|run| &run.verdict.invalid_because);
    assert!(why.any(|why| why.contains("steal")), "the noisy one");
}

/// What broke may be what made the noise, and another try would hide it.
#[test]
fn a_noisy_run_with_wrong_answers_or_trouble_stands() {
    let once = STEADY
        .replace("count = [50, 100]", "count = 50")
        .replace("repetitions = 2", "repetitions = 1");
    let mut table = Table::of(true, &[100e3]);
    (table.steal, table.trouble) = (vec![0.5], Some("a tier died".into()));
    let found = experiment(&once, &mut table);
    let why: Vec<_> = found.runs.iter().flat_map(|run| &run.verdict.invalid_because).collect();
    assert!(found.discarded.is_empty() && why.iter().any(|why| *why == "a tier died"), "{why:?}");

    let mut table = Table::of(true, &[100e3]);
    (table.steal, table.wrong_answers) = (vec![0.5], vec![3]);
    let found = experiment(&once, &mut table);
    assert!(found.discarded.is_empty(), "{:?}", found.discarded);
    assert_eq!(found.runs.iter().map(|run| run.answers.wrong).sum::<u64>(), 3);
}

/// A hand on Ctrl-C while capacity is measured.
struct AtOnce;

impl Watch for AtOnce {
    fn begins(&mut self, _: &str) {}

    fn done(&mut self, _: Piece) {}

    fn stops(&self) -> bool {
        true
    }
}

#[test]
fn no_run_begins_after_a_stop_during_the_measurement_of_capacity() {
    for drifts in [false, true] {
        let mut table = Table::of(drifts, &[100e3]);
        let found = run(&scenario(STEADY), &mut table, &mut AtOnce).unwrap();
        assert_eq!((found.runs.len(), table.runs.len(), table.asked.len()), (0, 0, 1));
    }
}

/// A hand on Ctrl-C after so many runs.
struct After(u32);

impl Watch for After {
    fn begins(&mut self, _: &str) {}

    fn done(&mut self, piece: Piece) {
        self.0 -= u32::from(piece == Piece::Run);
    }

    fn stops(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn what_was_run_before_a_stop_or_a_failure_is_kept() {
    let found = run(&scenario(STEADY), &mut Table::of(true, &[100e3]), &mut After(3)).unwrap();
    assert_eq!(found.runs.len(), 3);
    assert_eq!(found.capacities.len(), 1);
    // Where nothing drifts two are played at once, and the third is lost with the fourth.
    for (drifts, kept) in [(false, 2), (true, 3)] {
        let mut broken = Table::of(drifts, &[100e3]);
        broken.fails_at = Some(3);
        let unfinished = run(&scenario(STEADY), &mut broken, &mut Silence).unwrap_err();
        assert_eq!(unfinished.failure, "it broke");
        let made = unfinished.made;
        assert_eq!((made.runs.len(), made.capacities.len()), (kept, 1));
        assert!(
            made.runs.iter().all(|run| run.yardstick.capacity_rps == 100e3),
            "quoted like any other"
        );
    }
}

/// Hears of runs that do not count.
#[derive(Default)]
struct Listener(Vec<Spoiled>);

impl Watch for Listener {
    fn begins(&mut self, _: &str) {}

    fn done(&mut self, _: Piece) {}

    fn spoiled(&mut self, spoiled: &Spoiled) {
        self.0.push(spoiled.clone());
    }

    fn stops(&self) -> bool {
        false
    }
}

/// What is told of runs that do not count.
fn told(text: &str, mut table: Table) -> Vec<Spoiled> {
    let mut listener = Listener::default();
    run(&scenario(text), &mut table, &mut listener).expect("it plays");
    listener.0
}

/// It was told at the end alone, after most of an hour.
#[test]
fn that_most_runs_do_not_count_is_told_once_after_the_first_round() {
    let noisy = |drifts| Table { steal: vec![0.5; 100], ..Table::of(drifts, &[100e3]) };
    let why = "steal 50.0 % of a core, above 1.0".to_owned();
    let subject = Some(Subject::Steal);
    let round = Spoiled { runs: 4, ended: 4, subject, alike: 4, why };
    assert_eq!(told(STEADY, noisy(true)), std::slice::from_ref(&round));
    // Where nothing drifts a round is all that one capacity serves.
    assert_eq!(told(STEADY, noisy(false)), [Spoiled { runs: 8, ended: 8, alike: 8, ..round }]);
    let found = told(STEADY, Table::of(true, &[100e3, 50e3, 100e3]));
    let drifts: Vec<_> = found.iter().map(|it| (it.runs, it.ended, it.subject)).collect();
    assert_eq!(drifts, [(4, 4, Some(Subject::Drift))]);
    assert!(told(STEADY, Table::of(true, &[100e3])).is_empty());
}

/// They are noisy at once, and their capacity is known behind the round alone.
#[test]
fn ten_noisy_runs_are_told_within_a_round() {
    let long = STEADY
        .replace("count = [50, 100]", "count = 50")
        .replace("of_capacity = [0.5, 2.0]", "of_capacity = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]");
    let table = Table { steal: vec![0.5; 100], ..Table::of(true, &[100e3]) };
    let found = told(&long, table);
    assert_eq!(found.iter().map(|it| (it.runs, it.ended)).collect::<Vec<_>>(), [(10, 10)]);
}

#[test]
fn runs_that_do_not_count_are_left_to_the_result_where_no_others_follow() {
    let once = STEADY
        .replace("count = [50, 100]", "count = 50")
        .replace("repetitions = 2", "repetitions = 1");
    let table = Table { steal: vec![0.5; 100], ..Table::of(true, &[100e3]) };
    assert!(told(&once, table).is_empty());
}

/// Tiers on shared cores are switched often, and would never have a valid run.
#[test]
fn a_scenario_may_say_by_which_rules_its_runs_count() {
    let once = STEADY
        .replace("count = [50, 100]", "count = 50")
        .replace("repetitions = 2", "repetitions = 1");
    let noisy = |text: &str| {
        let mut table = Table::of(false, &[100e3]);
        table.steal = vec![0.5; 100];
        experiment(text, &mut table)
    };
    let usual = noisy(&once);
    assert!(!usual.runs.is_empty() && usual.runs.iter().all(|run| !run.verdict.valid));
    assert_eq!(usual.rules, None);
    let lenient = noisy(&once.replace("[demand]", "[validity]\nsteal_max = 0.6\n[demand]"));
    assert_eq!(lenient.runs.len(), usual.runs.len());
    assert!(lenient.runs.iter().all(|run| run.verdict.valid) && lenient.discarded.is_empty());
    assert_eq!(lenient.rules.map(|rules| (rules.steal_max, rules.offered_min)), Some((0.6, 0.98)));
}

/// Four configurations of two controllers, one more than a shard in some divisions.
fn shards(of: u32) -> Vec<Experiment> {
    let one = |index| {
        let (mut table, shard) = (Table::of(false, &[100e3]), Shard::new(index, of).unwrap());
        let scenario = scenario(STEADY);
        let mut found = run_shard(&scenario, shard, &mut table, &mut Silence).unwrap();
        assert_eq!(
            pieces(&scenario, shard, false),
            (table.runs.len() + table.asked.len()) as u64,
            "progress ends at its end"
        );
        found.shard = Some(shard.mark(&scenario, "one program".into()));
        found
    };
    (0..of).map(one).collect()
}

#[test]
fn shards_in_any_order_are_merged_to_what_one_machine_finds() {
    let whole = format!("{:?}", experiment(STEADY, &mut Table::of(false, &[100e3])));
    for of in 1..=8 {
        let mut parts = shards(of);
        parts.reverse();
        assert_eq!(format!("{:?}", merge(parts).unwrap()), whole, "{of} shards");
    }
}

#[test]
fn what_is_not_all_shards_of_one_result_is_refused() {
    let refused = |change: fn(&mut Vec<Experiment>)| {
        let mut parts = shards(4);
        change(&mut parts);
        merge(parts).unwrap_err()
    };
    assert_eq!(refused(Vec::clear), MergeError::Nothing);
    let missing = refused(|parts| parts.truncate(2));
    assert_eq!(missing.to_string(), "shards 2, 3 of 0 to 3 missing; run them");
    assert_eq!(refused(|parts| parts[2] = parts[1].clone()), MergeError::Twice(1));
    assert_eq!(refused(|parts| parts[3].shard = None), MergeError::NoShard(3));
    assert_eq!(refused(|parts| parts[1].seed = 7), MergeError::Foreign(1));
    let other = |parts: &mut Vec<Experiment>| {
        parts[2].shard.as_mut().unwrap().digest = "other".into();
    };
    assert_eq!(refused(other), MergeError::Foreign(2));
    let built = |parts: &mut Vec<Experiment>| {
        parts[3].shard.as_mut().unwrap().build = "another program".into();
    };
    assert_eq!(refused(built), MergeError::Foreign(3));
    let contradicts = |parts: &mut Vec<Experiment>| parts[2].capacities[0].plateau_rps += 1.0;
    assert_eq!(refused(contradicts), MergeError::Foreign(2));
    let damages: [fn(&mut Vec<Experiment>); 4] = [
        |parts| drop(parts[1].runs.remove(0)),
        |parts| drop(parts[1].runs.drain(..2)),
        |parts| parts[1].shard.as_mut().unwrap().index = 7,
        |parts| parts[1].shard.as_mut().unwrap().of = 0,
    ];
    for damage in damages {
        assert_eq!(refused(damage), MergeError::Damaged(1));
    }
    // Four billion pairs, and no run of any.
    let empty = |parts: &mut Vec<Experiment>| {
        for part in parts {
            part.runs.clear();
            let mark = part.shard.as_mut().unwrap();
            (mark.pairs, mark.repetitions) = (u32::MAX, 0);
        }
    };
    assert_eq!(refused(empty), MergeError::Damaged(0));
    let cut = refused(|parts| parts[0].cut_short = Some("ended by SIGTERM".into()));
    assert!(cut.to_string().starts_with("shard 0 was cut short (ended by SIGTERM)"), "{cut}");
}

/// By default gradient allows 100 requests in the server for each core, and 200 at least: 500 are too many for one.
#[test]
fn controllers_are_checked_for_the_cores_of_the_server_and_of_each_tier() {
    let is_sound = |front: u32, leaf: u32| {
        let text = format!(
            r#"
slo = "1ms"
warm_up = "1ms"
duration = "10ms"
clients.count = 10
demand.requests_per_second = 1_000
controller = {{ name = "gradient", override = {{ limit_initial = 500 }} }}
sim.cores = {front}
[[server.path]]
probability = 1.0
steps = [{{ compute = "3us" }}, {{ call = "leaf" }}]
[[tier]]
name = "leaf"
nodes = 1
cores = {leaf}
service = "20us"
"#
        );
        check(&scenario(&text)).is_ok()
    };
    let found = [(10, 10), (1, 10), (10, 1)].map(|(front, leaf)| is_sound(front, leaf));
    assert_eq!(found, [true, false, false]);
}
