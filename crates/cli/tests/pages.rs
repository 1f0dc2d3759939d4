//! The tables of the pages that have a result file: redrawn from it and compared, so that no number stands
//! in a page that the file does not hold. Below the words `<!-- drawn: FILE NAME -->` stands a table that
//! `tables` draws, or a block of what a command said; a table that compares names two files. BENCHMARKING.md and docs/claims/ have no other tables.
//! Pictures of results are drawn and compared likewise. Results name the commit and the time of what was measured.
//! Tables of numbers on other pages are drawn too, or stand below `<!-- typed: WHY -->`. Tests that a column of tests names are there.

mod common;
mod origins;
mod pictures;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What mends a difference that is wanted.
const MEND: &str = "TAILWATER_PAGES=write cargo test -p tailwater-cli --test pages";
/// Stands above a drawn table, before file and name.
const DRAWN: &str = "<!-- drawn: ";
/// Stands above a table of numbers that no result file holds, before the reason.
const TYPED: &str = "<!-- typed: ";
/// Heads of columns whose numbers are chosen, and not measured.
const CHOSEN: [&str; 9] =
    ["default", "offset", "at", "bytes", "len", "code", "at most", "usual size", "how many"];
/// Around what a command said, where that is drawn.
const BLOCK: &str = "```text";
const BLOCK_END: &str = "```";
/// The page of all measurements. Its explanations are in [`CLAIMS`].
const MEASURED: &str = "BENCHMARKING.md";
/// A page for each claim.
const CLAIMS: &str = "docs/claims";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages of a folder, by their paths from the root.
fn pages_in(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).expect("a folder of pages");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut pages: Vec<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    pages.sort();
    assert!(!pages.is_empty(), "{folder} has no pages");
    pages
}

/// The pages in which a table may be drawn.
fn pages() -> Vec<String> {
    let top = ["README.md", MEASURED].map(str::to_owned).to_vec();
    [top, pages_in("docs"), pages_in(CLAIMS)].concat()
}

/// Whether differences are mended.
fn is_writing() -> bool {
    std::env::var_os("TAILWATER_PAGES").is_some_and(|value| value == "write")
}

#[test]
fn drawn_tables_are_what_their_files_say() {
    let write = is_writing();
    let mut drawn = 0;
    for page in pages() {
        let found = read(&page);
        let (redrawn, tables) = redraw(&found);
        drawn += tables;
        if write {
            std::fs::write(root().join(&page), &redrawn).expect("the page is written");
            continue;
        }
        let differing =
            found.lines().zip(redrawn.lines()).find(|(found, redrawn)| found != redrawn);
        let differing = differing.map_or(String::new(), |(a, b)| format!("- {a}\n+ {b}"));
        assert!(found == redrawn, "{page} differs from its result:\n{differing}\nType: {MEND}");
    }
    assert!(drawn > 40, "{drawn} tables are drawn from results");
}

/// A picture that the result no longer draws is found, too.
#[test]
fn drawn_pictures_are_what_their_file_says_and_are_shown() {
    let folder = root().join("docs/pictures");
    let drawn = pictures::of_results(&root());
    if is_writing() {
        for (name, svg) in &drawn {
            std::fs::write(folder.join(name), svg).expect("the picture is written");
        }
    }
    let mut found = pictures::svg_in(&folder);
    let beginnings = [pictures::OF_TRAITS, pictures::OF_PARTS, pictures::OF_PORTRAIT];
    found.retain(|name, _| beginnings.iter().any(|begin| name.starts_with(begin)));
    let names = |of: &BTreeMap<String, String>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&drawn), "Type: {MEND}");
    let all: String = pages().iter().map(|page| read(page)).collect();
    for (name, svg) in drawn {
        assert!(found[&name] == svg, "docs/pictures/{name} differs from its result. Type: {MEND}");
        assert!(all.contains(&format!("](pictures/{name})")), "no page shows {name}");
    }
}

#[test]
fn each_result_has_a_page() {
    let all: String = pages().iter().map(|page| read(page)).collect();
    for entry in std::fs::read_dir(root().join("results")).expect("a folder of results") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        assert!(all.contains(&format!("results/{name}")), "no page names results/{name}");
    }
}

