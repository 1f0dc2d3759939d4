//! Scenario files through the program: the bad ones name file, line, what was found and what is
//! needed; a good one becomes one JSON object and files.

use crate::common::{Folder, TAILWATER};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// 10 clients, 5,000 requests/s for 300 ms, of a server that is said to do 20,000.
const TINY: &str = r#"title = "Tiny"
slo = "50ms"
warm_up = "100ms"
duration = "300ms"
repetitions = 1
seed = 7

[server]
service = { distribution = "constant", mean = "10us", work = "sleep" }

[clients]
count = 10

[demand]
requests_per_second = 5000

[capacity]
fixed_rps = 20000

[[controller]]
name = "none"

[[controller]]
name = "breakwater"
"#;

fn run(file: &Path, flags: &[&str]) -> Output {
    Command::new(TAILWATER)
        .arg("run")
        .arg(file)
        .args(flags)
        .env_remove("TAILWATER_SHORT")
        .output()
        .expect("the program starts")
}

/// What the program says about TINY with `good` replaced by `bad`, which must name that line.
fn complaint(folder: &Folder, good: &str, bad: &str) -> String {
    assert!(TINY.contains(good), "{good}");
    let text = TINY.replacen(good, bad, 1);
    let file = folder.write("bad.toml", &text);
    let output = run(&file, &["--on", "sim"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{bad}: {said}");
    assert!(output.stdout.is_empty(), "{bad}");
    let line = TINY[..TINY.find(good).expect("it is there")].lines().count() + 1;
    let place = format!("{}:{line}:", file.display());
    assert!(said.contains(&place), "{bad}: '{place}' was needed in: {said}");
    said
}

#[test]
fn a_bad_file_is_refused_with_file_line_found_and_needed() {
    let folder = Folder::new("bad-scenario");
    let cases = [
        ("seed = 7", "seed = \"seven\"", &["seed", "\"seven\"", "whole number"][..]),
        ("warm_up = \"100ms\"", "warm_up = \"100 parsecs\"", &["warm_up", "100 parsecs"]),
        ("repetitions = 1", "repetitions = 0", &["repetitions", "0", "1"]),
        ("repetitions = 1", "repetition = 1", &["repetition", "repetitions"]),
        ("count = 10", "count = -3", &["clients.count", "-3"]),
        ("count = 10", "count = 99999999", &["clients.count", "99999999", "1000000"]),
        ("requests_per_second = 5000", "requests_per_second = nan", &["requests_per_second"]),
        ("[demand]", "[demand", &["not TOML"]),
        ("title = \"Tiny\"", "title = \"\u{0}\"", &["not TOML"]),
    ];
    for (good, bad, words) in cases {
        let said = complaint(&folder, good, bad);
        for word in words {
            assert!(said.contains(word), "{bad}: '{word}' was needed in: {said}");
        }
    }
}

#[test]
fn what_only_the_catalog_knows_is_refused_at_its_line_as_well() {
    let folder = Folder::new("bad-controller");
    let name = complaint(&folder, "name = \"none\"", "name = \"windbreaker\"");
    assert!(name.contains("'windbreaker' is unknown; known are none, breakwater"), "{name}");
    let near = complaint(&folder, "name = \"none\"", "name = \"breakwatr\"");
    assert!(near.contains("is unknown; did you mean breakwater? Known are none, "), "{near}");
    let with = |rest: &str| format!("name = \"breakwater\"\n{rest}");
    let unknown = with("override = { speed = 3 }");
    let line = |said: &str, number: usize| said.contains(&format!("bad.toml:{number}:"));
    let folder = Folder::new("bad-setting");
    for (bad, words) in [
        (unknown, ["speed", "known are target_delay"]),
        (with("override = { alpha = 7 }"), ["alpha", "0 to 1"]),
        (with("profile = \"poster\""), ["'poster'", "known are default"]),
    ] {
        let file = folder.write("bad.toml", &TINY.replacen("name = \"breakwater\"", &bad, 1));
        let output = run(&file, &["--on", "sim"]);
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(line(&said, 25), "line 25 was needed in: {said}");
        for word in words {
            assert!(said.contains(word), "'{word}' was needed in: {said}");
        }
    }
}

#[test]
fn a_file_that_is_not_there_or_no_text_is_refused_by_name() {
    let folder = Folder::new("no-scenario");
    let missing = folder.0.join("missing.toml");
    let binary = folder.0.join("binary.toml");
    std::fs::write(&binary, [0xff, 0xfe, 0, 1]).expect("a file");
    let mends = ["tailwater new NAME", "it is no text; a scenario", "a folder; a scenario"];
    for (file, mend) in [&missing, &binary, &folder.0].into_iter().zip(mends) {
        let output = run(file, &[]);
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&file.display().to_string()), "{said}");
        assert!(said.contains(mend), "{said}");
    }
}

