//! memcached: writes are slow whenever a tool lists the keys.

use super::Variant;
use super::service::Service;
use super::visitor::Visitor;
use crate::Result;
use machine::command::output;
use std::process::Command;
use std::time::{Duration, Instant};
use tailwater_load::foreign::Protocol;

pub(super) const CHANGE: &str = "stats cachedump CLASS 500";

pub(super) const QUESTIONS: &[&[&str]] = &[
    &["report", "--locks", "--by-line", "--function", "drive_machine"],
    &["report", "--slowest", "1", "--function", "drive_machine"],
];

/// memcached under writes that evict, beside a tool that lists the keys.
pub(super) const SERVICE: Service = Service {
    protocol: Protocol::Memcached,
    function: "drive_machine",
    words,
    connections: 16,
    keys: 250_000,
    gets: 0.0,
    requests_per_second: 8_000.0,
    filled,
    visit,
};

/// Of items, fewer than the load writes.
const MEGABYTES: &str = "128";
/// A listing begins so often.
const EVERY: Duration = Duration::from_millis(1_000);
/// Keys of a class that are asked for: as many as fit into an answer, or enough to see what lies there.
const ALL: u32 = 0;
const SAMPLE: u32 = 500;

fn words(_variant: Variant, port: u16) -> Result<Vec<String>> {
    let user = output(Command::new("id").arg("-un"))?;
    let port = port.to_string();
    let words = ["-u", user.trim(), "-t", "4", "-m", MEGABYTES, "-U", "0", "-l", "127.0.0.1", "-p"];
    Ok(words.into_iter().chain([&*port]).map(ToOwned::to_owned).collect())
}

fn filled(visitor: &mut Visitor<'_>) -> Result<u32> {
    let mut sets = None;
    let mut line = visitor.ask("stats")?;
    while line != "END" {
        let count = line.strip_prefix("STAT cmd_set ").and_then(|count| count.parse().ok());
        sets = count.or(sets);
        line = visitor.line()?;
    }
    sets.ok_or_else(|| "memcached does not tell how many keys were set".to_owned())
}

fn visit(visitor: &mut Visitor<'_>, variant: Variant) -> Result<Option<u64>> {
    let mut keys = 0;
    while !visitor.is_over() {
        let began = Instant::now();
        keys += match variant {
            Variant::Before => by_class(visitor, ALL)?,
            Variant::After => by_class(visitor, SAMPLE)?,
        };
        visitor.sleep_until(began + EVERY);
    }
    if keys > 0 { Ok(Some(keys)) } else { Err("no key was listed".to_owned()) }
}

/// As memcached's older tools do: class by class, each by one question.
fn by_class(visitor: &mut Visitor<'_>, limit: u32) -> Result<u64> {
    let mut classes = Vec::new();
    let mut line = visitor.ask("stats items")?;
    while line != "END" {
        classes.extend(class(&line).map(str::to_owned));
        line = visitor.line()?;
    }
    let mut keys = 0;
    for class in classes {
        keys += listed(visitor, &format!("stats cachedump {class} {limit}"))?;
    }
    Ok(keys)
}

/// The class of which this line of `stats items` tells how many items it has.
fn class(line: &str) -> Option<&str> {
    line.strip_prefix("STAT items:")?.split_once(":number ").map(|(class, _)| class)
}

/// How many keys an answer has.
fn listed(visitor: &mut Visitor<'_>, question: &str) -> Result<u64> {
    let mut keys = 0;
    let mut line = visitor.ask(question)?;
    while line != "END" {
        if !line.starts_with("ITEM ") {
            return Err(format!("{question}: found {line:?}"));
        }
        keys += 1;
        line = visitor.line()?;
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_that_have_items() {
        assert_eq!(class("STAT items:12:number 4031"), Some("12"));
        assert_eq!(class("STAT items:12:number_hot 4"), None);
    }
}
