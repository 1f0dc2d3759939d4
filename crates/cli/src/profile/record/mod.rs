//! `tailwater profile record`: runs a program, has its runtime record, and says what came of it.

mod aside;
mod beside;
mod kernel;
mod lines;
mod place;
mod retained;
mod scanning;
mod values;

use super::footer::footer;
use super::percentile::percentile;
use super::reading::Trace;
use super::running::{exit_code, run_and_tell};
use crate::failure::{Failure, tell};
use clap::Args;
use place::written_beside;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use tailwater_kernel::has_counters;
use tailwater_profile::clock::Clocks;
use tailwater_profile::quality::Quality;
use tailwater_profile::record::{Counter, Counters, Record};
use tailwater_program::group::find;
use tailwater_report::{count, time};

pub(super) use aside::Whose;
pub(super) use beside::Beside;
pub(super) use lines::Lines;
pub(super) use place::{check_room, make_room};
pub(super) use retained::{Growing, Retained, all_of, following};
pub(super) use scanning::Scanning;

/// The section that the pass fills; any program that was built with it has the name in its file.
const SECTION: &[u8] = b"\0tw_desc\0";

#[derive(Args, Debug)]
pub(crate) struct RecordOptions {
    /// The trace; what was there is replaced. Programs that CMD starts record beside it, with their
    /// process's number appended.
    #[arg(short, long, value_name = "TRACE", default_value = "tailwater.trace")]
    output: PathBuf,
    #[command(flatten)]
    scanning: Scanning,
    /// Record also what the operating system did with the program's threads: when each ran, waited for a core and behind
    /// what, slept and what woke it, and what interrupted it. Lies in TRACE.kernel. Needs root or CAP_PERFMON, and tracefs;
    /// where these are missing, it says what to type and records without.
    #[arg(long)]
    kernel: bool,
    #[command(flatten)]
    lines: Lines,
    /// Keep only requests above this percentile of all, such as p99.9, with all that happened meanwhile, so that hours take
    /// little room. Up to 100,000 requests are kept. TRACE.kernel and TRACE.lines are not cut down, and children's traces are
    /// when all is over.
    #[arg(long, value_name = "PERCENTILE", value_parser = percentile)]
    keep: Option<f64>,
    /// The program and its arguments. Put -- before it where these look like options.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    command: Vec<OsString>,
}

/// Ends with the program's own exit code, where that is not zero.
pub(super) fn record(options: &RecordOptions) -> Result<(), Failure> {
    make_room(&options.output)?;
    let trace = std::path::absolute(&options.output).map_err(Failure::usage)?;
    let (began, since) = (Instant::now(), SystemTime::now());
    let asked = (options.kernel, &options.lines);
    let recorded = Beside::start(asked, &trace, Whose::Next, None);
    let (retained, written) = match options.keep {
        Some(above) => {
            make_room(&all_of(&options.output))?;
            // The program goes on, and whoever sees this may look after the room.
            let failed = |failure: &Failure| tell(&format!("No longer cut down: {failure}"));
            (Some(Retained::start(&trace, above, failed)), all_of(&trace))
        }
        None => (None, trace),
    };
    let status = run_and_tell(&mut command(options, &written), |pid| recorded.follow(pid))?;
    let recorded = recorded.finish();
    let took = began.elapsed();
    let kept = retained.map_or(Ok(String::new()), |retained| retained.finish(since));
    let concluded =
        kept.and_then(|kept| Ok(format!("{}{kept}{recorded}", found(options, took, since)?)));
    match (exit_code(status), concluded) {
        (0, concluded) => concluded.map(|text| tell(&text)),
        (code, concluded) => {
            tell(&concluded.unwrap_or_else(|failure| format!("tailwater: {failure}")));
            std::process::exit(code)
        }
    }
}

fn command(options: &RecordOptions, trace: &Path) -> Command {
    let (program, arguments) = options.command.split_first().expect("clap wants one word");
    let mut command = Command::new(program);
    command.args(arguments).env("TAILWATER_PROFILE_OUT", trace);
    options.scanning.tell(&mut command);
    command
}

/// What was recorded, in words; a failure where nothing was.
fn found(options: &RecordOptions, took: Duration, since: SystemTime) -> Result<String, Failure> {
    let program = options.command.first().map(OsString::as_os_str).unwrap_or_default();
    if !options.output.exists() {
        return Err(Failure::work(nothing(program)));
    }
    Ok(format!(
        "{}{}",
        conclude(&options.output, took, options.scanning.counters())?,
        written_beside(&options.output, since)
    ))
}

