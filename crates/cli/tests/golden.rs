//! The golden report: every controller in short simulations of some scenarios, in coarse units, compared
//! byte for byte, so that a change of behaviour shows in review. The numbers are of runs too short to
//! quote.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tailwater_control::catalog::{CONTROLLERS, profiles_of};
use tailwater_stats::result::Run;
use tailwater_workload::Scenario;

/// What mends a difference that is wanted.
const MEND: &str = "TAILWATER_GOLDEN=write cargo test -p tailwater-cli --test golden";

/// One core and ten, long and uneven service, steps, locks.
const SCENARIOS: &[&str] =
    &["overload", "service-100us", "bimodal", "spike", "key-value", "paper/fig3"];

#[test]
fn behaviour_is_as_committed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let golden = root.join("tests/golden/report.txt");
    let found = report(&root);
    if std::env::var_os("TAILWATER_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&golden, &found).expect("the golden report is written");
        return;
    }
    let committed = std::fs::read_to_string(&golden).unwrap_or_default();
    let differing = found.lines().zip(committed.lines().chain(std::iter::repeat("")));
    let first = differing.enumerate().find(|(_, (found, committed))| found != committed);
    assert!(
        found == committed,
        "tests/golden/report.txt differs, first at line {}:\n{}\nIf that is wanted, type: {MEND}",
        first.map_or(found.lines().count() + 1, |(at, _)| at + 1),
        first.map_or(String::new(), |(_, (found, committed))| format!("- {committed}\n+ {found}")),
    );
}

/// A window of 50 ms holds some 450 requests of 100 µs, so that a point of capacity is five of them.
const SLACK: f64 = 3.0;

/// Breakwater's default is nowhere more than [`SLACK`] points of capacity behind another controller's default,
/// or behind its own published profiles.
#[test]
fn the_committed_report_has_the_laws_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let report = std::fs::read_to_string(root.join("tests/golden/report.txt")).expect("committed");
    let mut compared = 0;
    for rows in report.split("\n\n").flat_map(of_one_demand) {
        let goodput = |name: &str| rows.iter().find(|row| row.0 == name).map(|row| row.1);
        let ours = goodput("breakwater default").expect("a row of ours");
        for (name, theirs) in &rows {
            let (_, profile) = name.split_once(' ').expect("a name and a profile");
            if profile == "default" || name.starts_with("breakwater") {
                assert!(
                    ours >= theirs - SLACK,
                    "{name}: {theirs} against {ours} of ours in {rows:?}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared} rows");
}

/// Where more is asked than can be served: by the authors' code (OSDI '20, Figures 3 and 5) Breakwater is above DAGOR and
/// DAGOR above SEDA; and ours is above its AQM alone, which is above no control. None is behind the next by more than
/// [`SLACK`] points, and over all scenarios together each is clearly above it.
#[test]
fn the_committed_report_has_the_publications_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let report = std::fs::read_to_string(root.join("tests/golden/report.txt")).expect("committed");
    let orders = [
        ["breakwater artifact", "dagor artifact", "seda artifact"],
        ["breakwater default", "aqm-only default", "none default"],
    ];
    let mut leads = [[0.0; 2]; 2];
    let mut compared = 0;
    for rows in report.split("\n\n").flat_map(of_overload) {
        let goodput = |name: &str| {
            rows.iter().find(|row| row.0 == name).map(|row| row.1).expect("a row of each")
        };
        for (order, leads) in orders.iter().zip(&mut leads) {
            for (pair, lead) in order.windows(2).zip(leads) {
                let [above, below] = [pair[0], pair[1]].map(goodput);
                assert!(above >= below - SLACK, "{pair:?}: {above} against {below}");
                *lead += above - below;
                compared += 1;
            }
        }
    }
    assert!(compared >= 20, "{compared} pairs");
    assert!(leads.as_flattened().iter().all(|lead| *lead > 10.0), "{leads:?} of {orders:?}");
}

/// A scenario's rows, where 1.5 times the capacity or more is asked.
fn of_overload(scenario: &str) -> Vec<Vec<(String, f64)>> {
    let heavy = |line: &&str| {
        let demand = line.split_whitespace().nth(2).and_then(|word| word.parse::<f64>().ok());
        demand.is_none_or(|demand| demand >= 1.5)
    };
    of_one_demand(&scenario.lines().filter(heavy).collect::<Vec<_>>().join("\n"))
}

/// A scenario's rows by demand: each with its name and goodput.
fn of_one_demand(scenario: &str) -> Vec<Vec<(String, f64)>> {
    let mut rows: Vec<(&str, Vec<(String, f64)>)> = Vec::new();
    for line in scenario.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [controller, profile, demand, goodput, ..] = words[..] else { continue };
        let Ok(goodput) = goodput.parse() else { continue };
        let row = (format!("{controller} {profile}"), goodput);
        match rows.iter_mut().find(|(known, _)| *known == demand) {
            Some((_, rows)) => rows.push(row),
            None => rows.push((demand, vec![row])),
        }
    }
    rows.into_iter().map(|(_, rows)| rows).collect()
}

fn report(root: &Path) -> String {
    let mut text = format!("Short simulations, not to be quoted. Rewritten by: {MEND}\n");
    for name in SCENARIOS {
        of_scenario(&mut text, root, name);
    }
    text
}

fn of_scenario(text: &mut String, root: &Path, name: &str) {
    let path: PathBuf = root.join(format!("scenarios/{name}.toml"));
    let file = std::fs::read_to_string(&path).expect("the scenario is there");
    let mut scenario = Scenario::parse(name, &file).expect("the scenario is sound").shorten();
    let template = scenario.controllers[0].clone();
    scenario.controllers = variants()
        .map(|(name, profile)| {
            let mut controller = template.clone();
            (controller.name, controller.profile) = (name.into(), profile.into());
            (controller.preset, controller.label, controller.locks) = (None, None, None);
            controller.overrides.clear();
            controller
        })
        .collect();
    let experiment = tailwater_sim::run(&scenario).expect("the scenario runs");
    let _ = writeln!(text, "\n{name}\n{:<22} {}", "controller", HEADS.join(" "));
    for run in &experiment.runs {
        let _ = writeln!(text, "{}", row(run));
    }
}

/// Each controller with each profile.
fn variants() -> impl Iterator<Item = (&'static str, &'static str)> {
    let names = CONTROLLERS.iter().map(|(name, _)| *name);
    names.flat_map(|name| profiles_of(name).into_iter().map(move |profile| (name, profile)))
}

const HEADS: &[&str] =
    &["demand", "goodput %", "  p50 µs", "   p99 µs", "shed %", "expired %", "late %", "rx/req"];

fn row(run: &Run) -> String {
    let total = run.fates.total().max(1) as f64;
    let share = |count: u64| count as f64 / total * 100.0;
    let goodput = run.rates.goodput_of_capacity * 100.0;
    format!(
        "{:<22} {:>6.2} {goodput:>9.0} {:>8.0} {:>9.0} {:>6.0} {:>9.0} {:>6.0} {:>6.1}",
        format!("{} {}", run.asked.controller, run.asked.profile),
        run.asked.demand_ratio,
        run.latency.p50_us,
        run.latency.p99_us,
        share(run.fates.shed),
        share(run.fates.expired),
        share(run.fates.late),
        run.server.rx_per_request,
    )
}
