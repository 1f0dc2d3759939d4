//! Service times as they were measured: a list of values, each with the number of times that it was seen.

use crate::limits;
use std::fmt;
use std::time::Duration;
use tailwater_core::Nanos;
use tailwater_core::duration::{format_duration, parse_duration};
use tailwater_core::words::clip;

/// Values as multiples of their mean, shortest first.
#[derive(Clone, PartialEq, Debug)]
pub struct Empirical {
    /// The share of requests up to and with this value, and the value.
    values: Vec<(f64, f64)>,
}

/// A line of a file of times that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTimes {
    /// From 1; the last one where what is wrong is wrong with all.
    pub line: usize,
    /// What was found and what is needed.
    pub message: String,
}

impl fmt::Display for BadTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

/// Units that a heading may name, with their length in nanoseconds.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const HEADINGS: &str = "a heading such as us or us,count";

impl Empirical {
    /// Reads a file of times, and tells their mean.
    ///
    /// A line holds a value, and behind a comma how often it was seen; once where that is left out. A value has
    /// its unit behind it, as in `12.5us`, or the first line is a heading that names the unit of all: `us`, or
    /// with a word before it `latency_us`. Empty lines and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// The first line that is wrong; no value at all, more than [`limits::TIMES_MAX`], or only zeroes.
    pub fn parse(text: &str) -> Result<(Self, Duration), BadTimes> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let mut lines =
            lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
        let unit_ns = lines.peek().and_then(|(_, line)| heading(line));
        if unit_ns.is_some() {
            lines.next();
        }
        let (mut seen, mut last) = (Vec::new(), 1);
        for (number, line) in lines {
            let wrong = |message| BadTimes { line: number, message };
            if seen.len() == limits::TIMES_MAX {
                return Err(wrong(format!("{} values at most are needed", limits::TIMES_MAX)));
            }
            seen.push(value(line, unit_ns).map_err(wrong)?);
            last = number;
        }
        Self::of(seen).ok_or_else(|| {
            let needed = "a value above 0 that was seen at least once is needed";
            BadTimes { line: last, message: needed.into() }
        })
    }

    /// Of values in nanoseconds and how often each was seen. `None` where their mean is less than 1 ns.
    fn of(mut seen: Vec<(f64, f64)>) -> Option<(Self, Duration)> {
        seen.retain(|(_, count)| *count > 0.0);
        seen.sort_by(|one, other| one.0.total_cmp(&other.0));
        let total: f64 = seen.iter().map(|(_, count)| count).sum();
        let time: f64 = seen.iter().map(|(ns, count)| ns * count).sum();
        let mean = Duration::from_nanos((time / total).round() as u64);
        if mean.is_zero() {
            return None;
        }
        // Of the rounded mean: a draw then gives back the value of the file, to the nanosecond.
        let mean_ns = mean.nanos() as f64;
        let mut below = 0.0;
        let value = |(ns, count): (f64, f64)| {
            below += count;
            (below / total, ns / mean_ns)
        };
        Some((Self { values: seen.into_iter().map(value).collect() }, mean))
    }

    /// The shortest value that a share of more than `u` of the requests does not exceed, in means.
    pub(crate) fn quantile(&self, u: f64) -> f64 {
        let index = self.values.partition_point(|(share, _)| *share <= u);
        self.values[index.min(self.values.len() - 1)].1
    }

    pub(crate) fn longest(&self) -> f64 {
        self.values.last().map_or(1.0, |(_, value)| *value)
    }

    pub(crate) fn variation(&self) -> f64 {
        let mut before = 0.0;
        let square = |&(share, value): &(f64, f64)| {
            let part = share - before;
            before = share;
            part * (value - 1.0) * (value - 1.0)
        };
        self.values.iter().map(square).sum()
    }
}

/// The unit that a heading names; `None` for a line of values.
fn heading(line: &str) -> Option<f64> {
    let (first, second) = line.split_once(',').unwrap_or((line, "count"));
    if second.trim() != "count" {
        return None;
    }
    let unit = first.trim().rsplit('_').next()?;
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns)
}