/// What a trace holds, in words.
pub(super) fn conclude(output: &Path, took: Duration, asked: Counters) -> Result<String, Failure> {
    let size = std::fs::metadata(output).map_or(0, |metadata| metadata.len());
    let trace = Trace::open(output)?;
    let mut tally = Tally::new(Clocks::new(trace.header().clock));
    let ending = trace.read(|item| match item {
        Ok(record) => tally.add(record),
        Err(error) => tally.quality.damaged(error),
    });
    let Tally { clocks, mut quality, records, calls, waits, threads, counted } = tally;
    quality.end(&ending, clocks.rate());
    Ok(format!(
        "{}: {} calls, {} waits and {} threads in {}; {} bytes ({:.1} MB/s).\n{}{}",
        output.display(),
        count(calls),
        count(waits),
        count(threads),
        time(took.as_secs_f64() * 1e6),
        count(size),
        size as f64 / 1e6 / took.as_secs_f64().max(1e-9),
        uncounted(asked, counted, has_counters()),
        footer(records, clocks.rate(), &quality),
    ))
}

/// What was asked for and counted in no call, and why.
fn uncounted(asked: Counters, counted: Counters, has_counters: bool) -> String {
    let missing = asked.without(counted);
    if missing.is_empty() {
        return String::new();
    }
    // The kernel's can be read wherever there is a call.
    if !missing.without(missing.of_processor()).is_empty() {
        return "Nothing was counted: no call of a function that times itself is in this trace. Name some by `tailwater profile \
                build --clock`.\n"
            .to_owned();
    }
    let why = if !cfg!(target_arch = "x86_64") {
        "of processors those of x86-64 are read alone"
    } else if has_counters {
        "either no call timed itself, or the program may not read them: see /proc/sys/kernel/perf_event_paranoid, which must be 2 or \
         less, and /sys/bus/event_source/devices/cpu/rdpmc, which must not be 0; or another holds them"
    } else {
        "this machine's processor shows none, as in most virtual machines"
    };
    let names: Vec<&str> = missing.iter().map(Counter::name).collect();
    format!("Not counted: {}; {why}.\n", names.join(", "))
}

/// Why there is no trace.
fn nothing(program: &OsStr) -> String {
    let name = program.display();
    let built = find(program)
        .and_then(|path| std::fs::read(path).ok())
        .is_some_and(|file| file.windows(SECTION.len()).any(|bytes| bytes == SECTION));
    if built {
        format!(
            "{name} recorded nothing, though it was built for it: it ended before its first line, \
             or could not write the trace"
        )
    } else {
        format!(
            "{name} recorded nothing: it was not built for it, and started nothing that was; \
             build it with `tailwater profile build -- make` (or cmake, ninja, cargo build …)"
        )
    }
}

/// What a trace holds, counted.
struct Tally {
    clocks: Clocks,
    quality: Quality,
    records: u64,
    calls: u64,
    waits: u64,
    threads: u64,
    /// What was counted in some call.
    counted: Counters,
}

impl Tally {
    fn new(clocks: Clocks) -> Self {
        let quality = Quality::default();
        let counted = Counters::default();
        Self { clocks, quality, records: 0, calls: 0, waits: 0, threads: 0, counted }
    }

    fn add(&mut self, record: &Record) {
        self.records += 1;
        self.quality.add(record);
        match record {
            Record::Call(_) => self.calls += 1,
            Record::Wait(_) => self.waits += 1,
            Record::Thread(_) => self.threads += 1,
            Record::Counted(one) => self.counted = self.counted.and(one.counts.counters()),
            Record::Clock(clock) => self.clocks.add(clock),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_counted_is_said_with_the_cause() {
        let of = |mask| Counters::of_mask(mask).expect("counters");
        let (cpu, cycles) = (of(1), of(1 << Counter::Cycles as u8));
        assert_eq!(uncounted(cpu, cpu, false) + &uncounted(of(0), of(0), true), "");
        assert!(uncounted(cpu.and(cycles), of(0), true).contains("build --clock"));
        let none = uncounted(cpu.and(cycles), cpu, false);
        assert!(none.contains("Not counted: cycles"), "{none}");
        if cfg!(target_arch = "x86_64") {
            assert!(none.contains("virtual machines"), "{none}");
            assert!(uncounted(cycles, of(0), true).contains("perf_event_paranoid"));
        }
    }

    #[test]
    fn a_program_without_the_pass_is_told_how_to_get_it() {
        assert!(nothing(OsStr::new("sh")).contains("tailwater profile build"));
    }
}
