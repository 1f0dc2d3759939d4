//! A trace, and what is exported of it.

use crate::Result;
use crate::stacks::Stacks;
use machine::command;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Requests that the example serves, and in short.
const REQUESTS: [&str; 2] = ["300000", "30000"];

/// The exports of one trace, each in a file that is called as its format.
pub(crate) struct Exports {
    pub(crate) folder: PathBuf,
    trace: PathBuf,
    program: PathBuf,
    /// As the folded ones tell them, which the others are held against.
    pub(crate) stacks: Stacks,
}

impl Exports {
    /// Records, unless a trace is given, and exports in all formats.
    pub(crate) fn make(folder: &Path, trace: Option<&Path>, is_short: bool) -> Result<Self> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        let program = with_parquet()?;
        let trace = match trace {
            Some(trace) => trace.to_owned(),
            None => record(&program, &folder, REQUESTS[usize::from(is_short)])?,
        };
        for format in ["folded", "speedscope", "firefox", "pprof", "perfetto", "parquet"] {
            let mut export = Command::new(&program);
            export.args(["profile", "export", "--to", format, "--output"]);
            command::output(export.arg(folder.join(format)).arg(&trace))?;
        }
        let stacks = Stacks::read(&folder.join("folded"))?;
        Ok(Self { folder, trace, program, stacks })
    }

    /// The program itself.
    pub(crate) fn tailwater(&self) -> Command {
        Command::new(&self.program)
    }

    /// Where an export lies.
    pub(crate) fn of(&self, format: &str) -> PathBuf {
        self.folder.join(format)
    }

    /// Writes the page of the slowest requests, and reads it.
    pub(crate) fn page(&self, page: &Path) -> Result<String> {
        let mut requests = self.tailwater();
        requests.args(["profile", "requests", "--slowest", "3", "--page"]).arg(page);
        command::output(requests.arg(&self.trace))?;
        std::fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))
    }

    /// Writes the page of flame graphs, and reads it.
    pub(crate) fn flame(&self, page: &Path) -> Result<String> {
        let mut flame = self.tailwater();
        flame.args(["profile", "flame", "--above", "p99.9", "--page"]).arg(page);
        command::output(flame.arg(&self.trace))?;
        std::fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))
    }

    /// The report of all functions, as JSON.
    pub(crate) fn report(&self) -> Result<serde_json::Value> {
        let mut report = self.tailwater();
        report.args(["profile", "report", "--json", "--limit", "0", "--min-count", "0"]);
        let text = command::output(report.arg(&self.trace))?;
        serde_json::from_str(&text).map_err(|error| format!("report --json: {error}"))
    }
}

/// tailwater's program with that format, which is off by default.
fn with_parquet() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut build = Command::new("cargo");
    build.args(["build", "--quiet", "--release", "--locked", "--package", "tailwater-cli"]);
    build.args(["--features", "parquet", "--manifest-path"]).arg(root.join("Cargo.toml"));
    command::output(build.arg("--target-dir").arg(machine::tailwater_target()))?;
    machine::tailwater()
}

/// Of the paper's first program, built with the pass.
fn record(program: &Path, folder: &Path, requests: &str) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/profiling");
    for name in ["snapshot.cpp", "Makefile"] {
        std::fs::copy(source.join(name), folder.join(name))
            .map_err(|error| format!("{name}: {error}"))?;
    }
    let mut build = Command::new(program);
    build.args(["profile", "build", "--", "make", "--silent", "--always-make", "-C"]);
    command::output(build.arg(folder))?;
    let trace = folder.join("snapshot.trace");
    let mut record = Command::new(program);
    record.args(["profile", "record", "--output"]).arg(&trace).arg("--");
    record.arg(folder.join("snapshot")).arg(requests).arg(folder.join("snapshot.txt"));
    command::output(&mut record)?;
    Ok(trace)
}
