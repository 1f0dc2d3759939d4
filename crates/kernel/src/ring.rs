//! One processor's ring: the kernel writes its events there, all tracepoints in one order.

use crate::event::{Event, What};
use crate::layout::Layouts;
use crate::numbers::Numbers;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};
use perf_event_open_sys::bindings::{
    PERF_RECORD_FORK, PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES, PERF_RECORD_SAMPLE,
};
use rustix::param::page_size;
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
    /// No event has come since some were lost, or ever: which thread the processor has is not known. Told by its recorder.
    pub(crate) is_blind: bool,
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
    /// Opens the tracepoints on a processor, disabled, with a ring of `bytes`, a power of two; of a page where these are
    /// larger. With numbers that differ, each event tells both of its thread.
    pub(crate) fn open(
        cpu: u32,
        layouts: &Layouts,
        numbers: &Numbers,
        bytes: usize,
    ) -> io::Result<Self> {
        let mut counters = Vec::new();
        // Switches are told before all else, and after it: what tells of a thread says which one the processor has.
        for (nth, id) in layouts.ids().enumerate() {
            let mut builder = builder(cpu, id);
            if numbers.differ() {
                // Each counter with it would tell of the same threads.
                builder.sample(SampleFlag::TID).task(nth == 0 && layouts.tell_forks());
            }
            counters.push(builder.build()?);
        }
        let mut counters = counters.into_iter();
        let owner = counters.next().ok_or_else(|| io::Error::other("no tracepoint"))?;
        let sampler = owner.sampled(bytes)?;
        let mut others = Vec::new();
        for counter in counters {
            crate::ioctl::share_ring(&counter, sampler.as_counter())?;
            others.push(counter);
        }
        // The kernel's pages have up to 64 KiB, and no ring is smaller.
        let bytes = bytes.max(page_size());
        Ok(Self { sampler, others, cpu, bytes, last_ns: 0, is_blind: true })
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
        self.others.iter_mut().for_each(|counter| drop(counter.disable()));
        let _ = self.sampler.disable();
    }

    /// Moves all events to `into`, in their order.
    pub(crate) fn drain(
        &mut self,
        layouts: &Layouts,
        numbers: &mut Numbers,
        into: &mut Vec<Event>,
    ) -> Lost {
        let (cpu, last_ns) = (self.cpu, self.last_ns);
        let mut reading = Reading { cpu, layouts, numbers, last_ns, lost: Lost::default(), into };
        let mut read = 0;
        while read < self.bytes * READ_MAX
            && let Some(record) = self.sampler.next_record()
        {
            read += record.len() + 8;
            reading.take(record.ty(), &record.to_contiguous());
        }
        // A full ring loses what comes, and says so with the next event only, which may be seconds later.
        if read + RECORD_MAX >= self.bytes {
            reading.go_blind();
        }
        self.last_ns = reading.last_ns;
        reading.lost
    }
}

/// One reading of a ring.
struct Reading<'a> {
    cpu: u32,
    layouts: &'a Layouts,
    numbers: &'a mut Numbers,
    last_ns: u64,
    lost: Lost,
    into: &'a mut Vec<Event>,
}

impl Reading<'_> {
    /// Takes the next record.
    fn take(&mut self, kind: u32, bytes: &[u8]) {
        match kind {
            PERF_RECORD_SAMPLE => match self.sample(bytes) {
                Some(event) => {
                    self.last_ns = event.at_ns;
                    self.into.push(event);
                }
                // What it told is as lost as what found no room.
                None => {
                    self.lost.unread += 1;
                    self.go_blind();
                }
            },
            // Process and parent, thread and maker, time.
            PERF_RECORD_FORK => {
                if let (Some(child), Some(maker)) = (half(bytes, 8), half(bytes, 12)) {
                    self.numbers.made(maker, child);
                }
            }
            PERF_RECORD_LOST => {
                self.lost.events += word(bytes, 8).unwrap_or(1);
                self.go_blind();
            }
            PERF_RECORD_LOST_SAMPLES => {
                self.lost.events += word(bytes, 0).unwrap_or(1);
                self.go_blind();
            }
            _ => {}
        }
    }

    /// Process and thread where numbers differ, time, processor, and the length of the event's bytes, then these:
    /// `perf_event_open(2)`, `PERF_RECORD_SAMPLE`.
    fn sample(&mut self, bytes: &[u8]) -> Option<Event> {
        const RAW: usize = 20;
        let (ids, bytes) = bytes.split_at_checked(if self.numbers.differ() { 8 } else { 0 })?;
        let len = half(bytes, 16)? as usize;
        let event = self.layouts.decode(word(bytes, 0)?, self.cpu, bytes.get(RAW..RAW + len)?)?;
        if let Some(tid) = half(ids, 4) {
            self.numbers.learn(&event, tid);
        }
        Some(event)
    }

    /// From the last event on, some are lost.
    fn go_blind(&mut self) {
        let (at_ns, cpu) = (self.last_ns, self.cpu);
        self.numbers.lost();
        self.into.push(Event { at_ns, cpu, tid: 0, what: What::Blind });
    }
}

