//! `tailwater demo`: the scenario of README's first screen, on whichever cores this machine has.

mod cores;

use crate::args::{DemoOptions, Driver, PictureOptions, RunOptions};
use crate::failure::Failure;
use crate::{run, scenarios, terminal};
use std::path::PathBuf;
use tailwater_report::brief;

/// Part of the binary, so that it can be run from anywhere.
const SCENARIO: &str = include_str!("../../../../scenarios/demo.toml");

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
        shard: None,
        pictures: PictureOptions::default(),
    };
    let mut scenario = scenarios::parse(&options.file, SCENARIO)?;
    let (server, clients) = cores::two()?;
    (scenario.server.cores, scenario.clients.cores) = (vec![server], vec![clients]);
    run::play(&options, scenario, &|experiment| brief(experiment, terminal::style())).map(drop)
}
