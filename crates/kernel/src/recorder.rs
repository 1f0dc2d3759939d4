//! All processors' rings as one stream, in order of time.

use crate::event::{Event, What};
use crate::layout::Layouts;
use crate::numbers::Numbers;
use crate::open_files::under_hard_limit;
use crate::probe::{Missing, Probe};
use crate::processors;
use crate::ring::{Lost, Ring};
use crate::turns::Turns;
use crate::visits::Visits;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::io;

/// A processor's ring, in bytes: at 90 bytes an event, what a processor that switches 100,000 times a second writes in
/// 50 ms or more.
const RING_BYTES: usize = 1 << 20;
/// All rings together, in bytes. Machines with many processors have smaller rings.
const RINGS_BYTES: usize = 128 << 20;
/// The smallest ring: tried where the memory that may be locked is short (`kernel.perf_event_mlock_kb`).
const RING_BYTES_MIN: usize = 32 << 10;

/// Between two looks at which processors are online.
const ONLINE_PERIOD_NS: u64 = 100_000_000;

/// Records the kernel's events of all processors.
///
/// Memory is bounded: a ring of at most 1 MiB for each processor, 128 MiB in all, and the events of two readings. Events
/// that find their ring full are lost and counted, and an event [`What::Blind`] says from when. A processor that comes online
/// is watched from within a tenth of a second on; [`What::Late`] says that nothing is certain of the time before.
pub struct Recorder {
    rings: Vec<Ring>,
    ring_bytes: usize,
    /// Processors that came online and could not be watched.
    unwatched: BTreeSet<u32>,
    visits: Visits,
    layouts: Layouts,
    numbers: Numbers,
    held: Vec<Event>,
    /// Events before it have been handed out.
    done_ns: u64,
    /// When the last reading began: all before it had been written by then.
    read_ns: u64,
    /// When it was last seen which processors are online.
    online_ns: u64,
    losses: Losses,
    turns: Turns,
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
    /// Processors that came online and could not be watched: while one is, little is known.
    pub unwatched: u64,
}

impl Recorder {
    /// Opens the events that the probe found, and begins to record. The soft limit of open files is raised meanwhile.
    ///
    /// # Errors
    ///
    /// What is missing, and what to type.
    pub fn start(probe: Probe) -> Result<Self, Missing> {
        let (layouts, numbers) = (probe.into_layouts()?, Numbers::of_this_process());
        let online_ns = now_ns();
        let cpus = processors::online();
        let files = cpus.len() * layouts.ids().count();
        let opened = under_hard_limit(|| open_all(&cpus, &layouts, &numbers));
        let (mut rings, ring_bytes) = opened.map_err(|error| Missing::of_ring(&error, files))?;
        let enabled = rings.iter_mut().try_for_each(Ring::enable);
        enabled.map_err(|error| Missing::of_ring(&error, files))?;
        Ok(Self {
            rings,
            ring_bytes,
            unwatched: BTreeSet::new(),
            visits: Visits::new(cpus.into_iter()),
            layouts,
            numbers,
            held: Vec::new(),
            done_ns: 0,
            read_ns: now_ns(),
            online_ns,
            losses: Losses::default(),
            turns: Turns::default(),
        })
    }

    /// Reads all rings, and hands out what was before the reading before: by now nothing can come that was earlier. To be
    /// called every two milliseconds or so, and not before what is to be watched has begun: processors that tell nothing are
    /// visited, each by a thread that runs there for a moment and that nothing waits for.
    pub fn read(&mut self, take: impl FnMut(&Event)) {
        self.turns.begin();
        let began = now_ns();
        if began.saturating_sub(self.online_ns) >= ONLINE_PERIOD_NS {
            self.look_for_processors(&processors::online(), began);
        }
        self.drain();
        for ring in &self.rings {
            self.visits.look(ring.cpu(), ring.is_blind, began);
        }
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

    /// Watches processors that have come online, and no longer those that are gone: the kernel closes their events.
    fn look_for_processors(&mut self, online: &[u32], now_ns: u64) {
        let since_ns = std::mem::replace(&mut self.online_ns, now_ns);
        let is_gone = |cpu: u32| !online.contains(&cpu);
        if self.rings.iter().any(|ring| is_gone(ring.cpu())) {
            // They have told their last.
            self.drain();
            self.rings.retain(|ring| !is_gone(ring.cpu()));
        }
        self.unwatched.retain(|cpu| !is_gone(*cpu));
        for cpu in online {
            let is_known = self.unwatched.contains(cpu);
            if !is_known && !self.rings.iter().any(|ring| ring.cpu() == *cpu) {
                self.watch(*cpu, since_ns);
            }
        }
    }

    fn watch(&mut self, cpu: u32, since_ns: u64) {
        let opened =
            under_hard_limit(|| Ring::open(cpu, &self.layouts, &self.numbers, self.ring_bytes));
        let enabled = opened.and_then(|mut ring| ring.enable().map(|()| ring));
        match enabled {
            Ok(ring) => self.rings.push(ring),
            Err(_) => {
                self.losses.unwatched += 1;
                self.unwatched.insert(cpu);
            }
        }
        // Threads may have run there since, unseen; what it tells from here on is whole.
        let at_ns = now_ns();
        self.held.push(Event { at_ns, cpu, tid: 0, what: What::Late { since_ns } });
    }

    fn drain(&mut self) {
        for ring in &mut self.rings {
            let new = self.held.len();
            let Lost { events, unread } =
                ring.drain(&self.layouts, &mut self.numbers, &mut self.held);
            self.losses.events += events;
            self.losses.unread += unread;
            for event in self.held[new..].iter_mut().filter(|event| event.at_ns < self.done_ns) {
                self.losses.late += u64::from(event.what != What::Blind);
                // What was handed out meanwhile cannot be taken back; that it was wrong can be said.
                let what = What::Late { since_ns: event.at_ns };
                *event = Event { at_ns: self.done_ns, what, ..*event };
            }
            if let Some(last) = self.held[new..].last() {
                ring.is_blind = matches!(last.what, What::Blind | What::Late { .. });
            }
            // Not within a ring: what is written meanwhile would look like what it had held.
            self.turns.pause();
        }
    }

    fn hand_out(&mut self, until_ns: u64, mut take: impl FnMut(&Event)) {
        // Stable: events of one processor at one time keep their order.
        self.held.sort_by_key(|event| event.at_ns);
        let count = self.held.partition_point(|event| event.at_ns < until_ns);
        for event in self.held.drain(..count) {
            take(&self.numbers.translated(event));
            self.turns.done();
        }
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

/// The rings of all processors, as large as may be had, and how large that is.
fn open_all(cpus: &[u32], layouts: &Layouts, numbers: &Numbers) -> io::Result<(Vec<Ring>, usize)> {
    let mut bytes = (RINGS_BYTES / cpus.len().max(1)).clamp(RING_BYTES_MIN, RING_BYTES);
    bytes = 1 << bytes.ilog2();
    loop {
        let opened: io::Result<Vec<Ring>> =
            cpus.iter().map(|cpu| Ring::open(*cpu, layouts, numbers, bytes)).collect();
        match opened {
            Err(error) if is_short(&error) && bytes > RING_BYTES_MIN => bytes /= 2,
            opened => return opened.map(|rings| (rings, bytes)),
        }
    }
}