/// A tracepoint on a processor, whatever has it.
pub(crate) fn point_on(cpu: u32, id: u16) -> Builder<'static> {
    let mut builder = Builder::new(Tracepoint::with_id(u64::from(id)));
    builder.any_pid().one_cpu(cpu as usize).exclude_kernel(false).exclude_hv(false);
    builder
}

/// Every event of a tracepoint on a processor, with time and bytes.
pub(crate) fn builder(cpu: u32, id: u16) -> Builder<'static> {
    let mut builder = point_on(cpu, id);
    builder.sample_period(1).sample(SampleFlag::TIME | SampleFlag::CPU | SampleFlag::RAW);
    builder.clockid(Clock::MONOTONIC_RAW).sample_id_all(true);
    builder
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::layout::Point;
    use crate::numbers::Own;

    #[test]
    fn what_cannot_be_read_is_as_lost_as_what_found_no_room() {
        let format = "ID: 7\nfield:unsigned short common_type; offset:0; size:2; signed:0;\n\
                      field:unsigned char common_flags; offset:2; size:1; signed:0;\n\
                      field:int common_pid; offset:4; size:4; signed:1;\n";
        let mut layouts = Layouts::default();
        layouts
            .add(Point::SoftirqExit, &Format::parse(format).expect("a format"))
            .expect("all fields");
        let told = |id: u16| {
            let raw = [&id.to_ne_bytes()[..], &[0, 0], &9i32.to_ne_bytes()].concat();
            [&50u64.to_ne_bytes()[..], &[0; 8], &(raw.len() as u32).to_ne_bytes(), &raw].concat()
        };
        let mut into = Vec::new();
        let lost = Lost::default();
        let numbers = &mut Numbers::Host;
        let mut reading =
            Reading { cpu: 3, layouts: &layouts, numbers, last_ns: 0, lost, into: &mut into };
        reading.take(PERF_RECORD_SAMPLE, &told(7));
        reading.take(PERF_RECORD_SAMPLE, &told(8));
        reading.take(PERF_RECORD_LOST, &[0u64.to_ne_bytes(), 5u64.to_ne_bytes()].concat());
        assert_eq!(reading.lost, Lost { events: 5, unread: 1 });
        let event = |tid, what| Event { at_ns: 50, cpu: 3, tid, what };
        let blind = event(0, What::Blind);
        assert_eq!(into, [event(9, What::SoftirqExit), blind, blind]);
    }

    /// In a PID namespace: process and thread stand before the time, and a record of its own tells of a thread that is made.
    #[test]
    fn where_numbers_differ_both_are_read() {
        let format = "ID: 7\nfield:unsigned short common_type; offset:0; size:2; signed:0;\n\
                      field:unsigned char common_flags; offset:2; size:1; signed:0;\n\
                      field:int common_pid; offset:4; size:4; signed:1;\n\
                      field:pid_t child_pid; offset:8; size:4; signed:1;\n";
        let mut layouts = Layouts::default();
        layouts.add(Point::Fork, &Format::parse(format).expect("a format")).expect("all fields");
        let head = [&7u16.to_ne_bytes()[..], &[0, 0]].concat();
        let raw = [head, [700u32, 702].map(u32::to_ne_bytes).concat()].concat();
        // The maker is thread 6 of process 5, and the new one thread 9 of it.
        let ids = [5u32, 6].map(u32::to_ne_bytes).concat();
        let len = (raw.len() as u32).to_ne_bytes();
        let rest = [&50u64.to_ne_bytes()[..], &[0; 8], &len, &raw].concat();
        let made = [5u32, 5, 9, 6].map(u32::to_ne_bytes).concat();
        let mut numbers = Numbers::Own(Own::default());
        let (mut into, lost) = (Vec::new(), Lost::default());
        let mut reading = Reading {
            cpu: 3,
            layouts: &layouts,
            numbers: &mut numbers,
            last_ns: 0,
            lost,
            into: &mut into,
        };
        reading.take(PERF_RECORD_FORK, &[made, 50u64.to_ne_bytes().to_vec()].concat());
        reading.take(PERF_RECORD_SAMPLE, &[ids, rest].concat());
        assert_eq!(reading.lost, Lost::default());
        let told: Vec<Event> = into.into_iter().map(|event| numbers.translated(event)).collect();
        assert_eq!(told, [Event { at_ns: 50, cpu: 3, tid: 6, what: What::Fork { child: 9 } }]);
    }
}
