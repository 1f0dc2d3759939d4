//! Pictures of distributions that lie, one row below another: how wide a row is says how many requests took so long.

use super::look::Look;
use super::scale::Scale;
use super::{Anchor, INK, Svg, Voice, escape, fitting, px, series_colour};
use crate::format::{round_time, time};

/// A picture of distributions of times, on one logarithmic axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Violins {
    /// What it shows.
    pub title: String,
    /// More on it.
    pub subtitle: String,
    /// The quantity of the horizontal axis.
    pub axis: String,
    /// From top to bottom.
    pub rows: Vec<Violin>,
}

/// One distribution.
#[derive(Clone, PartialEq, Debug)]
pub struct Violin {
    /// Stands before it; what does not fit is cut.
    pub label: String,
    /// Shares from 0 to 1, and the time in µs that they do not exceed; both rising.
    pub shares: Vec<(f64, f64)>,
}

const LEFT: f64 = 150.0;
const RIGHT: f64 = Look::WHOLE.units() - 24.0;
const TOP: f64 = 66.0;
const ROW: f64 = 56.0;
/// Of a row, the widest part on each side of its middle.
const HALF: f64 = 24.0;
/// Places along the axis at which a width is drawn.
const PLACES: usize = 90;

impl Violins {
    /// The finished picture, an SVG document without outside references.
    #[must_use]
    pub fn svg(&self) -> String {
        let bottom = TOP + self.rows.len() as f64 * ROW;
        let mut svg = Svg::new(Look::WHOLE, bottom + 48.0, &self.title, &self.subtitle);
        let times: Vec<f64> = self
            .rows
            .iter()
            .flat_map(|row| row.shares.iter().map(|&(_, us)| us.max(LEAST_US)))
            .collect();
        let scale = Scale::log(&times);
        for tick in scale.ticks() {
            let x = place(&scale, tick);
            svg.rule((x, TOP), (x, bottom), false);
            svg.text((x, bottom + 17.0), Anchor::Middle, Voice::Muted, &round_time(tick));
        }
        let middle = (f64::midpoint(LEFT, RIGHT), bottom + 36.0);
        svg.text(middle, Anchor::Middle, Voice::Ink, &self.axis);
        for (at, row) in self.rows.iter().enumerate() {
            row.draw(&mut svg, &scale, (at, TOP + (at as f64 + 0.5) * ROW));
        }
        svg.finish(&format!("{}: {}", self.title, self.subtitle))
    }
}

/// Nothing is drawn left of it: a logarithm has no zero.
const LEAST_US: f64 = 0.1;

impl Violin {
    fn draw(&self, svg: &mut Svg, scale: &Scale, (at, middle): (usize, f64)) {
        svg.text(
            (LEFT - 10.0, middle + 4.0),
            Anchor::End,
            Voice::Ink,
            &fitting(&self.label, LEFT - 16.0),
        );
        let outline = self.outline();
        if outline.is_empty() {
            return;
        }
        let point = |&(us, width): &(f64, f64), side: f64| {
            format!("{} {}", px(place(scale, us)), px(middle + side * width * HALF))
        };
        let there = outline.iter().map(|it| point(it, -1.0));
        let back = outline.iter().rev().map(|it| point(it, 1.0));
        let path = there.chain(back).collect::<Vec<_>>().join("L");
        let (class, colour) = series_colour(at);
        let marks = [("p50", 0.5, HALF), ("p99", 0.99, HALF / 2.0), ("p99.9", 0.999, HALF / 3.0)];
        let known: Vec<_> = marks
            .iter()
            .filter_map(|&(name, share, half)| Some((name, self.at(share)?, half)))
            .collect();
        let told: Vec<String> =
            known.iter().map(|(name, us, _)| format!("{name} {}", time(*us))).collect();
        svg.raw(&format!(
            "<path class=\"{class}\" color=\"{colour}\" fill=\"currentColor\" fill-opacity=\"0.55\" \
             stroke=\"currentColor\" stroke-width=\"1\" d=\"M{path}Z\"><title>{}</title></path>",
            escape(&format!("{}: {}", self.label, told.join(", ")))
        ));
        for (_, us, half) in known {
            let (x, top) = (px(place(scale, us)), px(middle - half));
            svg.raw(&format!(
                "<path class=\"tw-reference\" stroke=\"{INK}\" stroke-width=\"2\" d=\"M{x} {top}v{}\"/>",
                px(2.0 * half)
            ));
        }
    }

