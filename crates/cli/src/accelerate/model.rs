//! `tailwater accelerate model`: the answers for the cases of a file.

use super::{read, study, text};
use crate::failure::{Failure, say};
use clap::Args;
use std::path::PathBuf;
use tailwater_tune::accelerator::{Case, Study};

#[derive(Args, Debug)]
pub(crate) struct ModelOptions {
    /// The file, such as examples/accelerators/compression.toml; "-" reads standard input.
    file: PathBuf,
    /// Only the case of this name, with all that there is to say of it.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Also what it takes to raise throughput by this much, such as 5%: A, L, or larger offloads.
    #[arg(long, value_name = "PERCENT", value_parser = gain)]
    need: Option<f64>,
    /// Decides the draws of inputs that the file leaves uncertain.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true)]
    seed: u64,
    /// Print everything as one JSON object.
    #[arg(long)]
    json: bool,
}

/// The factor on throughput.
fn gain(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse().ok();
    let percent = number.filter(|percent: &f64| (0.001..=100_000.0).contains(percent));
    let factor = percent.map(|percent| 1.0 + percent / 100.0);
    factor.ok_or_else(|| format!("'{text}' found, a gain from 0.001% to 100000% is needed, as 5%"))
}

pub(super) fn model(options: &ModelOptions) -> Result<(), Failure> {
    let described = read(&options.file)?;
    let chosen = chosen(&described.cases, options.case.as_deref())?;
    let studies = chosen.into_iter().map(|case| study(case, options.need, options.seed));
    let studies = studies.collect::<Result<Vec<Study>, Failure>>()?;
    if options.json {
        let all = serde_json::json!({ "title": described.title, "cases": studies });
        return say(&serde_json::to_string_pretty(&all).map_err(Failure::work)?);
    }
    say(&text::of_file(&described.title, &studies))
}

fn chosen<'a>(cases: &'a [Case], name: Option<&str>) -> Result<Vec<&'a Case>, Failure> {
    let Some(name) = name else { return Ok(cases.iter().collect()) };
    let known = || cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ");
    let case = cases.iter().find(|case| case.name == name);
    case.map(|case| vec![case]).ok_or_else(|| {
        Failure::usage(format!("no case is called '{name}'; the file has: {}", known()))
    })
}
