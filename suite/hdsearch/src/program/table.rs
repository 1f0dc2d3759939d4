//! A frontier for people.

use crate::sets::in_words;
use tailwater_hdsearch::frontier::{Frontier, GOALS, Point};
use tailwater_hdsearch::quality::ACCURACY_MIN;

/// Header, rows, and what to read from them.
pub(crate) fn of(frontier: &Frontier) -> String {
    let Frontier { set, queries, neighbours, leaves, machine, remarks, all_us, .. } = frontier;
    let mut text = format!("{set}\n");
    if let Some(shape) = &frontier.shape {
        text.push_str(&format!("{}\n", in_words(shape)));
    }
    text.push_str(&format!(
        "{queries} queries for {neighbours} neighbours, {leaves} leaves; {machine}\n"
    ));
    remarks.iter().for_each(|remark| text.push_str(&format!("{remark}\n")));
    text.push_str(&format!("looking at every point: {all_us:.0} µs\n\n{HEAD}\n"));
    for point in &frontier.measured {
        text.push_str(&row(point, frontier.share(point)));
    }
    text.push_str(LEGEND);
    text.push_str(&goals(frontier));
    text
}

const HEAD: &str = "index  settings                            recall@1  recall@10  cosine  candidates   share  compute µs  latency µs   p99 µs  index MB";

const LEGEND: &str = "\nrecall@1: the nearest was found; recall@10: of the ten nearest, so many are in the first ten\n\
    cosine: between the nearest that was found and the true one, as the thesis measures accuracy\n\
    compute: medians in one thread without sockets; latency: over sockets, one query at a time\n";

fn row(point: &Point, share: f64) -> String {
    let Point { index, settings, quality, index_bytes, compute_us, latency_us, .. } = point;
    format!(
        "{index:<5}  {settings:<34}  {:>8.3}  {:>9.3}  {:>6.3}  {:>10.0}  {:>5.2}%  {:>10.1}  {:>10.1}  {:>7.1}  {:>8.1}\n",
        quality.recall_1,
        quality.recall_10,
        quality.cosine,
        quality.candidates,
        100.0 * share,
        compute_us.p50,
        latency_us.p50,
        latency_us.p99,
        *index_bytes as f64 / 1e6,
    )
}

/// The goals, and for each index what reaches them with the fewest candidates.
fn goals(frontier: &Frontier) -> String {
    let mut text = String::new();
    for goal in &GOALS {
        for index in frontier.indexes() {
            let found = goal.reached(frontier, index).map_or("none of these".to_owned(), |point| {
                let below = point.inaccurate.map(|share| {
                    format!(", {:.1} % of the queries below {ACCURACY_MIN}", 100.0 * share)
                });
                format!(
                    "{}: recall@1 {:.3}, recall@10 {:.3}, {:.2} % of the points, {:.0} µs{}",
                    point.settings,
                    point.quality.recall_1,
                    point.quality.recall_10,
                    100.0 * frontier.share(point),
                    point.latency_us.p50,
                    below.unwrap_or_default()
                )
            });
            text.push_str(&format!("\n{}, {index}: {found}", goal.about));
        }
    }
    text
}
