//! `tailwater suite` and `tailwater data`: real processes on generated documents.

use crate::common;
use crate::common::{Folder, TAILWATER};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Few documents, so that preparing takes a moment in a build for tests.
const SMALL: [&str; 8] =
    ["--set", "text=generated", "--set", "documents=2000", "--set", "queries=300", "--leaves", "3"];

fn tailwater(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(TAILWATER);
    command.args(arguments).env("TAILWATER_DATA", data).env_remove("TAILWATER_SHORT");
    command.output().expect("the program starts")
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Whether a run is void because of its answers.
fn is_wrong(run: &Value) -> bool {
    let reasons = run["invalid_because"].as_array().expect("reasons");
    let is_so = |why: &Value| why.to_string().contains("answers of the server were wrong");
    reasons.iter().any(is_so)
}

#[test]
fn a_service_runs_in_three_tiers_and_every_answer_is_right() {
    let folder = Folder::new("suite-run");
    let run = ["suite", "run", "setalgebra", "--short", "--json"];
    let result = answered(&folder, &[&run[..], &SMALL].concat());
    for run in result["runs"].as_array().expect("runs") {
        let tiers = run["tiers"].as_array().expect("tiers");
        let names: Vec<_> = tiers.iter().map(|tier| (&tier["tier"], &tier["nodes"])).collect();
        assert_eq!(names, [(&"".into(), &1.into()), (&"leaf".into(), &3.into())]);
        let rate = |tier: usize, of: &str| tiers[tier][of].as_f64().unwrap_or(0.0);
        // Each query that the front does not refuse goes to all leaves.
        assert!(rate(1, "received_rps") > rate(0, "served_rps"), "{tiers:?}");
        assert!(tiers.iter().all(|tier| tier["drop_ratio"].as_f64() <= Some(1.0)), "{tiers:?}");
    }
    let data = result["data"].as_array().expect("data");
    assert_eq!(data.len(), 2);
    for used in data {
        let about = used["about"].as_str().expect("text");
        assert!(about.contains("2000 generated documents"), "{about}");
        assert_eq!(used["sha256"].as_str().map(str::len), Some(64));
        assert_eq!(used["source"], "generated from seed 1");
    }
}

/// What `suite traits` tells of Set Algebra on few documents, in a shell that has typed this line before.
fn traits(folder: &Folder, before: &str, more: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}; exec \"$0\" \"$@\""), TAILWATER]);
    command.args(["suite", "traits", "setalgebra", "--short"]).args(SMALL).args(more);
    command.env("TAILWATER_DATA", &folder.0).env_remove("TAILWATER_SHORT");
    command.output().expect("there is a shell")
}

/// The loads of a service, each answered rightly, after what holds of every load was checked.
fn loads(found: &Value) -> &Vec<Value> {
    let service = &found["services"][0];
    assert_eq!(service["service"], "setalgebra");
    assert!(service["capacity"]["plateau_rps"].as_f64() > Some(0.0), "{}", service["capacity"]);
    let loads = service["loads"].as_array().expect("loads");
    assert_eq!(loads.len(), 2, "lowest and highest");
    for load in loads {
        for kind in ["plain", "watched"] {
            assert_eq!(load[kind]["wrong_answers"], 0);
            let latency = load[kind]["latency"].as_array().expect("a distribution");
            let rising = |two: &[Value]| two[0][1].as_f64() <= two[1][1].as_f64();
            assert!(latency.len() > 10 && latency.windows(2).all(rising), "{latency:?}");
            assert_eq!(load[kind]["tiers"][1]["tier"], "leaf");
        }
        let of = |at: usize, key: &str| load["plain"]["tiers"][at]["per_query"][key].as_f64();
        // Whether or not the kernel's events may be had. A query goes to three leaves; near capacity many are under way when
        // the window ends.
        let is_low = load["of_capacity"].as_f64() <= Some(0.3);
        let least = if is_low { 1.0 } else { 0.0 };
        assert!(of(1, "requests") > Some(least), "{load}");
        for at in [0, 1] {
            assert!(of(at, "core_ms") > Some(0.0) && of(at, "voluntary").is_some(), "{load}");
            assert!(of(at, "kernel_percent") <= Some(100.0), "{load}");
        }
    }
    loads
}

