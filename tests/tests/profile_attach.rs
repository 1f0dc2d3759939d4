//! Programs that run already, recorded by `tailwater profile attach`: the trace is whole, and whichever side dies, the
//! other goes on.

use crate::profiled::neighbours::passed_over;
use crate::profiled::served::{PATIENCE, Served, attach, finishes};
use crate::profiled::{Recorded, alone, folder, in_time, text, tools};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use tailwater_profile::record::{Did, LossKind, MarkKind, Record, WaitKind};
use tailwater_profile::trace::{Ending, Reader, Trouble};

/// Deaths of either side: a hundred take minutes.
const KILLS: &str = "TAILWATER_KILLS";
const KILLS_USUAL: u64 = 5;
/// Rounds of the program within which a side dies: 60 ms at least, since each holds the one lock for 100 µs.
const ROUNDS: u64 = 600;
/// As the program answers where a recording is under way.
const EALREADY: &str = "114";

/// One that has begun to record.
struct Attached {
    child: Child,
    complained: BufReader<ChildStderr>,
}

impl Attached {
    fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut complained = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        complained.read_line(&mut line).expect("it says something");
        assert!(line.starts_with("Recording served"), "{line}");
        Self { child, complained }
    }

    /// The process that scans.
    fn recorder(&self) -> u32 {
        let is_its = |stat: &str| {
            let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            rest.split(' ').nth(1) == Some(&self.child.id().to_string())
        };
        let processes = std::fs::read_dir("/proc").expect("it is there").flatten();
        let mut numbers =
            processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let found = numbers.find(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| is_its(&stat))
        });
        found.expect("it has a child")
    }

    fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Its exit code, and what it said since it began.
    fn ends(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.complained.read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }
}

fn send(pid: u32, signal: Signal) {
    kill_process(numbered(pid), signal).expect("it is there");
}

fn numbered(pid: u32) -> Pid {
    Pid::from_raw(pid.try_into().expect("a process's number")).expect("not zero")
}

/// Records of a trace that did not come to its end; at most its last part is cut.
fn up_to_there(path: &Path) -> (usize, Ending) {
    let mut reader = Reader::new(File::open(path).expect("a trace")).expect("a header");
    let mut records = 0;
    for item in reader.by_ref() {
        match item {
            Ok(_) => records += 1,
            Err(error) => assert!(matches!(error.trouble, Trouble::Cut { .. }), "{error}"),
        }
    }
    (records, reader.ending())
}

/// Waits for a process's end. A zombie has ended: one without a parent may stay behind.
fn has_ended(process: &OwnedFd) {
    let patience = Timespec::try_from(PATIENCE).expect("seconds");
    let wait = || poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&patience));
    assert_eq!(rustix::io::retry_on_intr(wait), Ok(1), "it ends in time");
}

#[test]
fn a_running_program_is_recorded_for_a_while_and_again() {
    let _alone = alone();
    let folder = folder("attach");
    let trace = folder.join("x.trace");
    let mut served = Served::start();
    for scanners in ["1", "3"] {
        in_time(300, |ms| {
            let length = format!("{ms}ms");
            let options = ["--for", length.as_str(), "--scanners", scanners];
            let done = finishes(&mut served.attach(&trace, &options));
            assert!(text(&done.stderr).contains("Detached from served"), "{}", text(&done.stderr));
            let recorded = Recorded::read(&trace);
            assert!(recorded.is_finished());
            is_told_of(&recorded).then_some(())
        });
        served.goes_on();
    }
    let report = finishes(Command::new(&tools().tailwater).args(["profile", "report"]).arg(&trace));
    let report = text(&report.stdout);
    assert!(report.contains("store") && report.contains("request"), "{report}");
}

