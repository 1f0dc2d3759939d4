//! What is ended by a signal: what it started ends with it, and what it measured is not lost.

mod common;

use common::{Folder, Serving, TAILWATER, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, SystemTime};
use tailwater_core::Rng;

/// More runs than any test waits for, of a server that polls: one left behind would keep a core busy.
const LONG: &str = r#"slo = "50ms"
warm_up = "10ms"
duration = "50ms"
repetitions = 1000

[server]
reception = "poll"
transport = "unix"
service = { distribution = "constant", mean = "10us", work = "sleep" }

[clients]
count = 10

[demand]
requests_per_second = 1000

[capacity]
fixed_rps = 20000

[[controller]]
name = "none"

[[controller]]
name = "breakwater"
"#;

/// Looks at what is left of a run, and how long each waits before: together a second, and little more where nothing else
/// runs. On a full machine they take longer, as does what has to end meanwhile.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// A verb with a mark in its environment, which all that it starts inherits.
struct Marked {
    child: Child,
    mark: String,
    temporary: PathBuf,
    _folder: Folder,
}

impl Marked {
    /// A long run.
    fn start(name: &str, flags: &[&str]) -> Self {
        let folder = Folder::new(&format!("signals-{name}"));
        let file = folder.write("long.toml", LONG);
        let mut command = Command::new(TAILWATER);
        command.arg("run").arg(file).args(flags);
        Self::of(folder, command)
    }

    fn of(folder: Folder, mut command: Command) -> Self {
        let temporary = folder.0.join("tmp");
        fs::create_dir(&temporary).expect("a folder in the test's own");
        let mark = format!("TAILWATER_MARK={}", folder.0.display());
        let (key, value) = mark.split_once('=').expect("it has one");
        let child = command
            .env_remove("TAILWATER_SHORT")
            .env("TMPDIR", &temporary)
            .env(key, value)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self { child, mark, temporary, _folder: folder }
    }

    fn send(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process number");
        // It waits to be waited for at the least.
        kill_process(Pid::from_raw(pid).expect("not zero"), signal).expect("it is our child");
    }

    /// Processes with the mark, and the verbs that they do.
    fn processes(&self) -> Vec<(u32, String)> {
        let entries = fs::read_dir("/proc").expect("this is Linux").flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter_map(|pid: u32| Some((pid, self.verb(pid)?))).collect()
    }

    fn verb(&self, pid: u32) -> Option<String> {
        let folder = Path::new("/proc").join(pid.to_string());
        let is_marked = |text: &[u8]| text.split(|b| *b == 0).any(|b| b == self.mark.as_bytes());
        fs::read(folder.join("environ")).ok().filter(|text| is_marked(text))?;
        let words = fs::read(folder.join("cmdline")).ok()?;
        words.split(|byte| *byte == 0).nth(1).map(|verb| String::from_utf8_lossy(verb).into_owned())
    }

    fn say(&mut self) -> (ExitStatus, String, String) {
        let (mut said, mut complained) = (String::new(), String::new());
        self.child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
        self.child.stderr.take().expect("piped").read_to_string(&mut complained).expect("text");
        (self.child.wait().expect("our child"), said, complained)
    }

    /// Until one of its runs is done.
    fn does_a_run(&self) {
        let mut jobs = BTreeSet::new();
        // A run is tried three times at most: the fifth job is of the second run.
        eventually("a run is done", || {
            let started = self.processes().into_iter().filter(|(_, verb)| verb == "job");
            jobs.extend(started.map(|(pid, _)| pid));
            jobs.len() > 4
        });
    }

    /// A second after its end no process of it is left.
    fn nothing_is_left(&self, context: &str) {
        let mut left = self.processes();
        for _ in 0..LOOKS {
            if left.is_empty() {
                return;
            }
            std::thread::park_timeout(BETWEEN_LOOKS);
            left = self.processes();
        }
        panic!("a second after its end {left:?} are left: {context}");
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As a shell has it.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| Some(128 + status.signal()?)).expect("one or the other")
}

/// Whether this process ignores it, and so what it starts until that says otherwise: INT, as a background
/// job of a shell's script.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("hexadecimal");
    mask >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn whatever_signal_ends_a_run_it_leaves_no_process() {
    ends_at_random_moments(3);
}

