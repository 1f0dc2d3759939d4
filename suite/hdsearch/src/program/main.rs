//! `tailwater-hdsearch`: what HDSearch's indexes find, and what they cost.

#![forbid(unsafe_code)]

mod arguments;
mod out;
mod sets;
mod table;
mod tries;

use arguments::{Arguments, Verb};
use clap::Parser as _;
use std::process::ExitCode;
use tailwater_program::concluded;

fn main() -> ExitCode {
    let done = match Arguments::parse().verb {
        Verb::Frontier(arguments) => tries::run(&arguments),
        Verb::Shape(arguments) => sets::shape(&arguments),
    };
    concluded("tailwater-hdsearch", done)
}
