//! A connection's conversation, without the connection: bytes in, bytes out.

use super::answer::{FLUSH_AT, Rest};
use super::buffers::Buffer;
use super::front::{Front, line};
use super::input::{Input, Next};
use super::parse::{Bad, Command, Words};
use crate::locks::Blocking;
use std::ops::Range;
use tailwater_sync::budget::Budget;

/// Output that a connection may hold without borrowing from the pool: what is handed out at, and as much again
/// for the value that exceeded it.
const OUTPUT_OWN: usize = 2 * FLUSH_AT;

/// Bytes that came and are not yet answered, and answers that are not yet sent. Holds at most one command (a line and
/// a value of 1 MiB each) beside what was received with its end. Holds 64 KiB of answers beside one value. What
/// exceeds 32 and 128 KiB of these is borrowed from the front's pool.
#[derive(Debug)]
pub struct Session {
    input: Input,
    output: Buffer,
    paused: Option<Paused>,
    finished: u64,
}

/// A `get` at the input's start that has filled the output.
#[derive(Debug)]
struct Paused {
    /// Where the keys are that are left.
    keys: Range<usize>,
    /// Bytes of the whole line.
    used: usize,
    with_cas: bool,
    /// What is left of its budget.
    budget: Option<Budget>,
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

/// What one step of the conversation came to.
enum Step {
    /// So many bytes of the input are done with.
    Used(usize),
    Ends(Flow),
}

impl<L: Blocking> Front<L> {
    /// A conversation about this store.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::new(self)
    }
}

impl Session {
    fn new<L: Blocking>(front: &Front<L>) -> Self {
        Self {
            input: Input::new(front.pool.clone()),
            output: Buffer::new(OUTPUT_OWN, front.pool.clone()),
            paused: None,
            finished: 0,
        }
    }

