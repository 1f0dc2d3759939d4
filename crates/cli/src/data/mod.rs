//! `tailwater data`: the data that the suite's services work on, prepared once and opened by every process.

mod fetch;

use crate::data_folder::DataFolder;
use crate::failure::{Failure, say};
use crate::run::prepared;
use crate::services::SERVICES;
use crate::suite::ChoiceOptions;
use clap::{Args, Subcommand};
use fetch::FetchOptions;
use serde::Serialize;
use std::path::PathBuf;
use tailwater_data::{Checked, Folder};
use tailwater_program::interrupt::Interrupt;
use tailwater_report::wrap_indented;
use tailwater_stats::result::DataUsed;

pub(crate) const HELP: &str = "Examples:
  tailwater data fetch wordnet
  tailwater data make setalgebra
  tailwater data make setalgebra --set text=lines:tweets.txt
  tailwater data make hdsearch --set vectors=glove.6B.50d.txt
  tailwater data make recommend --set ratings=ratings.csv

Nothing is downloaded but by data fetch: a file of yours is named by a setting (tailwater suite list), and WordNet is \
Debian's package wordnet-base, installed or fetched.";

/// What can be done.
#[derive(Subcommand, Debug)]
pub(crate) enum DataVerb {
    /// List what was fetched and prepared: what it is, its source, licence, size and hash; and what can be fetched and made.
    List(ListOptions),
    /// Fetch a set of a package by the system's own package manager, without installing it. It is verified by known sums,
    /// and there as a whole or not at all.
    #[command(after_help = fetch::HELP)]
    Fetch(FetchOptions),
    /// Prepare the data of a service, as suite run does before its runs: index, queries, and the answers that these must
    /// get. What is there already is checked, and made anew where it or its source has changed.
    Make(MakeOptions),
    /// Read everything that was fetched and prepared, and compare it with its hash.
    Check(ListOptions),
}

#[derive(Args, Debug)]
pub(crate) struct ListOptions {
    /// Print it as one JSON list.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataFolder,
}

#[derive(Args, Debug)]
pub(crate) struct MakeOptions {
    #[command(flatten)]
    choice: ChoiceOptions,
    /// Print what was made as one JSON list.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataFolder,
}

pub(crate) fn data(verb: &DataVerb) -> Result<(), Failure> {
    match verb {
        DataVerb::List(options) => list(options),
        DataVerb::Fetch(options) => fetch::fetch(options),
        DataVerb::Make(options) => make(options),
        DataVerb::Check(options) => check(options),
    }
}

/// A file of prepared data, or the folder of a fetched set.
#[derive(Serialize)]
struct Entry {
    file: PathBuf,
    #[serde(flatten)]
    used: Option<DataUsed>,
    /// Why it cannot be used, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

fn list(options: &ListOptions) -> Result<(), Failure> {
    let folder = Folder::new(options.data.path()?);
    let found = folder.list().map_err(Failure::work)?;
    let mut entries = entries(&folder, found);
    let prepared = entries.len();
    entries.extend(fetch::entries(&options.data)?);
    if options.json {
        return say(&serde_json::to_string_pretty(&entries).map_err(Failure::work)?);
    }
    for entry in &entries {
        say(&shown(entry))?;
    }
    let path = folder.path().display();
    say(&match prepared {
        0 => format!("Nothing is prepared in {path}."),
        1 => format!("1 file in {path}."),
        count => format!("{count} files in {path}."),
    })?;
    let names: Vec<&str> = SERVICES.iter().map(|it| it.kind.name).collect();
    let flag = options.data.flag();
    say(&format!("Can be fetched: {}; type tailwater data fetch NAME{flag}", fetch::names()))?;
    say(&format!("Can be made: {}; type tailwater data make NAME{flag}", names.join(", ")))
}

fn check(options: &ListOptions) -> Result<(), Failure> {
    let folder = Folder::new(options.data.path()?);
    let found = folder.check().map_err(Failure::work)?;
    let mut entries = entries(&folder, found);
    entries.extend(fetch::entries(&options.data)?);
    if options.json {
        say(&serde_json::to_string_pretty(&entries).map_err(Failure::work)?)?;
    } else {
        for entry in &entries {
            let file = entry.file.display();
            say(&match &entry.used {
                Some(used) => format!("sound: {file}, from {}", used.source),
                None => format!("unsound: {file}"),
            })?;
        }
    }
    let problems: Vec<&String> = entries.iter().filter_map(|it| it.problem.as_ref()).collect();
    match problems[..] {
        [] if entries.is_empty() && !options.json => {
            say(&format!("Nothing is fetched or prepared in {}.", folder.path().display()))
        }
        [] => Ok(()),
        [one] => Err(Failure::work(one)),
        [one, ..] => Err(Failure::work(format!("{one}; and {} more files", problems.len() - 1))),
    }
}

fn make(options: &MakeOptions) -> Result<(), Failure> {
    let choice = options.choice.choice();
    let scenario = choice.scenario()?;
    let folder = options.data.path()?;
    let used = prepared(&scenario, &folder, &Interrupt::watch()?)?;
    if options.json {
        return say(&serde_json::to_string_pretty(&used).map_err(Failure::work)?);
    }
    let folder = Folder::new(folder);
    for used in used {
        let file = folder.file(&used.name);
        say(&shown(&Entry { file, used: Some(used), problem: None }))?;
    }
    Ok(())
}

fn entries(folder: &Folder, found: Vec<(PathBuf, Checked)>) -> Vec<Entry> {
    let entry = |(file, checked): (PathBuf, Checked)| match checked {
        Checked::Sound(header) => {
            let within = file.strip_prefix(folder.path()).unwrap_or(&file);
            let used = Some(header.used(within.with_extension("").display().to_string()));
            Entry { file, used, problem: None }
        }
        Checked::Unsound(why) => Entry { file, used: None, problem: Some(why) },
    };
    found.into_iter().map(entry).collect()
}

fn shown(entry: &Entry) -> String {
    const WIDTH: usize = 100;
    let Some(used) = &entry.used else {
        return entry.problem.clone().unwrap_or_default();
    };
    let lines = [
        used.about.clone(),
        format!("source: {}; licence: {}", used.source, used.licence),
        format!("{:.1} MiB, SHA-256 {}", used.bytes as f64 / f64::from(1 << 20), used.sha256),
    ];
    let lines: Vec<String> = lines.iter().map(|line| wrap_indented(line, WIDTH, "  ")).collect();
    format!("{}\n{}", used.name, lines.join("\n"))
}
