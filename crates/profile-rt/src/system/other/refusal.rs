//! Why a process cannot be recorded from this one, and what to type.

use crate::memory::arena::VERSION;
use crate::memory::foreign::Unfit;
use crate::memory::lease::Recorder;
use std::fmt;
use std::io;

/// Why nothing is recorded.
#[derive(Debug)]
pub enum Refusal {
    /// No process has the number.
    Absent,
    /// The kernel keeps the process from this one: it is another user's, or may not be looked into.
    NoRight,
    /// The kernel lets this one see the process, and not read its memory.
    Unreadable,
    /// It was not built for it.
    NotBuilt,
    /// Its shadow stacks lie in memory of its own, since files may not be that large.
    Limited,
    /// It has closed the file of its shadow stacks.
    Closed,
    /// Its runtime has another version of the shared memory.
    Version(char),
    /// Its shared memory is not as its runtime makes it.
    Damaged,
    /// Its shared memory says that it is another process's, such as a parent's.
    Foreign,
    /// It records itself: by `tailwater profile record`, or by `tw_profile_start`.
    RecordsItself,
    /// A process of this number records it, where the number is known.
    Taken(Option<u32>),
    /// The trace cannot be written.
    Trace(io::Error),
    /// Something else, of which the system says more.
    Trouble(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("found no process of this number; `pgrep NAME` finds it"),
            Self::NoRight => f.write_str(
                "found no right to look into it; attach as the user that it runs as, or as root",
            ),
            Self::Unreadable => f.write_str(
                "found no right to read its memory, where the functions' names are; attach as root, or let users read \
                 what is theirs: sudo sysctl kernel.yama.ptrace_scope=0",
            ),
            Self::NotBuilt => f.write_str(
                "found no shadow stacks: it was not built for it, or has not begun; build it with `tailwater profile \
                 build -- make` (or cmake, ninja, cargo build …), and start it anew",
            ),
            Self::Limited => f.write_str(
                "found its shadow stacks in memory that it shares with nobody, since a limit keeps its files small; \
                 start it after `ulimit -f unlimited`",
            ),
            Self::Closed => f.write_str(
                "it has closed the file of its shadow stacks, which root alone finds without; attach as root",
            ),
            Self::Version(letter) => write!(
                f,
                "found version {letter} of the profiler's shared memory, needed version {}; build it anew by this \
                 tailwater, and start it anew",
                char::from(VERSION)
            ),
            Self::Damaged => f.write_str("found its shadow stacks damaged; start it anew"),
            Self::Foreign => f.write_str(
                "found another process's shadow stacks mapped, and none of its own; attach to that one, or start this anew",
            ),
            Self::RecordsItself => f.write_str(
                "it records itself already, by `tailwater profile record` or `tw_profile_start`; let that end first",
            ),
            Self::Taken(Some(pid)) => write!(f, "process {pid} records it; end that one first"),
            Self::Taken(None) => f.write_str("another process records it; end that one first"),
            Self::Trace(error) => write!(f, "the trace cannot be written: {error}"),
            Self::Trouble(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::NoRight,
            _ => Self::Trouble(error),
        }
    }
}

impl From<Unfit> for Refusal {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Version(letter) => Self::Version(letter),
            Unfit::Damaged => Self::Damaged,
            Unfit::Unreadable(error) => Self::Trouble(error),
        }
    }
}

impl From<Option<Recorder>> for Refusal {
    fn from(recorder: Option<Recorder>) -> Self {
        match recorder {
            Some(Recorder::Own(_)) => Self::RecordsItself,
            Some(Recorder::Other(pid)) => Self::Taken(Some(pid)),
            None => Self::Taken(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_to_do() {
        let all = [
            (Refusal::Absent, "pgrep"),
            (Refusal::from(io::Error::from(io::ErrorKind::PermissionDenied)), "as root"),
            (Refusal::Unreadable, "sysctl"),
            (Refusal::NotBuilt, "tailwater profile build"),
            (Refusal::Limited, "ulimit -f unlimited"),
            (Refusal::Closed, "as root"),
            (Refusal::Foreign, "attach to that one"),
            (
                Refusal::from(Unfit::Version('1')),
                "version 1 of the profiler's shared memory, needed version",
            ),
            (Refusal::from(Some(Recorder::Own(7))), "records itself"),
            (Refusal::from(Some(Recorder::Other(7))), "process 7 records"),
        ];
        for (refusal, word) in all {
            assert!(refusal.to_string().contains(word), "{refusal}");
        }
        let needed = format!("needed version {}", char::from(VERSION));
        assert!(Refusal::Version('1').to_string().contains(&needed));
    }
}
