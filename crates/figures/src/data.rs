//! What a figure's file holds.

use crate::measure::nearly;
use serde::Deserialize;
use std::fmt;
use tailwater_report::LineStyle;
use tailwater_stats::result::Run;

pub use crate::claim::{Bound, Claim, Unit};
pub use crate::measure::{At, Form, Measure, Reading};
pub use crate::over_time::Stretch;
pub use crate::quantity::{Course, Dimension, Quantity};

/// One figure of a publication.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// As on the command line.
    pub paper: String,
    /// As in the publication.
    pub number: u32,
    /// What it shows, in our words.
    pub title: String,
    /// What is simulated: names of files in `scenarios/paper/`. Figures that share one share its runs.
    pub scenarios: Vec<String>,
    /// What is drawn.
    #[serde(default, rename = "panel")]
    pub panels: Vec<Panel>,
    /// What the text states about it.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

impl Figure {
    /// The scenarios that a panel draws.
    #[must_use]
    pub fn drawn_from<'a>(&'a self, panel: &'a Panel) -> &'a [String] {
        if panel.from.is_empty() { &self.scenarios } else { &panel.from }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.paper, self.number)
    }
}

/// One picture of a figure. Runs of the same label, up to ` · `, make a line.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// The file is called `PAPER-figN-NAME.svg`.
    pub name: String,
    /// What it shows beside the figure's title.
    pub title: String,
    /// Which of the figure's scenarios it draws; left out: all.
    #[serde(default)]
    pub from: Vec<String>,
    /// Which of their runs; left out: all.
    #[serde(default)]
    pub keep: Keep,
    /// What is drawn of them.
    pub drawn: Drawn,
    /// What the text states about it.
    #[serde(default)]
    pub stated: Vec<Mark>,
}

/// See [`Panel::keep`].
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Demand ÷ capacity, within 1 %.
    pub demand_ratio: Option<f64>,
    /// How the label begins.
    pub label: Option<String>,
}

impl Keep {
    pub(crate) fn takes(&self, run: &Run) -> bool {
        self.demand_ratio.is_none_or(|ratio| nearly(run.asked.demand_ratio, ratio))
            && self.label.as_ref().is_none_or(|label| run.asked.profile.starts_with(label))
    }
}

/// See [`Panel::drawn`].
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Drawn {
    /// A point for each run.
    Points {
        /// The horizontal axis.
        x: Quantity,
        /// The vertical axis.
        y: Quantity,
        /// Joined or scattered.
        #[serde(default)]
        style: PointStyle,
    },
    /// A line over time for each run of a scenario with steps.
    OverTime(Course),
}

/// How points are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointStyle {
    /// By lines, in the order of the runs.
    #[default]
    Joined,
    /// Alone.
    Scattered,
}

impl From<PointStyle> for LineStyle {
    fn from(style: PointStyle) -> Self {
        match style {
            PointStyle::Joined => Self::Joined,
            PointStyle::Scattered => Self::Scattered,
        }
    }
}

/// A value that the text states; never one read off a picture.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// What and where: `801 k/s at capacity (§5.2)`.
    pub label: String,
    /// Where it begins on the horizontal axis; left out: at its left end.
    #[serde(default = "left_end")]
    pub from: f64,
    /// Where it ends; left out: at its right end.
    #[serde(default = "right_end")]
    pub to: f64,
    /// The value in the vertical axis' unit.
    pub y: f64,
}

const fn left_end() -> f64 {
    f64::NEG_INFINITY
}

const fn right_end() -> f64 {
    f64::INFINITY
}