/// A line's value in nanoseconds and its count.
fn value(line: &str, unit_ns: Option<f64>) -> Result<(f64, f64), String> {
    let (time, count) = match line.split_once(',') {
        Some((time, count)) => (time.trim(), Some(count.trim())),
        None => (line, None),
    };
    let ns = match (time.parse::<f64>(), unit_ns) {
        (Ok(number), Some(unit_ns)) if number >= 0.0 => number * unit_ns,
        (Ok(number), None) if number >= 0.0 => {
            return Err(format!(
                "\"{}\" has no unit; one behind each value is needed, such as {number}us, or {HEADINGS} \
                 in the first line",
                clip(time)
            ));
        }
        _ => parse_duration(time).map_err(|error| error.to_string())?.nanos() as f64,
    };
    let most_ns = limits::REQUEST_MAX.nanos() as f64;
    if ns > most_ns {
        let most = format_duration(limits::REQUEST_MAX);
        return Err(format!("\"{}\" is too long; {most} at most is needed", clip(time)));
    }
    let count = match count {
        None => 1.0,
        Some(text) => count_of(text).ok_or_else(|| {
            format!("the count is \"{}\"; a number from 0 to 1e15 is needed", clip(text))
        })?,
    };
    Ok((ns, count))
}

fn count_of(text: &str) -> Option<f64> {
    text.parse().ok().filter(|count| (0.0..=1e15).contains(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    fn read(text: &str) -> Result<(Empirical, Duration), String> {
        Empirical::parse(text).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_drawn_as_often_as_they_were_seen() {
        let text = "# measured in spring\nlatency_us,count\n10,3\n\n 400 , 1 \n";
        let (times, mean) = read(text).unwrap();
        assert_eq!(mean, Duration::from_nanos(107_500));
        let mut rng = Rng::from_seed(1);
        let mean_ns = mean.nanos() as f64;
        let drawn = |rng: &mut Rng| (times.quantile(rng.unit()) * mean_ns).round() as u64;
        let long = (0..40_000).filter(|_| match drawn(&mut rng) {
            400_000 => true,
            10_000 => false,
            other => panic!("{other} ns stands nowhere"),
        });
        let long = long.count();
        assert!((9_650..10_350).contains(&long), "{long} of 40,000");
        // A quarter at 3.72 means, the rest at 0.093.
        let variation = 0.25 * 3.720_930_f64.powi(2) + 0.75 * 0.093_023_f64.powi(2) - 1.0;
        assert!((times.variation() - variation).abs() < 1e-4, "{}", times.variation());
    }

    #[test]
    fn units_stand_behind_values_or_in_the_heading() {
        let of = |text| read(text).map(|(_, mean)| mean.nanos());
        assert_eq!(of("1us\n3us"), Ok(2_000));
        assert_eq!(of("ms\n1\n3"), Ok(2_000_000));
        assert_eq!(of("service_s,count\n0.001,1\n0.003,0"), Ok(1_000_000));
        assert_eq!(of("us\n1\n3000ns"), Ok(2_000), "a unit of its own goes before the heading's");
    }

    #[test]
    fn messages_say_the_line_what_was_found_and_what_is_needed() {
        for (text, message) in [
            (
                "12\n13",
                "1: \"12\" has no unit; one behind each value is needed, such as 12us, or a heading such as \
                 us or us,count in the first line",
            ),
            ("us\n1,x", "2: the count is \"x\"; a number from 0 to 1e15 is needed"),
            ("us\n1,-1", "2: the count is \"-1\"; a number from 0 to 1e15 is needed"),
            ("# nothing\n", "1: a value above 0 that was seen at least once is needed"),
            ("us,count\n0\n7,0", "3: a value above 0 that was seen at least once is needed"),
            ("us\n1\n5e9", "3: \"5e9\" is too long; 4s at most is needed"),
        ] {
            assert_eq!(read(text).unwrap_err(), message, "{text}");
        }
        for text in ["us\nnan", "us\n-1", "12 parsecs", "a,b,c"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
