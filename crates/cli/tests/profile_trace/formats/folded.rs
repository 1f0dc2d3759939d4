//! Folded stacks, as the documentation of `flamegraph.pl` and inferno has them: names with semicolons between, a blank, a number.

use super::shape::{Checked, ensure};
use super::{Stacks, expected};
use crate::profile_trace::export::{export, requests};

fn read(text: &str) -> Checked<Stacks> {
    ensure(text.ends_with('\n'), || "the last line does not end".to_owned())?;
    text.lines().map(stack).collect()
}

/// The last blank separates: names have blanks, too.
fn stack(line: &str) -> Checked<(Vec<String>, u64)> {
    let (path, number) = line.rsplit_once(' ').ok_or_else(|| format!("no number: {line}"))?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    ensure(is_number, || format!("no number: {line}"))?;
    let ns = number.parse::<u64>().map_err(|error| format!("{line}: {error}"))?;
    ensure(ns > 0, || format!("no time: {line}"))?;
    let path: Vec<String> = path.split(';').map(str::to_owned).collect();
    ensure(path.iter().all(|name| !name.is_empty()), || format!("an empty name: {line}"))?;
    Ok((path, ns))
}

#[test]
fn folded_stacks_are_lines_of_names_and_a_number() {
    let text = export(&requests("folded.trace"), &["--to", "folded"]);
    assert_eq!(read(&text), Ok(expected("ns::request(int: char)", 1)));
}

#[test]
fn lines_that_are_no_folded_stacks_are_refused() {
    for (words, text) in [
        ("no number", "main\n"),
        ("no number", "main -1\n"),
        ("no number", "main 1.5\n"),
        ("too large", "main 18446744073709551616\n"),
        ("no time", "main;parse 0\n"),
        ("an empty name", "main;;parse 7\n"),
        ("an empty name", " 7\n"),
        ("does not end", "main 7\nmain;parse 9"),
    ] {
        let said = read(text).expect_err(text);
        assert!(said.contains(words), "{said}, of {text:?}");
    }
}
