//! Where the requests went: stacked bars, one panel per controller.

use super::{Frame, Plot};
use crate::format;
use crate::model::{Line, Point};
use crate::svg::bars::{Bar, Layer, Panel, Stacks};

const LAYERS: [Layer; 5] = [
    Layer { label: "in time", colour: "#009e73" },
    Layer { label: "late", colour: "#e69f00" },
    Layer { label: "expired at the client", colour: "#56b4e9" },
    Layer { label: "shed by the server", colour: "#0072b2" },
    Layer { label: "lost", colour: "#c2410c" },
];

/// The fates of all valid repetitions together.
pub(super) fn plot(frame: &Frame<'_>) -> Plot {
    let title = "Fates of all intended requests";
    let how = "all valid repetitions";
    let svg = Stacks {
        look: frame.look,
        title: title.to_owned(),
        subtitle: frame.subtitle(how),
        layers: Vec::from(LAYERS),
        panels: frame.group.lines.iter().filter_map(panel).collect(),
        x_label: "demand (× capacity)".to_owned(),
    }
    .svg();
    frame.plot("fates", title, how, svg)
}

fn panel(line: &Line<'_>) -> Option<Panel> {
    let bars: Vec<Bar> = line.points.iter().map(bar).collect();
    let any = bars.iter().any(|bar| !bar.shares.is_empty());
    any.then(|| Panel { label: line.label.clone(), bars })
}

fn bar(point: &Point<'_>) -> Bar {
    let fates = point.fates();
    let total = fates.total() as f64;
    let counts = [fates.ok, fates.late, fates.expired, fates.shed, fates.lost];
    let shares = if total > 0.0 {
        counts.iter().map(|count| *count as f64 / total).collect()
    } else {
        Vec::new()
    };
    Bar { label: format::demand(point.demand), shares }
}
