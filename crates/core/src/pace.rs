//! How a load generator's threads wait for the next intended time, and how the kernel schedules them: the words
//! that flags and scenario files share.

use crate::words::WordError;
use std::fmt;
use std::str::FromStr;

/// How a generator waits until the next request is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// Looks at clock and sockets without pause: late by a turn of a few µs, and a core of its own is needed.
    #[default]
    Spin,
    /// Asleep until the intended time or until an answer comes: late by a wake-up, tens of µs in a virtual machine,
    /// and the core is free meanwhile. For generators that share their core with servers.
    Sleep,
}

impl Pace {
    /// Both words.
    pub const EXAMPLES: [&'static str; 2] = ["spin", "sleep"];
}

impl FromStr for Pace {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        match text {
            "spin" => Ok(Self::Spin),
            "sleep" => Ok(Self::Sleep),
            _ => Err(WordError::Unknown(&Self::EXAMPLES)),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spin => "spin",
            Self::Sleep => "sleep",
        })
    }
}

/// How the kernel schedules threads (sched(7)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scheduling {
    /// Like every other process.
    #[default]
    Normal,
    /// As a thread that computes (`SCHED_BATCH`): woken, it does not take the core from another.
    Batch,
    /// Only where a core has nothing else to do (`SCHED_IDLE`).
    Idle,
    /// Before every normal thread of the core (`SCHED_FIFO`), at this priority from 1 to 99. Needs root,
    /// `CAP_SYS_NICE` or a limit `RLIMIT_RTPRIO`. A thread that spins so starves its core.
    Fifo(u8),
    /// The same, in turns with others of its priority (`SCHED_RR`).
    RoundRobin(u8),
}

impl Scheduling {
    /// The highest priority.
    pub const PRIORITY_MAX: u8 = 99;
    /// Examples of each, for messages.
    pub const EXAMPLES: [&'static str; 5] = ["normal", "batch", "idle", "fifo:1", "rr:1"];

    /// Why this scheduling and this pace do not go together; nothing where they do.
    #[must_use]
    pub fn conflict(self, pace: Pace) -> Option<&'static str> {
        matches!((self, pace), (Self::Fifo(_) | Self::RoundRobin(_), Pace::Spin)).then_some(
            "a thread that spins under it starves its core; the pace \"sleep\" is needed beside it",
        )
    }
}

impl FromStr for Scheduling {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let (of, priority): (fn(u8) -> Self, &str) = match text.split_once(':') {
            None if text == "normal" => return Ok(Self::Normal),
            None if text == "batch" => return Ok(Self::Batch),
            None if text == "idle" => return Ok(Self::Idle),
            Some(("fifo", priority)) => (Self::Fifo, priority),
            Some(("rr", priority)) => (Self::RoundRobin, priority),
            _ => return Err(WordError::Unknown(&Self::EXAMPLES)),
        };
        let fitting = priority.parse().ok().filter(|at| (1..=Self::PRIORITY_MAX).contains(at));
        let needed = "\"fifo:\" or \"rr:\" with a priority from 1 to 99, such as \"fifo:1\"";
        fitting.map(of).ok_or(WordError::Amount(needed))
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal => f.write_str("normal"),
            Self::Batch => f.write_str("batch"),
            Self::Idle => f.write_str("idle"),
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
            Self::RoundRobin(priority) => write!(f, "rr:{priority}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_as_they_are_written() {
        for word in Pace::EXAMPLES {
            assert_eq!(word.parse::<Pace>().map(|found| found.to_string()), Ok(word.into()));
        }
        for word in ["normal", "batch", "idle", "fifo:1", "fifo:99", "rr:1"] {
            assert_eq!(word.parse::<Scheduling>().map(|found| found.to_string()), Ok(word.into()));
        }
    }

    #[test]
    fn what_does_not_fit_says_what_is_needed() {
        assert_eq!("slep".parse::<Pace>(), Err(WordError::Unknown(&Pace::EXAMPLES)));
        assert_eq!("fifo".parse::<Scheduling>(), Err(WordError::Unknown(&Scheduling::EXAMPLES)));
        for word in ["batch:1", "rr"] {
            assert_eq!(word.parse::<Scheduling>(), Err(WordError::Unknown(&Scheduling::EXAMPLES)));
        }
        for word in ["fifo:", "fifo:0", "fifo:100", "fifo:-1", "rr:100"] {
            let error = word.parse::<Scheduling>().unwrap_err();
            assert!(error.to_string().contains("from 1 to 99"), "{word}: {error}");
        }
    }

    #[test]
    fn only_a_spinning_thread_starves_its_core() {
        for starving in [Scheduling::Fifo(1), Scheduling::RoundRobin(1)] {
            assert!(starving.conflict(Pace::Spin).is_some());
            assert_eq!(starving.conflict(Pace::Sleep), None);
        }
        for other in [Scheduling::Normal, Scheduling::Batch, Scheduling::Idle] {
            assert_eq!(other.conflict(Pace::Spin), None);
        }
    }
}