/// Whether the trace has all kinds of what the program does.
fn is_told_of(recorded: &Recorded) -> bool {
    let waits = recorded.records.iter().filter(|record| {
        matches!(record, Record::Wait(wait) if wait.kind == WaitKind::Mutex && wait.holder.is_some())
    });
    let marks = recorded.marks();
    let starts = marks.iter().filter(|mark| mark.kind == MarkKind::Start).count();
    let names = ["request", "store", "main"].iter();
    let modules = recorded.records.iter().filter_map(|record| match record {
        Record::Module(module) => Some(module),
        _ => None,
    });
    let program = modules.into_iter().next().expect("the program comes first");
    assert!(program.path.ends_with("served"), "{}", program.path);
    assert!(recorded.records.iter().all(|record| {
        !matches!(record, Record::Function(function) if function.name.contains("unreadable"))
    }));
    // The program's three threads, main, and some that came and went.
    waits.count() > 0
        && starts > 0
        && recorded.threads() > 5
        && names.into_iter().all(|name| recorded.calls(name).next().is_some())
}

#[test]
fn ctrl_c_detaches() {
    let _alone = alone();
    let folder = folder("attach-signal");
    let mut served = Served::start();
    for signal in [Signal::INT, Signal::TERM] {
        // As a script starts it that goes on meanwhile.
        let mut script = Command::new("sh");
        script.args(["-c", "trap '' INT; exec \"$0\" \"$@\""]);
        let attach = served.attach(&folder.join("x.trace"), &[]);
        script.arg(attach.get_program()).args(attach.get_args());
        script.env("TAILWATER_PROFILE_HOME", tools().home()).env_remove("LD_LIBRARY_PATH");
        let attached = Attached::start(script);
        attached.signal(signal);
        let (code, said) = attached.ends();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("Detached from served"), "{said}");
        assert!(Recorded::read(&folder.join("x.trace")).is_finished());
        served.goes_on();
    }
}

#[test]
fn one_records_at_a_time() {
    let _alone = alone();
    let folder = folder("attach-twice");
    let (first, second, own) =
        (folder.join("x.trace"), folder.join("y.trace"), folder.join("own.trace"));
    let mut served = Served::start();
    let start = format!("start {}", own.display());
    let attached = Attached::start(served.attach(&first, &[]));
    let done = served.attach(&second, &["--for", "10ms"]).output().expect("it starts");
    assert_eq!(done.status.code(), Some(2));
    let said = text(&done.stderr);
    assert!(said.contains(&format!("process {} records it", attached.recorder())), "{said}");
    assert_eq!(served.ask(&start), EALREADY, "nor does the program itself");
    attached.signal(Signal::INT);
    assert_eq!(attached.ends().0, Some(0));
    assert_eq!(served.ask(&start), "0");
    let done = served.attach(&second, &["--for", "10ms"]).output().expect("it starts");
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("records itself"), "{}", text(&done.stderr));
    assert_eq!(served.ask("stop"), "0");
    finishes(&mut served.attach(&second, &["--for", "10ms"]));
    assert!(Recorded::read(&own).is_finished() && Recorded::read(&second).is_finished());
}

/// How often a side dies, and after how many rounds of the program: by a sequence, so that a failure comes again.
fn deaths() -> impl Iterator<Item = u64> {
    let count = std::env::var(KILLS).ok().and_then(|count| count.parse().ok());
    (0..count.unwrap_or(KILLS_USUAL)).map(|nth| nth * 7919 % ROUNDS)
}

