//! What a run with steps shows in one stretch of its course.

use serde::Deserialize;
use tailwater_stats::result::{Run, Series};

/// A part of the measured window, in seconds after its beginning.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Where it begins.
    pub from_s: f64,
    /// Where it ends.
    pub to_s: f64,
}

/// Goodput that counts as recovered, of what it converges to. The limit is ours; Breakwater's text names none.
const RECOVERED: f64 = 0.95;
/// So many bins in a row must hold, or a lucky one would count.
const LASTING: usize = 5;

/// Until goodput is as good as converged, to a bin; nothing where it converges to none.
pub(crate) fn recovery_us(run: &Run, stretch: Stretch) -> Option<f64> {
    let series = run.series.as_ref()?;
    let goodput = bins(&series.goodput_rps, series, stretch);
    let needed = RECOVERED * converged(&goodput).filter(|rps| *rps > 0.0)?;
    let mut stretches = goodput.windows(LASTING);
    let bins = stretches.position(|bins| bins.iter().all(|&goodput| goodput >= needed))?;
    Some(bins as f64 * series.bin_us)
}

/// Mean goodput of the last quarter.
pub(crate) fn converged_krps(run: &Run, stretch: Stretch) -> Option<f64> {
    let series = run.series.as_ref()?;
    Some(converged(&bins(&series.goodput_rps, series, stretch))? / 1e3)
}

/// Smallest goodput, of what it converges to.
pub(crate) fn dip_percent(run: &Run, stretch: Stretch) -> Option<f64> {
    let series = run.series.as_ref()?;
    let goodput = bins(&series.goodput_rps, series, stretch);
    let smallest = goodput.iter().copied().fold(f64::INFINITY, f64::min);
    Some(smallest / converged(&goodput)? * 100.0)
}

pub(crate) fn largest_p99_us(run: &Run, stretch: Stretch) -> Option<f64> {
    let series = run.series.as_ref()?;
    largest(&bins(&series.p99_us, series, stretch))
}

pub(crate) fn largest_reject_delay_us(run: &Run, stretch: Stretch) -> Option<f64> {
    let series = run.series.as_ref()?;
    largest(&bins(&series.reject_p50_us, series, stretch))
}

/// The bins whose middles lie in the stretch.
fn bins(values: &[f64], series: &Series, stretch: Stretch) -> Vec<f64> {
    let bin_s = series.bin_us / 1e6;
    let inside = |at: usize| (stretch.from_s..stretch.to_s).contains(&((at as f64 + 0.5) * bin_s));
    let numbered = values.iter().enumerate();
    numbered.filter(|(at, _)| inside(*at)).map(|(_, value)| *value).collect()
}

fn converged(goodput: &[f64]) -> Option<f64> {
    let last = &goodput[goodput.len() - goodput.len() / 4..];
    (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64)
}

fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max).filter(|value| *value > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten bins of 20 ms; the spike begins with the third.
    fn run() -> Run {
        let goodput_rps = vec![9.0, 9.0, 0.0, 4.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        let p99_us = vec![1.0, 900.0, 70.0, 80.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0];
        let reject_p50_us = vec![0.0; 10];
        let series =
            Series { bin_us: 20e3, goodput_rps, p99_us, reject_p50_us, ..Series::default() };
        Run { series: Some(series), ..Run::default() }
    }

    #[test]
    fn recovery_dip_and_peak_are_of_the_stretch_alone() {
        let spike = Stretch { from_s: 0.04, to_s: 0.2 };
        assert_eq!(recovery_us(&run(), spike), Some(40e3));
        assert_eq!(dip_percent(&run(), spike), Some(0.0));
        assert_eq!(largest_p99_us(&run(), spike), Some(80.0));
        assert_eq!(largest_reject_delay_us(&run(), spike), None, "nothing was refused");
        assert_eq!(converged_krps(&run(), spike), Some(0.01));
    }

    /// Each of its bins was as good as what it converged to, from the first on.
    #[test]
    fn a_collapse_is_no_recovery() {
        let spike = Stretch { from_s: 0.04, to_s: 0.2 };
        let mut collapsed = run();
        if let Some(series) = &mut collapsed.series {
            series.goodput_rps[2..].fill(0.0);
        }
        assert_eq!(recovery_us(&collapsed, spike), None);
        assert_eq!(converged_krps(&collapsed, spike), Some(0.0));
    }
}
