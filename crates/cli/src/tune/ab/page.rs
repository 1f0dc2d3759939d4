//! The page of a comparison: the curve of evidence, and the effect with its interval.

use super::outcome::Outcome;
use super::text;
use crate::failure::Failure;
use crate::folder::Folder;
use tailwater_report::{
    AxisKind, LineStyle, Picture, PictureAxis, PictureLine, Stated, illustrated,
};
use tailwater_tune::ab::Look;

/// JSON, pictures and page.
pub(super) fn write(folder: &Folder<'_>, outcome: &Outcome<'_>, json: &str) -> Result<(), Failure> {
    let looks = (outcome.looks, outcome.look_seconds);
    let pictures = [("evidence", evidence(looks, outcome.level)), ("effect", effect(outcome))];
    let pictures = pictures.map(|(name, picture)| (name.to_owned(), picture.svg()));
    folder.write("tune.json", json)?;
    for (name, svg) in &pictures {
        folder.write(&format!("{name}.svg"), svg)?;
    }
    let title = format!("{}: {}", title(outcome), outcome.metric);
    let page =
        illustrated(&title, text::verdict(outcome).as_deref(), &text::of(outcome), &pictures);
    folder.write("index.html", &page)
}

fn title(outcome: &Outcome<'_>) -> String {
    let knobs = outcome.b.iter().map(|(name, value)| {
        let against = outcome.a.get(name).map_or("", String::as_str);
        format!("{name}={value} against {against}")
    });
    knobs.collect::<Vec<_>>().join(", ")
}

fn axis(label: &str, kind: AxisKind) -> PictureAxis {
    PictureAxis { label: label.into(), kind }
}

fn line(label: &str, looks: &[Look], value: impl Fn(&Look) -> Option<f64>) -> PictureLine {
    let point = |look: &Look| Some((f64::from(look.quads), value(look)?));
    let points = looks.iter().filter_map(point).collect();
    PictureLine { label: label.into(), points, style: LineStyle::Dense }
}

/// The curve of evidence against no difference, over the seconds of its looks.
pub(in crate::tune) fn evidence((looks, seconds): (&[Look], &[f64]), level: f64) -> Picture {
    let shown = 1.0 / level;
    let points = seconds.iter().zip(looks).map(|(seconds, look)| (seconds / 60.0, look.evidence));
    let evidence =
        PictureLine { label: "evidence".into(), points: points.collect(), style: LineStyle::Dense };
    Picture {
        title: "Evidence".into(),
        subtitle: "that A and B differ, after each quad; valid at every look".into(),
        x: axis("minutes", AxisKind::FromZero),
        y: axis("evidence against no difference", AxisKind::Log),
        lines: vec![evidence],
        stated: vec![Stated {
            label: format!("a difference is shown: {shown:.0}"),
            x: (f64::NEG_INFINITY, f64::INFINITY),
            y: shown,
        }],
    }
}

fn effect(outcome: &Outcome<'_>) -> Picture {
    let percent = |log_ratio: f64| log_ratio.exp_m1() * 100.0;
    let end = |end: fn((f64, f64)) -> f64| {
        move |look: &Look| look.interval.map(|interval| percent(end(interval)))
    };
    let matters = outcome.effect_that_matters * 100.0;
    let level = |label: String, y: f64| Stated { label, x: (f64::NEG_INFINITY, f64::INFINITY), y };
    Picture {
        title: "Effect".into(),
        subtitle: format!("{} of B against A, with its interval", outcome.metric),
        x: axis("quads", AxisKind::FromZero),
        y: axis("change, %", AxisKind::Around),
        lines: vec![
            line("mean", outcome.looks, |look| Some(percent(look.mean))),
            line("interval, lower end", outcome.looks, end(|interval| interval.0)),
            line("interval, upper end", outcome.looks, end(|interval| interval.1)),
        ],
        stated: vec![
            level("no change".into(), 0.0),
            level(format!("effect that matters: ±{matters} %"), matters),
            level(String::new(), -matters),
        ],
    }
}
