//! memcached's text protocol over TCP, for stock clients.
//!
//! [`parse`] turns bytes into commands and [`input`] does so as they come: also for other servers of this
//! protocol, which share their memory by [`buffers`]. [`Session`] is a connection's conversation without the
//! connection, `front` is the store behind it, `answer` carries commands out, [`TcpServer`] is the sockets and threads: `places` says which
//! connections there may be, `converse` how long a peer may take. Of the protocol
//! there are get, gets, set, add, replace, append, prepend, cas, delete, incr, decr, touch, stats,
//! flush_all, verbosity, version and quit; not there are gat, the meta commands, the binary protocol and
//! UDP.

pub mod buffers;
pub mod parse;
pub mod input;
mod front;
mod stats;
mod answer;
mod session;
mod places;
mod converse;
mod tcp;

pub use front::Front;
pub use session::{Flow, Session};
pub use tcp::{TcpConfig, TcpServer};
