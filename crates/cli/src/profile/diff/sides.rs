//! Either side of a comparison: a trace, or those of a folder, read one after another.

use crate::failure::Failure;
use crate::profile::reading::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tailwater_profile::blocks::{BLOCKS, Blocks, First, FunctionBlocks};
use tailwater_profile::functions::Functions;
use tailwater_profile::quality::Quality;
use tailwater_stats::shift::SAMPLE_MAX;

/// Blocks that must have a quantile, on either side; more where the corrected confidence asks for more.
pub(super) const UNITS_MIN: usize = 8;

/// Recordings of one build.
pub(super) struct Side {
    pub(super) recordings: Vec<Recording>,
}

/// A trace that was read for the first time.
pub(super) struct Recording {
    pub(super) path: PathBuf,
    pub(super) first: First,
    pub(super) quality: Quality,
    pub(super) records: u64,
}

/// Both sides, read for the first time: a recording of each, or enough of each to be the units themselves.
pub(super) fn sides(before: &Path, after: &Path) -> Result<[Side; 2], Failure> {
    let [a, b] = [traces(before)?, traces(after)?];
    check([a.len(), b.len()])?;
    Ok([Side::read(&a)?, Side::read(&b)?])
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
        let path = path.display();
        return Err(Failure::usage(format!(
            "{path}: found no file there whose name ends in .trace"
        )));
    }
    traces.sort();
    Ok(traces)
}

fn check(counts: [usize; 2]) -> Result<(), Failure> {
    if counts == [1, 1] || counts.iter().all(|count| (UNITS_MIN..=SAMPLE_MAX).contains(count)) {
        return Ok(());
    }
    let [a, b] = counts;
    Err(Failure::usage(format!(
        "found {a} traces of before and {b} of after; one of each is needed, or {UNITS_MIN} to {SAMPLE_MAX} of each, \
         recorded by turns: 20 are better"
    )))
}

impl Side {
    fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let recordings =
            paths.iter().map(|path| Recording::read(path)).collect::<Result<_, _>>()?;
        Ok(Self { recordings })
    }

    /// Within what time 99.9 % of looks came, in the middle of all recordings: one whose scanner was late does not make the
    /// calls of all too short.
    pub(super) fn resolution_ns(&self) -> u64 {
        let mut all: Vec<u64> =
            self.recordings.iter().map(|one| one.quality.look_p999_ns).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    }

    /// Calls and names beyond the bounds of a reading.
    pub(super) fn unread(&self) -> u64 {
        let unread = self.recordings.iter().map(|one| one.quality.beyond_bounds);
        unread.fold(0, u64::saturating_add)
    }

    /// Reads all again: each is a block, or its parts are where there is one alone.
    pub(super) fn blocks(
        &self,
        resolution_ns: u64,
        names: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, FunctionBlocks>, Failure> {
        let parts = if self.recordings.len() == 1 { BLOCKS } else { 1 };
        let mut all: BTreeMap<String, FunctionBlocks> = BTreeMap::new();
        for one in &self.recordings {
            let trace = Trace::open(&one.path)?;
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

impl Recording {
    fn read(path: &Path) -> Result<Self, Failure> {
        let trace = Trace::open(path)?;
        let mut functions = Functions::new(trace.header());
        let ending = trace.read(|item| match item {
            Ok(record) => functions.add(record),
            Err(error) => functions.damaged(error),
        });
        let report = functions.finish(&ending);
        // What else the report says is not kept: recordings may be many.
        let first = First::of(&report);
        Ok(Self { path: path.to_owned(), first, quality: report.quality, records: report.records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trace_of_each_is_enough_and_so_are_many_of_both() {
        for counts in [[1, 1], [8, 8], [8, 40], [20, 20]] {
            assert!(check(counts).is_ok(), "{counts:?}");
        }
        for counts in [[1, 20], [7, 8], [2, 2], [8, 41]] {
            let failure = check(counts).expect_err("not comparable").to_string();
            assert!(failure.contains("8 to 40 of each"), "{failure}");
        }
    }
}
