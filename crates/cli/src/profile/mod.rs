//! `tailwater profile`: where the time of a C, C++ or Rust program's slowest requests goes.
//!
//! Each verb has a module of its name. `build` comes first: the program must have been compiled by it.

mod build;
mod record;
mod attach;
mod report;
mod requests;
mod tiers;
mod keep;
mod flame;
mod export;
mod diff;
mod import;
mod kernel;
mod run_queue;
mod chosen;
mod companion;
mod written;
mod lines;
mod facts;
mod reading;
mod symbols;
mod footer;
mod bounds;
mod blame;
mod incomplete;
mod glob;
mod output;
mod page;
mod percentile;
mod running;
#[cfg(test)]
mod testing;

use crate::failure::Failure;
use clap::Subcommand;

pub(crate) use build::as_compiler;
pub(crate) use companion::Companion;
pub(crate) use footer::footer;
pub(crate) use reading::Trace;

/// What can be done.
#[derive(Subcommand, Debug)]
pub(crate) enum ProfileVerb {
    /// Build a program so that it can be profiled: runs CMD with its compilers replaced.
    ///
    /// CC, CXX, AR, RANLIB and NM are set for CMD; for cargo also the linker and a target, so that the
    /// program lies in target/TRIPLE/release. Where a build takes its compilers from elsewhere, name tailwater-cc and
    /// tailwater-c++ there. They lie in the folder `bin` beside the plugin, as does tailwater.cmake, a toolchain
    /// file. Needs what `make pass` lays out.
    Build(build::BuildOptions),
    /// Run a program that was built so, and record it: calls, waits for locks, marked requests.
    ///
    /// Passes signals on, and ends with the program's own exit code (128 and the number after a signal); with 1
    /// where that is 0 and there is no trace.
    Record(record::RecordOptions),
    /// Record a program that runs already, for a while or until Ctrl-C: the scanner is in a process beside it.
    ///
    /// The program was built by `tailwater profile build`, and started as ever. It lives on whatever becomes of the
    /// recorder. Of two recorders the second is refused. Children that the program forks are not recorded. Needs the right
    /// to look into the process: its user's, or root's.
    Attach(attach::AttachOptions),
    /// The slowest functions of a program that runs already, recorded for two seconds and shown, over and over.
    ///
    /// As `attach` and `report`; --once shows one table. Ends with the program, or by Ctrl-C.
    Top(attach::TopOptions),
    /// How long the calls of each function took, and which locks held them up.
    Report(report::ReportOptions),
    /// The slowest requests, and where their time went.
    Requests(requests::RequestsOptions),
    /// A smaller trace: its slowest requests, with all that happened meanwhile.
    ///
    /// `record --keep` does so while it records, so that hours take little room.
    Keep(keep::KeepOptions),
    /// Where slow requests, or the slow calls of a function, spend their time, beside all of them: two flame graphs on a page.
    ///
    /// A frame is as wide as its share of the time, and coloured by how much larger that is in slow ones. The terminal has
    /// the functions whose own share grew most. `export` has the same stacks for other tools.
    Flame(flame::FlameOptions),
    /// A trace for other tools: flame graphs (folded stacks, speedscope, Firefox Profiler), a time line (Perfetto) and a
    /// table of all calls (Parquet).
    ///
    /// Stacks have the time that threads spent in each function itself; with --function and --above those of the tail
    /// alone. What the trace does not tell stands on standard error.
    Export(export::ExportOptions),
    /// Take in what `perf sched record` wrote while the program was recorded: as if by `record --kernel`, `report --slowest`,
    /// `requests` and `export` then tell when its threads ran, waited for a core and slept.
    ///
    /// The recording needs the trace's clock: `perf sched record -k CLOCK_MONOTONIC_RAW -- sleep 10`. With -e 'irq:*' -e
    /// 'irq_vectors:local_timer_*' -e exceptions:page_fault_user it also tells what woke and interrupted threads.
    Import(import::ImportOptions),
    /// The functions whose calls take another time in another build, corrected for how many were looked at.
    ///
    /// Those that moved by themselves come before those that moved with what they call. Ends with exit code 1 where any has
    /// moved, with 2 where nothing could be compared. Two folders of recordings tell builds apart; two traces, two processes.
    Diff(diff::DiffOptions),
}

pub(crate) fn profile(verb: &ProfileVerb) -> Result<(), Failure> {
    match verb {
        ProfileVerb::Build(options) => build::build(options),
        ProfileVerb::Record(options) => record::record(options),
        ProfileVerb::Attach(options) => attach::attach(options),
        ProfileVerb::Top(options) => attach::top(options),
        ProfileVerb::Report(options) => report::report(options),
        ProfileVerb::Requests(options) => requests::requests(options),
        ProfileVerb::Keep(options) => keep::keep(options),
        ProfileVerb::Flame(options) => flame::flame(options),
        ProfileVerb::Export(options) => export::export(options),
        ProfileVerb::Import(options) => import::import(options),
        ProfileVerb::Diff(options) => diff::diff(options),
    }
}
