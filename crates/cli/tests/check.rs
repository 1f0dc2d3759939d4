//! `tailwater check`: files are read as `run` reads them, and everything wrong is told at once.

use crate::common::{Folder, TAILWATER};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const SOUND: &str = r#"title = "Tiny"
slo = ["50ms", "20ms"]
warm_up = "100ms"
duration = "300ms"
repetitions = 2
server.service = { distribution = "constant", mean = "10us" }
clients.count = 10
demand.requests_per_second = [5000, 7000]
capacity.fixed_rps = 20000
controller = [{ name = "none" }, { name = "breakwater" }]
"#;

fn check(arguments: &[&str], files: &[&Path]) -> Output {
    let mut command = Command::new(TAILWATER);
    command.arg("check").args(arguments).args(files);
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn a_sound_file_is_told_with_what_it_would_run() {
    let folder = Folder::new("check-sound");
    let file = folder.write("tiny.toml", SOUND);
    let output = check(&[], &[&file]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for word in [
        "tiny.toml: sound",
        "2 SLOs × 1 client count × 2 demands × 2 controllers × 2 repetitions = 16 runs of 400ms",
        "controllers: none (default), breakwater (default)",
        "--on loopback, about 8s with capacity; --on sim",
    ] {
        assert!(said.contains(word), "{word:?} was needed in: {said}");
    }
}

#[test]
fn everything_wrong_in_all_files_is_told_with_exit_code_2() {
    let folder = Folder::new("check-wrong");
    let sound = folder.write("tiny.toml", SOUND);
    let broken = SOUND.replace("repetitions = 2", "repetition = 0\nseed = -1");
    let broken = folder.write("broken.toml", &broken);
    let unknown = SOUND.replace("\"none\"", "\"nine\"").replace("\"breakwater\"", "\"seeda\"");
    let unknown = folder.write("unknown.toml", &unknown);
    let missing = folder.0.join("missing.toml");
    let output = check(&[], &[&sound, &broken, &unknown, &missing]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for word in [
        "broken.toml:5:1: unknown key repetition",
        "broken.toml:6:8: seed is -1",
        "unknown.toml:10:24: controller 'nine' is unknown",
        "unknown.toml:10:43: controller 'seeda' is unknown",
        "missing.toml",
        "3 of 4 files cannot be run",
    ] {
        assert!(said.contains(word), "{word:?} was needed in: {said}");
    }
    assert!(text(&output.stdout).contains("tiny.toml: sound"));
}

#[test]
fn json_holds_the_plan_or_the_problems_of_each_file() {
    let folder = Folder::new("check-json");
    let sound = folder.write("tiny.toml", SOUND);
    let broken = folder.write("broken.toml", &SOUND.replace("repetitions", "repetition"));
    let output = check(&["--json"], &[&sound, &broken]);
    assert_eq!(output.status.code(), Some(2));
    let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON list");
    assert_eq!(found[0]["plan"]["runs"], 16);
    assert_eq!(found[0]["plan"]["on"], serde_json::json!(["loopback", "sim"]));
    assert_eq!(found[1]["problems"][0]["line"], 5);
    assert!(found[1]["plan"].is_null());
}

#[test]
fn what_a_driver_cannot_run_is_said_and_refused_where_it_is_asked_for() {
    let folder = Folder::new("check-driver");
    let faulty = format!("{SOUND}fault = {{ kind = \"clock\", offset = \"1ms\" }}\n");
    let file = folder.write("faulty.toml", &faulty);
    let anywhere = check(&[], &[&file]);
    assert_eq!(anywhere.status.code(), Some(0));
    assert!(text(&anywhere.stdout).contains("faults of kind clock run in the simulator only"));
    assert_eq!(check(&["--on", "sim"], &[&file]).status.code(), Some(0));
    let refused = check(&["--on", "loopback"], &[&file]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("faults of kind clock run in the simulator only"));
}

/// A fault of a link is the simulator's, and a command without a service is the sockets'.
const NOWHERE: &str = r#"
fault = { kind = "slow-link", at = "10ms", for = "10ms", factor = 3, tier = "leaf" }
server.path = { steps = [{ call = "leaf" }] }
tier = { name = "leaf", command = "memcached -p {port}" }
"#;

#[test]
fn what_runs_nowhere_is_refused_with_every_places_reason() {
    let folder = Folder::new("check-nowhere");
    let service = "server.service = { distribution = \"constant\", mean = \"10us\" }";
    assert!(SOUND.contains(service));
    let file = folder.write("nowhere.toml", &(SOUND.replace(service, "") + NOWHERE));
    let output = check(&[], &[&file]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for word in [
        "runs nowhere, not over sockets: faults of kind slow-link run in the simulator only",
        "runs nowhere, not in the simulator: the simulator runs no commands; say by service",
    ] {
        assert!(said.contains(word), "{word:?} was needed in: {said}");
    }
    assert!(!said.contains("type --on"), "{said}");
    let output = check(&["--json"], &[&file]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON list");
    assert_eq!(found[0]["sound"], false);
    assert_eq!(found[0]["problems"].as_array().map(Vec::len), Some(2));
}

#[test]
fn nothing_is_told_of_a_place_that_is_not_asked_for() {
    let folder = Folder::new("check-asked");
    let file = folder.write(
        "faulty.toml",
        &format!("{SOUND}fault = {{ kind = \"clock\", offset = \"1ms\" }}\n"),
    );
    let output = check(&["--on", "sim"], &[&file]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    assert!(said.contains("runs --on sim") && !said.contains("simulator only"), "{said}");
}

#[test]
fn locks_without_waiters_and_what_faults_strike_are_told() {
    let folder = Folder::new("check-locks");
    let service = "server.service = { distribution = \"constant\", mean = \"10us\" }";
    let path = "server.path = { steps = [{ lock = \"A\", hold = \"2us\" }] }\nserver.replicas = 2";
    let fault = "fault = { kind = \"server-pause\", at = \"10ms\", for = \"10ms\", node = 2 }\n";
    let file = folder.write("locks.toml", &(SOUND.replace(service, path) + fault));
    let output = check(&[], &[&file]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for word in [
        "lock A is never found taken: one loop without workers holds it only while it computes; \
         type server.loops = 2 or server.placement = \"workers:4\" for sockets, sim.cores = 2 for simulation",
        "server-pause strikes replica 2 of the server",
    ] {
        assert!(said.contains(word), "{word:?} was needed in: {said}");
    }
    let mended = SOUND.replace(service, &format!("{path}\nserver.loops = 2"));
    let output = check(&[], &[&folder.write("mended.toml", &mended)]);
    assert!(!text(&output.stdout).contains("never found taken"));
    let more = SOUND.replace(service, &format!("{path}\nsim.cores = 2"));
    let more = folder.write("more.toml", &more);
    assert!(text(&check(&[], &[&more]).stdout).contains("never found taken over sockets"));
    assert!(!text(&check(&["--on", "sim"], &[&more]).stdout).contains("never found taken"));
    let unix = SOUND.replace(
        service,
        &format!("{service}\nserver.transport = \"unix\"\nserver.socket.quick_ack = true"),
    );
    let unix = folder.write("unix.toml", &unix);
    assert!(text(&check(&[], &[&unix]).stdout).contains("server.socket changes nothing"));
    let of_place = |on: &str| text(&check(&["--on", on], &[&file]).stdout).to_owned();
    let said = of_place("sim");
    assert!(said.contains("type sim.cores = 2") && !said.contains("workers"), "{said}");
    let said = of_place("loopback");
    assert!(said.contains("workers:4") && !said.contains("simulation"), "{said}");
    let workers = SOUND.replace(service, &format!("{path}\nserver.placement = \"workers:4\""));
    let output = check(&[], &[&folder.write("workers.toml", &workers)]);
    let said = text(&output.stdout);
    let note = "never found taken in simulation: one core holds it only while it computes; type sim.cores = 2";
    assert!(said.contains(note), "{said}");
}

/// No machine has a core of this number that may be used.
#[test]
fn a_core_that_is_not_there_is_a_note_and_refused_where_sockets_are_asked_for() {
    let folder = Folder::new("check-cores");
    let pinned = SOUND.replace("server.service", "server.cores = [1000]\nserver.service");
    let file = folder.write("pinned.toml", &pinned);
    let output = check(&[], &[&file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let note = "not over sockets here: server.cores names core 1000";
    assert!(text(&output.stdout).contains(note), "{}", text(&output.stdout));
    assert_eq!(check(&["--on", "sim"], &[&file]).status.code(), Some(0));
    let output = check(&["--on", "loopback"], &[&file]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("server.cores names core 1000"), "{said}");
}

/// It was sound for sockets, and each run of it was refused.
#[test]
fn a_program_that_is_not_there_is_a_note_and_refused_where_sockets_are_asked_for() {
    let folder = Folder::new("check-program");
    let tier = "server.path = { steps = [{ call = \"leaf\" }] }\n\
                tier = { name = \"leaf\", command = \"no-such-program -p {port}\" }\n";
    let service = "server.service = { distribution = \"constant\", mean = \"10us\" }\n";
    let file = folder.write("foreign.toml", &SOUND.replace(service, tier));
    let output = check(&[], &[&file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let note =
        "not over sockets here: found no program no-such-program, which tier leaf runs; install it";
    assert!(text(&output.stdout).contains(note), "{}", text(&output.stdout));
    let output = check(&["--on", "loopback"], &[&file]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("found no program no-such-program"), "{said}");
}

#[test]
fn a_file_that_is_not_there_names_the_nearest_or_how_one_begins() {
    let folder = Folder::new("check-nearest");
    folder.write("tiny.toml", SOUND);
    let run = |file: &Path| {
        Command::new(TAILWATER).arg("run").arg(file).output().expect("the program starts")
    };
    for (said, meant) in [
        ("tiny", "tiny.toml?"),
        ("tiyn.toml", "tiny.toml?"),
        ("quite-another.toml", "tailwater new NAME writes one"),
    ] {
        let file = folder.0.join(said);
        for output in [check(&[], &[&file]), run(&file)] {
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{told}");
            assert!(told.contains("there is no such file; ") && told.contains(meant), "{told}");
        }
    }
    let output = run(&folder.0);
    let told = text(&output.stderr);
    assert!(told.contains("it is a folder; a scenario file in it is needed"), "{told}");
}

/// A device was read for ever, and of a named pipe its writer was waited for.
#[test]
fn what_need_not_end_is_refused_and_standard_input_is_read_by_all_its_names() {
    let run = |file: &Path| {
        Command::new(TAILWATER).arg("run").arg(file).output().expect("the program starts")
    };
    let device = Path::new("/dev/null");
    for output in [check(&[], &[device]), run(device)] {
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        let why =
            "it is a device, which need not end; a regular file is needed, or - for standard input";
        assert!(told.contains("/dev/null") && told.contains(why), "{told}");
    }
    for name in ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        std::io::Write::write_all(&mut writer, SOUND.as_bytes()).expect("there is room");
        drop(writer);
        let mut command = Command::new(TAILWATER);
        let output = command.args(["check", name]).stdin(reader).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
    }
}

/// It was sound without a word, and runs of it then had 115 % of the bound.
#[test]
fn an_objective_longer_than_a_step_is_a_note() {
    let folder = Folder::new("check-steps");
    let steps = "demand.steps = [{ of_capacity = 2.0, for = \"10ms\" }, { of_capacity = 0.5, for = \"10ms\" }]";
    let stepped = SOUND
        .replace("duration = \"300ms\"\n", "")
        .replace("demand.requests_per_second = [5000, 7000]", steps);
    let file = folder.write("stepped.toml", &stepped);
    let output = check(&[], &[&file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let note = "slo 50ms is long beside a step of 10ms: ";
    assert!(text(&output.stdout).contains(note), "{}", text(&output.stdout));
    let output = check(&["--json"], &[&file]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON list");
    let told = found[0]["plan"]["notes"][0].as_str().expect("a note");
    assert!(told.starts_with(note), "{told}");
    let slos = "slo = [\"50ms\", \"20ms\"]";
    assert!(stepped.contains(slos));
    let file = folder.write("short.toml", &stepped.replace(slos, "slo = \"100us\""));
    let output = check(&[], &[&file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("is long beside"), "{}", text(&output.stdout));
}

/// It was played as if it computed, without a word.
#[test]
fn a_sleep_for_which_the_simulator_computes_is_a_note() {
    let folder = Folder::new("check-sleep");
    let asleep = SOUND.replace("mean = \"10us\"", "mean = \"10us\", work = \"sleep\"");
    let file = folder.write("asleep.toml", &asleep);
    let told = |on: &[&str]| {
        let output = check(on, &[&file]);
        text(&output.stdout).contains("the simulator computes for that time")
    };
    assert!(told(&[]) && told(&["--on", "sim"]));
    assert!(!told(&["--on", "loopback"]));
}

/// It was sound without a word, and no answer of it could be in time.
#[test]
fn an_objective_that_the_service_takes_up_is_a_note() {
    let folder = Folder::new("check-late");
    let late = SOUND.replace("slo = [\"50ms\", \"20ms\"]", "slo = [\"50ms\", \"10us\"]");
    for (scenario, is_told) in [(late, true), (SOUND.to_owned(), false)] {
        let output = check(&[], &[&folder.write("late.toml", &scenario)]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let note = "slo 10us is not longer than the mean of server.service, 10us";
        assert_eq!(said.contains(note), is_told, "{said}");
    }
}

#[test]
fn a_run_says_first_what_is_most_likely_not_meant() {
    let folder = Folder::new("check-notes");
    let service = "server.service = { distribution = \"constant\", mean = \"10us\" }";
    let path =
        "server.path = [{ probability = 1.0, steps = [{ lock = \"index\", hold = \"2us\" }] }]";
    let file = folder.write("locked.toml", &SOUND.replace(service, path));
    let mut command = Command::new(TAILWATER);
    command.arg("run").arg(&file).args(["--on", "sim", "--short"]);
    let output = command.output().expect("the program starts");
    let told = text(&output.stderr);
    let note = "lock index is never found taken: one core holds it only while it computes; type sim.cores = 2";
    assert!(told.contains(note), "{told}");
    assert!(output.status.success(), "{told}");
}
