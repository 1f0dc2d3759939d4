//! Pictures whose lines are chosen by the caller, for figures that no table of runs describes.

use crate::format;
use crate::svg::chart::{Axis, Chart, Mark, Reference, Series};
use crate::svg::look::Look;
use crate::svg::scale::Scale;

/// A chart with any quantities on its axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// What it shows.
    pub title: String,
    /// Where its numbers come from.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: PictureAxis,
    /// The vertical axis.
    pub y: PictureAxis,
    /// What was found; the first eight have colours of their own.
    pub lines: Vec<PictureLine>,
    /// What others state, to compare with.
    pub stated: Vec<Stated>,
}

/// A quantity and how it is laid out.
#[derive(Clone, PartialEq, Debug)]
pub struct PictureAxis {
    /// Name with unit.
    pub label: String,
    /// How values become places and ticks.
    pub kind: AxisKind,
}

/// See [`PictureAxis::kind`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisKind {
    /// Linear from zero.
    FromZero,
    /// Linear around the values.
    Around,
    /// Logarithmic, ticks as plain numbers.
    Log,
    /// Logarithmic in microseconds, ticks with their unit.
    LogTime,
}

/// One line, or the same points unconnected.
#[derive(Clone, PartialEq, Debug)]
pub struct PictureLine {
    /// In the legend.
    pub label: String,
    /// x and y, in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    pub style: LineStyle,
}

/// See [`PictureLine::style`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineStyle {
    /// Markers joined by lines.
    Joined,
    /// Markers alone.
    Scattered,
    /// A line without markers, for hundreds of points.
    Dense,
}

/// A value that a publication states, drawn as a level line over a stretch of the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Stated {
    /// What and where, for the legend: `801 k/s (§5.2)`.
    pub label: String,
    /// Where it begins and ends; infinite for the whole picture.
    pub x: (f64, f64),
    /// The value.
    pub y: f64,
}

impl Picture {
    /// The finished picture, an SVG document without outside references.
    #[must_use]
    pub fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let xs: Vec<f64> = points().map(|point| point.0).collect();
        let mut ys: Vec<f64> = points().map(|point| point.1).collect();
        ys.extend(self.stated.iter().map(|stated| stated.y));
        let (x, y) = (self.x.drawn(&xs), self.y.drawn(&ys));
        let numbered = self.lines.iter().enumerate();
        Chart {
            look: Look::WHOLE,
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            series: numbered.map(|(index, line)| self.series(index, line)).collect(),
            references: self.references(&xs),
            x,
            y,
            steps: Vec::new(),
        }
        .svg()
    }

    fn series(&self, index: usize, line: &PictureLine) -> Series {
        let marks = line.points.iter().map(|&(x, y)| {
            let (at, value) = (self.x.text(x), self.y.text(y));
            Some(Mark { x, y, low: y, high: y, at, value })
        });
        let points = match line.style {
            // A gap after each lifts the pen.
            LineStyle::Scattered => marks.flat_map(|mark| [mark, None]).collect(),
            LineStyle::Joined | LineStyle::Dense => marks.collect(),
        };
        let dense = line.style == LineStyle::Dense;
        Series { index, label: line.label.clone(), points, dense }
    }

    fn references(&self, xs: &[f64]) -> Vec<Reference> {
        let low = xs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let dashes = ["7 4", "2 3", "10 3 2 3", "4 2", "1 4"];
        let reference = |(stated, dash): (&Stated, &&'static str)| {
            let (from, to) = (stated.x.0.max(low), stated.x.1.min(high));
            let points = vec![(from, stated.y), (to, stated.y)];
            Reference { label: stated.label.clone(), dash, points }
        };
        self.stated.iter().zip(dashes.iter().cycle()).map(reference).collect()
    }
}

impl PictureAxis {
    fn drawn(&self, values: &[f64]) -> Axis {
        let scale = match self.kind {
            AxisKind::FromZero => Scale::from_zero(values),
            AxisKind::Around => Scale::around(values, 0.05),
            AxisKind::Log | AxisKind::LogTime => Scale::log(values),
        };
        let tick: fn(f64, usize) -> String = match self.kind {
            AxisKind::FromZero | AxisKind::Around => {
                |value, decimals| format!("{value:.decimals$}")
            }
            AxisKind::Log => |value, _| format::significant(value),
            AxisKind::LogTime => |us, _| format::round_time(us),
        };
        Axis { label: self.label.clone(), scale, tick }
    }

    fn text(&self, value: f64) -> String {
        match self.kind {
            AxisKind::LogTime => format::time(value),
            _ => format::significant(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(style: LineStyle, kind: AxisKind) -> String {
        let axis = |label: &str, kind| PictureAxis { label: label.into(), kind };
        let line = PictureLine {
            label: "ours & <others>".into(),
            points: vec![(100.0, 0.0), (200.0, 801.0), (400.0, 848.0)],
            style,
        };
        Picture {
            title: "Fig. 3".into(),
            subtitle: "simulated".into(),
            x: axis("demand", AxisKind::Around),
            y: axis("goodput", kind),
            lines: vec![line],
            stated: vec![Stated { label: "801 (§5.2)".into(), x: (150.0, 250.0), y: 801.0 }],
        }
        .svg()
    }

    #[test]
    fn what_is_stated_is_drawn_and_named() {
        let svg = picture(LineStyle::Joined, AxisKind::FromZero);
        assert!(svg.contains("801 (§5.2)"));
        assert!(svg.contains("ours &amp; &lt;others&gt;"));
        assert_eq!(svg.matches("<title>").count(), 6, "a tip for each point and each column");
    }

    #[test]
    fn scattered_points_are_not_joined() {
        let joined = picture(LineStyle::Joined, AxisKind::FromZero);
        let scattered = picture(LineStyle::Scattered, AxisKind::FromZero);
        let lines = |svg: &str| svg.lines().map(|line| line.matches('L').count()).sum::<usize>();
        assert_eq!(lines(&joined) - lines(&scattered), 2);
    }

    #[test]
    fn no_logarithm_shows_a_zero() {
        let svg = picture(LineStyle::Joined, AxisKind::Log);
        let columns = svg.matches("class=\"tw-column\"").count();
        assert_eq!((svg.matches("<title>").count() - columns, columns), (2, 3));
    }
}
