//! However it ends, knobs read as before: at the latest after the next start or `tailwater tune undo`.

use super::common::eventually;
use super::machine::{BUDGET, JOURNAL, Machine, RMEM, SWAPPINESS, stderr, stdout, value};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use tailwater_core::Rng;
use tailwater_core::fnv::{START, fnv1a};

/// Knobs that settle soon, so that they are turned often.
const KNOBS: [&str; 4] = ["--knob", "netdev-budget=600", "--knob", "tcp-rmem=4096,16384,4194304"];

fn flags(program: &str) -> Vec<&str> {
    [&KNOBS[..], &["--steal-max", "100%", "--pilot", "1000", "--", "sh", program]].concat()
}

/// The same, where no setting is what the machine has: each block turns both.
fn away(program: &str) -> Vec<&str> {
    [&["--against", "400", "--against", "4096,20000,4194304"][..], &flags(program)].concat()
}

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process number");
    kill_process(pid, signal).expect("it is our child");
}

/// Where in a run a kill comes. Some of each: a random moment alone is seldom between a write and its undoing.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Any,
    /// About the record on disk and the first writes behind it.
    FirstWrites,
    /// While a knob is turned: in a block, or between two settings.
    Turned,
    /// Within 10 ms of a signal, upon which it puts back by itself.
    PuttingBack,
}

/// In turn; of a hundred kills forty are of [`Moment::Turned`].
const MOMENTS: [Moment; 5] =
    [Moment::Any, Moment::FirstWrites, Moment::Turned, Moment::PuttingBack, Moment::Turned];

#[test]
fn killed_at_a_hundred_random_moments_nothing_stays_turned() {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let seed = since.subsec_nanos().into();
    let rng = Rng::from_seed(seed);
    let turned = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for lane in 0..4_u32 {
            let mut rng = rng.split(&format!("lane {lane}"));
            let turned = &turned;
            scope.spawn(move || {
                (0..25).for_each(|number| killed(&mut rng, (seed, lane, number), turned));
            });
        }
    });
    let turned = turned.into_inner();
    assert!(turned >= 30, "only {turned} of 100 were killed while a knob was turned (seed {seed})");
}

/// Looks of a millisecond for a moment. A starved machine may not come to it; the kill comes all the same.
const LOOKS_MAX: u32 = 30_000;

/// Kills one, and looks after the next start, or after undo. Counts whether it has left a knob turned.
fn killed(rng: &mut Rng, (seed, lane, number): (u64, u32, usize), turned: &AtomicUsize) {
    let moment = MOMENTS[number % MOMENTS.len()];
    let context = format!("seed {seed}, lane {lane}, number {number}, {moment:?}");
    let machine = Machine::new(&format!("killed-{lane}-{number}"));
    let program = machine.program("blocks", "echo $noise");
    let mut child = machine.start("ab", &away(&program));
    let is_turned = || [BUDGET, RMEM].iter().any(|knob| !machine.says_stock(knob));
    let mut begun = |what: &dyn Fn() -> bool| {
        let mut looks = 0..LOOKS_MAX;
        while looks.next().is_some() && !what() {
            let ended = child.try_wait().expect("our child");
            assert!(ended.is_none(), "it ended by itself: {ended:?} ({context})");
            std::thread::park_timeout(Duration::from_millis(1));
        }
    };
    let within = match moment {
        Moment::Any => 900_000,
        Moment::FirstWrites => {
            begun(&|| machine.has("run/tailwater"));
            5_000
        }
        Moment::Turned => {
            begun(&is_turned);
            200_000
        }
        Moment::PuttingBack => {
            begun(&is_turned);
            send(&child, Signal::TERM);
            10_000
        }
    };
    std::thread::park_timeout(Duration::from_micros(rng.below(within).into()));
    send(&child, Signal::KILL);
    child.wait().expect("our child");
    if is_turned() {
        assert!(machine.has(JOURNAL), "a knob is turned without a record ({context})");
        turned.fetch_add(1, Ordering::Relaxed);
    }
    if rng.chance(0.5) {
        // What is being put back is put back again.
        let mut undo = machine.start("undo", &[]);
        std::thread::park_timeout(Duration::from_micros(rng.below(20_000).into()));
        send(&undo, Signal::KILL);
        undo.wait().expect("our child");
    }
    let next = if rng.chance(0.5) {
        machine.tune("undo", &[])
    } else {
        // It puts back what is left before it does anything, and then its own.
        let failing = machine.program("failing", "exit 1");
        machine.tune("ab", &away(&failing))
    };
    if let Err(why) = machine.is_as_before() {
        panic!("{why} ({context}): {}{}", stdout(&next), stderr(&next));
    }
}

