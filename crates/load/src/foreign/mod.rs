//! Load for servers that are not ours, in their own protocols: open loop, every answer known beforehand.
//!
//! Start with [`run`]. A key's value never changes, so what a server must answer is known to the byte ([`Protocol`]), and
//! no answer needs to be parsed. Servers of these protocols answer a connection's requests in their order, so the next
//! answer is that of the oldest open request (`connection`).

mod protocol;
mod count;
mod connection;
mod drive;
mod error;

pub use count::commands;
pub use drive::{ForeignFindings, ForeignPlan, run};
pub use error::ForeignError;
pub use protocol::{ForeignAsk, Protocol};
