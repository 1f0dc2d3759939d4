//! `tailwater`: overload control, honest load and deterministic simulation for RPC services.
//!
//! `args` is the one table of verbs and flags; each verb has a module of its own name. Exit codes:
//! 0 done, 1 the work failed, 2 what was asked for is wrong, 128 + n ended by signal n.

#![forbid(unsafe_code)]

mod args;
mod values;
mod failure;
mod input;
mod terminal;
mod reader;
mod folder;
mod progress;
mod machine;
mod data_folder;
mod bound;
mod complaints;
mod guard;
mod scenarios;
mod notes;
mod services;
mod applications;
mod as_word;
mod job;
mod quoted;
mod tips;
mod serve;
mod load;
mod locks;
mod prepare;
mod probe;
mod run;
mod two_cores;
mod hand_over;
mod unforeseen;
mod new;
mod check;
mod demo;
mod data;
mod suite;
mod draw;
mod merge;
mod compare;
mod profile;
mod accelerate;
mod tune;
mod figures;
mod controllers;
mod keys;
mod manual;

use args::Verb;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = profile::as_compiler() {
        return code;
    }
    let result = match tips::arguments().verb {
        Verb::Serve(options) => serve::serve(&options),
        Verb::Load(options) => load::load(&options),
        Verb::Locks(options) => locks::locks(&options),
        Verb::Probe(options) => probe::probe(&options),
        Verb::Run(options) => run::run(&options),
        Verb::New(options) => new::new(&options),
        Verb::Check(options) => check::check(&options),
        Verb::Demo(options) => demo::demo(&options),
        Verb::Suite { verb } => suite::suite(&verb),
        Verb::Data { verb } => data::data(&verb),
        Verb::Draw(options) => draw::draw(&options),
        Verb::Merge(options) => merge::merge(&options),
        Verb::Compare(options) => compare::compare(&options),
        Verb::Profile { verb } => profile::profile(&verb),
        Verb::Accelerate { verb } => accelerate::accelerate(&verb),
        Verb::Tune { verb } => tune::tune(&verb),
        Verb::Figures(options) => figures::figures(&options),
        Verb::Controllers => controllers::list(),
        Verb::Keys(options) => keys::keys(&options),
        Verb::Completions { shell } => args::completions(shell),
        Verb::Man(options) => manual::manual(&options),
        Verb::Guard(options) => guard::guard(&options),
        Verb::Job => job::from_standard_input(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure::report(&failure),
    }
}
