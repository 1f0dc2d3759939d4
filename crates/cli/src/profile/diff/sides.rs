//! Either build of a comparison: a trace, or those of a folder, read one after another.

use crate::failure::Failure;
use crate::profile::reading::Trace;
use crate::quoted::quoted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tailwater_profile::blocks::{Blocks, FunctionBlocks};
use tailwater_profile::diff::{Recording, Side, UNITS_MIN, can_be_compared};
use tailwater_profile::functions::Functions;
use tailwater_stats::shift::SAMPLE_MAX;

/// Recordings of one build, and where they are.
pub(super) struct Build {
    /// Of each recording, in their order.
    pub(super) paths: Vec<PathBuf>,
    pub(super) side: Side,
}

/// Both builds, read for the first time: a recording of each, or enough of each to be the units themselves.
pub(super) fn builds(before: &Path, after: &Path) -> Result<[Build; 2], Failure> {
    let [a, b] = [traces(before)?, traces(after)?];
    check([a.len(), b.len()])?;
    Ok([Build::read(a)?, Build::read(b)?])
}

/// A trace, or those of a folder by name.
fn traces(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let trouble = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    let mut traces = vec![];
    for entry in path.read_dir().map_err(trouble)? {
        let file = entry.map_err(trouble)?.path();
        if file.extension().is_some_and(|extension| extension == "trace") && file.is_file() {
            traces.push(file);
        }
    }
    if traces.is_empty() {
        let first = path.join("01.trace").display().to_string();
        return Err(Failure::usage(format!(
            "{}: found no file there whose name ends in .trace; type: tailwater profile record -o {} -- COMMAND",
            path.display(),
            quoted(&first)
        )));
    }
    traces.sort();
    Ok(traces)
}

fn check(counts: [usize; 2]) -> Result<(), Failure> {
    if can_be_compared(counts) {
        return Ok(());
    }
    let [a, b] = counts;
    Err(Failure::usage(format!(
        "found {a} traces of before and {b} of after; one of each is needed, or {UNITS_MIN} to {SAMPLE_MAX} of each, \
         recorded by turns: 20 are better"
    )))
}

impl Build {
    fn read(paths: Vec<PathBuf>) -> Result<Self, Failure> {
        let recordings = paths.iter().map(|path| recording(path)).collect::<Result<_, _>>()?;
        Ok(Self { paths, side: Side { recordings } })
    }

    /// Reads all again: each is a block, or its parts are where there is one alone.
    pub(super) fn blocks(
        &self,
        resolution_ns: u64,
        names: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, FunctionBlocks>, Failure> {
        let parts = self.side.parts();
        let mut all: BTreeMap<String, FunctionBlocks> = BTreeMap::new();
        for (path, one) in self.paths.iter().zip(&self.side.recordings) {
            let trace = Trace::open(path)?;
            let mut blocks = Blocks::new(trace.header(), &one.first, resolution_ns, names, parts);
            trace.read(|item| {
                // Damage was counted in the first reading.
                if let Ok(record) = item {
                    blocks.add(record);
                }
            });
            for (name, found) in blocks.finish() {
                all.entry(name).or_default().append(found);
            }
        }
        Ok(all)
    }
}

fn recording(path: &Path) -> Result<Recording, Failure> {
    let trace = Trace::open(path)?;
    // The set, though it is empty, has the second reading's bound of threads: what is beyond that is counted.
    let mut functions = Functions::new(trace.header()).together(|_| false);
    let ending = trace.read(|item| match item {
        Ok(record) => functions.add(record),
        Err(error) => functions.damaged(error),
    });
    Ok(Recording::of(functions.finish(&ending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_traces_are_needed_is_told() {
        assert!(check([20, 20]).is_ok());
        for counts in [[1, 20], [7, 8], [2, 2], [8, 41]] {
            let failure = check(counts).expect_err("not comparable").to_string();
            assert!(failure.contains("8 to 40 of each"), "{failure}");
        }
    }
}
