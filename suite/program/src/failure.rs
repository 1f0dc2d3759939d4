//! What went wrong, for people, and the exit code that says so.

use std::fmt::Display;

/// Why a program has not done what it was asked for.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The user must ask for something else: exit code 2.
    Usage(String),
    /// It was asked well and did not work: exit code 1.
    Work(String),
    /// A signal with this number ended it before it was done: exit code 128 and the number, as shells have it.
    Signal(u8, String),
}

impl Failure {
    /// The user must ask for something else.
    pub fn usage(why: impl Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// It was asked well and did not work.
    pub fn work(why: impl Display) -> Self {
        Self::Work(why.to_string())
    }

    /// By a signal of this number.
    #[must_use]
    pub fn signal(number: i32) -> Self {
        let name = signal_hook::low_level::signal_name(number).unwrap_or("a signal");
        Self::Signal(u8::try_from(number).unwrap_or(0), format!("ended by {name}"))
    }

    /// The same with something to add.
    #[must_use]
    pub fn and(self, more: &str) -> Self {
        let with = |why| format!("{why}; {more}");
        match self {
            Self::Usage(why) => Self::Usage(with(why)),
            Self::Work(why) => Self::Work(with(why)),
            Self::Signal(number, why) => Self::Signal(number, with(why)),
        }
    }

    /// The exit code of a program that ends by it.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Work(_) => 1,
            Self::Signal(number, _) => 128 + *number,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(why) | Self::Work(why) | Self::Signal(_, why) => f.write_str(why),
        }
    }
}
