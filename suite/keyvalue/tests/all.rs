//! The store, its protocol, and its peers.

mod clients;
mod limits;
mod oracle;
mod protocol;
