//! Two results on one page: what both say in tables, and their pictures laid over one another.

use crate::agreement::{Rows, different_settings, meaning, onsets, points, sentence, title};
use crate::csv::comparison_csv;
use crate::model;
use crate::model::name;
use crate::shell::{contents, download, figures, page};
use crate::sortable::{Head, Row, Sortable};
use crate::svg::escape;
use tailwater_stats::agreement::Agreement;
use tailwater_stats::result::Experiment;

/// The page that compares `first` and `second`, with both in each picture. It is self-contained, as
/// [`html`](crate::html()) is.
#[must_use]
pub fn comparison(first: &Experiment, second: &Experiment, found: &Agreement) -> String {
    let both = both(first, second);
    let groups = model::groups(&both);
    let called = called(first, second);
    let mut body = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<p class=\"muted\">first: {}<br/>second: {}</p>\n",
        escape(&called),
        escape(&sentence(found)),
        escape(&title(first)),
        escape(&title(second))
    );
    if let Some(different) = different_settings(found) {
        body.push_str(&format!("<p>Note: {}.</p>\n", escape(&different)));
    }
    let groups_named = groups.iter().enumerate().map(|(at, it)| (format!("group-{at}"), it.name()));
    let fixed = [("points", "Goodput and p99"), ("onsets", "Where they fall behind")];
    let fixed = fixed.map(|(id, name)| (id.to_owned(), name.to_owned()));
    body.push_str(&contents(fixed.into_iter().chain(groups_named)));
    body.push_str("</header>\n");
    body.push_str(&format!(
        "<section id=\"points\">\n<h2>Goodput and p99</h2>\n<p class=\"muted\">{}</p>\n{}<p>{}</p>\n</section>\n",
        escape(&meaning()),
        table(&points(found)),
        downloads(found)
    ));
    body.push_str(&format!(
        "<section id=\"onsets\">\n<h2>Where they fall behind</h2>\n{}</section>\n",
        table(&onsets(found))
    ));
    for (at, group) in groups.iter().enumerate() {
        body.push_str(&format!(
            "<section id=\"group-{at}\">\n<h2>{}</h2>\n{}</section>\n",
            escape(&group.name()),
            figures(&both, (at, group))
        ));
    }
    page(&called, &body)
}

fn downloads(found: &Agreement) -> String {
    let json = serde_json::to_string_pretty(found)
        .expect("what was compared has only string keys, which JSON can always hold");
    let json = download("comparison.json", "JSON", "application/json", &json);
    format!("{json} · {}", download("comparison.csv", "CSV", "text/csv", &comparison_csv(found)))
}

fn table(Rows { heads, dispensable, rows }: &Rows) -> String {
    let head = |(at, text): (usize, &String)| Head {
        more: dispensable.contains(&at),
        ..Head::plain(text)
    };
    let heads = heads.iter().enumerate().map(head).collect();
    let rows = rows.iter().cloned().map(Row::plain).collect();
    Sortable { kind: "comparison", heads, rows }.markup()
}

/// What both are named stands once.
fn called(first: &Experiment, second: &Experiment) -> String {
    let (one, two) = (&first.driver, &second.driver);
    if name(first) == name(second) {
        return format!("{}: {one} (first) against {two} (second)", name(first));
    }
    format!("{} on {one} (first) against {} on {two} (second)", name(first), name(second))
}

/// One experiment with the runs of both, whose profiles say whose they are.
fn both(first: &Experiment, second: &Experiment) -> Experiment {
    let mut both = Experiment { title: name(first).to_owned(), ..Experiment::default() };
    for (experiment, which) in [(first, "first"), (second, "second")] {
        let marked = |profile: &str| match profile {
            "" => which.to_owned(),
            profile => format!("{profile}, {which}"),
        };
        for run in &experiment.runs {
            let mut run = run.clone();
            run.asked.profile = marked(&run.asked.profile);
            both.runs.push(run);
        }
        for summary in &experiment.summary {
            let mut summary = summary.clone();
            summary.profile = marked(&summary.profile);
            both.summary.push(summary);
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both have in common stood twice, in three lines of heading.
    #[test]
    fn a_title_that_two_results_share_stands_once() {
        let titled = |title: &str, driver: &str| Experiment {
            title: title.into(),
            driver: driver.into(),
            ..Experiment::default()
        };
        let (one, two) = (titled("A day", "loopback"), titled("A day", "sim"));
        assert_eq!(called(&one, &two), "A day: loopback (first) against sim (second)");
        let other = titled("A night", "sim");
        assert_eq!(
            called(&one, &other),
            "A day on loopback (first) against A night on sim (second)"
        );
    }
}