#[test]
fn what_services_ask_of_the_operating_system_is_told_per_query_and_tier() {
    let folder = Folder::new("suite-traits");
    let out = folder.0.join("traits");
    let output = traits(&folder, ":", &["--json", "--out", path(&out)]);
    let found = json(&output);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    for load in loads(&found) {
        // On a full machine a part may be late for its eighth of a short window, and is named then.
        let missing = load["watched"]["missing"].as_array().expect("sentences");
        let lacks = |what: &str| {
            missing
                .iter()
                .filter_map(Value::as_str)
                .any(|why| why.starts_with(&format!("No {what}")))
        };
        let traced = !lacks("system calls");
        for at in [0, 1] {
            let of = |key: &str| load["watched"]["tiers"][at]["per_query"][key].as_f64();
            assert_eq!(of("syscalls").is_some(), traced, "{load}");
            assert_eq!(of("net_rx").is_some(), !lacks("softirqs"), "{load}");
            assert_eq!(of("waits").is_some(), !lacks("waits for a core"), "{load}");
            if traced {
                let parts = ["futex", "send", "receive", "poll", "epoll_ctl", "other_calls"];
                let parts: f64 = parts.into_iter().filter_map(of).sum();
                // All of them enclose those that are told apart, but for a call that is made right then, and rounding.
                assert!(parts <= 1.01 * of("syscalls").unwrap_or(0.0) + 0.05, "{load}");
                let (waits, futex) = (of("futex_waits"), of("futex").unwrap_or(0.0));
                let is_part = waits.is_some_and(|waits| waits <= 1.01 * futex + 0.05);
                assert!(is_part || lacks("futex waits"), "{load}");
            }
        }
        // Each tier is a process of its own. On a full machine one call may read what several queries brought.
        let is_low = load["of_capacity"].as_f64() <= Some(0.3);
        for at in [0, 1].into_iter().filter(|_| traced && is_low) {
            let of = |key: &str| load["watched"]["tiers"][at]["per_query"][key].as_f64();
            assert!(of("send") > Some(0.0) && of("receive") > Some(0.0), "{load}");
        }
    }
    let page = fs::read_to_string(out.join("index.html")).expect("a page");
    let rises = found["services"][0]["capacity"]["still_rising"] == true;
    let said = if rises { "setalgebra answers " } else { "setalgebra saturates at " };
    assert!(page.contains(said) && page.contains("latency-setalgebra"), "{said}: {page}");
    assert!(out.join("latency-setalgebra.svg").is_file() && out.join("traits.json").is_file());
    // From the file alone the same is drawn.
    let (file, again) = (out.join("traits.json"), folder.0.join("again"));
    let from = ["suite", "traits", "--from", path(&file), "--out", path(&again)];
    let said = tailwater(&folder.0, &from);
    let told = |name: &str| fs::read_to_string(again.join(name)).ok();
    assert_eq!(told("index.html"), Some(page), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(said.status.code(), Some(0));
    // Where no run counts, a short version has shown what it should, and another has not.
    let text = told("traits.json").expect("it was written");
    let mut found: Value = serde_json::from_str(&text).expect("JSON");
    for kind in ["plain", "watched"] {
        let loads = found["services"][0]["loads"].as_array_mut().expect("loads");
        loads.iter_mut().for_each(|load| load[kind]["valid"] = 0.into());
    }
    for (short, code) in [(true, 0), (false, 1)] {
        found["short"] = short.into();
        let none = folder.0.join("none.json");
        fs::write(&none, found.to_string()).expect("there is room");
        let said = tailwater(&folder.0, &["suite", "traits", "--from", path(&none)]);
        assert_eq!(said.status.code(), Some(code), "{}", String::from_utf8_lossy(&said.stderr));
        let text = String::from_utf8_lossy(&said.stdout);
        assert_eq!(text.starts_with("A short version"), short, "{text}");
    }
    assert!(told("latency-setalgebra.svg").is_some() && told("traits.json").is_some());
    let other =
        tailwater(&folder.0, &["suite", "traits", "--from", path(&again.join("index.html"))]);
    assert_eq!(other.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&other.stderr)
            .contains("is it of suite traits --json, of this version?")
    );
    assert_eq!(tailwater(&folder.0, &from).status.code(), Some(0), "short ones give way");
    fs::write(again.join("traits.json"), "{ \"short\": false }").expect("there is room");
    let refused = tailwater(&folder.0, &from);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("holds a full result"), "{said}");
}

