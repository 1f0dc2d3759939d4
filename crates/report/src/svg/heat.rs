//! Tables whose cells are shaded by their numbers.

use super::look::Look;
use super::{Anchor, INK, Svg, Voice, escape, fitting, px, series_colour, text_width};
use crate::format::{NOTHING, significant};

/// A heat table: a number in each cell, and a shade that says how large it is among all.
#[derive(Clone, PartialEq, Debug)]
pub struct Heat {
    /// What it shows.
    pub title: String,
    /// More on it.
    pub subtitle: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<HeatRow>,
}

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatRow {
    /// Stands before it; what does not fit is cut.
    pub label: String,
    /// A number for each column, where one is known.
    pub values: Vec<Option<f64>>,
}

const LEFT: f64 = 170.0;
const RIGHT: f64 = Look::WHOLE.units() - 16.0;
const HEAD: f64 = 62.0;
const ROW: f64 = 20.0;
/// Names of columns stand upright where they would touch each other.
const UPRIGHT: f64 = 110.0;
/// The darkest shade: ink on it can be read, in light and dark.
const OPACITY_MAX: f64 = 0.6;

impl Heat {
    /// The finished picture, an SVG document without outside references.
    #[must_use]
    pub fn svg(&self) -> String {
        let width = (RIGHT - LEFT) / self.columns.len().max(1) as f64;
        let is_upright = self.columns.iter().any(|name| text_width(name) > width - 4.0);
        let top = if is_upright { HEAD + UPRIGHT } else { HEAD + 14.0 };
        let bottom = top + self.rows.len() as f64 * ROW;
        let mut svg = Svg::new(Look::WHOLE, bottom + 16.0, &self.title, &self.subtitle);
        for (at, name) in self.columns.iter().enumerate() {
            head(&mut svg, (LEFT + (at as f64 + 0.5) * width, top - 6.0), is_upright, name);
        }
        let range = Range::of(self.rows.iter().flat_map(|row| &row.values).flatten().copied());
        for (at, row) in self.rows.iter().enumerate() {
            let y = top + at as f64 * ROW;
            svg.text(
                (LEFT - 8.0, y + 14.0),
                Anchor::End,
                Voice::Ink,
                &fitting(&row.label, LEFT - 12.0),
            );
            for (column, value) in row.values.iter().enumerate() {
                let name = self.columns.get(column).map_or("", String::as_str);
                let tip = format!("{}, {name}: {}", row.label, shown(*value));
                cell(&mut svg, (LEFT + column as f64 * width, y, width), (*value, &range), &tip);
            }
        }
        svg.finish(&format!("{}: {}", self.title, self.subtitle))
    }
}

/// The numbers above zero, whose logarithms decide the shades.
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (value.min(low), value.max(high));
        }
        Self { low, high }
    }

    /// From 0 for nothing and the smallest to 1.
    fn shade(&self, value: f64) -> f64 {
        if !value.is_finite() || value <= 0.0 {
            return 0.0;
        }
        let span = (self.high / self.low).ln();
        if span > 0.0 { (value / self.low).ln() / span } else { 1.0 }
    }
}

fn head(svg: &mut Svg, (x, y): (f64, f64), is_upright: bool, name: &str) {
    if !is_upright {
        return svg.text((x, y), Anchor::Middle, Voice::Muted, name);
    }
    let (x, y, name) = (px(x + 4.0), px(y), escape(name));
    svg.raw(&format!(
        "<text class=\"tw-ink\" fill=\"{INK}\" font-size=\"12\" transform=\"translate({x} {y}) rotate(-90)\">{name}</text>"
    ));
}

fn cell(
    svg: &mut Svg,
    (x, y, width): (f64, f64, f64),
    (value, range): (Option<f64>, &Range),
    tip: &str,
) {
    let (class, colour) = series_colour(0);
    let opacity = OPACITY_MAX * value.map_or(0.0, |value| range.shade(value));
    svg.raw(&format!(
        "<rect class=\"{class}\" color=\"{colour}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"currentColor\" \
         fill-opacity=\"{opacity:.2}\"><title>{}</title></rect>",
        px(x + 1.0),
        px(y + 1.0),
        px(width - 2.0),
        px(ROW - 2.0),
        escape(tip)
    ));
    let shown = shown(value);
    if text_width(&shown) <= width {
        svg.text((x + width / 2.0, y + 14.0), Anchor::Middle, Voice::Ink, &shown);
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), significant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(columns: usize) -> Heat {
        let row = |label: &str, factor: f64| HeatRow {
            label: label.into(),
            values: (0..columns)
                .map(|at| (at != 1).then_some(factor * 10_f64.powi(at as i32 - 1)))
                .collect(),
        };
        Heat {
            title: "Calls".into(),
            subtitle: "per <query>".into(),
            columns: (0..columns).map(|at| format!("clock_nanosleep & {at}")).collect(),
            rows: vec![row("one", 1.0), row("a label that is longer than its place is", 0.0)],
        }
    }

    #[test]
    fn every_cell_has_its_number_and_names_are_escaped() {
        let svg = heat(3).svg();
        assert_eq!(svg.matches("<rect class=\"tw-s0\"").count(), 6);
        assert_eq!(svg.matches("<title>").count(), 6);
        assert!(svg.contains("one, clock_nanosleep &amp; 2: 10.0") && svg.contains(": –"), "{svg}");
        assert!(!svg.contains("rotate") && heat(12).svg().contains("rotate(-90)"));
        assert!(svg.contains('…') && !svg.contains("<query>"));
    }

    #[test]
    fn shades_follow_logarithms_and_nothing_has_none() {
        let range = Range::of([0.0, 0.1, 10.0, f64::NAN].into_iter());
        assert_eq!(
            [0.0, 0.1, 10.0, f64::NAN].map(|value| range.shade(value)),
            [0.0, 0.0, 1.0, 0.0]
        );
        assert!((range.shade(1.0) - 0.5).abs() < 1e-9);
        assert_eq!(Range::of([3.0].into_iter()).shade(3.0), 1.0);
        assert!(Heat { rows: Vec::new(), ..heat(0) }.svg().ends_with("</svg>\n"));
    }
}
