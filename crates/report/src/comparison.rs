//! Two results on one page: what both say in words, and their pictures laid over one another.

use crate::html::{name, page};
use crate::model;
use crate::plots;
use crate::svg::escape;
use tailwater_stats::result::Experiment;

/// The page of `text`, which compares `first` and `second`, with both in each picture. It is self-contained,
/// as [`html`](crate::html()) is.
#[must_use]
pub fn comparison(first: &Experiment, second: &Experiment, text: &str) -> String {
    let both = both(first, second);
    let title = format!("{} against {}", called(first, "first"), called(second, "second"));
    let mut body = format!("<header>\n<h1>{}</h1>\n</header>\n", escape(&title));
    body.push_str(&format!("<section>\n<pre>{}</pre>\n</section>\n", escape(text)));
    for (at, group) in model::groups(&both).iter().enumerate() {
        body.push_str(&format!(
            "<section>\n<h2>{}</h2>\n<div class=\"plots\">\n",
            escape(&group.name())
        ));
        for plot in plots::of_group(&both, at, group) {
            body.push_str(&format!("<figure id=\"{}\">\n{}</figure>\n", plot.name, plot.svg));
        }
        body.push_str("</div>\n</section>\n");
    }
    page(&title, &body)
}

fn called(experiment: &Experiment, which: &str) -> String {
    format!("{} on {} ({which})", name(experiment), experiment.driver)
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
            run.profile = marked(&run.profile);
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
