//! `tailwater compare`: two results of one scenario side by side.

use crate::args::CompareOptions;
use crate::failure::{Failure, complain, say};
use crate::folder::Folder;
use crate::run::output::read;
use crate::terminal::style;
use tailwater_report::{
    TOLERANCE_POINTS, comparison, comparison_csv, comparison_table, different_settings,
};
use tailwater_stats::agreement::{Agreement, agreement};

pub(crate) fn compare(options: &CompareOptions) -> Result<(), Failure> {
    let (first, second) = (read(&options.first)?, read(&options.second)?);
    let found = agreement(&first, &second, TOLERANCE_POINTS);
    let different = different_settings(&found);
    if found.points.is_empty() {
        let mut why =
            "no controller, demand, number of clients and SLO occur in both with a valid run"
                .to_owned();
        if let Some(different) = different {
            why.push_str(&format!("; {different}"));
        }
        return Err(Failure::usage(format!("{why}; give two results of the same scenario")));
    }
    // Behind what is wrong with the results: a name that was mistyped leaves no folder.
    let out = options.out.as_deref().map(Folder::prepare_for_more).transpose()?;
    let json = serde_json::to_string_pretty(&found).map_err(Failure::work)?;
    let text = comparison_table((&first, &second), &found, style().width);
    // Cheap to make again: the page first, whether or not anything reads the rest.
    if let Some(folder) = &out {
        folder.write("comparison.json", &json)?;
        folder.write("comparison.csv", &comparison_csv(&found))?;
        folder.write("index.html", &comparison(&first, &second, &found))?;
    }
    if let Some(different) = different {
        complain(&different);
    }
    say(if options.json { &json } else { &text })?;
    if let (Some(folder), false) = (&out, options.json) {
        say(&format!("\nWritten: {}", folder.path().join("index.html").display()))?;
    }
    near_enough(&found, options.within)
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
         one of the results or in both"
    )))
}
