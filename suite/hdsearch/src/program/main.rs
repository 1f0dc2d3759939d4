//! `tailwater-hdsearch`: what HDSearch's indexes find, and what they cost.

#![forbid(unsafe_code)]

mod arguments;
mod sets;
mod table;
mod tries;

use arguments::{Arguments, Verb};
use clap::Parser as _;
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match Arguments::parse().verb {
        Verb::Frontier(arguments) => tries::run(&arguments),
        Verb::Shape(arguments) => sets::shape(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            explain(&format!("tailwater-hdsearch: {why}"));
            ExitCode::from(2)
        }
    }
}

/// A reader that has gone away (`| head`) ends the program quietly.
fn print(text: &str) -> Result<(), String> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => result.map_err(|error| format!("standard output: {error}")),
    }
}

#[expect(clippy::print_stderr, reason = "programs may")]
fn explain(text: &str) {
    eprintln!("{text}");
}