#[test]
#[ignore = "takes minutes; after a change of how runs start and end: cargo test -p tailwater-cli --test signals -- --ignored"]
fn at_fifty_random_moments_no_signal_leaves_a_process() {
    ends_at_random_moments(50);
}

/// Ends so many runs by each signal.
fn ends_at_random_moments(moments: u32) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let seed = since.subsec_nanos().into();
    let mut rng = Rng::from_seed(seed);
    let signals = [Signal::TERM, Signal::HUP, Signal::INT, Signal::KILL];
    for signal in signals.into_iter().filter(|signal| !is_ignored(*signal)) {
        for _ in 0..moments {
            let mut run = Marked::start("moment", &[]);
            let moment = Duration::from_micros(rng.below(600_000).into());
            std::thread::park_timeout(moment);
            run.send(signal);
            let status = run.child.wait().expect("our child");
            let context = format!("{signal:?} after {moment:?}, seed {seed}");
            assert_eq!(code(status), 128 + signal.as_raw(), "{context}");
            run.nothing_is_left(&context);
            let files = fs::read_dir(&run.temporary).expect("a folder").count();
            assert_eq!(files, 0, "sockets are left: {context}");
        }
    }
}

#[test]
fn what_was_measured_before_a_signal_is_told() {
    for (flags, shows) in
        [(&[][..], "It was cut short: ended by SIGTERM, after"), (&["--json"], "\"cut_short\"")]
    {
        let mut run = Marked::start("part", flags);
        run.does_a_run();
        run.send(Signal::TERM);
        let (status, said, complained) = run.say();
        assert_eq!(code(status), 143, "{complained}");
        assert!(said.contains(shows), "{said}");
        assert!(complained.contains("ended by SIGTERM; the result holds what was run before"));
        run.nothing_is_left(&complained);
        if flags == ["--json"] {
            let result: Value = serde_json::from_str(&said).expect("one JSON object");
            assert!(!result["runs"].as_array().expect("a list").is_empty(), "{said}");
        }
    }
}

/// What takes hours would be given for what took a moment.
#[test]
fn what_was_run_before_a_signal_lies_beside_an_earlier_whole_result() {
    let folder = Folder::new("signals-earlier");
    let (out, long) = (folder.0.join("out"), folder.write("long.toml", LONG));
    let short = folder.write("short.toml", &LONG.replace("1000\n\n[server]", "1\n\n[server]"));
    let whole = || {
        let mut command = Command::new(TAILWATER);
        command.args(["run", "--on", "sim"]).arg(&short).arg("--out").arg(&out);
        let output = command.output().expect("the program starts");
        let complained = String::from_utf8_lossy(&output.stderr);
        fs::read(out.join("result.json")).expect(&complained)
    };
    let files = || {
        let entries = fs::read_dir(&out).expect("a folder").flatten();
        entries.map(|entry| entry.file_name()).collect::<BTreeSet<_>>()
    };
    let (earlier, before) = (whole(), files());
    let mut command = Command::new(TAILWATER);
    command.arg("run").arg(long).arg("--out").arg(&out);
    let mut run = Marked::of(folder, command);
    run.does_a_run();
    run.send(Signal::TERM);
    let (status, _, complained) = run.say();
    assert_eq!(code(status), 143, "{complained}");
    assert!(complained.contains("result-cut-short.json, as the folder held a"), "{complained}");
    assert_eq!(fs::read(out.join("result.json")).ok().as_ref(), Some(&earlier));
    let part = out.join("result-cut-short.json");
    let found: Value =
        serde_json::from_slice(&fs::read(&part).expect("it is written")).expect("one JSON object");
    assert!(found["cut_short"].as_str().is_some_and(|why| why.contains("SIGTERM")), "{found}");
    let added: Vec<_> = files().difference(&before).cloned().collect();
    assert_eq!(added, ["result-cut-short.json"], "neither page nor picture");
    let mut command = Command::new(TAILWATER);
    let drawn = command.arg("draw").arg(&part).arg("--out").arg(&out).output();
    let drawn = drawn.expect("the program starts");
    let complained = String::from_utf8_lossy(&drawn.stderr);
    assert_eq!(drawn.status.code(), Some(2), "{complained}");
    assert!(complained.contains("holds a whole result"), "{complained}");
    // A whole one takes the place of both.
    assert_eq!((whole(), files()), (earlier, before));
}

