//! `tailwater accelerate validate`: the model's predictions beside an accelerator that runs here.
//!
//! `cases` lists what can be tried. `kernels` are what is offloaded, `accelerator` says what one is: `device` is another core,
//! used by the `way` of each design, and `leaf` another process. `host` is the service that uses it.
//! `calibration` measures the model's inputs, among the `trials` that measure the gain.

mod cases;
mod kernels;
mod accelerator;
mod device;
mod way;
mod leaf;
mod host;
mod used;
mod calibration;
mod trials;
mod text;
mod pictures;

use crate::failure::{Failure, say};
use crate::folder::Folder;
use crate::input::{RESULT_BYTES_MAX, text_within};
use crate::machine;
use crate::progress::Progress;
use crate::tune::Steal;
use crate::two_cores;
pub(super) use leaf::{LeafOptions, leaf};

use accelerator::{Accelerator, Ends};
use calibration::{Calibration, Effort};
use cases::{Accelerated, Which};
use clap::Args;
use device::Device;
use host::Host;
use kernels::{Pool, Side};
use leaf::Leaf;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tailwater_core::duration::parse_duration;
use tailwater_load::Spinner;
use tailwater_stats::result::Manifest;
use tailwater_tune::accelerator::validation::{
    Compared, NoiseLimits, ValidationVerdict, own_errors, predict,
};
use trials::Trials;

#[derive(Args, Debug)]
pub(crate) struct ValidateOptions {
    /// Which accelerator: software, aes, zstd or leaf.
    #[arg(long, value_enum, value_name = "NAME", default_value = "software")]
    case: Which,
    /// One size and one speed of each design, in few blocks, whatever disturbs them: whether it works, not how close it
    /// comes.
    #[arg(long)]
    short: bool,
    /// Quads of blocks that count for each cell, two blocks without the accelerator and two with it; left out: 12, or 2 with
    /// --short.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    quads: Option<u32>,
    /// How long a block is, about. A shorter one is disturbed less often.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = block)]
    block: Duration,
    /// Decides inputs, the order of blocks, and the draws of the model's interval.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw the table and the page of a result again, and measure nothing: a folder of an earlier --out, or what --json
    /// printed; "-" reads standard input. The verdict is this version's.
    #[arg(long, value_name = "RESULT", conflicts_with_all = ["case", "short", "quads", "block", "seed"])]
    draw: Option<PathBuf>,
    /// Print everything as one JSON object.
    #[arg(long)]
    json: bool,
    /// Write validation.json, an SVG for each picture and a page here.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn block(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    let allowed = Duration::from_millis(2)..=Duration::from_secs(2);
    let needed = || format!("'{text}' found, a block of 2ms to 2s is needed");
    Some(time).filter(|time| allowed.contains(time)).ok_or_else(needed)
}

/// The file of `--out` with all numbers.
const JSON: &str = "validation.json";
/// Rounds of calibration, and quads for each cell.
const ROUNDS: (u32, u32) = (20, 3);
const QUADS: (u32, u32) = (12, 2);

/// Everything that was found.
#[derive(Serialize, Deserialize)]
struct Validation {
    manifest: Manifest,
    case: Which,
    /// Too few blocks for a verdict.
    short: bool,
    cpu_cores: (u32, u32),
    seed: u64,
    block_ns: u64,
    rounds: u32,
    quads: u32,
    rules: NoiseLimits,
    /// The hypervisor's share of all cores' time, over all of it.
    steal: f64,
    /// Of the cells.
    #[serde(skip_deserializing)]
    verdict: Option<ValidationVerdict>,
    cells: Vec<Compared>,
}

pub(super) fn validate(options: &ValidateOptions) -> Result<(), Failure> {
    let folder = options.out.as_deref().map(Folder::prepare_for_more).transpose()?;
    let refuse =
        |short: bool| folder.as_ref().map_or(Ok(()), |folder| folder.refuse_short(JSON, short));
    let found = match &options.draw {
        Some(result) => {
            let found = read(result)?;
            refuse(found.short)?;
            found
        }
        None => {
            refuse(options.short)?;
            found(options, cores()?)?
        }
    };
    let json = serde_json::to_string_pretty(&found).map_err(Failure::work)?;
    let text = text::of(&found);
    // What cannot be written afterwards has been seen by then.
    say(if options.json { &json } else { &text })?;
    if let Some(folder) = folder {
        folder.write(JSON, &json)?;
        let pictures = pictures::of(&found);
        for (name, svg) in &pictures {
            folder.write(&format!("{name}.svg"), svg)?;
        }
        folder.write("index.html", &pictures::page(&found, &text, &pictures))?;
    }
    told(&found)
}

/// One of the host, and one of the accelerator.
fn cores() -> Result<(u32, u32), Failure> {
    two_cores::two()?.ok_or_else(|| {
        Failure::usage(
            "this process may use one core; two are needed, one of the host and one of the accelerator",
        )
    })
}

