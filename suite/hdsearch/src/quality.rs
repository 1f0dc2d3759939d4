//! How good answers are, beside right: against the true nearest neighbours of all points.

use crate::nearest::Found;
use tailwater_kernels::{Kernels, Rows};

/// The thesis' least [`cosine`](Quality::cosine) across all queries (§2.2.1).
pub const ACCURACY_MIN: f64 = 0.93;

/// Of one answer, or the mean of several.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Quality {
    /// The nearest point was found: 1, or 0.
    pub recall_1: f64,
    /// The share of the ten nearest points that are among the first ten found.
    pub recall_10: f64,
    /// The cosine of the angle between the first point found and the nearest, 0 where none was found: the thesis'
    /// accuracy (§2.2.1), which a wrong neighbour can have, too. The thesis' minimum is one across all queries; a mean
    /// that reaches it is a weaker test.
    pub cosine: f64,
    /// Points that leaves looked at.
    pub candidates: f64,
}

impl Quality {
    /// Of an answer with these points. Truth has the ten nearest, or all if there are fewer.
    #[must_use]
    pub fn of(points: Rows<'_>, truth: &[Found], found: &[Found], candidates: u32) -> Self {
        let (nearest, reported) = (truth.first(), found.first());
        let cosine = match (nearest, reported) {
            (Some(nearest), Some(reported)) => cosine(points, nearest.point, reported.point),
            _ => 0.0,
        };
        let is_nearest = |(one, other): (&Found, &Found)| f64::from(one.point == other.point);
        Self {
            recall_1: nearest.zip(reported).map_or(0.0, is_nearest),
            recall_10: recall(truth, found, 10),
            cosine,
            candidates: candidates.into(),
        }
    }

    /// The mean; zero of none.
    #[must_use]
    pub fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Self {
            recall_1: mean(|one| one.recall_1),
            recall_10: mean(|one| one.recall_10),
            cosine: mean(|one| one.cosine),
            candidates: mean(|one| one.candidates),
        }
    }

    /// The share of these whose cosine is below [`ACCURACY_MIN`]; zero of none.
    #[must_use]
    pub fn inaccurate(all: &[Self]) -> f64 {
        let below = all.iter().filter(|one| one.cosine < ACCURACY_MIN).count();
        below as f64 / all.len().max(1) as f64
    }
}

/// Of the so many nearest points, the share that is among the first so many found.
#[must_use]
pub fn recall(truth: &[Found], found: &[Found], wanted: usize) -> f64 {
    let nearest = &truth[..truth.len().min(wanted)];
    let first = &found[..found.len().min(wanted)];
    let is_found = |one: &&Found| first.iter().any(|other| other.point == one.point);
    nearest.iter().filter(is_found).count() as f64 / nearest.len().max(1) as f64
}

/// One for the same point, also where all its values are zero.
fn cosine(points: Rows<'_>, one: u32, other: u32) -> f64 {
    if one == other {
        return 1.0;
    }
    let kernels = Kernels::best();
    let (one, other) = (points.row(one as usize), points.row(other as usize));
    let dot = |a, b| f64::from(kernels.dot(a, b));
    let lengths = (dot(one, one) * dot(other, other)).sqrt();
    if lengths > 0.0 { dot(one, other) / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_kernels::Table;

    fn found(points: &[u32]) -> Vec<Found> {
        points.iter().map(|&point| Found { point, distance: 0.0 }).collect()
    }

    #[test]
    fn measures_are_what_they_say() {
        let mut points = Table::new(2);
        for vector in [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]] {
            points.push(&vector);
        }
        let of = |truth: &[u32], answer: &[u32]| {
            Quality::of(points.rows(), &found(truth), &found(answer), 7)
        };
        let all = of(&[0, 1, 2, 3], &[0, 1, 2, 3]);
        assert_eq!(all, Quality { recall_1: 1.0, recall_10: 1.0, cosine: 1.0, candidates: 7.0 });
        let some = of(&[0, 1, 2, 3], &[2, 0]);
        assert_eq!((some.recall_1, some.recall_10), (0.0, 0.5));
        assert!((some.cosine - 0.5_f64.sqrt()).abs() < 1e-6);
        assert_eq!(of(&[3], &[3]).cosine, 1.0);
        assert_eq!(of(&[3], &[0]).cosine, 0.0);
        let none = of(&[0], &[]);
        assert_eq!((none.recall_1, none.recall_10, none.cosine), (0.0, 0.0, 0.0));
        assert_eq!(Quality::mean(&[all, none]).cosine, 0.5);
        assert_eq!(Quality::mean(&[]), Quality::default());
        assert_eq!(Quality::inaccurate(&[all, some, none, all]), 0.5);
        assert_eq!(Quality::inaccurate(&[]), 0.0);
    }

    #[test]
    fn only_the_first_ten_count() {
        let mut points = Table::new(1);
        (0..40).for_each(|point| points.push(&[point as f32]));
        let truth: Vec<u32> = (0..10).collect();
        let late: Vec<u32> = (20..30).chain(0..10).collect();
        assert_eq!(Quality::of(points.rows(), &found(&truth), &found(&late), 0).recall_10, 0.0);
        assert_eq!(recall(&found(&truth), &found(&[0, 2, 1]), 2), 0.5);
        assert_eq!(recall(&[], &found(&[0]), 2), 0.0);
    }
}
