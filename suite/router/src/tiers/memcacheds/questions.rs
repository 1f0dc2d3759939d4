//! Questions under way at memcacheds: each ends once, when all its commands have, or at its deadline.
//!
//! A set that has passed its deadline is carried out all the same. One connection to each node has all commands in one order.
//! So no replica carries it out behind a later one, and a get that is asked later finds it at every replica.

use super::super::Upheavals;
use crate::caches::{Filler, Work};
use crate::nodes::{Answer, FULL, Nodes, Outcome, Refusal, SPOILT, Ticket, value_of};
use std::collections::{BTreeSet, HashMap};
use tailwater_control::Reason;
use tailwater_core::Instant;
use tailwater_load::application::Unanswered;

/// Of a key.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) key: Vec<u8>,
    pub(super) what: What,
    pub(super) deadline: Option<Instant>,
    pub(super) filler: Filler<Said>,
}

#[derive(Debug)]
pub(super) enum What {
    /// Its value, of one replica.
    Get,
    /// All replicas are to have this value.
    Set(Vec<u8>),
    /// What each replica has.
    Each,
}

/// What comes of a question, and how often nodes were lost by then.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) told: Told,
    pub(super) upheavals: Upheavals,
}

#[derive(PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// This node has this value.
    Value(u16, Vec<u8>),
    /// No replica has one.
    Missing,
    /// So many replicas have stored it.
    Stored(usize),
    /// By the replicas' places.
    Each(Vec<Seen>),
}

/// What a replica has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// It was not asked, has not answered, or may have lost what it had. It may have any value.
    Untold,
    Nothing,
    Value(Vec<u8>),
}

/// What a node has answered.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Value(u16, Vec<u8>),
    Missing,
    Stored,
    /// It has not carried the command out, as far as is known.
    Not(Unanswered),
}

/// All of them, which the desk bounds, before the nodes of one router. Commands of those that have passed their deadline are
/// bounded by what nodes may owe.
#[derive(Debug)]
pub(super) struct Questions {
    next: u64,
    all: HashMap<u64, Asking>,
    due: BTreeSet<(Instant, u64)>,
    ended: usize,
    watch: Watch,
}

#[derive(Debug)]
struct Asking {
    key: Vec<u8>,
    /// Commands that have not ended.
    left: usize,
    found: Found,
    deadline: Option<Instant>,
    filler: Filler<Said>,
}

/// What has come of the commands that have ended.
#[derive(Debug)]
enum Found {
    Get(Result<Told, Unanswered>),
    Set { stored: usize, worst: Option<Unanswered> },
    Each(Vec<Seen>),
}

const UNAVAILABLE: Unanswered = Unanswered::Refused(Reason::Unavailable);

impl Questions {
    /// Before so many nodes, each of which is up.
    pub(super) fn new(nodes: usize) -> Self {
        let (next, all, due, ended) = Default::default();
        Self { next, all, due, ended, watch: Watch::new(nodes) }
    }

    fn end(&mut self, number: u64) {
        let Some(asking) = self.all.remove(&number) else { return };
        self.ended += 1;
        if let Some(at) = asking.deadline {
            self.due.remove(&(at, number));
        }
        let told = match asking.found {
            Found::Get(found) => found,
            // The replicas that have not stored it forget the key.
            Found::Set { stored, worst } if stored > 0 && worst != Some(Unanswered::Wrong) => {
                Ok(Told::Stored(stored))
            }
            Found::Set { worst, .. } => Err(worst.unwrap_or(UNAVAILABLE)),
            Found::Each(seen) => Ok(Told::Each(seen)),
        };
        let upheavals = self.watch.found;
        asking.filler.fill(told.map(|told| Said { told, upheavals }));
    }
}

impl Work for Questions {
    type Question = Question;
    type Meaning = Meaning;

    fn begin(&mut self, time: Instant, question: Question, nodes: &mut [Nodes]) {
        // Those of one router.
        let nodes = &mut nodes[0];
        self.watch.look(nodes.are_up());
        self.next += 1;
        let number = self.next;
        let Question { key, what, deadline, filler } = question;
        let ticket = |place: usize| Ticket { client: number, command: place as u64 };
        let (found, left) = match what {
            What::Get => {
                let sent = nodes.get(time, ticket(0), &key, false);
                let (why, left) =
                    (sent.as_ref().map_or_else(unsent, |()| UNAVAILABLE), sent.is_ok());
                (Found::Get(Err(why)), usize::from(left))
            }
            What::Set(value) => {
                let head = format!(" 0 0 {}\r\n", value.len());
                let command: [&[u8]; 5] = [b"set ", &key, head.as_bytes(), &value, b"\r\n"];
                let sent = nodes.write(time, ticket(0), &key, &command);
                let worst = sent.as_ref().err().map(unsent);
                (Found::Set { stored: 0, worst }, sent.unwrap_or(0) as usize)
            }
            What::Each => {
                let replicas = nodes.replicas();
                let is_sent = |&place: &usize| nodes.get_of(place, ticket(place), &key).is_ok();
                let sent = (0..replicas).filter(is_sent).count();
                (Found::Each(vec![Seen::Untold; replicas]), sent)
            }
        };
        self.due.extend(deadline.map(|at| (at, number)));
        self.all.insert(number, Asking { key, left, found, deadline, filler });
        if left == 0 {
            self.end(number);
        }
    }

