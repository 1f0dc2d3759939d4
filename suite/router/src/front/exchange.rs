//! A command of a client, from when it is sent on to when its answer is whole.

use crate::nodes::{Answer, Outcome, is_error};
use std::sync::Arc;
use tailwater_keyvalue::memcached::buffers::{Buffer, Pool};

/// What is answered where all replicas of a write were lost while it was under way.
const ALL_LOST: &[u8] = b"SERVER_ERROR every replica was lost; whether it was stored is not known";
const NO_ROOM: &[u8] = b"SERVER_ERROR out of memory writing get response";

/// A command under way. It holds the values that have come, which are borrowed from the pool.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Parts that nodes have not answered.
    open: u32,
    values: Buffer,
    ending: Ending,
    /// Only errors are answered.
    is_quiet: bool,
}

/// The answer's last line.
#[derive(Debug)]
enum Ending {
    /// `END`, but for an error.
    OfValues(Option<Vec<u8>>),
    /// That of the node whose answer says most.
    Best(Option<(Rank, Vec<u8>)>),
    /// This, whatever nodes say.
    Fixed(Vec<u8>),
}

/// Which of the replicas' answers is given. A later one counts more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    /// It was not there: where a node has forgotten it, others have not.
    Nothing,
    Done,
    /// A replica has not what others have, and has dropped its old value, as memcached does.
    Error,
}

impl Exchange {
    /// A get of so many keys.
    pub(super) const fn of_values(keys: u32, pool: Arc<Pool>) -> Self {
        let values = Buffer::new(0, pool);
        Self { open: keys, values, ending: Ending::OfValues(None), is_quiet: false }
    }

    /// A command that so many nodes carry out.
    pub(super) const fn of_writes(nodes: u32, is_quiet: bool, pool: Arc<Pool>) -> Self {
        let values = Buffer::new(0, pool);
        Self { open: nodes, values, ending: Ending::Best(None), is_quiet }
    }

    /// An answer that needs no node, or does not depend on the so many that are asked.
    pub(super) fn of_line(line: Vec<u8>, nodes: u32, pool: Arc<Pool>) -> Self {
        let values = Buffer::new(0, pool);
        Self { open: nodes, values, ending: Ending::Fixed(line), is_quiet: false }
    }

    /// One part has ended.
    pub(super) fn end(&mut self, outcome: Outcome<'_>) {
        self.open = self.open.saturating_sub(1);
        match (&mut self.ending, outcome) {
            (Ending::OfValues(error), Outcome::Answered(Answer::Value(value))) => {
                match self.values.reserve(value.len()) {
                    Ok(()) => self.values.bytes.extend_from_slice(value),
                    Err(_) => *error = Some(NO_ROOM.to_vec()),
                }
            }
            (Ending::OfValues(error), Outcome::Answered(Answer::Line(line))) => {
                *error = Some(line.to_vec());
            }
            (Ending::OfValues(error), Outcome::Unreachable(why)) => *error = Some(why.into()),
            (Ending::Best(best), Outcome::Answered(Answer::Line(line))) => {
                let rank = rank(line);
                if best.as_ref().is_none_or(|(held, _)| *held < rank) {
                    *best = Some((rank, line.to_vec()));
                }
            }
            _ => {}
        }
    }

    /// Whether every part has ended.
    pub(super) const fn is_whole(&self) -> bool {
        self.open == 0
    }

    /// Appends the answer, unless `output` has no room for it beside what it holds: then it stays here.
    pub(super) fn write(&mut self, output: &mut Buffer) -> bool {
        if output.bytes.is_empty() {
            // Large values are not copied, nor borrowed for twice.
            std::mem::swap(output, &mut self.values);
        } else if output.reserve(self.values.bytes.len()).is_err() {
            return false;
        }
        output.bytes.extend_from_slice(&self.values.bytes);
        let line: &[u8] = match &self.ending {
            Ending::OfValues(error) => error.as_deref().unwrap_or(b"END"),
            Ending::Best(best) => best.as_ref().map_or(ALL_LOST, |(_, line)| line),
            Ending::Fixed(line) => line,
        };
        let is_silent = line.is_empty() || self.is_quiet && !is_error(line);
        if !is_silent {
            output.bytes.extend_from_slice(line);
            output.bytes.extend_from_slice(b"\r\n");
        }
        true
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

    fn pool() -> Arc<Pool> {
        Arc::new(Pool::new(1 << 20))
    }

    fn answered(line: &[u8]) -> Outcome<'_> {
        Outcome::Answered(Answer::Line(line))
    }

    fn written(mut exchange: Exchange) -> String {
        let mut output = Buffer::new(1 << 10, pool());
        output.bytes.extend_from_slice(b"> ");
        assert!(exchange.is_whole() && exchange.write(&mut output));
        String::from_utf8(output.bytes.clone()).expect("text")
    }

    fn of(lines: &[&[u8]], is_quiet: bool) -> String {
        let mut exchange = Exchange::of_writes(lines.len() as u32 + 1, is_quiet, pool());
        lines.iter().for_each(|line| exchange.end(answered(line)));
        assert!(!exchange.is_whole());
        exchange.end(Outcome::Lost);
        written(exchange)
    }

    #[test]
    fn the_answer_of_replicas_is_that_which_says_most() {
        assert_eq!(of(&[b"STORED", b"STORED"], false), "> STORED\r\n");
        assert_eq!(of(&[b"NOT_FOUND", b"DELETED"], false), "> DELETED\r\n");
        assert_eq!(of(&[b"42", b"NOT_FOUND"], false), "> 42\r\n");
        assert_eq!(of(&[b"NOT_FOUND"], false), "> NOT_FOUND\r\n");
        assert_eq!(of(&[b"STORED", b"SERVER_ERROR full"], false), "> SERVER_ERROR full\r\n");
        assert_eq!(of(&[], false), format!("> {}\r\n", ALL_LOST.escape_ascii()));
    }

    #[test]
    fn quiet_commands_answer_errors_alone() {
        assert_eq!(of(&[b"STORED"], true), "> ");
        assert_eq!(of(&[b"SERVER_ERROR full"], true), "> SERVER_ERROR full\r\n");
    }

    #[test]
    fn values_come_before_the_end() {
        let mut exchange = Exchange::of_values(3, pool());
        exchange.end(Outcome::Answered(Answer::Value(b"VALUE a 0 1\r\nx\r\n")));
        exchange.end(Outcome::Answered(Answer::Miss));
        exchange.end(Outcome::Answered(Answer::Value(b"VALUE b 0 1\r\ny\r\n")));
        assert_eq!(written(exchange), "> VALUE a 0 1\r\nx\r\nVALUE b 0 1\r\ny\r\nEND\r\n");
        let mut failed = Exchange::of_values(1, pool());
        failed.end(Outcome::Unreachable("SERVER_ERROR gone"));
        assert_eq!(written(failed), "> SERVER_ERROR gone\r\n");
    }

    #[test]
    fn values_without_room_are_an_error() {
        let mut exchange = Exchange::of_values(1, Arc::new(Pool::new(4)));
        exchange.end(Outcome::Answered(Answer::Value(b"VALUE a 0 1\r\nx\r\n")));
        assert_eq!(written(exchange), format!("> {}\r\n", NO_ROOM.escape_ascii()));
    }
}
