//! `--kernel` of `record` and `attach`: what the operating system does with the program's threads, written beside the trace.

use crate::profile::companion::Companion;
use crate::profile::facts::{Facts, Summary};
use crate::profile::written::{Source, reading};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_kernel::schedule::Machine;
use tailwater_kernel::{
    Missing, Probe, Recorder, Syscalls, Throttling, first_touch_ns, has_counters, now_ns,
};
use tailwater_profile::record::{Figure, Measured, Record};
use tailwater_report::count;

/// Between two readings of the rings.
const PERIOD: Duration = Duration::from_millis(10);
/// Readings between two writings of what is held back: about a second.
const FLUSH: u32 = 100;
/// The system call that is counted apart: what locks make where they wait.
const COUNTED: &str = "futex";

/// Whose threads are followed.
#[derive(Clone, Copy)]
pub(in super::super) enum Whose {
    /// Those of the program that the calling thread starts next; [`KernelRecording::follow`] tells its number.
    Next,
    /// Those of a process that runs.
    Running(u32),
}

impl Whose {
    /// Where a file beside the trace is written meanwhile: a process that runs may refuse to be recorded, and then what lies
    /// at `path` stays.
    pub(super) fn written(self, path: &Path) -> PathBuf {
        match self {
            Self::Next => path.to_owned(),
            Self::Running(_) => path.with_added_extension("begun"),
        }
    }
}

/// A recording under way, or why there is none.
pub(in super::super) struct KernelRecording {
    working: Option<(Sender<u32>, JoinHandle<io::Result<Summary>>)>,
    syscalls: Result<Syscalls, Missing>,
    path: PathBuf,
    written: PathBuf,
    /// What is missing, in sentences.
    missing: String,
}

impl KernelRecording {
    /// Begins, or says on standard error what is missing and what to type. With `last`, only facts of so long before the end
    /// are written, when that has come.
    pub(in super::super) fn start(trace: &Path, whose: Whose, last: Option<Duration>) -> Self {
        let path = Companion::Kernel.file(trace);
        let written = whose.written(&path);
        let probe = Probe::look();
        let missing = probe.sources().filter_map(|(source, found)| Some((source, found.err()?)));
        let lacking: Vec<String> =
            missing.map(|(source, missing)| format!("{}: {missing}", source.name())).collect();
        let began_ns = now_ns();
        let syscalls = match whose {
            Whose::Next => Syscalls::of_next_program(&[COUNTED]),
            Whose::Running(pid) => Syscalls::of_threads(&threads(pid), &[COUNTED]),
        };
        let recorder = match Recorder::start(probe) {
            Ok(recorder) => recorder,
            Err(missing) => {
                super::tell(&format!(
                    "tailwater: recording without the kernel's events: {missing}"
                ));
                return Self { working: None, syscalls, path, written, missing: String::new() };
            }
        };
        let missing =
            lacking.iter().map(|one| format!("\nNot told by this kernel: {one}.")).collect();
        // With the events on, as it will be for the program.
        let first_touch = first_touch_ns();
        let (tell, told) = channel();
        let to = written.clone();
        let work = move || {
            let root = told.recv().ok()?;
            let source = Source { teller: "kernel", root, began: reading(began_ns) };
            let facts = Facts::create(&to, source, last);
            Some(facts.and_then(|facts| record(recorder, root, first_touch, &told, facts)))
        };
        let work = std::thread::spawn(move || work().unwrap_or_else(|| Ok(Summary::default())));
        let started = Self { working: Some((tell, work)), syscalls, path, written, missing };
        if let Whose::Running(pid) = whose {
            started.follow(pid);
        }
        started
    }

    /// The process whose threads are to be followed, and all that it makes.
    pub(super) fn follow(&self, pid: u32) {
        if let Some((tell, _)) = &self.working {
            // Where the other side has failed, it says so at the end.
            let _ = tell.send(pid);
        }
    }

