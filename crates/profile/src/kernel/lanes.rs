//! What the kernel did with every thread, in order of time: for time lines.

use super::state::{Did, Interruption, ThreadState};
use super::tally::waker;
use crate::names::Names;
use crate::record::{Record, ThreadId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// States and interruptions kept: the first; 2²⁰ take 150 MB.
const KEPT_MAX: usize = 1 << 20;

/// A history in the making, from one reading of the kernel's file.
#[derive(Default)]
pub struct Lanes {
    names: Names,
    states: Vec<ThreadState>,
    interruptions: Vec<Interruption>,
    left_out: u64,
}

/// What threads did when.
#[derive(Debug, Default)]
pub struct LanesReport {
    /// Threads of which something is told: the kernel's number, and what they are called.
    pub threads: Vec<(u32, String)>,
    /// By thread and time; one that lies around others comes before them.
    pub spans: Vec<KernelSpan>,
    /// Facts that are left out for want of room: the last ones.
    pub left_out: u64,
}

/// A thing that lasted for some time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSpan {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// `running`, `waiting for a core`, `asleep`, `unknown`, or what interrupted it.
    pub name: String,
    /// From, in nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub from_ns: u64,
    /// For how long; zero of a page fault.
    pub ns: u64,
    /// The processor, where it has one.
    pub cpu: Option<u32>,
    /// What had the core, or what ended the sleep; in words.
    pub why: Option<String>,
}

impl Lanes {
    /// Takes the next record of the kernel's file.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        let is_full = self.states.len() + self.interruptions.len() >= KEPT_MAX;
        match record {
            Record::State(_) | Record::Interruption(_) if is_full => self.left_out += 1,
            Record::State(state) => self.states.push(state.clone()),
            Record::Interruption(one) => self.interruptions.push(*one),
            _ => {}
        }
    }

    /// Concludes.
    #[must_use]
    pub fn finish(self) -> LanesReport {
        let names = &self.names;
        let states = self.states.iter().filter_map(|one| state(one, names));
        let interruptions = self.interruptions.iter().filter_map(|one| interruption(one, names));
        let mut spans: Vec<KernelSpan> = states.chain(interruptions).collect();
        spans.sort_by_key(|one| (one.tid, one.from_ns, Reverse(one.ns)));
        let own = self.states.iter().map(|one| one.thread);
        let own = own.chain(self.interruptions.iter().map(|one| one.thread));
        // A thread that changes its name has the last.
        let called = |id: ThreadId| Some((names.tid(id)?, names.of_thread(id)));
        let threads: BTreeMap<u32, String> = own.filter_map(called).collect();
        LanesReport { threads: threads.into_iter().collect(), spans, left_out: self.left_out }
    }
}

fn state(state: &ThreadState, names: &Names) -> Option<KernelSpan> {
    let (name, cpu, why) = match &state.did {
        Did::Running { cpu } => ("running", Some(*cpu), None),
        Did::Runnable { cpu, behind, .. } => {
            let occupants = behind.occupants.iter().map(|one| names.of_thread(one.thread));
            let occupants = occupants.collect::<Vec<_>>().join(", ");
            let why = (!occupants.is_empty()).then(|| format!("the core had {occupants}"));
            ("waiting for a core", Some(*cpu), why)
        }
        Did::Asleep { woken, .. } => {
            ("asleep", None, waker(*woken, names).map(|by| format!("woken by {by}")))
        }
        Did::Unknown => ("unknown", None, None),
    };
    let tid = names.tid(state.thread)?;
    let ns = state.end.saturating_sub(state.start);
    Some(KernelSpan { tid, name: name.to_owned(), from_ns: state.start, ns, cpu, why })
}

fn interruption(one: &Interruption, names: &Names) -> Option<KernelSpan> {
    Some(KernelSpan {
        tid: names.tid(one.thread)?,
        name: one.by.name(),
        from_ns: one.start,
        ns: one.end.saturating_sub(one.start),
        cpu: None,
        why: None,
    })
}
