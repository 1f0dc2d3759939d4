//! `tailwater profile import`: what `perf sched record` wrote, put beside a trace as `record --kernel` would.

use super::companion::{Companion, are_of_one_life};
use super::facts::{Facts, Summary};
use super::reading::Trace;
use super::written::Source;
use crate::failure::{Failure, say};
use clap::Args;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tailwater_kernel::schedule::Machine;
use tailwater_kernel::{PERF_RECORD, PERF_SCRIPT, PerfEvents, PerfScript};
use tailwater_profile::record::{Clock, Record};
use tailwater_profile::trace::Header;
use tailwater_report::time;

/// What the file's header names as its program.
const TELLER: &str = "perf";
/// How a file of perf's own begins.
const MAGIC: &[u8; 8] = b"PERFILE2";
/// Bytes of a line at most: what is longer counts as several, so that no file takes all memory.
const LINE_MAX: u64 = 1 << 20;

#[derive(Args, Debug)]
pub(crate) struct ImportOptions {
    /// What `perf sched record` wrote: perf.data, which the program `perf` must be there to read, or the text of
    /// `perf script --header --ns --show-lost-events --fields tid,cpu,time,event,trace`.
    #[arg(default_value = "perf.data")]
    perf: PathBuf,
    /// The trace of the same time. What is imported lies in TRACE.kernel.
    #[arg(long, value_name = "TRACE", default_value = "tailwater.trace")]
    trace: PathBuf,
}

pub(super) fn import(options: &ImportOptions) -> Result<(), Failure> {
    let to = Companion::Kernel.file(&options.trace);
    check_place(&to)?;
    let trace = Recorded::read(&options.trace)?;
    let told = read(&options.perf)?;
    let named = |why: String| Failure::usage(format!("{}: {why}", options.perf.display()));
    let (first_ns, last_ns) = trace.overlap(&told).map_err(named)?;
    let written = to.with_added_extension("begun");
    let has_interrupts = told.has_interrupts;
    let summary = write(&written, &trace, told).and_then(|summary| {
        std::fs::rename(&written, &to)?;
        Ok(summary)
    });
    let summary = summary.map_err(|error| {
        // It may never have been made.
        let _ = std::fs::remove_file(&written);
        Failure::work(format!("{}: {error}", written.display()))
    })?;
    say(&text(&to, &summary, has_interrupts, last_ns - first_ns))
}

/// What `record --kernel` wrote tells more.
fn check_place(to: &Path) -> Result<(), Failure> {
    if !to.exists() {
        return Ok(());
    }
    match Trace::open(to) {
        Ok(found) if found.header().program == TELLER => Ok(()),
        _ => Err(Failure::usage(format!(
            "{} is there already, and did not come from perf; remove it, or name a copy of the trace by --trace",
            to.display()
        ))),
    }
}

/// What of a trace says when it was and of whom it is.
struct Recorded {
    header: Header,
    tids: BTreeSet<u32>,
    end: Clock,
}

impl Recorded {
    fn read(path: &Path) -> Result<Self, Failure> {
        let trace = Trace::open(path)?;
        let header = trace.header().clone();
        let (mut tids, mut end) = (BTreeSet::from([header.pid]), header.clock);
        trace.read(|item| match item {
            Ok(Record::Thread(thread)) => {
                tids.insert(thread.tid);
            }
            Ok(Record::Clock(clock)) => end = *clock,
            // Readers of the trace tell of damage.
            _ => {}
        });
        Ok(Self { header, tids, end })
    }

    /// From when to when both tell; otherwise why the events cannot be of this trace.
    fn overlap(&self, told: &PerfEvents) -> Result<(u64, u64), String> {
        let (Some(first), Some(last)) = (told.events.first(), told.events.last()) else {
            return Err(format!("it has no event; type: {PERF_RECORD}"));
        };
        let clock = self.header.clock;
        let began = (clock.real_ns, clock.raw_ns);
        if told.reference.is_some_and(|both| !are_of_one_life(both, began)) {
            let why = "it was recorded on another machine, or before this one was started anew; \
                       record both at once";
            return Err(why.into());
        }
        let (from_ns, to_ns) = (first.at_ns.max(clock.raw_ns), last.at_ns.min(self.end.raw_ns));
        if from_ns >= to_ns {
            let apart = |a: u64, b: u64| time(a.abs_diff(b) as f64 / 1e3);
            let when = match last.at_ns <= clock.raw_ns {
                true => {
                    format!("it ends {} before the trace begins", apart(last.at_ns, clock.raw_ns))
                }
                false => format!(
                    "it begins {} after the trace ends",
                    apart(first.at_ns, self.end.raw_ns)
                ),
            };
            return Err(format!("{when}; record both at once"));
        }
        Ok((from_ns, to_ns))
    }

    /// What both clocks showed when the raw one showed this.
    const fn at(&self, raw_ns: u64) -> Clock {
        let clock = self.header.clock;
        let real_ns = clock.real_ns.wrapping_add(raw_ns.wrapping_sub(clock.raw_ns));
        Clock { ticks: raw_ns, raw_ns, real_ns }
    }
}

