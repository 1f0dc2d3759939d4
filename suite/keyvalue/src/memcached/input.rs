//! Commands out of bytes as they come. No byte of an unfinished command is looked at twice, and none is copied.

use super::buffers::{Buffer, Pool};
use super::parse::{Bad, Command, Parsed, Wait, parse};
use std::sync::Arc;

/// Input that a connection may hold without borrowing from the pool.
pub(super) const INPUT_OWN: usize = 32 << 10;

/// What a peer has sent and what is not done with. Holds at most one command (a line and a value of 1 MiB each)
/// beside what was received with its end. What exceeds 32 KiB is borrowed from the pool.
#[derive(Debug)]
pub struct Input {
    pub(super) buffer: Buffer,
    wait: Wait,
    skip: usize,
    skip_line: bool,
    no_room: bool,
}

/// What stands at the start of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next<'a> {
    /// Nothing, or the beginning of a command: more is to be received.
    More,
    /// A command of so many bytes.
    Command(Command<'a>, usize),
    /// What is no command; see [`Input::skip`].
    Bad(Bad<'a>),
    /// A command that the pool had no room for: the conversation is over.
    NoRoom,
}

impl Input {
    /// Nothing so far.
    #[must_use]
    pub const fn new(pool: Arc<Pool>) -> Self {
        let buffer = Buffer::new(INPUT_OWN, pool);
        Self { buffer, wait: Wait::Line { scanned: 0 }, skip: 0, skip_line: false, no_room: false }
    }

    /// Takes in what the peer sent. Ask for what is there until it is [`Next::More`] before the next call: that
    /// bounds what is held here.
    pub fn receive(&mut self, bytes: &[u8]) {
        let bytes = &bytes[self.skipped(bytes)..];
        match self.buffer.reserve(bytes.len()) {
            Ok(()) => self.buffer.bytes.extend_from_slice(bytes),
            Err(_) => self.no_room = true,
        }
    }

    /// Takes the bytes out, because commands borrow from them. [`Input::put_back`] is to follow.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer.bytes)
    }

    /// Takes them back, of which so many are done with.
    pub fn put_back(&mut self, mut bytes: Vec<u8>, used: usize) {
        bytes.drain(..used);
        self.buffer.bytes = bytes;
        self.buffer.trim();
    }

    /// What stands at the start of `rest`, which is what is left of the bytes that were taken out.
    pub fn next<'a>(&mut self, rest: &'a [u8]) -> Next<'a> {
        if self.no_room {
            return Next::NoRoom;
        }
        let scanned = match self.wait {
            Wait::Bytes(bytes) if rest.len() < bytes => return Next::More,
            Wait::Bytes(_) => 0,
            Wait::Line { scanned } => scanned,
        };
        let parsed = parse(rest, scanned);
        self.wait = match parsed {
            Parsed::Incomplete(wait) => wait,
            Parsed::Command(..) | Parsed::Bad(_) => Wait::default(),
        };
        match parsed {
            Parsed::Incomplete(_) => Next::More,
            Parsed::Command(command, used) => Next::Command(command, used),
            Parsed::Bad(bad) => Next::Bad(bad),
        }
    }

    /// Skips what is no command. How many bytes of `rest` are done with: what is to be skipped may lie partly
    /// there, partly ahead.
    pub fn skip(&mut self, bad: &Bad<'_>, rest: &[u8]) -> usize {
        (self.skip, self.skip_line) = (bad.skip, bad.skip_line);
        self.skipped(rest)
    }

    /// Whether the peer owes no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.bytes.is_empty() && self.skip == 0 && !self.skip_line
    }

    /// How many of these bytes belong to what is to be skipped.
    fn skipped(&mut self, bytes: &[u8]) -> usize {
        let mut skipped = bytes.len().min(self.skip);
        self.skip -= skipped;
        if self.skip_line && self.skip == 0 {
            let end = bytes[skipped..].iter().position(|byte| *byte == b'\n');
            self.skip_line = end.is_none();
            skipped = end.map_or(bytes.len(), |end| skipped + end + 1);
        }
        skipped
    }
}
