//! What requests do at locks that are taken: the words that flags, scenario files and results share.

use crate::duration::{format_duration, parse_duration};
use crate::words::WordError;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a request does that finds a lock taken. `control::asqm` has the law behind each word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockPolicy {
    /// It waits for ever, and on sockets no request has a budget: nothing is measured, deducted or reported.
    /// What budgets cost is the difference to `plain`. In simulation the same as `plain`.
    Off,
    /// It waits for ever.
    Plain,
    /// It is refused.
    Try,
    /// It gives up after so long.
    Timed(Duration),
    /// It is refused if it cannot afford the wait (Protego §3.2), and gives up when its budget ends.
    Asqm,
    /// The same as the paper's text has it: a check on entry, and no giving up.
    AsqmPaper,
    /// The same as the published code has it: an overdrawn budget is refused a free lock too.
    AsqmArtifact,
}

const NAMES: &[(&str, LockPolicy)] = &[
    ("off", LockPolicy::Off),
    ("plain", LockPolicy::Plain),
    ("try", LockPolicy::Try),
    ("asqm", LockPolicy::Asqm),
    ("asqm:paper", LockPolicy::AsqmPaper),
    ("asqm:artifact", LockPolicy::AsqmArtifact),
];

impl LockPolicy {
    /// Longest time before giving up: beyond it [`LockPolicy::Plain`] is what is meant.
    pub const TIMED_MAX: Duration = Duration::from_secs(1);
    /// Examples of all, for messages.
    pub const EXAMPLES: [&'static str; 7] =
        ["off", "plain", "try", "timed:50us", "asqm", "asqm:paper", "asqm:artifact"];
}

impl FromStr for LockPolicy {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        if let Some((_, policy)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*policy);
        }
        let after = text.strip_prefix("timed:").ok_or(WordError::Unknown(&Self::EXAMPLES))?;
        let after = parse_duration(after).ok();
        let fitting = after.filter(|after| !after.is_zero() && *after <= Self::TIMED_MAX);
        let needed = "\"timed:\" with a duration above 0s and up to 1s, such as \"timed:50us\"";
        fitting.map(Self::Timed).ok_or(WordError::Amount(needed))
    }
}

impl fmt::Display for LockPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Timed(after) = self {
            return write!(f, "timed:{}", format_duration(*after));
        }
        let named = NAMES.iter().find(|(_, policy)| policy == self);
        f.write_str(named.expect("all but the timed one have a name").0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in LockPolicy::EXAMPLES {
            let policy: LockPolicy = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(policy.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_policy_says_what_is_needed() {
        for text in ["", "spin", "asqm:", "timed"] {
            let error = text.parse::<LockPolicy>().unwrap_err();
            assert_eq!(error, WordError::Unknown(&LockPolicy::EXAMPLES), "{text}");
        }
        for text in ["timed:", "timed:0s", "timed:2s", "timed:50"] {
            let error = text.parse::<LockPolicy>().unwrap_err().to_string();
            assert!(
                error.contains("timed:50us") && error.ends_with("is needed"),
                "{text}: {error}"
            );
        }
    }
}
