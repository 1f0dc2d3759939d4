//! Addresses, listeners and streams: TCP and Unix sockets behind one face.

mod address;
mod listener;
mod stream;
mod unix_path;

pub use address::Address;
pub use listener::ListenError;
pub(crate) use listener::{Accept, Listener};
pub use stream::{Stream, Transfer};
