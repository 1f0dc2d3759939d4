//! The tools, as their registries have them. What is there already is taken: each version has a folder of its own.

use crate::Result;
use machine::command;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const SPEEDSCOPE: &str = "1.25.0";
pub(crate) const PPROF: &str = "v0.0.0-20261105003125-4bf881d7fb0b";
pub(crate) const DUCKDB: &str = "2.0.1";

/// The folder with speedscope's page and its schema.
pub(crate) fn speedscope(folder: &Path) -> Result<PathBuf> {
    let package = folder.join(format!("speedscope-{SPEEDSCOPE}"));
    let release = package.join("node_modules/speedscope/dist/release");
    if !release.exists() {
        let mut install = Command::new("npm");
        install.args(["install", "--no-save", "--no-package-lock", "--ignore-scripts", "--prefix"]);
        install.arg(&package).arg(format!("speedscope@{SPEEDSCOPE}"));
        command::output(&mut install).map_err(|why| type_first(&why, "npm"))?;
    }
    Ok(release)
}

/// The program of that name.
pub(crate) fn pprof(folder: &Path) -> Result<PathBuf> {
    let bin = folder.join(format!("pprof-{PPROF}"));
    let program = bin.join("pprof");
    if !program.exists() {
        let mut install = Command::new("go");
        install.env("GOBIN", &bin).arg("install");
        install.arg(format!("github.com/google/pprof@{PPROF}"));
        command::output(&mut install).map_err(|why| type_first(&why, "golang-go"))?;
    }
    Ok(program)
}

/// A Python that has DuckDB.
pub(crate) fn duckdb(folder: &Path) -> Result<PathBuf> {
    let environment = folder.join(format!("duckdb-{DUCKDB}"));
    let python = environment.join("bin/python");
    let has_it = || command::works(Command::new(&python).args(["-c", "import duckdb"]));
    if !has_it() {
        let mut make = Command::new("python3");
        command::output(make.args(["-m", "venv"]).arg(&environment))
            .map_err(|why| type_first(&why, "python3-venv"))?;
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--only-binary", ":all:"]);
        command::output(install.arg(format!("duckdb=={DUCKDB}")))?;
    }
    Ok(python)
}

/// The browser.
pub(crate) fn chromium() -> Result<&'static str> {
    const NAME: &str = "chromium";
    let is_there = command::works(Command::new(NAME).arg("--version"));
    if is_there { Ok(NAME) } else { Err(type_first("found no chromium", NAME)) }
}

fn type_first(why: &str, package: &str) -> String {
    format!("{why}; type: apt-get install {package}")
}
