//! Invisible columns over a chart that name all values there on hover.

use super::{BOTTOM, Chart, INK, LEFT, Mark, Series, Svg, TOP, escape, px};

/// So many at most; narrower ones could not be hit.
const COLUMNS_MAX: usize = 150;

impl Chart {
    pub(super) fn draw_columns(&self, svg: &mut Svg) {
        let places = self.places();
        for (at, &(x, middle)) in places.iter().enumerate() {
            let between = |other: Option<&(f64, f64)>, edge: f64| {
                other.map_or(edge, |(_, other)| f64::midpoint(*other, middle))
            };
            let left = between(at.checked_sub(1).and_then(|at| places.get(at)), LEFT);
            let right = between(places.get(at + 1), self.right());
            svg.raw(&format!(
                "<rect class=\"tw-column\" fill=\"{INK}\" fill-opacity=\"0\" x=\"{}\" y=\"{}\" width=\"{}\" \
                 height=\"{}\"><title>{}</title></rect>",
                px(left),
                px(TOP),
                px((right - left).max(0.0)),
                px(BOTTOM - TOP),
                escape(&self.values_at(x))
            ));
        }
    }

    /// Values of x that have a column, and where.
    fn places(&self) -> Vec<(f64, f64)> {
        let marks = self.series.iter().flat_map(|series| series.points.iter().flatten());
        let mut places: Vec<(f64, f64)> =
            marks.filter_map(|mark| Some((mark.x, self.px_x(mark.x)?))).collect();
        places.sort_by(|a, b| a.1.total_cmp(&b.1));
        // What the eye cannot tell apart has one column.
        places.dedup_by(|next, kept| next.1 - kept.1 < 0.5);
        let each = places.len().div_ceil(COLUMNS_MAX).max(1);
        places.into_iter().step_by(each).collect()
    }

    /// A line for each series that has a value there, below the place.
    fn values_at(&self, x: f64) -> String {
        let near = |series: &Series| -> Option<usize> {
            let points = series.points.iter().enumerate();
            let marks = points.filter_map(|(at, mark)| Some((at, mark.as_ref()?.x)));
            let same = |other: f64| Some((self.px_x(other)? - self.px_x(x)?).abs() < 0.5);
            marks.filter(|(_, other)| same(*other) == Some(true)).map(|(at, _)| at).next()
        };
        let mut text = String::new();
        for series in &self.series {
            let Some(Mark { at, value, .. }) =
                near(series).and_then(|point| series.points[point].as_ref())
            else {
                continue;
            };
            if text.is_empty() {
                text.push_str(&format!("at {at}"));
            }
            text.push_str(&format!("\n{}: {value}", series.label));
        }
        text
    }
}
