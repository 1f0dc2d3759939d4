//! What a person gets: a table, or JSON; and files, written whole or not at all.

use super::folder::Folder;
use crate::failure::{Failure, say};
use crate::terminal;
use std::path::Path;
use tailwater_report::{html, line_summary, plots, table, wrap};
use tailwater_stats::result::Experiment;

/// The table or the JSON first: what cannot be written afterwards has been seen by then.
pub(super) fn deliver(
    experiment: &Experiment,
    json: bool,
    out: Option<&Folder<'_>>,
) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(experiment).map_err(Failure::work)?;
    if json {
        say(&text)?;
    } else {
        let style = terminal::style();
        say(table(experiment, style).trim_end())?;
        say("")?;
        let summary = line_summary(experiment);
        say(&style.width.map_or(summary.clone(), |width| wrap(&summary, width.into())))?;
    }
    if let Some(folder) = out {
        write_all(experiment, &text, folder)?;
        if !json {
            say(&format!("\nWritten: {}", folder.path().join("index.html").display()))?;
        }
    }
    Ok(())
}

fn write_all(experiment: &Experiment, json: &str, folder: &Folder<'_>) -> Result<(), Failure> {
    folder.clear()?;
    folder.write("result.json", json)?;
    for plot in plots(experiment) {
        folder.write(&format!("{}.svg", plot.name), &plot.svg)?;
    }
    folder.write("index.html", &html(experiment))
}

/// A result: what `run --json` printed, or a folder of `run --out`.
pub(crate) fn read(path: &Path) -> Result<Experiment, Failure> {
    let file = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
    let trouble = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let text = crate::scenarios::text_of(&file).map_err(|error| trouble(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| {
        trouble(format!("this is no result of tailwater run --json or --out: {error}"))
    })
}
