//! What long runs found, for `results/ready-losses.jsonl`: a line of JSON for each.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Names the file, from the repository's root. Without it nothing is written.
const RECORD: &str = "READY_RECORD";

/// Adds a line with these numbers.
pub(crate) fn record(what: &str, numbers: &[(&str, u64)]) {
    let Ok(name) = std::env::var(RECORD) else { return };
    let mut line = format!("{{\"what\": \"{what}\"");
    for (name, number) in numbers {
        write!(line, ", \"{name}\": {number}").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.write_all((line + "}\n").as_bytes()).unwrap();
}
