//! A command of a client, from when it is sent on to when its answer is whole.

use crate::nodes::{Answer, BUSY, FULL, Outcome, is_error};
use std::borrow::Cow;
use tailwater_control::Reason;
use tailwater_keyvalue::memcached::buffers::{Buffer, NoRoom, Share, reserve};

/// What is answered where all replicas of a write were lost while it was under way.
const ALL_LOST: &[u8] = b"SERVER_ERROR every replica was lost; whether it was stored is not known";
/// What is answered where those that are left may lack what the others had.
const ALL_UNSURE: &[u8] =
    b"SERVER_ERROR no other replica of the key can be reached; those that can have lost what they had";
const NO_ROOM: &[u8] = b"SERVER_ERROR out of memory writing get response";
/// How what is answered begins where no node can be asked for a key, or none of those that are left: [`ALL_UNSURE`], too.
const NO_REPLICA: &[u8] = b"SERVER_ERROR no replica of the key";
const NO_OTHER_REPLICA: &[u8] = b"SERVER_ERROR no other replica of the key";
/// Follows on an error after which memcached has dropped the old value, where that is not known of any replica.
const OLD_STAYS: &[u8] = b"; no replica has confirmed that the old value is dropped";

/// A command under way. What it holds of its answer, its client's share holds.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Parts that nodes have not answered.
    open: u32,
    /// Values that have come; in the end all of the answer.
    answer: Vec<u8>,
    /// Bytes that are held.
    held: usize,
    ending: Ending,
    /// Nothing is answered: the client would take it for the answer to another command.
    is_quiet: bool,
    /// Only an error was not answered.
    hides_error: bool,
}

type Line = Cow<'static, [u8]>;

/// The answer's last line.
#[derive(Debug)]
enum Ending {
    /// `END`, but for an error.
    OfValues(Option<Line>),
    /// That of the node whose answer says most.
    Best(Best),
    /// This, and whether a node has dropped the old value.
    Dropping(Line, bool),
    /// This. Empty for none.
    Fixed(Line),
}

/// The answers of a key's replicas.
#[derive(Debug)]
struct Best {
    found: Option<(Rank, Line)>,
    /// How many have said that the key is not there and may have lost it, and the last one's line.
    unsure: u32,
    line: Line,
    /// How many replicas the key has.
    replicas: u32,
}

impl Best {
    fn line(self) -> Line {
        match self.found {
            Some((_, line)) => line,
            None if self.unsure == 0 => Line::Borrowed(ALL_LOST),
            // All have said so.
            None if self.unsure >= self.replicas => self.line,
            None => Line::Borrowed(ALL_UNSURE),
        }
    }
}

/// Which of the replicas' answers is given. A later one counts more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    /// It was not there: where a node has forgotten it, others have not.
    Nothing,
    Done,
    /// A replica has not what others have, and forgets its old value.
    Error,
}

impl Exchange {
    /// A get of so many keys.
    pub(super) const fn of_values(keys: u32) -> Self {
        Self::new(keys, Ending::OfValues(None), false)
    }

    /// A command that so many nodes carry out, of so many replicas.
    pub(super) const fn of_writes(nodes: u32, replicas: u32, is_quiet: bool) -> Self {
        let best = Best { found: None, unsure: 0, line: Line::Borrowed(&[]), replicas };
        Self::new(nodes, Ending::Best(best), is_quiet)
    }

    /// An answer that needs no node.
    pub(super) fn of_line(line: &[u8], is_quiet: bool, share: &mut Share) -> Self {
        let mut it = Self::new(0, Ending::Fixed(Line::Borrowed(&[])), is_quiet);
        it.ending = Ending::Fixed(it.hold(line, share));
        it.finish(share);
        it
    }

    /// An error because of which so many nodes are to drop a value.
    pub(super) fn of_dropping(
        line: &'static str,
        nodes: u32,
        is_quiet: bool,
        share: &mut Share,
    ) -> Self {
        let ending = Ending::Dropping(Line::Borrowed(line.as_bytes()), false);
        let mut it = Self::new(nodes, ending, is_quiet);
        it.finish(share);
        it
    }

    const fn new(open: u32, ending: Ending, is_quiet: bool) -> Self {
        Self { open, answer: Vec::new(), held: 0, ending, is_quiet, hides_error: false }
    }

