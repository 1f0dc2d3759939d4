//! The tools, as their registries have them. What is there already is taken: each version has a folder of its own.

use crate::Result;
use machine::command::{self, Needed};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const SPEEDSCOPE: &str = "1.25.0";
pub(crate) const PPROF: &str = "v0.0.0-20261105003125-4bf881d7fb0b";
pub(crate) const DUCKDB: &str = "2.0.1";

/// The browser.
pub(crate) const CHROMIUM: &str = "chromium";

const NPM: Needed = Needed { name: "npm", probe: &["npm", "--version"], package: "npm" };
const GO: Needed = Needed { name: "Go", probe: &["go", "version"], package: "golang-go" };
const VENV: Needed = Needed {
    name: "venv of Python",
    probe: &["python3", "-c", "import ensurepip, venv"],
    package: "python3-venv",
};
const BROWSER: Needed =
    Needed { name: "Chromium", probe: &[CHROMIUM, "--version"], package: "chromium" };

/// Says which programs are missing before anything is recorded. What was fetched earlier needs no fetching.
pub(crate) fn look_for_all(folder: &Path) -> Result {
    let fetched = [
        (NPM, release(folder).exists()),
        (GO, pprof_program(folder).exists()),
        (VENV, has_duckdb(&python(folder))),
    ];
    let missing = fetched.into_iter().filter(|(_, is_there)| !is_there);
    let needed: Vec<Needed> = missing.map(|(program, _)| program).chain([BROWSER]).collect();
    command::look_for(&needed)
}

fn package(folder: &Path) -> PathBuf {
    folder.join(format!("speedscope-{SPEEDSCOPE}"))
}

fn release(folder: &Path) -> PathBuf {
    package(folder).join("node_modules/speedscope/dist/release")
}

fn pprof_program(folder: &Path) -> PathBuf {
    folder.join(format!("pprof-{PPROF}/pprof"))
}

fn environment(folder: &Path) -> PathBuf {
    folder.join(format!("duckdb-{DUCKDB}"))
}

fn python(folder: &Path) -> PathBuf {
    environment(folder).join("bin/python")
}

/// One that was fetched in part has not.
fn has_duckdb(python: &Path) -> bool {
    command::works(Command::new(python).args(["-c", "import duckdb"]))
}

/// The folder with speedscope's page and its schema.
pub(crate) fn speedscope(folder: &Path) -> Result<PathBuf> {
    let release = release(folder);
    if !release.exists() {
        let mut install = Command::new("npm");
        install.args(["install", "--no-save", "--no-package-lock", "--ignore-scripts", "--prefix"]);
        install.arg(package(folder)).arg(format!("speedscope@{SPEEDSCOPE}"));
        command::output(&mut install)?;
    }
    Ok(release)
}

/// The program of that name.
pub(crate) fn pprof(folder: &Path) -> Result<PathBuf> {
    let program = pprof_program(folder);
    if !program.exists() {
        let mut install = Command::new("go");
        install.env("GOBIN", folder.join(format!("pprof-{PPROF}"))).arg("install");
        install.arg(format!("github.com/google/pprof@{PPROF}"));
        command::output(&mut install)?;
    }
    Ok(program)
}

/// A Python that has DuckDB.
pub(crate) fn duckdb(folder: &Path) -> Result<PathBuf> {
    let python = python(folder);
    if !has_duckdb(&python) {
        let mut make = Command::new("python3");
        command::output(make.args(["-m", "venv"]).arg(environment(folder)))?;
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--only-binary", ":all:"]);
        command::output(install.arg(format!("duckdb=={DUCKDB}")))?;
    }
    Ok(python)
}