#[test]
fn signals_put_knobs_back_at_once() {
    for (signal, code) in
        [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129), (Signal::QUIT, 131)]
    {
        let machine = Machine::new(&format!("signal-{code}"));
        let program = machine.program("blocks", "exec sleep 600");
        let mut child = machine.start("ab", &away(&program));
        eventually("a block has begun", || machine.has("blocks.count"));
        assert_eq!(machine.read(BUDGET), "600\n", "B is on trial");
        send(&child, signal);
        assert_eq!(child.wait().expect("our child").code(), Some(code));
        machine.is_as_before().expect("knobs are put back");
    }
}

#[test]
fn a_knob_that_cannot_be_put_back_is_told_however_it_ends() {
    // The knob's file goes away within a block, which then fails, is ended by a signal, or ends well.
    for (ending, code, why) in [
        ("exit 1", Some(1), "it did not end well"),
        ("kill -TERM $PPID; exec sleep 600", Some(143), "ended by SIGTERM"),
    ] {
        let machine = Machine::new(&format!("gone-{}", code.unwrap_or(0)));
        let lines = format!("mv \"$root/{BUDGET}\" \"$root/away\"; {ending}");
        let program = machine.program("blocks", &lines);
        let output = machine.tune("ab", &away(&program));
        let told = stderr(&output);
        assert_eq!(output.status.code(), code, "{told}");
        for part in [why, "netdev_budget: ", "type: tailwater tune undo"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(machine.has(JOURNAL));
        std::fs::rename(machine.path("away"), machine.path(BUDGET)).expect("it was moved there");
        assert_eq!(machine.tune("undo", &[]).status.code(), Some(0));
        machine.is_as_before().expect("undo puts it back");
    }
}

#[test]
fn a_signal_within_the_test_leaves_what_was_measured() {
    let machine = Machine::new("cut");
    let program =
        machine.program("blocks", "if [ $n -gt 41 ]; then exec sleep 600; fi; echo $noise");
    let arguments = [
        "--knob",
        "malloc-arenas=1",
        "--steal-max",
        "100%",
        "--pilot",
        "4",
        "--accept-weak",
        "--effect",
        "0.01%",
        "--json",
        "--",
        "sh",
        &program,
    ];
    let child = machine.start("ab", &arguments);
    eventually("it is in a late block", || {
        machine.has("blocks.count") && machine.read("blocks.count").trim() == "42"
    });
    send(&child, Signal::TERM);
    let output = child.wait_with_output().expect("our child");
    assert_eq!(output.status.code(), Some(143));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["quads"].as_array().map(Vec::len), Some(6));
    assert!(result["cut_short"].as_str().is_some_and(|why| why.contains("SIGTERM")), "{result}");
}

/// A machine on which a killed tune has left both knobs turned.
fn left_turned(name: &str) -> Machine {
    let machine = Machine::new(name);
    let program = machine.program("blocks", "if [ $(cat \"$root/proc/sys/net/core/netdev_budget\") = 600 ]; then exec sleep 600; fi; echo $noise");
    let mut arguments = vec!["--accept-weak", "--effect", "0.01%"];
    let flags = flags(&program);
    arguments.extend(flags.iter().map(|flag| if *flag == "1000" { "4" } else { *flag }));
    let mut child = machine.start("ab", &arguments);
    eventually("B is measured", || {
        machine.read(BUDGET) == "600\n" && value(&machine.read(RMEM)) == "4096 16384 4194304"
    });
    send(&child, Signal::KILL);
    child.wait().expect("our child");
    assert!(machine.has(JOURNAL));
    machine
}

#[test]
fn undo_says_what_it_puts_back_and_then_that_there_is_nothing() {
    let machine = left_turned("undo");
    let undone = machine.tune("undo", &[]);
    let text = stdout(&undone);
    assert!(
        text.contains("netdev_budget: 300 again")
            && text.contains("tcp_rmem: 4096 131072 33554432 again"),
        "{text}"
    );
    assert_eq!(undone.status.code(), Some(0));
    machine.is_as_before().expect("all is put back");
    assert_eq!(stdout(&machine.tune("undo", &[])), "Nothing is left to put back.\n");
}

