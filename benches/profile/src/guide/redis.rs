//! Redis: reads are slow whenever a big key expires, and no command is.

use super::Variant;
use super::service::Service;
use super::visitor::Visitor;
use crate::Result;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tailwater_load::foreign::Protocol;

pub(super) const CHANGE: &str = "lazyfree-lazy-expire yes";

pub(super) const QUESTIONS: &[&[&str]] =
    &[&["report", "--limit", "8"], &["report", "--slowest", "1", "--function", "serverCron"]];

/// Redis under reads, beside a job that replaces a table.
pub(super) const SERVICE: Service = Service {
    protocol: Protocol::Redis,
    function: "readQueryFromClient",
    words,
    connections: 8,
    keys: 20_000,
    gets: 1.0,
    requests_per_second: 4_000.0,
    filled,
    visit,
};

/// Of a table: some twelve megabytes, as a ranking or a set of sessions has them.
const FIELDS: u32 = 50_000;
/// Of one command, so that none is long.
const FIELDS_AT_ONCE: u32 = 20;
/// A table is written so often, and expires as long after that.
const EVERY: Duration = Duration::from_millis(500);

fn words(variant: Variant, port: u16) -> Result<Vec<String>> {
    let port = port.to_string();
    let lazy = if variant == Variant::After { "yes" } else { "no" };
    let words = [
        ["--port", &port],
        ["--bind", "127.0.0.1"],
        ["--save", ""],
        ["--daemonize", "no"],
        ["--loglevel", "warning"],
        ["--lazyfree-lazy-expire", lazy],
    ];
    Ok(words.concat().iter().map(|word| (*word).to_owned()).collect())
}

fn filled(visitor: &mut Visitor<'_>) -> Result<u32> {
    number(&visitor.ask("DBSIZE")?)
}

/// `:N`, as Redis tells numbers.
fn number(line: &str) -> Result<u32> {
    let digits = line.strip_prefix(':').and_then(|digits| digits.parse().ok());
    digits.ok_or_else(|| format!("found {line:?}; a number was needed"))
}

fn visit(visitor: &mut Visitor<'_>, _variant: Variant) -> Result<Option<u64>> {
    for table in 0.. {
        let began = Instant::now();
        for first in (0..FIELDS).step_by(FIELDS_AT_ONCE as usize) {
            if visitor.is_over() {
                return Ok(None);
            }
            let added = number(&visitor.ask(&part(table, first))?)?;
            if added != FIELDS_AT_ONCE {
                return Err(format!("found {added} new fields, {FIELDS_AT_ONCE} were needed"));
            }
        }
        number(&visitor.ask(&format!("PEXPIRE table:{table} {}", EVERY.as_millis()))?)?;
        visitor.sleep_until(began + EVERY);
    }
    Ok(None)
}

/// The command that writes these fields of a table.
fn part(table: u32, first: u32) -> String {
    let mut command = format!("HSET table:{table}");
    for field in first..first + FIELDS_AT_ONCE {
        // A text takes whatever is written.
        let _ = write!(command, " member:{field} score:{:032}", field * 7);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_its_fields() {
        assert_eq!(part(1, 40).matches("member:").count(), FIELDS_AT_ONCE as usize);
        assert!(part(1, 40).ends_with(&format!("member:59 score:{:032}", 413)));
    }

    #[test]
    fn what_is_no_number_is_told() {
        assert_eq!(number(":20"), Ok(20));
        assert!(number("-ERR unknown").unwrap_err().contains("-ERR unknown"));
    }
}
