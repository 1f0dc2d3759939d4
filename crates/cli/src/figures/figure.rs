//! What a figure is: data that the paper's module fills in.

use super::results::Results;
use tailwater_report::LineStyle;
use tailwater_stats::result::{Run, Series};

/// One figure of a paper.
pub(crate) struct Figure {
    /// As on the command line.
    pub(crate) paper: &'static str,
    /// As in the paper.
    pub(crate) number: u32,
    /// What it shows, in our words.
    pub(crate) title: &'static str,
    /// What is simulated. Figures that share a scenario share its runs.
    pub(crate) scenarios: &'static [Source],
    /// What is drawn.
    pub(crate) panels: &'static [Panel],
    /// What the text states about it.
    pub(crate) claims: &'static [Claim],
}

/// A scenario file, embedded.
pub(crate) struct Source {
    /// Without folder and ending.
    pub(crate) name: &'static str,
    /// From the repository's root.
    pub(crate) file: &'static str,
    /// What is in it.
    pub(crate) text: &'static str,
}

/// A [`Source`] of `scenarios/paper/`.
macro_rules! source {
    ($name:literal) => {
        $crate::figures::figure::Source {
            name: $name,
            file: concat!("scenarios/paper/", $name, ".toml"),
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../scenarios/paper/",
                $name,
                ".toml"
            )),
        }
    };
}
pub(super) use source;

/// One picture of a figure. Runs of the same label, up to ` · `, make a line.
pub(crate) struct Panel {
    /// The file is called `PAPER-figN-NAME.svg`.
    pub(crate) name: &'static str,
    /// What it shows beside the figure's title.
    pub(crate) title: &'static str,
    /// Which of the figure's scenarios it draws.
    pub(crate) from: &'static [&'static str],
    /// Which of their runs.
    pub(crate) keep: fn(&Run) -> bool,
    /// What is drawn of them.
    pub(crate) drawn: Drawn,
    /// What the paper's text states about it.
    pub(crate) stated: &'static [Mark],
}

/// See [`Panel::drawn`].
pub(crate) enum Drawn {
    /// A point for each run.
    Points {
        /// The horizontal axis.
        x: &'static Quantity,
        /// The vertical axis.
        y: &'static Quantity,
        /// Joined or scattered.
        style: LineStyle,
    },
    /// A line over time for each run of a scenario with steps.
    Course(&'static Course),
}

/// Something of a run.
pub(crate) struct Quantity {
    /// Name with unit.
    pub(crate) label: &'static str,
    /// Its value in that unit; `None` where the run has none, such as the latency of no answers.
    pub(crate) of: fn(&Run) -> Option<f64>,
    /// How its axis is laid out.
    pub(crate) axis: tailwater_report::AxisKind,
}

/// Something of a run over time.
pub(crate) struct Course {
    /// Name with unit.
    pub(crate) label: &'static str,
    /// Its values, one for each bin.
    pub(crate) of: fn(&Series) -> &[f64],
    /// Multiplies them into that unit.
    pub(crate) unit: f64,
    /// How its axis is laid out. A logarithmic one leaves out zeros.
    pub(crate) axis: tailwater_report::AxisKind,
}

/// A value that the text states; never one read off a picture.
pub(crate) struct Mark {
    /// What and where: `801 k/s at capacity (§5.2)`.
    pub(crate) label: &'static str,
    /// From where to where on the horizontal axis.
    pub(crate) x: (f64, f64),
    /// The value in the vertical axis' unit.
    pub(crate) y: f64,
}

/// A number of the text that ours can be compared with.
pub(crate) struct Claim {
    /// What the number says.
    pub(crate) what: &'static str,
    /// Where it stands.
    pub(crate) place: &'static str,
    /// The paper's value.
    pub(crate) theirs: f64,
    /// `%`, `µs`, `ms`, `points`, `k/s` or `×`; how both values are printed.
    pub(crate) unit: &'static str,
    /// When ours counts as the same. Fixed before anything was compared for Breakwater; for Protego
    /// written down after first runs had been seen, which `docs/figures-protego.md` says too.
    pub(crate) agree: Agree,
    /// Labels that it is asked of, a row each.
    pub(crate) subjects: &'static [&'static str],
    /// Our value for a label.
    pub(crate) ours: fn(&Results, &str) -> Option<f64>,
}

/// See [`Claim::agree`].
#[derive(Clone, Copy)]
pub(crate) enum Agree {
    /// Ours is at least theirs.
    AtLeast,
    /// Ours is at most theirs.
    AtMost,
    /// Ours differs by so much of the unit at most.
    Within(f64),
    /// Ours is between theirs divided and multiplied by this, and of the same sign: for ratios and
    /// times whose size is what matters.
    Factor(f64),
}
