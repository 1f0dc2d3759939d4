//! Which version of the protocol a connection speaks.

use crate::goodbye_code::GoodbyeCode;
use std::fmt;

/// "TWTR" as it stands in the bytes of a HELLO.
pub const MAGIC: u32 = u32::from_le_bytes(*b"TWTR");
/// The oldest version this crate speaks.
pub const VERSION_MIN: u16 = 2;
/// The newest version this crate speaks.
pub const VERSION_MAX: u16 = 2;

/// The version a server chooses for a client that speaks `min..=max`: the newest both know.
///
/// # Errors
/// When the range is empty or has nothing in common with ours; the caller says goodbye with
/// [`VersionError::goodbye_code`].
pub const fn negotiate(min: u16, max: u16) -> Result<u16, VersionError> {
    if min > max {
        return Err(VersionError::Empty { min, max });
    }
    if min > VERSION_MAX || max < VERSION_MIN {
        return Err(VersionError::NoneInCommon { min, max });
    }
    Ok(if max < VERSION_MAX { max } else { VERSION_MAX })
}

/// Why there is no version to speak. To be mended by the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionError {
    /// The client's oldest version is newer than its newest.
    Empty {
        /// `version_min` of the HELLO.
        min: u16,
        /// `version_max` of the HELLO.
        max: u16,
    },
    /// The client speaks only versions that we do not.
    NoneInCommon {
        /// `version_min` of the HELLO.
        min: u16,
        /// `version_max` of the HELLO.
        max: u16,
    },
}

impl VersionError {
    /// What the GOODBYE says.
    #[must_use]
    pub const fn goodbye_code(self) -> GoodbyeCode {
        match self {
            Self::Empty { .. } => GoodbyeCode::Malformed,
            Self::NoneInCommon { .. } => GoodbyeCode::VersionUnsupported,
        }
    }
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { min, max } => write!(
                f,
                "HELLO offers versions {min} to {max}, an empty range; send version_min <= version_max"
            ),
            Self::NoneInCommon { min, max } => write!(
                f,
                "HELLO offers versions {min} to {max}, needed one of {VERSION_MIN} to {VERSION_MAX}; \
                 update the older side"
            ),
        }
    }
}

impl std::error::Error for VersionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_is_chosen() {
        assert_eq!(negotiate(2, 2), Ok(2));
        assert_eq!(negotiate(0, 9), Ok(VERSION_MAX));
    }

    #[test]
    fn strangers_and_empty_ranges_are_told_apart() {
        let stranger = negotiate(3, 4).unwrap_err();
        assert_eq!(stranger.goodbye_code(), GoodbyeCode::VersionUnsupported);
        assert!(stranger.to_string().contains("3 to 4, needed one of 2 to 2"), "{stranger}");
        assert!(negotiate(1, 1).is_err(), "version 1 had no CANCEL");
        assert_eq!(negotiate(3, 1).unwrap_err().goodbye_code(), GoodbyeCode::Malformed);
    }
}