/// Of two services, the first of which has no data to prepare and the second has.
#[test]
fn services_that_were_characterised_before_a_signal_are_kept_beside_an_earlier_whole_result() {
    let folder = Folder::new("signals-traits");
    let out = folder.0.join("traits");
    fs::create_dir(&out).expect("a folder in the test's own");
    let whole = out.join("traits.json");
    fs::write(&whole, "an earlier one").expect("a file in the test's folder");
    let mut command = Command::new(TAILWATER);
    command.args(["suite", "traits", "router", "recommend", "--short", "--leaves", "3", "--out"]);
    command.arg(&out).env("TAILWATER_DATA", folder.0.join("data"));
    let mut traits = Marked::of(folder, command);
    let mut lines = BufReader::new(traits.child.stderr.take().expect("piped"));
    let mut told = String::new();
    let is_second = |line: &str| line.starts_with("tailwater: preparing data in ");
    while !told.lines().next_back().is_some_and(is_second) {
        let read = lines.read_line(&mut told).expect("text");
        assert_ne!(read, 0, "it ended before the second service: {told}");
    }
    let mut signals = [Signal::INT, Signal::TERM].into_iter();
    let signal = signals.find(|signal| !is_ignored(*signal)).expect("one of them ends programs");
    traits.send(signal);
    let mut said = String::new();
    traits.child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    lines.read_to_string(&mut told).expect("text");
    let status = traits.child.wait().expect("our child");
    assert_eq!(code(status), 128 + signal.as_raw(), "{told}");
    assert!(told.contains("recommend and what comes after it is missing"), "{told}");
    assert!(said.contains("router"), "what was found is shown: {said}");
    let part = out.join("traits-cut-short.json");
    let text = fs::read_to_string(&part).expect("what was found is written");
    let found: Value = serde_json::from_str(&text).expect("one JSON object");
    let services = found["services"].as_array().expect("a list");
    assert_eq!(services.iter().map(|one| &one["service"]).collect::<Vec<_>>(), ["router"]);
    assert!(!services[0]["loads"].as_array().expect("a list").is_empty(), "{text}");
    let why = found["cut_short"].as_str().unwrap_or_default();
    assert!(why.starts_with("ended by SIG") && why.contains("recommend and what"), "{why}");
    assert_eq!(fs::read_to_string(whole).ok().as_deref(), Some("an earlier one"));
    assert_eq!(fs::read_dir(&out).expect("a folder").count(), 2, "neither page nor picture");
    traits.nothing_is_left(&told);
    // Shown again it is no result either.
    let again = Command::new(TAILWATER).args(["suite", "traits", "--from"]).arg(part).output();
    let again = again.expect("the program starts");
    let complained = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(1), "{complained}");
    assert!(complained.contains("it was cut short: ended by SIG"), "{complained}");
    assert_eq!(String::from_utf8_lossy(&again.stdout), said);
}

/// Ten minutes of load on this server, which has begun when this returns.
fn load_under_way(name: &str, serving: &Serving, flags: &[&str]) -> Marked {
    let before = serving.cpu();
    let mut command = Command::new(TAILWATER);
    command.args(["load", "--connect", &serving.address, "--clients", "4", "--slo", "60s"]);
    command.args(["--controller", "none", "--duration", "600s", "--pace", "sleep"]).args(flags);
    let load = Marked::of(Folder::new(&format!("signals-load-{name}")), command);
    let status = format!("/proc/{}/status", load.child.id());
    // An open loop has a thread of its own, a closed one asks without pause. Both come after it has begun to note signals.
    eventually("the load has begun", || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"));
        let threads = threads.and_then(|count| count.trim().parse::<u32>().ok()).unwrap_or(0);
        threads > 1 || serving.cpu() > before + Duration::from_millis(50)
    });
    load
}

