//! Programs built with the pass, recorded by `tailwater profile record`: what the trace says of them is
//! what they did. The scenes lie in `crates/profile-rt/tests/programs`.

use crate::profiled::{
    Recorded, alone, folder, in_time, record_program, record_with, succeeds, text, tools,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tailwater_profile::record::{CallFlags, LossKind, Mark, MarkKind, Measured, Record, WaitKind};
use tailwater_profile::trace::Ending;

/// Calls that are longer lie between two looks only if those are three quarters as far apart: what the clock's
/// reading of a look adds is 2 µs, or else a gap, with any processor's counter.
const LONG_TICKS: u64 = 40_000;

/// The programs, built once.
struct Programs {
    scenes: PathBuf,
    /// The scenes in static programs, one at a fixed place in memory and one at any.
    fixed: [PathBuf; 2],
    guards: PathBuf,
}

fn programs() -> &'static Programs {
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = folder("programs");
        let scenes = |flag: &str| {
            tools().compiled("CC", flag, "scenes.c", &folder.join(format!("scenes{flag}")))
        };
        Programs {
            scenes: scenes(""),
            fixed: ["-static", "-static-pie"].map(scenes),
            guards: tools().compiled("CXX", "", "guards.cpp", &folder.join("guards")),
        }
    })
}

/// `tailwater profile record` on a scene, in a folder of its own.
fn record(folder: &Path, scene: &[&str]) -> Command {
    let mut command = record_program(folder, &programs().scenes);
    command.args(scene);
    command
}

fn kinds(marks: &[Mark]) -> Vec<(u64, MarkKind)> {
    marks.iter().map(|mark| (mark.request, mark.kind)).collect()
}

/// What a call said of itself: a time after its start, and one before its end, by margins that no processor's
/// reordering bridges.
struct Fact {
    generation: u64,
    start: u64,
    end: u64,
}

fn facts(said: &str) -> Vec<Fact> {
    let fact = |line: &str| {
        let mut numbers = line.split(' ').map(|word| word.parse().expect("a number"));
        let mut next = || numbers.next().expect("three numbers");
        Fact { generation: next(), start: next(), end: next() }
    };
    said.lines().map(fact).collect()
}

#[test]
fn calls_took_place_when_the_trace_says() {
    let _alone = alone();
    in_time(5000, |rounds| {
        let folder = folder("truth");
        // With a small budget the scanner may look away for longer than these calls last.
        let budget = ["--budget", "100%"];
        let done =
            succeeds(record_with(&folder, &budget, &programs().scenes).args(["truth", rounds]));
        let recorded = Recorded::read(&folder.join("x.trace"));
        assert!(matches!(recorded.ending, Ending::Finished(_)));
        let facts = facts(&text(&done.stdout));
        assert_eq!(facts.len().to_string(), (2 * rounds.parse::<u64>().unwrap()).to_string());
        let is_delay = |record: &Record| matches!(record, Record::Figure(it) if it.what == Measured::SeenLateTicks);
        assert!(recorded.records.iter().any(is_delay), "how late looks see is told");
        let seen = all_are_true(&recorded, &facts);
        all_are_told_or_counted(&recorded, &facts);
        let (branches, leaves) = apart(&facts);
        callers_are_told_too(&branches, &leaves, &seen, recorded.dropped());
        let long = [branches, leaves]
            .map(|calls| what_lasted_beyond_two_looks_is_seen(&recorded, &calls, &seen));
        // A machine may be too busy to look in time at any; then there is more to look at.
        (long.iter().sum::<usize>() > 0).then_some(())
    });
}

