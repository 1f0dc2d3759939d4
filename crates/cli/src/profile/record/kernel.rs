//! `--kernel` of `record` and `attach`: what the operating system does with the program's threads, written beside the trace.

use super::aside::{Aside, Readings, Whose, threads};
use crate::profile::companion::Companion;
use crate::profile::facts::{Facts, Summary};
use crate::profile::written::{Source, reading};
use std::io;
use std::path::Path;
use std::time::Duration;
use tailwater_kernel::schedule::Machine;
use tailwater_kernel::{
    Missing, Probe, Recorder, Syscalls, Throttling, first_touch_ns, has_counters, now_ns,
};
use tailwater_profile::record::{Figure, Measured, Record};
use tailwater_report::count;

/// The system call that is counted apart: what locks make where they wait.
const COUNTED: &str = "futex";

/// A recording under way, or why there is none.
pub(super) struct KernelRecording {
    working: Option<Aside<Summary>>,
    syscalls: Result<Syscalls, Missing>,
    /// What is missing, in sentences.
    missing: String,
}

impl KernelRecording {
    /// Begins, or says on standard error what is missing and what to type. With `last`, only facts of so long before the end
    /// are written, when that has come.
    pub(super) fn start(trace: &Path, whose: Whose, last: Option<Duration>) -> Self {
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
                crate::failure::tell(&format!(
                    "tailwater: recording without the kernel's events: {missing}"
                ));
                return Self { working: None, syscalls, missing: String::new() };
            }
        };
        let missing =
            lacking.iter().map(|one| format!("\nNot told by this kernel: {one}.")).collect();
        // With the events on, as it will be for the program.
        let first_touch = first_touch_ns();
        let path = Companion::Kernel.file(trace);
        let working =
            Aside::start("the kernel's events", path, whose, move |root, to, readings| {
                let source = Source { teller: "kernel", root, began: reading(began_ns) };
                record(recorder, root, first_touch, readings, Facts::create(to, source, last)?)
            });
        Self { working: Some(working), syscalls, missing }
    }

    /// The process whose threads are to be followed, and all that it makes.
    pub(super) fn follow(&self, pid: u32) {
        self.working.iter().for_each(|working| working.follow(pid));
    }

    /// Ends the recording of what was not recorded after all.
    pub(super) fn discard(self) {
        self.working.into_iter().for_each(Aside::discard);
    }

    /// The recording is to end now, before [`Self::finish`] waits for that.
    pub(super) fn end(&mut self) {
        self.working.iter_mut().for_each(Aside::end);
    }

    /// Ends the recording; what came of it, in words.
    pub(super) fn finish(self) -> String {
        let Some(working) = self.working else { return String::new() };
        let (missing, syscalls) = (self.missing, called(self.syscalls));
        working.finish(|summary| {
            format!("{}{syscalls}{missing}{}", summary.text(), counters(has_counters()))
        })
    }
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
    match (are_there, cfg!(target_arch = "x86_64")) {
        (true, true) => {
            "\nThis machine has hardware counters: --counters=cycles,instructions,cache-misses reads them in calls."
        }
        (true, false) => {
            "\nHardware counters are read on x86-64 alone; `perf stat -p PID` has those of this machine."
        }
        (false, _) => "\nThis machine shows no hardware counters.",
    }
}

/// Follows a process until the recording ends.
fn record(
    mut recorder: Recorder,
    root: u32,
    first_touch: Option<u64>,
    readings: &Readings,
    mut facts: Facts,
) -> io::Result<Summary> {
    let throttling = Throttling::begin(root);
    if let Some(value) = first_touch {
        facts.write(Record::Figure(Figure { what: Measured::FirstTouchNs, value }));
    }
    let mut machine = Machine::new(recorder.cpus());
    // After the events were turned on, which tell of all that are made from then on.
    threads(root).into_iter().for_each(|tid| machine.follow(tid, facts.began_ns));
    // The program has begun: what is silent may be visited.
    recorder.read(|event| machine.apply(event, &mut |fact| facts.add(fact)));
    readings.each(|is_to_flush| {
        recorder.read(|event| machine.apply(event, &mut |fact| facts.add(fact)));
        if is_to_flush {
            facts.flush();
        }
    });
    // Not when the events are closed, which may take longer than the last moments do.
    let mut end_ns = now_ns();
    let losses = recorder.finish(|event| {
        end_ns = end_ns.max(event.at_ns);
        machine.apply(event, &mut |fact| facts.add(fact));
    });
    let totals = machine.finish(end_ns, &mut |fact| facts.add(fact));
    let throttled = throttling.map(|throttling| throttling.times());
    facts.finish(reading(end_ns), losses, totals, throttled)
}
