//! The pool's course with a million clients, as `crates/sim/examples/portrait.rs` writes it: between what it swings.

use super::{head, line};
use serde::Deserialize;
use tailwater_report::{count, percent, time};

/// What a point of the picture is a mean of, and what goodput is told by.
pub(crate) const POINT_US: u64 = 20_000;
const FIFTH_US: u64 = 200_000;

/// By one law.
#[derive(Deserialize)]
pub(crate) struct Portrait {
    bin_us: u64,
    pub(crate) courses: Vec<Course>,
}

/// Of one run, a value for each bin.
#[derive(Deserialize)]
pub(crate) struct Course {
    pub(crate) demand: f64,
    pub(crate) seed: u64,
    pub(crate) pool: Vec<f64>,
    pub(crate) issued: Vec<f64>,
    pub(crate) delay_us: Vec<f64>,
    goodput_of_capacity: Vec<f64>,
}

impl Portrait {
    pub(crate) fn of(text: &str) -> Self {
        serde_json::from_str(text).expect("what the example portrait writes")
    }

    /// Means of so long stretches.
    pub(crate) fn means(&self, values: &[f64], length_us: u64) -> Vec<f64> {
        let bins = (length_us / self.bin_us).max(1) as usize;
        values.chunks(bins).map(|some| some.iter().sum::<f64>() / some.len() as f64).collect()
    }

    fn range(&self, values: &[f64], length_us: u64, told: impl Fn(f64) -> String) -> String {
        let means = self.means(values, length_us);
        let low = means.iter().copied().fold(f64::INFINITY, f64::min);
        let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!("{} to {}", told(low), told(high))
    }
}

/// A line for each run of the law before and of today's.
pub(super) fn table(before: &str, now: &str) -> String {
    let heads = ["law", "demand", "seed", "pool", "delay", "goodput of capacity"];
    let mut text = head(&heads.map(str::to_owned));
    for (law, result) in [("before", before), ("now", now)] {
        let portrait = Portrait::of(result);
        for course in &portrait.courses {
            text += &line(&[
                law.to_owned(),
                format!("{:.2} ×", course.demand),
                course.seed.to_string(),
                portrait.range(&course.pool, POINT_US, |credits| count(credits.round() as u64)),
                portrait.range(&course.delay_us, POINT_US, time),
                portrait.range(&course.goodput_of_capacity, FIFTH_US, percent) + " %",
            ]);
        }
    }
    text
}

#[test]
fn a_course_is_told_by_the_lowest_and_the_highest_of_its_means() {
    let of = |pool: &str| {
        format!(
            r#"{{"driver":"sim","bin_us":10000,"courses":[{{"demand":1.5,"seed":7,"pool":{pool},"issued":[1,2,3,4],
            "delay_us":[10.0,30.0,400.0,600.0],"goodput_of_capacity":[0.2,0.4,0.6,0.8]}}]}}"#
        )
    };
    let text = table(&of("[1000,3000,8000,9000]"), &of("[5,5,5,5]"));
    let told = "| 20.0 µs to 500 µs | 50 to 50 % |";
    let [before, now] = ["before | 1.50 × | 7 | 2,000 to 8,500", "now | 1.50 × | 7 | 5 to 5"];
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(lines, [format!("| {before} {told}"), format!("| {now} {told}")]);
}
