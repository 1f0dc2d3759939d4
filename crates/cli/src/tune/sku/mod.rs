//! `tailwater tune sku`: the setting of several knobs that suits a service.
//!
//! Screening chooses which knobs are tested. Each survivor is tested against what was adopted so far, so effects need not
//! add up. What was adopted in the end is confirmed against stock on fresh blocks, which alone is what is claimed.

mod file;
mod screen;
mod text;

use super::ab::{self, Budget, Compared};
use super::bench::Bench;
use super::dial::Setting;
use super::machine::{Root, Session};
use super::plan::plan;
use super::tell;
use crate::failure::{Failure, is_heard, say};
use crate::run::folder::Folder;
use crate::run::interrupt::Interrupt;
use clap::Args;
use file::{Described, Wanted};
use screen::{Screened, screen};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use tailwater_report::illustrated;
use tailwater_stats::anytime::Level;
use tailwater_tune::ab::{Forecast, Look, Pilot, Rules, Verdict};

#[derive(Args, Debug)]
pub(crate) struct SkuOptions {
    /// The file with knobs, values and what is measured, such as examples/tuning/words.toml.
    file: PathBuf,
    /// Go on though the pilot says that the effect that matters would hardly be found.
    #[arg(long)]
    accept_weak: bool,
    /// The folder below which /sys, /proc and /run lie.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Print what would be written for each value, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
    /// Write JSON, the curves of evidence and an HTML page here.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The share of the time that is kept for confirming.
const CONFIRMING: f64 = 0.35;

/// One test.
#[derive(Clone, Debug, Serialize)]
struct Tested {
    /// What was tried, in words.
    name: String,
    a: Setting,
    b: Setting,
    level: f64,
    verdict: Verdict,
    /// Whether its time was over before a verdict.
    timed_out: bool,
    looks: Vec<Look>,
}

/// All that was found.
#[derive(Debug, Serialize)]
struct Found {
    tailwater: &'static str,
    title: String,
    target: String,
    metric: String,
    knobs: Vec<String>,
    stock: Setting,
    forecast: Forecast,
    screened: Vec<Screened>,
    tested: Vec<Tested>,
    /// The composed setting.
    sku: Setting,
    /// Against stock first, then against each rival.
    confirmed: Vec<Tested>,
    seconds: f64,
}

pub(super) fn sku(options: &SkuOptions) -> Result<(), Failure> {
    let root = Root::new(&options.root);
    let described = Described::read(&options.file)?;
    if options.dry_run {
        return say(&planned(&root, &described.on(&root)?));
    }
    let interrupt = Interrupt::watch_to_the_end()?;
    let began = Instant::now();
    let mut session = Session::begin_for(&root, described.names(), &mut tell)?;
    let wanted = described.on(&root)?;
    let folder = options.out.as_deref().map(Folder::prepare_for_more).transpose()?;
    let settings: Vec<Setting> = settings(&wanted);
    ab::note(session.as_mut(), &wanted.dials, &settings.iter().collect::<Vec<_>>())?;
    let until = began + wanted.time;
    let mut bench =
        Bench::new(session, (&wanted.dials, &wanted.target), &interrupt, (until, wanted.seed));
    let found = search(&mut bench, &wanted, options.accept_weak, began);
    let put_back = ab::end(bench.session.take());
    let told = found.and_then(|found| deliver(options, &wanted, &found, folder.as_ref()));
    ab::both(told, put_back)
}

/// One for each value that may be written.
fn settings(wanted: &Wanted) -> Vec<Setting> {
    let most = wanted.values.iter().map(Vec::len).max().unwrap_or(0);
    let nth = |nth: usize| {
        let value =
            |(values, stock): (&Vec<String>, &String)| values.get(nth).unwrap_or(stock).clone();
        wanted.values.iter().zip(&wanted.stock).map(value).collect()
    };
    let rivals = wanted.rivals.iter().map(|(_, setting)| setting.clone());
    std::iter::once(wanted.stock.clone()).chain((0..most).map(nth)).chain(rivals).collect()
}

fn planned(root: &Root, wanted: &Wanted) -> String {
    let mut arms = vec![("stock".to_owned(), wanted.stock.clone())];
    for (at, values) in wanted.values.iter().enumerate() {
        arms.extend(values.iter().map(|value| {
            let mut setting = wanted.stock.clone();
            setting[at].clone_from(value);
            (format!("{}={value}", wanted.dials[at].name), setting)
        }));
    }
    let arms: Vec<(&str, &Setting)> = arms.iter().map(|(name, of)| (name.as_str(), of)).collect();
    plan(root, (&wanted.dials, &wanted.target), &arms, wanted.seed)
}

fn search(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    accept_weak: bool,
    began: Instant,
) -> Result<Found, Failure> {
    let budget = Budget { pilot: wanted.pilot, accept_weak, seed: wanted.seed };
    let pilot = ab::pilot(bench, &wanted.rules, &wanted.stock, &budget)?;
    let quads = wanted.rules.quads_max.min(bench.quads_left());
    let forecast = ab::forecast(&pilot, &wanted.rules, quads, &budget, bench)?;
    let until = bench.until;
    bench.until = until.checked_sub(wanted.time.mul_f64(CONFIRMING)).unwrap_or(until);
    let screened = screen(bench, wanted, forecast.noise)?;
    tell(&text::screened(&screened));
    let (tested, sku) = climb(bench, wanted, &pilot, &screened)?;
    bench.until = until;
    let confirmed = confirm(bench, wanted, &pilot, &sku)?;
    Ok(Found {
        tailwater: env!("CARGO_PKG_VERSION"),
        title: wanted.title.clone(),
        target: wanted.target.name(),
        metric: wanted.target.metric().to_owned(),
        knobs: wanted.dials.iter().map(|dial| dial.name.clone()).collect(),
        stock: wanted.stock.clone(),
        forecast,
        screened,
        tested,
        sku,
        confirmed,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// Tests each survivor's values against what was adopted so far, the most promising first.
fn climb(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    pilot: &Pilot,
    screened: &[Screened],
) -> Result<(Vec<Tested>, Setting), Failure> {
    let mut survivors: Vec<usize> = (0..screened.len()).filter(|at| screened[*at].kept).collect();
    survivors.sort_by(|one, other| {
        screened[*other].effect.abs().total_cmp(&screened[*one].effect.abs())
    });
    let (mut tested, mut adopted) = (Vec::new(), wanted.stock.clone());
    for at in survivors {
        for value in &wanted.values[at] {
            if bench.quads_left() == 0 {
                tell("the time for tests is over; what is left is for confirming");
                return Ok((tested, adopted));
            }
            let mut tried = adopted.clone();
            tried[at].clone_from(value);
            let name = format!("{}={value}", wanted.dials[at].name);
            let test =
                test(bench, (&wanted.rules, pilot), (name, &adopted, &tried), tested.len() as u64)?;
            tell(&text::tested(&test));
            if test.verdict == Verdict::Better {
                adopted = tried;
            }
            tested.push(test);
        }
    }
    Ok((tested, adopted))
}

/// Holds the composed setting against stock and rivals on fresh blocks, the level divided among the claims.
fn confirm(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    pilot: &Pilot,
    sku: &Setting,
) -> Result<Vec<Tested>, Failure> {
    if *sku == wanted.stock {
        return Ok(Vec::new());
    }
    let stock = ("stock".to_owned(), wanted.stock.clone());
    let rivals: Vec<&(String, Setting)> =
        std::iter::once(&stock).chain(&wanted.rivals).filter(|(_, of)| of != sku).collect();
    let level = wanted.rules.level.alpha() / rivals.len() as f64;
    let level = Level::new(level).map_err(Failure::work)?;
    let rules = Rules { level, ..wanted.rules.clone() };
    let mut confirmed = Vec::new();
    for (number, (name, setting)) in rivals.into_iter().enumerate() {
        // Apart from the numbers of the tests before.
        let number = u64::from(u32::MAX) + number as u64;
        let test = test(bench, (&rules, pilot), (name.clone(), setting, sku), number)?;
        confirmed.push(test);
    }
    Ok(confirmed)
}

fn test(
    bench: &mut Bench<'_>,
    (rules, pilot): (&Rules, &Pilot),
    (name, a, b): (String, &Setting, &Setting),
    number: u64,
) -> Result<Tested, Failure> {
    let seed = bench.next_seed().wrapping_add(number << 32);
    let Compared { comparison, ended, timed_out } = ab::compare(bench, rules, pilot, (a, b), seed)?;
    if let Some(ended) = ended {
        return Err(ended);
    }
    Ok(Tested {
        name,
        a: a.clone(),
        b: b.clone(),
        level: rules.level.alpha(),
        verdict: comparison.verdict(),
        timed_out,
        looks: comparison.looks().to_vec(),
    })
}

fn deliver(
    options: &SkuOptions,
    wanted: &Wanted,
    found: &Found,
    folder: Option<&Folder<'_>>,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(found).map_err(Failure::work)?;
    let text = text::of(wanted, found);
    let told = is_heard(if options.json { &json } else { &text });
    if let Some(folder) = folder {
        let tests = found.tested.iter().chain(&found.confirmed).enumerate();
        let pictures = tests.map(|(number, test)| {
            let mut picture = ab::evidence(&test.looks, test.level);
            picture.title = format!("Evidence: {}", text::title(test, found));
            (format!("evidence-{}", number + 1), picture.svg())
        });
        let pictures: Vec<(String, String)> = pictures.collect();
        folder.write("tune.json", &json)?;
        let title = if found.title.is_empty() { &found.target } else { &found.title };
        folder.write("index.html", &illustrated(title, &text, &pictures))?;
    }
    if let (true, false, Some(folder)) = (told?, options.json, folder) {
        is_heard(&format!("\nWritten: {}", folder.path().join("index.html").display()))?;
    }
    Ok(())
}
