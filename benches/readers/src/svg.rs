//! inferno draws the flame graph.

use crate::Result;
use crate::exports::Exports;
use inferno::flamegraph::{Options, from_reader};
use std::fs::File;
use std::io::BufReader;

pub(crate) fn tool() -> String {
    let lock = include_str!("../Cargo.lock");
    format!("inferno {}", machine::result::locked(lock, "inferno").unwrap_or_default())
}

pub(crate) fn read(exports: &Exports) -> Result<String> {
    let path = exports.of("folded");
    let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut options = Options::default();
    // However narrow, all are drawn.
    options.min_width = 0.0;
    let mut svg = Vec::new();
    from_reader(&mut options, BufReader::new(file), &mut svg).map_err(|error| error.to_string())?;
    let svg = String::from_utf8(svg).map_err(|error| error.to_string())?;
    let path = exports.of("folded.svg");
    std::fs::write(&path, &svg).map_err(|error| format!("{}: {error}", path.display()))?;
    let total = svg.split_once("total_samples=\"").and_then(|(_, rest)| rest.split_once('"'));
    let total_ns = total.and_then(|(total, _)| total.parse::<u64>().ok());
    let (expected_ns, places) = (exports.stacks.total_ns(), exports.stacks.nodes());
    // One more stands for all.
    let drawn = svg.matches("<title>").count().saturating_sub(1);
    if total_ns != Some(expected_ns) || drawn != places {
        return Err(format!(
            "it drew {drawn} frames of {total_ns:?} ns, for {places} of {expected_ns} ns"
        ));
    }
    Ok(format!("all time, in {drawn} frames"))
}
