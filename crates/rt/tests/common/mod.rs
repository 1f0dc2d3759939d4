//! What several of these programs do.

#![allow(
    unused_imports,
    unreachable_pub,
    dead_code,
    reason = "each program uses its own part of this"
)]

#[path = "../../../../tests/src/port.rs"]
mod port;
#[path = "../../../../tests/src/eventually.rs"]
mod waiting;

pub(crate) use port::Port;
pub(crate) use waiting::{eventually, found};