/// No call contradicts what the program says of it. Returns the generations.
fn all_are_true(recorded: &Recorded, facts: &[Fact]) -> HashSet<u64> {
    let by_generation: HashMap<u64, &Fact> = facts.iter().map(|f| (f.generation, f)).collect();
    let mut starts: Vec<u64> = facts.iter().map(|fact| fact.start).collect();
    starts.sort_unstable();
    let mut seen = HashSet::new();
    for call in recorded.calls("leaf").chain(recorded.calls("branch")) {
        assert!(seen.insert(call.generation), "told twice: {call:?}");
        let fact = by_generation[&call.generation];
        let (from, to) =
            (call.start - u64::from(call.start_slack), call.end + u64::from(call.end_slack));
        assert!(from <= fact.start, "{call:?} began at {}", fact.start);
        assert!(fact.end <= to, "{call:?} ended at {}", fact.end);
        // The next had begun when this one was over.
        let latest = call.end - u64::from(call.end_slack).min(call.end);
        let next = starts.get(starts.partition_point(|start| *start <= fact.end));
        // Of one that the scanner did not see end, the end is an upper bound.
        assert!(
            call.flags.has(CallFlags::GAP) || next.is_none_or(|next| latest <= *next),
            "{call:?} outlived {next:?}"
        );
    }
    seen
}

/// Generations number the calls of a thread, and this program has one.
fn all_are_told_or_counted(recorded: &Recorded, facts: &[Fact]) {
    let lost = recorded.lost(LossKind::Calls);
    assert!(lost > 0, "the quick ones cannot all be seen");
    let is_call = |record: &&Record| matches!(record, Record::Call(_));
    let told = recorded.records.iter().filter(is_call).count() as u64;
    let made = facts.iter().map(|fact| fact.generation).max().expect("some");
    assert!(told + lost >= made, "{told} told and {lost} lost of {made}");
}

/// Each branch has a leaf, which says its facts after it.
fn apart(facts: &[Fact]) -> (Vec<&Fact>, Vec<&Fact>) {
    (facts.iter().step_by(2).collect(), facts.iter().skip(1).step_by(2).collect())
}

/// A look that knows a frame knows all that are below it.
fn callers_are_told_too(branches: &[&Fact], leaves: &[&Fact], seen: &HashSet<u64>, dropped: u64) {
    let is_seen = |fact: &Fact| seen.contains(&fact.generation);
    let pairs = branches.iter().zip(leaves);
    let orphans = pairs.filter(|(branch, leaf)| is_seen(leaf) && !is_seen(branch)).count() as u64;
    assert!(orphans <= dropped, "{orphans} leaves without a branch, {dropped} calls dropped");
}

/// A call that no look found lies between two looks that found all frames, and the trace counts these by the
/// time between them. Calls of one function do not overlap here. So those not seen, from any length up, last no
/// longer together than the times that may hold them. Returns how many long ones were seen.
fn what_lasted_beyond_two_looks_is_seen(
    recorded: &Recorded,
    calls: &[&Fact],
    seen: &HashSet<u64>,
) -> usize {
    let gaps = recorded.gaps();
    let length = |fact: &Fact| fact.end - fact.start;
    let watched = |fact: &Fact| {
        let after = gaps.partition_point(|gap| gap.end <= fact.start);
        gaps.get(after).is_none_or(|gap| gap.start >= fact.end)
    };
    let due = calls.iter().filter(|fact| length(fact) > LONG_TICKS && watched(fact));
    let (found, missed): (Vec<&Fact>, Vec<&Fact>) =
        due.copied().partition(|fact| seen.contains(&fact.generation));
    let mut missed: Vec<u64> = missed.into_iter().map(length).collect();
    missed.sort_unstable_by(|a, b| b.cmp(a));
    let mut together = 0;
    // Calls that the scanner knew and could not hand over may be any.
    for shortest in missed.into_iter().skip(usize::try_from(recorded.dropped()).unwrap()) {
        together += shortest;
        let room = recorded.between_looks(shortest / 4 * 3);
        assert!(
            together / 4 * 3 <= room,
            "calls of {shortest} ticks and more were missed for {together} ticks; \
             there were {room} between looks so far apart"
        );
    }
    found.len()
}

