//! When a get is tried at a second replica, as people say it.

use tailwater_control::retry::{HedgeAfter, HedgeConfig};
use tailwater_core::Ratio;
use tailwater_core::duration::parse_duration;

/// What is needed where the word is none of these.
pub const NEEDED: &str = "off, a quantile as p95, or a delay as 500us";

/// Reads `off`, a quantile (`p95`: as long as 95 % of the gets took), or a delay (`500us`).
///
/// # Errors
/// [`NEEDED`] where it is none of these.
pub fn after(word: &str) -> Result<Option<HedgeAfter>, &'static str> {
    if word == "off" {
        return Ok(None);
    }
    let found = match word.strip_prefix('p') {
        Some(percent) => {
            percent.parse().ok().map(|it: f64| HedgeAfter::Quantile(Ratio(it / 100.0)))
        }
        None => parse_duration(word).ok().map(HedgeAfter::Delay),
    };
    let is_sound = |after: &HedgeAfter| with(*after).check().is_ok();
    found.filter(is_sound).map(Some).ok_or(NEEDED)
}

/// The rest as it is by default.
fn with(after: HedgeAfter) -> HedgeConfig {
    HedgeConfig { after, ..HedgeConfig::default() }
}

/// All of it, where it is not off: second tries for each hundred gets, and how many may come at once.
#[must_use]
pub fn config(after: Option<HedgeAfter>, percent: u8, burst: u32) -> Option<HedgeConfig> {
    let share = Ratio(f64::from(percent) / 100.0);
    Some(HedgeConfig { share, burst, ..with(after?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn words_are_read_and_what_is_none_is_refused() {
        let quantile = |share| Ok(Some(HedgeAfter::Quantile(Ratio(share))));
        assert_eq!((after("off"), after("p95")), (Ok(None), quantile(0.95)));
        assert_eq!(after("p99.9").map(|it| it.is_some()), Ok(true));
        let delay = Duration::from_micros(500);
        assert_eq!(after("500us"), Ok(Some(HedgeAfter::Delay(delay))));
        for word in ["", "p", "p0", "p100", "pnan", "0us", "95", "on"] {
            assert_eq!(after(word), Err(NEEDED), "{word}");
        }
    }

    #[test]
    fn without_a_time_there_is_nothing_to_spend() {
        assert_eq!(config(None, 5, 10), None);
        let found = config(Some(HedgeAfter::Quantile(Ratio(0.9))), 20, 3).expect("it is on");
        assert_eq!((found.share, found.burst, found.check()), (Ratio(0.2), 3, Ok(())));
    }
}
