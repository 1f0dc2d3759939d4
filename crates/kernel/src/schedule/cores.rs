//! What is known of the processors: which thread each has, and in which interrupts it is.

use super::fact::{Interrupting, Waker};
use crate::event::{Context, LocalInterrupt, Name};
use std::collections::BTreeMap;

/// Interrupts within one another.
const NESTED_MAX: usize = 16;
/// Softirqs that run what timers set off (`include/linux/interrupt.h`): timers, and those of high resolution.
const TIMER_SOFTIRQS: [u32; 2] = [1, 8];

/// All processors that there are, as far as is known.
#[derive(Default)]
pub(super) struct Cores {
    cores: BTreeMap<u32, Core>,
}

/// One processor.
#[derive(Default)]
pub(super) struct Core {
    /// The thread that it has, and what it is called where that is known; `None`: it is blind.
    pub(super) current: Option<(u32, Name)>,
    /// Followed threads in its queue.
    pub(super) waiting: Vec<u32>,
    /// When its last event was.
    pub(super) last_ns: u64,
    open: Vec<(Interrupting, u64)>,
}

impl Cores {
    /// All that there are, blind.
    pub(super) fn blind(cpus: impl Iterator<Item = u32>) -> Self {
        Self { cores: cpus.map(|cpu| (cpu, Core::default())).collect() }
    }

    /// One of them, if there is such a one.
    pub(super) fn get(&mut self, cpu: u32) -> Option<&mut Core> {
        self.cores.get_mut(&cpu)
    }

    /// Whether there is such a one.
    pub(super) fn has(&self, cpu: u32) -> bool {
        self.cores.contains_key(&cpu)
    }

    /// Nothing more is known of that one, which may have been unknown up to now, and no thread is in a queue for certain.
    pub(super) fn lose_sight(&mut self, cpu: u32) {
        let core = self.cores.entry(cpu).or_default();
        core.current = None;
        core.open.clear();
        self.cores.values_mut().for_each(|core| core.waiting.clear());
    }

    /// Whether all can be seen.
    pub(super) fn all_seen(&self) -> bool {
        self.cores.values().all(|core| core.current.is_some())
    }

    /// Whether one of them has that thread.
    pub(super) fn have(&self, tid: u32) -> bool {
        self.cores.values().any(|core| core.current.is_some_and(|(current, _)| current == tid))
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.cores.keys().copied()
    }
}

impl Core {
    /// It has another thread now. What interrupted the last is over.
    pub(super) fn set(&mut self, tid: u32, name: Name) {
        self.current = Some((tid, name));
        self.open.clear();
    }

    pub(super) fn enter(&mut self, by: Interrupting, at_ns: u64) {
        if self.open.len() < NESTED_MAX {
            self.open.push((by, at_ns));
        }
    }

    /// When the innermost one of a kind began, and which it was; those within it, whose end was not told, go with it.
    pub(super) fn leave(
        &mut self,
        is: impl Fn(Interrupting) -> bool,
    ) -> Option<(Interrupting, u64)> {
        let at = self.open.iter().rposition(|(by, _)| is(*by))?;
        self.open.drain(at..).next()
    }

    /// What wakes a thread from here.
    pub(super) fn waker(&self, tid: u32, context: Context) -> Waker {
        let name = self.current.map_or(Name::default(), |(_, name)| name);
        let innermost = self.open.last().map(|(by, _)| *by);
        use Context::{Innermost, Interrupt, Softirq, Thread, Unknown};
        match (context, innermost) {
            (Thread, _) | (Innermost, None) => Waker::Thread { tid, name },
            (Unknown, None) => Waker::Unknown,
            (Softirq | Innermost | Unknown, Some(Interrupting::Softirq(vector))) => softirq(vector),
            (Interrupt | Innermost | Unknown, Some(Interrupting::Local(LocalInterrupt::Timer))) => {
                Waker::Timer
            }
            (Interrupt | Innermost | Unknown, Some(Interrupting::Device(line))) => {
                Waker::Interrupt(Some(line))
            }
            _ => Waker::Interrupt(None),
        }
    }
}

fn softirq(vector: u32) -> Waker {
    if TIMER_SOFTIRQS.contains(&vector) { Waker::Timer } else { Waker::Softirq(vector) }
}