#[test]
fn a_waiter_knows_who_held_the_lock_and_in_which_function() {
    let _alone = alone();
    // On a full machine the lock may be free again before the handler asks for it.
    let (recorded, wait) = in_time(20_000, |us| {
        let folder = folder("locks");
        succeeds(&mut record(&folder, &["locks", us]));
        let recorded = Recorded::read(&folder.join("x.trace"));
        let wait = recorded.records.iter().find_map(|record| match record {
            Record::Wait(wait) if wait.kind == WaitKind::Mutex => Some(*wait),
            _ => None,
        });
        wait.map(|wait| (recorded, wait))
    });
    let name = |id: Option<tailwater_profile::record::FunctionId>| {
        recorded.names[&id.expect("a function").0].as_str()
    };
    assert_eq!((name(wait.function), name(wait.holder_function)), ("handler", "snapshot"));
    assert!(wait.start < wait.end && wait.end <= wait.released && wait.site != 0);
    let holder = recorded.records.iter().find_map(|record| match record {
        Record::Thread(thread) if Some(thread.id) == wait.holder => Some(thread),
        _ => None,
    });
    assert_ne!(holder.expect("a thread").id, wait.thread);
    let marks = recorded.marks();
    assert_eq!(kinds(&marks), [(7, MarkKind::Start), (7, MarkKind::End)]);
    assert!(marks[0].at <= wait.start && wait.end <= marks[1].at, "the wait was the request's");
}

#[test]
fn a_static_program_waits_and_is_recorded_as_any_other() {
    let _alone = alone();
    for program in [&programs().scenes].into_iter().chain(&programs().fixed) {
        let recorded = in_time(200, |turns| {
            let folder = folder("static");
            succeeds(record_program(&folder, program).args(["relay", turns]));
            let recorded = Recorded::read(&folder.join("x.trace"));
            let both = recorded.calls("take_turns").count() == 2;
            both.then_some(recorded)
        });
        let waits = recorded.records.iter().filter_map(|record| match record {
            Record::Wait(wait) => Some(wait.kind),
            _ => None,
        });
        let conditions = waits.filter(|kind| *kind == WaitKind::Condition).count();
        assert!(conditions > 20, "{}: {conditions} waits", program.display());
    }
}

#[test]
fn waits_below_the_threshold_are_not_told() {
    let _alone = alone();
    let folder = folder("threshold");
    // These threads wait for one another's turns, of some 20 µs. By itself each such wait is told (the test above).
    let recorded = in_time(200, |turns| {
        let options = ["--lock-threshold", "1s"];
        succeeds(record_with(&folder, &options, &programs().scenes).args(["relay", turns]));
        let recorded = Recorded::read(&folder.join("x.trace"));
        let both = recorded.calls("take_turns").count() == 2;
        both.then_some(recorded)
    });
    // The wait for the other thread's end may last for longer.
    let is_short =
        |record: &&Record| matches!(record, Record::Wait(wait) if wait.kind != WaitKind::Join);
    assert_eq!(recorded.records.iter().filter(is_short).count(), 0);
}

