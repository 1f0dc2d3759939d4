//! `readers`: what `tailwater profile export` writes, read by the tools that it is for.
//!
//! Each format is exported from one trace, and its tool says what it finds. That must be what the others find: the same time for
//! each function, or the same calls. The tools come from registries of packages, in fixed versions. Pages that are in none
//! (ui.perfetto.dev, profiler.firefox.com) are not tried. The page of `tailwater suite demo` is opened in the same browser.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod exports;
mod stacks;
mod tools;
mod app;
mod calls;
mod page;
mod flame;
mod demo;
mod pprof;
mod svg;
mod schema;

use clap::Parser;
use exports::Exports;
use machine::Origin;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Nothing, or why there is none.
pub(crate) type Result<T = (), E = String> = std::result::Result<T, E>;

/// What `tailwater profile export` writes, read by the tools that it is for: inferno, pprof, speedscope in Chromium, DuckDB.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Records a tenth of the requests.
    #[arg(long)]
    short: bool,
    /// A trace to export; without it, one of examples/profiling/snapshot.cpp is recorded.
    #[arg(long, value_name = "TRACE")]
    trace: Option<PathBuf>,
    /// The folder for tools and exports.
    #[arg(long, value_name = "FOLDER", default_value = "out/readers")]
    folder: PathBuf,
    /// Writes the result here, too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    origin: Origin,
    rows: Vec<Row>,
}

/// A tool that has read an export.
#[derive(Serialize)]
struct Row {
    format: &'static str,
    tool: String,
    /// What it found; or why it did not read.
    found: String,
    agrees: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("readers: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Whether each tool has read its format, and found what the others did.
fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(path) = &arguments.out {
        machine::result::refuse_unwritable(path)?;
    }
    let origin = Origin::now();
    tools::look_for_all(&arguments.folder)?;
    let exports = Exports::make(&arguments.folder, arguments.trace.as_deref(), arguments.short)?;
    println!("{}\n", exports.stacks.told());
    let mut rows = vec![
        row("folded", svg::tool(), svg::read(&exports)),
        row("speedscope", schema::tool(), schema::read(&exports)),
        row("pprof", pprof::tool(), pprof::read(&exports)),
        row("parquet", calls::tool(), calls::read(&exports)),
    ];
    for format in app::FORMATS {
        rows.push(row(format, app::tool(), app::read(&exports, format)));
    }
    rows.push(row("page", page::tool(), page::read(&exports)));
    rows.push(row("flame", page::tool(), flame::read(&exports)));
    rows.push(row("demo", page::tool(), demo::read(&exports)));
    for row in &rows {
        let said = if row.agrees { "reads it" } else { "DOES NOT" };
        println!("{:<11} {:<28} {said}: {}", row.format, row.tool, row.found);
    }
    let agree = rows.iter().all(|row| row.agrees);
    if let Some(path) = &arguments.out {
        let found = Found { origin, rows };
        machine::result::write(path, &found)?;
    }
    Ok(agree)
}

fn row(format: &'static str, tool: String, read: Result<String>) -> Row {
    let agrees = read.is_ok();
    Row { format, tool, found: read.unwrap_or_else(|why| why), agrees }
}
