//! `tailwater locks`, and scenarios with locks, through the program.

use crate::common::{Folder, Serving, TAILWATER};
use serde_json::Value;
use std::process::{Command, Output};
use tailwater_load::paths::WALK;
use tailwater_rt::client::{CallError, Client};

/// Two mutexes, held across a timer.
const PATHS: &str = r#"title = "Two locks"
slo = "50ms"
warm_up = "100ms"
duration = "200ms"
repetitions = 1

[server.locks]
policy = "plain"

[[server.path]]
probability = 0.5
steps = [{ lock = "first", steps = [{ wait = "2ms" }] }]

[[server.path]]
probability = 0.5
steps = [{ lock = "second", steps = [{ wait = "2ms" }] }]

[clients]
count = 10

[demand]
requests_per_second = 3000

[capacity]
fixed_rps = 900
"#;

/// What is looked at is in disturbed runs, too; without this, each would be tried three times. The scenario is as
/// short already.
const TRIED_ONCE: &str = "--short";

/// Every family, and every policy under the last.
const CONTROLLERS: &[(&str, &str)] = &[
    ("breakwater", "asqm"),
    ("efficiency", "asqm"),
    ("dagor", "asqm"),
    ("seda", "asqm"),
    ("codel", "asqm"),
    ("window", "asqm"),
    ("gradient", "asqm"),
    ("aqm-only", "asqm"),
    ("none", "off"),
    ("none", "plain"),
    ("none", "try"),
    ("none", "timed:1ms"),
    ("none", "asqm"),
    ("none", "asqm:paper"),
    ("none", "asqm:artifact"),
];

