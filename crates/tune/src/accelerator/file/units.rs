//! Numbers with units: cycles, times, clock rates.

use tailwater_core::Nanos as _;
use tailwater_core::duration::parse_duration;
use tailwater_core::words::clip;

/// What a cost looks like, for errors.
pub(super) const COST: &str = "a cost such as \"2300 cycles\", or \"1us\" with a clock";

/// Cycles of a text such as `2300 cycles`, `2.3e9 cycles`, or, with a clock rate in GHz, `1us`.
pub(super) fn cycles(text: &str, clock_ghz: Option<f64>) -> Result<f64, String> {
    let found = || format!("is \"{}\"", clip(text));
    if let Some(number) = text.trim().strip_suffix("cycles").or(text.trim().strip_suffix("cycle")) {
        let number = number.trim().replace('_', "");
        return number.parse().map_err(|_| format!("{}; {COST} is needed", found()));
    }
    let Ok(time) = parse_duration(text) else {
        return Err(format!("{}; {COST} is needed", found()));
    };
    let ghz = clock_ghz.ok_or_else(|| {
        format!(
            "{}, a time, and there is no clock; add clock = \"2.3GHz\", or say it in cycles",
            found()
        )
    })?;
    Ok(time.nanos() as f64 * ghz)
}

/// GHz of a text such as `2.3GHz` or `2300 MHz`.
pub(super) fn ghz(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let scaled = [("GHz", 1.0), ("MHz", 1e3)].into_iter().find_map(|(unit, in_ghz)| {
        let number: f64 = trimmed.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number / in_ghz)
    });
    scaled.filter(|ghz| (0.001..=100.0).contains(ghz)).ok_or_else(|| {
        format!("is \"{}\"; a rate from 1MHz to 100GHz is needed, such as \"2.3GHz\"", clip(text))
    })
}

/// Rows of a file: bytes and offloads, with a comma between. The first line may be a heading.
pub(super) fn rows(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let row = |line: &str| {
        let (bytes, count) = line.split_once(',')?;
        Some((bytes.trim().parse().ok()?, count.trim().parse().ok()?))
    };
    let mut rows = Vec::new();
    for (number, line) in text.lines().map(str::trim).enumerate() {
        match row(line) {
            Some(found) => rows.push(found),
            None if number == 0 || line.is_empty() || line.starts_with('#') => {}
            None => {
                return Err(format!(
                    "line {} is \"{}\"; bytes and offloads are needed, such as 512,1200",
                    number + 1,
                    clip(line)
                ));
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_and_times_are_read() {
        assert_eq!(cycles("2300 cycles", None), Ok(2_300.0));
        assert_eq!(cycles("2.3e9cycles", None), Ok(2.3e9));
        assert_eq!(cycles("15_008 cycles", None), Ok(15_008.0));
        assert_eq!(cycles("1us", Some(2.3)), Ok(2_300.0));
        assert_eq!(ghz("2.3GHz"), Ok(2.3));
        assert_eq!(ghz("2300 MHz"), Ok(2.3));
    }

    #[test]
    fn what_is_no_cost_says_what_is_needed() {
        assert!(cycles("2300", None).unwrap_err().contains("\"2300 cycles\""));
        assert!(cycles("1us", None).unwrap_err().contains("add clock = "));
        assert!(cycles("many cycles", None).is_err());
        assert!(ghz("2.3").unwrap_err().contains("2.3GHz"));
    }

    #[test]
    fn rows_may_have_a_heading_and_remarks() {
        let text = "bytes,offloads\n# small ones\n64, 10\n\n128,5.5\n";
        assert_eq!(rows(text), Ok(vec![(64.0, 10.0), (128.0, 5.5)]));
        assert!(rows("64,1\n128\n").unwrap_err().contains("line 2 is \"128\""));
    }
}
