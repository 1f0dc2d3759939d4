//! pprof's table of functions.

use crate::exports::Exports;
use crate::stacks::folded;
use crate::{Result, tools};
use machine::command;
use std::collections::BTreeMap;
use std::process::Command;

pub(crate) fn tool() -> String {
    format!("pprof {}", tools::PPROF)
}

pub(crate) fn read(exports: &Exports) -> Result<String> {
    let mut pprof = Command::new(tools::pprof(&exports.folder)?);
    pprof.args([
        "-top",
        "-symbolize=none",
        "-sample_index=time",
        "-unit=ns",
        "-nodecount=1000000",
        "-nodefraction=0",
    ]);
    let text = command::output(pprof.arg(exports.of("pprof")))?;
    let found = functions(&text)?;
    // Those without time of their own stand only in one of them.
    let found: BTreeMap<&str, u64> =
        found.iter().map(|(name, ns)| (&**name, *ns)).filter(|(_, ns)| *ns > 0).collect();
    let mut expected = exports.stacks.itself();
    expected.retain(|_, ns| *ns > 0);
    if found != expected {
        return Err(format!("it found {found:?}, for {expected:?}"));
    }
    Ok(format!("the time of {} functions", found.len()))
}

/// The time of each in itself, in nanoseconds.
fn functions(text: &str) -> Result<BTreeMap<String, u64>> {
    let (_, table) = text.split_once("cum%\n").ok_or_else(|| format!("no table: {text}"))?;
    let mut found = BTreeMap::new();
    for line in table.lines() {
        let flat = line.split_whitespace().next().ok_or_else(|| format!("no row: {line}"))?;
        let ns = flat.trim_end_matches("ns").parse();
        let ns: u64 = ns.map_err(|error| format!("{flat}: {error}"))?;
        *found.entry(folded(name(line))).or_default() += ns;
    }
    Ok(found)
}

/// What stands behind five fields: it may have blanks.
fn name(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..5 {
        rest = rest.trim_start();
        rest = &rest[rest.find(char::is_whitespace).unwrap_or(rest.len())..];
    }
    rest.trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_behind_five_fields_and_have_blanks() {
        let text = "Type: time\n      flat  flat%   sum%        cum   cum%\n\
                    589ns 78.98% 78.98% 739ns 99.08%  a::b(int; char)\n   0     0% 78.98%  7ns  1.0%  main\n";
        let found = functions(text).unwrap();
        let expected = [("a::b(int: char)".to_owned(), 589), ("main".to_owned(), 0)];
        assert_eq!(found, BTreeMap::from(expected));
        assert!(functions("nothing").is_err());
    }
}
