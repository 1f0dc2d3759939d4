//! Functions that time their own calls (`tailwater profile build --clock`): each call is told of once, and took what the
//! program itself says, however it ends and whatever else has the cores.

use crate::profiled::{
    Recorded, alone, bounded, folder, on_one_core, record_with, succeeds, text, tools,
};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use tailwater_profile::record::{Call, CallFlags, Counted, Counter, LossKind, Record};

const CLOCKED: [&str; 8] =
    ["handle", "recurses", "throws", "jumps", "leaves", "passes_*", "quic?", "counts_*"];

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = folder("clocked-program").join("clocked");
        let options = CLOCKED.map(|glob| ["--clock", glob]).concat();
        let line = "$CXX -O2 -pthread -Wall -Werror -o $0 $1";
        let mut build = tools().build(&options, &["sh", "-c", line]);
        succeeds(build.arg(&program).arg(tools().sources().join("clocked.cpp")));
        program
    })
}

/// What the program says of a call: when it surely had not begun, had begun, had not ended, and had ended.
struct Fact {
    function: String,
    thread: u32,
    generation: u64,
    readings: [u64; 4],
}

fn facts(path: &Path) -> Vec<Fact> {
    let said = std::fs::read_to_string(path).expect("the program's own log");
    let fact = |line: &str| {
        let (function, numbers) = line.split_once(' ').expect("a name first");
        let numbers: Vec<u64> =
            numbers.split(' ').map(|word| word.parse().expect("a number")).collect();
        let [thread, generation, readings @ ..] = &numbers[..] else { panic!("{line}") };
        Fact {
            function: function.to_owned(),
            thread: u32::try_from(*thread).expect("a thread's number"),
            generation: *generation,
            readings: readings.try_into().expect("four readings"),
        }
    };
    said.lines().map(fact).collect()
}

/// Clocked calls, by thread and generation. Each is told once, and those of a thread as they end.
fn told(recorded: &Recorded) -> HashMap<(u32, u64), Call> {
    let mut threads = HashMap::new();
    let (mut told, mut ends) = (HashMap::new(), HashMap::new());
    for record in &recorded.records {
        match record {
            Record::Thread(thread) => {
                threads.insert(thread.id, thread.tid);
            }
            Record::Call(call) if call.flags.has(CallFlags::CLOCKED) => {
                let known = told.insert((threads[&call.thread], call.generation), *call);
                assert!(known.is_none(), "told twice: {call:?}");
                let last = ends.insert(call.thread, call.end).unwrap_or(0);
                assert!(last <= call.end + 400, "{call:?} comes after one that ended at {last}");
            }
            Record::Call(call) => {
                let name = &recorded.names[&call.function.0];
                let is_clocked = ["handle", "recurses", "throws", "jumps", "leaves", "quick"]
                    .contains(&name.as_str());
                let is_cut = CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE;
                assert!(!is_clocked || call.flags.has(is_cut), "{name} by the scanner: {call:?}");
            }
            _ => {}
        }
    }
    told
}

/// Takes each told call out, which must be as the program says. Returns how many calls are not told.
fn as_the_program_says(
    recorded: &Recorded,
    told: &mut HashMap<(u32, u64), Call>,
    facts: &[Fact],
) -> u64 {
    let mut missing = 0;
    for Fact { function, thread, generation, readings } in facts {
        let Some(call) = told.remove(&(*thread, *generation)) else {
            missing += 1;
            continue;
        };
        assert_eq!(&recorded.names[&call.function.0], function);
        let [before, first, last, after] = *readings;
        // Between the thread's own readings.
        let (start, end) =
            (call.start - u64::from(call.start_slack), call.end + u64::from(call.end_slack));
        assert!(before <= start && start <= first, "{function} {readings:?}: {call:?}");
        assert!(last <= end && end <= after, "{function} {readings:?}: {call:?}");
        assert!(call.start_slack + call.end_slack < 400, "as exact as a reading of the clock");
    }
    missing
}

/// Records a scene and compares all of it.
fn scene_is_as_it_says(name: &str, scene: &str, rounds: &str) -> (PathBuf, u64) {
    scene_with(&[], name, scene, rounds)
}