/// Those of before their programs named both are listed, and the list only shrinks.
#[test]
fn each_result_names_its_commit_and_its_time() {
    let mut results = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("results")).expect("a folder of results") {
        let file = entry.expect("an entry").file_name().into_string().expect("a name");
        // What tests print line by line names neither.
        let Some(name) = file.strip_suffix(".json") else { continue };
        let text = read(&format!("results/{file}"));
        let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        results.insert(name.to_owned(), origins::Named::by(&result));
    }
    let problems = origins::problems(&results);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn each_table_has_its_file() {
    for page in [vec![MEASURED.to_owned()], pages_in(CLAIMS)].concat() {
        let unsourced = without_source(&read(&page));
        assert!(
            unsourced.is_empty(),
            "{page}: tables without source in lines {unsourced:?}: draw them"
        );
    }
}

#[test]
fn each_table_of_numbers_has_its_file_or_says_why_not() {
    let of = |page: String| (numbers_without_source(&read(&page)), page);
    let unsourced = pages_in("docs").into_iter().map(of).filter(|(lines, _)| !lines.is_empty());
    let unsourced: Vec<_> = unsourced.collect();
    let mend = format!("draw them, or put {TYPED}WHY --> above");
    assert!(unsourced.is_empty(), "numbers without source in lines {unsourced:?}: {mend}");
}

/// A test that gets another name gets it in its row, too.
#[test]
fn each_test_that_a_table_names_is_there() {
    let named: BTreeSet<String> =
        pages().iter().flat_map(|page| tests_named(&read(page))).collect();
    assert!(named.len() > 40, "{named:?}");
    let sources: String = ["crates", "tests"].map(|folder| sources(&root().join(folder))).concat();
    let is_gone = |name: &&String| !sources.contains(&format!("fn {name}("));
    let gone: Vec<&String> = named.iter().filter(is_gone).collect();
    assert!(gone.is_empty(), "tables name tests that no file of crates/ or tests/ has: {gone:?}");
}

/// In the last column, where its head is *tests*: what is code there, and neither a file nor a folder.
fn tests_named(page: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut named = BTreeSet::new();
    for head in heads(&lines).into_iter().filter(|head| lines[*head].ends_with("| tests |")) {
        for row in lines[head + 2..].iter().take_while(|row| row.starts_with('|')) {
            let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
            let code = cell.split('`').skip(1).step_by(2);
            named.extend(code.filter(|word| !word.contains(['.', '/'])).map(str::to_owned));
        }
    }
    named
}

/// All of Rust that lies there.
fn sources(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    let mut text = String::new();
    for entry in entries {
        let entry = entry.expect("an entry");
        let path = entry.path();
        if entry.file_type().expect("a type").is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text += &std::fs::read_to_string(&path).expect("a text");
        }
    }
    text
}

#[test]
fn tests_are_named_by_the_last_column_of_tables_of_tests() {
    let named =
        "| what | tests |\n|---|---|\n| `exit` | `it_ends` in `ends.rs`; `a/b.rs`; `it_lives` |\n";
    let page = format!("{named}| `none` | |\n\n| a | b |\n|---|---|\n| `c` | `d` |\n");
    let named: Vec<String> = tests_named(&page).into_iter().collect();
    assert_eq!(named, ["it_ends", "it_lives"]);
}

/// The lines, from 1, in which tables begin that are not drawn.
fn without_source(page: &str) -> Vec<usize> {
    let lines: Vec<&str> = page.lines().collect();
    let unsourced = |&at: &usize| !above(&lines, at).starts_with(DRAWN);
    heads(&lines).into_iter().filter(unsourced).map(|at| at + 1).collect()
}

/// The same of tables with a column of numbers, that do not say why they are typed.
fn numbers_without_source(page: &str) -> Vec<usize> {
    let lines: Vec<&str> = page.lines().collect();
    let unsourced = |at: &usize| {
        let reason = above(&lines, at - 1).strip_prefix(TYPED).unwrap_or_default();
        has_column_of_numbers(&lines[at - 1..]) && reason.trim_end_matches("-->").trim().is_empty()
    };
    without_source(page).into_iter().filter(unsourced).collect()
}

