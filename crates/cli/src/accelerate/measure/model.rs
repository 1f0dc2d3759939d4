//! The files for `tailwater accelerate model`: what was measured, and the bound of an accelerator that costs nothing.

use super::{Kernel, Marked, Measured};
use std::path::Path;
use tailwater_tune::accelerator::Input;
use tailwater_tune::accelerator::file::parse;

/// The file.
pub(super) const MODEL: &str = "model.toml";
/// Sizes, beside the model's file.
pub(super) const SIZES: &str = "sizes.csv";
/// A title is no longer.
const TITLE_CHARS_MAX: usize = 200;

/// A case whose cycles are nanoseconds of a core.
pub(super) fn of(found: &Measured, kernel: &Kernel, trace: &Path) -> String {
    let Measured { program, length_ns, total_ns, on_core, .. } = found;
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let title = format!("{} of {program}", kernel.patterns.join(", "));
    let title = quoted(&title.chars().take(TITLE_CHARS_MAX).collect::<String>());
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

/// Why `tailwater accelerate model` would not take this text and these sizes, and what to do.
pub(super) fn refusal(text: &str, sizes: Option<&str>, kernel: &Kernel) -> Option<String> {
    let read = |_: &str| Ok::<String, String>(sizes.unwrap_or_default().to_owned());
    let why = parse(MODEL, text, &read).err()?;
    let (_, most) = Input::KernelShare.limits();
    Some(match kernel.alpha > most {
        true => format!(
            "functions that match {} take {:.1} % of all time, and `tailwater accelerate model` takes {:.1} % at most; name \
             fewer by --function",
            kernel.patterns.join(" or "),
            100.0 * kernel.alpha,
            100.0 * most
        ),
        false => format!(
            "`tailwater accelerate model` would not take what was found; measure a recording of a millisecond to a week, or \
             leave out --out: {why}"
        ),
    })
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
