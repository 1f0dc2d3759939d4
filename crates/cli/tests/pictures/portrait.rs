//! The phase portrait of the pool with a million clients: the loop of the law before, beside the point of today's.

use crate::tables::portrait::{Course, POINT_US, Portrait};
use std::fs;
use std::path::Path;
use tailwater_report::{AxisKind, LineStyle, Picture, PictureAxis, PictureLine};

const RESULTS: [&str; 2] = ["results/portrait-old.json", "results/portrait.json"];
/// When the courses begin, after the start.
const FROM_S: usize = 2;
/// Points of a second.
const SECOND: usize = 1_000_000 / POINT_US as usize;

/// Pool against delay, and the pool over time, of the first course of the law before and of today's for the same seed
/// and demand.
pub(super) fn drawn(root: &Path) -> [(&'static str, String); 2] {
    let read = |file: &str| fs::read_to_string(root.join(file)).expect("a course of the pool");
    let [before, now] = RESULTS.map(|file| Portrait::of(&read(file)));
    let first = before.courses.first().expect("a course");
    let is_same = |it: &&Course| (it.demand, it.seed) == (first.demand, first.seed);
    let today = now.courses.iter().find(is_same).expect("a course of the same demand and seed");
    [
        ("phase.svg", phase((&before, first), (&now, today))),
        ("time.svg", over_time((&before, first), (&now, today))),
    ]
}

/// A line for each second of the law before, so that colours tell its direction.
fn phase(before: (&Portrait, &Course), now: (&Portrait, &Course)) -> String {
    let points = states(before);
    let seconds = (0..points.len().div_ceil(SECOND)).map(|second| {
        let (from, at) = (second * SECOND, FROM_S + second);
        // The next second's first point joins the two.
        let to = (from + SECOND + 1).min(points.len());
        dense(format!("before, {at} to {} s", at + 1), points[from..to].to_vec())
    });
    Picture {
        title: titled(before.1, "pool against delay"),
        subtitle: "simulated; means of 20 ms; a delay below 1 µs is drawn as 1 µs".into(),
        x: axis("pool (thousands of credits)", AxisKind::FromZero),
        y: axis("queueing delay", AxisKind::LogTime),
        lines: seconds.chain([dense("now".into(), states(now))]).collect(),
        stated: Vec::new(),
    }
    .svg()
}

/// Pool in thousands and delay in µs, in order of time.
fn states((portrait, course): (&Portrait, &Course)) -> Vec<(f64, f64)> {
    let pool = thousands(portrait, &course.pool);
    let delay = portrait.means(&course.delay_us, POINT_US);
    pool.into_iter().zip(delay.into_iter().map(|us| us.max(1.0))).collect()
}

fn over_time(before: (&Portrait, &Course), now: (&Portrait, &Course)) -> String {
    let timed = |label: &str, credits: Vec<f64>| {
        let at = |point: usize| FROM_S as f64 + (point as f64 + 0.5) / SECOND as f64;
        let points = credits.into_iter().enumerate().map(|(point, credits)| (at(point), credits));
        dense(label.into(), points.collect())
    };
    Picture {
        title: titled(before.1, "the pool over time"),
        subtitle: "simulated; means of 20 ms".into(),
        x: axis("time after the start (s)", AxisKind::Around),
        y: axis("credits (thousands)", AxisKind::FromZero),
        lines: vec![
            timed("pool before", thousands(before.0, &before.1.pool)),
            timed("issued before", thousands(before.0, &before.1.issued)),
            timed("pool now", thousands(now.0, &now.1.pool)),
            timed("issued now", thousands(now.0, &now.1.issued)),
        ],
        stated: Vec::new(),
    }
    .svg()
}

fn thousands(portrait: &Portrait, credits: &[f64]) -> Vec<f64> {
    portrait.means(credits, POINT_US).into_iter().map(|mean| mean / 1e3).collect()
}

fn titled(course: &Course, what: &str) -> String {
    format!("A million clients at {:.2} ×: {what}", course.demand)
}

fn axis(label: &str, kind: AxisKind) -> PictureAxis {
    PictureAxis { label: label.into(), kind }
}

fn dense(label: String, points: Vec<(f64, f64)>) -> PictureLine {
    PictureLine { label, points, style: LineStyle::Dense }
}