fn scene_with(options: &[&str], name: &str, scene: &str, rounds: &str) -> (PathBuf, u64) {
    let folder = folder(name);
    let log = folder.join("log");
    let mut record = record_with(&folder, options, program());
    succeeds(record.args([scene, rounds]).arg(&log));
    let trace = folder.join("x.trace");
    let recorded = Recorded::read(&trace);
    assert!(recorded.is_finished());
    let (facts, mut told) = (facts(&log), told(&recorded));
    let missing = as_the_program_says(&recorded, &mut told, &facts);
    assert!(told.is_empty(), "the program made no such calls: {told:?}");
    assert_eq!(missing, recorded.lost(LossKind::Clocked), "what is missing is counted");
    (trace, facts.len() as u64 - missing)
}

/// Works until it is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Self(command.spawn().expect("a shell"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn every_call_took_what_the_program_says() {
    let _alone = alone();
    let (trace, told) = scene_is_as_it_says("clocked-calls", "calls", "3000");
    let mut report = Command::new(&tools().tailwater);
    report.args(["profile", "report", "--function", "handle"]).arg(&trace);
    let said = text(&succeeds(&mut report).stdout);
    assert!(
        said.contains("Timed by the program itself, every call however short: handle."),
        "{said}"
    );
    assert!(!said.contains("of the calls that were seen"), "its quantiles are of all: {said}");
    let found: Value =
        serde_json::from_slice(&succeeds(report.arg("--json")).stdout).expect("JSON");
    let row = &found["functions"][0];
    assert_eq!((row["count"].as_u64(), row["clocked"].as_u64()), (Some(told), Some(told)));
    let [low, high] = ["low_ns", "high_ns"].map(|key| row["p999"][key].as_f64().expect("a bound"));
    assert!(high - low <= high / 50.0, "{row}");
}

#[test]
fn every_call_took_what_the_program_says_beside_two_busy_processes() {
    let _alone = alone();
    let _busy = [Busy::start(), Busy::start()];
    let (_, told) = scene_is_as_it_says("clocked-busy", "calls", "3000");
    assert!(told > 0);
}

#[test]
fn every_call_took_what_the_program_says_on_one_core() {
    let _alone = alone();
    let (_, told) = on_one_core(|| scene_is_as_it_says("clocked-one-core", "calls", "3000"));
    assert!(told > 0);
}

/// Exceptions, jumps and ends of threads included, and on one core, where a scanner would nap.
#[test]
fn without_a_scanner_every_clocked_call_is_told_and_no_other() {
    let _alone = alone();
    let alone = ["--scanners", "0"];
    for (name, scene, rounds) in [("calls", "calls", "3000"), ("ways", "ways", "200")] {
        let (trace, told) = scene_with(&alone, &format!("clocked-{name}-alone"), scene, rounds);
        let recorded = Recorded::read(&trace);
        let is_clocked = |record: &&Record| match record {
            Record::Call(call) => call.flags.has(CallFlags::CLOCKED),
            _ => false,
        };
        let calls = recorded.records.iter().filter(|record| matches!(record, Record::Call(_)));
        assert_eq!(calls.clone().count() as u64, told, "none that a scanner saw");
        assert_eq!(calls.filter(is_clocked).count() as u64, told);
        let mut report = Command::new(&tools().tailwater);
        let said = text(&succeeds(report.args(["profile", "report"]).arg(&trace)).stdout);
        assert!(said.contains("No scanner looked"), "{said}");
        assert!(!said.contains("Scanner away"), "{said}");
    }
    let (trace, told) = on_one_core(|| scene_with(&alone, "clocked-one-alone", "calls", "3000"));
    let lost = Recorded::read(&trace).lost(LossKind::Clocked);
    assert!(told > 0 && lost == 0, "{told} told, {lost} lost");
}

#[test]
fn calls_end_with_their_frame_whichever_way() {
    let _alone = alone();
    let (_, told) = scene_is_as_it_says("clocked-ways", "ways", "200");
    // 21 levels, an exception, a jump, a thread's end, and two by a tail call.
    assert!(told <= 200 * 26 && told > 0);
}

