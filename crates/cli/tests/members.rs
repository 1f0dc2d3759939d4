//! Processes of a run that are programs of others, replicas, or struck by faults. `make test` installs memcached.

use crate::common::{Folder, TAILWATER, children, eventually, found, is_gone, state};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A front, and whatever PARTS add.
const FRONT: &str = r#"
seed = 3
slo = "SLO"
warm_up = "100ms"
duration = "LENGTH"
repetitions = 1
clients = { count = 4, pace = "sleep" }
demand.requests_per_second = 200
capacity.fixed_rps = 1000
controller = { name = "none" }
PARTS
"#;

fn text(slo: &str, length: &str, parts: &str) -> String {
    FRONT.replace("SLO", slo).replace("LENGTH", length).replace("PARTS", parts)
}

fn run(file: &Path) -> Output {
    let mut command = Command::new(TAILWATER);
    command.arg("run").arg(file).arg("--json").env_remove("TAILWATER_SHORT");
    command.output().expect("the program starts")
}

/// The only run of a scenario, and what was said beside it.
fn only_run(name: &str, text: &str) -> (Value, String) {
    let folder = Folder::new(name);
    let output = run(&folder.write("scenario.toml", text));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let result: Value = serde_json::from_slice(&output.stdout).expect(&said);
    (result["runs"][0].clone(), said)
}

fn fates(run: &Value) -> [u64; 5] {
    ["ok", "late", "expired", "shed", "lost"]
        .map(|fate| run["fates"][fate].as_u64().unwrap_or_else(|| panic!("{fate}: {run}")))
}

/// Requests that a busy generator did not come to send. They are among the lost.
fn unsent(run: &Value) -> u64 {
    run["unsent"].as_u64().unwrap_or_else(|| panic!("unsent: {run}"))
}

/// Requests that were sent and had no answer.
fn lost(run: &Value) -> u64 {
    let [.., lost] = fates(run);
    lost - unsent(run)
}

/// A front that asks a memcached, which has this number among its words.
fn cache(marker: u32, length: &str, fault: &str) -> String {
    let version = Command::new("memcached").arg("-V").stdout(Stdio::null()).status();
    version.expect("found no memcached; type: apt-get install memcached");
    let parts = format!(
        "[[server.path]]\nprobability = 1.0\nsteps = [{{ compute = \"20us\" }}, {{ call = \"cache\" }}]\n\
         [[tier]]\nname = \"cache\"\nnodes = 2\nkeys = 20\n\
         command = \"memcached -t 1 -U 0 -m 64 -u root -b {marker} -l 127.0.0.1 -p {{port}}\"\n{fault}"
    );
    text("5s", length, &parts)
}

/// A number that no other process has among its words.
fn marker(nth: u32) -> u32 {
    100_000 + std::process::id() * 10 + nth
}

/// The memcacheds that have it.
fn marked(marker: u32) -> Vec<Pid> {
    let words = format!("\0-b\0{marker}\0");
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with("memcached\0") && line.contains(&words)
    };
    pids.filter(is_it).filter_map(Pid::from_raw).collect()
}

/// A get for each request, and a set for each key that was not there, most of them in the warm-up. Half of them is one node of
/// two. Servers tell their counts one by one.
fn fit(tiers: &Value) -> bool {
    let rate = |tier: usize| tiers[tier]["received_rps"].as_f64().unwrap_or_default();
    let (front, cache) = (rate(0), rate(1));
    front > 80.0 && cache > 0.7 * front && cache < 1.6 * front
}

#[test]
fn a_program_of_others_is_asked_metered_and_gone_with_the_run() {
    let marker = marker(1);
    let (mut run, mut said) = Default::default();
    // A busy machine has one of them tell its counts long after another now and then.
    let all_fit = (0..3).any(|_| {
        (run, said) = only_run("members-cache", &cache(marker, "2s", ""));
        fit(&run["tiers"])
    });
    assert!(all_fit, "{run} {said}");
    let [ok, .., shed, _] = fates(&run);
    assert!(ok > 200 && (shed, lost(&run)) == (0, 0), "{run} {said}");
    assert_eq!(run["wrong_answers"].as_u64().unwrap_or(0), 0);
    let tier = &run["tiers"][1];
    assert_eq!((&tier["tier"], &tier["nodes"]), (&"cache".into(), &2.into()), "{run}");
    assert!(tier["memory_bytes"].as_u64() > Some(1 << 20), "{tier}");
    assert!(tier["cores_used"].as_f64() > Some(0.0), "{tier}");
    assert_eq!(marked(marker), [], "it is left");
}