#[test]
fn locks_that_nothing_waits_for_are_told_where_they_are_held_for_long() {
    const ROUNDS: u64 = 10;
    const KEPT_NS: u64 = 3_000_000;
    const READ_NS: u64 = 2_000_000;
    let _alone = alone();
    let folder = folder("holds");
    let rounds = ROUNDS.to_string();
    let report = |options: &[&str]| -> Value {
        let mut command = record_with(&folder, options, &programs().scenes);
        succeeds(command.args(["holds", &rounds]));
        let mut report = Command::new(&tools().tailwater);
        report.args(["profile", "report", "--json"]).arg(folder.join("x.trace"));
        serde_json::from_slice(&succeeds(&mut report).stdout).expect("JSON")
    };
    let told = report(&["--holds=1ms"]);
    let holds = told["holds"].as_array().expect("a list");
    let kept = |lock: &str| {
        let of_it = |one: &&Value| one["lock"] == lock && one["function"] == "keeps";
        let [one] = holds.iter().filter(of_it).collect::<Vec<_>>()[..] else { panic!("{told:#}") };
        (number(&one["holds"]), number(&one["total_ns"]))
    };
    let [(kept, kept_ns), (read, read_ns)] = ["shelf", "ledger"].map(kept);
    assert_eq!((kept, read), (ROUNDS, ROUNDS));
    let by = |function: &str| -> u64 {
        holds
            .iter()
            .filter(|one| one["function"] == function)
            .map(|one| number(&one["holds"]))
            .sum()
    };
    assert_eq!(by("nests"), ROUNDS + 1, "once, however often it has the lock meanwhile");
    // One that loses its core meanwhile is long.
    assert!(by("glances") < ROUNDS, "{told:#}");
    assert_eq!(by("gives_up"), 0, "it never has the lock");
    // A thread that loses its core holds it for longer. The program measures ticks to a thousandth.
    let is_as_long = |ns: u64, expected: u64| ns >= ROUNDS * expected * 99 / 100;
    assert!(is_as_long(kept_ns, KEPT_NS) && is_as_long(read_ns, READ_NS), "{told:#}");
    let kinds: Vec<&Value> = holds.iter().map(|one| &one["kind"]).collect();
    assert!(kinds.contains(&&"mutex".into()) && kinds.contains(&&"read".into()), "{kinds:?}");
    let locks: Vec<_> = told["locks"].as_array().into_iter().flatten().collect();
    let waits = |lock: &str| -> u64 {
        locks.iter().filter(|one| one["lock"] == lock).map(|one| number(&one["waits"])).sum()
    };
    assert_eq!(["busy", "shelf", "ledger"].map(waits), [ROUNDS, 0, 0], "{locks:?}");
    // Where the other thread comes before it is let go.
    assert!(waits("nested") <= 1, "{locks:?}");
    let without = report(&[]);
    assert_eq!(without["holds"], Value::Array(vec![]), "nobody asked");
}

#[test]
fn every_mark_is_written_or_counted_and_most_are_written() {
    let _alone = alone();
    in_time(250_000, |pairs| {
        let folder = folder("marks");
        succeeds(&mut record(&folder, &["marks", pairs]));
        let recorded = Recorded::read(&folder.join("x.trace"));
        let (written, lost) = (recorded.marks().len() as u64, recorded.lost(LossKind::Marks));
        assert_eq!((written + lost).to_string(), (2 * pairs.parse::<u64>().unwrap()).to_string());
        // As fast as this, no ring lasts long, and a program that does anything at all is slower; but
        // more are written than the largest ring holds.
        (written > 200_000).then_some(())
    });
}

#[test]
fn requests_and_calls_of_two_programs_in_c_are_told_as_they_were() {
    const ROUNDS: u64 = 3;
    const WAITED_NS: u64 = 1_000_000;
    let _alone = alone();
    let told = joined(ROUNDS);
    let counts = [0, 1].map(|trace| {
        let row = &told["traces"][trace];
        ["requests", "unfinished", "orphan_marks"].map(|count| number(&row[count]))
    });
    assert_eq!(counts, [[3 * ROUNDS, 0, 0], [ROUNDS, 0, 0]]);
    let calls = ["calls", "calls_found", "doubled_names"].map(|count| number(&told[count]));
    assert_eq!(calls, [ROUNDS, ROUNDS, 0]);
    assert_eq!(number(&told["clocks"][1]["contradiction_ns"]), 0, "each told of its own in time");
    for round in 0..ROUNDS {
        let [calls, beside, handed_over] = [1, 101, 201].map(|first| root(&told, first + round));
        is_followed(calls, 301 + round);
        let own = &calls["requests"][0];
        assert_eq!(states(own), ["queued", "running", "pending", "running"], "{own:#}");
        let waited = number(&own["row"]["parts"]["queued_ns"]);
        assert!(waited.abs_diff(WAITED_NS) < WAITED_NS / 4, "the program said so: {waited}");
        assert_eq!(states(&beside["requests"][0]), ["running"]);
        assert_eq!(states(&handed_over["requests"][0]), ["running", "pending"]);
    }
}

