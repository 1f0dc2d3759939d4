//! `tailwater keys`: every key of scenario files, from the declarations that the parser reads by.

mod manual;
mod markdown;
mod plain;

pub(crate) use manual::manual;

use crate::failure::{Failure, say};
use clap::Args;
use tailwater_core::words::nearest;
use tailwater_workload::scenario::keys::{Key, Table, tables};

/// What every form of the reference says first.
const INTRODUCTION: &str = "A scenario file is one experiment: what serves, who asks, how much, and which \
    controllers are compared, for the simulator and for sockets alike. It is TOML; a [table] may as well be \
    written in line, as table.key = value. Durations are texts of a number and ns, us (or µs), ms, s or min, such as \
    \"250ms\" or \"250 ms\". Lists have 1 to 64 entries.";

/// What to type next.
const SEE: &str = "tailwater new writes a file to begin with, tailwater check reads one without running it, \
    tailwater run runs it over sockets of this machine or, with --on sim, in the simulator, tailwater controllers lists \
    controllers and their settings.";

/// The file that `tailwater new` writes: sound as it is, with every line that is commented out, and with the other form of
/// each part.
pub(crate) const TEMPLATE: &str = include_str!("../new.toml");

/// What the example is.
const WHOLE: &str = "This is what tailwater new writes. It is sound as it is, with each key that is commented out, and \
    with the other forms at its end.";

#[derive(Args, Debug)]
pub(crate) struct KeysOptions {
    /// Only this table, or the tables with this key, such as demand or demand.steps.
    pub(crate) name: Option<String>,
    /// As Markdown: all of it is docs/scenarios.md.
    #[arg(long)]
    pub(crate) markdown: bool,
}

pub(crate) fn keys(options: &KeysOptions) -> Result<(), Failure> {
    let chosen = match &options.name {
        None => tables(),
        Some(name) => named(name)?,
    };
    let whole = options.name.is_none();
    say(if options.markdown { markdown::page(&chosen, whole) } else { plain::page(&chosen, whole) }
        .trim_end())
}

/// Whether some table holds a key of this name.
pub(crate) fn is_known(name: &str) -> bool {
    tables().iter().any(|table| table.keys.iter().any(|key| key.name == name))
}

/// The tables whose head, or one of whose keys, has this name.
fn named(name: &str) -> Result<Vec<&'static Table>, Failure> {
    let bare = name.trim_matches(['[', ']']);
    let heads: Vec<_> = tables().into_iter().filter(|table| path(table) == bare).collect();
    if !heads.is_empty() {
        return Ok(heads);
    }
    let (within, last) = bare.rsplit_once('.').unwrap_or(("", bare));
    let holds = |table: &&Table| {
        let fits = within.is_empty() || path(table) == within;
        fits && table.keys.iter().any(|key| key.name == last)
    };
    let holding: Vec<_> = tables().into_iter().filter(holds).collect();
    if holding.is_empty() {
        return Err(Failure::usage(unknown(name, (within, last))));
    }
    Ok(holding)
}

/// What is needed in place of a name that nothing has, and what it is almost: a table's path, or a key's name, which is
/// the `last` part. What is said within a table is a key of that.
fn unknown(name: &str, (within, last): (&str, &str)) -> String {
    let heads: Vec<&str> = tables().into_iter().map(path).filter(|path| !path.is_empty()).collect();
    let holds = |table: &&Table| !heads.contains(&within) || path(table) == within;
    let holding = tables().into_iter().filter(holds);
    let mut keys: Vec<&str> = holding.flat_map(|table| table.keys).map(|key| key.name).collect();
    keys.sort_unstable();
    keys.dedup();
    let near = match (nearest(last, &keys), nearest(name, &heads)) {
        (keys, _) if !keys.is_empty() && heads.contains(&within) => keys,
        (keys, heads) => [heads, keys].concat(),
    };
    let meant = near.first().map(|near| format!("; did you mean {near}? A"));
    let meant = meant.unwrap_or_else(|| ", a".to_owned());
    let heads = heads.join(", ");
    format!(
        "'{name}' found{meant} key or a table of scenario files is needed: one of {heads}, or what these hold"
    )
}

/// `server.locks` for `[server.locks]`.
fn path(table: &Table) -> &'static str {
    table.head.trim_matches(['[', ']'])
}

/// How the reference calls a table.
const fn title(table: &Table) -> &'static str {
    if table.head.is_empty() { "Top of the file" } else { table.head }
}

/// As a file has it.
fn example(key: &Key) -> String {
    format!("{} = {}", key.name, key.example)
}

/// The forms of a table: what chooses each, what it is, and which keys may stand beside it.
fn variants(table: &Table) -> Vec<(&'static str, String)> {
    let variant = |variant: &tailwater_workload::scenario::keys::Variant| {
        let beside = match variant.keys {
            [] => String::new(),
            keys => format!(" Keys: {}.", keys.join(", ")),
        };
        (variant.name, format!("{}{beside}", variant.meaning))
    };
    table.variants.iter().map(variant).collect()
}
