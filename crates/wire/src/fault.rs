//! Statuses that are tailwater's own: the runtime answers with them in the application's place.

use std::fmt;

/// The first status that is no application's.
pub const STATUS_RESERVED: u16 = 0xff00;

/// Why the server's runtime answered a call in the application's place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The server has no such method.
    UnknownMethod,
    /// The answer does not fit the client's frames.
    AnswerTooLong,
    /// The server's counts were asked for too often.
    TooOften,
    /// The handler failed inside the server.
    Panicked,
    /// The handler was ended at the server's own limit; what it has done is unknown.
    HandlerTimeout,
    /// The server's counts are not told to this client.
    Forbidden,
    /// A status that this version does not know.
    Other(u16),
}

impl Fault {
    /// Every one that has a name.
    pub const ALL: [Self; 6] = [
        Self::UnknownMethod,
        Self::AnswerTooLong,
        Self::TooOften,
        Self::Panicked,
        Self::HandlerTimeout,
        Self::Forbidden,
    ];

    /// The meaning of a RESPONSE's status; `None` for an application's.
    #[must_use]
    pub fn of(status: u16) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|fault| fault.status() == status);
        (status >= STATUS_RESERVED).then(|| known.unwrap_or(Self::Other(status)))
    }

    /// Its status on the wire.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::UnknownMethod => 0xff01,
            Self::AnswerTooLong => 0xff02,
            Self::TooOften => 0xff03,
            Self::Panicked => 0xff04,
            Self::HandlerTimeout => 0xff05,
            Self::Forbidden => 0xff06,
            Self::Other(status) => status,
        }
    }

    /// A stable word for reports and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownMethod => "unknown-method",
            Self::AnswerTooLong => "answer-too-long",
            Self::TooOften => "too-often",
            Self::Panicked => "panicked",
            Self::HandlerTimeout => "handler-timeout",
            Self::Forbidden => "forbidden",
            Self::Other(_) => "other",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMethod => f.write_str("the server has no such method"),
            Self::AnswerTooLong => f.write_str("the answer does not fit the agreed frames"),
            Self::TooOften => f.write_str("the server's counts were asked for too often"),
            Self::Panicked => f.write_str("the handler failed inside the server"),
            Self::HandlerTimeout => f.write_str("the handler was ended at the server's limit"),
            Self::Forbidden => f.write_str("the server's counts are not told to this client"),
            Self::Other(status) => write!(f, "the server's runtime answered {status:#06x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_below_the_reserved_ones_are_the_applications() {
        for status in [0, 1, 404, 500, STATUS_RESERVED - 1] {
            assert_eq!(Fault::of(status), None, "{status}");
        }
        assert_eq!(Fault::of(STATUS_RESERVED), Some(Fault::Other(STATUS_RESERVED)));
        assert_eq!(Fault::of(u16::MAX), Some(Fault::Other(u16::MAX)));
    }

    #[test]
    fn every_fault_comes_back_from_its_status() {
        for fault in Fault::ALL {
            assert_eq!(Fault::of(fault.status()), Some(fault));
        }
    }
}
