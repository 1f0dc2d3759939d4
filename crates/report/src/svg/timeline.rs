//! Time lines: what several threads did at the same time, from left to right.
//!
//! A page's script draws the elements of one anew for a part of the time. What it needs for that stands in their `data-`
//! attributes; without it, the whole is shown.

use super::look::Look;
use super::scale::Scale;
use super::{Anchor, INK, PAPER, Svg, Voice, escape, fitting, ink_on, px, series_colour};
use crate::format::printable;
use std::fmt::Write as _;

/// A time line. Times are nanoseconds on one axis, whose zero its title or subtitle tells.
#[derive(Clone, PartialEq, Debug)]
pub struct Timeline {
    /// What it shows.
    pub title: String,
    /// More on it.
    pub subtitle: String,
    /// From when to when.
    pub ends: (i64, i64),
    /// What bars are of; each has a colour.
    pub series: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<TimelineRow>,
    /// From who waited to what was waited for.
    pub arrows: Vec<TimelineArrow>,
}

/// What one thread did.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineRow {
    /// Stands above it.
    pub label: String,
    /// Its bars.
    pub bars: Vec<TimelineBar>,
}

/// Something that lasted for some time.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineBar {
    /// When it began and ended.
    pub ends: (i64, i64),
    /// By how much each of these may be wrong, in both directions: an error bar where it is wide enough to be seen.
    pub unsure: (u64, u64),
    /// Bars of one lane lie on one level; lanes lie below one another.
    pub lane: usize,
    /// Index of its series.
    pub series: usize,
    /// Stands in it, as far as there is room.
    pub name: String,
    /// Shown on hover.
    pub tip: String,
}

/// An arrow from one lane to another at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineArrow {
    /// When.
    pub at: i64,
    /// Row and lane at its beginning.
    pub from: (usize, usize),
    /// Row and lane at its head.
    pub to: (usize, usize),
    /// Shown on hover.
    pub tip: String,
}

/// The script has the same distance on both sides.
const LEFT: f64 = 16.0;
const RIGHT: f64 = Look::BARE.units() - LEFT;
const TOP: f64 = Look::BARE.cut() + 4.0;
/// Room for the times below.
const AXIS: f64 = 26.0;
/// From a row's label to its first lane, from lane to lane, and below the last.
const LABEL: f64 = 18.0;
const LANE: f64 = 17.0;
const GAP: f64 = 10.0;
/// Height of a bar. Its error bars lie between it and the next lane, where no colour is behind them.
const BAR: f64 = 12.0;
/// Height of the letters in bars, and the least room for a name, as other text has it.
const NAME: f64 = 11.0;
const NAME_MIN: f64 = 20.0;
/// Narrower error bars are not drawn.
const ERROR_MIN: f64 = 3.0;

/// Columns before a terminal's rows, and how wide these are at least and at most.
const INDENT: usize = 2;
const COLUMNS: (usize, usize) = (30, 400);

/// Units of time, in nanoseconds.
const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];

impl Timeline {
    /// The figure of a page.
    pub(crate) fn figure(&self, id: &str) -> String {
        format!(
            "<figure class=\"timeline\" id=\"{}\">\n<figcaption><b>{}</b><br/>{}</figcaption>\n{}{}</figure>\n",
            escape(id),
            escape(&self.title),
            escape(&self.subtitle),
            self.keys(),
            self.svg()
        )
    }

