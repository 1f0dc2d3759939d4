//! Which configuration of one result is which of another.

use crate::result::Summary;

/// The configurations that both have, in the first's order. Each is in one pair at most.
///
/// A demand is stated as a share of capacity or in requests per second. Each result measured a capacity of its own.
/// So the same requests per second are another share in each, and the same share other requests per second. What is
/// stated matches everywhere; the other at most by chance.
pub(crate) fn pairs<'a>(
    first: &'a [Summary],
    second: &'a [Summary],
) -> Vec<(&'a Summary, &'a Summary)> {
    let by_share = pairs_by(first, second, |of| Some(of.demand_ratio));
    let by_rate = pairs_by(first, second, |of| of.of.get("asked_rps").map(|rate| rate.median));
    if by_rate.len() > by_share.len() { by_rate } else { by_share }
}

/// So many are looked at of one: a file of nothing but alike configurations would have a square of pairs.
const NEAR_MAX: usize = 64;

fn pairs_by<'a>(
    first: &'a [Summary],
    second: &'a [Summary],
    demand: impl Fn(&Summary) -> Option<f64>,
) -> Vec<(&'a Summary, &'a Summary)> {
    type Near = ((f64, f64), usize, usize);
    // The nearest first: demands of one result may be within a hundredth of one another.
    let nearest = |(one, ..): &Near, (other, ..): &Near| {
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
    };
    let mut near: Vec<Near> = Vec::new();
    for (at, one) in first.iter().enumerate() {
        let mut of_one = Vec::new();
        for (other, two) in second.iter().enumerate() {
            let Some((asked, of_other)) = demand(one).zip(demand(two)) else { continue };
            if are_alike(one, two) && is_near(asked, of_other) {
                let apart = ((asked - of_other).abs(), (one.slo_us - two.slo_us).abs());
                of_one.push((apart, at, other));
            }
        }
        of_one.sort_by(nearest);
        of_one.truncate(NEAR_MAX);
        near.append(&mut of_one);
    }
    near.sort_by(nearest);
    let mut partners: Vec<Option<&Summary>> = vec![None; first.len()];
    let mut is_taken = vec![false; second.len()];
    for (_, at, other) in near {
        if partners[at].is_none() && !is_taken[other] {
            partners[at] = Some(&second[other]);
            is_taken[other] = true;
        }
    }
    first.iter().zip(partners).filter_map(|(one, partner)| Some((one, partner?))).collect()
}

/// But for the demand.
fn are_alike(one: &Summary, two: &Summary) -> bool {
    one.controller == two.controller
        && one.profile == two.profile
        && one.clients == two.clients
        && is_near(one.slo_us, two.slo_us)
}

/// Within a hundredth: what was asked is what a schedule makes of it.
pub(crate) fn is_near(one: f64, two: f64) -> bool {
    (one - two).abs() <= 0.01 * one.abs().max(two.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spread::Spread;

    fn summary(demand_ratio: f64, asked_rps: f64) -> Summary {
        let asked = Spread { min: asked_rps, median: asked_rps, max: asked_rps };
        Summary { demand_ratio, of: [("asked_rps".to_owned(), asked)].into(), ..Summary::default() }
    }

    /// The demands of the first's result, and of what each was paired with.
    fn demands(first: &[Summary], second: &[Summary]) -> Vec<(f64, f64)> {
        let pairs = pairs(first, second).into_iter();
        pairs.map(|(one, two)| (one.demand_ratio, two.demand_ratio)).collect()
    }

    #[test]
    fn shares_of_two_capacities_are_the_same_configurations() {
        let first = [summary(1.0, 60_000.0), summary(2.0, 120_000.0)];
        let second = [summary(1.0, 30_000.0), summary(2.0, 60_000.0)];
        assert_eq!(demands(&first, &second), [(1.0, 1.0), (2.0, 2.0)]);
    }

    #[test]
    fn requests_per_second_are_the_same_configurations_at_any_capacity() {
        let first = [summary(1.0, 60_000.0), summary(2.0, 120_000.0)];
        let second = [summary(1.25, 60_000.0), summary(2.5, 120_000.0)];
        assert_eq!(demands(&first, &second), [(1.0, 1.25), (2.0, 2.5)]);
    }

    #[test]
    fn demands_within_a_hundredth_go_to_the_nearest_that_is_left() {
        let all = [summary(1.0, 60_000.0), summary(1.005, 60_300.0), summary(1.008, 60_480.0)];
        assert_eq!(demands(&all, &all), [(1.0, 1.0), (1.005, 1.005), (1.008, 1.008)]);
        assert_eq!(demands(&all, &all[..1]), [(1.0, 1.0)]);
        assert_eq!(demands(&all[..2], &all[1..]), [(1.0, 1.008), (1.005, 1.005)]);
        assert_eq!(demands(&all[1..], &all[..2]), [(1.005, 1.005), (1.008, 1.0)]);
    }
}
