//! Where unsafe code may be, and what the pure crates must refuse.

use super::Problem;
use crate::tree::Tree;

/// The crates that may hold unsafe code, each with its protocol written down first.
const UNSAFE_CRATES: &[&str] = &[
    "crates/rt",
    "crates/sync",
    "crates/profile-rt",
    "crates/marks",
    "crates/kernel",
    "suite/kernels",
    "benches/ready/uring",
];
/// The crates without clock, socket, thread or environment; the simulator brings its own time.
const PURE_CRATES: &[&str] =
    &["core", "control", "wire", "stats", "workload", "experiment", "tune", "sim"];
const FORBID: &str = "#![forbid(unsafe_code)]";
/// The text that the pure crates' bans are measured against.
const BANS: &str = "crates/core/clippy.toml";

/// Every library and program begins with `#![forbid(unsafe_code)]`, but for the named crates.
pub(super) fn unsafe_is_forbidden(tree: &Tree) -> Vec<Problem> {
    let roots = tree.matching("", ".rs").filter(|(path, _)| is_root(path) && !may_be_unsafe(path));
    let lacking = roots.filter(|(_, text)| !text.lines().any(|line| line.trim() == FORBID));
    lacking
        .map(|(path, _)| {
            Problem::new(
                path,
                "found no ban on unsafe code",
                format!("write {FORBID} below its module doc"),
            )
        })
        .collect()
}

/// No unsafe code outside of the named crates, tests and benches included.
pub(super) fn unsafe_stays(tree: &Tree) -> Vec<Problem> {
    let files = tree.matching("", ".rs").filter(|(path, _)| !may_be_unsafe(path));
    let lines = files.flat_map(|(path, text)| {
        text.lines().enumerate().map(move |(index, line)| (path, index + 1, line))
    });
    lines
        .filter(|(_, _, line)| is_unsafe(line))
        .map(|(path, line, _)| {
            let mend = format!("move it to one of {}, or do without", UNSAFE_CRATES.join(", "));
            Problem::new(format!("{path}:{line}"), "found unsafe code", mend)
        })
        .collect()
}

/// Each pure crate has a clippy.toml that bans at least what the core's bans: a crate's own file
/// replaces the root's, it does not add to it.
pub(super) fn pure_crates_ban(tree: &Tree) -> Vec<Problem> {
    let wanted = banned(tree.text(BANS).unwrap_or_default());
    let crates = tree.crates();
    let pure = PURE_CRATES.iter().filter(|name| crates.contains(**name));
    pure.filter_map(|name| {
        let path = format!("crates/{name}/clippy.toml");
        let has = banned(tree.text(&path)?);
        let missing: Vec<&str> = wanted.iter().filter(|ban| !has.contains(ban)).copied().collect();
        let found = format!("found no ban on {}", missing.join(", "));
        (!missing.is_empty())
            .then(|| Problem::new(path, found, format!("copy the lines from {BANS}")))
    })
    .chain(without_file(tree))
    .collect()
}

fn without_file(tree: &Tree) -> impl Iterator<Item = Problem> {
    let crates = tree.crates();
    let lacking = PURE_CRATES.iter().filter(move |name| crates.contains(**name)).filter(|name| {
        tree.text(&format!("crates/{name}/clippy.toml")).is_none_or(|text| banned(text).is_empty())
    });
    lacking.map(|name| {
        let place = format!("crates/{name}");
        Problem::new(
            place,
            "found a pure crate without bans in a clippy.toml",
            format!("copy {BANS}"),
        )
    })
}

/// The paths that a clippy.toml disallows.
fn banned(text: &str) -> Vec<&str> {
    let lines =
        text.lines().filter_map(|line| line.trim().strip_prefix("{ path = \"")?.split_once('"'));
    lines.map(|(path, _)| path).collect()
}

fn is_root(path: &str) -> bool {
    let inside = ["crates/", "suite/", "tests/src/", "xtask/src/"]
        .iter()
        .any(|prefix| path.starts_with(prefix));
    inside
        && (path.ends_with("/src/lib.rs")
            || path.ends_with("/src/main.rs")
            || path.contains("/src/bin/"))
}

fn may_be_unsafe(path: &str) -> bool {
    let is_in = |folder: &&str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    UNSAFE_CRATES.iter().any(is_in)
}

/// Whether a line holds the keyword before something that it can mark. Comments are left out.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices("unsafe").any(|(at, word)| {
        let after = &code[at + word.len()..];
        let starts_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let marked = ["{", "(", "fn ", "impl", "extern", "trait "];
        let spaced = after.trim_start();
        starts_word && marked.iter().any(|next| spaced.starts_with(next))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(problems: &[Problem]) -> Vec<&str> {
        problems.iter().map(|problem| problem.place.as_str()).collect()
    }

    #[test]
    fn every_root_forbids_but_the_named() {
        let tree = Tree::from([
            ("crates/core/src/lib.rs", "//! Doc.\n\n#![forbid(unsafe_code)]\n"),
            ("crates/core/src/ids.rs", ""),
            ("crates/cli/src/main.rs", "// #![forbid(unsafe_code)]\n"),
            ("crates/cli/src/bin/x.rs", ""),
            ("crates/rt/src/lib.rs", ""),
            ("suite/kernels/src/lib.rs", ""),
            ("suite/kernels-too/src/lib.rs", ""),
            ("tests/src/lib.rs", ""),
        ]);
        let cli = ["crates/cli/src/bin/x.rs", "crates/cli/src/main.rs"];
        let others = ["suite/kernels-too/src/lib.rs", "tests/src/lib.rs"];
        assert_eq!(found(&unsafe_is_forbidden(&tree)), [cli, others].concat());
    }

    #[test]
    fn the_keyword_is_told_from_the_word() {
        // Put together here, so that this file does not find itself.
        let keyword = ["un", "safe"].concat();
        let block = format!("fn a() {{\n    {keyword} {{ b() }}\n}}\n");
        let prose =
            format!("//! {keyword} {{ in a comment\nlet {keyword}_code = 1; // {keyword} fn\n");
        let tree = Tree::from([
            ("crates/core/src/a.rs", block.as_str()),
            ("crates/rt/src/a.rs", block.as_str()),
            ("suite/kernels/src/a.rs", block.as_str()),
            ("suite/search/src/a.rs", block.as_str()),
            ("tests/a.rs", prose.as_str()),
        ]);
        assert_eq!(
            found(&unsafe_stays(&tree)),
            ["crates/core/src/a.rs:2", "suite/search/src/a.rs:2"]
        );
        assert!(is_unsafe(&format!("{keyword} impl Send for X {{}}")));
        assert!(is_unsafe(&format!("#[{keyword}(no_mangle)]")));
    }

    #[test]
    fn pure_crates_ban_what_the_core_bans() {
        let two = "x = [\n  { path = \"a::b\", reason = \"r\" },\n  { path = \"c::d\" },\n]\n";
        let tree = Tree::from([
            ("crates/core/Cargo.toml", ""),
            (BANS, two),
            ("crates/wire/Cargo.toml", ""),
            ("crates/wire/clippy.toml", "x = [\n  { path = \"a::b\" },\n]\n"),
            ("crates/stats/Cargo.toml", ""),
            ("crates/rt/Cargo.toml", ""),
        ]);
        let problems = pure_crates_ban(&tree);
        assert_eq!(found(&problems), ["crates/wire/clippy.toml", "crates/stats"]);
        assert_eq!(problems[0].found, "found no ban on c::d");
    }
}
