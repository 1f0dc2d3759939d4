//! Files that describe accelerators: Table 6.5's names with units, one case or several.
//!
//! `docs/accelerator.md` lists the keys. A key outside of `[[case]]` holds for all cases; a case may say otherwise.

mod cases;
mod item;
pub mod keys;
mod units;

use super::case::Case;
use item::Said;
use tailwater_core::problems::Problems;
use toml::de::{DeTable, DeValue};

pub use tailwater_core::problems::{FileError, Problem};

/// Bytes of a file.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// Cases of a file.
pub const CASES_MAX: usize = 64;

/// What a file says.
#[derive(Clone, PartialEq, Debug)]
pub struct Described {
    /// A line for people; empty where there is none.
    pub title: String,
    /// At least one, with names that differ.
    pub cases: Vec<Case>,
}

/// Gives the text of a file that is named in another, or says why not. Names are relative to that file's folder.
pub type ReadFile<'r> = &'r dyn Fn(&str) -> Result<String, String>;

/// Reads the text of `file`, which is called so in errors.
///
/// # Errors
/// With everything that is wrong, each with its line, what was found and what is needed.
pub fn parse(file: &str, text: &str, read: ReadFile<'_>) -> Result<Described, FileError> {
    let report = Problems::new(text);
    if text.len() > FILE_BYTES_MAX {
        let found = text.len();
        report.push(0, format!("the file has {found} bytes; at most {FILE_BYTES_MAX} are read"));
        return Err(report.into_error(file));
    }
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let at = error.span().unwrap_or_default().start;
            report.push(at, format!("this is not TOML: {}", error.message()));
            return Err(report.into_error(file));
        }
    };
    let top = Said::new(&report, table.get_ref(), None);
    let described = Described {
        title: top.item("title").and_then(|item| item.text()).unwrap_or_default(),
        cases: all(&report, table.get_ref(), read),
    };
    if report.is_empty() { Ok(described) } else { Err(report.into_error(file)) }
}

/// Each `[[case]]`, or the file as the only one.
fn all(report: &Problems<'_>, top: &DeTable<'_>, read: ReadFile<'_>) -> Vec<Case> {
    let Some(list) = top.get(keys::CASE) else {
        let said = Said::new(report, top, None);
        return cases::read("", &said, read).into_iter().collect();
    };
    let tables = match list.get_ref() {
        DeValue::Array(tables) if (1..=CASES_MAX).contains(&tables.len()) => tables,
        _ => {
            let needed = format!("1 to {CASES_MAX} tables [[case]] are needed");
            report.push(list.span().start, format!("case is something else; {needed}"));
            return Vec::new();
        }
    };
    let mut found: Vec<Case> = Vec::new();
    for table in tables {
        let DeValue::Table(own) = table.get_ref() else {
            report.push(table.span().start, "a case is no table; write [[case]]".into());
            continue;
        };
        let said = Said::new(report, top, Some((own, table.span().start)));
        let name = said.item("name").and_then(|item| item.text());
        let Some(name) = name else {
            said.problem(
                "a case has no name; one is needed, for example name = \"off-chip\"".into(),
            );
            continue;
        };
        if found.iter().any(|case| case.name == name) {
            said.problem(format!("two cases are called {name}; names that differ are needed"));
        }
        found.extend(cases::read(&name, &said, read));
    }
    found
}