    /// Ends the recording of what was not recorded after all.
    pub(in super::super) fn discard(self) {
        if let Some((tell, work)) = self.working {
            drop(tell);
            let _ = work.join();
            // It may never have been made.
            let _ = std::fs::remove_file(self.written);
        }
    }

    /// Ends the recording; what came of it, in words.
    pub(in super::super) fn finish(self) -> String {
        let Some((tell, work)) = self.working else { return String::new() };
        drop(tell);
        let path = self.path.display();
        let (missing, syscalls) = (self.missing, called(self.syscalls));
        let recorded = work.join();
        let placed = std::fs::rename(&self.written, &self.path);
        match recorded.map(|recorded| placed.and(recorded)) {
            Ok(Ok(summary)) => {
                let counters = counters(has_counters());
                format!("\n{path}: {}{syscalls}{missing}{counters}", summary.text())
            }
            Ok(Err(error)) => {
                format!("\n{path}: the kernel's events could not be written: {error}")
            }
            Err(_) => format!("\n{path}: the recorder of the kernel's events has failed"),
        }
    }
}

/// The threads of a process; of one that is gone its own number.
pub(super) fn threads(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_dir(format!("/proc/{pid}/task"));
    let names = listed
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| thread.file_name().into_string().ok());
    let mut tids: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    if tids.is_empty() {
        tids.push(pid);
    }
    tids
}

/// What system calls the program made, or why that is not known.
fn called(syscalls: Result<Syscalls, Missing>) -> String {
    let mut syscalls = match syscalls {
        Ok(syscalls) => syscalls,
        Err(missing) => return format!("\nSystem calls are not counted: {missing}."),
    };
    match syscalls.read() {
        Ok((all, named)) => {
            let named =
                named.iter().map(|(name, calls)| format!(", {} of them {name}", count(*calls)));
            format!(" {} system calls{}.", count(all), named.collect::<String>())
        }
        Err(error) => format!("\nSystem calls are not counted: {error}."),
    }
}

/// What is said of the processor's counters.
const fn counters(are_there: bool) -> &'static str {
    if are_there {
        "\nHardware counters are not read; `perf stat -p PID` has those of this machine."
    } else {
        "\nHardware counters are not read, and this machine has none."
    }
}

/// Follows a process until the other side hangs up.
fn record(
    mut recorder: Recorder,
    root: u32,
    first_touch: Option<u64>,
    told: &Receiver<u32>,
    mut facts: Facts,
) -> io::Result<Summary> {
    let throttling = Throttling::begin(root);
    if let Some(value) = first_touch {
        facts.write(Record::Figure(Figure { what: Measured::FirstTouchNs, value }));
    }
    let mut machine = Machine::new(recorder.cpus());
    // After the events were turned on, which tell of all that are made from then on.
    threads(root).into_iter().for_each(|tid| machine.follow(tid, facts.began_ns));
    let mut readings = 0u32;
    // The program has begun: what is silent may be visited.
    recorder.read(|event| machine.apply(event, &mut |fact| facts.add(fact)));
    while told.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
        recorder.read(|event| machine.apply(event, &mut |fact| facts.add(fact)));
        readings = readings.wrapping_add(1);
        if readings.is_multiple_of(FLUSH) {
            facts.flush();
        }
    }
    // Not when the events are closed, which may take longer than the last moments do.
    let mut end_ns = now_ns();
    let losses = recorder.finish(|event| {
        end_ns = end_ns.max(event.at_ns);
        machine.apply(event, &mut |fact| facts.add(fact));
    });
    let (beyond, retransmissions) = (machine.beyond(), machine.retransmissions());
    machine.finish(end_ns, &mut |fact| facts.add(fact));
    let throttled = throttling.map(|throttling| throttling.times());
    let mut summary = facts.finish(reading(end_ns), losses, beyond, throttled)?;
    summary.retransmissions = retransmissions;
    Ok(summary)
}
