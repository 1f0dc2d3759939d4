//! `tailwater tune sku`: the setting of several knobs that suits a service.
//!
//! Each value is tried once, and left out where it cannot be measured; what is far worse at sight has its turn last. Screening chooses which knobs are tested. Each
//! survivor is tested against what was adopted so far, so effects need not add up. What was adopted in the end is
//! confirmed against stock on fresh blocks, which alone is what is claimed.

mod recipes;
mod file;
mod found;
mod screen;
mod search;
mod text;
mod trials;

use super::ab;
use super::bench::Bench;
use super::dial::Setting;
use super::machine::{Root, Session, may_be_turned};
use super::plan::plan;
use super::tell;
use crate::failure::{Failure, say};
use crate::folder::Folder;
use crate::run::tell_of_others;
use crate::values::duration;
use clap::Args;
use file::{Described, Wanted};
use found::Found;
use recipes::Recipe;
use search::search;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tailwater_program::interrupt::Interrupt;
use tailwater_report::illustrated;

#[derive(Args, Debug)]
pub(crate) struct SkuOptions {
    /// The file with knobs, values and what is measured, such as examples/tuning/words.toml.
    #[arg(required_unless_present = "target", conflicts_with = "target")]
    file: Option<PathBuf>,
    /// Instead of a file, one that comes with tailwater: memcached, redis, key-value or setalgebra. The first two need the
    /// program of this name.
    #[arg(long, value_name = "NAME", value_parser = recipes::parse)]
    target: Option<&'static Recipe>,
    /// The longest that all of it may take, instead of the file's time. What was found until then is kept.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    within: Option<Duration>,
    /// A setting to confirm what is found against, beside stock: knobs as nice=5,thp=never, or a file of `[[rival]]` tables;
    /// may be repeated.
    #[arg(long = "rival", value_name = "FILE|KNOB=VALUE,…")]
    rivals: Vec<String>,
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

pub(super) fn sku(options: &SkuOptions) -> Result<(), Failure> {
    let root = Root::new(&options.root)?;
    let mut described = match (options.target, &options.file) {
        (Some(recipe), _) => Described::known(recipe)?,
        (None, Some(file)) => Described::read(file)?,
        (None, None) => return Err(Failure::usage("a file, or --target, is needed")),
    };
    described.against(&options.rivals)?;
    if options.dry_run {
        if let Some(note) = may_be_turned(&root) {
            tell(&note);
        }
        return say(&planned(&root, &described.on(&root)?));
    }
    let interrupt = Interrupt::watch_to_the_end()?;
    let began = Instant::now();
    let mut session = Session::begin(&root, &mut tell)?;
    let mut wanted = described.on(&root)?;
    wanted.time = options.within.unwrap_or(wanted.time);
    let folder = options.out.as_deref().map(Folder::prepare_for_more).transpose()?;
    let settings: Vec<Setting> = settings(&wanted);
    ab::note(&mut session, &wanted.dials, &settings.iter().collect::<Vec<_>>())?;
    // As for one comparison.
    tell_of_others();
    let until = began + wanted.time;
    let mut bench =
        Bench::new(session, (&wanted.dials, &wanted.target), &interrupt, (until, wanted.seed));
    let keep = |found: &Found| folder.as_ref().map_or(Ok(()), |folder| write(folder, found));
    let searched = search(&mut bench, &wanted, options.accept_weak, &keep);
    let put_back = ab::end(bench.session);
    let told = searched.and_then(|(found, ended)| {
        deliver(options, (&wanted, &root), &found, folder.as_ref())?;
        ended.map_or_else(|| found.is_sound(), Err)
    });
    ab::both(told, put_back)
}

/// Writes the result as far as it goes, which a later one replaces.
fn write(folder: &Folder<'_>, found: &Found) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(found).map_err(Failure::work)?;
    folder.write("tune.json", &json)
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
    let rivals = wanted.rivals.iter();
    arms.extend(rivals.map(|(name, setting)| (format!("the rival {name}"), setting.clone())));
    let arms: Vec<(&str, &Setting)> = arms.iter().map(|(name, of)| (name.as_str(), of)).collect();
    plan(root, (&wanted.dials, &wanted.target), &arms, wanted.seed)
}

fn deliver(
    options: &SkuOptions,
    (wanted, root): (&Wanted, &Root),
    found: &Found,
    folder: Option<&Folder<'_>>,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(found).map_err(Failure::work)?;
    let text = text::of(wanted, found, root);
    let told = say(if options.json { &json } else { &text });
    if let Some(folder) = folder {
        let tests = found.tested.iter().chain(&found.confirmed).enumerate();
        let pictures = tests.map(|(number, test)| {
            let mut picture = ab::evidence((&test.looks, &test.seconds), test.conclusion.level);
            picture.title = format!("Evidence: {}", text::title(test, found));
            (format!("evidence-{}", number + 1), picture.svg())
        });
        let pictures: Vec<(String, String)> = pictures.collect();
        write(folder, found)?;
        let title = if found.title.is_empty() { &found.target } else { &found.title };
        folder.write("index.html", &illustrated(title, None, &text, &pictures))?;
    }
    told?;
    if let (false, Some(folder)) = (options.json, folder) {
        say(&format!("\nWritten: {}", folder.path().join("index.html").display()))?;
    }
    Ok(())
}
