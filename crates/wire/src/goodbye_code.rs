//! Why connections end, as a number.

/// Why a side closes the connection. The discriminants are the wire's codes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u16)]
#[non_exhaustive]
pub enum GoodbyeCode {
    /// Nothing is left to do; the ordinary end.
    Done = 1,
    /// The sender is shutting down: reconnect, best elsewhere.
    Draining = 2,
    /// No version in common: one side must be updated.
    VersionUnsupported = 3,
    /// Bytes that are not a frame.
    Malformed = 4,
    /// A frame longer than agreed.
    FrameTooLarge = 5,
    /// A frame at a wrong time or from the wrong side, such as a REQUEST before HELLO.
    Protocol = 6,
    /// Went on sending without credit.
    NoCredit = 7,
    /// Nothing came for too long.
    Idle = 8,
    /// The server has no room for another connection, or for what connections send: retry later.
    TooManyConnections = 9,
    /// Does not read what it is sent, and the sender's buffer for it is full.
    SlowReader = 10,
    /// The sender's own fault.
    Internal = 11,
}

impl GoodbyeCode {
    /// Every code, in order.
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Draining,
        Self::VersionUnsupported,
        Self::Malformed,
        Self::FrameTooLarge,
        Self::Protocol,
        Self::NoCredit,
        Self::Idle,
        Self::TooManyConnections,
        Self::SlowReader,
        Self::Internal,
    ];

    /// A stable word for reports and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Draining => "draining",
            Self::VersionUnsupported => "version-unsupported",
            Self::Malformed => "malformed",
            Self::FrameTooLarge => "frame-too-large",
            Self::Protocol => "protocol",
            Self::NoCredit => "no-credit",
            Self::Idle => "idle",
            Self::TooManyConnections => "too-many-connections",
            Self::SlowReader => "slow-reader",
            Self::Internal => "internal",
        }
    }

    /// The meaning of a wire code; `None` for codes this version does not know.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u16 == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dense_and_known() {
        for (code, known) in (1_u16..).zip(GoodbyeCode::ALL) {
            assert_eq!(GoodbyeCode::from_code(code), Some(known));
        }
        assert_eq!(GoodbyeCode::from_code(0), None);
        assert_eq!(GoodbyeCode::from_code(12), None);
    }
}