/// Under a limit of address space a ring holds some hundred calls, of which a thread makes more in 4 ms.
#[test]
fn calls_for_which_the_ring_has_no_room_are_counted() {
    const ROUNDS: u64 = 1_000_000;
    let _alone = alone();
    let folder = folder("clocked-quick");
    let mut record = record_with(&folder, &[], program());
    record.args(["quick", &ROUNDS.to_string()]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 3145728; exec \"$0\" \"$@\""]).env_remove("LD_LIBRARY_PATH");
    succeeds(limited.arg(record.get_program()).args(record.get_args()));
    let trace = folder.join("x.trace");
    let recorded = Recorded::read(&trace);
    let told = told(&recorded).len() as u64;
    let lost = recorded.lost(LossKind::Clocked);
    assert!(told > 0 && lost > 0, "{told} told and {lost} lost");
    assert_eq!(told + lost, ROUNDS);
    let mut report = Command::new(&tools().tailwater);
    let said = text(&succeeds(report.args(["profile", "report"]).arg(&trace)).stdout);
    assert!(said.contains("calls of clocked functions are missing"), "{said}");
}

/// What was counted, each right behind its call.
fn counted(recorded: &Recorded) -> Vec<(String, Counted)> {
    let is_event = |record: &&Record| !matches!(record, Record::Clock(_) | Record::Figure(_));
    let events: Vec<&Record> = recorded.records.iter().filter(is_event).collect();
    let pairs = events.windows(2).filter_map(|pair| match pair {
        [Record::Call(call), Record::Counted(counted)] => {
            let of = |it: &Counted| (it.thread, it.function, it.generation, it.start, it.end);
            let Call { thread, function, generation, start, end, .. } = *call;
            assert_eq!(of(counted), (thread, function, generation, start, end));
            Some((recorded.names[&function.0].clone(), *counted))
        }
        [_, Record::Counted(counted)] => panic!("{counted:?} follows no call"),
        _ => None,
    });
    pairs.collect()
}

fn count(counted: &Counted, wanted: Counter) -> Option<u64> {
    counted.counts.iter().find(|(counter, _)| *counter == wanted).map(|(_, count)| count)
}

#[test]
fn what_calls_do_is_counted_in_them_and_in_no_other() {
    const ROUNDS: usize = 20;
    let _alone = alone();
    let options = ["--counters=cpu,faults,switches,cycles"];
    let (trace, told) = scene_with(&options, "clocked-counts", "counts", &ROUNDS.to_string());
    let counted = counted(&Recorded::read(&trace));
    assert_eq!((counted.len() as u64, told), (3 * ROUNDS as u64, 3 * ROUNDS as u64));
    let (mut faults, mut switches, mut sleeps) = (vec![], vec![], vec![]);
    for (function, call) in &counted {
        let of = |counter| count(call, counter).expect("the kernel counts it");
        let is = |name: &str| function == name;
        assert!(!is("counts_touch") || of(Counter::Faults) >= 64, "{call:?}");
        assert!(!is("counts_spin") || of(Counter::Cpu) >= 1_000_000, "{call:?}");
        faults.extend((!is("counts_touch")).then(|| of(Counter::Faults)));
        let switches = if is("counts_sleep") { &mut sleeps } else { &mut switches };
        switches.push(of(Counter::Switches));
    }
    // The timer may go off before the thread has left its core.
    assert!(sleeps.iter().filter(|switches| **switches >= 1).count() > ROUNDS / 2, "{sleeps:?}");
    // Any call may fault once in a while, and the kernel may have one wait for it.
    let quiet = |counts: &[u64]| counts.iter().filter(|count| **count == 0).count();
    assert!(quiet(&faults) >= ROUNDS && quiet(&switches) >= ROUNDS, "{faults:?}, {switches:?}");
    let report = |options: &[&str]| {
        let mut report = Command::new(&tools().tailwater);
        text(&succeeds(report.args(["profile", "report"]).args(options).arg(&trace)).stdout)
    };
    let json = report(&["--counters", "--json", "-f", "counts_*"]);
    let json: Value = serde_json::from_str(&json).expect("an object");
    let functions = json["functions"].as_array().expect("a list");
    assert_eq!(functions.len(), 3);
    for row in functions {
        let all = &row["counted"]["all"];
        assert_eq!(all["calls"].as_u64(), Some(ROUNDS as u64), "{row}");
        assert_eq!(all["counters"][0]["counter"], "cpu", "{row}");
    }
    assert!(report(&["--counters"]).contains("mean of 20 counted calls"), "{}", report(&[]));
    let slowest = report(&["--slowest", "1", "-f", "counts_touch"]);
    assert!(slowest.contains("counted: cpu "), "{slowest}");
    let slowest = report(&["--slowest", "1", "-f", "counts_touch", "--json"]);
    let slowest: Value = serde_json::from_str(&slowest).expect("an object");
    let faults = &slowest["slowest"][0]["counted"][1];
    assert!(faults["counter"] == "faults" && faults["count"].as_u64() >= Some(64), "{faults}");
}