fn read(path: &Path) -> Result<PerfEvents, Failure> {
    let trouble = |error: io::Error| {
        let failure = Failure::usage(format!("{}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::NotFound => failure
                .and(&format!("record it while the program is recorded; type: {PERF_RECORD}")),
            _ => failure,
        }
    };
    let mut magic = [0; 8];
    let is_perfs_own =
        File::open(path).map_err(trouble)?.read_exact(&mut magic).is_ok() && magic == *MAGIC;
    let mut script = PerfScript::default();
    if is_perfs_own {
        by_perf(path, &mut script)?;
    } else {
        lines(File::open(path).map_err(trouble)?, &mut script).map_err(trouble)?;
    }
    script.finish().map_err(|missing| Failure::usage(format!("{}: {missing}", path.display())))
}

/// Text that is no UTF-8 may be within the name of a thread.
fn lines(text: impl io::Read, script: &mut PerfScript) -> io::Result<()> {
    let mut text = BufReader::new(text);
    let mut line = Vec::new();
    while text.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? > 0 {
        script.take(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']));
        line.clear();
    }
    Ok(())
}

/// Has perf print its file.
fn by_perf(path: &Path, script: &mut PerfScript) -> Result<(), Failure> {
    let mut command = Command::new("perf");
    command.args(PERF_SCRIPT).arg("--input").arg(path);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| {
        Failure::usage(format!(
            "{}: only perf reads its own files, and it could not be started: {error}; install it (Debian: apt-get install \
             linux-perf), or name the text that `perf {}` prints where it is",
            path.display(),
            PERF_SCRIPT.join(" "),
        ))
    })?;
    // Both are read at once: either may fill its pipe.
    let complaint = complaint(&mut child);
    let out = child.stdout.take().expect("it is piped");
    let read = lines(out, script).map_err(Failure::work);
    let status = child.wait().map_err(Failure::work)?;
    let said = complaint.join().unwrap_or_default();
    read?;
    if status.success() {
        return Ok(());
    }
    let said = said.trim();
    Err(Failure::usage(format!("{}: perf script ended with {status}: {said}", path.display())))
}

fn complaint(child: &mut Child) -> std::thread::JoinHandle<String> {
    let mut from = child.stderr.take().expect("it is piped");
    std::thread::spawn(move || {
        let mut said = Vec::new();
        // What was read up to an error is told.
        let _ = from.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    })
}

fn write(path: &Path, trace: &Recorded, told: PerfEvents) -> io::Result<Summary> {
    let first_ns = told.events.first().map_or(0, |event| event.at_ns);
    let last_ns = told.events.last().map_or(0, |event| event.at_ns);
    // A file that began later would not be taken for the trace's.
    let began = trace.at(first_ns.min(trace.header.clock.raw_ns));
    let source = Source { teller: TELLER, root: trace.header.pid, began };
    let mut facts = Facts::create(path, source, None)?;
    let mut machine = Machine::new(told.cpus.into_iter());
    trace.tids.iter().for_each(|tid| machine.follow(*tid, first_ns));
    told.events.iter().for_each(|event| machine.apply(event, &mut |fact| facts.add(fact)));
    let totals = machine.finish(last_ns, &mut |fact| facts.add(fact));
    facts.finish(trace.at(last_ns), told.losses, totals, None)
}

fn text(to: &Path, summary: &Summary, has_interrupts: bool, both_ns: u64) -> String {
    let wakers = match has_interrupts {
        true => String::new(),
        false => format!(
            "\nWhat woke threads is not told, as interrupts were not recorded, too: {PERF_RECORD}."
        ),
    };
    format!(
        "{}: {} Both recordings have {} in common.{wakers}\n",
        to.display(),
        summary.text(),
        time(both_ns as f64 / 1e3)
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::header;
    use super::*;
    use tailwater_kernel::{Event, Losses, What};

    const S: u64 = 1_000_000_000;

    /// A trace from second 100 to second 110 of the machine's life.
    fn recorded() -> Recorded {
        let clock = |raw_ns: u64| Clock { ticks: raw_ns, raw_ns, real_ns: 1_000 * S + raw_ns };
        let header = Header { pid: 7, clock: clock(100 * S), ..header() };
        Recorded { header, tids: BTreeSet::from([7]), end: clock(110 * S) }
    }

    fn told(seconds: &[u64], reference: Option<(u64, u64)>) -> PerfEvents {
        let event = |s: &u64| Event { at_ns: s * S, cpu: 0, tid: 7, what: What::InterruptExit };
        PerfEvents {
            events: seconds.iter().map(event).collect(),
            cpus: vec![0],
            losses: Losses::default(),
            has_interrupts: true,
            reference,
        }
    }

    #[test]
    fn only_events_of_the_time_of_the_trace_are_taken() {
        let trace = recorded();
        assert_eq!(trace.overlap(&told(&[99, 104], None)), Ok((100 * S, 104 * S)));
        assert_eq!(trace.overlap(&told(&[102, 300], None)), Ok((102 * S, 110 * S)));
        let why = |told: PerfEvents| trace.overlap(&told).expect_err("it is not of the trace");
        let early = why(told(&[40, 90], None));
        assert!(early.contains("it ends 10.0 s before the trace begins"), "{early}");
        let late = why(told(&[130, 140], None));
        assert!(late.contains("it begins 20.0 s after the trace ends"), "{late}");
        assert!(why(told(&[], None)).contains("type: perf sched record -k CLOCK_MONOTONIC_RAW"));
    }

    #[test]
    fn another_life_of_the_machine_is_told_by_the_time_of_the_day() {
        let trace = recorded();
        let same = Some((1_104 * S, 104 * S));
        assert!(trace.overlap(&told(&[99, 104], same)).is_ok());
        let other = Some((9_104 * S, 104 * S));
        assert!(trace.overlap(&told(&[99, 104], other)).is_err());
        // NTP may have slewed the clock of the day for the hour since this trace began.
        let hour_later = 100 * S + 3_600 * S;
        let long = Recorded { end: Clock { raw_ns: hour_later, ..trace.end }, ..trace };
        let slewed = Some((1_000 * S + hour_later + 18 * S / 10, hour_later));
        assert!(long.overlap(&told(&[3_690, 3_700], slewed)).is_ok());
    }
}