/// Into this request of the called process, and back.
fn is_followed(root: &Value, request: u64) {
    let [own, called] = [0, 1].map(|place| &root["requests"][place]);
    let legs = own["legs"].as_array().expect("legs");
    assert_eq!((legs.len(), number(&legs[0]["request"])), (1, 1));
    assert!(legs[0]["sent_ns"].as_i64() < legs[0]["answered_ns"].as_i64(), "{legs:?}");
    assert_eq!([&called["trace"], &called["row"]["request"]].map(number), [1, request]);
    assert_eq!(states(called), ["queued", "running", "pending"], "{called:#}");
    let stood = &called["row"]["queues"];
    assert_eq!((&stood[0]["name"], stood.as_array().map(Vec::len)), (&"backlog".into(), Some(1)));
    let [stood_ns, queued_ns] = [&stood[0]["ns"], &called["row"]["parts"]["queued_ns"]].map(number);
    assert!(stood_ns.abs_diff(queued_ns) <= 1, "each is rounded: {stood_ns} and {queued_ns}");
    let steps = in_order(&root["steps"], |step| (number(&step["request"]), worked(&step["doing"])));
    let there = [(0, "queued"), (0, "running"), (1, "between")];
    let inside = [(1, "queued"), (1, "running"), (1, "pending")];
    let back = [(1, "between"), (0, "pending"), (0, "running")];
    assert_eq!(steps, [there, inside, back].concat(), "{root:#}");
}

/// What `profile requests` tells of a caller and the process that it calls, which hand each other so many words.
fn joined(rounds: u64) -> Value {
    let scenes = ["caller", "called"];
    let folders = scenes.map(folder);
    let [mut caller, mut called] =
        [0, 1].map(|it| record(&folders[it], &[scenes[it], &rounds.to_string()]));
    let piped = called.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut process = piped.expect("it starts");
    let (input, output) = (process.stdin.take(), process.stdout.take());
    caller.stdin(output.expect("a pipe")).stdout(input.expect("a pipe"));
    succeeds(&mut caller);
    assert!(process.wait().expect("it ends").success());
    let mut requests = Command::new(&tools().tailwater);
    requests.args(["profile", "requests", "--json", "--slowest", "100"]);
    requests.args(folders.map(|folder| folder.join("x.trace")));
    serde_json::from_slice(&succeeds(&mut requests).stdout).expect("JSON")
}

fn root(told: &Value, request: u64) -> &Value {
    let mut roots = told["slowest"].as_array().expect("requests").iter();
    roots.find(|root| number(&root["request"]) == request).expect("it was made")
}

/// The states of a request of a tree.
fn states(request: &Value) -> Vec<&str> {
    in_order(&request["row"]["steps"], |step| worked(&step["state"]))
}

/// What is said of each step, once where it is the same as of the last.
fn in_order<'a, T: PartialEq>(steps: &'a Value, said: impl Fn(&'a Value) -> T) -> Vec<T> {
    let mut all: Vec<T> = steps.as_array().expect("steps").iter().map(said).collect();
    all.dedup();
    all
}

