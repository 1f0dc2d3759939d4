//! `tailwater profile`: where the time of a C, C++ or Rust program's slowest requests goes.
//!
//! Each verb has a module of its name. `build` comes first: the program must have been compiled by it.

mod build;
mod record;
mod report;
mod requests;
mod reading;
mod symbols;
mod footer;

use crate::failure::Failure;
use clap::Subcommand;

pub(crate) use build::as_compiler;

/// What can be done.
#[derive(Subcommand, Debug)]
pub(crate) enum ProfileVerb {
    /// Build a program so that it can be profiled: runs CMD with its compilers replaced.
    Build(build::BuildOptions),
    /// Run a program and record it.
    Record(record::RecordOptions),
    /// How long the calls of each function took, and which locks held them up.
    Report(report::ReportOptions),
    /// The slowest requests, and where their time went.
    Requests(requests::RequestsOptions),
}

pub(crate) fn profile(verb: &ProfileVerb) -> Result<(), Failure> {
    match verb {
        ProfileVerb::Build(options) => build::build(options),
        ProfileVerb::Record(options) => record::record(options),
        ProfileVerb::Report(options) => report::report(options),
        ProfileVerb::Requests(options) => requests::requests(options),
    }
}
