//! What became of a write at each replica of its key, and which of them must forget the key then.
//!
//! Of the replicas of a key at least one that has held it keeps it. A replica that was lost amid a write may have
//! carried it out or not: it forgets the key if another has carried it out. When none has answered, all but one do.
//! A replica without the key has carried nothing out: what another has refused meanwhile, that one keeps.
//!
//! A cold replica may lack what others hold. Its word that there is no such key, or that it refuses, says nothing about a
//! replica that was lost: that may have the only value.

/// What became of a write at one replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// Carried out.
    Done,
    /// There was nothing to carry it out on. A replica that has lost what it had says so, too.
    Absent,
    /// Not carried out: what the replica holds is old, if another has carried it out.
    Refused,
    /// The replica was lost; it may carry it out yet.
    Lost,
}

/// The parts of one write that have ended.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Where the key is not there, all is as it was to be.
    is_delete: bool,
    is_done: bool,
    /// A replica that is not cold has said so.
    is_absent: bool,
    refused: Vec<u16>,
    /// One of these is not cold.
    is_refused: bool,
    lost: Vec<u16>,
}

/// What follows from the parts.
#[derive(Debug, Default)]
pub(crate) struct Follows {
    /// These forget the key.
    pub(crate) forget: Vec<u16>,
    /// All of these but one forget it; which one, their standing says.
    pub(crate) all_but_one: Vec<u16>,
    /// Of the replicas that were lost, those of which it is known now whether they forget it.
    pub(crate) decided: Vec<u16>,
}

impl Parts {
    /// Of a write that has no parts yet; a delete takes the key away.
    pub(crate) fn new(is_delete: bool) -> Self {
        Self { is_delete, ..Self::default() }
    }

    pub(crate) const fn is_delete(&self) -> bool {
        self.is_delete
    }

    /// A part has ended at a replica, which may be cold.
    pub(crate) fn end(&mut self, node: u16, part: Part, is_cold: bool) {
        match part {
            Part::Done => self.is_done = true,
            Part::Absent if self.is_delete => self.is_done = true,
            Part::Absent => self.is_absent |= !is_cold,
            Part::Refused => {
                self.refused.push(node);
                self.is_refused |= !is_cold;
            }
            Part::Lost => self.lost.push(node),
        }
    }

    /// What follows from those that have ended, and was not said before; nothing while all may still turn out otherwise.
    pub(crate) fn decide(&mut self, is_over: bool) -> Option<Follows> {
        if !self.is_done && !is_over {
            return None;
        }
        let mut refused = std::mem::take(&mut self.refused);
        let lost = std::mem::take(&mut self.lost);
        let decided = lost.clone();
        // The client hears of one that has not the key, and of none that was lost: those are to have it no longer, either.
        // Where none was lost it hears of what was refused: nothing has changed.
        let follows = if self.is_done || self.is_absent && !lost.is_empty() {
            refused.extend_from_slice(&lost);
            Follows { forget: refused, all_but_one: vec![], decided }
        } else if self.is_refused || lost.is_empty() {
            // Those that refused it agree: each holds what it held, or has dropped it.
            Follows { forget: lost, all_but_one: vec![], decided }
        } else {
            refused.extend_from_slice(&lost);
            Follows { forget: vec![], all_but_one: refused, decided }
        };
        Some(follows)
    }
}

#[cfg(test)]
mod tests {
    use super::Part::{Absent, Done, Lost, Refused};
    use super::*;

    /// Which replicas forget the key, and all but one of which do, after these parts.
    fn of(parts: &[Part]) -> (Vec<u16>, Vec<u16>) {
        of_write(false, parts, &[])
    }

    fn of_write(is_delete: bool, parts: &[Part], cold: &[u16]) -> (Vec<u16>, Vec<u16>) {
        let mut all = Parts::new(is_delete);
        let (mut forget, mut all_but_one) = (vec![], vec![]);
        for (node, part) in (0..).zip(parts) {
            all.end(node, *part, cold.contains(&node));
            if let Some(follows) = all.decide(usize::from(node) + 1 == parts.len()) {
                forget.extend(follows.forget);
                all_but_one.extend(follows.all_but_one);
            }
        }
        (forget, all_but_one)
    }

    #[test]
    fn a_replica_that_has_not_what_another_has_forgets_it() {
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
        for parts in [[Absent, Refused], [Refused, Absent], [Absent, Absent]] {
            assert_eq!(of(&parts), (vec![], vec![]), "{parts:?}");
        }
        assert_eq!(of(&[Absent, Refused, Done]), (vec![1], vec![]), "carried out");
        assert_eq!(of(&[Refused, Done, Absent]), (vec![0], vec![]), "carried out");
        assert_eq!(of(&[Absent, Lost]), (vec![1], vec![]), "the client hears of the first alone");
        assert_eq!(of(&[Lost, Refused, Absent]), (vec![1, 0], vec![]));
        // A delete is to leave no key: who says that there is none has carried it out.
        for parts in [[Absent, Refused], [Absent, Lost]] {
            assert_eq!(of_write(true, &parts, &[]), (vec![1], vec![]), "{parts:?}");
        }
    }

    /// The lost one may have the only value: what a cold one says takes it from nobody.
    #[test]
    fn what_a_cold_replica_says_amid_loss_takes_no_value_away() {
        assert_eq!(of_write(false, &[Absent, Lost], &[0]), (vec![], vec![1]));
        assert_eq!(of_write(false, &[Lost, Absent], &[1]), (vec![], vec![0]));
        assert_eq!(of_write(false, &[Refused, Lost], &[0]), (vec![], vec![0, 1]));
        assert_eq!(
            of_write(false, &[Refused, Refused], &[0, 1]),
            (vec![], vec![]),
            "none was lost"
        );
        assert_eq!(of_write(false, &[Refused, Refused, Lost], &[0]), (vec![2], vec![]));
        assert_eq!(of_write(true, &[Absent, Lost], &[0]), (vec![1], vec![]), "it was to go");
    }
}