fn begun(file: &Path) -> Child {
    let mut command = Command::new(TAILWATER);
    command.arg("run").arg(file).arg("--json").env_remove("TAILWATER_SHORT");
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts")
}

#[test]
fn it_does_not_outlive_a_run_that_is_killed() {
    let (marker, folder) = (marker(2), Folder::new("members-killed"));
    let mut child = begun(&folder.write("cache.toml", &cache(marker, "60s", "")));
    eventually("both run", || marked(marker).len() == 2);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    eventually("they end", || marked(marker).is_empty());
}

#[test]
fn one_that_dies_is_told_and_the_run_does_not_count() {
    let (marker, folder) = (marker(3), Folder::new("members-died"));
    let child = begun(&folder.write("cache.toml", &cache(marker, "4s", "")));
    let victims = found("both run", || Some(marked(marker)).filter(|all| all.len() == 2));
    kill_process(victims[0], Signal::KILL).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    let result: Value = serde_json::from_slice(&output.stdout).expect("a result, or part of one");
    let why = result["runs"][0]["invalid_because"].to_string();
    assert!(why.contains("the server of the tier cache ended during the run"), "{why}");
}

#[test]
fn what_does_not_start_says_so() {
    let folder = Folder::new("members-unstarted");
    for (command, said) in [
        ("no-such-program -p {port}", "no-such-program"),
        ("false {port}", "false ended before it answered"),
    ] {
        let parts = format!(
            "[[server.path]]\nprobability = 1.0\nsteps = [{{ call = \"cache\" }}]\n\
             [[tier]]\nname = \"cache\"\ncommand = \"{command}\"\n"
        );
        let output = run(&folder.write("bad.toml", &text("5s", "500ms", &parts)));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}

const LEAVES: &str = "[[server.path]]\nprobability = 1.0\nsteps = [{ compute = \"20us\" }, { call = \"leaf\" }]\n\
                      [[tier]]\nname = \"leaf\"\nnodes = 2\nservice = \"1ms\"\n";

/// A fault with what is said of it.
fn fault(kind: &str, at: &str, length: &str, more: &str) -> String {
    format!("[[fault]]\nkind = \"{kind}\"\nat = \"{at}\"\nfor = \"{length}\"\n{more}\n")
}

#[test]
fn a_leaf_is_slowed_stopped_and_killed_and_every_request_has_one_fate() {
    let of = "tier = \"leaf\"\nnode = 2";
    let faults = [
        fault("server-slow", "100ms", "100ms", &format!("{of}\nspeed = 0.5")),
        fault("server-pause", "400ms", "100ms", of),
        fault("server-restart", "700ms", "100ms", of),
    ];
    let with = LEAVES.to_owned() + &faults.concat();
    let (run, said) = only_run("members-faults", &text("5s", "1500ms", &with));
    let (calm, _) = only_run("members-calm", &text("5s", "1500ms", LEAVES));
    let total = |run: &Value| fates(run).iter().sum::<u64>();
    assert_eq!(total(&run), total(&calm), "the same requests: {run} {said}");
    assert!(fates(&run)[0] > 100, "{run}");
    let told = run["faults"].as_array().expect("what was played");
    let kinds: Vec<&str> = told.iter().filter_map(|fault| fault["fault"].as_str()).collect();
    assert_eq!(kinds, ["server-slow", "server-pause", "server-restart"], "{told:?}");
    for (told, planned) in told.iter().zip([100.0, 400.0, 700.0]) {
        assert_eq!((&told["tier"], &told["node"]), (&"leaf".into(), &2.into()));
        assert!(told["at_ms"].as_f64() >= Some(planned), "{told}");
        // It ends no earlier than planned, however late it began.
        let end =
            told["at_ms"].as_f64().zip(told["for_ms"].as_f64()).map(|(at, length)| at + length);
        assert!(end.is_none_or(|end| end > planned + 99.9), "{told}");
    }
    let why = run["invalid_because"].to_string();
    assert!(!why.contains("ended during") && !why.contains("did not stay"), "{why}");
    // What was killed has taken its counts along, and not what it used.
    let names: Vec<&str> = run["tiers"]
        .as_array()
        .expect("readings")
        .iter()
        .filter_map(|it| it["tier"].as_str())
        .collect();
    assert_eq!(names, ["", "leaf"]);
    let leaf = &run["tiers"][1];
    assert!(leaf["cores_used"].as_f64() > Some(0.0) && leaf["memory_bytes"].as_u64() > Some(0));
    assert_eq!(leaf["received_rps"], Value::Null, "{leaf}");
    assert_eq!(calm["tiers"].as_array().map(Vec::len), Some(2));
}

/// Neither a thread that waits for the leaf, nor a crew's, keeps a request: each ends long before its deadline.
#[test]
fn a_leaf_is_stopped_and_killed_while_threads_wait_for_it() {
    let of = "tier = \"leaf\"\nnode = 2";
    let faults =
        fault("server-pause", "50ms", "50ms", of) + &fault("server-restart", "200ms", "50ms", of);
    let mut totals = Vec::new();
    for model in ["sib", "sdb:2", "sib+2", "aib+1"] {
        let with = format!("server.model = \"{model}\"\n{LEAVES}{faults}");
        let (run, said) = only_run("members-held", &text("60s", "500ms", &with));
        let [ok, late, expired, ..] = fates(&run);
        assert!(ok > 20 && (late, expired) == (0, 0), "{model}: {run} {said}");
        totals.push(fates(&run).iter().sum::<u64>());
        assert_eq!(run["faults"].as_array().map(Vec::len), Some(2), "{model}: {run}");
        let why = run["invalid_because"].to_string();
        assert!(!why.contains("ended during") && !why.contains("did not stay"), "{model}: {why}");
    }
    assert!(totals.iter().all(|total| *total == totals[0]), "the same requests: {totals:?}");
}

/// How a fault is played that comes while a process of another one starts; the error says what was wrong.
fn short_beside_a_start() -> Result<(), String> {
    let restart = fault("server-restart", "100ms", "1ms", "tier = \"leaf\"\nnode = 1");
    let pause = fault("server-pause", "102ms", "1us", "tier = \"leaf\"\nnode = 2");
    let with = LEAVES.to_owned() + &restart + &pause;
    let (run, said) = only_run("members-short", &text("5s", "10s", &with));
    let told = run["faults"].as_array().expect("what was played");
    let (restart, pause) = (&told[0], &told[1]);
    let number =
        |fault: &Value, key: &str| fault[key].as_f64().unwrap_or_else(|| panic!("{run} {said}"));
    let is_up = number(restart, "at_ms") + number(restart, "for_ms");
    if number(pause, "at_ms") >= is_up {
        return Err(format!("it waits for no process of another node: {told:?}"));
    }
    // However late the machine made the first: the other is as asked, if that is.
    let why = run["invalid_because"].to_string();
    let is_as_asked = why.contains("server-restart at") || !why.contains("server-pause at");
    is_as_asked.then_some(()).ok_or(why)
}

/// A fault was void that came while a process of another one started.
#[test]
fn a_short_fault_is_played_beside_a_process_that_starts() {
    // What plays them both may stand still on a busy machine while the process starts.
    let wrong: Vec<String> = (0..3).map_while(|_| short_beside_a_start().err()).collect();
    assert!(wrong.len() < 3, "{wrong:?}");
}

/// Starting takes longer than the hundredth of the window that a fault may be late.
#[test]
fn a_run_whose_faults_were_not_all_played_does_not_count() {
    let of = "tier = \"leaf\"\nnode = 1";
    let restart = fault("server-restart", "10ms", "1ms", of);
    let pause = fault("server-pause", "11ms", "1us", of);
    let with = LEAVES.to_owned() + &restart + &pause;
    let (run, said) = only_run("members-unplayed", &text("5s", "200ms", &with));
    let why = run["invalid_because"].to_string();
    assert_eq!(run["valid"], false, "{run} {said}");
    assert!(why.contains("the fault server-pause at 11.0 ms"), "{why}");
}

/// Its readings were zero, and the rules on them could not be broken.
#[test]
fn a_front_that_is_killed_is_metered_with_what_came_in_its_place() {
    let restart = fault("server-restart", "300ms", "50ms", "");
    let (run, said) = only_run("members-front", &text("5s", "1s", &(LEAVES.to_owned() + &restart)));
    let front = &run["tiers"][0];
    assert_eq!(front["tier"], "", "{run} {said}");
    assert!(front["cores_used"].as_f64() > Some(0.0), "{front}");
    assert!(front["memory_bytes"].as_u64() > Some(0), "{front}");
    for reading in ["server_involuntary_per_s", "server_run_delay_ratio", "foreign_cpu_ratio"] {
        assert!(run["noise"][reading].is_number(), "{reading}: {run}");
    }
    assert!(!run["invalid_because"].to_string().contains("could not be read"), "{run}");
}

fn is_stopped(pid: u32) -> bool {
    state(pid) == Some('T')
}

/// What stands still hears of no end.
#[test]
fn a_leaf_that_stands_still_does_not_outlive_a_run_that_is_killed() {
    let pause = fault("server-pause", "0s", "60s", "tier = \"leaf\"\nnode = 1");
    let folder = Folder::new("members-stopped");
    let file = folder.write("pause.toml", &text("5s", "60s", &(LEAVES.to_owned() + &pause)));
    let mut child = begun(&file);
    let stopped = found("the leaf is stopped", || {
        let all = children(child.id()).into_iter();
        all.map(|(pid, _)| pid).find(|pid| is_stopped(*pid))
    });
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    eventually("the leaf ends", || is_gone(stopped));
}

/// Each call takes 100 ms from the window's begin to its end, and the objective is half of that.
#[test]
fn what_is_slowed_computes_for_longer() {
    let slow = fault("server-slow", "0s", "60s", "tier = \"leaf\"\nspeed = 0.01");
    let (run, said) = only_run("members-slow", &text("50ms", "1s", &(LEAVES.to_owned() + &slow)));
    let [ok, ..] = fates(&run);
    let total: u64 = fates(&run).iter().sum();
    let slow = &run["faults"][0];
    // On a busy machine it begins late: what came before is in time.
    let before = slow["at_ms"].as_f64().expect("it was played") / 1_000.0;
    assert!(total > 100 && ok as f64 * 3.0 < total as f64 * (1.0 + 3.0 * before), "{run} {said}");
    assert_eq!(slow["for_ms"], Value::Null, "it outlasts the run: {run}");
}

#[test]
fn a_program_of_others_is_killed_and_comes_back_empty() {
    let (marker, of) = (marker(4), "tier = \"cache\"\nnode = 1");
    let faults =
        fault("server-pause", "100ms", "50ms", of) + &fault("server-restart", "300ms", "100ms", of);
    let (run, said) = only_run("members-cache-faults", &cache(marker, "1500ms", &faults));
    let [ok, ..] = fates(&run);
    assert!(ok > 100, "{run} {said}");
    assert_eq!(run["wrong_answers"].as_u64().unwrap_or(0), 0, "{run}");
    assert_eq!(run["faults"].as_array().map(Vec::len), Some(2), "{run}");
    assert!(!run["invalid_because"].to_string().contains("ended during"), "{run}");
    assert_eq!(marked(marker), [], "it is left");
}

const REPLICAS: &str = "[server]\nreplicas = 2\nservice = { distribution = \"constant\", mean = \"100us\" }\n\
                        [clients.retry]\ntries = 2\nfirst = \"primary\"\n";

/// In a window of two seconds.
fn replicated(faults: &str) -> String {
    // [clients] is a table of its own there.
    let clients = "clients = { count = 4, pace = \"sleep\" }\n";
    let with = REPLICAS
        .replace("[clients.retry]\n", "[clients]\ncount = 4\npace = \"sleep\"\n[clients.retry]\n");
    let parts = format!("{with}{faults}");
    text("5s", "2s", &parts).replace(clients, "")
}

#[test]
fn clients_go_to_the_other_replica_while_theirs_is_away() {
    let (calm, said) = only_run("members-replicas", &replicated(""));
    let [ok, .., shed, _] = fates(&calm);
    assert!(ok > 100 && (shed, lost(&calm)) == (0, 0), "{calm} {said}");
    assert_eq!(calm["retry"]["retried"], 0.0, "{calm}");
    let faults = fault("server-restart", "200ms", "1s", "node = 1");
    let (run, said) = only_run("members-replica-away", &replicated(&faults));
    let total = |run: &Value| fates(run).iter().sum::<u64>();
    assert_eq!(total(&run), total(&calm), "{run} {said}");
    // What the first had when it died is lost, and no more than that: on a busy machine that may be some, but not half of
    // what comes while it is away, 200 in a second.
    let away_ms = run["faults"][0]["for_ms"].as_f64().unwrap_or(1_000.0);
    let [ok, ..] = fates(&run);
    let failed = total(&run) - ok - unsent(&run);
    assert!((failed as f64) < away_ms * 0.2 / 2.0, "{run} {said}");
}

/// A caller is at home at the first replica of one node and at the second of the other. The second ones take forty times
/// as long.
#[test]
fn a_call_that_is_late_is_tried_at_the_other_replica() {
    let leaf = LEAVES
        .replace("nodes = 2", "nodes = 2\nreplicas = 2\nhedge = { after = \"5ms\", share = 1 }");
    let slow = |node| {
        let of = format!("tier = \"leaf\"\nnode = {node}\nspeed = 0.025");
        fault("server-slow", "0s", "60s", &of)
    };
    let parts = leaf + &slow(2) + &slow(4);
    let (run, said) = only_run("members-hedge", &text("5s", "1s", &parts));
    let [ok, ..] = fates(&run);
    assert!(ok > 100 && lost(&run) == 0, "{run} {said}");
    let hedges = &run["tiers"][1]["hedges"];
    assert!(hedges["sent_per_s"].as_f64() > Some(0.0), "{run}");
    assert!(hedges["won_per_s"].as_f64() > Some(0.0), "{run}");
}

#[test]
fn a_server_changes_its_model_while_it_serves_and_loses_nothing() {
    let change =
        |at: &str, model: &str| format!("[[server.change]]\nat = \"{at}\"\nmodel = \"{model}\"\n");
    let models = [change("200ms", "adb:2"), change("400ms", "sib"), change("600ms", "sdb:3+1")];
    let parts = LEAVES.to_owned() + &models.concat();
    let (run, said) = only_run("members-models", &text("5s", "1s", &parts));
    let [ok, .., shed, _] = fates(&run);
    assert!(ok > 100 && (shed, lost(&run)) == (0, 0), "{run} {said}");
    let told = run["changes"].as_array().expect("what was changed");
    let models: Vec<&str> = told.iter().filter_map(|it| it["model"].as_str()).collect();
    assert_eq!(models, ["adb:2", "sib", "sdb:3+1"], "{said}");
    for (told, planned) in told.iter().zip([200.0, 400.0, 600.0]) {
        assert!(told["at_ms"].as_f64() >= Some(planned), "{told}");
    }
    assert!(!said.contains("needs"), "each had its threads: {said}");
}

#[test]
fn a_server_by_hand_changes_its_model_by_a_line_and_complains_of_others() {
    let mut command = Command::new(TAILWATER);
    command.args(["serve", "--change-to", "adb:2", "--while-read", "--calibration", "1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut tell = |line: &str| {
        let stdin = child.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{line}").expect("it is there");
    };
    // The first is followed without a word.
    tell("model adb:2");
    tell("model adb:3");
    tell("gear 3");
    let mut next = || lines.next().expect("a line").expect("text");
    let (few, wrong) = (next(), next());
    let told = [&few, &wrong];
    // The one comes from the server, the other from what reads the lines: they may come in either order.
    assert!(told.iter().any(|line| line.contains("'gear 3' found")), "{told:?}");
    assert!(told.iter().any(|line| line.contains("workers")), "{told:?}");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn what_sockets_cannot_play_is_refused_with_where_it_is_played() {
    let folder = Folder::new("members-refused");
    let split = fault("partition", "100ms", "50ms", "timeout = \"5ms\"");
    let output =
        run(&folder.write("split.toml", &text("5s", "500ms", &(LEAVES.to_owned() + &split))));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("faults of kind partition run in the simulator only"), "{stderr}");
    assert!(stderr.contains("type --on sim"), "{stderr}");
}

/// As `memcached -d` does. Its parent is gone, and so is its group.
#[test]
fn a_program_that_leaves_its_group_ends_with_what_reads_the_guard() {
    let folder = Folder::new("members-daemon");
    let told = folder.0.join("pid");
    // They end with this test, whatever becomes of it: nothing else writes to what they read.
    let life = folder.0.join("life");
    let made = Command::new("mkfifo").arg(&life).status().expect("the program starts");
    assert!(made.success());
    let _life = File::options().read(true).write(true).open(&life).expect("it was made");
    let script = "setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec cat life' & exec cat life";
    let mut guard = Command::new(TAILWATER)
        .args(["guard", "--", "sh", "-c", script])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let daemon: u32 =
        found("the daemon has begun", || std::fs::read_to_string(&told).ok()?.trim().parse().ok());
    assert!(!is_gone(daemon));
    drop(guard.stdout.take());
    assert!(guard.wait().expect("it ends").success());
    assert!(is_gone(daemon), "{:?}", state(daemon));
}