    fn meaning(&self, ticket: Ticket, outcome: &Outcome<'_>) -> Option<Meaning> {
        self.all.contains_key(&ticket.client).then(|| meaning_of(outcome))
    }

    fn conclude(&mut self, _: Instant, noted: (Ticket, Meaning), nodes: &mut [Nodes]) {
        let (Ticket { client: number, command: place }, meaning) = noted;
        self.watch.look(nodes[0].are_up());
        let Some(asking) = self.all.get_mut(&number) else { return };
        match (&mut asking.found, meaning) {
            (Found::Get(found), Meaning::Value(node, value)) => {
                *found = Ok(Told::Value(node, value));
            }
            (Found::Get(found), Meaning::Missing) if !nodes[0].may_have_lost(&asking.key) => {
                *found = Ok(Told::Missing);
            }
            (Found::Get(found), Meaning::Not(why)) => *found = Err(why),
            (Found::Set { stored, .. }, Meaning::Stored) => *stored += 1,
            (Found::Set { worst, .. }, Meaning::Not(why)) => {
                *worst = Unanswered::worst(worst.take().into_iter().chain([why]));
            }
            (Found::Each(seen), Meaning::Value(_, value)) => {
                seen[place as usize] = Seen::Value(value);
            }
            (Found::Each(seen), Meaning::Missing) if !nodes[0].may_have_lost(&asking.key) => {
                seen[place as usize] = Seen::Nothing;
            }
            // What was there may be lost, or is not known: that stands there already.
            _ => {}
        }
        asking.left -= 1;
        if asking.left == 0 {
            self.end(number);
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(&(at, number)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, number));
            if let Some(asking) = self.all.remove(&number) {
                self.ended += 1;
                asking.filler.fill(Err(Unanswered::Refused(Reason::Deadline)));
            }
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    fn take_ended(&mut self) -> usize {
        std::mem::take(&mut self.ended)
    }
}

/// Nothing was sent.
fn unsent(why: &Refusal) -> Unanswered {
    Unanswered::Refused(why.reason())
}

fn meaning_of(outcome: &Outcome<'_>) -> Meaning {
    match *outcome {
        Outcome::Answered(Answer::Value(whole), node) => match value_of(whole) {
            Some(value) => Meaning::Value(node, value.to_vec()),
            None => Meaning::Not(Unanswered::Wrong),
        },
        Outcome::Answered(Answer::Miss, _) => Meaning::Missing,
        Outcome::Answered(Answer::Line(b"STORED"), _) => Meaning::Stored,
        Outcome::Answered(Answer::Line(line), _) if line.starts_with(FULL) => {
            Meaning::Not(Unanswered::Refused(Reason::QueueFull))
        }
        Outcome::Answered(Answer::Line(_), _)
        | Outcome::Unsure(_)
        | Outcome::Unreachable(SPOILT) => Meaning::Not(Unanswered::Wrong),
        Outcome::Unreachable(_) | Outcome::Lost => Meaning::Not(UNAVAILABLE),
    }
}

/// Which nodes were up when it was looked last, and what became of them since.
#[derive(Debug)]
struct Watch {
    were_up: Vec<bool>,
    found: Upheavals,
}

impl Watch {
    /// Of so many nodes, each of which is up.
    fn new(nodes: usize) -> Self {
        Self { were_up: vec![true; nodes], found: Upheavals::default() }
    }

    fn look(&mut self, are_up: impl Iterator<Item = bool>) {
        for (was_up, is_up) in self.were_up.iter_mut().zip(are_up) {
            let was_up = std::mem::replace(was_up, is_up);
            self.found.lost += u32::from(was_up && !is_up);
            self.found.returned += u32::from(!was_up && is_up);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_memcached_are_values_refusals_or_wrong() {
        let line = |line| meaning_of(&Outcome::Answered(Answer::Line(line), 2));
        let full = Meaning::Not(Unanswered::Refused(Reason::QueueFull));
        assert_eq!(line(b"STORED"), Meaning::Stored);
        assert_eq!(line(b"SERVER_ERROR out of memory storing object"), full);
        for other in [&b"NOT_STORED"[..], b"ERROR", b"SERVER_ERROR object too large for cache"] {
            assert_eq!(line(other), Meaning::Not(Unanswered::Wrong));
        }
        let value = |whole| meaning_of(&Outcome::Answered(Answer::Value(whole), 2));
        assert_eq!(value(b"VALUE k 0 4\r\na\r\nb\r\n"), Meaning::Value(2, b"a\r\nb".to_vec()));
        assert_eq!(value(b"VALUE k 0 0\r\n\r\n"), Meaning::Value(2, Vec::new()));
        let unreachable = |why| meaning_of(&Outcome::Unreachable(why));
        assert_eq!(unreachable("SERVER_ERROR no replica"), Meaning::Not(UNAVAILABLE));
        assert_eq!(unreachable(SPOILT), Meaning::Not(Unanswered::Wrong));
        assert_eq!(meaning_of(&Outcome::Lost), Meaning::Not(UNAVAILABLE));
    }

    #[test]
    fn nodes_that_go_and_come_back_are_counted_once() {
        let mut watch = Watch::new(2);
        for are_up in [[true, true], [true, false], [true, false], [true, true], [false, false]] {
            watch.look(are_up.into_iter());
        }
        assert_eq!(watch.found, Upheavals { lost: 3, returned: 1 });
    }
}
