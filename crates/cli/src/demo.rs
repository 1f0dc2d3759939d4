//! `tailwater demo`: the scenario of README's first screen.

use crate::args::{DemoOptions, Driver, RunOptions};
use crate::failure::Failure;
use crate::run;
use std::path::PathBuf;

/// Part of the binary, so that it can be run from anywhere.
const SCENARIO: &str = include_str!("../../../scenarios/demo.toml");

pub(crate) fn demo(options: &DemoOptions) -> Result<(), Failure> {
    let options = RunOptions {
        file: PathBuf::from("scenarios/demo.toml"),
        on: Driver::Loopback,
        seed: None,
        json: options.json,
        out: Some(options.out.clone()),
        short: false,
        repetitions: None,
        threads: None,
    };
    run::run_text(&options, SCENARIO).map(drop)
}
