//! Numbers with units: cycles, times, clock rates.

use tailwater_core::Nanos as _;
use tailwater_core::duration::parse_duration;
use tailwater_core::words::clip;

/// What a cost looks like, for errors.
pub(super) const COST: &str = "a cost such as \"2300 cycles\", or \"1us\" with a clock";

/// What the unit of time looks like, for errors.
pub(super) const TIME: &str = "a time from 1ms to 10080min such as \"1s\"";

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

/// Rows of a file: bytes and offloads, with a comma between. A heading of two words may come before them.
pub(super) fn rows(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let row = |line: &str| {
        let (bytes, count) = line.split_once(',')?;
        Some((bytes.trim().parse().ok()?, count.trim().parse().ok()?))
    };
    // What begins with a digit, a sign or a dot is meant as a number.
    let is_word = |field: &str| field.trim().starts_with(|first: char| first.is_alphabetic());
    let is_heading = |line: &str| line.contains(',') && line.split(',').all(is_word);
    let mut rows = Vec::new();
    let mut is_first = true;
    // Spreadsheets begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match row(line) {
            Some(found) => rows.push(found),
            None if is_first && is_heading(line) => {}
            None => {
                return Err(format!(
                    "line {} is \"{}\"; bytes and offloads are needed, such as 512,1200",
                    number + 1,
                    clip(line)
                ));
            }
        }
        is_first = false;
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
        assert_eq!(rows("# of March\n\nsize in B, per second\n64,10"), Ok(vec![(64.0, 10.0)]));
        assert!(rows("64,1\n128\n").unwrap_err().contains("line 2 is \"128\""));
        assert!(rows("64,1\nbytes,offloads\n").unwrap_err().contains("line 2"));
    }

    #[test]
    fn a_first_row_that_cannot_be_read_is_no_heading() {
        for line in ["64;10", "64,1O", "6 4,10", "-,10", "64", "bytes", "+,x"] {
            let told = rows(&format!("{line}\n128,5\n")).unwrap_err();
            assert!(told.contains("line 1"), "{line}: {told}");
        }
        assert_eq!(rows("\u{feff}64,10\n128,5\n"), Ok(vec![(64.0, 10.0), (128.0, 5.0)]));
        assert_eq!(rows("\u{feff}bytes,offloads\n128,5\n"), Ok(vec![(128.0, 5.0)]));
    }
}
