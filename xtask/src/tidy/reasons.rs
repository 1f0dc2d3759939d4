//! The reason at the line: above an ordering of memory what it pairs with, above a law's constant its source.

use super::Problem;
use super::shipped::shipped;
use crate::tree::Tree;

/// The crates whose protocols between threads are their own.
const PROTOCOLS: [&str; 2] = ["crates/sync/src/", "crates/rt/src/"];
/// The crate whose numbers decide about requests.
const LAWS: &str = "crates/control/src/";
const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
/// Constants that are no numbers: a controller's entry in the catalogue, and the keys of its settings.
const TABLES: [&str; 2] = ["Family<", "&[Key<"];

/// Each ordering in the locks and the runtime has a comment at its line, or above the statements that it is in.
pub(super) fn orderings_say_why(tree: &Tree) -> Vec<Problem> {
    let files = PROTOCOLS.iter().flat_map(|folder| tree.matching(folder, ".rs"));
    let code = files.filter(|(path, _)| !is_test(path)).flat_map(|(path, text)| bare(path, text));
    code.map(|(place, line)| {
        let mend = "say above it what it pairs with, or why nothing has to be ordered";
        Problem::new(place, format!("found an ordering without a reason: {line}"), mend)
    })
    .collect()
}

/// Each constant of the controllers has a comment above it, or at its line.
pub(super) fn constants_say_whence(tree: &Tree) -> Vec<Problem> {
    let files = tree.matching(LAWS, ".rs").filter(|(path, _)| !is_test(path));
    let found = files.flat_map(|(path, text)| {
        let lines: Vec<&str> = shipped(text).collect();
        let lacking =
            (0..lines.len()).filter(|at| is_constant(lines[*at]) && !has_words(&lines, *at));
        lacking.map(|at| (format!("{path}:{}", at + 1), lines[at].trim())).collect::<Vec<_>>()
    });
    found
        .map(|(place, line)| {
            let mend = "say above it which paper, measurement or reason it is from, and its unit";
            Problem::new(place, format!("found a constant without a source: {line}"), mend)
        })
        .collect()
}

/// Each number by which a law multiplies, divides or bounds has a comment at its line, or above its statement. Numbers of one
/// digit are left out: halves, quarters and doubles are what they look like.
pub(super) fn numbers_in_laws_say_why(tree: &Tree) -> Vec<Problem> {
    // Presets and limits are documented at their fields.
    let is_table = |path: &str| path.contains("/config") || path.contains("/family");
    let files = tree.matching(LAWS, ".rs").filter(|(path, _)| !is_test(path) && !is_table(path));
    let found = files.flat_map(|(path, text)| {
        let lines: Vec<&str> = shipped(text).collect();
        let lacking = (0..lines.len()).filter(|&at| {
            let line = lines[at];
            !is_constant(line) && reckons(line) && !is_explained(&lines, at, |_| false)
        });
        lacking.map(|at| (format!("{path}:{}", at + 1), lines[at].trim())).collect::<Vec<_>>()
    });
    found
        .map(|(place, line)| {
            let mend = "say above it which paper, measurement or reason the number is from";
            Problem::new(place, format!("found a bare number in a law: {line}"), mend)
        })
        .collect()
}

/// Whether a number of two digits or more is multiplied by, divided by, or a bound.
fn reckons(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let is_number = |text: &str| {
        let digits = text.chars().take_while(|c| c.is_ascii_digit() || *c == '_').count();
        digits > 1 && !text[digits..].starts_with('.')
    };
    ["* ", "/ ", ".max(", ".min("]
        .iter()
        .flat_map(|before| code.match_indices(before).map(|(at, _)| &code[at + before.len()..]))
        .any(is_number)
        || code.match_indices(" * ").any(|(at, _)| {
            let word = code[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
            word.is_some_and(is_number)
        })
}

/// The lines with an ordering and no reason, with their places.
fn bare<'a>(path: &str, text: &'a str) -> Vec<(String, &'a str)> {
    let lines: Vec<&str> = shipped(text).collect();
    let lacking =
        (0..lines.len()).filter(|&at| orders(lines[at]) && !is_explained(&lines, at, orders));
    lacking.map(|at| (format!("{path}:{}", at + 1), lines[at].trim())).collect()
}

/// Tests, and models, which are tests that loom runs.
fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("/models.rs")
}

/// Whether a line of code names an ordering as a value. Types of the same names stand before `::`, `<` or `{`.
fn orders(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let imports =
        ["use ", "pub(crate) use "].iter().any(|start| code.trim_start().starts_with(start));
    !imports && ORDERINGS.iter().any(|name| is_value(code, name))
}

fn is_value(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let starts =
            before.ends_with("Ordering::") || before.is_empty() || before.ends_with(['(', ' ']);
        starts && after.starts_with([')', ','])
    })
}

