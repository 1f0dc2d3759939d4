//! Calls that are chosen by functions and a percentile, and why none is.

use super::glob::is_named;
use super::percentile::percentile_name;
use super::reading::Trace;
use crate::failure::Failure;
use std::path::Path;
use tailwater_profile::names::demangled;
use tailwater_profile::record::Function;
use tailwater_profile::stacks::Tail;
use tailwater_report::count;

/// The calls of functions that are named so, those above a quantile or all, from a reading of its own.
pub(super) fn tail(trace: &Path, globs: &[String], quantile: Option<f64>) -> Result<Tail, Failure> {
    let owned = globs.to_vec();
    let includes =
        move |function: &Function| is_named(&owned, &demangled(&function.name), &function.name);
    let mut tail = Tail::new(quantile, includes);
    Trace::open(trace)?.read(|item| {
        // Damage is counted in the second reading.
        if let Ok(record) = item {
            tail.add(record);
        }
    });
    if tail.functions() == 0 {
        return Err(Failure::usage(format!(
            "no function of the trace is called {}; `tailwater profile report --limit 0` lists those that are in it",
            globs.join(" or ")
        )));
    }
    Ok(tail)
}

/// Why no call was above the quantile, of so many.
pub(super) fn none_above(globs: &[String], quantile: f64, among: u64) -> String {
    let percentile = percentile_name(quantile);
    format!(
        "no call of {} was surely longer than {percentile} of its function: {} calls; {percentile} needs \
         {} or more of one function, so record for longer or take a lower percentile",
        globs.join(" or "),
        count(among),
        count(least(quantile)),
    )
}

/// How many it takes for one to be above the quantile. Of fewer, the one at the percentile is the longest.
fn least(quantile: f64) -> u64 {
    (1.0 / (1.0 - quantile) - 1e-6).ceil().max(1.0) as u64
}
