//! One processor's ring: the kernel writes its events there, all tracepoints in one order.

use crate::event::{Event, What};
use crate::layout::Layouts;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, Counter, Record, SampleFlag, Sampler};
use perf_event_open_sys::bindings::{
    PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES, PERF_RECORD_SAMPLE,
};
use std::io;

/// The longest record, in bytes: with less room than this a ring may have lost some.
const RECORD_MAX: usize = 512;
/// A ring is read until it is empty, or for as many bytes as it holds times this: a processor can write for ever.
const READ_MAX: usize = 4;

/// The ring of one processor.
pub(crate) struct Ring {
    sampler: Sampler,
    /// The events that go to the same ring: they end when they are closed.
    others: Vec<Counter>,
    cpu: u32,
    bytes: usize,
    /// When its last event was.
    last_ns: u64,
}

/// What a reading of a ring lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lost {
    /// Events, as the kernel counts them.
    pub(crate) events: u64,
    /// Records that no layout was for.
    pub(crate) unread: u64,
}

impl Ring {
    /// Opens the tracepoints on a processor, disabled, with a ring of `bytes`, a power of two.
    pub(crate) fn open(cpu: u32, layouts: &Layouts, bytes: usize) -> io::Result<Self> {
        let mut counters = Vec::new();
        for id in layouts.ids() {
            counters.push(open_point(cpu, id)?);
        }
        let mut counters = counters.into_iter();
        let owner = counters.next().ok_or_else(|| io::Error::other("no tracepoint"))?;
        let sampler = owner.sampled(bytes)?;
        let mut others = Vec::new();
        for counter in counters {
            crate::ioctl::share_ring(&counter, sampler.as_counter())?;
            others.push(counter);
        }
        Ok(Self { sampler, others, cpu, bytes, last_ns: 0 })
    }

    /// Whose ring it is.
    pub(crate) const fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Begins to record.
    pub(crate) fn enable(&mut self) -> io::Result<()> {
        self.sampler.enable()?;
        self.others.iter_mut().try_for_each(Counter::enable)
    }

    /// Ends recording; what is in the ring stays there.
    pub(crate) fn disable(&mut self) {
        // They were open, and nothing else can fail.
        let _ = self.sampler.disable();
        self.others.iter_mut().for_each(|counter| drop(counter.disable()));
    }

    /// Moves all events to `into`, in their order.
    pub(crate) fn drain(&mut self, layouts: &Layouts, into: &mut Vec<Event>) -> Lost {
        let (cpu, mut last_ns) = (self.cpu, self.last_ns);
        let (mut read, mut lost) = (0, Lost::default());
        let blind = |at_ns| Event { at_ns, cpu, tid: 0, what: What::Blind };
        while read < self.bytes * READ_MAX
            && let Some(record) = self.sampler.next_record()
        {
            read += record.len() + 8;
            match record.ty() {
                PERF_RECORD_SAMPLE => match sample(&record, cpu, layouts) {
                    Some(event) => {
                        last_ns = event.at_ns;
                        into.push(event);
                    }
                    None => lost.unread += 1,
                },
                PERF_RECORD_LOST => {
                    lost.events += word(&record.to_contiguous(), 8).unwrap_or(1);
                    into.push(blind(last_ns));
                }
                PERF_RECORD_LOST_SAMPLES => {
                    lost.events += word(&record.to_contiguous(), 0).unwrap_or(1);
                    into.push(blind(last_ns));
                }
                _ => {}
            }
        }
        // A full ring loses what comes, and says so with the next event only, which may be seconds later.
        if read + RECORD_MAX >= self.bytes {
            into.push(blind(last_ns));
        }
        self.last_ns = last_ns;
        lost
    }
}

fn open_point(cpu: u32, id: u16) -> io::Result<Counter> {
    builder(cpu, id).build()
}

/// Every event of a tracepoint on a processor, with time and bytes.
pub(crate) fn builder(cpu: u32, id: u16) -> Builder<'static> {
    let mut builder = Builder::new(Tracepoint::with_id(u64::from(id)));
    builder.any_pid().one_cpu(cpu as usize).exclude_kernel(false).exclude_hv(false);
    builder.sample_period(1).sample(SampleFlag::TIME | SampleFlag::CPU | SampleFlag::RAW);
    builder.clockid(Clock::MONOTONIC_RAW).sample_id_all(true);
    builder
}

/// Time, processor, and the length of the event's bytes, then these: `perf_event_open(2)`, `PERF_RECORD_SAMPLE`.
fn sample(record: &Record<'_>, cpu: u32, layouts: &Layouts) -> Option<Event> {
    const RAW: usize = 20;
    let bytes = record.to_contiguous();
    let at_ns = word(&bytes, 0)?;
    let len = u32::from_ne_bytes(*bytes.get(16..)?.first_chunk()?) as usize;
    layouts.decode(at_ns, cpu, bytes.get(RAW..RAW + len)?)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