/// So few files may be open that no event of the kernel can be: whoever runs it, on whatever machine.
#[test]
fn without_the_kernels_events_the_rest_is_told_with_what_to_type() {
    let folder = Folder::new("suite-traits-without");
    let output = traits(&folder, "ulimit -n 72", &["--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for load in loads(&found) {
        let missing = load["watched"]["missing"].as_array().expect("sentences");
        assert_eq!(missing.len(), 3, "{missing:?}");
        let missing: Vec<&str> = missing.iter().filter_map(Value::as_str).collect();
        assert!(missing.iter().any(|why| why.starts_with("No system calls: ")), "{missing:?}");
        // What to do stands after a semicolon.
        assert!(missing.iter().all(|why| why.contains("; ") && why.ends_with('.')), "{missing:?}");
        assert_eq!(load["watched"]["tiers"][0]["syscalls"], Value::Object(Default::default()));
        assert!(load["watched"]["tiers"][0]["per_query"].get("waits").is_none(), "{load}");
    }
}

#[test]
fn settings_are_those_of_one_service() {
    let folder = Folder::new("suite-traits-usage");
    let output = tailwater(&folder.0, &["suite", "traits", "--set", "documents=3"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("each has settings of its own; name one"), "{said}");
    let output = tailwater(&folder.0, &["suite", "traits", "setalgebra", "setalgerba"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("found no service setalgerba"), "{said}");
}

/// Plays a service on three leaves: some requests are answered in each run, and none wrongly.
fn answered(folder: &Folder, words: &[&str]) -> Value {
    let output = tailwater(&folder.0, words);
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let runs = result["runs"].as_array().expect("runs");
    assert!(!runs.is_empty());
    for run in runs {
        // Late or refused on a busy machine, but never wrong: that would be no result.
        assert!(!is_wrong(run), "{}", run["invalid_because"]);
        let fates = ["ok", "late"].map(|fate| run["fates"][fate].as_u64().unwrap_or(0));
        assert!(fates.iter().sum::<u64>() > 0, "{}", run["fates"]);
        assert_eq!(run["tiers"][1]["nodes"], 3);
    }
    result
}

#[test]
fn predictions_are_asked_in_three_tiers_by_users_and_by_lines() {
    let folder = Folder::new("suite-recommend");
    let run = ["suite", "run", "recommend", "--short", "--json", "--leaves", "3"];
    let small = ["ratings=3000", "queries=300", "rank=6", "sweeps=4"];
    for sharding in ["sharding=users", "sharding=lines"] {
        let set = small.into_iter().chain([sharding]).flat_map(|setting| ["--set", setting]);
        let result = answered(&folder, &run.into_iter().chain(set).collect::<Vec<_>>());
        let data = result["data"].as_array().expect("data");
        let about = data.last().and_then(|used| used["about"].as_str()).expect("text");
        assert!(about.contains("RMSE ") && about.contains("biases alone"), "{about}");
        let names: Vec<&str> = data.iter().filter_map(|used| used["name"].as_str()).collect();
        assert_eq!(names.len(), 3);
        assert_eq!(names[0].ends_with("-3slices"), sharding == "sharding=lines", "{names:?}");
    }
}

#[test]
fn neighbours_are_asked_in_three_tiers_by_hashes_and_by_clusters() {
    let folder = Folder::new("suite-hdsearch");
    let run = ["suite", "run", "hdsearch", "--short", "--json", "--leaves", "3"];
    let small = ["points=2000", "dimensions=20", "queries=100", "recall_min=0.5", "probes=8"];
    for index in [&["index=lsh", "tables=8", "bits=6"][..], &["index=ivf", "lists=20"]] {
        let set = small.iter().chain(index).flat_map(|setting| ["--set", setting]);
        let result = answered(&folder, &run.into_iter().chain(set).collect::<Vec<_>>());
        let data = result["data"].as_array().expect("data");
        assert_eq!(data.len(), 4, "vectors, index, true neighbours and answers: {data:?}");
        let about = data.last().and_then(|used| used["about"].as_str()).expect("text");
        assert!(about.contains("recall@10 ") && about.contains("candidates a query"), "{about}");
    }
}

#[test]
fn data_are_made_once_listed_checked_and_mended() {
    let folder = Folder::new("suite-data");
    let make = ["data", "make", "setalgebra", "--json"];
    let made = json(&tailwater(&folder.0, &[&make[..], &SMALL].concat()));
    let names: Vec<&str> =
        made.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names.len(), 2);
    let listed = json(&tailwater(&folder.0, &["data", "list", "--json"]));
    let listed: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.iter().all(|name| listed.contains(name)), "{names:?} in {listed:?}");
    assert!(tailwater(&folder.0, &["data", "check"]).status.success());

    let file = folder.0.join(format!("{}.data", names[0]));
    let whole = fs::read(&file).expect("it is there");
    let mut changed = whole.clone();
    *changed.last_mut().expect("some") ^= 1;
    fs::write(&file, changed).expect("written");
    let checked = tailwater(&folder.0, &["data", "check"]);
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert!(said.contains("damaged") && said.contains("made anew"), "{said}");
    // What is damaged is made anew, to the same bytes.
    assert!(tailwater(&folder.0, &[&make[..], &SMALL].concat()).status.success());
    assert_eq!(fs::read(&file).expect("it is there"), whole);
}

#[test]
fn what_cannot_be_run_names_the_mend() {
    let folder = Folder::new("suite-usage");
    let said = |arguments: &[&str]| {
        let output = tailwater(&folder.0, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let error = said(&["suite", "run", "setalgerba"]);
    assert!(error.contains("one of ") && error.contains("setalgebra"), "{error}");
    let error = said(&["suite", "run", "setalgebra", "--set", "hits=0"]);
    assert!(error.contains("hits is \"0\"; a number from 1 to 250000 is needed"), "{error}");
    assert!(
        said(&["suite", "run", "setalgebra", "--set", "speed=3"]).contains("unknown setting speed")
    );
}

#[test]
fn without_a_home_a_folder_is_asked_for() {
    let mut command = Command::new(TAILWATER);
    for variable in ["HOME", "XDG_CACHE_HOME", "TAILWATER_DATA"] {
        command.env_remove(variable);
    }
    let output = command.args(["data", "list"]).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("say --data DIR"), "{said}");
}

/// Mid-tier and leaves by hand, as `run` starts them, on so many documents.
const LONG: &str = r#"
slo = "100ms"
warm_up = "0ms"
duration = "60min"
clients = { count = 2, pace = "sleep" }
demand.DEMAND
capacity = { in_flight = [4], duration = "50ms" }
controller = [{ name = "none" }]
server.application = "router"
server.settings = { keys = 50, memory = 8 }
tier = [{ name = "leaf", nodes = 3, application = true }]
"#;

struct ByHand {
    folder: Folder,
    documents: u32,
    /// How long the mid-tier waits for leaves.
    patience: &'static str,
}

impl ByHand {
    /// The flags that say what is served or asked.
    fn flags(&self) -> Vec<String> {
        let text = SCENARIO.replace("DOCUMENTS", &self.documents.to_string());
        let text = text.replace("PATIENCE", self.patience);
        let file = self.folder.write(&format!("{}.toml", self.documents), &text);
        let data = self.folder.0.join("data");
        let flags = ["--scenario", path(&file), "--controller", "none", "--data", path(&data)];
        flags.map(str::to_owned).to_vec()
    }

    fn serve(&self, more: &[&str]) -> common::Serving {
        let flags = self.flags();
        let flags: Vec<&str> =
            flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
        common::Serving::start(&flags)
    }

    /// The same, with what it has said to people by the time it serves.
    fn serve_and_hear(&self, name: &str, more: &[&str]) -> (common::Serving, String) {
        let heard = self.folder.0.join(name);
        let flags = self.flags();
        let flags: Vec<&str> =
            flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let to = format!("exec 2>'{}'", path(&heard));
        let serving = common::Serving::start_after(&to, &flags);
        (serving, fs::read_to_string(heard).expect("it was made"))
    }

    /// Leaves and the front before them.
    fn start(&self) -> (common::Serving, common::Serving) {
        let leaves = self.serve(&["--tier", "leaf"]);
        let front = self.serve(&["--downstream", &format!("leaf={}", leaves.nodes.join(","))]);
        (leaves, front)
    }

    /// The files that were prepared, by name.
    fn prepared(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.0.join("data/setalgebra"));
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries.into_iter().flatten().flatten().map(name).collect()
    }

    /// Asks the server at this address.
    fn ask(&self, address: &str) -> Output {
        let load = ["load", "--connect", address, "--rate", "200", "--duration", "300ms"];
        let flags = self.flags();
        let flags = flags.iter().map(String::as_str).chain(["--slo", "60s", "--json"]);
        tailwater(&self.folder.0, &load.into_iter().chain(flags).collect::<Vec<_>>())
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}

const SCENARIO: &str = r#"
slo = "1s"
clients.count = 4
demand.requests_per_second = 100
controller = { name = "none" }
tier = [{ name = "leaf", nodes = 2, application = true }]
server.application = "setalgebra"
server.settings = { text = "generated", documents = DOCUMENTS, queries = 100, least = 1, patience = "PATIENCE" }
"#;

#[test]
fn mid_tier_and_leaves_can_be_served_by_hand() {
    let hand = ByHand { folder: Folder::new("suite-hand"), documents: 1_000, patience: "30s" };
    let (_leaves, front) = hand.start();
    let output = hand.ask(&front.address);
    let result = json(&output);
    assert_eq!(result["data"].as_array().map(Vec::len), Some(2), "{}", result["data"]);
    let run = &result["runs"][0];
    assert!(run["fates"]["ok"].as_u64().unwrap_or(0) > 0, "{}", run["fates"]);
    assert!(!is_wrong(run), "{}", run["invalid_because"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The leaves have a hundred documents more than the oracle knows of.
#[test]
fn wrong_answers_void_a_run() {
    let hand = ByHand { folder: Folder::new("suite-wrong"), documents: 1_000, patience: "30s" };
    let (_leaves, front) = hand.start();
    let fewer = ByHand { documents: 900, ..hand };
    let output = fewer.ask(&front.address);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("answers of the server were wrong"), "{said}");
    let run = &json(&output)["runs"][0];
    assert!(run["valid"] == false && is_wrong(run), "{run}");
}

/// Its oracle holds 2^25 requests. A rate that follows the capacity is known once this was measured.
#[test]
fn runs_of_more_requests_than_the_oracle_holds_are_refused_in_words() {
    let folder = Folder::new("suite-long");
    let long = |demand: &str| {
        let file = folder.write("long.toml", &LONG.replace("DEMAND", demand));
        let output = tailwater(&folder.0, &["run", path(&file), "--json"]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for demand in ["requests_per_second = [10, 10_000]", "of_capacity = 100"] {
        let (code, said) = long(demand);
        assert!(!said.contains("panicked"), "{demand}: {said}");
        assert_eq!(code, Some(2), "{demand}: {said}");
        assert!(said.contains("this application's oracle holds 33554432"), "{demand}: {said}");
        assert!(said.contains("a shorter duration or a lower rate is needed"), "{demand}: {said}");
        // The first is told before anything starts.
        assert_eq!(
            said.contains("for 36000000 requests"),
            demand.contains("10_000"),
            "{demand}: {said}"
        );
    }
    let file = folder.write("load.toml", &LONG.replace("DEMAND", "of_capacity = 1"));
    let load = ["load", "--connect", "127.0.0.1:1", "--scenario", path(&file)];
    let output =
        tailwater(&folder.0, &[&load[..], &["--rate", "40000", "--duration", "60min"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("this application's oracle holds 33554432"), "{said}");
}

#[test]
fn replicas_of_router_are_compared_after_each_run() {
    let folder = Folder::new("suite-router");
    let run =
        ["suite", "run", "router", "--short", "--json", "--set", "keys=200", "--set", "sets=50"];
    let output = tailwater(&folder.0, &run);
    let result = json(&output);
    let runs = result["runs"].as_array().expect("runs");
    assert!(!runs.is_empty());
    for run in runs {
        assert!(!is_wrong(run), "{}", run["invalid_because"]);
        let compared = &run["replicas_compared"];
        assert!(compared["keys"].as_u64() > Some(0), "{compared}");
        // On a busy machine leaves may refuse writes, and are not asked for these keys then.
        assert!(compared["differ"] == 0 && compared["untold"] != compared["keys"], "{compared}");
        let gets = compared["gets"].as_array().expect("counts");
        assert!(gets.len() == 3 && gets.iter().any(|count| count.as_u64() > Some(0)), "{compared}");
    }
}

/// What `suite run` plays where stock memcacheds hold the keys.
const OVER_MEMCACHED: [&str; 9] =
    ["suite", "run", "router", "--short", "--json", "--set", "leaf=memcached", "--set", "keys=200"];

#[test]
fn router_keeps_keys_on_stock_memcacheds_by_one_command() {
    let found = Command::new("memcached").arg("-V").output();
    found.expect("found no memcached; type: apt-get install memcached");
    let folder = Folder::new("suite-memcached");
    let result = answered(&folder, &[&OVER_MEMCACHED[..], &["--leaves", "3"]].concat());
    for run in result["runs"].as_array().expect("runs") {
        assert_eq!(run["wrong_answers"].as_u64().unwrap_or(0), 0, "{run}");
        let compared = &run["replicas_compared"];
        assert!(compared["keys"].as_u64() > Some(0), "{compared}");
        assert!(compared["differ"] == 0 && compared["untold"] != compared["keys"], "{compared}");
        let gets = compared["gets"].as_array().expect("counts");
        assert!(gets.len() == 3 && gets.iter().any(|count| count.as_u64() > Some(0)), "{compared}");
        let leaf = &run["tiers"][1];
        assert!(leaf["cores_used"].as_f64() > Some(0.0), "{leaf}");
    }
}

#[test]
fn where_memcached_is_not_installed_the_package_is_named() {
    let folder = Folder::new("suite-no-memcached");
    let mut command = Command::new(TAILWATER);
    command.args(OVER_MEMCACHED).env("TAILWATER_DATA", &folder.0).env("PATH", &folder.0);
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let needed =
        "found no program memcached, which tier leaf runs; type: apt-get install memcached";
    assert!(said.contains(needed), "{said}");
    assert!(output.stdout.is_empty(), "nothing was run");
}

const ROUTER: &str = r#"
slo = "1s"
clients.count = 4
demand.requests_per_second = 100
controller = { name = "none" }
tier = [{ name = "leaf", nodes = 3, application = true }]
server.application = "router"
# So long a silence on a busy machine loses no leaf.
server.settings = { keys = 50, memory = 8, choice = "CHOICE", silence = "60s" }
"#;

/// The mid-tier asks the first replica alone, as the published one does, and the generator was told of any. Each answer is right.
#[test]
fn gets_that_go_to_the_first_replica_alone_void_a_run() {
    let folder = Folder::new("suite-router-first");
    let file =
        |choice: &str| folder.write(&format!("{choice}.toml"), &ROUTER.replace("CHOICE", choice));
    let (served, asked) = (file("first-alive"), file("random"));
    let serve = ["--scenario", path(&served), "--controller", "none"];
    let leaves = common::Serving::start(&[&serve[..], &["--tier", "leaf"]].concat());
    let downstream = format!("leaf={}", leaves.nodes.join(","));
    let front = common::Serving::start(&[&serve[..], &["--downstream", &downstream]].concat());
    let ask = |file: &Path| {
        let load = ["load", "--connect", &front.address, "--scenario", path(file), "--json"];
        let how = ["--controller", "none", "--rate", "4000", "--duration", "500ms", "--slo", "60s"];
        tailwater(&folder.0, &[&load[..], &how].concat())
    };
    let output = ask(&asked);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    // A few went elsewhere before the first was met.
    let told = " were answered by replica 1 of their keys";
    assert!(said.contains(told) && !said.contains("were wrong"), "{said}");
    let run = &json(&output)["runs"][0];
    let gets = |place: usize| run["replicas_compared"]["gets"][place].as_u64();
    assert!(run["valid"] == false && gets(0) > gets(1), "{run}");
    let output = ask(&served);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("answered by replica"));
}

/// Each process by hand prepares what it opens itself, and says so.
#[test]
fn servers_by_hand_prepare_what_they_need_and_say_so() {
    let hand = ByHand { folder: Folder::new("suite-needs"), documents: 500, patience: "30s" };
    let (leaves, said) = hand.serve_and_hear("leaves", &["--tier", "leaf"]);
    let prepared = hand.prepared();
    assert!(prepared.len() == 1 && prepared[0].ends_with("-2leaves.data"), "{prepared:?}");
    assert!(said.contains("tailwater: preparing data in "), "{said}");
    let downstream = format!("leaf={}", leaves.nodes.join(","));
    let (front, said) = hand.serve_and_hear("front", &["--downstream", &downstream]);
    assert_eq!(said, "", "a mid-tier has no data");
    let output = hand.ask(&front.address);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("tailwater: preparing data in "), "{said}");
    assert_eq!(hand.prepared().len(), 2);
    let again = hand.ask(&front.address);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(!said.contains("preparing"), "{said}");
}

/// A leaf that takes connections and says nothing: with `least` below the number of leaves its documents are missing, and
/// the answers are no goodput.
#[test]
fn answers_that_lack_a_leaf_are_told_apart() {
    let folder = Folder::new("suite-partial");
    let hand = ByHand { folder, documents: 500, patience: "50ms" };
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address");
    let leaves = hand.serve(&["--tier", "leaf"]);
    let nodes = format!("leaf={},{}", leaves.nodes[0], address);
    let front = hand.serve(&["--downstream", &nodes]);
    let output = hand.ask(&front.address);
    let result = json(&output);
    let run = &result["runs"][0];
    let count = |pointer: &str| run.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    assert!(!is_wrong(run), "{}", run["invalid_because"]);
    assert!(count("/partial_answers") > 0, "{run}");
    // Each answer lacks the silent leaf, though each came within the objective.
    assert_eq!((count("/fates/ok"), count("/fates/late")), (0, count("/partial_answers")));
    assert_eq!(run["goodput_rps"], 0.0);
}
