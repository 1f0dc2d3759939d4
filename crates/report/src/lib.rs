//! Turns an [`Experiment`](tailwater_stats::result::Experiment) into what a person reads. There is a sentence
//! ([`line_summary`]), a terminal table ([`table()`]) or its few columns for a first look ([`brief()`]). There are
//! SVG pictures ([`plots()`]), and one HTML page that opens without a network ([`html()`]).
//!
//! Every function is pure and returns text: this crate prints nothing, writes no file, and reads no
//! clock. It never averages percentiles and never shows an invalid run as a result.
//!
//! The pictures come from a small SVG writer of our own (`svg`). They must follow the reader's light or dark mode,
//! name their values on hover, and need no font at hand.

#![forbid(unsafe_code)]

mod format;
mod grid;
mod model;
mod quantity;
mod recovery;

mod columns;
mod sortable;
mod classes;
mod tiers;
mod locks;
mod faults;
mod glossary;
mod notes;
mod sentences;

mod brief;
mod csv;
mod shell;
mod html;
mod agreement;
mod comparison;
mod illustrated;
mod flame;
mod picture;
mod plots;
mod svg;
mod table;

pub use agreement::{TOLERANCE_POINTS, comparison_table, different_settings};
pub use brief::brief;
pub use comparison::comparison;
pub use csv::{comparison_csv, runs_csv, series_csv, tiers_csv};
pub use flame::{FlameBar, FlameGraph, FlameGraphs};
pub use format::{ColumnUnit, count, demand, percent, time, wrap, wrap_indented};
pub use grid::{grid, grid_within};
pub use html::html;
pub use illustrated::{illustrated, timelines};
pub use picture::{AxisKind, LineStyle, Picture, PictureAxis, PictureLine, Stated};
pub use plots::{Plot, plots};
pub use sentences::line_summary;
pub use shell::{STYLE, TITLE_END};
pub use svg::escape;
pub use svg::heat::{Heat, HeatRow};
pub use svg::look::{Look, Width};
pub use svg::ranges::{RangeBar, RangeRow, Ranges};
pub use svg::timeline::{Timeline, TimelineArrow, TimelineBar, TimelineRow};
pub use svg::violins::{Violin, Violins};
pub use table::{TableStyle, table};
