//! A connection's conversation, without the connection: bytes in, bytes out.

use super::answer::{Front, Rest};
use super::parse::{Command, Parsed, parse};
use crate::locks::Blocking;
use tailwater_sync::budget::Budget;

/// Answers are handed out once they are this long, however many commands wait.
const FLUSH_AT: usize = 64 << 10;

/// Bytes that came and are not yet answered. Holds at most one command (a line and a value of 1 MiB)
/// beside what was received with its end.
#[derive(Debug, Default)]
pub struct Session {
    input: Vec<u8>,
    skip: usize,
    skip_line: bool,
    /// What the `get` at the input's start has left of its budget, if parts of it are answered.
    left: Option<Budget>,
}

/// How the conversation goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// With more input.
    Receive,
    /// With sending what is there and asking again: more commands wait.
    Send,
    /// Not at all, after sending what is there.
    Close,
}

impl Session {
    /// Takes in what the peer sent. Call [`Session::proceed`] until it says [`Flow::Receive`] before
    /// the next call: that bounds what is held here.
    pub fn receive(&mut self, bytes: &[u8]) {
        let skipped = self.skip_in(bytes);
        self.input.extend_from_slice(&bytes[skipped..]);
    }

    /// Carries out the commands that are there, appending their answers.
    pub fn proceed<L: Blocking>(&mut self, front: &Front<L>, out: &mut Vec<u8>) -> Flow {
        let mut input = std::mem::take(&mut self.input);
        let mut at = 0;
        let flow = loop {
            if out.len() >= FLUSH_AT {
                break Flow::Send;
            }
            match parse(&input[at..]) {
                Parsed::Incomplete => break Flow::Receive,
                Parsed::Command(Command::Quit, _) => break Flow::Close,
                Parsed::Command(command, used) => {
                    let rest = front.answer(command, out, FLUSH_AT, self.left.take());
                    at += used;
                    if let Some(Rest { with_cas, len, budget }) = rest {
                        self.left = budget;
                        at = put_back(&mut input, at, with_cas, len);
                    }
                }
                Parsed::Bad(bad) => {
                    front.reject(&bad, out);
                    if bad.fatal {
                        break Flow::Close;
                    }
                    // What is to be skipped may lie partly here, partly ahead.
                    (self.skip, self.skip_line) = (bad.skip, bad.skip_line);
                    at += self.skip_in(&input[at..]);
                }
            }
        };
        input.drain(..at);
        self.input = input;
        flow
    }

    /// How many of these bytes belong to what is to be skipped.
    fn skip_in(&mut self, bytes: &[u8]) -> usize {
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

/// Turns the end of a `get` whose first keys are answered, `len` bytes before the line's end, into a
/// `get` of its own. The word and the key before it have room for the shorter new beginning.
fn put_back(input: &mut [u8], line_end: usize, with_cas: bool, len: usize) -> usize {
    let end = line_end - if input[..line_end].ends_with(b"\r\n") { 2 } else { 1 };
    let verb = if with_cas { b"gets " } else { b"get  " };
    let start = end - len - verb.len();
    input[start..start + verb.len()].copy_from_slice(verb);
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::Threads;
    use crate::store::{Config, Store};
    use std::time::Duration;

    #[test]
    fn a_paused_get_keeps_what_is_left_of_its_budget_and_the_next_starts_anew() {
        let store = Store::new(Config::default()).expect("a store");
        let front = Front::<Threads>::new(store, Some(Duration::from_secs(60)));
        let (mut session, mut out) = (Session::default(), Vec::new());
        session.receive(&[b"set a 0 0 70000 noreply\r\n", &[b'v'; 70_000][..], b"\r\n"].concat());
        assert_eq!(session.proceed(&front, &mut out), Flow::Receive);
        session.receive(b"get a a a\r\n");
        for paused in [true, true, false] {
            out.clear();
            session.proceed(&front, &mut out);
            assert_eq!(session.left.is_some(), paused);
        }
        assert!(out.ends_with(b"END\r\n"));
    }
}
