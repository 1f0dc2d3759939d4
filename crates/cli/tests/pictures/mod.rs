//! The pictures of the pages that have a result file, as the program draws them.

mod portrait;

use crate::common::{Folder, TAILWATER};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What `suite traits` draws: how pages call it, by the names of files that begin so, and its result.
pub(crate) const OF_TRAITS: &str = "suite-traits-";
const RESULT: &str = "results/suite-traits.json";

/// What `accelerate validate` draws of a request's parts: how pages call it, and the case of its result.
pub(crate) const OF_PARTS: &str = "accelerate-parts-";
const CASES: [&str; 2] = ["aes", "zstd"];

/// What is drawn here of the pool's course with a million clients: how pages call it.
pub(crate) const OF_PORTRAIT: &str = "portrait-";

/// Names and texts of the pictures, from the results in this root.
pub(crate) fn of_results(root: &Path) -> BTreeMap<String, String> {
    let mut all = of_traits(root);
    all.extend(CASES.map(|case| (format!("{OF_PARTS}{case}.svg"), of_parts(root, case))));
    let portrait = portrait::drawn(root);
    all.extend(portrait.map(|(name, svg)| (format!("{OF_PORTRAIT}{name}"), svg)));
    all
}

fn of_parts(root: &Path, case: &str) -> String {
    let folder = Folder::new(&format!("pages-parts-{case}"));
    let out = folder.0.join("validation");
    let mut command = Command::new(TAILWATER);
    command.args(["accelerate", "validate", "--draw"]);
    command.arg(root.join(format!("results/accelerate-{case}.json"))).arg("--out").arg(&out);
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(out.join("parts.svg")).expect("a picture")
}

fn of_traits(root: &Path) -> BTreeMap<String, String> {
    let folder = Folder::new("pages-pictures");
    let out = folder.0.join("traits");
    let mut command = Command::new(TAILWATER);
    command.args(["suite", "traits", "--from"]).arg(root.join(RESULT)).arg("--out").arg(&out);
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    svg_in(&out).into_iter().map(|(name, svg)| (format!("{OF_TRAITS}{name}"), svg)).collect()
}

/// Every SVG of a folder.
pub(crate) fn svg_in(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let svg = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| name.ends_with(".svg"))?;
        Some((name, fs::read_to_string(entry.path()).expect("text")))
    };
    entries.filter_map(svg).collect()
}
