//! Scenario files and the files that these name: where they lie, and as one piece for other processes.

use crate::failure::Failure;
use crate::input::{open, text_of};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use tailwater_core::words::nearest;
use tailwater_workload::Scenario;
use tailwater_workload::limits;
use tailwater_workload::scenario::ScenarioError;

/// A scenario as one process tells it another: all that was read, so that both have the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Said {
    file: String,
    text: String,
    /// Names and texts.
    files: Vec<(String, String)>,
    /// The folder of prepared data.
    data: PathBuf,
}

impl Said {
    /// With the folder in which its application's data lie.
    pub(crate) fn of(scenario: &Scenario, data: &Path) -> Self {
        let Scenario { file, text, files, .. } = scenario.clone();
        Self { file, text, files, data: data.to_owned() }
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// What was parsed before.
    pub(crate) fn parse(&self) -> Result<Scenario, ScenarioError> {
        let read = |name: &str| {
            let known = self.files.iter().find(|(known, _)| known == name);
            known.map(|(_, text)| text.clone()).ok_or_else(|| "it was not sent along".to_owned())
        };
        Scenario::parse_with(&self.file, &self.text, &read)
    }
}

/// How a scenario file begins.
const BEGINNING: &str = "tailwater new NAME writes one to begin with";

/// The text of a scenario file, with an error that names it.
pub(crate) fn read(file: &Path) -> Result<String, Failure> {
    text(file, "a scenario file", BEGINNING)
}

/// The same of another file in TOML or JSON, and where one to begin with is found.
pub(crate) fn read_other(file: &Path, beginning: &str) -> Result<String, Failure> {
    text(file, "a file", beginning)
}

fn text(file: &Path, needed: &str, beginning: &str) -> Result<String, Failure> {
    let trouble = |error| format!("{}: {}", file.display(), why(file, &error, needed, beginning));
    text_of(file).map_err(|error| Failure::usage(trouble(error)))
}

/// Why a scenario file cannot be read, and what may have been meant.
pub(crate) fn unreadable(file: &Path, error: &io::Error) -> String {
    why(file, error, "a scenario file", BEGINNING)
}

fn why(file: &Path, error: &io::Error, needed: &str, beginning: &str) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("there is no such file; {}", meant(file, beginning)),
        ErrorKind::IsADirectory => format!("it is a folder; {needed} in it is needed"),
        ErrorKind::InvalidData => format!("it is no text; {needed} is needed, in UTF-8"),
        ErrorKind::PermissionDenied => format!("{error}; it must be readable for this user"),
        _ => error.to_string(),
    }
}

/// The nearest of the folder's names, or how a file begins.
fn meant(file: &Path, beginning: &str) -> String {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.path().is_file());
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    // Without the ending: what all have in common makes nothing alike.
    let names = names.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned));
    let names: Vec<String> = names.collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let said = file.with_extension("");
    let said = said.file_name().unwrap_or_default().to_string_lossy();
    nearest(&said, &known).first().map_or_else(
        || beginning.to_owned(),
        |name| format!("did you mean {}?", file.with_file_name(format!("{name}.toml")).display()),
    )
}

/// A scenario whose text is at hand; the files that it names lie beside `file`.
pub(crate) fn parse(file: &Path, text: &str) -> Result<Scenario, Failure> {
    parsed(file, text).map_err(Failure::usage)
}

/// The same, with the error as it is.
pub(crate) fn parsed(file: &Path, text: &str) -> Result<Scenario, ScenarioError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let read = |name: &str| beside(folder, name);
    Scenario::parse_with(&file.display().to_string(), text, &read)
}

/// The text of a file in this folder, if it is neither too long nor something else than text.
pub(crate) fn beside(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    let trouble = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => {
            format!("there is no {}; a name is relative to the file that has it", path.display())
        }
        ErrorKind::InvalidData => format!("{} is no text", path.display()),
        _ => format!("{}: {error}", path.display()),
    };
    let most = limits::TIMES_BYTES_MAX as u64;
    let mut text = String::new();
    let file = open(&path, "").map_err(trouble)?;
    file.take(most + 1).read_to_string(&mut text).map_err(trouble)?;
    if text.len() as u64 > most {
        return Err(format!(
            "{} has more than {most} bytes, the most that are read",
            path.display()
        ));
    }
    Ok(text)
}