#[test]
fn without_counters_nothing_is_counted_and_the_report_says_what_to_type() {
    let _alone = alone();
    let (trace, _) = scene_with(&[], "clocked-uncounted", "counts", "2");
    assert!(counted(&Recorded::read(&trace)).is_empty());
    let mut report = Command::new(&tools().tailwater);
    let refused = bounded(report.args(["profile", "report", "--counters"]).arg(&trace));
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("record --counters"), "{}", text(&refused.stderr));
}

#[test]
fn a_recorder_in_another_process_is_told_the_same() {
    let _alone = alone();
    is_told_outside("1", &[]);
}

#[test]
fn a_recorder_that_does_not_look_is_told_the_same() {
    let _alone = alone();
    let unfinished = is_told_outside("0", &["--counters"]);
    // The call that is under way: since when, its thread has noted.
    assert!(unfinished.len() <= 1, "{unfinished:?}");
    assert!(unfinished.iter().all(|call| call.start_slack == 0), "{unfinished:?}");
}

/// Attaches with so many scanners to a program that works all the time. Returns calls that had not ended then.
fn is_told_outside(scanners: &str, options: &[&str]) -> Vec<Call> {
    let folder = folder(&format!("clocked-attached-{scanners}"));
    let log = folder.join("log");
    let mut command = Command::new(program());
    command.arg("serve").arg(&log).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut served = command.env_remove("LD_LIBRARY_PATH").spawn().expect("it starts");
    // It has no shadow stacks before its runtime begins.
    let mut said = String::new();
    let stdout = served.stdout.take().expect("it is piped");
    BufReader::new(stdout).read_line(&mut said).expect("it says something");
    assert_eq!(said, "serves\n");
    let trace = folder.join("x.trace");
    let mut attach = Command::new(&tools().tailwater);
    attach.args(["profile", "attach", &served.id().to_string(), "--for", "300ms"]);
    attach.args(["--scanners", scanners]).args(options).arg("-o");
    let attached = bounded(attach.arg(&trace).env("TAILWATER_PROFILE_HOME", tools().home()));
    drop(served.stdin.take());
    assert!(served.wait().expect("it ends").success());
    assert!(attached.status.success(), "{}", text(&attached.stderr));
    let recorded = Recorded::read(&trace);
    let (facts, mut told) = (facts(&log), told(&recorded));
    let counts = counted(&recorded).len();
    let is_asked = options.contains(&"--counters");
    // Calls that had begun before the recording, or had not ended with it, count nothing.
    assert!(if is_asked { counts + 4 >= told.len() } else { counts == 0 }, "{counts} counted");
    let first = told.values().map(|call| call.start).min().expect("a call");
    let last = told.values().map(|call| call.end).max().expect("a call");
    let is_between = |fact: &&Fact| fact.readings[0] >= first && fact.readings[3] <= last;
    let between = facts.iter().filter(is_between).count() as u64;
    let count = told.len() as u64;
    let missing = as_the_program_says(&recorded, &mut told, &facts);
    assert!(told.is_empty(), "the program made no such calls: {told:?}");
    assert!(missing > 0, "calls before and after are not told");
    // The first and the last one lie on the edges.
    let lost = recorded.lost(LossKind::Clocked);
    assert!((between..=between + 2).contains(&(count + lost)), "{count} and {lost} of {between}");
    let unfinished = recorded.records.iter().filter_map(|record| match record {
        Record::Call(call) if call.flags.has(CallFlags::UNFINISHED) => Some(*call),
        _ => None,
    });
    let of_handle = |call: &Call| recorded.names[&call.function.0] == "handle";
    unfinished.filter(of_handle).collect()
}
