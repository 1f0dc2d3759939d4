//! What a person gets: a table, or JSON; and files, written whole or not at all.

use crate::failure::{Failure, say};
use crate::folder::{Folder, RESULT, SERIES, TIERS};
use crate::input::{RESULT_BYTES_MAX, text_within};
use crate::terminal;
use std::io::{self, ErrorKind};
use std::path::Path;
use tailwater_report::{
    Look, html, line_summary, plots, runs_csv, series_csv, table, tiers_csv, wrap,
};
use tailwater_stats::result::Experiment;

/// An experiment and its text as JSON. The table or the JSON first: what cannot be written afterwards has been seen by then. Files are written
/// whether or not anything reads what is printed.
pub(crate) fn deliver(
    (experiment, text): (&Experiment, &str),
    tell: &dyn Fn(&Experiment) -> String,
    json: bool,
    out: Option<(&Folder<'_>, Look)>,
) -> Result<(), Failure> {
    let told = say(&if json { text.to_owned() } else { tell(experiment) });
    if let Some((folder, look)) = out {
        write_all(experiment, text, folder, look)?;
    }
    told?;
    if let (false, Some((folder, _))) = (json, out) {
        say(&format!("\nWritten: {}", folder.path().join("index.html").display()))?;
    }
    Ok(())
}

/// The whole table, and what it comes to.
pub(crate) fn for_people(experiment: &Experiment) -> String {
    let style = terminal::style();
    let summary = line_summary(experiment);
    let summary = style.width.map_or(summary.clone(), |width| wrap(&summary, width.into()));
    format!("{}\n\n{summary}", table(experiment, style).trim_end())
}

/// The result as JSON and as CSV, its page, and its pictures in this look.
fn write_all(
    experiment: &Experiment,
    json: &str,
    folder: &Folder<'_>,
    look: Look,
) -> Result<(), Failure> {
    folder.write(RESULT, json)?;
    folder.write("result.csv", &runs_csv(experiment))?;
    let mut written = Vec::new();
    let tables = [(SERIES, series_csv(experiment)), (TIERS, tiers_csv(experiment))];
    for (name, table) in tables {
        if let Some(table) = table {
            folder.write(name, &table)?;
            written.push(name.to_owned());
        }
    }
    for plot in plots(experiment, look) {
        let name = format!("{}.svg", plot.name);
        folder.write(&name, &plot.svg)?;
        written.push(name);
    }
    folder.write("index.html", &html(experiment))?;
    folder.clear_but(&written)
}

/// Why a result cannot be read, and what is one.
fn unreadable(error: &io::Error) -> String {
    let why = match error.kind() {
        ErrorKind::NotFound => "there is no such file",
        ErrorKind::InvalidData => "it is no text",
        _ => return error.to_string(),
    };
    format!("{why}; a folder of tailwater run --out is needed, or what run --json printed")
}

/// A result: what `run --json` printed, here or on standard input, or a folder of `run --out`.
pub(crate) fn read(path: &Path) -> Result<Experiment, Failure> {
    read_with_text(path).map(|(experiment, _)| experiment)
}

/// The same with its text, whose numbers have all their digits.
pub(crate) fn read_with_text(path: &Path) -> Result<(Experiment, String), Failure> {
    let file = if path.is_dir() { path.join(RESULT) } else { path.to_owned() };
    let trouble = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let text = text_within(&file, RESULT_BYTES_MAX).map_err(|error| trouble(unreadable(&error)))?;
    let experiment = serde_json::from_str(&text).map_err(|error| {
        trouble(format!("this is no result of tailwater run --json or --out: {error}"))
    })?;
    Ok((experiment, text))
}
