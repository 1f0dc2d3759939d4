//! What the options of `record` may be.

use std::time::Duration;
use tailwater_core::duration::parse_duration;

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = |digits: &str| digits.trim().parse::<f64>().ok();
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    share
        .filter(|share| (0.001..=1.0).contains(share))
        .ok_or_else(|| format!("'{text}' found; a share from 0.1% to 100% is needed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_percentages_or_fractions() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.2"), Ok(0.2));
        for text in ["", "%", "0", "200%", "NaN", "-5%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
