//! Percentiles as they are asked for: `p99.9`.

/// `p99` or `99.9%` as a quantile.
pub(super) fn percentile(text: &str) -> Result<f64, String> {
    let digits = text.strip_prefix('p').or_else(|| text.strip_suffix('%'));
    let percent = digits.and_then(|digits| digits.parse::<f64>().ok());
    percent
        .filter(|percent| (0.0..100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| {
            format!("'{text}' found; a percentile below p100 is needed, such as p99 or p99.9")
        })
}

/// As it is asked for.
pub(super) fn percentile_name(quantile: f64) -> String {
    // Of 0.99 and its like no digit is a rounding's.
    format!("p{}", (quantile * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_below_a_hundred() {
        for (text, quantile) in [("p99", 0.99), ("p0", 0.0), ("99.9%", 0.999)] {
            assert!((percentile(text).expect("a percentile") - quantile).abs() < 1e-12, "{text}");
        }
        for text in ["", "p", "99", "p100", "p-1", "pNaN"] {
            assert!(percentile(text).is_err(), "{text}");
        }
    }
}
