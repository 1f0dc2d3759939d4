//! Writes under way: which replicas have carried one out, and which must forget its key.

use super::answer::{Answer, is_error};
use super::ledger::Ticket;
use crate::parts::{Follows, Part, Parts};
use crate::standing::Forget;

impl From<Answer<'_>> for Part {
    fn from(answer: Answer<'_>) -> Self {
        match answer {
            // memcached says NOT_STORED to an `append` that makes the value too large, too.
            Answer::Line(line) if is_error(line) || line == b"NOT_STORED" => Self::Refused,
            Answer::Line(b"NOT_FOUND") => Self::Absent,
            _ => Self::Done,
        }
    }
}

/// A write, until each replica that was asked has answered, or was lost.
#[derive(Debug)]
struct Write {
    ticket: Ticket,
    what: Forget,
    open: usize,
    parts: Parts,
}

/// The writes under way, by numbers that are given again.
#[derive(Debug)]
pub(super) struct Writes {
    slots: Vec<Option<Write>>,
    free: Vec<u32>,
    /// For each node, how many writes it has lost of which it is not known whether others carry them out.
    unsure: Vec<u32>,
}

impl Writes {
    /// At so many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), unsure: vec![0; nodes] }
    }

    /// A write that so many replicas are asked to carry out: its number, once for each.
    pub(super) fn begin(
        &mut self,
        ticket: Ticket,
        key: Option<&[u8]>,
        open: usize,
        is_delete: bool,
    ) -> u32 {
        let what = Forget::of(key);
        let write = Write { ticket, what, open, parts: Parts::new(is_delete) };
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // Each is owed by a node at least: 256 nodes owe 2^16 answers each at most.
            (self.slots.len() - 1) as u32
        });
        self.slots[at as usize] = Some(write);
        at
    }

    /// The client's command that it is.
    pub(super) fn ticket(&self, at: u32) -> Option<Ticket> {
        self.slots[at as usize].as_ref().map(|write| write.ticket)
    }

    /// Whether it takes its key away.
    pub(super) fn is_delete(&self, at: u32) -> bool {
        self.slots[at as usize].as_ref().is_some_and(|write| write.parts.is_delete())
    }

    /// Whether what this node is to forget is not known yet: until then it is not to be asked anything.
    pub(super) fn is_unsure(&self, node: u16) -> bool {
        self.unsure[usize::from(node)] > 0
    }

    /// A replica, which may be cold, has answered or was lost. What follows, and of which key or of all.
    pub(super) fn end(
        &mut self,
        at: u32,
        (node, is_cold): (u16, bool),
        part: Part,
    ) -> Option<(Forget, Follows)> {
        let write = self.slots[at as usize].as_mut()?;
        write.open -= 1;
        write.parts.end(node, part, is_cold);
        self.unsure[usize::from(node)] += u32::from(part == Part::Lost);
        let is_over = write.open == 0;
        let follows = write.parts.decide(is_over)?;
        follows.decided.iter().for_each(|node| self.unsure[usize::from(*node)] -= 1);
        let what = write.what.clone();
        if is_over {
            self.slots[at as usize] = None;
            self.free.push(at);
        }
        Some((what, follows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKET: Ticket = Ticket { client: 1, command: 2 };

    #[test]
    fn an_answer_says_whether_a_write_was_carried_out() {
        let of = |line: &'static str| Part::from(Answer::Line(line.as_bytes()));
        for line in ["STORED", "DELETED", "TOUCHED", "OK", "42"] {
            assert_eq!(of(line), Part::Done, "{line}");
        }
        for line in ["NOT_STORED", "CLIENT_ERROR no number", "SERVER_ERROR full", "ERROR"] {
            assert_eq!(of(line), Part::Refused, "{line}");
        }
        assert_eq!(of("NOT_FOUND"), Part::Absent);
    }

    #[test]
    fn a_lost_replica_is_unsure_until_the_others_have_decided() {
        let mut writes = Writes::new(2);
        let at = writes.begin(TICKET, None, 2, false);
        assert_eq!(writes.ticket(at), Some(TICKET));
        assert!(writes.end(at, (1, false), Part::Lost).is_none());
        assert!(writes.is_unsure(1) && !writes.is_unsure(0));
        let (what, follows) = writes.end(at, (0, false), Part::Done).expect("decided");
        assert_eq!((what, follows.forget), (Forget::Everything, vec![1]));
        assert!(!writes.is_unsure(1));
        assert_eq!(writes.ticket(at), None, "it is over");
        assert_eq!(writes.begin(TICKET, None, 1, false), at, "its number is free");
    }
}
