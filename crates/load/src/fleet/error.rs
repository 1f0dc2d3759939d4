//! Why clients could not be connected.

use std::fmt;
use tailwater_rt::Address;

/// Why a fleet cannot set sail.
#[derive(Debug)]
pub enum FleetError {
    /// The system is out of something.
    System(std::io::Error),
    /// Some clients could not connect in time.
    Unconnected {
        /// Connected.
        up: usize,
        /// Wanted.
        wanted: usize,
        /// Where to.
        address: Address,
        /// What one of the attempts said that failed.
        why: Option<String>,
    },
    /// All clients are connected, and a node that is asked for its counts is not.
    Unreachable {
        /// Which.
        node: Address,
        /// What the last attempt said that failed.
        why: Option<String>,
    },
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "the generator cannot run: {error}"),
            Self::Unconnected { up, wanted, address, why } => write!(
                f,
                "{up} of {wanted} clients are connected to {address}; is a tailwater server \
                 listening there, and does `ulimit -n` allow {} descriptors?{}",
                wanted + 64,
                in_brackets(why)
            ),
            Self::Unreachable { node, why } => write!(
                f,
                "all clients are connected, but {node} is not, which is asked for its counts; is its server still \
                 there?{}",
                in_brackets(why)
            ),
        }
    }
}

fn in_brackets(why: &Option<String>) -> String {
    why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
}

impl std::error::Error for FleetError {}