    /// One part has ended.
    pub(super) fn end(&mut self, outcome: Outcome<'_>, share: &mut Share) {
        self.open = self.open.saturating_sub(1);
        match (&mut self.ending, outcome) {
            (Ending::OfValues(_), Outcome::Answered(Answer::Value(value), _)) => {
                let appended = self.append(value, share);
                if appended.is_err() {
                    self.ending = Ending::OfValues(Some(Line::Borrowed(NO_ROOM)));
                }
            }
            (Ending::OfValues(_), Outcome::Answered(Answer::Line(line), _)) => {
                self.ending = Ending::OfValues(Some(self.hold(line, share)));
            }
            (Ending::OfValues(_), Outcome::Unreachable(why)) => {
                self.ending = Ending::OfValues(Some(self.hold(why.as_bytes(), share)));
            }
            (Ending::Best(best), Outcome::Answered(Answer::Line(line), _)) => {
                let rank = rank(line);
                if best.found.as_ref().is_none_or(|(held, _)| *held < rank) {
                    let line = self.hold(line, share);
                    if let Ending::Best(best) = &mut self.ending {
                        best.found = Some((rank, line));
                    }
                }
            }
            (Ending::Best(_), Outcome::Unsure(line)) => {
                let line = self.hold(line, share);
                if let Ending::Best(best) = &mut self.ending {
                    (best.unsure, best.line) = (best.unsure + 1, line);
                }
            }
            (Ending::Dropping(_, is_dropped), Outcome::Answered(Answer::Line(line), _)) => {
                *is_dropped |= !is_error(line);
            }
            _ => {}
        }
        self.finish(share);
    }

    /// Whether every part has ended.
    pub(super) const fn is_whole(&self) -> bool {
        self.open == 0
    }

    /// Parts that nodes have not answered.
    pub(super) const fn open(&self) -> usize {
        self.open as usize
    }

    /// Whether it is an error that is not answered.
    pub(super) const fn hides_error(&self) -> bool {
        self.hides_error
    }

    /// Moves the answer to `output`, unless that has no room for it beside what it holds: then it stays here.
    pub(super) fn write(&mut self, output: &mut Buffer, share: &mut Share) -> Result<(), NoRoom> {
        if !output.bytes.is_empty() || self.answer.is_empty() {
            output.reserve(self.answer.len())?;
            output.bytes.extend_from_slice(&self.answer);
            share.give(std::mem::take(&mut self.held));
            return Ok(());
        }
        // Large values are not copied, nor borrowed for twice. What the one share gives back, the other takes: it has
        // more of its own.
        share.give(std::mem::take(&mut self.held));
        output.adopt(&mut self.answer)
    }

    /// Ends the answer when every part has ended.
    fn finish(&mut self, share: &mut Share) {
        if self.open > 0 {
            return;
        }
        let (line, more): (Line, &[u8]) =
            match std::mem::replace(&mut self.ending, Ending::Fixed(Line::Borrowed(&[]))) {
                Ending::OfValues(error) => (error.unwrap_or(Line::Borrowed(b"END")), b""),
                Ending::Best(best) => (best.line(), b""),
                Ending::Dropping(line, is_dropped) => {
                    (line, if is_dropped { b"" } else { OLD_STAYS })
                }
                Ending::Fixed(line) => (line, b""),
            };
        if self.is_quiet {
            self.hides_error = is_error(&line);
            return;
        }
        if !line.is_empty() {
            let end = [&line, more, b"\r\n"].concat();
            if self.append(&end, share).is_err() {
                self.drop_answer(share);
                // A short line, and at most one for each command under way: it is not counted.
                self.answer = [NO_ROOM, b"\r\n"].concat();
            }
        }
    }

    fn append(&mut self, bytes: &[u8], share: &mut Share) -> Result<(), NoRoom> {
        self.held += reserve(&mut self.answer, bytes.len(), share)?;
        self.answer.extend_from_slice(bytes);
        Ok(())
    }

    /// A line of a node, or that there is no room for it.
    fn hold(&mut self, line: &[u8], share: &mut Share) -> Line {
        if share.take(line.len()).is_err() {
            return Line::Borrowed(NO_ROOM);
        }
        self.held += line.len();
        Line::Owned(line.to_vec())
    }

    /// What it holds, it holds no longer.
    pub(super) fn drop_answer(&mut self, share: &mut Share) {
        self.answer = Vec::new();
        share.give(std::mem::take(&mut self.held));
    }
}

