//! A chart of lines over one x axis, with reference lines, spread and legend.

mod columns;
mod steps;

use super::look::Look;
use super::scale::Scale;
use super::{
    Anchor, INK, MUTED, PAPER, Svg, Voice, escape, fitting, px, series_colour, text_width,
};

/// Everything that a picture shows.
pub(crate) struct Chart {
    pub(crate) look: Look,
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    pub(crate) references: Vec<Reference>,
    /// Where demand changes; drawn as a strip above.
    pub(crate) steps: Vec<Step>,
}

/// One axis.
pub(crate) struct Axis {
    /// Name with unit.
    pub(crate) label: String,
    pub(crate) scale: Scale,
    /// Text of a tick; the scale's decimals are its second argument.
    pub(crate) tick: fn(f64, usize) -> String,
}

/// One controller.
pub(crate) struct Series {
    /// Decides colour and marker.
    pub(crate) index: usize,
    pub(crate) label: String,
    /// `None` breaks the line.
    pub(crate) points: Vec<Option<Mark>>,
    /// Spread as a band without markers, for many points; else as bars.
    pub(crate) dense: bool,
}

/// One value with its range.
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Both as people read them, shown on hover: where, and what.
    pub(crate) at: String,
    pub(crate) value: String,
}

/// A change of demand.
pub(crate) struct Step {
    pub(crate) x: f64,
    /// What it becomes; the highest fills the strip.
    pub(crate) demand: f64,
    pub(crate) label: String,
}

/// A line to compare with.
pub(crate) struct Reference {
    pub(crate) label: String,
    /// Dash pattern, which tells references apart without colour.
    pub(crate) dash: &'static str,
    /// Its corners; a single one stands for a level across the picture.
    pub(crate) points: Vec<(f64, f64)>,
}

const LEFT: f64 = 72.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 372.0;
const LEGEND_ROW: f64 = 20.0;

impl Chart {
    /// The finished picture.
    pub(crate) fn svg(&self) -> String {
        let rows = self.legend_rows();
        let height = BOTTOM + 56.0 + rows.len() as f64 * LEGEND_ROW;
        let mut svg = Svg::new(self.look, height, &self.title, &self.subtitle);
        self.grid(&mut svg);
        self.draw_steps(&mut svg);
        self.draw_columns(&mut svg);
        for series in self.series.iter().filter(|series| series.dense) {
            self.band(&mut svg, series);
        }
        for reference in &self.references {
            self.reference(&mut svg, reference);
        }
        for series in &self.series {
            self.line(&mut svg, series);
        }
        if !self.series.iter().any(|series| series.points.iter().any(Option::is_some)) {
            let middle = ((LEFT + self.right()) / 2.0, (TOP + BOTTOM) / 2.0);
            svg.text(middle, Anchor::Middle, Voice::Muted, "no valid value to show");
        }
        legend(&mut svg, &rows);
        svg.finish(&format!("{}: {}", self.title, self.subtitle))
    }

    fn right(&self) -> f64 {
        self.look.units() - 20.0
    }

    fn px_x(&self, x: f64) -> Option<f64> {
        Some(LEFT + self.x.scale.at(x)? * (self.right() - LEFT))
    }

    fn px_y(&self, y: f64) -> Option<f64> {
        Some(BOTTOM - self.y.scale.at(y)? * (BOTTOM - TOP))
    }

    fn px_range(&self, y: f64) -> f64 {
        BOTTOM - self.y.scale.at_or_low(y) * (BOTTOM - TOP)
    }

