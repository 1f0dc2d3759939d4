//! How long threads waited for a core in given times: for more of these than accounts are made of.

use super::account::Stretch;
use super::accounts::Accounts;
use super::known::Known;
use crate::hash::Map;
use crate::record::{Did, Record};
use crate::spans::covered;

/// Such waits in the making, from one reading of the kernel's file.
pub struct CoreWaits(Accounts);

/// What threads did in some times, in nanoseconds. Where several of them are at once, a moment counts once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreWait {
    /// A thread waited for a core.
    pub runnable_ns: u64,
    /// Of a thread nothing is known.
    pub unknown_ns: u64,
}

impl CoreWaits {
    /// Begins; each list of `wanted` gives a result.
    #[must_use]
    pub fn new(wanted: Vec<Vec<Stretch>>) -> Self {
        Self(Accounts::new(wanted))
    }

    /// Takes the next record of the kernel's file.
    pub fn add(&mut self, record: &Record) {
        // A thread that is interrupted has its core. Each interruption would take the room of a state.
        if !matches!(record, Record::Interruption(_)) {
            self.0.add(record);
        }
    }

    /// Concludes: a result for each list of times, and how many states of threads found no room. What these would tell is
    /// unknown.
    #[must_use]
    pub fn finish(self) -> (Vec<CoreWait>, u64) {
        let (wanted, threads, left_out) = self.0.into_known();
        (wanted.iter().map(|stretches| CoreWait::of(stretches, &threads)).collect(), left_out)
    }
}

impl CoreWait {
    fn of(stretches: &[Stretch], threads: &Map<u32, Known>) -> Self {
        let (mut runnable, mut unknown) = (Vec::new(), Vec::new());
        for stretch in stretches {
            let (from, to) = (stretch.from_ns, stretch.to_ns.max(stretch.from_ns));
            let Some(known) = threads.get(&stretch.tid) else {
                unknown.push((from, to));
                continue;
            };
            let mut told_until = from;
            for span in known.lane.within(from, to) {
                unknown.push((told_until, span.from));
                told_until = span.to;
                match span.what.map(|nth| &known.states[nth].did) {
                    Some(Did::Runnable { .. }) => runnable.push((span.from, span.to)),
                    Some(Did::Unknown) | None => unknown.push((span.from, span.to)),
                    Some(Did::Running { .. } | Did::Asleep { .. } | Did::Stopped { .. }) => {}
                }
            }
            unknown.push((told_until, to));
        }
        Self { runnable_ns: covered(runnable), unknown_ns: covered(unknown) }
    }
}