/// Why a command was refused, by the line that answers it: overload, or no replica of the key can be asked. `None` for other lines,
/// also for other errors.
pub(crate) fn refused(line: &[u8]) -> Option<Reason> {
    let begins = |with: &[u8]| line.starts_with(with);
    if line == BUSY.as_bytes() || begins(FULL) {
        Some(Reason::QueueFull)
    } else if line == ALL_LOST || begins(NO_REPLICA) || begins(NO_OTHER_REPLICA) {
        Some(Reason::Unavailable)
    } else {
        None
    }
}

fn rank(line: &[u8]) -> Rank {
    match line {
        line if is_error(line) => Rank::Error,
        b"NOT_FOUND" | b"NOT_STORED" | b"EXISTS" => Rank::Nothing,
        _ => Rank::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::SPOILT;
    use std::sync::Arc;
    use tailwater_keyvalue::memcached::buffers::Pool;

    fn share_of(bytes: usize) -> (Share, Arc<Pool>) {
        let pool = Arc::new(Pool::new(bytes));
        (Share::new(0, pool.clone()), pool)
    }

    fn answered(line: &[u8]) -> Outcome<'_> {
        Outcome::Answered(Answer::Line(line), 0)
    }

    fn written(mut exchange: Exchange, (mut share, pool): (Share, Arc<Pool>)) -> String {
        let mut output = Buffer::new(1 << 10, pool.clone());
        output.bytes.extend_from_slice(b"> ");
        assert!(exchange.is_whole() && exchange.write(&mut output, &mut share).is_ok());
        assert_eq!(pool.lent(), 0, "what was held is given back");
        String::from_utf8(output.bytes.clone()).expect("text")
    }

    fn of(lines: &[&[u8]]) -> String {
        let mut share = share_of(1 << 20);
        let mut exchange = Exchange::of_writes(lines.len() as u32 + 1, 3, false);
        lines.iter().for_each(|line| exchange.end(answered(line), &mut share.0));
        assert!(!exchange.is_whole());
        exchange.end(Outcome::Lost, &mut share.0);
        written(exchange, share)
    }

    #[test]
    fn the_answer_of_replicas_is_that_which_says_most() {
        assert_eq!(of(&[b"STORED", b"STORED"]), "> STORED\r\n");
        assert_eq!(of(&[b"NOT_FOUND", b"DELETED"]), "> DELETED\r\n");
        assert_eq!(of(&[b"42", b"NOT_FOUND"]), "> 42\r\n");
        assert_eq!(of(&[b"NOT_FOUND"]), "> NOT_FOUND\r\n");
        assert_eq!(of(&[b"STORED", b"SERVER_ERROR full"]), "> SERVER_ERROR full\r\n");
        assert_eq!(of(&[]), format!("> {}\r\n", ALL_LOST.escape_ascii()));
    }

    /// One that may have lost the key says that it is not there, and the others cannot be reached.
    #[test]
    fn that_nothing_is_there_is_believed_of_all_replicas_or_of_one_that_has_lost_nothing() {
        let of = |unsure: u32, line: Option<&[u8]>, replicas| {
            let mut share = share_of(1 << 20);
            let mut exchange = Exchange::of_writes(unsure + 1, replicas, false);
            (0..unsure).for_each(|_| exchange.end(Outcome::Unsure(b"NOT_FOUND"), &mut share.0));
            exchange.end(line.map_or(Outcome::Lost, answered), &mut share.0);
            written(exchange, share)
        };
        let unknown = format!("> {}\r\n", ALL_UNSURE.escape_ascii());
        assert_eq!(of(1, None, 2), unknown);
        assert_eq!(of(2, None, 3), unknown);
        assert_eq!(of(1, None, 1), "> NOT_FOUND\r\n", "all that there are");
        assert_eq!(of(1, Some(b"NOT_FOUND"), 2), "> NOT_FOUND\r\n");
        assert_eq!(of(1, Some(b"42"), 2), "> 42\r\n");
    }

    #[test]
    fn refusals_are_told_from_answers_and_from_what_is_broken() {
        for line in [NO_ROOM, BUSY.as_bytes(), b"SERVER_ERROR out of memory storing object"] {
            assert_eq!(refused(line), Some(Reason::QueueFull), "{}", line.escape_ascii());
        }
        let unreachable = b"SERVER_ERROR no replica of the key can be reached; 127.0.0.1:1: down";
        for line in [ALL_LOST, ALL_UNSURE, unreachable] {
            assert_eq!(refused(line), Some(Reason::Unavailable), "{}", line.escape_ascii());
        }
        let others = [b"STORED".as_slice(), b"NOT_STORED", b"ERROR", SPOILT.as_bytes()];
        for line in others.into_iter().chain([&b"SERVER_ERROR object too large for cache"[..]]) {
            assert_eq!(refused(line), None, "{}", line.escape_ascii());
        }
    }

    /// What nobody waits for would be taken for the answer to the next command.
    #[test]
    fn quiet_commands_answer_nothing() {
        for (line, is_hidden) in [(&b"STORED"[..], false), (b"SERVER_ERROR full", true)] {
            let mut share = share_of(1 << 20);
            let mut exchange = Exchange::of_writes(1, 1, true);
            exchange.end(answered(line), &mut share.0);
            assert_eq!(exchange.hides_error(), is_hidden);
            assert_eq!(written(exchange, share), "> ");
        }
        let mut share = share_of(1 << 20);
        let refused = Exchange::of_line(b"SERVER_ERROR busy", true, &mut share.0);
        assert!(refused.hides_error());
        assert_eq!(written(refused, share), "> ");
    }

    #[test]
    fn values_come_before_the_end() {
        let mut share = share_of(1 << 20);
        let mut exchange = Exchange::of_values(3);
        for answer in [
            Answer::Value(b"VALUE a 0 1\r\nx\r\n"),
            Answer::Miss,
            Answer::Value(b"VALUE b 0 1\r\ny\r\n"),
        ] {
            exchange.end(Outcome::Answered(answer, 0), &mut share.0);
        }
        assert_eq!(written(exchange, share), "> VALUE a 0 1\r\nx\r\nVALUE b 0 1\r\ny\r\nEND\r\n");
        let mut share = share_of(1 << 20);
        let mut failed = Exchange::of_values(1);
        failed.end(Outcome::Unreachable("SERVER_ERROR gone"), &mut share.0);
        assert_eq!(written(failed, share), "> SERVER_ERROR gone\r\n");
    }

    #[test]
    fn values_without_room_are_an_error() {
        let mut share = share_of(4);
        let mut exchange = Exchange::of_values(1);
        exchange.end(Outcome::Answered(Answer::Value(b"VALUE a 0 1\r\nx\r\n"), 0), &mut share.0);
        assert_eq!(written(exchange, share), format!("> {}\r\n", NO_ROOM.escape_ascii()));
    }

    #[test]
    fn an_old_value_that_may_stay_is_told() {
        let of = |outcome: Outcome<'_>| {
            let mut share = share_of(1 << 20);
            let mut exchange = Exchange::of_dropping("SERVER_ERROR large", 1, false, &mut share.0);
            exchange.end(outcome, &mut share.0);
            written(exchange, share)
        };
        assert_eq!(of(answered(b"NOT_FOUND")), "> SERVER_ERROR large\r\n");
        let may_stay = format!("> SERVER_ERROR large{}\r\n", OLD_STAYS.escape_ascii());
        assert_eq!(of(answered(b"SERVER_ERROR busy")), may_stay);
        assert_eq!(of(Outcome::Lost), may_stay);
        let mut share = share_of(1 << 20);
        let nobody = Exchange::of_dropping("SERVER_ERROR large", 0, false, &mut share.0);
        assert_eq!(written(nobody, share), may_stay);
    }

    #[test]
    fn a_large_answer_goes_to_an_empty_output_uncopied_and_is_borrowed_for_once() {
        let pool = Arc::new(Pool::new(1_000));
        let mut share = Share::new(50, pool.clone());
        let mut exchange = Exchange::of_values(1);
        exchange.end(Outcome::Answered(Answer::Value(&[b'v'; 900]), 0), &mut share);
        let mut output = Buffer::new(100, pool.clone());
        assert_eq!(exchange.write(&mut output, &mut share), Ok(()));
        assert_eq!(output.bytes.len(), 900 + "END\r\n".len());
        output.bytes.clear();
        output.trim();
        assert_eq!((pool.lent(), output.bytes.capacity()), (0, 100), "its own share is as it was");
    }
}