    /// Takes in what the peer sent. Call [`Session::proceed`] until it says [`Flow::Receive`] before
    /// the next call: that bounds what is held here. When the pool has no room for it, the next
    /// [`Session::proceed`] says so to the peer and closes.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.input.receive(bytes);
    }

    /// Carries out the commands that are there. Their answers are [`Session::output`]'s, until
    /// [`Session::sent`].
    pub fn proceed<L: Blocking>(&mut self, front: &Front<L>) -> Flow {
        // Taken out, because commands borrow from it.
        let input = self.input.take();
        let mut at = 0;
        let flow = loop {
            if self.output.bytes.len() >= FLUSH_AT {
                break Flow::Send;
            }
            match self.step(front, &input[at..]) {
                Step::Used(used) => at += used,
                Step::Ends(flow) => break flow,
            }
        };
        self.input.put_back(input, at);
        flow
    }

    /// Answers that are not yet sent.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output.bytes
    }

    /// Forgets the answers, which were sent.
    pub fn sent(&mut self) {
        self.output.bytes.clear();
        self.output.trim();
    }

    /// Whether nothing is begun: the peer owes no byte, and is owed none.
    #[must_use]
    pub fn is_between_commands(&self) -> bool {
        self.input.is_empty() && self.output.bytes.is_empty()
    }

    /// Commands that were carried out or refused.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.finished
    }

    fn step<L: Blocking>(&mut self, front: &Front<L>, input: &[u8]) -> Step {
        if let Some(Paused { keys, used, with_cas, budget }) = self.paused.take() {
            let rest = Command::Get { keys: Words::of(&input[keys]), with_cas };
            return self.answer(front, rest, &input[..used], budget);
        }
        match self.input.next(input) {
            Next::More => Step::Ends(Flow::Receive),
            Next::Command(Command::Quit, _) => Step::Ends(Flow::Close),
            Next::Command(command, used) => self.answer(front, command, &input[..used], None),
            Next::Bad(bad) => self.refuse(front, &bad, input),
            Next::NoRoom => {
                line(&mut self.output.bytes, "SERVER_ERROR out of memory reading request");
                Step::Ends(Flow::Close)
            }
        }
    }

    /// Answers the command that is `text`, or as much of it as the output has room for.
    fn answer<L: Blocking>(
        &mut self,
        front: &Front<L>,
        command: Command<'_>,
        text: &[u8],
        left: Option<Budget>,
    ) -> Step {
        if let Some(Rest { with_cas, len, budget }) = front.answer(command, &mut self.output, left)
        {
            let end = text.len() - if text.ends_with(b"\r\n") { 2 } else { 1 };
            let keys = end - len..end;
            self.paused = Some(Paused { keys, used: text.len(), with_cas, budget });
            return Step::Used(0);
        }
        self.finished += 1;
        Step::Used(text.len())
    }

    fn refuse<L: Blocking>(&mut self, front: &Front<L>, bad: &Bad<'_>, input: &[u8]) -> Step {
        self.finished += 1;
        front.reject(bad, &mut self.output.bytes);
        if bad.fatal {
            return Step::Ends(Flow::Close);
        }
        Step::Used(self.input.skip(bad, input))
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::INPUT_OWN;
    use super::*;
    use crate::locks::Threads;
    use crate::store::{Config, Store};
    use std::time::Duration;

    fn front(budget: Option<Duration>) -> Front<Threads> {
        Front::new(Store::new(Config::default()).expect("a store"), budget)
    }

    #[test]
    fn a_paused_get_keeps_what_is_left_of_its_budget_and_the_next_starts_anew() {
        let front = front(Some(Duration::from_secs(60)));
        let mut session = front.session();
        session.receive(&[b"set a 0 0 70000 noreply\r\n", &[b'v'; 70_000][..], b"\r\n"].concat());
        assert_eq!(session.proceed(&front), Flow::Receive);
        session.receive(b"get a a a\r\n");
        for paused in [true, true, false] {
            session.sent();
            session.proceed(&front);
            let left = session.paused.as_ref().and_then(|paused| paused.budget.as_ref());
            assert_eq!(left.is_some(), paused);
        }
        assert!(session.output().ends_with(b"END\r\n"));
    }

    /// Hands `more` over byte by byte. Before each, everything that came earlier is replaced by line ends,
    /// which would be answered if it were looked at again. Returns how many such bytes there were.
    fn drip(session: &mut Session, front: &Front<Threads>, more: &[u8]) -> usize {
        let mut planted = 0;
        for byte in more {
            let kept = session.input.buffer.bytes.clone();
            session.input.buffer.bytes.fill(b'\n');
            planted += kept.len();
            session.receive(&[*byte]);
            assert_eq!(session.proceed(front), Flow::Receive);
            assert_eq!(String::from_utf8_lossy(session.output()), "", "after {} bytes", kept.len());
            session.input.buffer.bytes[..kept.len()].copy_from_slice(&kept);
        }
        planted
    }

    /// A14: each read scanned an unfinished line from its beginning, so that a client which sends single
    /// bytes filled a core.
    #[test]
    fn no_byte_of_an_unfinished_line_is_scanned_twice() {
        let front = front(None);
        let mut session = front.session();
        session.receive(b"get");
        assert_eq!(session.proceed(&front), Flow::Receive);
        assert!(drip(&mut session, &front, &b" key".repeat(500)) > 1_000_000);
        session.receive(b"\r\n");
        assert_eq!(session.proceed(&front), Flow::Receive);
        assert_eq!(session.output(), b"END\r\n");
    }

    /// A14 again: the line before an unfinished value was parsed anew at each read.
    #[test]
    fn no_line_is_parsed_twice_while_its_value_comes() {
        let front = front(None);
        let mut session = front.session();
        session.receive(b"set k 0 0 2000\r\n");
        assert_eq!(session.proceed(&front), Flow::Receive);
        assert!(drip(&mut session, &front, &[b'v'; 2_000]) > 1_000_000);
        session.receive(b"\r\n");
        assert_eq!(session.proceed(&front), Flow::Receive);
        assert_eq!(session.output(), b"STORED\r\n");
    }

    #[test]
    fn a_request_without_room_is_refused_and_closes() {
        let front = front(None).with_buffers(0);
        let mut session = front.session();
        session.receive(&[b'x'; INPUT_OWN]);
        assert_eq!(session.proceed(&front), Flow::Receive);
        session.receive(b"x");
        assert_eq!(session.proceed(&front), Flow::Close);
        assert_eq!(session.output(), b"SERVER_ERROR out of memory reading request\r\n");
    }

    #[test]
    fn an_answer_without_room_is_an_error_and_the_conversation_goes_on() {
        let front = front(None).with_buffers(300 << 10);
        let mut session = front.session();
        for (key, len) in [("small", 1_000), ("large", 200_000)] {
            let line = format!("set {key} 0 0 {len} noreply\r\n");
            session.receive(&[line.as_bytes(), &vec![b'v'; len], b"\r\n"].concat());
            assert_eq!(session.proceed(&front), Flow::Receive);
        }
        let mut others = Buffer::new(0, front.pool.clone());
        others.reserve(250 << 10).expect("the pool is unused");
        session.receive(b"get large\r\nget small\r\n");
        assert_eq!(session.proceed(&front), Flow::Receive);
        let answers = String::from_utf8_lossy(session.output()).into_owned();
        assert!(
            answers.starts_with("SERVER_ERROR out of memory writing get response\r\nVALUE small")
        );
    }
}
