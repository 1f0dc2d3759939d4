//! How a server's threads wait for requests and where they run handlers: the words that flags, scenario
//! files and servers share.

mod model;

pub use model::{Completion, Model};

use crate::duration::{format_duration, parse_duration};
use crate::words::WordError;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How a loop waits for something to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reception {
    /// Sleep in the kernel at once. Cheapest when idle; each wake-up costs 26–39 µs here.
    #[default]
    Block,
    /// Look for this long, then sleep. Good where a core is spare most of the time.
    SpinThenBlock(Duration),
    /// Never sleep: a core per loop, and the shortest latency.
    Poll,
}

impl Reception {
    /// Longest time to look before sleeping: beyond it [`Reception::Poll`] is what is meant.
    pub const SPIN_MAX: Duration = Duration::from_secs(1);
    /// Examples of all, for messages.
    pub const EXAMPLES: [&'static str; 3] = ["block", "poll", "spin:50us"];
}

impl FromStr for Reception {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        match text {
            "block" => return Ok(Self::Block),
            "poll" => return Ok(Self::Poll),
            _ => {}
        }
        let spin = text.strip_prefix("spin:").ok_or(WordError::Unknown(&Self::EXAMPLES))?;
        let spin = parse_duration(spin).ok();
        let fitting = spin.filter(|spin| !spin.is_zero() && *spin <= Self::SPIN_MAX);
        let needed = "\"spin:\" with a duration above 0s and up to 1s, such as \"spin:50us\"";
        fitting.map(Self::SpinThenBlock).ok_or(WordError::Amount(needed))
    }
}

impl fmt::Display for Reception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block => f.write_str("block"),
            Self::SpinThenBlock(budget) => write!(f, "spin:{}", format_duration(*budget)),
            Self::Poll => f.write_str("poll"),
        }
    }
}

/// Where handlers run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Placement {
    /// On the loop that owns the connection, cooperatively: no hand-over, no second thread.
    #[default]
    Inline,
    /// On a pool of this many threads; for handlers that compute for long or block.
    Workers(usize),
}

impl Placement {
    /// Most threads of a pool.
    pub const WORKERS_MAX: usize = 1_024;
    /// Examples of all, for messages.
    pub const EXAMPLES: [&'static str; 2] = ["inline", "workers:4"];
}

impl FromStr for Placement {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        if text == "inline" {
            return Ok(Self::Inline);
        }
        let count = text.strip_prefix("workers:").ok_or(WordError::Unknown(&Self::EXAMPLES))?;
        let fitting = count.parse().ok().filter(|count| (1..=Self::WORKERS_MAX).contains(count));
        let needed = "\"workers:\" with a whole number from 1 to 1024, such as \"workers:4\"";
        fitting.map(Self::Workers).ok_or(WordError::Amount(needed))
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline => f.write_str("inline"),
            Self::Workers(count) => write!(f, "workers:{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in ["block", "poll", "spin:50us", "spin:1.5ms", "spin:1s"] {
            assert_eq!(text.parse::<Reception>().map(|found| found.to_string()), Ok(text.into()));
        }
        for text in ["inline", "workers:1", "workers:1024"] {
            assert_eq!(text.parse::<Placement>().map(|found| found.to_string()), Ok(text.into()));
        }
    }

    /// Whole microseconds were all that flags took, and anything finer was cut off on the way to the server.
    #[test]
    fn times_are_exact() {
        let spin = Duration::from_nanos(1_500);
        assert_eq!("spin:1.5us".parse(), Ok(Reception::SpinThenBlock(spin)));
        assert_eq!(Reception::SpinThenBlock(spin).to_string(), "spin:1.5us");
    }

    #[test]
    fn what_does_not_fit_says_what_is_needed() {
        for text in ["spin:", "spin:0s", "spin:2s", "spin:50"] {
            let error = text.parse::<Reception>().unwrap_err();
            assert!(error.to_string().contains("above 0s and up to 1s"), "{text}: {error}");
        }
        for text in ["workers:", "workers:0", "workers:1025", "workers:x"] {
            let error = text.parse::<Placement>().unwrap_err();
            assert!(error.to_string().contains("from 1 to 1024"), "{text}: {error}");
        }
        assert_eq!("spinn".parse::<Reception>(), Err(WordError::Unknown(&Reception::EXAMPLES)));
        assert_eq!("worker".parse::<Placement>(), Err(WordError::Unknown(&Placement::EXAMPLES)));
    }
}
