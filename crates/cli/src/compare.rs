//! `tailwater compare`: two results of one scenario side by side.

use crate::args::CompareOptions;
use crate::failure::{Failure, say};
use crate::run::folder::Folder;
use crate::run::output::read;
use crate::terminal::style;
use tailwater_report::{comparison, demand, grid_within, percent, time, wrap};
use tailwater_stats::agreement::{Agreement, KEEPS_UP, Onset, Point, agreement};
use tailwater_stats::result::Experiment;

/// Differences beyond this many points of capacity are marked, and rankings that hang on less are equal.
const TOLERANCE: f64 = 5.0;

pub(crate) fn compare(options: &CompareOptions) -> Result<(), Failure> {
    let out = options.out.as_deref().map(Folder::prepare_for_more).transpose()?;
    let (first, second) = (read(&options.first)?, read(&options.second)?);
    let found = agreement(&first, &second, TOLERANCE);
    if found.points.is_empty() {
        let why = "no controller, demand, number of clients and SLO occur in both with a valid run";
        return Err(Failure::usage(format!("{why}; give two results of the same scenario")));
    }
    let json = serde_json::to_string_pretty(&found).map_err(Failure::work)?;
    let text = text(&first, &second, &found);
    // Cheap to make again: the page first, whether or not anything reads the rest.
    if let Some(folder) = &out {
        folder.write("comparison.json", &json)?;
        folder.write("index.html", &comparison(&first, &second, &text))?;
    }
    say(if options.json { &json } else { &text })?;
    if let (Some(folder), false) = (&out, options.json) {
        say(&format!("\nWritten: {}", folder.path().join("index.html").display()))?;
    }
    near_enough(&found, options.within)
}

/// Everything that a person reads.
fn text(first: &Experiment, second: &Experiment, found: &Agreement) -> String {
    let sentence = sentence(found);
    let sentence = style().width.map_or(sentence.clone(), |width| wrap(&sentence, width.into()));
    format!(
        "first: {}\nsecond: {}\nGoodput is in % of capacity, its difference in points of that; ! beyond \
         {TOLERANCE}.\n\n{}\n\n{}\n\n{sentence}",
        title(first),
        title(second),
        points(found),
        onsets(found),
    )
}

/// For scripts: fails where they ask for agreement and goodputs differ by more.
fn near_enough(found: &Agreement, within: Option<f64>) -> Result<(), Failure> {
    let Some(within) = within else {
        return Ok(());
    };
    let beyond = found.points.iter().filter(|point| point.difference().abs() > within).count();
    let (all, missing) = (found.points.len(), found.unmatched);
    if beyond == 0 && missing == 0 {
        return Ok(());
    }
    Err(Failure::work(format!(
        "{beyond} of {all} configurations differ by more than {within} points, and {missing} have no valid run in \
         one of the results"
    )))
}

fn title(of: &Experiment) -> String {
    format!("{} on {} ({})", of.scenario, of.driver, of.manifest.tailwater)
}

fn points(found: &Agreement) -> String {
    let heads = [
        "controller",
        "clients",
        "SLO",
        "demand",
        "goodput\nfirst",
        "\nsecond",
        "\npoints",
        "p99\nfirst",
        "\nsecond",
    ];
    let row = |point: &Point| {
        let (one, two) = point.goodput_of_capacity;
        let difference = point.difference();
        let mark = if difference.abs() > TOLERANCE { " !" } else { "" };
        vec![
            format!("{} ({})", point.controller, point.profile),
            point.clients.to_string(),
            time(point.slo_us),
            demand(point.demand_ratio),
            percent(one),
            percent(two),
            format!("{difference:+.1}{mark}"),
            latency(point.p99_us.0),
            latency(point.p99_us.1),
        ]
    };
    grid_within(&heads, 1, &found.points.iter().map(row).collect::<Vec<_>>(), style().width)
}

/// Nothing was answered where it is zero.
fn latency(us: f64) -> String {
    if us > 0.0 { time(us) } else { "–".into() }
}

fn onsets(found: &Agreement) -> String {
    let at = |ratio: Option<f64>| ratio.map_or("never".into(), demand);
    let row = |onset: &Onset| {
        let (one, two) = onset.demand_ratio;
        vec![
            format!("{} ({})", onset.controller, onset.profile),
            onset.clients.to_string(),
            time(onset.slo_us),
            at(one),
            at(two),
        ]
    };
    let heads = ["falls behind at", "clients", "SLO", "first", "second"];
    grid_within(&heads, 1, &found.onsets.iter().map(row).collect::<Vec<_>>(), style().width)
}

fn sentence(found: &Agreement) -> String {
    let near = found.points.iter().filter(|point| point.difference().abs() <= TOLERANCE).count();
    let (alike, all) = found.ranked_alike;
    let same_onset = |onset: &&Onset| match onset.demand_ratio {
        (Some(one), Some(two)) => (one - two).abs() <= 0.1 * one.min(two),
        (None, None) => true,
        _ => false,
    };
    let onsets = found.onsets.iter().filter(same_onset).count();
    format!(
        "Goodput agrees within {TOLERANCE} points of capacity in {near} of {} configurations, the order \
         of the controllers at {alike} of {all} demands, and where they fall below {} % of what could \
         be served within 10 % for {onsets} of {}. {} configurations have no valid run in one of the two.",
        found.points.len(),
        percent(KEEPS_UP),
        found.onsets.len(),
        found.unmatched,
    )
}
