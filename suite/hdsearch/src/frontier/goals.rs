//! What the suite set out to show of a frontier, and the thesis' own goal.

use super::{Frontier, Point};
use crate::quality::ACCURACY_MIN;

/// A goal that a point of a frontier may reach.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal {
    /// For people.
    pub about: &'static str,
    cosine: f64,
    recall_10: f64,
    /// Candidates, in parts of the points.
    share: f64,
    /// The median over sockets.
    latency_us: f64,
}

/// The goals.
pub const GOALS: [Goal; 3] = [
    Goal {
        about: "cosine 0.97, median below 1 ms",
        cosine: 0.97,
        recall_10: 0.0,
        share: 1.0,
        latency_us: 1e3,
    },
    Goal {
        about: "recall@10 0.90 from 5 % of the points",
        cosine: -1.0,
        recall_10: 0.9,
        share: 0.05,
        latency_us: f64::INFINITY,
    },
    Goal {
        about: "the thesis' goal: cosine 0.93, median below 1 ms",
        cosine: ACCURACY_MIN,
        recall_10: 0.0,
        share: 1.0,
        latency_us: 1e3,
    },
];

impl Goal {
    /// Of the points of this index that reach the goal, the one with the fewest candidates.
    #[must_use]
    pub fn reached<'a>(&self, frontier: &'a Frontier, index: &str) -> Option<&'a Point> {
        let reaching = frontier.measured.iter().filter(|point| {
            let quality = point.quality;
            point.index == index
                && quality.cosine >= self.cosine
                && quality.recall_10 >= self.recall_10
                && frontier.share(point) <= self.share
                && point.latency_us.p50 < self.latency_us
        });
        reaching.min_by(|one, other| one.quality.candidates.total_cmp(&other.quality.candidates))
    }
}

impl Frontier {
    /// The candidates of a point in parts of all points.
    #[must_use]
    pub fn share(&self, point: &Point) -> f64 {
        point.quality.candidates / self.points.max(1) as f64
    }

    /// The indexes that were measured, in their order.
    #[must_use]
    pub fn indexes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.measured.iter().map(|point| point.index.as_str()).collect();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::Times;
    use crate::quality::Quality;

    fn point(index: &str, (recall_10, cosine): (f64, f64), candidates: f64, us: f64) -> Point {
        let times = Times { p50: us, p99: us };
        Point {
            index: index.into(),
            settings: format!("{candidates}"),
            quality: Quality { recall_1: 0.0, recall_10, cosine, candidates },
            inaccurate: None,
            index_bytes: 0,
            compute_us: times,
            latency_us: times,
        }
    }

    fn frontier(measured: Vec<Point>) -> Frontier {
        Frontier {
            set: String::new(),
            points: 1_000,
            dimensions: 1,
            shape: None,
            queries: 1,
            neighbours: 10,
            leaves: 1,
            machine: String::new(),
            remarks: Vec::new(),
            all_us: 1.0,
            measured,
        }
    }

    #[test]
    fn a_goal_is_reached_by_the_point_with_the_fewest_candidates() {
        let frontier = frontier(vec![
            point("lsh", (0.95, 0.99), 60.0, 500.0),
            point("lsh", (0.92, 0.98), 50.0, 2_000.0),
            point("lsh", (0.91, 0.96), 40.0, 500.0),
            point("ivf", (0.89, 0.98), 30.0, 500.0),
        ]);
        let by = |goal: usize, index| {
            GOALS[goal].reached(&frontier, index).map(|point| point.quality.candidates)
        };
        assert_eq!(
            (by(0, "lsh"), by(1, "lsh"), by(2, "lsh")),
            (Some(60.0), Some(40.0), Some(40.0))
        );
        assert_eq!((by(0, "ivf"), by(1, "ivf")), (Some(30.0), None));
        assert_eq!(frontier.indexes(), ["lsh", "ivf"]);
    }
}
