//! `tailwater suite list`.

use crate::failure::{Failure, say};
use crate::scenarios;
use crate::services::{SERVICES, Service};
use clap::Args;
use serde::Serialize;
use std::path::Path;
use tailwater_report::{wrap, wrap_indented};

#[derive(Args, Debug)]
pub(crate) struct ListOptions {
    /// Print it as one JSON list.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    /// What `suite run` measures.
    runs: String,
    settings: Vec<Listing>,
}

#[derive(Serialize)]
struct Listing {
    name: &'static str,
    default: &'static str,
    help: &'static str,
}

const WIDTH: usize = 100;

pub(super) fn list(options: &ListOptions) -> Result<(), Failure> {
    let listed: Vec<Listed> = SERVICES.iter().map(listed).collect::<Result<_, _>>()?;
    if options.json {
        return say(&serde_json::to_string_pretty(&listed).map_err(Failure::work)?);
    }
    for service in &listed {
        say(&format!("{}\n", shown(service)))?;
    }
    say("Type: tailwater suite run NAME [--set KEY=VALUE]…")
}

fn listed(service: &Service) -> Result<Listed, Failure> {
    let kind = service.kind;
    let scenario = scenarios::parse(Path::new(kind.name), service.scenario)?;
    let settings = kind.settings.iter().map(|setting| Listing {
        name: setting.name,
        default: setting.default,
        help: setting.help,
    });
    let settings = settings.collect();
    Ok(Listed { name: kind.name, about: kind.about, runs: scenario.summary(), settings })
}

fn shown(service: &Listed) -> String {
    let mut lines = vec![
        wrap(&format!("{}: {}", service.name, service.about), WIDTH),
        wrap_indented(&service.runs, WIDTH, "  "),
        "  settings, with their defaults:".to_owned(),
    ];
    let width =
        service.settings.iter().map(|it| it.name.len() + it.default.len()).max().unwrap_or(0);
    lines.extend(service.settings.iter().map(|setting| {
        let pair = format!("{}={}", setting.name, setting.default);
        let indent = " ".repeat(width + 7);
        let help = wrap_indented(setting.help, WIDTH, &indent);
        format!("    {pair:<0$}  {1}", width + 1, help.trim_start())
    }));
    lines.join("\n")
}
