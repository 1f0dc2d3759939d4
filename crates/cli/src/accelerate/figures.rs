//! `tailwater accelerate figures`: gains and what decides them, drawn.

use super::{read, study};
use crate::failure::{Failure, say};
use crate::folder::Folder;
use clap::Args;
use std::path::PathBuf;
use tailwater_report::{RangeBar, RangeRow, Ranges, illustrated};
use tailwater_tune::accelerator::file::{CASES_MAX, Described, parse};
use tailwater_tune::accelerator::{Bar, Study};

/// The thesis' tables, for a command without a file.
const THESIS: &str = include_str!("../../../../examples/accelerators/thesis.toml");

#[derive(Args, Debug)]
pub(crate) struct FiguresOptions {
    /// A file of cases; left out: the thesis' Tables 6.6 and 6.7, whose Fig. 6.20 is drawn anew.
    file: Option<PathBuf>,
    /// Write one SVG for each picture and an HTML page here.
    #[arg(long, value_name = "DIR", default_value = "out/accelerate")]
    out: PathBuf,
}

/// Colours of bars: the first two of the palette.
const FIRST: usize = 0;
const SECOND: usize = 1;

pub(super) fn figures(options: &FiguresOptions) -> Result<(), Failure> {
    let described = match &options.file {
        Some(file) => read(file)?,
        None => thesis()?,
    };
    let folder = Folder::prepare_for_more(&options.out)?;
    let studies = described.cases.iter().map(|case| study(case, None, 1));
    let studies = studies.collect::<Result<Vec<_>, _>>()?;
    let mut pictures = vec![("gains".to_owned(), gains(&described.title, &studies).svg())];
    let drawn = studies.iter().enumerate().filter(|(_, study)| !study.tornado.is_empty());
    pictures.extend(drawn.map(|(at, study)| (format!("tornado-{}", at + 1), tornado(study).svg())));
    // Those of an earlier file, which may have had more cases.
    for number in 1..=CASES_MAX {
        folder.remove(&format!("tornado-{number}.svg"))?;
    }
    for (name, svg) in &pictures {
        folder.write(&format!("{name}.svg"), svg)?;
    }
    let text = super::text::of_file("", &studies);
    folder.write("index.html", &illustrated(&described.title, None, &text, &pictures))?;
    say(&format!("Written: {}", folder.path().join("index.html").display()))
}

fn thesis() -> Result<Described, Failure> {
    let none = |name: &str| Err(format!("{name} is not at hand"));
    parse("thesis.toml", THESIS, &none).map_err(Failure::work)
}

/// The thesis' Fig. 6.20: a pair of bars for each case, beside what is printed.
fn gains(title: &str, studies: &[Study]) -> Ranges {
    let bar = |factor: f64, lane: usize, series: usize, name: &str| RangeBar {
        ends: (0.0, percent(factor)),
        lane,
        series,
        name: String::new(),
        tip: format!("{name}: {:.2} %", percent(factor)),
    };
    let row = |study: &Study| {
        let throughput = bar(study.outcome.speedup, 0, FIRST, "throughput");
        let latency = study.outcome.latency.map(|factor| bar(factor, 1, SECOND, "latency"));
        RangeRow {
            label: study.name.clone(),
            bars: std::iter::once(throughput).chain(latency).collect(),
            mark: study.stated.as_ref().and_then(|stated| stated.speedup),
        }
    };
    Ranges {
        title: if title.is_empty() { "Gains".into() } else { title.into() },
        subtitle: "more throughput and less latency by the model".into(),
        axis: "%".into(),
        base: 0.0,
        series: vec!["throughput".into(), "latency".into()],
        mark: "printed, throughput".into(),
        rows: studies.iter().map(row).collect(),
    }
}

/// What decides one case: its inputs at their ends.
fn tornado(study: &Study) -> Ranges {
    let base = percent(study.outcome.speedup);
    let row = |bar: &Bar| {
        let ends = [(bar.speedups.0, FIRST, bar.ends.0), (bar.speedups.1, SECOND, bar.ends.1)];
        let bars = ends.into_iter().filter_map(|(factor, series, value)| {
            let gain = percent(factor?);
            let tip = format!("{} = {value}: {gain:.2} %", bar.input.name());
            Some(RangeBar { ends: (base, gain), lane: 0, series, name: String::new(), tip })
        });
        let assumed = if bar.assumed { " (±10 %)" } else { "" };
        let label = format!("{}{assumed}", bar.input.name());
        RangeRow { label, bars: bars.collect(), mark: None }
    };
    let name = if study.name.is_empty() {
        "What decides".into()
    } else {
        format!("What decides: {}", study.name)
    };
    Ranges {
        title: name,
        subtitle: format!("{}, {}", study.threading, study.strategy),
        axis: "gain in throughput, %".into(),
        base,
        series: vec!["input at its lower end".into(), "at its upper end".into()],
        mark: String::new(),
        rows: study.tornado.iter().map(row).collect(),
    }
}

fn percent(factor: f64) -> f64 {
    (factor - 1.0) * 100.0
}
