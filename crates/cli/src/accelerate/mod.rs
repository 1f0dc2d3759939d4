//! `tailwater accelerate`: what an accelerator would bring, before it is bought or built.
//!
//! Each verb has a module of its name; `text` is what a person reads.

mod model;
mod figures;
mod text;
mod measure;
mod validate;

use crate::failure::Failure;
use crate::scenarios;
use clap::Subcommand;
use std::path::Path;
use tailwater_tune::accelerator::file::{Described, parse};
use tailwater_tune::accelerator::{Case, Study};

/// What can be done.
#[derive(Subcommand, Debug)]
pub(crate) enum AccelerateVerb {
    /// What throughput and latency an accelerator gives, by the Accelerometer model; what decides, and what a
    /// wanted gain takes.
    ///
    /// The file has the model's parameters by name (C, alpha, n, o0, Q, L, o1, A, Cb, g) with units, as one case or
    /// several; docs/accelerator.md lists the keys, examples/accelerators/ has files to begin with.
    Model(model::ModelOptions),
    /// Draw the gains of all cases (the thesis' Fig. 6.20) and what decides each, as SVG and one HTML page.
    Figures(figures::FiguresOptions),
    /// Find α, n, sizes and the time of each category in a profiler's trace.
    ///
    /// Its model.toml is a file for `tailwater accelerate model`. docs/accelerator.md says how, presets/categories/ has the
    /// rules.
    Measure(measure::MeasureOptions),
    /// Hold the model against an accelerator that runs on this machine: measure its inputs one by one, predict, try.
    ///
    /// The software accelerator is another core, slowed down to a known speed; aes, zstd and leaf are real. Every answer is
    /// compared. docs/accelerator.md says how, and what noise does to it.
    Validate(validate::ValidateOptions),
    /// Be the leaf of a validation.
    #[command(hide = true)]
    Leaf(validate::LeafOptions),
}

pub(crate) fn accelerate(verb: &AccelerateVerb) -> Result<(), Failure> {
    match verb {
        AccelerateVerb::Model(options) => model::model(options),
        AccelerateVerb::Figures(options) => figures::figures(options),
        AccelerateVerb::Measure(options) => measure::measure(options),
        AccelerateVerb::Validate(options) => validate::validate(options),
        AccelerateVerb::Leaf(options) => validate::leaf(options),
    }
}

/// The cases of a file; the files that it names lie beside it.
fn read(file: &Path) -> Result<Described, Failure> {
    let text = scenarios::read_other(file, "examples/accelerators/ has files to begin with")?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let read = |name: &str| scenarios::beside(folder, name);
    parse(&file.display().to_string(), &text, &read).map_err(Failure::usage)
}

/// The answers for a case; `parse` has made sure that there are some.
fn study(case: &Case, need: Option<f64>, seed: u64) -> Result<Study, Failure> {
    Study::of(case, need, seed).map_err(|why| Failure::usage(format!("{}: {why}", case.name)))
}
