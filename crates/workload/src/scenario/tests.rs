use super::*;
use tailwater_core::{Rate, Ratio};

mod keys;
mod messages;

/// The least that a file must say.
const LEAST: &str = r#"
slo = "400us"
server.service = { distribution = "exponential", mean = "10us" }
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
"#;

fn parse(text: &str) -> Scenario {
    Scenario::parse("x.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn defaults_fill_what_is_left_out() {
    let scenario = parse(LEAST);
    assert_eq!((scenario.name.as_str(), scenario.title.as_str()), ("x", "x"));
    assert_eq!((scenario.seed, scenario.repetitions), (1, 5));
    assert_eq!(scenario.warm_up, Duration::from_millis(500));
    assert_eq!(scenario.duration, Duration::from_secs(2));
    assert_eq!((scenario.server.loops, scenario.clients.threads), (1, 1));
    assert_eq!(scenario.server.model, Model::default());
    assert_eq!(scenario.controllers[0].title(), "none (default)");
    assert_eq!(scenario.sim.rtt, Duration::from_micros(25));
    assert_eq!(scenario.capacity.fixed, None);
    assert_eq!(scenario.capacity.sweep(100), [25, 100, 400]);
    assert_eq!(scenario.capacity.sweep(1), [16]);
    assert_eq!(scenario.capacity.sweep(1_000_000), [4_096]);
}

/// A publication's servers know nothing of deadlines.
#[test]
fn deadlines_are_enforced_unless_a_publication_is_reproduced_or_the_file_says_so() {
    let text = LEAST.replace(
        "[{ name = \"none\" }]",
        "[{ name = \"none\" }, { name = \"breakwater\", profile = \"paper\" }, \
         { name = \"seda\", preset = \"breakwater-osdi20/10us\" }]",
    );
    let enforced = |line: &str| -> Vec<bool> {
        let scenario = parse(&format!("{line}{text}"));
        let server = &scenario.server;
        scenario.controllers.iter().map(|said| server.enforces_deadlines(said)).collect()
    };
    assert_eq!(enforced(""), [true, false, false]);
    assert_eq!(enforced("server.enforce_deadlines = true\n"), [true; 3]);
    assert_eq!(enforced("server.enforce_deadlines = false\n"), [false; 3]);
}

#[test]
fn a_name_is_a_file_name_without_folders_and_ending() {
    for (file, name) in [
        ("scenarios/overload.toml", "overload"),
        ("overload", "overload"),
        ("C:\\runs\\spike.toml", "spike"),
    ] {
        let scenario = Scenario::parse(file, LEAST).expect("the text is sound");
        assert_eq!((scenario.name.as_str(), scenario.file.as_str()), (name, file));
    }
}

#[test]
fn configurations_are_the_cross_product_in_order() {
    let text = LEAST
        .replace("\"400us\"", "[\"400us\", \"200us\"]")
        .replace("count = 100", "count = [100, 1000]")
        .replace("of_capacity = 1.0", "of_capacity = [0.5, 2]");
    let scenario = parse(&text);
    let found: Vec<(u128, u32, f64)> = scenario
        .configurations()
        .iter()
        .map(|c| (c.slo.as_micros(), c.clients, c.demand_ratio(Rate(70_000.0)).0))
        .collect();
    let expected = [
        (400, 100, 0.5),
        (400, 100, 2.0),
        (400, 1_000, 0.5),
        (400, 1_000, 2.0),
        (200, 100, 0.5),
        (200, 100, 2.0),
        (200, 1_000, 0.5),
        (200, 1_000, 2.0),
    ];
    assert_eq!(found, expected);
    assert_eq!(scenario.runs(), 40);
    assert_eq!(scenario.length(), Duration::from_secs(100));
    assert_eq!(
        scenario.summary(),
        "x: 2 SLOs × 2 client counts × 2 demands × 1 controller × 5 repetitions = 40 runs of 2.5s, \
         100s in all"
    );
}

#[test]
fn absolute_demand_needs_no_capacity() {
    let text = LEAST.replace("of_capacity = 1.0", "requests_per_second = 50_000");
    let configuration = parse(&text).configurations().remove(0);
    let plan = configuration.demand_plan(Rate(0.0));
    assert_eq!(plan.requests(), 125_000.0);
    assert_eq!(configuration.demand_ratio(Rate(0.0)), Ratio(0.0));
    assert_eq!(configuration.demand_ratio(Rate(100_000.0)), Ratio(0.5));
}

const STEPS: &str = "repeat = 3\ndemand.steps = [{ of_capacity = 0.5, for = \"200ms\" }, \
                     { requests_per_second = 3000, for = \"100ms\" }]";

fn stepped() -> Scenario {
    parse(&LEAST.replace("of_capacity = 1.0", STEPS))
}

#[test]
fn steps_warm_up_at_the_first_and_repeat() {
    let scenario = stepped();
    assert_eq!(scenario.duration, Duration::from_millis(900));
    let configuration = scenario.configurations().remove(0);
    assert_eq!(configuration.bin(), Some(Duration::from_millis(5)));
    let plan = configuration.demand_plan(Rate(2_000.0));
    assert_eq!(plan.steps.len(), 7);
    let rate = |ms| plan.rate_at(Duration::from_millis(ms)).0;
    let found = [0, 499, 699, 700, 799, 800, 1_399].map(rate);
    let expected = [1e3, 1e3, 1e3, 3e3, 3e3, 1e3, 3e3];
    assert_eq!(found, expected);
    let mean = configuration.demand_ratio(Rate(2_000.0)).0;
    assert!((mean - 5.0 / 6.0).abs() < 1e-12, "{mean}");
}

#[test]
fn a_step_with_another_end_is_a_ramp() {
    let text = "demand.steps = [{ of_capacity = 0.5, to = 1.5, for = \"200ms\" }, \
                { requests_per_second = 3000, to = 0, for = \"100ms\" }]";
    let scenario = parse(&LEAST.replace("demand.of_capacity = 1.0", text));
    for configuration in
        [&scenario, &scenario.clone().shorten()].map(|it| it.configurations().remove(0))
    {
        let plan = configuration.demand_plan(Rate(2_000.0));
        let ends: Vec<_> = plan.steps.iter().map(|step| (step.rate.0, step.end.0)).collect();
        assert_eq!(ends, [(1e3, 1e3), (1e3, 3e3), (3e3, 0.0)], "the warm-up is flat");
    }
    let mean = scenario.configurations()[0].mean_demand(Rate(2_000.0)).0;
    assert!((mean - (2_000.0 * 0.2 + 1_500.0 * 0.1) / 0.3).abs() < 1e-9, "{mean}");
}

#[test]
fn the_short_version_keeps_the_ends_of_demand() {
    let text = LEAST
        .replace("\"400us\"", "[\"400us\", \"200us\"]")
        .replace("of_capacity = 1.0", "of_capacity = [1, 2, 0.5, 1.5]");
    let short = parse(&text).shorten();
    let ratios: Vec<f64> =
        short.configurations().iter().map(|c| c.demand_ratio(Rate(1_000.0)).0).collect();
    assert_eq!(ratios, [0.5, 2.0]);
    assert_eq!((short.slo.len(), short.repetitions, short.tries), (1, 1, 1));
    assert_eq!(short.length(), Duration::from_millis(800));
}

#[test]
fn the_short_version_keeps_every_step_and_whole_bins() {
    let short = stepped().shorten();
    let cycle = short.demand.cycle().expect("steps stay steps");
    assert_eq!((cycle.steps.len(), cycle.repeat), (2, 1));
    let bins = short.duration.as_nanos() / cycle.bin.as_nanos();
    assert_eq!(short.duration, cycle.length());
    assert_eq!(short.duration, cycle.bin * u32::try_from(bins).expect("few"));
}

#[test]
fn controllers_keep_order_spelling_and_place_of_their_overrides() {
    let text = LEAST.replace(
        "{ name = \"none\" }",
        "{ name = \"breakwater\", profile = \"paper\",\n  \
         override = { target_delay = \"80us\", alpha = 0.002, aqm = false, pool_min = 0x10 } }",
    );
    let scenario = parse(&text);
    let spec = &scenario.controllers[0];
    let pairs: Vec<_> = spec.overrides.iter().map(|o| (o.key.as_str(), o.value.as_str())).collect();
    let expected =
        [("target_delay", "80us"), ("alpha", "0.002"), ("aqm", "false"), ("pool_min", "16")];
    assert_eq!(pairs, expected);
    assert_eq!(
        spec.title(),
        "breakwater (paper, target_delay=80us, alpha=0.002, aqm=false, pool_min=16)"
    );
    let place = |line, column| TextPlace { line, column };
    assert_eq!(spec.place_of("alpha"), place(7, 39));
    assert_eq!(spec.place_of("paper"), place(6, 48));
    assert_eq!(spec.place_of("breakwater"), place(6, 24));
    let error = scenario.error_at(spec.place_of("alpha"), "alpha is 7; 0 to 1 is needed");
    assert_eq!(error.to_string(), "x.toml:7:39: alpha is 7; 0 to 1 is needed");
}

#[test]
fn a_preset_applies_before_the_overrides_and_is_blamed_for_its_own() {
    let text = LEAST.replace(
        "{ name = \"none\" }",
        "{ name = \"seda\", preset = \"breakwater-osdi20/10us\",\n  override = { adj_i = 4 } }",
    );
    let spec = parse(&text).controllers.remove(0);
    assert_eq!(spec.title(), "seda (default, preset=breakwater-osdi20/10us, adj_i=4)");
    let steps: Vec<_> = spec.settings().into_iter().filter(|(key, _)| key == "adj_i").collect();
    assert_eq!(steps, [("adj_i".into(), "40".into()), ("adj_i".into(), "4".into())]);
    assert_eq!(spec.place_of("adj_i").line, 7);
    assert_eq!(spec.place_of("adj_d"), TextPlace { line: 6, column: 41 });
}

#[test]
fn repetitions_have_seeds_of_their_own_that_the_scenario_seed_decides() {
    let scenario = parse(LEAST);
    let seeds = |scenario: &Scenario| [0, 1, 2].map(|r| scenario.seed_of_repetition(r));
    let mut other = scenario.clone();
    other.seed = 2;
    let all = [seeds(&scenario), seeds(&other)].concat();
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), 6);
    assert_eq!(seeds(&scenario), seeds(&parse(LEAST)));
}
