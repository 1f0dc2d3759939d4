//! The asymptotic confidence sequence, for comparison.

use super::mixture::Level;

/// Mean ± σ̂·√(2(nρ² + 1)/(n²ρ²)·ln(√(nρ² + 1)/α)) of `effects` (Waudby-Smith et al. 2021).
///
/// `None` below two effects. `rho` is this sequence's own ρ, a number without unit: the larger, the earlier it is
/// tightest. The level holds in the limit only, for independent effects; at few quads it does not.
#[must_use]
pub fn asymptotic_interval(effects: &[f64], level: Level, rho: f64) -> Option<(f64, f64)> {
    if effects.len() < 2 {
        return None;
    }
    let n = effects.len() as f64;
    let mean = effects.iter().sum::<f64>() / n;
    let variance = effects.iter().map(|effect| (effect - mean).powi(2)).sum::<f64>() / n;
    let grown = n * rho * rho + 1.0;
    let factor = 2.0 * grown / (n * rho).powi(2) * (grown.sqrt() / level.alpha()).ln();
    let margin = (variance * factor).sqrt();
    Some((mean - margin, mean + margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // Mean 1, σ̂ 1, n = 4, ρ = 0.5: nρ² + 1 = 2; √(2·2/4·ln(√2/0.05)) = √ln 28.28427….
        let (low, high) =
            asymptotic_interval(&[0.0, 0.0, 2.0, 2.0], Level::FIVE_PERCENT, 0.5).unwrap();
        let margin = (2.0_f64.sqrt() / 0.05).ln().sqrt();
        assert!((low - (1.0 - margin)).abs() < 1e-12, "{low}");
        assert!((high - (1.0 + margin)).abs() < 1e-12, "{high}");
    }

    #[test]
    fn one_effect_has_no_interval() {
        assert_eq!(asymptotic_interval(&[1.0], Level::FIVE_PERCENT, 0.5), None);
    }
}