/// On a full machine the scanner is away at times: a thread worked for the request all the same.
fn worked(state: &Value) -> &str {
    match state.as_str().expect("a state") {
        "unknown" => "running",
        known => known,
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn guards_end_what_they_began() {
    let _alone = alone();
    let folder = folder("guards");
    succeeds(&mut record_program(&folder, &programs().guards));
    let marks = Recorded::read(&folder.join("x.trace")).marks();
    let (start, end) = (MarkKind::Start, MarkKind::End);
    let expected = [
        (1, start),
        (1, end),
        (2, MarkKind::Enqueue),
        (2, start),
        (2, end),
        (3, start),
        (3, MarkKind::Block),
        (4, start),
        (5, start),
        (4, end),
        (5, end),
        (6, start),
        (6, MarkKind::EndAll),
    ];
    assert_eq!(kinds(&marks), expected);
}

#[test]
fn a_thousand_threads_come_and_go_twice() {
    let _alone = alone();
    let folder = folder("crowd");
    succeeds(&mut record(&folder, &["crowd", "1000"]));
    let recorded = Recorded::read(&folder.join("x.trace"));
    assert_eq!(recorded.threads(), 2001);
    assert_eq!(recorded.lost(LossKind::Threads), 0);
}

/// As [`a_thousand_threads_come_and_go_twice`], and of each call there is one.
#[test]
fn each_of_many_threads_has_one_of_several_scanners() {
    let _alone = alone();
    let folder = folder("scanners");
    let mut record = record_with(&folder, &["--scanners", "4"], &programs().scenes);
    succeeds(record.args(["crowd", "64"]));
    let recorded = Recorded::read(&folder.join("x.trace"));
    assert!(recorded.is_finished());
    assert_eq!((recorded.threads(), recorded.lost(LossKind::Threads)), (129, 0));
    // Each says once what it sees late.
    let is_scanner = |record: &&Record| matches!(record, Record::Figure(figure) if figure.what == Measured::SeenLateTicks);
    assert_eq!(recorded.records.iter().filter(is_scanner).count(), 4);
    let calls = recorded.records.iter().filter_map(|record| match record {
        Record::Call(call) => Some(call),
        _ => None,
    });
    let mut told = HashSet::new();
    for call in calls {
        assert!(told.insert((call.thread, call.generation)), "told twice: {call:?}");
    }
}

#[test]
fn a_forked_child_that_stops_is_not_recorded_and_a_new_program_is_beside() {
    let _alone = alone();
    let folder = in_time(3, |ms| {
        let folder = folder("family");
        succeeds(&mut record(&folder, &["family", ms]));
        let recorded = Recorded::read(&folder.join("x.trace"));
        assert!(matches!(recorded.ending, Ending::Finished(_)));
        assert_eq!(recorded.calls("child_work").count(), 0, "the child is another process");
        let goes_on = recorded.calls("parent_work").next().is_some();
        goes_on.then_some(folder)
    });
    let mut files = std::fs::read_dir(&folder).expect("the folder").flatten();
    let beside = files.find(|file| file.file_name() != "x.trace").expect("the other program's");
    assert!(matches!(Recorded::read(&beside.path()).ending, Ending::Finished(_)));
}

#[test]
fn what_was_recorded_before_a_death_by_signal_can_be_read() {
    let _alone = alone();
    let recorded = in_time(600, |ms| {
        let folder = folder("killed");
        let done = record(&folder, &["killed", ms]).output().expect("it starts");
        assert_eq!(done.status.code(), Some(137), "{}", text(&done.stderr));
        let recorded = Recorded::read(&folder.join("x.trace"));
        assert!(!matches!(recorded.ending, Ending::Finished(_)));
        let is_found = recorded.calls("frames").next().is_some();
        is_found.then_some(recorded)
    });
    let clocks = recorded.records.iter().filter(|record| matches!(record, Record::Clock(_)));
    assert!(clocks.count() >= 1, "ticks can be turned into time");
}

#[test]
fn ten_million_frames_overflow_and_are_counted() {
    let _alone = alone();
    let folder = folder("deep");
    succeeds(&mut record(&folder, &["deep", "10000000"]));
    let recorded = Recorded::read(&folder.join("x.trace"));
    assert!(recorded.lost(LossKind::Overflow) > 1_000_000);
    let task = recorded.calls("task").next();
    assert!(task.is_none_or(|task| task.depth == 1), "the stack is whole again: {task:?}");
}

#[test]
fn twenty_frames_are_seen_in_their_order() {
    let _alone = alone();
    let recorded = in_time(200, |ms| {
        let folder = folder("refresh");
        succeeds(&mut record(&folder, &["refresh", "100", ms]));
        let recorded = Recorded::read(&folder.join("x.trace"));
        let is_found = recorded.calls("frames").any(|call| call.depth == 20);
        is_found.then_some(recorded)
    });
    let main: Vec<_> = recorded.calls("main").collect();
    assert_eq!(main.len(), 1);
    assert!(!main[0].flags.has(CallFlags::STARTED_BEFORE), "recording begins before main");
    let deepest = recorded.calls("frames").map(|call| call.depth).max();
    assert_eq!(deepest, Some(20), "main and twenty frames");
}

#[test]
fn a_program_without_the_pass_is_told_of() {
    let _alone = alone();
    let folder = folder("plain");
    let done = record_program(&folder, Path::new("true")).output().expect("it starts");
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("tailwater profile build"), "{}", text(&done.stderr));
}