#[test]
fn a_result_agrees_with_itself_and_no_result_is_refused() {
    let folder = Folder::new("compare");
    let file = folder.0.join("tiny.toml");
    std::fs::write(&file, TINY).expect("a file");
    let output = run(&file, &["--on", "sim", "--json"]);
    let result = folder.0.join("result.json");
    std::fs::write(&result, &output.stdout).expect("a file");
    let compare = |second: &Path| {
        let arguments = [Path::new("compare"), &result, second];
        Command::new(TAILWATER).args(arguments).output().expect("it runs")
    };
    let same = compare(&result);
    let said = String::from_utf8(same.stdout).expect("text");
    assert!(said.contains("within 5 points of capacity in 2 of 2 configurations"), "{said}");
    let refused = compare(&file);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).expect("text");
    assert!(said.contains("this is no result of tailwater run"), "{said}");
}

/// An empty folder was left.
#[test]
fn a_comparison_that_is_refused_makes_no_folder() {
    let folder = Folder::new("compare-refused");
    let result = |name: &str, text: &str| {
        let file = folder.write("tiny.toml", text);
        let output = run(&file, &["--on", "sim", "--json"]);
        folder.write(name, &String::from_utf8_lossy(&output.stdout))
    };
    let one = result("one.json", TINY);
    let other = result("other.json", &TINY.replace("count = 10", "count = 11"));
    let out = folder.0.join("compared");
    let compare = |first: &Path, second: &Path| {
        let mut command = Command::new(TAILWATER);
        command.arg("compare").args([first, second]).arg("--out").arg(&out);
        command.output().expect("it runs")
    };
    for (first, why) in [
        (folder.0.join("mistyped.json"), "mistyped.json: there is no such file; a folder of"),
        (folder.0.clone(), "result.json: there is no such file; a folder of tailwater run --out"),
        (folder.0.join("tiny.toml"), "this is no result of tailwater run"),
        (other, "in the second; give two results of the same scenario"),
    ] {
        for refused in [compare(&first, &one), compare(&one, &first)] {
            let said = String::from_utf8_lossy(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{said}");
            assert!(said.contains(why) && !out.exists(), "{said}");
        }
    }
    let compared = compare(&one, &one);
    assert!(compared.status.success() && out.join("index.html").exists(), "{compared:?}");
}

/// Other controllers for [`TINY`], as a scenario may name them. What a busy machine does voids no run: names are compared,
/// and no numbers.
const VARIANTS: &str = r#"[validity]
offered_min = 0
lateness_of_slo_max = 10
steal_max = 1024
server_involuntary_max_per_s = 1_000_000
load_involuntary_max_per_s = 1_000_000

[[controller]]
name = "breakwater"

[[controller]]
name = "breakwater"
override = { target_delay = "10ms" }

[[controller]]
name = "breakwater"
override = { target_delay = "10ms", pause = 0 }
label = "tight"

[[controller]]
name = "breakwater"
profile = "paper"
preset = "breakwater-osdi20/10us"
"#;

#[test]
fn configurations_have_the_same_names_on_sockets_and_in_simulation() {
    let folder = Folder::new("both-drivers");
    let (head, _) = TINY.split_once("[[controller]]").expect("it has controllers");
    let file = folder.write("variants.toml", &format!("{head}{VARIANTS}"));
    let play = |driver: &str| {
        let output = run(&file, &["--on", driver, "--json"]);
        parsed(&output);
        folder.write(&format!("{driver}.json"), &String::from_utf8_lossy(&output.stdout))
    };
    let results = [play("loopback"), play("sim")];
    let compared =
        Command::new(TAILWATER).arg("compare").args(results).arg("--json").output().expect("runs");
    let found = parsed(&compared);
    let points = found["points"].as_array().expect("a list");
    assert_eq!((points.len(), &found["unmatched"]), (4, &Value::from(0)), "{found}");
    assert!(found["different"].is_null(), "they are of one scenario: {found}");
}

/// They named neither version nor commit.
#[test]
fn runs_of_figures_name_their_build() {
    let folder = Folder::new("figures-build");
    // What a short version left gives way to another.
    folder.write("compared.json", "{ \"tailwater\": \"\", \"short\": true, \"rows\": [] }");
    let mut command = Command::new(TAILWATER);
    command.args(["figures", "breakwater", "10", "--short", "--claims", "--out"]).arg(&folder.0);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read(folder.0.join("runs.json")).expect("it was written");
    let played: Vec<Value> = serde_json::from_slice(&text).expect("a list");
    assert!(!played.is_empty());
    for experiment in &played {
        for field in ["tailwater", "commit"] {
            let told = experiment["manifest"][field].as_str();
            assert!(told.is_some_and(|told| !told.is_empty()), "{field}: {experiment}");
        }
    }
}

/// All figures of a paper take minutes: what keeps them is looked at before.
#[test]
fn figures_are_put_into_no_other_file_and_that_is_told_with_what_to_give() {
    let folder = Folder::new("figures-into");
    let file = folder.write("notes.json", "[1, 2]");
    let mut command = Command::new(TAILWATER);
    command.args(["figures", "breakwater", "--into"]).arg(&file);
    command.arg("--out").arg(folder.0.join("out")).env_remove("TAILWATER_SHORT");
    let refused = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("notes.json: this is no compared.json"), "{said}");
    assert!(said.contains("give such a file by --into"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).expect("it stays"), "[1, 2]");
}

