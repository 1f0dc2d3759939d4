//! tailwater's wire format, version 2: bytes to values and back.
//!
//! A server calls [`decode_from_client`] on what it has read, a client [`decode_from_server`]; both
//! borrow payloads from the buffer, allocate nothing and never panic, whatever the bytes. Every
//! value has an `encode` that appends one frame to the caller's `Vec`. [`needed`] says how far to
//! read. `docs/protocol.md` specifies the same bytes for people who write a client in another
//! language; a test keeps its examples equal to this code.
//!
//! What this crate will never do: read or write a socket, keep state between frames, or decide
//! whether a frame is welcome in the session's present state. Those belong to the runtime.

#![forbid(unsafe_code)]

mod bytes;
mod call_name;
mod client;
mod decode;
mod error;
mod fault;
mod goodbye;
mod goodbye_code;
mod kind;
mod limits;
mod ping;
mod prefix;
mod server;
mod version;

pub use call_name::call_name;
pub use client::{Cancel, ClientFrame, Demand, Deregister, Echo, Hello, Request, budget_us};
pub use decode::{decode_from_client, decode_from_server, needed};
pub use error::{DecodeError, PayloadTooLong};
pub use fault::{Fault, STATUS_RESERVED};
pub use goodbye::Goodbye;
pub use goodbye_code::GoodbyeCode;
pub use kind::{FrameKind, PREFIX_LEN, Side};
pub use limits::{GOODBYE_TEXT_MAX, Limits};
pub use ping::{Ping, Pong};
pub use server::{Credit, Grant, Reject, ReplyHead, Response, ServerFrame, Welcome, saturating_ns};
pub use version::{MAGIC, VERSION_MAX, VERSION_MIN, VersionError, negotiate};