#[test]
fn a_load_that_a_signal_ends_tells_what_was_measured() {
    let serving = Serving::start(&["--controller", "none"]);
    let signals = [Signal::TERM, Signal::HUP, Signal::INT];
    for signal in signals.into_iter().filter(|signal| !is_ignored(*signal)) {
        let open = ["--rate", "1000", "--warm-up", "10ms"];
        let mut load = load_under_way("table", &serving, &open);
        load.send(signal);
        let (status, said, complained) = load.say();
        assert_eq!(code(status), 128 + signal.as_raw(), "{said}{complained}");
        assert!(said.contains("It was cut short: ended by SIG"), "{said}{complained}");
        assert!(complained.contains("what was measured before is told"), "{complained}");
        let flags = [&open[..], &["--json"]].concat();
        let mut load = load_under_way("json", &serving, &flags);
        load.send(signal);
        let (status, said, complained) = load.say();
        assert_eq!(code(status), 128 + signal.as_raw(), "{said}{complained}");
        let told: Value = serde_json::from_str(&said).expect("one JSON object");
        let why = told["cut_short"].as_str().unwrap_or_default();
        assert!(why.starts_with("ended by SIG") && why.ends_with("of 600.0 s"), "{said}");
        let run = &told["runs"][0];
        let ok = run["fates"]["ok"].as_f64().expect("a count");
        let measured_ms = told["load"]["measured_ms"].as_f64().expect("a length");
        let goodput_rps = run["goodput_rps"].as_f64().expect("a rate");
        assert!(ok > 0.0 && measured_ms > 0.0 && measured_ms < 600_000.0, "{said}");
        // Of the time that was measured, not of ten minutes.
        assert!((goodput_rps * measured_ms / 1e3 / ok - 1.0).abs() < 1e-6, "{said}");
    }
}

#[test]
fn a_load_that_a_signal_ends_before_it_measured_says_so() {
    let serving = Serving::start(&["--controller", "none"]);
    let why = "its measured window had not begun";
    let open = ["--rate", "10", "--warm-up", "600s"];
    for (flags, why) in [(&open[..], why), (&[], "no point was measured")] {
        let mut load = load_under_way("early", &serving, flags);
        load.send(Signal::TERM);
        let (status, said, complained) = load.say();
        assert_eq!((code(status), said.as_str()), (143, ""), "{complained}");
        assert!(complained.contains(&format!("ended by SIGTERM; {why}")), "{complained}");
    }
}

#[test]
fn a_simulation_that_a_signal_ends_tells_what_was_run() {
    let mut run = Marked::start("sim", &["--on", "sim"]);
    // It reads its own scenario only after it has begun to note signals, or dies of this one.
    run.send(Signal::TERM);
    let (status, said, complained) = run.say();
    assert_eq!(code(status), 143, "{complained}");
    let is_told = said.contains("It was cut short") || complained.contains("no run took place");
    assert!(is_told || status.signal() == Some(15), "{said}{complained}");
}

#[test]
fn a_run_under_nohup_lives_through_a_closed_terminal() {
    let folder = Folder::new("signals-nohup");
    let file = folder.write("short.toml", &LONG.replace("1000\n\n[server]", "2\n\n[server]"));
    let script = "trap '' HUP; \"$0\" run --json \"$1\" & p=$!; kill -HUP $p; wait $p";
    let output = Command::new("sh").args(["-c", script, TAILWATER]).arg(file).output();
    let output = output.expect("there is a shell");
    let complained = String::from_utf8_lossy(&output.stderr);
    // A busy machine leaves no run valid, which is an exit code of its own: the signal cut none short.
    let result: Value = serde_json::from_slice(&output.stdout).expect(&complained);
    assert_eq!(result["runs"].as_array().expect("a list").len(), 4, "{complained}");
    assert_eq!(result.get("cut_short"), None, "{complained}");
}

#[test]
fn a_server_that_is_at_work_already_is_named() {
    let serving = Serving::start(&[]);
    let folder = Folder::new("signals-others");
    let file = folder.write("short.toml", &LONG.replace("1000\n\n[server]", "1\n\n[server]"));
    let output = Command::new(TAILWATER).arg("run").arg(file).output().expect("it starts");
    let complained = String::from_utf8_lossy(&output.stderr);
    let named = format!("tailwater serve (process {})", serving.child.id());
    // Tests beside this one have servers, too, of which eight are named.
    let is_told = complained.contains(&named) || complained.contains(" more at work already");
    assert!(is_told, "{complained}");
}

#[test]
fn a_server_that_is_to_be_read_ends_with_its_reader() {
    let mut command = Command::new(TAILWATER);
    command.args(["serve", "--while-read", "--calibration", "1"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut [0]).expect("it greets");
    assert_eq!(child.try_wait().expect("our child"), None, "while it is read, it serves");
    drop(stdout);
    assert_eq!(child.wait().expect("our child").code(), Some(0));
}