#[test]
fn the_program_outlives_its_recorder() {
    let _alone = alone();
    let folder = folder("attach-recorder-dies");
    let trace = folder.join("x.trace");
    let mut served = Served::start();
    for (nth, rounds) in deaths().enumerate() {
        let attached = Attached::start(served.attach(&trace, &[]));
        let recorder = attached.recorder();
        let process = pidfd_open(numbered(recorder), PidfdFlags::empty()).expect("it is there");
        served.goes_round(rounds);
        // Or the process that started it, and then it detaches by itself.
        let dies = if nth % 3 == 2 { attached.child.id() } else { recorder };
        send(dies, Signal::KILL);
        let (code, said) = attached.ends();
        assert_ne!(code, Some(0), "{said}");
        served.goes_on();
        has_ended(&process);
        let (_, ending) = up_to_there(&trace);
        assert!(matches!(ending, Ending::Unfinished | Ending::Cut) || nth % 3 == 2);
    }
    // The program finds out by itself, once the lease is over: no other recorder came.
    served.comes_to(&format!("start {}", folder.join("own.trace").display()), "0");
    assert_eq!(served.ask("stop"), "0");
    finishes(&mut served.attach(&trace, &["--for", "100ms"]));
    assert!(Recorded::read(&trace).is_finished());
}

#[test]
fn the_recorder_outlives_the_program() {
    let _alone = alone();
    let folder = folder("attach-program-dies");
    let trace = folder.join("x.trace");
    for rounds in deaths() {
        let mut served = Served::start();
        let attached = Attached::start(served.attach(&trace, &[]));
        served.goes_round(rounds);
        served.child.kill().expect("it is ours");
        let (code, said) = attached.ends();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("has ended"), "{said}");
        let recorded = Recorded::read(&trace);
        assert!(
            recorded.is_finished() && recorded.threads() >= 3,
            "{} threads",
            recorded.threads()
        );
    }
}

#[test]
fn a_program_that_becomes_another_or_exits_ends_the_recording() {
    let _alone = alone();
    let folder = folder("attach-exec");
    let trace = folder.join("x.trace");
    let mut served = Served::start();
    let attached = Attached::start(served.attach(&trace, &[]));
    writeln!(served.asked, "exec").expect("it listens");
    let (code, said) = attached.ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("another program"), "{said}");
    assert!(Recorded::read(&trace).is_finished());
    let served = Served::start();
    let attached = Attached::start(served.attach(&trace, &[]));
    send(served.child.id(), Signal::TERM);
    let (code, said) = attached.ends();
    assert_eq!((code, said.contains("has ended")), (Some(0), true), "{said}");
    assert!(Recorded::read(&trace).is_finished());
}

#[test]
fn a_child_is_counted_and_is_not_recorded() {
    let _alone = alone();
    let folder = folder("attach-fork");
    let trace = folder.join("x.trace");
    let mut served = Served::start();
    let attached = Attached::start(served.attach(&trace, &[]));
    assert_eq!(served.ask("fork"), "5");
    served.goes_on();
    attached.signal(Signal::INT);
    assert_eq!(attached.ends().0, Some(0));
    assert_eq!(Recorded::read(&trace).lost(LossKind::Children), 1);
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 1, "no other trace");
}

#[test]
fn a_library_that_comes_and_goes_is_named() {
    let _alone = alone();
    let folder = folder("attach-library");
    let flags = "-shared -fPIC -DWHO=library";
    let library = tools().compiled("CC", flags, "plugin.c", &folder.join("liblibrary.so"));
    let trace = folder.join("x.trace");
    let mut served = Served::start();
    in_time(1, |times| {
        let attached = Attached::start(served.attach(&trace, &[]));
        for _ in 0..times.parse().expect("a number") {
            assert_eq!(served.ask(&format!("library {}", library.display())), "0");
        }
        attached.signal(Signal::INT);
        assert_eq!(attached.ends().0, Some(0));
        Recorded::read(&trace).calls("library_inner").next().map(|_| ())
    });
}

