//! What went wrong, for people: one line on standard error and an exit code.

use std::fmt::Display;
use std::process::ExitCode;

/// A verb's failure.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The user must ask for something else: exit code 2.
    Usage(String),
    /// It was asked well and did not work: exit code 1.
    Work(String),
    /// A signal with this number ended it before it was done: exit code 128 and the number, as shells have it.
    Signal(u8, String),
}

impl Failure {
    pub(crate) fn usage(why: impl Display) -> Self {
        Self::Usage(why.to_string())
    }

    pub(crate) fn work(why: impl Display) -> Self {
        Self::Work(why.to_string())
    }

    /// By a signal of this number.
    pub(crate) fn signal(number: i32) -> Self {
        let name = signal_hook::low_level::signal_name(number).unwrap_or("a signal");
        Self::Signal(u8::try_from(number).unwrap_or(0), format!("ended by {name}"))
    }

    /// The same with something to add.
    pub(crate) fn and(self, more: &str) -> Self {
        let with = |why| format!("{why}; {more}");
        match self {
            Self::Usage(why) => Self::Usage(with(why)),
            Self::Work(why) => Self::Work(with(why)),
            Self::Signal(number, why) => Self::Signal(number, with(why)),
        }
    }

    pub(crate) fn report(&self) -> ExitCode {
        let code = match self {
            Self::Usage(_) => 2,
            Self::Work(_) => 1,
            Self::Signal(number, _) => 128 + number,
        };
        // The terminal that it would be shown on may be what is gone.
        complain(&self.to_string());
        ExitCode::from(code)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(why) | Self::Work(why) | Self::Signal(_, why) => f.write_str(why),
        }
    }
}

/// A line on standard error, where the other may be a program's own, or what a pipe reads. It may be closed, which changes nothing.
pub(crate) fn tell(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The same of what goes on, or ends nothing.
pub(crate) fn complain(why: &str) {
    tell(&format!("tailwater: {why}"));
}

/// Prints to standard output. Where nothing reads that any more (`| head`), nothing is printed, and the verb goes on: its files
/// and its exit code are what they would have been.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    is_heard(text).map(drop)
}

/// Prints a text; false where nothing reads standard output any more.
pub(crate) fn is_heard(text: &str) -> Result<bool, Failure> {
    use std::io::Write as _;
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::work(format!("standard output: {error}"))),
    }
}
