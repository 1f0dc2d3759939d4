//! What went wrong, for people: one line on standard error and an exit code.

use std::fmt::Display;
use std::process::ExitCode;

/// A verb's failure.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user must change what he asked for: exit code 2.
    Usage(String),
    /// It was asked well and did not work: exit code 1.
    Work(String),
}

impl Failure {
    pub(crate) fn usage(why: impl Display) -> Self {
        Self::Usage(why.to_string())
    }

    pub(crate) fn work(why: impl Display) -> Self {
        Self::Work(why.to_string())
    }

    #[expect(clippy::print_stderr, reason = "programs may")]
    pub(crate) fn report(&self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (message, 2),
            Self::Work(message) => (message, 1),
        };
        eprintln!("tailwater: {message}");
        ExitCode::from(code)
    }
}

/// Prints to standard output; a reader that has gone away (`| head`) ends the program quietly.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => result.map_err(|error| Failure::work(format!("standard output: {error}"))),
    }
}