/// A comment at the line, or above its statement, or above those of its kind that precede it.
fn is_explained(lines: &[&str], at: usize, is_alike: fn(&str) -> bool) -> bool {
    if lines[at].contains("//") {
        return true;
    }
    let above = lines[..at].iter().rev().find(|line| !is_alike(line) && !goes_on(line));
    above.is_some_and(|line| {
        let line = line.trim_start();
        line.starts_with("//") && !line.starts_with("///")
    })
}

/// Whether the statement of a line goes on below it.
fn goes_on(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//") && !line.ends_with([';', '{', '}'])
}

fn is_constant(line: &str) -> bool {
    let words = line.trim_start();
    let words = words
        .strip_prefix("pub")
        .map_or(words, |rest| rest.split_once(") ").map_or(rest.trim_start(), |(_, rest)| rest));
    words.strip_prefix("const ").is_some_and(|rest| {
        let named = rest.starts_with(|c: char| c.is_ascii_uppercase());
        named && !TABLES.iter().any(|table| rest.contains(&format!(": {table}")))
    })
}

fn has_words(lines: &[&str], at: usize) -> bool {
    let above = lines[..at].iter().rev().find(|line| !line.trim_start().starts_with("#["));
    lines[at].contains("//") || above.is_some_and(|line| line.trim_start().starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, text: &str, check: fn(&Tree) -> Vec<Problem>) -> Vec<String> {
        let tree = Tree::from([(path, text)]);
        check(&tree).into_iter().map(|problem| problem.place).collect()
    }

    fn orderings(text: &str) -> Vec<String> {
        places("crates/sync/src/a.rs", text, orderings_say_why)
    }

    #[test]
    fn an_ordering_needs_words_at_its_line_or_above_its_statement() {
        assert_eq!(
            orderings("fn f() {\n    a.load(Ordering::Relaxed)\n}\n"),
            ["crates/sync/src/a.rs:2"]
        );
        assert_eq!(
            orderings("/// Reads.\nfn f() {\n    a.load(SeqCst)\n}\n").len(),
            1,
            "a reader's doc"
        );
        assert!(orderings("a.load(Relaxed); // A bound alone.\n").is_empty());
        assert!(
            orderings("// Pairs with b.\na.store(1, Release);\nb.store(2, Release);\n").is_empty()
        );
        let long = "// Pairs with b.\nmatch a.compare_exchange(\n    1,\n    Acquire,\n    Relaxed,\n) {\n";
        assert!(orderings(long).is_empty());
        let second = "// Pairs with b.\na.store(1, Release);\nwork();\nb.store(2, Release);\n";
        assert_eq!(orderings(second), ["crates/sync/src/a.rs:4"]);
    }

    #[test]
    fn types_imports_tests_and_other_crates_are_left_out() {
        let types = "use std::sync::atomic::Ordering::{Acquire, Relaxed};\nlet a = Acquire::new(gate);\n\
                     impl<'a> Acquire<'a> {\npub(super) use gate::Acquire;\n";
        assert!(orderings(types).is_empty());
        assert!(orderings("#[cfg(test)]\nmod tests {\n    a.load(Relaxed);\n").is_empty());
        for path in
            ["crates/sync/src/a/tests.rs", "crates/core/src/a.rs", "crates/rt/src/models.rs"]
        {
            assert!(places(path, "a.load(Relaxed);\n", orderings_say_why).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_constant_of_a_law_needs_a_source() {
        let check = |text| places("crates/control/src/fair/mod.rs", text, constants_say_whence);
        assert_eq!(
            check("/// §3.\nconst A: u32 = 1;\nconst B: u32 = 2;\n"),
            ["crates/control/src/fair/mod.rs:3"]
        );
        assert_eq!(check("pub(crate) const A: f64 = 0.5;\n").len(), 1);
        assert!(check("/// §3.\n#[cfg(unix)]\npub const A: u32 = 1;\n").is_empty());
        assert!(
            check("pub(crate) const FAMILY: Family<Config> = Family {\nconst fn a() {}\n")
                .is_empty()
        );
        assert!(
            places("crates/sim/src/a.rs", "const A: u32 = 1;\n", constants_say_whence).is_empty()
        );
    }

    #[test]
    fn a_number_in_a_law_needs_a_reason() {
        let check = |text| places("crates/control/src/codel/law.rs", text, numbers_in_laws_say_why);
        for bare in ["a < 16 * interval;", "let step = (median / 32).max(b);", "a.min(1_000)"] {
            assert_eq!(check(bare), ["crates/control/src/codel/law.rs:1"], "{bare}");
        }
        for sound in [
            "// RFC 8289, §5.5.\nlet is_recent =\n    a < 16 * interval;",
            "let step = median / 32; // Ours: 3 %.",
            "const STEP: u64 = 16 * 32;",
            "a / 2; b.max(1); c * 1.5; d16 * e; f.max(g16)",
            "#[cfg(test)]\nmod tests {\n    a * 16;",
        ] {
            assert!(check(sound).is_empty(), "{sound}");
        }
        let preset = "Self { a: 16 * slo }";
        assert!(
            places("crates/control/src/seda/config.rs", preset, numbers_in_laws_say_why).is_empty()
        );
    }
}
