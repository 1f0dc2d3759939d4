//! `tailwater demo`: the scenario of README's first screen, on whichever cores this machine has.

use crate::args::DemoOptions;
use crate::failure::Failure;
use crate::run::RunOptions;
use crate::{run, scenarios, terminal, two_cores};
use std::path::PathBuf;
use tailwater_report::brief;

/// Part of the binary, so that it can be run from anywhere.
const SCENARIO: &str = include_str!("../../../scenarios/demo.toml");

pub(crate) fn demo(options: &DemoOptions) -> Result<(), Failure> {
    let options = RunOptions {
        json: options.json,
        out: Some(options.out.clone()),
        ..RunOptions::on_loopback(PathBuf::from("scenarios/demo.toml"))
    };
    let mut scenario = scenarios::parse(&options.file, SCENARIO)?;
    let (server, clients) = two_cores::two()?.ok_or_else(|| {
        Failure::usage(
            "the demo needs two cores, and this process may use one; type: tailwater run scenarios/demo.toml --on sim",
        )
    })?;
    (scenario.server.cores, scenario.clients.cores) = (vec![server], vec![clients]);
    run::play(&options, scenario, &|experiment| brief(experiment, terminal::style())).map(drop)
}