    /// The same for a terminal: a line for each lane, with the names of bars in them. Dots are where a bar may have begun
    /// or ended.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let width = width.saturating_sub(INDENT).clamp(COLUMNS.0, COLUMNS.1);
        let column = |at: i64| (self.share(at) * width as f64).round() as usize;
        let step = (self.ends.1 - self.ends.0) as f64 / width as f64;
        let [from, to] = [self.ends.0, self.ends.1].map(|at| clock(at as f64, step * 10.0));
        let between = width.saturating_sub(from.chars().count() + to.chars().count());
        let indent = " ".repeat(INDENT);
        let mut out = format!("{indent}{from}{}{to}\n", " ".repeat(between));
        for row in &self.rows {
            let _ = writeln!(out, "{indent}{}", printable(&row.label));
            for lane in 0..lanes(row) {
                let mut bars: Vec<_> = row.bars.iter().filter(|bar| bar.lane == lane).collect();
                // What is short is seen on what is long.
                bars.sort_by_key(|bar| std::cmp::Reverse(bar.ends.1 - bar.ends.0));
                let mut cells = vec![' '; width];
                bars.iter().for_each(|bar| put(&mut cells, bar, column));
                let line: String = cells.into_iter().collect();
                let _ = writeln!(out, "{indent}{}", line.trim_end());
            }
        }
        out
    }

    /// Where a time lies, from 0 to 1.
    fn share(&self, at: i64) -> f64 {
        let whole = (self.ends.1 - self.ends.0).max(1);
        (at.saturating_sub(self.ends.0) as f64 / whole as f64).clamp(0.0, 1.0)
    }

    fn x(&self, at: i64) -> f64 {
        LEFT + self.share(at) * (RIGHT - LEFT)
    }

    /// The colours of what there is.
    fn keys(&self) -> String {
        let bars = || self.rows.iter().flat_map(|row| &row.bars);
        let of = |(index, name): (usize, &String)| {
            let (class, colour) = series_colour(index);
            format!(
                "<li><svg viewBox=\"0 0 14 12\" width=\"14\" height=\"12\" aria-hidden=\"true\"><rect class=\"{class}\" \
                 color=\"{colour}\" width=\"14\" height=\"12\" fill=\"currentColor\"/></svg> {}</li>\n",
                escape(name)
            )
        };
        let all = self.series.iter().enumerate();
        let used = all.filter(|(index, _)| bars().any(|bar| bar.series == *index));
        format!("<ul class=\"keys\">\n{}</ul>\n", used.map(of).collect::<String>())
    }

    fn svg(&self) -> String {
        let tops = self.tops();
        let bottom = TOP + self.rows.iter().map(height).sum::<f64>();
        let mut svg = Svg::new(Look::BARE, bottom + AXIS, "", "");
        svg.raw(&format!(
            "<rect class=\"tw-ground\" fill=\"{PAPER}\" fill-opacity=\"0\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" \
             data-from=\"{}\" data-to=\"{}\"/>",
            px(LEFT),
            px(TOP),
            px(RIGHT - LEFT),
            px(bottom - TOP),
            self.ends.0,
            self.ends.1
        ));
        self.times(&mut svg, bottom);
        for (row, top) in self.rows.iter().zip(&tops) {
            row.bars.iter().for_each(|bar| self.bar(&mut svg, row, bar, lane_top(*top, bar.lane)));
        }
        self.errors(&mut svg, &tops);
        self.arrows.iter().for_each(|arrow| self.arrow(&mut svg, arrow, &tops));
        // Arrows go through them.
        for (row, top) in self.rows.iter().zip(&tops) {
            svg.raw(&format!(
                "<text class=\"tw-ink tw-mark\" fill=\"{INK}\" font-size=\"12\" paint-order=\"stroke\" \
                 stroke=\"{PAPER}\" stroke-width=\"4\" pointer-events=\"none\" x=\"{}\" y=\"{}\">{}</text>",
                px(LEFT),
                px(top + 12.0),
                escape(&fitting(&row.label, RIGHT - LEFT))
            ));
        }
        svg.finish(&format!("{}: {}", self.title, self.subtitle))
    }

    /// The upper ends of all rows.
    fn tops(&self) -> Vec<f64> {
        let mut top = TOP;
        let next = |row: &TimelineRow| {
            let own = top;
            top += height(row);
            own
        };
        self.rows.iter().map(next).collect()
    }

    fn times(&self, svg: &mut Svg, bottom: f64) {
        let scale = Scale::around(&[self.ends.0 as f64, self.ends.1 as f64], 0.0);
        let ticks = scale.ticks();
        let step = ticks.windows(2).next().map_or(1.0, |pair| pair[1] - pair[0]);
        for tick in ticks {
            let x = self.x(tick as i64);
            svg.rule((x, TOP), (x, bottom), false);
            svg.text((x, bottom + 17.0), Anchor::Middle, Voice::Muted, &clock(tick, step));
        }
    }

    fn bar(&self, svg: &mut Svg, row: &TimelineRow, bar: &TimelineBar, top: f64) {
        let ((class, colour), ink) = (series_colour(bar.series), ink_on(bar.series));
        let (one, other) = (self.x(bar.ends.0), self.x(bar.ends.1));
        let unsure = match bar.unsure {
            (0, 0) => String::new(),
            (begin, end) => format!(" data-unsure=\"{begin} {end}\""),
        };
        svg.raw(&format!(
            "<rect class=\"tw-bar {class}\" color=\"{colour}\" fill=\"currentColor\" x=\"{}\" y=\"{}\" width=\"{}\" \
             height=\"{}\" data-from=\"{}\" data-to=\"{}\"{unsure} data-ink=\"{ink}\" data-name=\"{}\"><title>{}</title></rect>",
            px(one),
            px(top),
            px(width(other - one)),
            px(BAR),
            bar.ends.0,
            bar.ends.1,
            escape(&bar.name),
            escape(&format!("{}, {}", row.label, bar.tip))
        ));
        let room = (other - one - 4.0) * 12.0 / NAME;
        if !bar.name.is_empty() && room >= NAME_MIN {
            svg.raw(&format!(
                "<text class=\"tw-on tw-name\" fill=\"{ink}\" font-size=\"{NAME}\" pointer-events=\"none\" x=\"{}\" \
                 y=\"{}\">{}</text>",
                px(one + 2.0),
                px(top + 10.0),
                escape(&fitting(&bar.name, room))
            ));
        }
    }

    /// All of them as one line.
    fn errors(&self, svg: &mut Svg, tops: &[f64]) {
        let mut path = String::new();
        for (row, top) in self.rows.iter().zip(tops) {
            for bar in &row.bars {
                let y = px(lane_top(*top, bar.lane) + BAR + 1.0);
                for (at, unsure) in [(bar.ends.0, bar.unsure.0), (bar.ends.1, bar.unsure.1)] {
                    let unsure = i64::try_from(unsure).unwrap_or(i64::MAX);
                    let one = self.x(at.saturating_sub(unsure));
                    let other = self.x(at.saturating_add(unsure));
                    if other - one >= ERROR_MIN {
                        let _ = write!(path, "M{} {y}v3m0 -1.5H{}m0 -1.5v3", px(one), px(other));
                    }
                }
            }
        }
        svg.raw(&format!(
            "<path class=\"tw-reference tw-error\" pointer-events=\"none\" stroke=\"{INK}\" d=\"{path}\"/>"
        ));
    }

    fn arrow(&self, svg: &mut Svg, arrow: &TimelineArrow, tops: &[f64]) {
        let top = |(row, lane): (usize, usize)| tops.get(row).map(|top| lane_top(*top, lane));
        let (Some(from), Some(to)) = (top(arrow.from), top(arrow.to)) else { return };
        // From edge to edge, down or up.
        let line = if to > from {
            format!("M0 {}V{}m-3.5 -6l3.5 6l3.5 -6", px(from + BAR), px(to))
        } else {
            format!("M0 {}V{}m-3.5 6l3.5 -6l3.5 6", px(from), px(to + BAR))
        };
        svg.raw(&format!(
            "<g class=\"tw-arrow\" data-at=\"{}\" transform=\"translate({} 0)\"><path class=\"tw-mark\" stroke=\"{PAPER}\" \
             stroke-width=\"5\" d=\"{line}\"/><path class=\"tw-reference\" stroke=\"{INK}\" stroke-width=\"1.5\" \
             d=\"{line}\"/><title>{}</title></g>",
            arrow.at,
            px(self.x(arrow.at)),
            escape(&arrow.tip)
        ));
    }
}

