//! What had the core while a thread waited for it.

use crate::event::Name;
use std::cmp::Reverse;

/// Occupants told of one wait.
pub const OCCUPANTS_MAX: usize = 8;
/// Occupants kept apart while a wait lasts.
const KEPT_MAX: usize = 32;

/// What had the core while a thread waited.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Behind {
    /// Other threads, most time first, at most [`OCCUPANTS_MAX`] of them.
    pub occupants: Vec<Occupant>,
    /// Time of further ones.
    pub others_ns: u64,
    /// Time in which the core had nothing to do: it had to be woken first, or did not let the thread run (a CPU quota).
    pub idle_ns: u64,
}

/// A thread that had the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupant {
    /// Its number.
    pub tid: u32,
    /// What it is called; empty where that is not known.
    pub name: Name,
    /// For how long, in nanoseconds.
    pub ns: u64,
}

impl Behind {
    /// Adds time of a thread; 0 is the idle one.
    pub(super) fn add(&mut self, tid: u32, name: Name, ns: u64) {
        if ns == 0 {
        } else if tid == 0 {
            self.idle_ns += ns;
        } else if let Some(one) = self.occupants.iter_mut().find(|one| one.tid == tid) {
            one.ns += ns;
            one.name = if name == Name::default() { one.name } else { name };
        } else if self.occupants.len() < KEPT_MAX {
            self.occupants.push(Occupant { tid, name, ns });
        } else {
            self.others_ns += ns;
        }
    }

    /// The longest first, and no more than are told.
    pub(super) fn concluded(mut self) -> Self {
        self.occupants.sort_by_key(|one| (Reverse(one.ns), one.tid));
        let more = self.occupants.len().min(OCCUPANTS_MAX);
        self.others_ns += self.occupants.drain(more..).map(|one| one.ns).sum::<u64>();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_lost_however_many_there_were() {
        let mut behind = Behind::default();
        for tid in 0..100 {
            behind.add(tid, Name::default(), u64::from(tid) + 1);
        }
        behind.add(3, Name::new(b"late"), 1_000);
        let behind = behind.concluded();
        let told: Vec<u32> = behind.occupants.iter().map(|one| one.tid).collect();
        assert_eq!(told, [3, 32, 31, 30, 29, 28, 27, 26]);
        assert_eq!(behind.occupants[0].name.to_string(), "late");
        let sum = behind.occupants.iter().map(|one| one.ns).sum::<u64>();
        assert_eq!(sum + behind.others_ns + behind.idle_ns, 5_050 + 1_000);
    }
}
