//! Writes under way: which replicas have carried one out, and which must forget its key.
//!
//! Of the replicas of a key at least one that has held it keeps it. A replica that was lost amid a write may have
//! carried it out or not: it forgets the key if another has carried it out. When none has answered, all but one do.
//! A replica without the key has carried nothing out: what another has refused meanwhile, that one keeps.

use super::answer::{Answer, is_error};
use super::ledger::Ticket;
use super::standing::Forget;

/// What became of a write at one replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Carried out.
    Done,
    /// There was nothing to carry it out on. A replica that has lost what it had says so, too.
    Absent,
    /// Not carried out: what the replica holds is old, if another has carried it out.
    Refused,
    /// The replica was lost; it may carry it out yet.
    Lost,
}

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
    /// Where the key is not there, all is as it was to be.
    is_delete: bool,
    is_done: bool,
    is_absent: bool,
    refused: Vec<u16>,
    lost: Vec<u16>,
}

/// What follows when a part has ended.
#[derive(Debug)]
pub(super) struct Follows {
    /// Of which key, or of all.
    pub(super) what: Forget,
    /// These forget it.
    pub(super) forget: Vec<u16>,
    /// All of these but one forget it; which one, their standing says.
    pub(super) all_but_one: Vec<u16>,
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
        let what = key.map_or(Forget::Everything, |key| Forget::Key(key.into()));
        let write = Write {
            ticket,
            what,
            open,
            is_delete,
            is_done: false,
            is_absent: false,
            refused: vec![],
            lost: vec![],
        };
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

    /// Whether what this node is to forget is not known yet: until then it is not to be asked anything.
    pub(super) fn is_unsure(&self, node: u16) -> bool {
        self.unsure[usize::from(node)] > 0
    }

    /// A replica has answered, or was lost.
    pub(super) fn end(&mut self, at: u32, node: u16, part: Part) -> Option<Follows> {
        let write = self.slots[at as usize].as_mut()?;
        write.open -= 1;
        match part {
            Part::Done => write.is_done = true,
            Part::Absent if write.is_delete => write.is_done = true,
            Part::Absent => write.is_absent = true,
            Part::Refused => write.refused.push(node),
            Part::Lost => {
                write.lost.push(node);
                self.unsure[usize::from(node)] += 1;
            }
        }
        let is_over = write.open == 0;
        if !write.is_done && !is_over {
            return None;
        }
        let (mut refused, lost) =
            (std::mem::take(&mut write.refused), std::mem::take(&mut write.lost));
        lost.iter().for_each(|node| self.unsure[usize::from(*node)] -= 1);
        // The client hears of one that has not the key, and of none that was lost: those are to have it no longer, either.
        // Where none was lost it hears of what was refused: nothing has changed.
        let is_done = write.is_done || write.is_absent && !lost.is_empty();
        let what = write.what.clone();
        if is_over {
            self.slots[at as usize] = None;
            self.free.push(at);
        }
        let (forget, all_but_one) = if is_done {
            refused.extend_from_slice(&lost);
            (refused, vec![])
        } else if !refused.is_empty() {
            // Those that refused it agree: each holds what it held, or has dropped it.
            (lost, vec![])
        } else {
            (vec![], lost)
        };
        Some(Follows { what, forget, all_but_one })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKET: Ticket = Ticket { client: 1, command: 2 };

    /// What follows from these parts, each at the node of its place, at last.
    fn of(parts: &[Part]) -> (Vec<u16>, Vec<u16>) {
        of_write(parts, false)
    }

    fn of_write(parts: &[Part], is_delete: bool) -> (Vec<u16>, Vec<u16>) {
        let mut writes = Writes::new(parts.len());
        let at = writes.begin(TICKET, Some(b"key"), parts.len(), is_delete);
        assert_eq!(writes.ticket(at), Some(TICKET));
        let (mut forget, mut all_but_one) = (vec![], vec![]);
        for (node, part) in (0..).zip(parts) {
            if let Some(follows) = writes.end(at, node, *part) {
                assert_eq!(follows.what, Forget::Key(b"key".as_slice().into()));
                forget.extend(follows.forget);
                all_but_one.extend(follows.all_but_one);
            }
        }
        assert_eq!(writes.ticket(at), None, "it is over");
        assert!((0..parts.len() as u16).all(|node| !writes.is_unsure(node)));
        (forget, all_but_one)
    }

    #[test]
    fn a_replica_that_has_not_what_another_has_forgets_it() {
        use Part::{Done, Lost, Refused};
        assert_eq!(of(&[Done, Done, Done]), (vec![], vec![]));
        assert_eq!(of(&[Lost, Done, Lost]), (vec![0, 2], vec![]));
        assert_eq!(of(&[Refused, Lost, Done]), (vec![0, 1], vec![]));
        assert_eq!(of(&[Refused, Refused]), (vec![], vec![]));
        assert_eq!(of(&[Lost, Refused]), (vec![0], vec![]));
        assert_eq!(of(&[Lost, Lost, Lost]), (vec![], vec![0, 1, 2]));
    }

    /// One that was emptied has not the key. The other one refuses to count up what is no number, and keeps it.
    #[test]
    fn what_a_replica_without_the_key_says_makes_none_forget_it() {
        use Part::{Absent, Done, Lost, Refused};
        for parts in [[Absent, Refused], [Refused, Absent], [Absent, Absent]] {
            assert_eq!(of(&parts), (vec![], vec![]), "{parts:?}");
        }
        assert_eq!(of(&[Absent, Refused, Done]), (vec![1], vec![]), "carried out");
        assert_eq!(of(&[Refused, Done, Absent]), (vec![0], vec![]), "carried out");
        assert_eq!(of(&[Absent, Lost]), (vec![1], vec![]), "the client hears of the first alone");
        assert_eq!(of(&[Lost, Refused, Absent]), (vec![1, 0], vec![]));
        // A delete is to leave no key: who says that there is none has carried it out.
        for parts in [[Absent, Refused], [Absent, Lost]] {
            assert_eq!(of_write(&parts, true), (vec![1], vec![]), "{parts:?}");
        }
    }

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
        assert!(writes.end(at, 1, Part::Lost).is_none());
        assert!(writes.is_unsure(1) && !writes.is_unsure(0));
        let follows = writes.end(at, 0, Part::Done).expect("decided");
        assert_eq!((follows.what, follows.forget), (Forget::Everything, vec![1]));
        assert!(!writes.is_unsure(1));
        assert_eq!(writes.begin(TICKET, None, 1, false), at, "its number is free");
    }
}
