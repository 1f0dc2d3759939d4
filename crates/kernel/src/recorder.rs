//! All processors' rings as one stream, in order of time.

use crate::event::{Event, What};
use crate::layout::Layouts;
use crate::probe::{Missing, Probe};
use crate::ring::{Lost, Ring};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::io;

/// A processor's ring, in bytes: at 90 bytes an event, what a processor that switches 100,000 times a second writes in
/// 50 ms or more.
const RING_BYTES: usize = 1 << 20;
/// All rings together, in bytes. Machines with many processors have smaller rings.
const RINGS_BYTES: usize = 128 << 20;
/// The smallest ring: tried where the memory that may be locked is short (`kernel.perf_event_mlock_kb`).
const RING_BYTES_MIN: usize = 32 << 10;

/// Records the kernel's events of all processors.
///
/// Memory is bounded: a ring of at most 1 MiB for each processor, 128 MiB in all, and the events of two readings. Events
/// that find their ring full are lost and counted, and an event [`What::Blind`] says from when.
pub struct Recorder {
    rings: Vec<Ring>,
    layouts: Layouts,
    held: Vec<Event>,
    /// Events before it have been handed out.
    done_ns: u64,
    /// When the last reading began: all before it had been written by then.
    read_ns: u64,
    losses: Losses,
}

/// What a recorder could not hand out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Events that found their ring full.
    pub events: u64,
    /// Events that came so late that later ones of other processors had been handed out.
    pub late: u64,
    /// Records that could not be read.
    pub unread: u64,
}

impl Recorder {
    /// Opens the events that the probe found, and begins to record.
    ///
    /// # Errors
    ///
    /// What is missing, and what to type.
    pub fn start(probe: Probe) -> Result<Self, Missing> {
        let layouts = probe.into_layouts()?;
        let cpus =
            online(&std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default());
        let mut bytes = (RINGS_BYTES / cpus.len().max(1)).clamp(RING_BYTES_MIN, RING_BYTES);
        bytes = 1 << bytes.ilog2();
        let mut rings = loop {
            let opened: io::Result<Vec<Ring>> =
                cpus.iter().map(|cpu| Ring::open(*cpu, &layouts, bytes)).collect();
            match opened {
                Ok(rings) => break rings,
                Err(error) if is_short(&error) && bytes > RING_BYTES_MIN => bytes /= 2,
                Err(error) => return Err(Missing::of_ring(&error)),
            }
        };
        rings.iter_mut().try_for_each(Ring::enable).map_err(|error| Missing::of_ring(&error))?;
        visit(&cpus);
        let losses = Losses::default();
        Ok(Self { rings, layouts, held: Vec::new(), done_ns: 0, read_ns: now_ns(), losses })
    }

    /// Reads all rings, and hands out what was before the reading before: by now nothing can come that was earlier. To be
    /// called every ten milliseconds or so.
    pub fn read(&mut self, take: impl FnMut(&Event)) {
        let began = now_ns();
        let blind = self.drain();
        // A processor that has nothing to do tells nothing, not even that it can be seen again.
        visit(&blind);
        let until = std::mem::replace(&mut self.read_ns, began);
        self.hand_out(until, take);
    }

    /// Ends recording, and hands out all that is left.
    pub fn finish(mut self, take: impl FnMut(&Event)) -> Losses {
        self.rings.iter_mut().for_each(Ring::disable);
        self.drain();
        self.hand_out(u64::MAX, take);
        self.losses
    }

    /// The processors whose events are recorded.
    pub fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        self.rings.iter().map(Ring::cpu)
    }

    /// What was lost so far.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.losses
    }

    /// Empties the rings; gives the processors of which some events are lost.
    fn drain(&mut self) -> Vec<u32> {
        let new = self.held.len();
        for ring in &mut self.rings {
            let Lost { events, unread } = ring.drain(&self.layouts, &mut self.held);
            self.losses.events += events;
            self.losses.unread += unread;
        }
        let late = self.held[new..].iter_mut().filter(|event| event.at_ns < self.done_ns);
        for event in late {
            self.losses.late += u64::from(event.what != What::Blind);
            // What was handed out meanwhile cannot be taken back; that it was wrong can be said.
            let what = What::Late { since_ns: event.at_ns };
            *event = Event { at_ns: self.done_ns, what, ..*event };
        }
        let is_blind = |event: &&Event| matches!(event.what, What::Blind | What::Late { .. });
        let blind = self.held[new..].iter().filter(is_blind);
        let mut blind: Vec<u32> = blind.map(|event| event.cpu).collect();
        blind.sort_unstable();
        blind.dedup();
        blind
    }

    fn hand_out(&mut self, until_ns: u64, take: impl FnMut(&Event)) {
        // Stable: events of one processor at one time keep their order.
        self.held.sort_by_key(|event| event.at_ns);
        let count = self.held.partition_point(|event| event.at_ns < until_ns);
        self.held.drain(..count).as_slice().iter().for_each(take);
        self.done_ns = self.done_ns.max(until_ns.min(self.read_ns));
    }
}

/// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
#[must_use]
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// Whether less memory might do.
fn is_short(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::PermissionDenied)
}

/// Runs on each of these processors for a moment: the switch tells that it can be seen, and which thread it had. One that
/// this thread may not run on tells so with its next event.
fn visit(cpus: &[u32]) {
    let Ok(before) = sched_getaffinity(None) else { return };
    for cpu in cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU) {
        let mut one = CpuSet::new();
        one.set(cpu);
        let _ = sched_setaffinity(None, &one);
    }
    let _ = sched_setaffinity(None, &before);
}

/// The processors of a list such as `0-3,8`.
fn online(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    let cpus: Vec<u32> = list.trim().split(',').filter_map(range).flatten().collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(online("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(online("0"), [0]);
        assert_eq!(online(""), [0], "a machine has one");
    }
}
