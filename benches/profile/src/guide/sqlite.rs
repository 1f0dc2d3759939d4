//! SQLite: a commit is slow whenever it copies the log back into the file.

use super::result::Reading;
use super::{Run, Variant};
use crate::Result;
use machine::command::output;
use serde::Deserialize;
use std::process::Command;

pub(super) const CHANGE: &str = "a thread of its own that copies the log back";

pub(super) const QUESTIONS: &[&[&str]] =
    &[&["report", "--limit", "8"], &["report", "--slowest", "1", "--function", "commit"]];

/// Commits per second.
const RATE: &str = "250";

/// What the program prints.
#[derive(Deserialize)]
struct Printed {
    requests: u64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
}

/// `programs/commits.c`, which measures itself.
pub(super) fn run(run: Run<'_>) -> Result<Reading> {
    let mut command = match run.trace {
        Some(trace) => {
            let mut record = Command::new("tailwater");
            record.args(["profile", "record", "-o"]).arg(trace).arg("--").arg(run.program);
            record
        }
        None => Command::new(run.program),
    };
    let place = if run.variant == Variant::Before { "within" } else { "aside" };
    let seconds = run.length.as_secs().to_string();
    let said = output(command.arg(run.folder.join("store")).args([&*seconds, RATE, place]))?;
    let printed: Printed =
        serde_json::from_str(&said).map_err(|error| format!("{said}: {error}"))?;
    let Printed { requests, p50_us, p99_us, p999_us } = printed;
    Ok(Reading { requests, answered: requests, p50_us, p99_us, p999_us, ..Reading::default() })
}
