//! Pictures of bars that lie, one row below another: gains of several cases, and tornados.

use super::chart::{Key, legend_at, rows};
use super::look::Look;
use super::scale::Scale;
use super::{Anchor, INK, Svg, Voice, escape, fitting, ink_on, px, series_colour};

/// A picture of lying bars.
#[derive(Clone, PartialEq, Debug)]
pub struct Ranges {
    /// What it shows.
    pub title: String,
    /// More on it.
    pub subtitle: String,
    /// The quantity of the horizontal axis, with its unit.
    pub axis: String,
    /// A value that is drawn as a line through all rows, such as zero or the middle of a tornado.
    pub base: f64,
    /// Names of the series, for the legend; each has a colour.
    pub series: Vec<String>,
    /// The name of the rows' marks.
    pub mark: String,
    /// From top to bottom.
    pub rows: Vec<RangeRow>,
}

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeRow {
    /// Stands before it; what does not fit is cut.
    pub label: String,
    /// Its bars.
    pub bars: Vec<RangeBar>,
    /// A value to compare with, drawn as a line across the row.
    pub mark: Option<f64>,
}

/// One bar.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeBar {
    /// Where it begins and ends, in any order.
    pub ends: (f64, f64),
    /// Bars of one lane lie on one level; lanes lie below one another.
    pub lane: usize,
    /// Index of its series.
    pub series: usize,
    /// Stands in it, as far as there is room.
    pub name: String,
    /// Shown on hover.
    pub tip: String,
}

const LEFT: f64 = 190.0;
const RIGHT: f64 = Look::WHOLE.units() - 24.0;
const TOP: f64 = 66.0;
const LANE: f64 = 12.0;
const GAP: f64 = 10.0;
/// Height of the letters of names in bars, and the least room for one, as other text has it.
const NAME: f64 = 9.0;
const NAME_MIN: f64 = 20.0;

impl Ranges {
    /// The finished picture, an SVG document without outside references.
    #[must_use]
    pub fn svg(&self) -> String {
        let bottom = TOP + self.rows.iter().map(height).sum::<f64>();
        let legend = rows(Look::WHOLE, self.keys().into_iter());
        let height_all = bottom + 60.0 + legend.len() as f64 * 20.0;
        let mut svg = Svg::new(Look::WHOLE, height_all, &self.title, &self.subtitle);
        let scale = self.scale();
        self.grid(&mut svg, &scale, bottom);
        let mut top = TOP;
        for row in &self.rows {
            draw(&mut svg, row, &scale, top);
            top += height(row);
        }
        let base = place(&scale, self.base);
        svg.rule((base, TOP), (base, bottom), true);
        legend_at(&mut svg, &legend, bottom + 58.0);
        svg.finish(&format!("{}: {}", self.title, self.subtitle))
    }

    fn scale(&self) -> Scale {
        let bars = self.rows.iter().flat_map(|row| &row.bars);
        let mut values: Vec<f64> = bars.flat_map(|bar| [bar.ends.0, bar.ends.1]).collect();
        values.extend(self.rows.iter().filter_map(|row| row.mark));
        values.push(self.base);
        Scale::around(&values, 0.04)
    }

    fn grid(&self, svg: &mut Svg, scale: &Scale, bottom: f64) {
        for tick in scale.ticks() {
            let x = place(scale, tick);
            svg.rule((x, TOP), (x, bottom), false);
            let text = format!("{tick:.*}", scale.decimals());
            svg.text((x, bottom + 17.0), Anchor::Middle, Voice::Muted, &text);
        }
        let middle = (f64::midpoint(LEFT, RIGHT), bottom + 36.0);
        svg.text(middle, Anchor::Middle, Voice::Ink, &self.axis);
    }

    fn keys(&self) -> Vec<Key> {
        let series = self.series.iter().enumerate().map(|(index, label)| {
            let (class, colour) = series_colour(index);
            let drawing = format!(
                "<rect class=\"{class}\" color=\"{colour}\" x=\"6\" y=\"-6\" width=\"14\" height=\"12\" \
                 fill=\"currentColor\"/>"
            );
            Key { label: label.clone(), drawing }
        });
        let marks = self.rows.iter().any(|row| row.mark.is_some());
        let mark = marks.then(|| Key { label: self.mark.clone(), drawing: mark(13.0, -8.0, 16.0) });
        series.chain(mark).collect()
    }
}

