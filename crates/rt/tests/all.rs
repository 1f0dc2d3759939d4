//! Servers and clients over real sockets.

mod common;

mod calls;
mod dialing;
mod downstream;
mod locks;
mod round_trips;
mod silent_peers;
mod unix_paths;
mod waits_in_vain;
mod wakers;
