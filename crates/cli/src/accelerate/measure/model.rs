//! The files for `tailwater accelerate model`: what was measured, and the bound of an accelerator that costs nothing.

use super::{Kernel, Marked, Measured};
use std::path::Path;

/// Sizes, beside the model's file.
pub(super) const SIZES: &str = "sizes.csv";

/// A case whose cycles are nanoseconds of a core.
pub(super) fn of(found: &Measured, kernel: &Kernel, trace: &Path) -> String {
    let Measured { program, length_ns, total_ns, on_core, .. } = found;
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let title = quoted(&format!("{} of {program}", kernel.patterns.join(", ")));
    let time = if *on_core { "time on a core" } else { "time in calls, waits included" };
    let offloads = match &kernel.sizes {
        Some(_) => format!("g = \"{SIZES}\""),
        None => format!("# Calls that were seen; there may be more.\nn = {}", kernel.calls),
    };
    format!(
        "# By `tailwater accelerate measure`, from {}.\n\
         title = {title}\n\n\
         # C and alpha are {time}. A cycle is a nanosecond here.\n\
         clock = \"1GHz\"\n\
         unit = \"{length_ns}ns\"\n\
         C = \"{total_ns} cycles\"\n\
         alpha = {:.6}\n\
         {offloads}\n\n\
         # A bound: an accelerator that takes no time and costs nothing. Put yours in its place: design, strategy, A,\n\
         # and what it costs (o0, L, Q, o1), such as L = \"1us\".\n\
         design = \"sync\"\n\
         strategy = \"on-chip\"\n\
         A = \"infinite\"\n",
        shown(trace),
        kernel.alpha,
    )
}

/// A path in a comment: on one line.
fn shown(path: &Path) -> String {
    path.display().to_string().replace(['\n', '\r'], " ")
}

pub(super) fn sizes(marked: &Marked) -> String {
    let row = |(bytes, count): &(u64, u64)| format!("{bytes},{count}\n");
    let rows: String = marked.rows.iter().map(row).collect();
    format!("bytes,offloads\n{rows}")
}
