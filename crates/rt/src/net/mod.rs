//! Addresses, listeners and streams: TCP and Unix sockets behind one face, with TLS or without.

mod address;
mod dial;
mod keep_alive;
mod listen_error;
mod listener;
mod peer;
mod resolve;
mod socket_rules;
mod stream;
#[cfg(feature = "tls")]
pub mod tls;
mod transfer;
mod unix_path;

pub use address::{Address, AddressError};
pub use dial::{Dial, DialError, Dialed, Dialing};
pub use keep_alive::KeepAlive;
pub use listen_error::ListenError;
pub(crate) use listener::{Accept, Listener};
pub use peer::{Peer, PeerRef};
pub use socket_rules::SocketRules;
pub use stream::Stream;
pub use transfer::Transfer;
