//! What a person gets: a table, or JSON; and files, written whole or not at all.

use crate::failure::{Failure, say};
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use tailwater_report::{TableStyle, html, line_summary, plots, table};
use tailwater_stats::result::Experiment;

pub(super) fn deliver(
    experiment: &Experiment,
    json: bool,
    out: Option<&Path>,
) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(experiment).map_err(Failure::work)?;
    if let Some(folder) = out {
        write_all(experiment, &text, folder)?;
    }
    if json {
        return say(&text);
    }
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    say(table(experiment, TableStyle { colour, width: None }).trim_end())?;
    say("")?;
    say(line_summary(experiment).trim_end())?;
    if let Some(folder) = out {
        say(&format!("\nWritten: {}", folder.join("index.html").display()))?;
    }
    Ok(())
}

fn write_all(experiment: &Experiment, json: &str, folder: &Path) -> Result<(), Failure> {
    let trouble = |error| Failure::work(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(trouble)?;
    write_whole(&folder.join("result.json"), json).map_err(trouble)?;
    for plot in plots(experiment) {
        write_whole(&folder.join(format!("{}.svg", plot.name)), &plot.svg).map_err(trouble)?;
    }
    write_whole(&folder.join("index.html"), &html(experiment)).map_err(trouble)
}

/// Under another name first: a reader never sees half a file.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_extension(format!("{}.part", std::process::id()));
    let mut file = fs::File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&draft, path)
}