    fn grid(&self, svg: &mut Svg) {
        for tick in self.y.scale.ticks() {
            let Some(y) = self.px_y(tick) else { continue };
            svg.rule((LEFT, y), (self.right(), y), false);
            let text = (self.y.tick)(tick, self.y.scale.decimals());
            svg.text((LEFT - 8.0, y + 4.0), Anchor::End, Voice::Muted, &text);
        }
        for tick in self.x.scale.ticks() {
            let Some(x) = self.px_x(tick) else { continue };
            svg.rule((x, TOP), (x, BOTTOM), false);
            svg.rule((x, BOTTOM), (x, BOTTOM + 5.0), true);
            let text = (self.x.tick)(tick, self.x.scale.decimals());
            svg.text((x, BOTTOM + 19.0), Anchor::Middle, Voice::Muted, &text);
        }
        svg.rule((LEFT, BOTTOM), (self.right(), BOTTOM), true);
        svg.text((16.0, 67.0), Anchor::Start, Voice::Ink, &self.y.label);
        let middle = ((LEFT + self.right()) / 2.0, BOTTOM + 38.0);
        svg.text(middle, Anchor::Middle, Voice::Ink, &self.x.label);
    }

    fn reference(&self, svg: &mut Svg, reference: &Reference) {
        let corners: Vec<Option<(f64, f64)>> = match reference.points.as_slice() {
            [(_, level)] => {
                let y = self.px_y(*level);
                vec![y.map(|y| (LEFT, y)), y.map(|y| (self.right(), y))]
            }
            many => many.iter().map(|(x, y)| Some((self.px_x(*x)?, self.px_y(*y)?))).collect(),
        };
        svg.raw(&format!("{}{}\"/>", reference_pen(reference.dash), path(&corners)));
    }

    fn line(&self, svg: &mut Svg, series: &Series) {
        let (class, colour) = series_colour(series.index);
        let placed: Vec<Option<(f64, f64)>> = series
            .points
            .iter()
            .map(|mark| {
                let mark = mark.as_ref()?;
                Some((self.px_x(mark.x)?, self.px_y(mark.y)?))
            })
            .collect();
        let width = if series.dense { 1.4 } else { 2.0 };
        svg.raw(&format!("<g class=\"{class}\" color=\"{colour}\">"));
        svg.raw(&format!(
            "<path pointer-events=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\" stroke-linejoin=\"round\" \
             stroke-linecap=\"round\" d=\"{}\"/>",
            path(&placed)
        ));
        if !series.dense {
            for (mark, place) in series.points.iter().flatten().zip(placed.iter().flatten()) {
                svg.raw(&self.bar(mark, place.0));
                let tip = format!("{} at {}: {}", series.label, mark.at, mark.value);
                svg.raw(&marker(series.index, *place, &tip));
            }
        }
        svg.raw("</g>");
    }

    /// From the smallest to the largest repetition.
    fn bar(&self, mark: &Mark, x: f64) -> String {
        let (top, bottom) = (self.px_range(mark.high), self.px_range(mark.low));
        let (left, right) = (px(x - 4.0), px(x + 4.0));
        let (x, top, bottom) = (px(x), px(top), px(bottom));
        format!(
            "<path pointer-events=\"none\" stroke=\"currentColor\" stroke-width=\"1.2\" opacity=\"0.7\" \
             d=\"M{x} {top}L{x} {bottom}M{left} {top}L{right} {top}M{left} {bottom}L{right} \
             {bottom}\"/>"
        )
    }

    fn band(&self, svg: &mut Svg, series: &Series) {
        let (class, colour) = series_colour(series.index);
        let mut outline = String::new();
        for stretch in series.points.split(Option::is_none) {
            let marks: Vec<(f64, f64, f64)> = stretch
                .iter()
                .flatten()
                .filter_map(|mark| {
                    let x = self.px_x(mark.x)?;
                    Some((x, self.px_range(mark.high), self.px_range(mark.low)))
                })
                .collect();
            if marks.len() < 2 {
                continue;
            }
            let up = marks.iter().map(|(x, high, _)| Some((*x, *high)));
            let down = marks.iter().rev().map(|(x, _, low)| Some((*x, *low)));
            outline.push_str(&path(&up.chain(down).collect::<Vec<_>>()));
            outline.push('Z');
        }
        svg.raw(&format!(
            "<path pointer-events=\"none\" class=\"{class}\" color=\"{colour}\" fill=\"currentColor\" \
             opacity=\"0.18\" \
             d=\"{outline}\"/>"
        ));
    }

