//! The reference for the terminal.

use super::{INTRODUCTION, SEE, example, title, variants};
use std::fmt::Write as _;
use tailwater_report::{wrap, wrap_indented};
use tailwater_workload::scenario::keys::Table;

/// Readable side by side with an editor.
const WIDTH: usize = 80;
const INDENT: &str = "      ";

pub(super) fn page(tables: &[&Table], whole: bool) -> String {
    let mut out = String::new();
    if whole {
        let _ = writeln!(out, "{}\n\n{}\n", wrap(INTRODUCTION, WIDTH), wrap(SEE, WIDTH));
    }
    for table in tables {
        let _ = writeln!(out, "{}\n{}\n", title(table), wrap_indented(table.meaning, WIDTH, "  "));
        for (name, meaning) in variants(table) {
            let _ =
                writeln!(out, "{}", wrap_indented(&format!("{name}: {meaning}"), WIDTH, "    "));
        }
        if !table.variants.is_empty() {
            out.push('\n');
        }
        for key in table.keys {
            let value =
                wrap_indented(&format!("{}; {}.", key.kind, table.absence(key)), WIDTH, INDENT);
            let meaning = wrap_indented(key.meaning, WIDTH, INDENT);
            let _ = writeln!(out, "  {}\n{value}\n{meaning}\n{INDENT}{}\n", key.name, example(key));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_workload::scenario::keys::tables;

    #[test]
    fn lines_of_words_fit_the_terminal_and_every_key_is_there() {
        let page = page(&tables(), true);
        for line in page.lines().filter(|line| !line.contains(" = ")) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        for key in tables().iter().flat_map(|table| table.keys) {
            assert!(page.contains(&format!("\n  {}\n", key.name)), "{}", key.name);
        }
    }
}
