//! What was sampled beside a trace, by thread and time.

use super::Addresses;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Figure, Loss, LossKind, Measured, Record};
use serde::Serialize;
use std::collections::BTreeSet;

/// Samples kept, of 16 bytes each: those of an hour of four busy threads, a thousand a second. Later ones are counted.
const KEPT_MAX: usize = 1 << 24;

/// Where a thread was once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment {
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    pub at_ns: u64,
    /// The address.
    pub address: u64,
}

/// What is not in the samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SampleCoverage {
    /// Samples in all, those of the profiler's own threads included.
    pub samples: u64,
    /// Records that were lost, at most: those of other programs may be among them.
    pub lost: u64,
    /// Samples that were left out for want of memory.
    pub left_out: u64,
    /// Damaged parts of the file.
    pub damaged_parts: u64,
    /// They leave out what threads did in the kernel.
    pub outside_kernel: bool,
    /// From one sample of a thread that has a core all the time to the next, in nanoseconds; 0: not told, in files of before.
    pub every_ns: u64,
}

/// The samples of a recording.
#[derive(Default)]
pub struct Samples {
    by_tid: Map<u32, Vec<Moment>>,
    names: Names,
    coverage: SampleCoverage,
    /// The profiler's own threads.
    own: BTreeSet<u32>,
}

/// What the profiler's runtime calls its threads in the program that it records.
const OWN: [&str; 3] = ["tw-child", "tw-output", "tw-scanner"];

impl Samples {
    /// Takes the next record of the file.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        match record {
            Record::Sample(sample) => {
                let Some(tid) = self.names.tid(sample.thread) else { return };
                self.coverage.samples += 1;
                if self.coverage.samples > KEPT_MAX as u64 {
                    self.coverage.left_out += 1;
                    return;
                }
                if OWN.contains(&self.names.own_name(sample.thread)) {
                    self.own.insert(tid);
                }
                let moment = Moment { at_ns: sample.at, address: sample.address };
                self.by_tid.entry(tid).or_default().push(moment);
            }
            Record::Loss(Loss { kind: LossKind::Events, count, .. }) => {
                self.coverage.lost = self.coverage.lost.saturating_add(*count);
            }
            Record::Loss(Loss { kind: LossKind::Threads, count, .. }) => {
                self.coverage.left_out = self.coverage.left_out.saturating_add(*count);
            }
            Record::Figure(Figure { what: Measured::OutsideKernel, value }) => {
                self.coverage.outside_kernel = *value != 0;
            }
            Record::Figure(Figure { what: Measured::SampledEveryNs, value }) => {
                self.coverage.every_ns = *value;
            }
            _ => {}
        }
    }

    /// Takes note of a damaged part.
    pub const fn damaged(&mut self) {
        self.coverage.damaged_parts += 1;
    }

    /// All are in. Those of one thread came by processor, and lie by time now.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.by_tid.values_mut().for_each(|moments| moments.sort_unstable());
        self
    }

    /// What is not in them.
    #[must_use]
    pub const fn coverage(&self) -> SampleCoverage {
        self.coverage
    }

    /// Those of all threads but the profiler's own, at any time.
    #[must_use]
    pub fn all(&self) -> Addresses {
        let mut all = Addresses::default();
        let others = self.by_tid.iter().filter(|(tid, _)| !self.own.contains(tid));
        others.for_each(|(_, moments)| all.add(moments));
        all
    }

    /// Those of a thread from one time to another, both included.
    #[must_use]
    pub fn between(&self, tid: u32, from_ns: u64, to_ns: u64) -> &[Moment] {
        let all = self.by_tid.get(&tid).map_or(&[][..], Vec::as_slice);
        let from = all.partition_point(|moment| moment.at_ns < from_ns);
        let until = all.partition_point(|moment| moment.at_ns <= to_ns);
        all.get(from..until).unwrap_or_default()
    }

    pub(crate) fn into_threads(self) -> Map<u32, Vec<Moment>> {
        self.by_tid
    }
}

#[test]
fn threads_of_the_profiler_itself_are_in_no_sum_of_all() {
    use crate::record::{Sample, Thread, ThreadId};
    let mut samples = Samples::default();
    for (id, name) in [(1, "worker"), (2, "tw-scanner")] {
        let thread = ThreadId(id);
        samples.add(&Record::Thread(Thread { id: thread, tid: 10 + id, name: name.into() }));
        samples.add(&Record::Sample(Sample { thread, at: 5, address: u64::from(id) }));
    }
    let all = samples.sorted();
    assert_eq!(all.coverage().samples, 2);
    let told = all.all().named(|address| address.to_string());
    assert_eq!((told.samples, told.lines[0].line.as_str()), (1, "1"));
}