/// The line above a table that is not empty.
fn above<'a>(lines: &[&'a str], at: usize) -> &'a str {
    lines[..at].iter().rev().find(|line| !line.is_empty()).copied().unwrap_or_default()
}

/// Whether in any column beyond the first that is not of chosen numbers at least half of the cells begin with a number.
fn has_column_of_numbers(table: &[&str]) -> bool {
    let rows = table[2..].iter().map(|line| line.trim()).take_while(|line| line.starts_with('|'));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.trim_matches('|').split('|').collect()).collect();
    let is_number = |cell: &str| {
        let begins = cell
            .trim_start_matches([' ', '*', '+', '−', '-', '<', '>', '≥', '≤', '±', '~', '≈', '(']);
        begins.starts_with(|first: char| first.is_ascii_digit())
    };
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let heads: Vec<&str> = table[0].trim().trim_matches('|').split('|').map(str::trim).collect();
    let is_chosen = |column: usize| heads.get(column).is_some_and(|head| CHOSEN.contains(head));
    (1..columns).filter(|column| !is_chosen(*column)).any(|column| {
        let numbers = rows.iter().filter_map(|row| row.get(column)).filter(|cell| is_number(cell));
        2 * numbers.count() >= rows.len()
    })
}

#[test]
fn numbers_that_nothing_draws_are_told_from_words_and_from_what_is_typed_with_a_reason() {
    let table = |rows: &str| format!("words\n\n| a | b | c |\n|---|---|---|\n{rows}\n");
    let measured = table("| x | **7 %** | – |\n| y | −8 µs | < 2 |");
    assert_eq!(numbers_without_source(&measured), [3]);
    let typed = measured.replace("words", "<!-- typed: the paper's -->");
    assert_eq!(numbers_without_source(&typed), [0; 0]);
    let unreasoned = measured.replace("words", "<!-- typed:  -->");
    assert_eq!(numbers_without_source(&unreasoned), [3]);
    assert_eq!(numbers_without_source(&table("| 1 | what it is | as above |")), [0; 0]);
    let chosen = measured.replace("| b | c |", "| default | at |");
    assert_eq!(numbers_without_source(&chosen), [0; 0]);
    for ruled in ["| :-- | -- | --: |", "| - | :-: | -: |"] {
        assert_eq!(
            numbers_without_source(&measured.replace("|---|---|---|", ruled)),
            [3],
            "{ruled}"
        );
    }
    // A row of dashes below another row rules no table.
    let dashed = measured.replace("| y |", "| - | - | - |\n| y |");
    assert_eq!(numbers_without_source(&dashed), [3], "{dashed}");
}

#[test]
fn a_table_without_source_is_found_in_a_list_too() {
    let page =
        format!("{DRAWN}a b -->\n\n| a |\n|---|\n| 7 |\n\n- item\n\n  | b |\n  |---|\n  | 8 |\n");
    assert_eq!(without_source(&page), [9]);
}

/// The first lines of tables, from 0. Those in blocks of code have no line of dashes.
fn heads(lines: &[&str]) -> Vec<usize> {
    let is_head = |at: usize| {
        let below = lines.get(at + 1).map_or("", |line| line.trim());
        let is_ruled = below.starts_with('|') && below.contains('-');
        let is_row =
            |line: Option<&&str>| line.is_some_and(|line| line.trim_start().starts_with('|'));
        is_ruled
            && below.chars().all(|mark| "|-: ".contains(mark))
            && is_row(lines.get(at))
            && !is_row(at.checked_sub(1).and_then(|before| lines.get(before)))
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
        let (files, name) = said.rsplit_once(' ').expect("files and a name");
        count += 1;
        let is_table = |line: &&str| line.is_empty() || line.starts_with('|');
        while lines.next_if(is_table).is_some() {}
        if lines.next_if_eq(&BLOCK).is_some() {
            lines.by_ref().find(|line| *line == BLOCK_END);
            while lines.next_if(|line| line.is_empty()).is_some() {}
        }
        let results: Vec<String> = files.split(' ').map(read).collect();
        let _ = writeln!(text, "\n{}", tables::draw(name, &results));
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