/// As of a module that was unloaded: no undo would ever do.
#[test]
fn where_a_knobs_file_is_gone_the_next_start_says_which_record_keeps_it_from_its_work() {
    let machine = left_turned("gone-for-good");
    std::fs::rename(machine.path(BUDGET), machine.path("away")).expect("in the test's folder");
    let output = machine.tune("ab", &["--knob", "malloc-arenas=1", "--", "true"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let record = format!("remove {}", machine.path(JOURNAL).display());
    assert!(told.contains("netdev_budget: ") && told.contains(&record), "{told}");
    assert_eq!(value(&machine.read(RMEM)), "4096 131072 33554432", "the other is put back");
    std::fs::rename(machine.path("away"), machine.path(BUDGET)).expect("it was moved there");
    assert_eq!(machine.tune("undo", &[]).status.code(), Some(0));
    machine.is_as_before().expect("undo puts it back");
}

#[test]
fn who_only_looks_at_knobs_that_a_killed_tune_has_left_hears_of_it() {
    let machine = left_turned("looked");
    let plan = ["--knob", "swappiness=10", "--", "true"];
    let looks = || [machine.tune("knobs", &["netdev-budget"]), machine.tune("plan", &plan)];
    let hears =
        |output: &Output| stderr(output).contains("knobs may be turned: a tune is under way");
    for output in looks() {
        assert!(hears(&output) && output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(machine.tune("undo", &[]).status.code(), Some(0));
    for output in looks() {
        assert!(!hears(&output) && output.status.success(), "{}", stderr(&output));
    }
}

/// Its folder, which only its owner may read, would keep all other users from tuning.
#[test]
fn what_a_tune_has_left_that_was_killed_before_its_journal_is_removed() {
    let machine = Machine::new("begun");
    for verb in [&["undo"][..], &["ab", "--knob", "malloc-arenas=1", "--", "false"]] {
        std::fs::create_dir_all(machine.path("run/tailwater")).expect("in the test's folder");
        machine.write(&format!("{JOURNAL}.part"), "tailwater tune jour");
        let output = machine.tune(verb[0], &verb[1..]);
        assert!(!machine.has("run/tailwater"), "{verb:?}: {}{}", stdout(&output), stderr(&output));
    }
    machine.is_as_before().expect("nothing was turned");
}

#[test]
fn the_next_start_puts_back_before_it_reads_what_knobs_are() {
    let machine = left_turned("next");
    let program = machine.program("same", "echo 5");
    let mut arguments = flags(&program);
    arguments.iter_mut().filter(|flag| **flag == "1000").for_each(|flag| *flag = "4");
    let output = machine.tune("ab", &arguments);
    let told = stderr(&output);
    assert!(told.contains("left by an earlier tailwater tune"), "{told}");
    // Otherwise B's value would be taken for stock, and both arms be the same.
    assert!(!told.contains("both arms have"), "{told}");
    machine.is_as_before().expect("all is put back");
}

#[test]
fn undo_keeps_what_others_have_written_since() {
    let machine = left_turned("kept");
    machine.write(BUDGET, "450\n");
    let undone = machine.tune("undo", &[]);
    let text = stdout(&undone);
    assert!(
        text.contains("something else has written 450, which is kept; it was 300 before"),
        "{text}"
    );
    assert_eq!(machine.read(BUDGET), "450\n");
    machine.write(BUDGET, "300\n");
    machine.is_as_before().expect("the other is put back, and no journal is left");
}

#[test]
fn a_damaged_journal_is_an_error_and_nothing_of_it_is_lost() {
    let machine = left_turned("damaged");
    let text = machine.read(JOURNAL);
    let damaged = text.replacen("\"300\"", "\"301\"", 1);
    assert_ne!(text, damaged);
    machine.write(JOURNAL, &damaged);
    for verb in [&["undo"][..], &["ab", "--knob", "swappiness=10", "--", "true"]] {
        let output = machine.tune(verb[0], &verb[1..]);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        for part in [
            "is damaged",
            "line 3: its checksum does not hold",
            "The 1 entries that can be read were put back",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(machine.read(JOURNAL), damaged, "it stays for a person to look at");
        assert_eq!(value(&machine.read(RMEM)), "4096 131072 33554432");
        assert_eq!(machine.read(SWAPPINESS), "60\n", "nothing new is turned");
    }
    // What could not be put back is named: the file that is to be removed is the only record of it.
    std::fs::rename(machine.path(RMEM), machine.path("away")).expect("in the test's folder");
    let told = stderr(&machine.tune("undo", &[]));
    std::fs::rename(machine.path("away"), machine.path(RMEM)).expect("in the test's folder");
    assert!(told.contains("Of the 1 entries that can be read 0 were put back"), "{told}");
    assert!(told.contains("and these were not: ") && told.contains("tcp_rmem"), "{told}");
    machine.write(JOURNAL, &text[..text.len() / 2]);
    let output = machine.tune("undo", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the text was cut off"), "{}", stderr(&output));
    machine.write(JOURNAL, &text);
    assert_eq!(machine.tune("undo", &[]).status.code(), Some(0));
    machine.is_as_before().expect("the mended journal puts all back");
}

#[test]
fn undo_writes_to_nothing_but_knobs() {
    let machine = Machine::new("elsewhere");
    machine.write("secret", "mine\n");
    std::fs::create_dir_all(machine.path("run/tailwater")).expect("in the test's folder");
    let line = |json: &str| format!("{:016x} {json}\n", fnv1a(START, json.bytes()));
    let place = line(r#"{"boot":null,"network":null}"#);
    let entry = line(r#"{"knob":"swappiness","path":"/secret","old":"1","ours":["mine"]}"#);
    machine.write(JOURNAL, &format!("tailwater tune journal 2\n{place}{entry}end 1\n"));
    let output = machine.tune("undo", &[]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("\"/secret\" is no file of swappiness"), "{told}");
    assert_eq!(machine.read("secret"), "mine\n");
}
