//! From values to positions, with ticks where people expect them.

/// How an axis maps its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Linear,
    Log,
}

/// A domain and its mapping to 0–1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
}

impl Scale {
    /// From zero to the first tick at or above the largest value, for quantities that begin at
    /// nothing.
    pub(crate) fn from_zero(values: &[f64]) -> Self {
        let largest = range(values).map_or(0.0, |(_, high)| high);
        let high = if largest > 0.0 { largest } else { 1.0 };
        let mut scale = Self { kind: Kind::Linear, low: 0.0, high };
        let step = scale.step();
        scale.high = (high / step * 0.999).ceil() * step;
        scale
    }

    /// From the smallest to the largest value, with a margin on each side.
    pub(crate) fn around(values: &[f64], margin: f64) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        let pad = if high > low { (high - low) * margin } else { (low.abs() * 0.5).max(0.5) };
        Self { kind: Kind::Linear, low: low - pad, high: high + pad }
    }

    /// Logarithmic over the positive values, widened to 1, 2 or 5 times a power of ten. It is a decade at least, so
    /// that small noise does not fill the picture.
    pub(crate) fn log(values: &[f64]) -> Self {
        let positive: Vec<f64> = values.iter().copied().filter(|v| *v > 0.0).collect();
        let (low, high) = range(&positive).unwrap_or((1.0, 10.0));
        let (mut low, mut high) = (round_down(low), round_up(high));
        if high < low * 10.0 {
            let widen = (low * 10.0 / high).sqrt();
            (low, high) = (round_down(low / widen), round_up(high * widen));
        }
        Self { kind: Kind::Log, low, high }
    }

    /// Position in the domain, 0–1, values outside held at its ends; `None` where it has none.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        if !value.is_finite() {
            return None;
        }
        let part = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log if value <= 0.0 => return None,
            Kind::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        Some(part.clamp(0.0, 1.0))
    }

    /// As [`Scale::at`], where a value that a logarithm cannot show lies at the lower end.
    pub(crate) fn at_or_low(&self, value: f64) -> f64 {
        self.at(value).unwrap_or(0.0)
    }

    /// Values that deserve a line and a label.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        match self.kind {
            Kind::Linear => self.linear_ticks(),
            Kind::Log => self.log_ticks(),
        }
    }

    /// Decimals that tell linear ticks apart.
    pub(crate) fn decimals(&self) -> usize {
        let step = self.step();
        (0..3).find(|d| ((step * 10f64.powi(*d)).fract()).abs() < 1e-6).unwrap_or(3) as usize
    }

    /// A round step that leaves four to eight ticks.
    fn step(&self) -> f64 {
        let raw = (self.high - self.low) / 6.0;
        let power = 10f64.powf(raw.log10().floor());
        let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|f| f * power >= raw * 0.999);
        factor.unwrap_or(10.0) * power
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let step = self.step();
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).take(32).map(|i| i as f64 * step).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let factors: &[f64] = if decades > 3.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        (first..=last)
            .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
            .filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001)
            .take(32)
            .collect()
    }
}

fn range(values: &[f64]) -> Option<(f64, f64)> {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    finite().next()?;
    Some((finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)))
}

fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor = [5.0, 2.0, 1.0].into_iter().find(|f| f * power <= value * 1.001);
    factor.unwrap_or(1.0) * power
}

fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= value * 0.999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round() {
        let scale = Scale::from_zero(&[66.0, 69.1]);
        assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(scale.decimals(), 0);
    }

    #[test]
    fn log_ticks_span_the_data() {
        let scale = Scale::log(&[120.0, 1_900.0]);
        assert_eq!(scale.ticks(), [100.0, 200.0, 500.0, 1_000.0, 2_000.0]);
        assert_eq!(scale.at(0.0), None);
        assert_eq!(scale.at(100.0), Some(0.0));
    }

    #[test]
    fn nothing_and_one_value_still_make_a_scale() {
        for scale in [
            Scale::from_zero(&[]),
            Scale::from_zero(&[0.0, f64::NAN]),
            Scale::around(&[2.0], 0.05),
            Scale::around(&[], 0.05),
            Scale::log(&[]),
            Scale::log(&[300.0]),
        ] {
            let ticks = scale.ticks();
            assert!((2..=32).contains(&ticks.len()), "{scale:?} has ticks {ticks:?}");
            assert!(ticks.iter().all(|tick| scale.at(*tick).is_some()), "{scale:?}");
        }
    }
}