/// An earlier result. What follows from its cells is found anew.
fn read(result: &Path) -> Result<Validation, Failure> {
    let file = if result.is_dir() { result.join(JSON) } else { result.to_owned() };
    let trouble = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let text = text_within(&file, RESULT_BYTES_MAX).map_err(|error| trouble(error.to_string()))?;
    let mut found: Validation = serde_json::from_str(&text).map_err(|error| {
        trouble(format!("this is no result of tailwater accelerate validate: {error}"))
    })?;
    own_errors(&mut found.cells);
    found.verdict = verdict(found.short, &found.cells);
    Ok(found)
}

fn verdict(short: bool, cells: &[Compared]) -> Option<ValidationVerdict> {
    if short { None } else { ValidationVerdict::of(cells) }
}

impl Validation {
    /// Whether any cell has quads that count.
    fn has_measured(&self) -> bool {
        self.cells.iter().any(|cell| cell.measured.is_some())
    }
}

/// An error where nothing can be said.
fn told(found: &Validation) -> Result<(), Failure> {
    let none = || {
        Failure::work(
            "no cell has two quads that count, so quads of this machine cannot count yet; end what else runs here, or give \
             --block 50ms",
        )
    };
    found.has_measured().then_some(()).ok_or_else(none)
}

fn found(options: &ValidateOptions, cores: (u32, u32)) -> Result<Validation, Failure> {
    let pick = |(whole, short)| if options.short { short } else { whole };
    let (rounds, quads) = (pick(ROUNDS), options.quads.unwrap_or_else(|| pick(QUADS)));
    let accelerated = options.case.prepare(options.short);
    let sizes = sizes(&accelerated);
    let pool = Pool::new(&*accelerated.kernel, &sizes, options.seed);
    let (host_core, device_core) = cores;
    let rules = if options.short { NoiseLimits::NONE } else { NoiseLimits::DEFAULT };
    let effort = Effort { rounds, block: options.block, rules, seed: options.seed };
    let (manifest, steal) = (machine::here(), Steal::begin());
    let measure = |accelerator: &dyn Accelerator| {
        let work = (Spinner::calibrate(), accelerated.work);
        let host = Host::new((&*accelerated.kernel, &pool), accelerator, work, host_core);
        compared(&host, &accelerated, (&sizes, quads), effort)
    };
    let cells = match options.case {
        Which::Leaf => measure(&Leaf::start(device_core)?.link),
        Which::Software | Which::Aes | Which::Zstd => {
            on_core(device_core, &accelerated, &pool, measure)
        }
    }?;
    Ok(Validation {
        manifest,
        case: options.case,
        short: options.short,
        cpu_cores: cores,
        seed: options.seed,
        block_ns: options.block.as_nanos() as u64,
        rounds,
        quads,
        rules,
        steal: steal.until_now(),
        verdict: verdict(options.short, &cells),
        cells,
    })
}

/// With an accelerator on a core of its own.
fn on_core(
    core: u32,
    accelerated: &Accelerated,
    pool: &Pool,
    measure: impl FnOnce(&dyn Accelerator) -> Result<Vec<Compared>, Failure>,
) -> Result<Vec<Compared>, Failure> {
    let device = &Device::new(accelerated.latency);
    let kernel = &*accelerated.kernel;
    std::thread::scope(|scope| {
        let _ends = Ends(device);
        scope.spawn(move || {
            let pinned = tailwater_rt::cpu::pin(core as usize);
            // Not on that core, it would stand in the host's way: it ends, and the host says so.
            let _ends = Ends(device);
            if pinned.is_ok() {
                device.serve(kernel.hand(Side::Device), pool);
            }
        });
        measure(device)
    })
}

fn sizes(accelerated: &Accelerated) -> Vec<u32> {
    let mut sizes: Vec<u32> = accelerated.cells.iter().map(|cell| cell.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Calibrates among the trials, since a machine's speed drifts, and with it that of one part against another. What predicts
/// is the calibration alone.
fn compared(
    host: &Host<'_>,
    accelerated: &Accelerated,
    (sizes, quads): (&[u32], u32),
    effort: Effort,
) -> Result<Vec<Compared>, Failure> {
    let cells = &accelerated.cells;
    let progress = Progress::new(u64::from(effort.rounds) + u64::from(quads));
    let mut calibration = Calibration::begin(host, (cells, sizes), effort)?;
    let mut trials = Trials::begin(cells, quads, effort);
    let mut rounds = 0;
    for sweep in 1.. {
        // Evenly among as many sweeps as there are quads.
        while rounds < effort.rounds && rounds * quads < sweep * effort.rounds {
            calibration.round(host)?;
            rounds += 1;
            progress.step();
        }
        if !trials.sweep(host, &calibration)? {
            break;
        }
        progress.step();
    }
    let predict = |cell| predict(cell, &calibration.of(cell), effort.seed).map_err(Failure::work);
    let predicted = cells.iter().map(predict).collect::<Result<Vec<_>, _>>()?;
    let compared = cells.iter().zip(predicted).zip(trials.of_cells());
    let compared = compared.map(|((cell, predicted), tried)| Compared::of(*cell, predicted, tried));
    let mut compared: Vec<Compared> = compared.collect();
    own_errors(&mut compared);
    Ok(compared)
}