fn height(row: &RangeRow) -> f64 {
    let lanes = row.bars.iter().map(|bar| bar.lane + 1).max().unwrap_or(1);
    lanes as f64 * LANE + GAP
}

fn draw(svg: &mut Svg, row: &RangeRow, scale: &Scale, top: f64) {
    let middle = top + height(row) / 2.0 + 4.0;
    svg.text((LEFT - 10.0, middle), Anchor::End, Voice::Ink, &fitting(&row.label, LEFT - 16.0));
    for bar in &row.bars {
        let (class, colour) = series_colour(bar.series);
        let (one, other) = (place(scale, bar.ends.0), place(scale, bar.ends.1));
        let y = top + GAP / 2.0 + bar.lane as f64 * LANE;
        svg.raw(&format!(
            "<rect class=\"{class}\" color=\"{colour}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" \
             fill=\"currentColor\"><title>{}</title></rect>",
            px(one.min(other)),
            px(y),
            px((one - other).abs().max(0.8)),
            px(LANE - 2.0),
            escape(&format!("{}, {}", row.label, bar.tip))
        ));
        named(svg, bar, (one.min(other), y), (one - other).abs());
    }
    if let Some(value) = row.mark {
        svg.raw(&mark(place(scale, value), top + 2.0, height(row) - 4.0));
    }
}

/// A bar's name in it, smaller than other text.
fn named(svg: &mut Svg, bar: &RangeBar, (x, y): (f64, f64), width: f64) {
    let room = (width - 4.0) * 12.0 / NAME;
    if bar.name.is_empty() || room < NAME_MIN {
        return;
    }
    svg.raw(&format!(
        "<text class=\"tw-on\" fill=\"{}\" font-size=\"{NAME}\" pointer-events=\"none\" x=\"{}\" y=\"{}\">{}</text>",
        ink_on(bar.series),
        px(x + 2.0),
        px(y + 8.0),
        escape(&fitting(&bar.name, room))
    ));
}

/// A line across a row.
fn mark(x: f64, top: f64, height: f64) -> String {
    let (x, top, height) = (px(x), px(top), px(height));
    format!(
        "<path class=\"tw-reference\" stroke=\"{INK}\" stroke-width=\"2\" d=\"M{x} {top}v{height}\"/>"
    )
}

fn place(scale: &Scale, value: f64) -> f64 {
    LEFT + scale.at_or_low(value) * (RIGHT - LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Ranges {
        let bar = |ends, lane| RangeBar {
            ends,
            lane,
            series: lane,
            name: "<n>".into(),
            tip: "<tip>".into(),
        };
        let row = |label: &str, bars, mark| RangeRow { label: label.into(), bars, mark };
        Ranges {
            title: "Gains".into(),
            subtitle: "by the model".into(),
            axis: "%".into(),
            base: 0.0,
            series: vec!["throughput".into(), "latency".into()],
            mark: "printed".into(),
            rows: vec![
                row("one", vec![bar((0.0, 15.8), 0), bar((0.0, -9.1), 1)], Some(15.7)),
                row("a name that is much longer than its place", vec![bar((0.0, 1.6), 0)], None),
            ],
        }
    }

    #[test]
    fn each_bar_is_drawn_and_named_and_all_else_escaped() {
        let svg = picture().svg();
        assert_eq!(svg.matches("&lt;tip&gt;").count(), 3);
        assert!(svg.contains("&lt;n&gt;</text>"), "there is room in the longest: {svg}");
        assert!(svg.contains(">printed<") && svg.contains("a name that is much long"), "{svg}");
        assert!(!svg.contains("longer than its place</text>"));
    }

    #[test]
    fn bars_below_zero_begin_left_of_it() {
        let ranges = picture();
        let scale = ranges.scale();
        assert!(place(&scale, -9.1) < place(&scale, 0.0) && place(&scale, -9.1) > LEFT);
    }

    #[test]
    fn nothing_to_draw_is_still_a_picture() {
        let empty = Ranges { rows: Vec::new(), ..picture() };
        assert!(empty.svg().ends_with("</svg>\n"));
    }
}
