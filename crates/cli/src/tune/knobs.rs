//! `tailwater tune knobs`: what can be turned here, and what cannot.

use super::dial::beside;
use super::exec;
use super::machine::{Root, may_be_turned};
use super::tell;
use crate::failure::{Failure, say};
use crate::terminal::style;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tailwater_core::words::{clip, suggestion};
use tailwater_report::{grid_within, wrap};
use tailwater_tune::knobs::{self, Form, INHERITED, Knob, Launch, Lever, REFUSED};

#[derive(Args, Debug)]
pub(crate) struct KnobsOptions {
    /// Only this knob, with all that there is to say of it.
    name: Option<String>,
    /// The folder below which /sys and /proc lie.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Print everything as one JSON list.
    #[arg(long)]
    json: bool,
}

/// A knob as it is here.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    /// `kernel`, `process` or `refused`.
    class: &'static str,
    meaning: &'static str,
    /// The value now; none where it cannot be read.
    now: Option<String>,
    /// Of a process's knob, what a program that is started here inherits; none where that cannot be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    inherits: Option<String>,
    allowed: Option<String>,
    holds_for: Option<&'static str>,
    needs: Option<&'static str>,
    settle_ms: u64,
    files: Vec<String>,
    /// Why it cannot be set here; none where it can.
    refused: Option<String>,
}

pub(super) fn knobs(options: &KnobsOptions) -> Result<(), Failure> {
    let root = Root::new(&options.root)?;
    if let Some(note) = may_be_turned(&root) {
        tell(&note);
    }
    let mut rows: Vec<Row> = knobs::all().map(|knob| row(knob, &root)).collect();
    rows.extend(REFUSED.iter().map(|knob| Row {
        name: knob.name,
        class: "refused",
        meaning: knob.meaning,
        now: None,
        inherits: None,
        allowed: None,
        holds_for: None,
        needs: None,
        settle_ms: 0,
        files: Vec::new(),
        refused: Some(knob.reason.trim_end_matches('.').into()),
    }));
    if let Some(name) = &options.name {
        let known: Vec<&str> = rows.iter().map(|row| row.name).collect();
        if !known.contains(&name.as_str()) {
            let (name, hint) = (clip(name), suggestion(name, &known));
            return Err(Failure::usage(format!(
                "no knob is called '{name}'; {hint}: {}",
                known.join(", ")
            )));
        }
        rows.retain(|row| row.name == name);
    }
    if options.json {
        return say(&serde_json::to_string_pretty(&rows).map_err(Failure::work)?);
    }
    match rows.as_slice() {
        [only] => say(&details(only)),
        all => say(&table(all)),
    }
}

fn row(knob: &'static Knob, root: &Root) -> Row {
    let mut row = Row {
        name: knob.name,
        class: "process",
        meaning: knob.meaning,
        now: Some(INHERITED.into()),
        inherits: None,
        allowed: None,
        holds_for: Some(knob.holds_for),
        needs: Some(knob.needs),
        settle_ms: u64::try_from(knob.settle.as_millis()).unwrap_or(u64::MAX),
        files: Vec::new(),
        refused: None,
    };
    match knob.lever {
        Lever::Files { pattern, form, absent } => of_files(&mut row, (pattern, form, absent), root),
        Lever::Launch(launch) => of_launch(&mut row, launch),
    }
    row
}

fn of_files(row: &mut Row, (pattern, form, absent): (&str, Form, &str), root: &Root) {
    (row.class, row.now) = ("kernel", None);
    row.files = root.files(pattern);
    let Some(first) = row.files.first() else {
        row.refused = Some(absent.into());
        return;
    };
    let values: Vec<_> = row.files.iter().map(|path| root.value(path, form)).collect();
    match values.iter().find_map(|value| value.as_ref().err()) {
        Some(why) => row.refused = Some(why.clone()),
        None => {
            let mut distinct: Vec<&str> = values.iter().flatten().map(String::as_str).collect();
            distinct.dedup();
            row.now = Some(distinct.join(", "));
        }
    }
    let text = root.read(first).unwrap_or_default();
    row.allowed = Some(form.allowed(&text, &beside(form, root)));
    let denied = row.files.iter().find_map(|path| root.refuses(path));
    row.refused = row.refused.take().or(denied);
}

fn of_launch(row: &mut Row, launch: Launch) {
    row.allowed = Some(launch.allowed());
    row.inherits = exec::own(launch);
    if let Launch::Preload(known) = launch {
        let here = known.iter().filter(|(_, files)| exec::library(files).is_some());
        let here: Vec<&str> = here.map(|(name, _)| *name).collect();
        row.allowed = Some([&[INHERITED], here.as_slice()].concat().join("|"));
        if here.is_empty() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            row.refused = Some(format!("no library of {} is installed", names.join(", ")));
        }
    }
}

fn table(rows: &[Row]) -> String {
    let text = |of: Option<&str>| of.unwrap_or("–").to_owned();
    let settable = |row: &Row| match &row.refused {
        None => "yes".to_owned(),
        Some(why) => format!("no: {why}"),
    };
    let cells = rows.iter().map(|row| {
        vec![
            row.name.to_owned(),
            text(now(row).as_deref()),
            text(row.allowed.as_deref()),
            text(row.needs),
            settable(row),
        ]
    });
    let heads = ["knob", "now", "allowed", "needs", "settable here"];
    let table = grid_within(&heads, 5, &cells.collect::<Vec<_>>(), style().width);
    let more = "Beside these: any key of a scenario as server.model=adb:4, and any word in braces of a command as \
                {threads}. tailwater tune knobs NAME tells more of one.";
    format!("{table}\n\n{}", wrap(more, style().width.unwrap_or(100).into()))
}

/// With what is inherited, where that is known.
fn now(row: &Row) -> Option<String> {
    match (&row.now, &row.inherits) {
        (Some(now), Some(own)) => Some(format!("{now} ({own})")),
        (now, _) => now.clone(),
    }
}

fn details(row: &Row) -> String {
    let mut lines = vec![format!("{}: {}", row.name, row.meaning)];
    let mut more = |name: &str, text: Option<&str>| {
        lines.extend(text.map(|text| format!("  {name:<14} {text}")));
    };
    more("now", now(row).as_deref());
    more("allowed", row.allowed.as_deref());
    more("holds for", row.holds_for);
    more("needs", row.needs);
    let settles = format!("{} ms", row.settle_ms);
    more("settles in", (row.settle_ms > 0).then_some(&settles));
    row.files.iter().for_each(|file| more("file", Some(file)));
    more("settable here", Some(row.refused.as_deref().map_or("yes", |_| "no")));
    more("because", row.refused.as_deref());
    lines.join("\n")
}