    /// Times, and of the widest part how wide it is there.
    fn outline(&self) -> Vec<(f64, f64)> {
        let (Some(first), Some(last)) = (self.shares.first(), self.shares.last()) else {
            return Vec::new();
        };
        let (low, high) = (first.1.max(LEAST_US).ln(), last.1.max(LEAST_US).ln());
        let step = ((high - low) / PLACES as f64).max(1e-6);
        let edge = |at: usize| (low + step * at as f64).exp();
        let mass =
            |at: usize| (self.share_below(edge(at + 1)) - self.share_below(edge(at))).max(0.0);
        let masses: Vec<f64> = (0..PLACES).map(mass).collect();
        let most = masses.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let middle = |at: usize| (low + step * (at as f64 + 0.5)).exp();
        masses.iter().enumerate().map(|(at, mass)| (middle(at), mass / most)).collect()
    }

    /// The share of requests that took no longer; between two shares as on a line of the logarithm.
    fn share_below(&self, us: f64) -> f64 {
        let after = self.shares.partition_point(|&(_, other)| other <= us);
        match (after.checked_sub(1).map(|at| self.shares[at]), self.shares.get(after)) {
            (None, _) => 0.0,
            (Some((share, _)), None) => share,
            (Some((share, from)), Some(&(next, to))) => {
                let part = (us / from.max(LEAST_US)).ln() / (to / from.max(LEAST_US)).ln();
                share + (next - share) * part.clamp(0.0, 1.0)
            }
        }
    }

    /// The time that this share does not exceed.
    fn at(&self, share: f64) -> Option<f64> {
        self.shares.iter().find(|&&(other, _)| other >= share).map(|&(_, us)| us.max(LEAST_US))
    }
}

fn place(scale: &Scale, us: f64) -> f64 {
    LEFT + scale.at_or_low(us) * (RIGHT - LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violin(shares: &[(f64, f64)]) -> Violin {
        Violin { label: "<100>".into(), shares: shares.to_vec() }
    }

    #[test]
    fn it_is_widest_where_most_requests_are() {
        let row = violin(&[(0.0, 10.0), (0.1, 100.0), (0.9, 120.0), (1.0, 10_000.0)]);
        let outline = row.outline();
        let (us, width) = outline.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).expect("some");
        assert!((100.0..=125.0).contains(&us) && width == 1.0, "{us} {width}");
        assert!(outline.iter().filter(|(us, _)| *us > 200.0).all(|(_, width)| *width < 0.2));
        assert!((row.share_below(110.0) - 0.5).abs() < 0.05 && row.share_below(1e9) == 1.0);
        assert_eq!((row.at(0.5), row.at(0.99)), (Some(120.0), Some(10_000.0)));
    }

    #[test]
    fn rows_are_named_and_escaped_and_nothing_to_draw_is_still_a_picture() {
        let of = |rows| Violins {
            title: "Latency".into(),
            subtitle: "s".into(),
            axis: "latency".into(),
            rows,
        };
        let svg = of(vec![violin(&[(0.5, 100.0), (1.0, 300.0)]), violin(&[])]).svg();
        assert!(svg.contains("&lt;100&gt;: p50 100 µs, p99 300 µs"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(of(Vec::new()).svg().ends_with("</svg>\n"));
        // All alike: no width of the axis to divide.
        assert!(!of(vec![violin(&[(0.5, 7.0), (1.0, 7.0)])]).svg().contains("NaN"));
    }
}