#[test]
fn a_recorder_that_stood_still_finds_its_lease_gone() {
    let _alone = alone();
    let folder = folder("attach-late");
    let mut served = Served::start();
    let attached = Attached::start(served.attach(&folder.join("x.trace"), &[]));
    let recorder = attached.recorder();
    send(recorder, Signal::STOP);
    let own = folder.join("own.trace");
    served.comes_to(&format!("start {}", own.display()), "0");
    send(recorder, Signal::CONT);
    let (code, said) = attached.ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("stood still"), "{said}");
    served.goes_on();
    assert_eq!(served.ask("stop"), "0");
    assert!(Recorded::read(&own).is_finished());
    assert!(!Recorded::read(&own).marks().is_empty(), "the program's own goes on");
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_program() {
    let _alone = alone();
    let folder = folder("attach-full");
    let trace = folder.join("x.trace");
    let mut served = Served::start();
    let mut shell = Command::new("sh");
    // In blocks of half a kilobyte: a disk that holds 64 KiB.
    shell.args(["-c", "ulimit -f 128; exec \"$0\" \"$@\""]);
    let limited = served.attach(&trace, &[]);
    shell.arg(limited.get_program()).args(limited.get_args());
    shell.env("TAILWATER_PROFILE_HOME", tools().home()).env_remove("LD_LIBRARY_PATH");
    let (code, said) = Attached::start(shell).ends();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the trace is incomplete: File too large"), "{said}");
    served.goes_on();
    let (records, ending) = up_to_there(&trace);
    assert!(matches!(ending, Ending::Unfinished | Ending::Cut));
    assert!(records > 100, "{records} records: {said}");
    finishes(&mut served.attach(&trace, &["--for", "10ms"]));
}

/// Of a file system that is full. The one above has a limit for each file alone.
#[test]
fn a_file_system_without_room_ends_the_recording_and_not_the_program() {
    let _alone = alone();
    let folder = folder("attach-no-room");
    let disk = folder.join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    // It goes with its name space, so the trace is copied out of that.
    let inside = |then: &str| {
        let mut command = Command::new("unshare");
        let line = format!("mount -t tmpfs -o size=64k none \"$0\" && {{ {then}; }}");
        command.args(["--mount", "sh", "-c", &line]).arg(&disk);
        command
    };
    match inside("true").output() {
        Ok(done) if done.status.success() => {}
        Ok(done) => return passed_over(&text(&done.stderr)),
        Err(error) => return passed_over(&format!("unshare: {error}")),
    }
    let mut served = Served::start();
    let filling = served.attach(&disk.join("x.trace"), &[]);
    let mut shell = inside("\"$@\"; code=$?; cp \"$0/x.trace\" \"$0.trace\"; exit $code");
    shell.arg(filling.get_program()).args(filling.get_args());
    shell.env("TAILWATER_PROFILE_HOME", tools().home()).env_remove("LD_LIBRARY_PATH");
    let (code, said) = Attached::start(shell).ends();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the trace is incomplete: No space left"), "{said}");
    served.goes_on();
    let (records, ending) = up_to_there(&folder.join("disk.trace"));
    assert!(matches!(ending, Ending::Unfinished | Ending::Cut));
    assert!(records > 100, "{records} records: {said}");
}

#[test]
fn the_slowest_requests_alone_are_kept() {
    let _alone = alone();
    let folder = folder("attach-keep");
    let trace = folder.join("x.trace");
    let served = Served::start();
    in_time(300, |ms| {
        let length = format!("{ms}ms");
        let options = ["--for", length.as_str(), "--keep", "p90"];
        let said = text(&finishes(&mut served.attach(&trace, &options)).stderr);
        assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 1, "the trace alone");
        said.contains("those above p90").then_some(())
    });
}

#[test]
fn a_slow_call_ends_a_flight_recorder_that_keeps_the_last_moments() {
    let _alone = alone();
    let folder = folder("attach-flight");
    let trace = folder.join("x.trace");
    let mut served = Served::start();
    // Each of these calls sleeps for longer.
    let options = ["--last", "100ms", "--until", "store>60us"];
    let done = finishes(&mut served.attach(&trace, &options));
    let said = text(&done.stderr);
    assert!(said.contains("ended by a call of store that took"), "{said}");
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 1, "the trace alone");
    let recorded = Recorded::read(&trace);
    let calls: Vec<_> = recorded.calls("store").collect();
    let ends = calls.iter().map(|call| call.end);
    let (first, last) = (ends.clone().min().expect("some"), ends.max().expect("some"));
    let clocks = recorded.records.iter().filter_map(|record| match record {
        Record::Clock(clock) => Some(*clock),
        _ => None,
    });
    let clocks: Vec<_> = clocks.collect();
    let (from, to) = (clocks[0], clocks[clocks.len() - 1]);
    let ticks_per_ms = (to.ticks - from.ticks) * 1_000_000 / (to.raw_ns - from.raw_ns);
    assert!(last - first <= 110 * ticks_per_ms, "{} ticks", last - first);
    served.goes_on();
}

