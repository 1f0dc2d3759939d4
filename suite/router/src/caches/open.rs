//! Look-aside reads under way: each ends once, by its answer or its deadline.

use super::slot::Filler;
use super::turns::Work;
use crate::nodes::{Answer, Nodes, Outcome, Refusal, Ticket};
use std::collections::{BTreeSet, HashMap};
use tailwater_control::Reason;
use tailwater_core::Instant;
use tailwater_load::application::Unanswered;
use tailwater_load::foreign::{ForeignAsk, Protocol};

/// What a node is asked.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) node: usize,
    pub(super) key: u32,
    pub(super) deadline: Option<Instant>,
    pub(super) filler: Filler<()>,
}

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
    filler: Filler<()>,
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

impl Work for Open {
    type Question = Question;
    type Meaning = Meaning;

    fn begin(&mut self, time: Instant, question: Question, nodes: &mut [Nodes]) {
        let (node, ask) = (question.node, ForeignAsk::Get(question.key));
        let ticket = self.add(question);
        let sent = nodes[node].get(time, ticket, ask.key().as_bytes(), false);
        self.refuse(ticket, sent);
    }

    fn meaning(&self, ticket: Ticket, outcome: &Outcome<'_>) -> Option<Meaning> {
        let asking = self.all.get(&ticket.client)?;
        let is_set = ticket.command == SET;
        let lost = Meaning::End(Err(Unanswered::Refused(Reason::Unavailable)));
        Some(match *outcome {
            Outcome::Lost | Outcome::Unreachable(_) => lost,
            Outcome::Answered(Answer::Miss, _) | Outcome::Unsure(_) if !is_set => Meaning::Missed,
            Outcome::Answered(Answer::Line(b"STORED"), _) if is_set => Meaning::End(Ok(())),
            Outcome::Answered(Answer::Value(bytes), _)
                if !is_set && is_value(asking.key, bytes) =>
            {
                Meaning::End(Ok(()))
            }
            Outcome::Answered(..) | Outcome::Unsure(_) => Meaning::End(Err(Unanswered::Wrong)),
        })
    }

    fn conclude(&mut self, time: Instant, noted: (Ticket, Meaning), nodes: &mut [Nodes]) {
        match noted {
            (ticket, Meaning::End(outcome)) => self.end(ticket, outcome),
            (ticket, Meaning::Missed) => self.set(time, ticket, nodes),
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(&(at, client)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, client));
            let ticket = Ticket { client, command: 0 };
            self.end(ticket, Err(Unanswered::Refused(Reason::Deadline)));
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    fn take_ended(&mut self) -> usize {
        std::mem::take(&mut self.ended)
    }
}

impl Open {
    /// The ticket for its get.
    fn add(&mut self, question: Question) -> Ticket {
        let Question { node, key, deadline, filler } = question;
        self.next += 1;
        self.due.extend(deadline.map(|at| (at, self.next)));
        self.all.insert(self.next, Asking { node, key, deadline, filler });
        Ticket { client: self.next, command: 0 }
    }

    /// A question goes on with a set.
    fn set(&mut self, time: Instant, ticket: Ticket, nodes: &mut [Nodes]) {
        let Some((node, key)) = self.sets(ticket) else {
            return self.end(ticket, Ok(()));
        };
        let (ask, mut command) = (ForeignAsk::Set(key), Vec::new());
        Protocol::Memcached.request(ask, &mut command);
        let next = Ticket { command: SET, ..ticket };
        let sent = nodes[node].write(time, next, ask.key().as_bytes(), &[&command]);
        self.refuse(ticket, sent.map(drop));
    }

    /// The node and the key; nothing where it is not awaited any more, and need not go on.
    fn sets(&self, ticket: Ticket) -> Option<(usize, u32)> {
        let asking = self.all.get(&ticket.client)?;
        asking.filler.is_wanted().then_some((asking.node, asking.key))
    }

    /// Ends a question of which nothing was sent: the node cannot be reached, or has too much to do.
    fn refuse(&mut self, ticket: Ticket, sent: Result<(), Refusal>) {
        if let Err(why) = sent {
            self.end(ticket, Err(Unanswered::Refused(why.reason())));
        }
    }

    fn end(&mut self, ticket: Ticket, outcome: Result<(), Unanswered>) {
        if let Some(asking) = self.all.remove(&ticket.client) {
            self.ended += 1;
            if let Some(at) = asking.deadline {
                self.due.remove(&(at, ticket.client));
            }
            asking.filler.fill(outcome);
        }
    }
}

/// Whether this is all of the key's value.
fn is_value(key: u32, bytes: &[u8]) -> bool {
    let mut expected = Vec::new();
    Protocol::Memcached.answer(ForeignAsk::Get(key), &mut expected);
    expected.strip_suffix(END) == Some(bytes)
}
