//! Why a load for a server of others has no findings.

use super::protocol::ForeignAsk;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a load has no findings.
#[derive(Debug)]
pub enum ForeignError {
    /// No connection came to be.
    Unreachable(SocketAddr, io::Error),
    /// The server closed a connection.
    Closed,
    /// It takes no more bytes, or gives none.
    Broken(io::Error),
    /// It set none of the keys for so long.
    Silent(Duration),
    /// Its process has ended.
    Ended,
    /// It said more than it was asked for.
    Unasked,
    /// An answer is not the right one.
    Wrong {
        /// What was asked.
        ask: ForeignAsk,
        /// How what was said begins.
        said: String,
    },
    /// The system cannot wait for sockets.
    System(io::Error),
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(address, error) => write!(f, "{address}: {error}"),
            Self::Closed => f.write_str("the server closed the connection"),
            Self::Broken(error) => write!(f, "the connection to the server failed: {error}"),
            Self::Silent(time) => write!(f, "the server set no key for {} s", time.as_secs()),
            Self::Ended => f.write_str("the server has ended"),
            Self::Unasked => f.write_str("the server said more than it was asked for"),
            Self::Wrong { ask, said } => {
                let hint = match ask {
                    ForeignAsk::Get(_) => {
                        "; where it has forgotten the key, give it more memory or the load fewer keys"
                    }
                    ForeignAsk::Set(_) => "",
                };
                write!(
                    f,
                    "the server answered {ask:?} by {said:?}, which is not the right answer{hint}"
                )
            }
            Self::System(error) => write!(f, "cannot wait for the server: {error}"),
        }
    }
}

impl std::error::Error for ForeignError {}