#[test]
fn every_verb_has_a_manual_page() {
    let page =
        |arguments: &[&str]| Command::new(TAILWATER).args(arguments).output().expect("it runs");
    for verb in ["run", "serve", "load"] {
        let page = String::from_utf8(page(&["man", verb]).stdout).expect("text");
        assert!(page.contains(&format!(".TH tailwater-{verb} 1")), "{page}");
    }
    assert!(page(&["man"]).status.success());
    let refused = page(&["man", "nothing"]);
    assert_eq!(refused.status.code(), Some(2));
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(why.contains("one of demo, run"), "{why}");
    // Verbs that only the program itself types.
    assert!(!why.contains("guard") && !why.contains("job"), "{why}");
}

/// The fields that the specification lists, of the whole and of each run.
fn has_what_was_promised(experiment: &Value) {
    for field in ["capacity_rps", "slo_us"] {
        assert!(experiment[field].is_number(), "{field}");
    }
    for field in ["tailwater", "commit"] {
        assert!(experiment["manifest"][field].is_string(), "{field}");
    }
    let runs = experiment["runs"].as_array().expect("a list");
    // Two controllers, one demand, one repetition. Of a run that the machine's own noise spoils the third try stands, and
    // those before it are published as discarded.
    let discarded = experiment["discarded"].as_array().expect("a list");
    assert_eq!(runs.len(), 2, "{discarded:?}");
    let tries = |run: &Value| discarded.iter().filter(|other| other["what"] == run["what"]).count();
    assert!(discarded.iter().all(|run| tries(run) <= 2), "{discarded:?}");
    for run in runs {
        for field in ["controller", "profile"] {
            assert!(run[field].is_string(), "{field}");
        }
        for field in [
            "clients",
            "demand_ratio",
            "offered_rps",
            "throughput_rps",
            "goodput_rps",
            "goodput_of_capacity",
            "goodput_of_bound",
            "p50_us",
            "p99_us",
            "p999_us",
            "drop_ratio",
            "reject_p50_us",
            "lateness_p99_us",
            "server_cpu_ns_per_request",
        ] {
            assert!(run[field].is_number(), "{field}: {}", run[field]);
        }
        assert!(run["valid"].is_boolean());
        fates_add_up(run);
    }
}

fn fates_add_up(run: &Value) {
    let fates = run["fates"].as_object().expect("an object");
    let names: Vec<_> = fates.keys().map(String::as_str).collect();
    let mut expected = ["ok", "late", "expired", "shed", "lost"];
    expected.sort_unstable();
    assert_eq!(names, expected);
    let total: u64 = fates.values().map(|fate| fate.as_u64().expect("a count")).sum();
    let offered = run["offered_rps"].as_f64().expect("a number");
    // Measured for 300 ms.
    let intended = offered * 0.3;
    let off = (f64::from(u32::try_from(total).expect("few")) - intended).abs();
    assert!(off < 0.5, "{total} fates of {intended} intended requests");
    // Poisson: five standard deviations.
    assert!(total.abs_diff(1_500) < 200, "{total} requests of about 1,500");
}

fn parsed(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    // On a busy machine no run over sockets may count; then there is no result, which is told all the same.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    serde_json::from_slice(&output.stdout).expect("one JSON object and nothing else")
}

#[test]
fn a_tiny_scenario_on_loopback_prints_one_object_and_writes_files() {
    let folder = Folder::new("loopback");
    let file = folder.write("tiny.toml", TINY);
    let out = folder.0.join("out");
    let out_flag = out.display().to_string();
    let experiment = parsed(&run(&file, &["--json", "--out", &out_flag]));
    has_what_was_promised(&experiment);
    assert_eq!(experiment["driver"], "loopback");
    assert_eq!(experiment["capacity_rps"], 20_000.0);
    assert_eq!(experiment["slo_us"], 50_000.0);
    let written = std::fs::read(out.join("result.json")).expect("it was written");
    let written: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(written, experiment);
    let page = std::fs::read_to_string(out.join("index.html")).expect("it was written");
    assert!(page.contains("Tiny") || page.contains("tiny"), "of another scenario");
    let names: Vec<String> = std::fs::read_dir(&out)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().any(|name| name.ends_with(".svg")), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with(".part")), "{names:?}");
}

#[test]
fn the_same_scenario_in_simulation_is_the_same_to_the_byte() {
    let folder = Folder::new("sim");
    let file = folder.write("tiny.toml", TINY);
    let first = run(&file, &["--on", "sim", "--json"]);
    let experiment = parsed(&first);
    has_what_was_promised(&experiment);
    assert_eq!(experiment["driver"], "sim");
    let again = run(&file, &["--on", "sim", "--json"]);
    assert!(first.stdout == again.stdout, "the second run differs from the first");
    let other = run(&file, &["--on", "sim", "--json", "--seed", "8"]);
    assert!(first.stdout != other.stdout, "another seed changes nothing");
}
