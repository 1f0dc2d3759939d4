//! What a client says and hears in each peer's protocol. One generator drives them all, so no peer is measured
//! through a slower client than another.

mod grpc;
mod tailwater;
mod tarpc;

pub(crate) use grpc::{Grpc, PATH as GRPC_PATH};
pub(crate) use tailwater::Tailwater;
pub(crate) use tarpc::{Call, Tarpc};

use serde::{Deserialize, Serialize};

/// The client's half of one connection: values to bytes and back, no socket, no clock.
pub(crate) trait Protocol {
    /// For the connection of this number, from which its payloads derive.
    fn new(connection: u64) -> Self;

    /// Appends what is sent right after connecting. True when calls must wait for [`Event::Open`].
    fn open(&mut self, output: &mut Vec<u8>) -> bool;

    /// Appends call number `call`, made at `now_ns` of the generator's clock. Numbers start at 0 and
    /// have no gaps.
    fn ask(&mut self, call: u64, now_ns: u64, output: &mut Vec<u8>) -> Result<(), String>;

    /// Takes one message from the head of `input` and says how many bytes it took; `None` while more
    /// bytes are needed. Replies that the protocol demands are appended to `output`.
    ///
    /// # Errors
    /// When the bytes are not what a server that echoes may say, wrong payloads included.
    fn take(
        &mut self,
        input: &[u8],
        now_ns: u64,
        output: &mut Vec<u8>,
    ) -> Result<Option<(usize, Event)>, String>;
}

/// What a message meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// Calls may be made.
    Open,
    /// The call of this number was answered, with its own payload.
    Answer(u64),
    /// Nothing that matters here.
    Noted,
}

/// Names of protocols on the command line.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Name {
    /// Tailwater's frames.
    Tailwater,
    /// The same with bodies of 8 KiB.
    TailwaterLarge,
    /// gRPC over HTTP/2 without TLS.
    Grpc,
    /// tarpc's messages in bincode, each behind its length.
    Tarpc,
}

/// Longest message that a client of any protocol waits for, in bytes; more is no echo of ours.
const MESSAGE_MAX: usize = 32 << 10;

/// Times 64 bytes: 8 KiB.
pub(crate) const LARGE: usize = 128;

fn wrong_payload(call: u64) -> String {
    format!("call {call} was answered with another payload than it carried")
}