/// At least one, so that a thread of which nothing is told has its place.
fn lanes(row: &TimelineRow) -> usize {
    row.bars.iter().map(|bar| bar.lane + 1).max().unwrap_or(1)
}

fn height(row: &TimelineRow) -> f64 {
    LABEL + lanes(row) as f64 * LANE + GAP
}

/// Of two bars that touch each is seen, and so is one that is too short for that.
fn width(long: f64) -> f64 {
    if long > 3.0 { long - 1.0 } else { long.max(0.8) }
}

fn lane_top(row: f64, lane: usize) -> f64 {
    row + LABEL + lane as f64 * LANE
}

/// A time in the largest unit that a step of the clock's hands fills.
fn clock(ns: f64, step: f64) -> String {
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| step >= *unit).unwrap_or(UNITS[3]);
    let decimals = usize::from((step / unit).fract() > 1e-9);
    let value = ns / unit;
    let value = if value.abs() < 0.05 { 0.0 } else { value };
    format!("{value:.decimals$} {name}")
}

/// A bar in a line of text. What it surely has is in brackets; what may be part of it has dots.
fn put(cells: &mut [char], bar: &TimelineBar, column: impl Fn(i64) -> usize) {
    let (one, other) = bar.ends;
    let [begin, end] =
        [bar.unsure.0, bar.unsure.1].map(|unsure| i64::try_from(unsure).unwrap_or(i64::MAX));
    let most = column(one.saturating_sub(begin))..column(other.saturating_add(end));
    let (from, to) = (column(one.saturating_add(begin)), column(other.saturating_sub(end)));
    cells[most.clone()].fill('·');
    match to.saturating_sub(from) {
        0 if most.is_empty() => cells[most.start.min(cells.len() - 1)] = '│',
        0 => {}
        1 => cells[from] = '│',
        room => {
            let name = printable(&bar.name);
            let letters = name.chars().count();
            let cut = if letters > room - 2 { room.saturating_sub(3) } else { letters };
            let rest = if cut < letters { "…" } else { "" };
            let name = name.chars().take(cut).chain(rest.chars());
            let filled = name.chain(std::iter::repeat('─')).take(room - 2);
            let drawn = std::iter::once('[').chain(filled).chain([']']);
            cells[from..to].iter_mut().zip(drawn).for_each(|(cell, letter)| *cell = letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn bar(ends: (i64, i64), lane: usize, series: usize, name: &str) -> TimelineBar {
        let (name, tip) = (name.to_owned(), format!("{name} <tip>"));
        TimelineBar { ends, unsure: (0, 0), lane, series, name, tip }
    }

    /// `requests` waits for what `snapshot` holds, from its second millisecond on.
    fn line() -> Timeline {
        let call =
            TimelineBar { unsure: (0, 2 * MS as u64), ..bar((0, 8 * MS), 1, 1, "handle<request>") };
        let waits = vec![bar((2 * MS, 6 * MS), 0, 0, "waits"), call];
        let holds = vec![bar((MS, 6 * MS), 0, 1, "snapshot")];
        let row = |label: &str, bars| TimelineRow { label: label.into(), bars };
        let to = (1, 0);
        Timeline {
            title: "Call 1".into(),
            subtitle: "what threads did".into(),
            ends: (0, 10 * MS),
            series: ["waiting", "in a function", "never"].map(str::to_owned).to_vec(),
            rows: vec![row("requests (1)", waits), row("snapshot (2)", holds)],
            arrows: vec![TimelineArrow { at: 2 * MS, from: (0, 0), to, tip: "held by".into() }],
        }
    }

    #[test]
    fn a_figure_has_all_that_a_part_of_it_is_drawn_from() {
        let figure = line().figure("call-1");
        for part in [
            "<figure class=\"timeline\" id=\"call-1\">",
            "data-from=\"0\" data-to=\"10000000\"/>",
            "data-from=\"0\" data-to=\"8000000\" data-unsure=\"0 2000000\"",
            "data-name=\"handle&lt;request&gt;\"",
            "<title>snapshot (2), snapshot &lt;tip&gt;</title>",
            ">2 ms</text>",
            "aria-label=\"Call 1: what threads did\"",
        ] {
            assert!(figure.contains(part), "{part} in {figure}");
        }
        assert!(!figure.contains("never"), "the legend has what there is");
    }

    #[test]
    fn an_arrow_leads_from_who_waits_to_what_is_held() {
        let line = line();
        let (tops, figure) = (line.tops(), line.figure("x"));
        let (from, to) = (lane_top(tops[0], 0) + BAR, lane_top(tops[1], 0));
        let arrow = format!("M0 {}V{}m", px(from), px(to));
        assert!(figure.contains(&arrow), "{arrow} in {figure}");
        let at = format!("data-at=\"2000000\" transform=\"translate({} 0)\"", px(line.x(2 * MS)));
        assert!(figure.contains(&at), "{at} in {figure}");
        let up = TimelineArrow { from: (1, 0), to: (0, 1), ..line.arrows[0].clone() };
        let up = Timeline { arrows: vec![up], ..line }.figure("x");
        let head = format!("M0 {}V{}m-3.5 6", px(to), px(lane_top(tops[0], 1) + BAR));
        assert!(up.contains(&head), "{head} in {up}");
        let nowhere = TimelineArrow { to: (7, 0), ..self::line().arrows[0].clone() };
        assert!(
            !Timeline { arrows: vec![nowhere], ..self::line() }.figure("x").contains("tw-arrow")
        );
    }

    #[test]
    fn an_error_bar_is_as_wide_as_an_end_may_be_wrong() {
        let line = line();
        let y = lane_top(line.tops()[0], 1) + BAR + 1.0;
        let (one, other) = (line.x(6 * MS), line.x(10 * MS));
        let drawn = format!("d=\"M{} {}v3m0 -1.5H{}m0 -1.5v3\"", px(one), px(y), px(other));
        let figure = line.figure("x");
        assert!(figure.contains(&drawn), "{drawn} in {figure}");
    }

    #[test]
    fn a_terminal_has_a_line_for_each_lane_and_dots_where_an_end_is_not_known() {
        let text = line().text(42);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "  0.0 ms                           10.0 ms",
                "  requests (1)",
                "          [waits─────────]",
                "  [handle<request>───────]················",
                "  snapshot (2)",
                "      [snapshot──────────]",
            ]
        );
    }

    #[test]
    fn what_is_short_or_nowhere_sure_is_still_seen_in_a_terminal() {
        let vague = TimelineBar {
            unsure: (9 * MS as u64, 9 * MS as u64),
            ..bar((4 * MS, 5 * MS), 1, 0, "v")
        };
        let point = bar((10 * MS, 10 * MS), 0, 0, "fault");
        let long = bar((0, 10 * MS), 0, 0, "a name that is much longer than its place");
        let row = TimelineRow { label: "t".into(), bars: vec![point, long, vague] };
        let text = Timeline { rows: vec![row], ..line() }.text(32);
        assert!(text.contains("  [a name that is much longer …│\n"), "{text}");
        assert!(text.ends_with(&format!("  {}\n", "·".repeat(30))), "{text}");
    }

    /// Threads may be called anything.
    #[test]
    fn no_name_moves_the_cursor_of_a_terminal() {
        let bars = vec![bar((0, 10 * MS), 0, 0, "a\u{1b}[2J\nb")];
        let row = TimelineRow { label: "t\u{1b}[2J\n".into(), bars };
        let text = Timeline { rows: vec![row], ..line() }.text(32);
        assert!(!text.contains('\u{1b}') && text.lines().count() == 3, "{text}");
    }

    #[test]
    fn times_are_in_the_unit_of_their_step() {
        for (ns, step, expected) in [
            (0.0, 2.0e6, "0 ms"),
            (-1e-9, 2.0e6, "0 ms"),
            (-5.0e6, 2.5e6, "-5.0 ms"),
            (248_153_000.0, 1_000.0, "248153 µs"),
            (7.0, 1.0, "7 ns"),
        ] {
            assert_eq!(clock(ns, step), expected);
        }
    }

    #[test]
    fn nothing_to_draw_is_still_a_picture() {
        let empty = Timeline { rows: vec![], arrows: vec![], ends: (5, 5), ..line() };
        assert!(empty.figure("x").contains("</svg>"));
        assert_eq!(empty.text(80).lines().count(), 1);
    }
}
