//! How two results of one scenario agree, as `tailwater compare` counts it.

use super::{head, line};
use tailwater_report::percent;
use tailwater_stats::agreement::{Agreement, Onset, agreement};
use tailwater_stats::result::Experiment;

/// Points of capacity.
const TOLERANCE: f64 = 5.0;
/// Of a demand, where controllers fall behind.
const ONSET: f64 = 0.1;

/// What agrees, then the configurations that do not.
pub(super) fn table(first: &str, second: &str) -> String {
    let [first, second] = [first, second].map(parse);
    let found = agreement(&first, &second, TOLERANCE);
    let mut text = head(&["", "agrees", "of"].map(Into::into));
    for (what, (agrees, all)) in counts(&found) {
        text += &line(&[what.into(), agrees.to_string(), all.to_string()]);
    }
    for point in found.points.iter().filter(|point| point.difference().abs() > TOLERANCE) {
        let (one, two) = point.goodput_of_capacity;
        let of =
            format!("{}, {} clients, {:.1} ×", point.controller, point.clients, point.demand_ratio);
        text +=
            &line(&[of, format!("**{}** and **{}** %", percent(one), percent(two)), String::new()]);
    }
    text
}

fn counts(found: &Agreement) -> [(&'static str, (usize, usize)); 3] {
    let near = found.points.iter().filter(|point| point.difference().abs() <= TOLERANCE);
    let (alike, demands) = found.ranked_alike;
    let onsets = found.onsets.iter().filter(|onset| is_near(onset));
    [
        ("goodput within five points of capacity", (near.count(), found.points.len())),
        ("order of the controllers, by clients and demand", (alike as usize, demands as usize)),
        ("where a controller falls behind, within 10 %", (onsets.count(), found.onsets.len())),
    ]
}

fn is_near(onset: &Onset) -> bool {
    match onset.demand_ratio {
        (None, None) => true,
        (Some(one), Some(two)) => (two / one - 1.0).abs() <= ONSET,
        _ => false,
    }
}

fn parse(result: &str) -> Experiment {
    serde_json::from_str(result).expect("a result of tailwater run")
}
