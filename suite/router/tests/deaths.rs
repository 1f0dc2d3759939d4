//! The program that measures deaths, with memcached, which `make test` installs; no time is judged.

use crate::common::eventually;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Output, Stdio};
use tailwater_program::{status, unignored};

fn failover(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater-router-failover"));
    // It lies beside this program.
    assert!(std::path::Path::new(env!("CARGO_BIN_EXE_tailwater-router")).exists());
    let few = ["--rate", "500", "--keys", "100", "--before", "100", "--after", "200"];
    command.args(["--deaths", "3"]).args(few).args(arguments).output().expect("it starts")
}

fn json(output: &Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

#[test]
fn nodes_that_die_make_no_answer_wrong_and_the_curve_is_told() {
    let output = failover(&["--json"]);
    let found = json(&output);
    assert!(output.status.success(), "{found}");
    assert_eq!(found["wrong"], serde_json::json!([]));
    assert_eq!(found["deaths"], 3);
    let bins = found["curve"]["bins"].as_array().expect("bins");
    assert_eq!(
        (bins.len(), &bins[0]["from_ms"], &bins[29]["from_ms"]),
        (30, &(-100).into(), &190.into())
    );
    assert_eq!(found["control"]["bins"].as_array().map(Vec::len), Some(30));
    let recoveries = found["recoveries"].as_array().expect("a list");
    let windows = [(0, 50), (50, 100), (50, 200)];
    assert_eq!(recoveries.len(), windows.len());
    for (recovery, (from, to)) in recoveries.iter().zip(windows) {
        assert_eq!((&recovery["from_ms"], &recovery["to_ms"]), (&from.into(), &to.into()));
        assert!(recovery["control_p99_us"].as_f64().is_some_and(|us| us > 0.0), "{recovery}");
    }
    let of = |bin: &serde_json::Value| bin["requests"].as_u64().expect("a number");
    let looked_at: u64 = bins.iter().map(of).sum();
    assert!(looked_at > 0 && looked_at <= found["requests"].as_u64().expect("a number"));
}

#[test]
fn a_router_that_is_told_something_wrong_is_named() {
    let output = failover(&["--replicas", "5"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the router did not say where it listens"), "{said}");
}

#[test]
fn without_memcached_it_says_what_to_type() {
    let output = failover(&["--memcached", "/no/such/program"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("apt-get install memcached, or say --memcached PROGRAM"), "{said}");
}

/// A process by its number, and by when it began: numbers come again.
type Process = (u32, String);

/// A process that runs, its parent's number and its name, as proc_pid_stat(5) has them.
fn running(pid: u32) -> Option<(Process, u32, String)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, rest) = text.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let words: Vec<&str> = rest.split_whitespace().collect();
    // The state is the third word of the line, the parent the fourth, and the time of its beginning the 22nd.
    let (state, parent, began) = (*words.first()?, words.get(1)?.parse().ok()?, *words.get(19)?);
    (!["Z", "X"].contains(&state)).then(|| ((pid, began.to_owned()), parent, name))
}

/// What a process has started, and what that has, with their names.
fn descendants(of: u32) -> BTreeMap<Process, String> {
    let entries = std::fs::read_dir("/proc").expect("this is Linux").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<_> = numbers.filter_map(running).collect();
    let (mut found, mut parents) = (BTreeMap::new(), vec![of]);
    while let Some(parent) = parents.pop() {
        for (process, _, name) in all.iter().filter(|(_, its, _)| *its == parent) {
            if found.insert(process.clone(), name.clone()).is_none() {
                parents.push(process.0);
            }
        }
    }
    found
}

fn runs(process: &Process) -> bool {
    running(process.0).is_some_and(|(now, ..)| now == *process)
}

/// Whether none of these runs any more.
fn have_ended(processes: &BTreeMap<Process, String>) -> bool {
    !processes.keys().any(runs)
}

/// Whether this process ignores it, as under nohup, and so what it starts.
fn is_ignored(signal: Signal) -> bool {
    unignored(&status(), &[signal.as_raw()]).is_empty()
}

/// The program, which is killed when dropped: it would go on where a test fails.
struct Playing(Child);

impl Playing {
    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("it is our child");
    }

    /// What it says until it ends by itself.
    fn ended(&mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.0.stdout.take().expect("piped").read_to_end(&mut stdout).expect("it is read");
        self.0.stderr.take().expect("piped").read_to_end(&mut stderr).expect("it is read");
        Output { status: self.0.wait().expect("it ends"), stdout, stderr }
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program once two nodes have died, and what it has started by then.
fn amid_deaths() -> (Playing, BTreeMap<Process, String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater-router-failover"));
    command.args(["--deaths", "1000", "--rate", "500", "--keys", "100", "--before", "50"]);
    command.args(["--after", "100", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let playing = Playing(command.spawn().expect("it starts"));
    let mut started = BTreeMap::new();
    // Three nodes, and two that were started again: the first of these after a whole round.
    eventually("two nodes have died", || {
        started.extend(descendants(playing.0.id()));
        started.values().filter(|name| *name == "memcached").count() > 4
    });
    assert!(!have_ended(&started), "{started:?}");
    (playing, started)
}

/// Memcacheds and router would go on for ever, and what was measured would be lost.
#[test]
fn a_signal_ends_all_that_was_started_and_what_was_found_by_then_is_told() {
    for signal in [Signal::TERM, Signal::HUP] {
        if is_ignored(signal) {
            continue;
        }
        let (mut playing, started) = amid_deaths();
        playing.send(signal);
        let output = playing.ended();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("a signal ended it after "), "{said}");
        let found = json(&output);
        let deaths = found["deaths"].as_u64();
        assert!(deaths.is_some_and(|deaths| (1..1_000).contains(&deaths)), "{found}");
        eventually("all that it has started has ended", || have_ended(&started));
    }
}

/// The number of the router that is among these.
fn router_of(started: &BTreeMap<Process, String>) -> Pid {
    let is_router = |process: &&Process| {
        let program = std::fs::read_link(format!("/proc/{}/exe", process.0));
        runs(process) && program.is_ok_and(|program| program.ends_with("tailwater-router"))
    };
    let (number, _) = started.keys().find(is_router).expect("there is a router");
    i32::try_from(*number).ok().and_then(Pid::from_raw).expect("a process number")
}

/// It waited for the answer of a router that stood still, for seconds.
#[test]
fn a_second_signal_does_not_wait_and_all_that_was_started_ends() {
    if is_ignored(Signal::TERM) {
        return;
    }
    let (mut playing, started) = amid_deaths();
    kill_process(router_of(&started), Signal::STOP).expect("it runs");
    playing.send(Signal::TERM);
    let account = format!("/proc/{}/status", playing.0.id());
    // Two of a kind that wait together are one.
    eventually("the first was heard", || {
        let account = std::fs::read_to_string(&account).unwrap_or_default();
        account.lines().any(|line| line == "ShdPnd:\t0000000000000000")
    });
    playing.send(Signal::TERM);
    assert_eq!(playing.0.wait().expect("it ends").code(), Some(128 + Signal::TERM.as_raw()));
    eventually("all that it has started has ended", || have_ended(&started));
}

/// They went on for ever, since a killed process ends nothing.
#[test]
fn all_that_was_started_ends_with_the_program_that_is_killed() {
    let (mut playing, started) = amid_deaths();
    playing.send(Signal::KILL);
    let status = playing.0.wait().expect("it ends");
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    eventually("all that it has started has ended", || have_ended(&started));
}