#[test]
fn top_shows_what_is_slow_now() {
    let _alone = alone();
    let mut served = Served::start();
    let top = |served: &Served, options: &[&str]| {
        let mut command = Command::new(&tools().tailwater);
        command.args(["profile", "top", &served.child.id().to_string(), "--once"]).args(options);
        command.env("TAILWATER_PROFILE_HOME", tools().home()).env_remove("LD_LIBRARY_PATH");
        text(&finishes(&mut command).stdout)
    };
    in_time(300, |ms| {
        let every = format!("{ms}ms");
        let table = top(&served, &["--every", &every]);
        (table.contains("functions by p99.9") && table.contains("store")).then_some(())
    });
    let report = top(&served, &["--every", "300ms", "--json", "--function", "store"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("one object");
    let functions = report["functions"].as_array().expect("a list");
    assert!(functions.iter().all(|function| function["name"] == "store"), "{functions:?}");
    served.goes_on();
}

/// A program that is not built for it; ends with its test.
struct Sleep(Child);

impl Drop for Sleep {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_cannot_be_attached_to_is_told_with_its_mend() {
    let _alone = alone();
    let folder = folder("attach-refused");
    let refused = |pid: u32| {
        let done = attach(pid, &folder.join("x.trace"), &["--for", "10ms"]).output();
        let done = done.expect("it starts");
        assert_eq!(done.status.code(), Some(2));
        assert!(!folder.join("x.trace").exists(), "nothing is left");
        text(&done.stderr)
    };
    assert!(refused(0x7fff_ffff).contains("pgrep NAME"), "a number that nobody has");
    a_refusal_leaves_traces_alone(&folder.join("old.trace"));
    let sleep = Sleep(Command::new("sleep").arg("1000").spawn().expect("it starts"));
    let said = refused(sleep.0.id());
    assert!(said.contains("tailwater profile build"), "{said}");
}

/// What a recording of before left, byte for byte.
fn a_refusal_leaves_traces_alone(trace: &Path) {
    let files = ["", ".kernel", ".lines", ".all", ".all.kernel"].map(|more| {
        let mut name = trace.as_os_str().to_owned();
        name.push(more);
        PathBuf::from(name)
    });
    files.iter().for_each(|file| std::fs::write(file, "of before").expect("a file"));
    for options in [&[][..], &["--keep", "p90"], &["--last", "1s"], &["--kernel"], &["--lines"]] {
        let done = attach(0x7fff_ffff, trace, options).output().expect("it starts");
        assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
        for file in &files {
            let found = std::fs::read_to_string(file).expect("it stayed");
            assert_eq!(found, "of before", "{} {options:?}", file.display());
        }
    }
    let left = std::fs::read_dir(trace.parent().expect("a folder")).expect("it is there").count();
    assert_eq!(left, files.len(), "nothing else is left");
}

#[test]
fn the_kernel_tells_of_a_running_programs_threads_too() {
    let _alone = alone();
    let folder = folder("attach-kernel");
    let trace = folder.join("x.trace");
    let served = Served::start();
    let kernel = folder.join("x.trace.kernel");
    let done = finishes(&mut served.attach(&trace, &["--kernel", "--for", "10ms"]));
    if !kernel.exists() {
        let said = text(&done.stderr);
        assert!(said.contains("recording without the kernel's events"), "{said}");
        return passed_over(&said);
    }
    // Where others have the cores, what reads the events comes too late for some.
    in_time(500, |ms| {
        let length = format!("{ms}ms");
        let options = ["--kernel", "--for", length.as_str()];
        let said = text(&finishes(&mut served.attach(&trace, &options)).stderr);
        let recorded = Recorded::read(&kernel);
        assert!(recorded.is_finished(), "{said}");
        let states = recorded.records.iter().filter_map(|record| match record {
            Record::State(state) => Some(state),
            _ => None,
        });
        let ran = states.filter(|state| matches!(state.did, Did::Running { .. }));
        let told: BTreeSet<u32> = ran.map(|state| state.thread.0).collect();
        // Its three threads work all the time, and were there before.
        (told.len() >= 3).then_some(())
    });
    let mut measure = Command::new(&tools().tailwater);
    let rules = ["accelerate", "measure", "--json", "--rules", "memcached"];
    let found = finishes(measure.args(rules).arg(&trace));
    assert!(text(&found.stdout).contains("\"on_core\": true"), "{}", text(&found.stdout));
    // Of a flight recorder too, no more than asked for.
    in_time(500, |ms| {
        let length = format!("{ms}ms");
        let options = ["--kernel", "--for", length.as_str(), "--last", "100ms"];
        let said = text(&finishes(&mut served.attach(&trace, &options)).stderr);
        assert!(said.contains("Kept: those of the last 100"), "{said}");
        let recorded = Recorded::read(&kernel);
        let ends = recorded.records.iter().filter_map(|record| match record {
            Record::State(state) => Some(state.end),
            _ => None,
        });
        let (first, last) = (ends.clone().min()?, ends.max()?);
        // Its ticks are nanoseconds.
        assert!(last - first <= 100_000_000, "{} ns: {said}", last - first);
        Some(())
    });
}

/// What a process's scanners had of the cores, in nanoseconds.
fn scanned_for(process: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("its threads");
    let of = |thread: PathBuf| {
        let name = std::fs::read_to_string(thread.join("comm")).ok()?;
        let spent = std::fs::read_to_string(thread.join("schedstat")).ok()?;
        let spent = spent.split(' ').next()?.parse::<u64>().ok()?;
        (name.trim_end() == "tw-scanner").then_some(spent)
    };
    threads.flatten().filter_map(|thread| of(thread.path())).sum()
}

/// Nothing but the bound keeps it from a core: without one it takes all that the program leaves.
#[test]
fn the_scanner_takes_no_more_of_a_core_than_it_may() {
    let _alone = alone();
    let folder = folder("attach-share");
    let mut served = Served::start();
    let attached = Attached::start(served.attach(&folder.join("x.trace"), &["--cpu", "5%"]));
    let (begun, before) = (std::time::Instant::now(), scanned_for(attached.recorder()));
    served.goes_round(2_000);
    let spent = scanned_for(attached.recorder()) - before;
    let passed = begun.elapsed().as_nanos() as u64;
    attached.signal(Signal::INT);
    assert_eq!(attached.ends().0, Some(0));
    assert!(spent > 0, "it has looked");
    // Each sleep takes time of its own, and it measures the machine before it begins.
    assert!(spent < passed / 5 + 50_000_000, "{spent} of {passed} ns");
}

#[test]
fn a_program_that_closed_all_its_files_is_found_by_root() {
    let _alone = alone();
    let folder = folder("attach-closed");
    let mut served = Served::start();
    assert_eq!(served.ask("close"), "0");
    let done = served.attach(&folder.join("x.trace"), &["--for", "10ms"]).output();
    let done = done.expect("it starts");
    // Others than root are told so.
    let is_told = text(&done.stderr).contains("attach as root");
    assert!(done.status.success() || is_told, "{}", text(&done.stderr));
    assert_eq!(rustix::process::geteuid().is_root(), done.status.success());
}
