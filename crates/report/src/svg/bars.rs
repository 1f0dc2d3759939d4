//! Stacked bars in small panels, one panel per controller.

use super::chart::{Key, legend_at, rows};
use super::look::{Look, Width};
use super::{Anchor, Svg, Voice, escape, fitting, px};

/// What a picture of stacked bars shows.
pub(crate) struct Stacks {
    pub(crate) look: Look,
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// Name and colour class index of each layer, from the bottom.
    pub(crate) layers: Vec<Layer>,
    pub(crate) panels: Vec<Panel>,
    /// Name of the horizontal axis.
    pub(crate) x_label: String,
}

/// One layer of every bar.
pub(crate) struct Layer {
    pub(crate) label: &'static str,
    pub(crate) colour: &'static str,
}

/// The bars of one controller.
pub(crate) struct Panel {
    pub(crate) label: String,
    pub(crate) bars: Vec<Bar>,
}

/// One bar: shares that add up to one, in the order of the layers; empty draws nothing.
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) shares: Vec<f64>,
}

const TOP: f64 = 96.0;
const PANEL: f64 = 180.0;
const ROW: f64 = PANEL + 82.0;
const LEFT: f64 = 56.0;

impl Stacks {
    /// The finished picture.
    pub(crate) fn svg(&self) -> String {
        let columns = match self.look.width {
            Width::Wide => self.panels.len().clamp(1, 2),
            Width::Narrow => 1,
        };
        let panel_rows = self.panels.len().div_ceil(columns).max(1);
        let legend = rows(
            self.look,
            self.layers.iter().map(|layer| Key {
                label: layer.label.to_owned(),
                drawing: format!(
                    "<rect x=\"6\" y=\"-6\" width=\"14\" height=\"12\" fill=\"{}\"/>",
                    layer.colour
                ),
            }),
        );
        let bottom = TOP - 16.0 + panel_rows as f64 * ROW;
        let mut svg = Svg::new(
            self.look,
            bottom + 8.0 + legend.len() as f64 * 20.0,
            &self.title,
            &self.subtitle,
        );
        let pitch = (self.look.units() - 16.0) / columns as f64;
        for (i, panel) in self.panels.iter().enumerate() {
            let left = LEFT + (i % columns) as f64 * pitch;
            let top = TOP + (i / columns) as f64 * ROW;
            self.panel(&mut svg, panel, (left, top), pitch - LEFT - 8.0);
        }
        if self.panels.is_empty() {
            let middle = (self.look.units() / 2.0, TOP + PANEL / 2.0);
            svg.text(middle, Anchor::Middle, Voice::Muted, "no valid value to show");
        }
        legend_at(&mut svg, &legend, bottom + 8.0);
        svg.finish(&format!("{}: {}", self.title, self.subtitle))
    }

    fn panel(&self, svg: &mut Svg, panel: &Panel, (left, top): (f64, f64), width: f64) {
        svg.text((left, top - 12.0), Anchor::Start, Voice::Ink, &fitting(&panel.label, width));
        for step in 0..=4 {
            let y = top + PANEL * (1.0 - f64::from(step) / 4.0);
            svg.rule((left, y), (left + width, y), false);
            let text = format!("{} %", step * 25);
            svg.text((left - 6.0, y + 4.0), Anchor::End, Voice::Muted, &text);
        }
        let pitch = width / panel.bars.len().max(1) as f64;
        // Labels as wide as bars would run together.
        let every = (42.0 / pitch).ceil().max(1.0) as usize;
        for (i, bar) in panel.bars.iter().enumerate() {
            let middle = left + (i as f64 + 0.5) * pitch;
            self.bar(svg, bar, (middle, top), (pitch * 0.7).min(56.0));
            if i % every == 0 {
                let at = (middle, top + PANEL + 17.0);
                svg.text(at, Anchor::Middle, Voice::Muted, &bar.label);
            }
        }
        svg.rule((left, top + PANEL), (left + width, top + PANEL), true);
        let middle = (left + width / 2.0, top + PANEL + 34.0);
        svg.text(middle, Anchor::Middle, Voice::Ink, &self.x_label);
    }

    fn bar(&self, svg: &mut Svg, bar: &Bar, (middle, top): (f64, f64), width: f64) {
        let mut below = 0.0;
        for (layer, share) in self.layers.iter().zip(&bar.shares) {
            if *share <= 0.0 {
                continue;
            }
            let tip = format!("{} at {}: {:.2} %", layer.label, bar.label, share * 100.0);
            svg.raw(&format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" \
                 fill=\"{}\"><title>{}</title></rect>",
                px(middle - width / 2.0),
                px(top + PANEL * (1.0 - below - share)),
                px(width),
                px(PANEL * share),
                layer.colour,
                escape(&tip)
            ));
            below += share;
        }
    }
}
