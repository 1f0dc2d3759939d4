//! The tables of the pages that have a result file: redrawn from it and compared, so that no number stands
//! in a page that the file does not hold. Below the words `<!-- drawn: FILE NAME -->` stands a table that
//! `tables` draws; the other tables of BENCHMARKING.md say that they have no file.

mod tables;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What mends a difference that is wanted.
const MEND: &str = "TAILWATER_PAGES=write cargo test -p tailwater-cli --test pages";
/// Stands above a drawn table, before file and name.
const DRAWN: &str = "<!-- drawn: ";
/// Stands above a table that nothing can redraw.
const TYPED: &str = "*Without a result file:*";
/// The pages with drawn tables.
const PAGES: [&str; 5] = [
    "README.md",
    "BENCHMARKING.md",
    "docs/breakwater.md",
    "docs/figures.md",
    "docs/figures-protego.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn drawn_tables_are_what_their_files_say() {
    let write = std::env::var_os("TAILWATER_PAGES").is_some_and(|value| value == "write");
    let mut drawn = 0;
    for page in PAGES {
        let found = read(page);
        let (redrawn, tables) = redraw(&found);
        drawn += tables;
        if write {
            std::fs::write(root().join(page), &redrawn).expect("the page is written");
            continue;
        }
        let differing =
            found.lines().zip(redrawn.lines()).find(|(found, redrawn)| found != redrawn);
        let differing = differing.map_or(String::new(), |(a, b)| format!("- {a}\n+ {b}"));
        assert!(found == redrawn, "{page} differs from its result:\n{differing}\nType: {MEND}");
    }
    assert_eq!(drawn, 11, "tables that are drawn from results");
}

#[test]
fn tables_that_nothing_can_redraw_say_so() {
    let page = read("BENCHMARKING.md");
    let lines: Vec<&str> = page.lines().collect();
    for at in heads(&lines) {
        let above = lines[..at].iter().rev().find(|line| !line.is_empty()).unwrap_or(&"");
        if above.starts_with(DRAWN) {
            continue;
        }
        let say = format!("write {TYPED} above it, or draw it from a file");
        assert!(
            above.ends_with(TYPED),
            "BENCHMARKING.md:{}: a table without source: {say}",
            at + 1
        );
    }
}

/// The first lines of tables, from 0. Those in blocks of code are none.
fn heads(lines: &[&str]) -> Vec<usize> {
    let is_head = |at: usize| {
        lines[at].starts_with('|') && lines.get(at + 1).is_some_and(|line| line.starts_with("|--"))
    };
    (0..lines.len()).filter(|&at| is_head(at)).collect()
}

/// The page with its drawn tables as their files have them, and how many these are.
fn redraw(page: &str) -> (String, u32) {
    let mut text = String::new();
    let mut count = 0;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let _ = writeln!(text, "{line}");
        let Some(said) = line.strip_prefix(DRAWN).and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let (file, name) = said.split_once(' ').expect("a file and a name");
        count += 1;
        while lines.next_if(|line| line.is_empty() || line.starts_with('|')).is_some() {}
        let _ = writeln!(text, "\n{}", tables::draw(name, &read(file)));
    }
    (text, count)
}

#[test]
fn a_number_that_the_file_does_not_hold_is_found() {
    let page = "<!-- drawn: results/tls.json tls -->\n\n| a |\n|---|\n| 7 |\n\nand on\n";
    let (redrawn, count) = redraw(page);
    assert_eq!(count, 1);
    assert!(redrawn.ends_with("|\n\nand on\n") && !redrawn.contains("| 7 |"), "{redrawn}");
}
