//! What the kernel did with every thread, in order of time: for time lines.

use super::gaps::{Gaps, Void};
use super::tally::waker;
use crate::names::Names;
use crate::record::{Did, Interruption, ThreadState};
use crate::record::{Gap, Loss, LossKind, Record, ThreadId};
use crate::spans::{Span, merged};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// States and interruptions kept: the first; 2²⁰ take 150 MB.
const KEPT_MAX: usize = 1 << 20;

/// A history in the making, from one reading of the kernel's file.
#[derive(Default)]
pub struct Lanes {
    names: Names,
    states: BTreeMap<u32, Vec<ThreadState>>,
    interruptions: Vec<Interruption>,
    gaps: Gaps,
    kept: usize,
    left_out: u64,
    lost_events: u64,
    /// By time, without overlap; `None`: all of the recording.
    windows: Option<Vec<(u64, u64)>>,
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
    /// Events of the kernel that were lost: where they are missing, time is `unknown`.
    pub lost_events: u64,
}

/// A thing that lasted for some time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSpan {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// `running`, `waiting for a core`, `asleep`, `stopped`, `unknown`, or what interrupted it.
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
    /// Only what touches one of these times, in nanoseconds of `CLOCK_MONOTONIC_RAW`.
    #[must_use]
    pub fn within(mut self, windows: impl IntoIterator<Item = (u64, u64)>) -> Self {
        self.windows = Some(merged(windows.into_iter().collect()));
        self
    }

    /// Takes the next record of the kernel's file.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        let span = match record {
            Record::State(state) => Some((state.start, state.end)),
            Record::Interruption(one) => Some((one.start, one.end)),
            _ => None,
        };
        if let (Some(windows), Some((from, to))) = (&self.windows, span)
            && windows
                .get(windows.partition_point(|window| window.1 < from))
                .is_none_or(|window| window.0 > to)
        {
            return;
        }
        match record {
            Record::State(_) | Record::Interruption(_) if self.kept >= KEPT_MAX => {
                self.left_out += 1;
            }
            Record::State(state) => {
                if let Some(tid) = self.names.tid(state.thread) {
                    self.kept += 1;
                    self.states.entry(tid).or_default().push(state.clone());
                }
            }
            Record::Interruption(one) => {
                self.kept += 1;
                self.interruptions.push(*one);
            }
            Record::Gap(Gap { start, end, .. }) => self.gaps.add(*start, *end),
            Record::Loss(Loss { kind: LossKind::Events, count, .. }) => {
                self.lost_events = self.lost_events.saturating_add(*count);
            }
            _ => {}
        }
    }

    /// Concludes.
    #[must_use]
    pub fn finish(self) -> LanesReport {
        let (names, void) = (&self.names, self.gaps.finish());
        let states = self.states.iter().flat_map(|(tid, all)| states(*tid, all, &void, names));
        // What was told of a time that a gap voids may be of another thread.
        let is_sure = |one: &&Interruption| !void.touches(one.start, one.end);
        let sure = self.interruptions.iter().filter(is_sure);
        let interruptions = sure.filter_map(|one| interruption(one, names));
        let mut spans: Vec<KernelSpan> = states.chain(interruptions).collect();
        spans.sort_by_key(|one| (one.tid, one.from_ns, Reverse(one.ns)));
        let own = self.states.values().flatten().map(|one| one.thread);
        let threads = called(own.chain(self.interruptions.iter().map(|one| one.thread)), names);
        let Self { left_out, lost_events, .. } = self;
        LanesReport { threads, spans, left_out, lost_events }
    }
}

/// A thread that changes its name has the last; one that was nameless for a while, as before its first event, has a name
/// all the same.
fn called(all: impl Iterator<Item = ThreadId>, names: &Names) -> Vec<(u32, String)> {
    let mut threads: BTreeMap<u32, (bool, String)> = BTreeMap::new();
    for id in all {
        let Some(tid) = names.tid(id) else { continue };
        let is_named = !names.own_name(id).is_empty();
        let before = threads.get(&tid).is_some_and(|(is_named, _)| *is_named);
        if is_named || !before {
            threads.insert(tid, (is_named, names.of_thread(id)));
        }
    }
    threads.into_iter().map(|(tid, (_, name))| (tid, name)).collect()
}

/// A thread's states, cut by gaps, which are states themselves.
fn states(
    tid: u32,
    all: &[ThreadState],
    void: &Void,
    names: &Names,
) -> impl Iterator<Item = KernelSpan> {
    let spans: Vec<Span<Option<usize>>> = void.lane(all).within(0, u64::MAX).collect();
    spans.into_iter().map(move |span| {
        let (name, cpu, why) = match span.what {
            Some(nth) => state(&all[nth].did, names),
            None => ("unknown", None, Some("an event of that time came too late".into())),
        };
        let (from_ns, ns) = (span.from, span.to - span.from);
        KernelSpan { tid, name: name.to_owned(), from_ns, ns, cpu, why }
    })
}

fn state(did: &Did, names: &Names) -> (&'static str, Option<u32>, Option<String>) {
    let by = |woken| waker(woken, names).map(|by| format!("woken by {by}"));
    match did {
        Did::Running { cpu } => ("running", Some(*cpu), None),
        Did::Runnable { cpu, behind, .. } => {
            let occupants = behind.occupants.iter().map(|one| names.of_thread(one.thread));
            let occupants = occupants.collect::<Vec<_>>().join(", ");
            let why = (!occupants.is_empty()).then(|| format!("the core had {occupants}"));
            ("waiting for a core", Some(*cpu), why)
        }
        Did::Asleep { woken, .. } => ("asleep", None, by(*woken)),
        Did::Stopped { woken } => ("stopped", None, by(*woken)),
        Did::Unknown => ("unknown", None, None),
    }
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