    /// Keys of the legend, broken into rows: label and drawing.
    fn legend_rows(&self) -> Vec<Vec<Key>> {
        let series = self
            .series
            .iter()
            .map(|series| Key { label: series.label.clone(), drawing: series_key(series) });
        let references = self.references.iter().map(|reference| Key {
            label: reference.label.clone(),
            drawing: format!("{}M0 0L26 0\"/>", reference_pen(reference.dash)),
        });
        rows(self.look, series.chain(references))
    }
}

/// One entry of a legend.
pub(crate) struct Key {
    pub(crate) label: String,
    /// Elements around (0, 0) to (26, 0).
    pub(crate) drawing: String,
}

impl Key {
    fn width(&self) -> f64 {
        KEY + text_width(&self.label)
    }
}

/// Room of a key beside its label.
const KEY: f64 = 34.0 + 14.0;
/// Room on either side of a legend.
const LEGEND_SIDE: f64 = 16.0;

/// Breaks a legend into rows that fit the picture; a label that is too long for a row is cut.
pub(crate) fn rows(look: Look, keys: impl Iterator<Item = Key>) -> Vec<Vec<Key>> {
    let mut rows: Vec<Vec<Key>> = Vec::new();
    let mut used = f64::INFINITY;
    for key in keys {
        let label = fitting(&key.label, look.units() - 2.0 * LEGEND_SIDE - KEY);
        let key = Key { label, ..key };
        if used + key.width() > look.units() - LEGEND_SIDE {
            rows.push(Vec::new());
            used = LEGEND_SIDE;
        }
        used += key.width();
        if let Some(row) = rows.last_mut() {
            row.push(key);
        }
    }
    rows
}

/// Draws the legend under a chart.
fn legend(svg: &mut Svg, rows: &[Vec<Key>]) {
    legend_at(svg, rows, BOTTOM + 64.0);
}

/// Draws a legend whose first row has its middle at `y`.
pub(crate) fn legend_at(svg: &mut Svg, rows: &[Vec<Key>], mut y: f64) {
    for row in rows {
        let mut x = 16.0;
        for key in row {
            svg.raw(&format!(
                "<g transform=\"translate({} {})\">{}</g>",
                px(x),
                px(y - 4.0),
                key.drawing
            ));
            svg.text((x + 34.0, y), Anchor::Start, Voice::Ink, &key.label);
            x += key.width();
        }
        y += LEGEND_ROW;
    }
}

fn series_key(series: &Series) -> String {
    let (class, colour) = series_colour(series.index);
    let mark = if series.dense { String::new() } else { marker(series.index, (13.0, 0.0), "") };
    format!(
        "<g class=\"{class}\" color=\"{colour}\"><path stroke=\"currentColor\" stroke-width=\"2\" \
         d=\"M0 0L26 0\"/>{mark}</g>"
    )
}

fn reference_pen(dash: &str) -> String {
    format!(
        "<path pointer-events=\"none\" class=\"tw-reference\" stroke=\"{INK}\" stroke-width=\"1.3\" opacity=\"0.75\" \
         stroke-dasharray=\"{dash}\" d=\""
    )
}

/// A shape for each controller, so that colour is not needed to tell them apart.
fn marker(index: usize, (x, y): (f64, f64), tip: &str) -> String {
    let shape = match index % 4 {
        0 => format!("M{} {}m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z", px(x), px(y)),
        1 => format!("M{} {}m-4 -4h8v8h-8Z", px(x), px(y)),
        2 => format!("M{} {}m0 -5.5l5 9h-10Z", px(x), px(y)),
        _ => format!("M{} {}m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5Z", px(x), px(y)),
    };
    let title =
        if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) };
    format!(
        "<path class=\"tw-mark\" fill=\"currentColor\" stroke=\"{PAPER}\" d=\"{shape}\">{title}</path>"
    )
}

/// Moves and lines; a gap lifts the pen.
fn path(points: &[Option<(f64, f64)>]) -> String {
    let mut out = String::new();
    let mut down = false;
    for point in points {
        if let Some((x, y)) = point {
            out.push(if down { 'L' } else { 'M' });
            out.push_str(&format!("{} {}", px(*x), px(*y)));
        }
        down = point.is_some();
    }
    out
}
