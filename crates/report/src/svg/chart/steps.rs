//! Demand as a strip above a chart, so that its course is seen and hides no data.

use super::{Anchor, BOTTOM, Chart, LEFT, MUTED, Step, Svg, TOP, Voice, px, text_width};

/// The strip's lower edge lies so far above the chart, and it is so high.
const GAP: f64 = 5.0;
const HEIGHT: f64 = 14.0;
/// More lines than these through the chart would be a curtain.
const LINES_MAX: usize = 16;

impl Chart {
    pub(super) fn draw_steps(&self, svg: &mut Svg) {
        if self.steps.is_empty() {
            return;
        }
        svg.text((self.right(), 67.0), Anchor::End, Voice::Muted, "strip: demand");
        let most = self.steps.iter().map(|step| step.demand).fold(0.0, f64::max);
        let ends = self.steps.iter().skip(1).map(|step| self.px_x(step.x));
        for (step, end) in self.steps.iter().zip(ends.chain([Some(self.right())])) {
            let (Some(from), Some(to)) = (self.px_x(step.x), end) else { continue };
            let height = if most > 0.0 { HEIGHT * step.demand / most } else { 0.0 };
            svg.raw(&format!(
                "<rect class=\"tw-strip\" fill=\"#d9dee4\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                px(from),
                px(TOP - GAP - height),
                px((to - from).max(0.0)),
                px(height)
            ));
        }
        self.draw_edges(svg);
        self.name_steps(svg);
    }

    fn draw_edges(&self, svg: &mut Svg) {
        if self.steps.len() > LINES_MAX {
            return;
        }
        for x in self.steps.iter().skip(1).filter_map(|step| self.px_x(step.x)) {
            let (x, from, to) = (px(x), px(TOP), px(BOTTOM));
            svg.raw(&format!(
                "<path class=\"tw-axis\" stroke=\"{MUTED}\" stroke-dasharray=\"1 3\" d=\"M{x} {from}L{x} {to}\"/>"
            ));
        }
    }

    /// The largest changes first, as far as there is room.
    fn name_steps(&self, svg: &mut Svg) {
        let change = |at: usize| match at.checked_sub(1) {
            Some(before) => (self.steps[at].demand - self.steps[before].demand).abs(),
            // From nothing.
            None => self.steps[at].demand,
        };
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by(|a, b| change(*b).total_cmp(&change(*a)));
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for Step { x, label, .. } in order.into_iter().map(|at| &self.steps[at]) {
            let Some(x) = self.px_x(*x) else { continue };
            let (from, to) = ((x + 2.0).max(LEFT), x + 2.0 + text_width(label));
            let is_free = taken.iter().all(|(first, last)| to < first - 4.0 || from > last + 4.0);
            if is_free && to <= self.right() {
                taken.push((from, to));
                svg.text((from, TOP - GAP - 2.0), Anchor::Start, Voice::Ink, label);
            }
        }
    }
}
