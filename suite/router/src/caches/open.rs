//! Questions under way: each ends once, by its answer or its deadline.

use super::desk::Question;
use super::slot::Filler;
use crate::nodes::{Answer, Outcome, Ticket};
use std::collections::{BTreeSet, HashMap};
use tailwater_control::Reason;
use tailwater_core::Instant;
use tailwater_load::application::Unanswered;
use tailwater_load::foreign::{ForeignAsk, Protocol};

/// All of them, which the desk bounds.
#[derive(Debug, Default)]
pub(super) struct Open {
    next: u64,
    all: HashMap<u64, Asking>,
    due: BTreeSet<(Instant, u64)>,
    ended: usize,
}

#[derive(Debug)]
struct Asking {
    node: usize,
    key: u32,
    deadline: Option<Instant>,
    filler: Filler,
}

/// What an outcome means for its question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// It ends so.
    End(Result<(), Unanswered>),
    /// The key is not there: its value is to be set.
    Missed,
}

/// The command of a ticket that is a set. A get has 0.
const SET: u64 = 1;
/// Behind a value.
const END: &[u8] = b"END\r\n";

impl Open {
    /// The ticket for its get.
    pub(super) fn begin(&mut self, question: Question) -> Ticket {
        let Question { node, key, deadline, filler } = question;
        self.next += 1;
        self.due.extend(deadline.map(|at| (at, self.next)));
        self.all.insert(self.next, Asking { node, key, deadline, filler });
        Ticket { client: self.next, command: 0 }
    }

    /// What the outcome of a command means; nothing where its question has ended.
    pub(super) fn meaning(&self, ticket: Ticket, outcome: &Outcome<'_>) -> Option<Meaning> {
        let asking = self.all.get(&ticket.client)?;
        let is_set = ticket.command == SET;
        let lost = Meaning::End(Err(Unanswered::Refused(Reason::Unavailable)));
        Some(match *outcome {
            Outcome::Lost | Outcome::Unreachable(_) => lost,
            Outcome::Answered(Answer::Miss) | Outcome::Unsure(_) if !is_set => Meaning::Missed,
            Outcome::Answered(Answer::Line(b"STORED")) if is_set => Meaning::End(Ok(())),
            Outcome::Answered(Answer::Value(bytes)) if !is_set && is_value(asking.key, bytes) => {
                Meaning::End(Ok(()))
            }
            Outcome::Answered(_) | Outcome::Unsure(_) => Meaning::End(Err(Unanswered::Wrong)),
        })
    }

    /// The node and the key of a question that goes on with a set, and the ticket for that.
    pub(super) fn sets(&self, ticket: Ticket) -> Option<(usize, u32, Ticket)> {
        let asking = self.all.get(&ticket.client)?;
        let next = Ticket { command: SET, ..ticket };
        // One that is not awaited any more need not go on.
        asking.filler.is_wanted().then_some((asking.node, asking.key, next))
    }

    pub(super) fn end(&mut self, ticket: Ticket, outcome: Result<(), Unanswered>) {
        if let Some(asking) = self.all.remove(&ticket.client) {
            self.ended += 1;
            if let Some(at) = asking.deadline {
                self.due.remove(&(at, ticket.client));
            }
            asking.filler.fill(outcome);
        }
    }

    /// Ends what is past its deadline. What comes of it later has no question.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(&(at, client)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, client));
            let ticket = Ticket { client, command: 0 };
            self.end(ticket, Err(Unanswered::Refused(Reason::Deadline)));
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// How many have ended since it was asked last.
    pub(super) fn take_ended(&mut self) -> usize {
        std::mem::take(&mut self.ended)
    }
}

/// Whether this is all of the key's value.
fn is_value(key: u32, bytes: &[u8]) -> bool {
    let mut expected = Vec::new();
    Protocol::Memcached.answer(ForeignAsk::Get(key), &mut expected);
    expected.strip_suffix(END) == Some(bytes)
}
