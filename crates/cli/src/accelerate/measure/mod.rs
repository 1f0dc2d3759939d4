//! `tailwater accelerate measure`: α, n and sizes of a kernel, and the time of each category, from a profiler's trace.
//!
//! `recording` reads the trace and the kernel's file beside it, `rules` which functions belong to which category. `model`
//! is the file for `tailwater accelerate model`, `text` what a person reads.

mod model;
mod recording;
mod rules;
mod text;

use crate::failure::{Failure, say};
use crate::folder::Folder;
use clap::Args;
use recording::Recording;
use rules::Named;
use serde::Serialize;
use std::path::PathBuf;
use tailwater_profile::breakdown::{Breakdown, Pattern, Portion};
use tailwater_profile::clock::TickRate;
use tailwater_profile::kernel::Account;
use tailwater_profile::quality::Quality;

#[derive(Args, Debug)]
pub(crate) struct MeasureOptions {
    /// What `tailwater profile record` wrote. With `record --kernel` only the time on a core counts.
    #[arg(default_value = "tailwater.trace")]
    trace: PathBuf,
    /// The kernel: functions whose name matches, with all that they call. `*` stands for anything, `?` for a character;
    /// after `file:` it is the source file. May be given more than once.
    #[arg(short, long, value_name = "GLOB", required_unless_present = "rules")]
    function: Vec<String>,
    /// Also the time of each category, by rules: those of tailwater, memcached or redis, or of a file.
    #[arg(long, value_name = "NAME|FILE", value_parser = rules::named)]
    rules: Option<Named>,
    /// Print everything as one JSON object.
    #[arg(long)]
    json: bool,
    /// Write measured.json here, and with --function model.toml (and sizes.csv) for `tailwater accelerate model`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Everything that was found.
#[derive(Serialize)]
struct Measured {
    program: String,
    /// From the beginning of the recording to the last end of a call.
    length_ns: u64,
    /// Whether times are those on a core. Otherwise they are those in calls, waits included.
    on_core: bool,
    /// Whether there are fibers, of which the kernel knows nothing: then they are never those on a core.
    has_fibers: bool,
    /// The time of all the program's threads that were recorded.
    total_ns: u64,
    /// Of that, in calls that were seen.
    in_calls_ns: u64,
    /// Records of the trace.
    records: u64,
    /// How long a tick of it lasts.
    rate: TickRate,
    /// What the trace does not tell. The time of calls too short to be seen is that of their callers.
    quality: Quality,
    /// Facts that the kernel's file lacks; its end is one.
    lost_kernel: u64,
    /// Where the time of all these threads went, by the kernel: interrupts and softirqs on their cores are in `total_ns`.
    account: Option<Account>,
    kernel: Option<Kernel>,
    breakdown: Option<Divided>,
}

/// What an accelerator would take over.
#[derive(Serialize)]
struct Kernel {
    functions: Vec<String>,
    patterns: Vec<String>,
    ns: u64,
    /// Of all time.
    alpha: f64,
    /// Calls that were seen: a lower bound of offloads.
    calls: u64,
    /// By marks of the program, where there are any.
    sizes: Option<Marked>,
}

/// Sizes by `tw_size`.
#[derive(Serialize)]
struct Marked {
    offloads: u64,
    bytes_mean: f64,
    /// Marks of no bytes, which are no offloads.
    empty: u64,
    /// Marks that found their ring full, of whatever kind.
    lost: u64,
    /// Bytes and offloads.
    rows: Vec<(u64, u64)>,
}

/// All time by category.
#[derive(Serialize)]
struct Divided {
    rules: String,
    #[serde(flatten)]
    breakdown: Breakdown,
    /// On a core in no call that was seen.
    outside_ns: u64,
    /// The share of all time that has its caller's category, as no rule knows the function itself.
    inherited_share: f64,
    /// The share of all time without a category, that outside of calls included. `unknown` has the functions.
    unknown_share: f64,
}

pub(super) fn measure(options: &MeasureOptions) -> Result<(), Failure> {
    let folder = options.out.as_deref().map(Folder::prepare_for_more).transpose()?;
    let recording = Recording::read(&options.trace)?;
    let found = found(options, &recording)?;
    let json = serde_json::to_string_pretty(&found).map_err(Failure::work)?;
    let refused = match &folder {
        Some(folder) => write(folder, options, &found, &json)?,
        None => None,
    };
    say(if options.json { json } else { text::of(&found) }.trim_end())?;
    refused.map_or(Ok(()), Err)
}

fn found(options: &MeasureOptions, recording: &Recording) -> Result<Measured, Failure> {
    let total_ns = recording.total_ns;
    if total_ns == 0 {
        return Err(Failure::usage(format!(
            "{}: no time of a thread was recorded; record for some seconds, unfiltered",
            options.trace.display()
        )));
    }
    if recording.stacks.quality.unscanned && (options.rules.is_some() || !recording.on_core) {
        return Err(Failure::usage(format!(
            "{}: no scanner looked, so that the time outside functions that time themselves is not known; record with a \
             scanner (--scanners 1), or for --function alone with --kernel",
            options.trace.display()
        )));
    }
    let in_calls_ns = recording.stacks.total_ns;
    let kernel = (!options.function.is_empty()).then(|| kernel(options, recording)).transpose()?;
    let breakdown = options.rules.as_ref().map(|named| {
        let breakdown = Breakdown::of(&recording.stacks, &named.rules);
        let outside_ns = total_ns.saturating_sub(in_calls_ns);
        let share = |ns: u64| ns as f64 / total_ns as f64;
        let inherited_share = share(breakdown.inherited_ns);
        let unknown_share = share(breakdown.unknown_ns.saturating_add(outside_ns));
        let rules = named.name.clone();
        Divided { rules, breakdown, outside_ns, inherited_share, unknown_share }
    });
    Ok(Measured {
        program: recording.program.clone(),
        length_ns: recording.length_ns,
        on_core: recording.on_core,
        has_fibers: recording.has_fibers,
        total_ns,
        in_calls_ns,
        records: recording.stacks.records,
        rate: recording.rate,
        quality: recording.stacks.quality.clone(),
        lost_kernel: recording.lost_kernel,
        account: recording.account.clone(),
        kernel,
        breakdown,
    })
}

fn kernel(options: &MeasureOptions, recording: &Recording) -> Result<Kernel, Failure> {
    let patterns: Vec<Pattern> = options.function.iter().map(|text| Pattern::new(text)).collect();
    let Portion { functions, calls, ns } = Portion::of(&recording.stacks, &patterns);
    if ns == 0 || calls == 0 {
        let lacking = if ns == 0 { "time" } else { "call" };
        return Err(Failure::usage(format!(
            "no {lacking} of a function that matches {} is in {}; `tailwater profile report --sort self` lists what there is",
            options.function.join(" or "),
            options.trace.display()
        )));
    }
    let sizes = &recording.sizes;
    let sizes = (sizes.count() > 0).then(|| Marked {
        offloads: sizes.count(),
        bytes_mean: sizes.bytes() as f64 / sizes.count() as f64,
        empty: sizes.empty,
        lost: recording.stacks.quality.lost_marks,
        rows: sizes.rows().collect(),
    });
    let alpha = ns as f64 / recording.total_ns as f64;
    Ok(Kernel { functions, patterns: options.function.clone(), ns, alpha, calls, sizes })
}

/// Everything, as JSON.
const MEASURED: &str = "measured.json";

/// What was measured, and the model's files but where the model would refuse them: then with why.
fn write(
    folder: &Folder<'_>,
    options: &MeasureOptions,
    found: &Measured,
    json: &str,
) -> Result<Option<Failure>, Failure> {
    folder.write(MEASURED, json)?;
    let Some(kernel) = &found.kernel else { return Ok(None) };
    let text = model::of(found, kernel, &options.trace);
    let sizes = kernel.sizes.as_ref().map(model::sizes);
    if let Some(why) = model::refusal(&text, sizes.as_deref(), kernel) {
        // Those of an earlier measurement would be taken for this one's.
        folder.remove(model::MODEL)?;
        folder.remove(model::SIZES)?;
        return Ok(Some(Failure::usage(format!("{}: {why}", options.trace.display()))));
    }
    match &sizes {
        Some(sizes) => folder.write(model::SIZES, sizes)?,
        None => folder.remove(model::SIZES)?,
    }
    folder.write(model::MODEL, &text)?;
    Ok(None)
}