fn tailwater(flags: &[&str]) -> Output {
    Command::new(TAILWATER).args(flags).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Two real services in place of the paths.
const APPLICATIONS: [(&str, &str); 2] = [
    ("key-value", "mix = \"var\"\nkeys = 2_000\nslabs_hold = \"300us\""),
    ("search", "text = \"generated\"\ndocuments = 2_000\nsegments = 4\nread = \"100us\""),
];

fn experiment(scenario: &str) -> String {
    let mut all = String::from(scenario);
    for (number, (name, locks)) in CONTROLLERS.iter().enumerate() {
        all += &format!(
            "\n[[controller]]\nname = \"{name}\"\nlocks = \"{locks}\"\nlabel = \"{number}\"\n"
        );
    }
    all
}

#[test]
fn one_scenario_with_paths_runs_on_both_drivers_under_every_controller_and_policy() {
    let folder = Folder::new("paths");
    let file = folder.write("paths.toml", &experiment(PATHS));
    for driver in ["loopback", "sim"] {
        let file = file.display().to_string();
        let output = tailwater(&["run", &file, "--on", driver, "--json", TRIED_ONCE]);
        assert!(!output.stdout.is_empty(), "{driver}: {}", text(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let runs = found["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), CONTROLLERS.len());
        for (run, (name, locks)) in runs.iter().zip(CONTROLLERS) {
            let place = format!("{name} with {locks} on {driver}");
            let refused = run["shed_by_reason"]["lock"].as_u64().unwrap_or(0);
            let fates = run["fates"].as_object().expect("fates");
            let sum: u64 = fates.values().map(|count| count.as_u64().expect("a count")).sum();
            // 600 on average; a machine that stalls must not fail it.
            assert!((300..900).contains(&sum), "{place}: {sum} requests have a fate: {run}");
            // Three times what the locks can hold arrives, and nobody else turns it away.
            let may_refuse = !["off", "plain"].contains(locks);
            let must_refuse = *name == "none" && may_refuse && !locks.starts_with("asqm:");
            assert!(!must_refuse || refused > 0, "{place}: {run}");
            assert!(may_refuse || refused == 0, "{place}: {run}");
            let told = run["locks"].as_array().expect("locks");
            let first = told.iter().find(|lock| lock["lock"] == "first").expect("its first lock");
            let count = |name: &str| first[name].as_u64().expect("a count");
            // A controller may keep so much away that nothing contends; and who only tries does not wait.
            let contends = *name == "none" && *locks != "try";
            assert!(!contends || count("contended") > 0, "{place}: {first}");
        }
    }
}

#[test]
fn both_applications_answer_rightly_under_every_controller_and_policy() {
    let folder = Folder::new("applications");
    let (head, rest) = PATHS.split_once("[server.locks]").expect("a server");
    let (_, clients) = rest.split_once("[clients]").expect("clients");
    for (application, settings) in APPLICATIONS {
        let server =
            format!("[server]\napplication = \"{application}\"\n[server.settings]\n{settings}");
        let text_of = experiment(&format!("{head}{server}\n[clients]{clients}"));
        let file = folder.write(&format!("{application}.toml"), &text_of);
        let (file, data) = (file.display().to_string(), folder.0.display().to_string());
        let output = tailwater(&["run", &file, "--json", TRIED_ONCE, "--data", &data]);
        assert!(!output.stdout.is_empty(), "{application}: {}", text(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let runs = found["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), CONTROLLERS.len());
        // Where others take the cores one controller may turn everything away.
        let answered = |run: &&Value| run["throughput_rps"].as_f64().expect("a rate") > 0.0;
        let answered = runs.iter().filter(answered).count();
        assert!(answered > runs.len() / 2, "{application}: {answered} runs have answers: {found}");
        for (run, (name, locks)) in runs.iter().zip(CONTROLLERS) {
            let place = format!("{application}: {name} with {locks}: {run}");
            let why = run["invalid_because"].as_array().expect("a list");
            assert!(!why.iter().any(|why| why.to_string().contains("wrong")), "{place}");
        }
    }
}

#[test]
fn locks_lists_names_and_budgets_of_a_running_server() {
    let folder = Folder::new("locks");
    let file =
        folder.write("paths.toml", &(PATHS.to_owned() + "[[controller]]\nname = \"none\"\n"));
    let file = file.display().to_string();
    let serving = Serving::start(&["--scenario", &file, "--locks", "try", "--controller", "none"]);
    let client = Client::connect(serving.address.parse().expect("an address")).expect("a client");
    let walks: Vec<_> = (0..50_u64)
        .map(|seed| client.call(WALK.0, [&seed.to_le_bytes()[..], &[0; 4]].concat()))
        .collect();
    let shed = CallError::Shed(tailwater_control::Reason::Lock);
    let refused = walks.into_iter().filter_map(|walk| walk.wait().err()).map(|why| {
        assert_eq!(why, shed);
    });
    let refused = refused.count() as u64;
    assert!(refused > 0, "fifty at once, at two locks");

    let output = tailwater(&["locks", &serving.address, "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let locks = told["locks"].as_array().expect("a list");
    let names: Vec<_> = locks.iter().map(|lock| lock["lock"].as_str().expect("a name")).collect();
    assert!(names.len() == 2 && names.contains(&"first") && names.contains(&"second"), "{told}");
    let counted: u64 = locks.iter().map(|lock| lock["refused"].as_u64().expect("a count")).sum();
    assert_eq!(counted, refused);
    assert_eq!(told["budgets"]["target_us"], 60e6, "its objective");

    let output = tailwater(&["locks", &serving.address]);
    let table = text(&output.stdout);
    assert!(table.starts_with("A request may queue for "), "{table}");
    assert!(table.contains("second") && table.contains("refused"), "{table}");
    // The words of the table are those of the JSON.
    assert!(locks[0]["contended"].is_u64() && table.contains("contended"), "{table}");
}

#[test]
fn locks_of_a_server_without_any_says_how_to_name_one() {
    let serving = Serving::start(&["--controller", "none"]);
    let output = tailwater(&["locks", &serving.address]);
    assert!(text(&output.stdout).contains("Mutex::named"), "{}", text(&output.stdout));
}

#[test]
fn locks_that_are_not_told_say_how_to_be_told() {
    let serving = Serving::start(&["--controller", "none", "--introspection", "off"]);
    let output = tailwater(&["locks", &serving.address]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--introspection anyone"), "{said}");
    assert!(!said.contains("listening there?"), "a server is: {said}");
}

#[test]
fn locks_of_a_server_that_is_not_there_say_what_connecting_said() {
    let address = format!("unix:{}", Folder::new("no-server").0.join("socket").display());
    let output = tailwater(&["locks", &address]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("cannot connect to {address}: ")), "{said}");
    assert!(said.contains("is a tailwater server listening there?"), "{said}");
}

#[test]
fn bad_input_is_refused_with_what_was_found_and_what_is_needed() {
    let folder = Folder::new("bad-locks");
    let none = "[[controller]]\nname = \"none\"\n";
    let file = folder.write("paths.toml", &(PATHS.to_owned() + none));
    let calls = PATHS.replace("{ wait = \"2ms\" }", "{ call = \"leaf\" }")
        + none
        + "[[tier]]\nname = \"leaf\"\nservice = \"1ms\"\n";
    let calls = folder.write("calls.toml", &calls);
    let unknown = PATHS[..PATHS.find("[[server.path]]").expect("it has paths")].to_owned()
        + "[server]\napplication = \"key-vlaue\"\n[clients]\ncount = 1\n[demand]\n\
           of_capacity = 1.0\n"
        + none;
    let unknown = folder.write("unknown.toml", &unknown);
    let [file, calls, unknown] = [file, calls, unknown].map(|file| file.display().to_string());
    let cases: &[(&[&str], &[&str])] = &[
        (&["serve", "--scenario", &file, "--locks", "spin"], &["'spin'", "asqm:artifact"]),
        (&["serve", "--scenario", &file, "--locks", "timed:0s"], &["'timed:0s'"]),
        (&["serve", "--locks", "try"], &["--scenario"]),
        (&["serve", "--scenario", &calls], &["tier leaf", "--downstream leaf=ADDRESS"]),
        (&["serve", "--scenario", &calls, "--tier", "leaves"], &["no tier leaves", "leaf"]),
        (&["serve", "--scenario", &calls, "--downstream", "leaf"], &["NAME=ADDRESS"]),
        (
            &["serve", "--scenario", &calls, "--downstream", "leaf=127.0.0.1:1,127.0.0.1:2"],
            &["2 addresses", "1 nodes"],
        ),
        (&["run", &unknown, "--on", "loopback"], &["unknown.toml:11", "\"key-vlaue\"", "paths"]),
        (&["run", &unknown, "--on", "sim"], &["unknown.toml:11", "--on loopback"]),
        (&["locks", "nowhere"], &["nowhere"]),
        (&["serve", "--introspection", "all"], &["'all'", "anyone"]),
    ];
    for (flags, needed) in cases {
        let output = tailwater(flags);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        for word in *needed {
            assert!(said.contains(word), "{flags:?}: {word} is missing in: {said}");
        }
    }
}
