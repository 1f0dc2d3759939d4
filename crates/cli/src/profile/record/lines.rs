//! `--lines` of `record` and `attach`: at which addresses the program's threads are, written beside the trace.

use super::aside::{Aside, Readings, Whose, threads};
use crate::profile::companion::Companion;
use crate::profile::written::{Kept, Source, Written, gone, reading};
use clap::Args;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;
use tailwater_kernel::{Sample, Sampled, Sampling, SamplingClocks, now_ns};
use tailwater_profile::record::{self, Figure, Loss, LossKind, Measured, Record, Thread, ThreadId};
use tailwater_report::count;

/// Threads told apart; samples of further ones are counted.
const THREADS_MAX: usize = 65_536;
/// Samples between two times that threads are forgotten, at least.
const FORGETS_EVERY: usize = 4_096;

/// Whether samples are taken, and how often.
#[derive(Args, Debug)]
pub(in super::super) struct Lines {
    /// Record also where threads are, so that `report --lines` and `report --slowest` tell the lines within functions: so many
    /// samples in each second of a thread's time on a core, 997 where no number is given, 10,000 at most. They lie in
    /// TRACE.lines. Where it is not permitted, it says what to type and records without.
    #[arg(
        long,
        value_name = "HZ",
        num_args = 0..=1,
        require_equals = true,
        // A prime: work that comes every millisecond is not met at the same point of it each time.
        default_missing_value = "997",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    lines: Option<u32>,
}

/// A recording under way.
pub(super) struct LinesRecording(Aside<Summary>);

/// What was recorded.
struct Summary {
    samples: u64,
    threads: u32,
    lost: u64,
    left_out: u64,
    bytes: u64,
    kept: Kept,
    clocks: SamplingClocks,
}

impl Lines {
    /// Begins, where that was asked for and can be had; on the thread that starts the program, if that is to come. With `last`,
    /// only samples of so long before the end are written, when that has come.
    pub(super) fn start(
        &self,
        trace: &Path,
        whose: Whose,
        last: Option<Duration>,
    ) -> Option<LinesRecording> {
        let hz = self.lines?;
        let began_ns = now_ns();
        let sampling = match whose {
            Whose::Next => Sampling::start(Sampled::Next, hz),
            Whose::Running(pid) => Sampling::start(Sampled::Running(pid, &threads(pid)), hz),
        };
        let sampling = match sampling {
            Ok(sampling) => sampling,
            Err(missing) => {
                crate::failure::tell(&format!("tailwater: recording without lines: {missing}"));
                return None;
            }
        };
        let path = Companion::Lines.file(trace);
        let working = Aside::start("the samples", path, whose, move |root, to, readings| {
            let source = Source { teller: "samples", root, began: reading(began_ns) };
            record(sampling, hz, Written::create(to, source, last)?, readings)
        });
        Some(LinesRecording(working))
    }
}

impl LinesRecording {
    /// The process that is sampled.
    pub(super) fn follow(&self, pid: u32) {
        self.0.follow(pid);
    }

    /// Ends the recording of what was not recorded after all.
    pub(super) fn discard(self) {
        self.0.discard();
    }

    /// The recording is to end now, before [`Self::finish`] waits for that.
    pub(super) fn end(&mut self) {
        self.0.end();
    }

    /// Ends the recording; what came of it, in words.
    pub(super) fn finish(self) -> String {
        self.0.finish(|summary| summary.text())
    }
}

impl Summary {
    fn text(&self) -> String {
        let mut text = format!(
            "{} samples of where {} threads were; {} bytes. Lost: {}.{}",
            count(self.samples),
            count(self.threads.into()),
            count(self.bytes),
            count(self.lost),
            gone(self.kept),
        );
        if self.left_out > 0 {
            let left_out = count(self.left_out);
            text.push_str(&format!(" {left_out} of further threads were left out."));
        }
        let where_not = match self.clocks {
            SamplingClocks::Processors => return text,
            SamplingClocks::Threads => "",
            SamplingClocks::ThreadsOutsideKernel => ", and none was taken in the kernel",
        };
        text.push_str(&format!(
            "\nEach thread had a clock of its own, which slows down programs that often sleep{where_not}. With root, or \
             after sysctl kernel.perf_event_paranoid=0, each processor has one."
        ));
        text
    }
}

/// Samples until the recording ends.
fn record(
    mut sampling: Sampling,
    hz: u32,
    file: Written,
    readings: &Readings,
) -> io::Result<Summary> {
    let clocks = sampling.clocks();
    let mut samples = Samples::new(file);
    let every_ns = 1_000_000_000 / u64::from(hz.max(1));
    samples.file.add(Record::Figure(Figure { what: Measured::SampledEveryNs, value: every_ns }));
    if clocks == SamplingClocks::ThreadsOutsideKernel {
        let figure = Figure { what: Measured::OutsideKernel, value: 1 };
        samples.file.add(Record::Figure(figure));
    }
    readings.each(|is_to_flush| {
        sampling.read(|sample| samples.add(sample));
        if is_to_flush {
            samples.file.flush();
        }
    });
    // Not when the clocks are closed, which may take longer than the last moments do.
    let end_ns = now_ns();
    let lost = sampling.finish(|sample| samples.add(sample));
    samples.finish(end_ns, lost, clocks)
}

/// Samples on their way to the file.
struct Samples {
    file: Written,
    /// By the kernel's number.
    threads: HashMap<u32, ThreadId>,
    /// Numbers that were given, those of threads that were forgotten included.
    numbered: u32,
    taken: u64,
    /// How many must have come before threads are forgotten again: all that is held is looked through.
    forgets_at: u64,
    left_out: u64,
}

impl Samples {
    fn new(file: Written) -> Self {
        Self { file, threads: HashMap::new(), numbered: 0, taken: 0, forgets_at: 0, left_out: 0 }
    }

    fn add(&mut self, sample: Sample) {
        let Some(thread) = self.thread(sample.tid) else { return self.left_out += 1 };
        self.taken += 1;
        let Sample { at_ns: at, address, .. } = sample;
        self.file.add(Record::Sample(record::Sample { thread, at, address }));
    }

    fn thread(&mut self, tid: u32) -> Option<ThreadId> {
        if let Some(id) = self.threads.get(&tid) {
            return Some(*id);
        }
        if self.threads.len() >= THREADS_MAX && self.taken + self.left_out >= self.forgets_at {
            self.forget_threads();
        }
        if self.threads.len() >= THREADS_MAX {
            return None;
        }
        let id = ThreadId(self.numbered);
        self.numbered += 1;
        self.threads.insert(tid, id);
        // The profiler's own are told by their names. One that has ended has none.
        let name = std::fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
        let name = name.trim_end().to_owned();
        self.file.add(Record::Thread(Thread { id, tid, name }));
        Some(id)
    }

    /// Where the last alone are kept, threads of which nothing is held make room for others.
    fn forget_threads(&mut self) {
        if let Some(needed) = self.file.forget_threads() {
            self.threads.retain(|_, id| needed.contains(id));
        }
        // A sample takes the room of one thread at most.
        let room = (THREADS_MAX - self.threads.len()).max(FORGETS_EVERY);
        self.forgets_at = self.taken + self.left_out + room as u64;
    }

    fn finish(mut self, end_ns: u64, lost: u64, clocks: SamplingClocks) -> io::Result<Summary> {
        for (kind, count) in [(LossKind::Events, lost), (LossKind::Threads, self.left_out)] {
            if count > 0 {
                self.file.add(Record::Loss(Loss { thread: None, kind, count }));
            }
        }
        let (bytes, kept) = self.file.finish(reading(end_ns))?;
        let Self { numbered: threads, taken: samples, left_out, .. } = self;
        Ok(Summary { samples, threads, lost, left_out, bytes, kept, clocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use tailwater_profile::trace::Reader;

    /// Of three times as many threads as are told apart, a sample each and a microsecond apart: how many were left out, and
    /// how many are in the file. Clocks come as often as others do.
    fn left(name: &str, last: Option<Duration>) -> (u64, usize) {
        let name = format!("tailwater-samples-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let began_ns = now_ns() - 1_000_000_000;
        let source = Source { teller: "samples", root: 7, began: reading(began_ns) };
        let mut samples = Samples::new(Written::create(&path, source, last).expect("a file"));
        for nth in 0..3 * THREADS_MAX as u32 {
            let at_ns = began_ns + u64::from(nth) * 1_000;
            samples.add(Sample { at_ns, tid: nth, address: 64 });
            if nth.is_multiple_of(100) {
                samples.file.add(Record::Clock(reading(at_ns)));
            }
            assert!(samples.threads.len() <= THREADS_MAX);
        }
        let summary =
            samples.finish(now_ns(), 0, SamplingClocks::Processors).expect("it is written");
        let reader = Reader::new(File::open(&path).expect("it is there")).expect("a header");
        let written = reader.filter(|item| matches!(item, Ok(Record::Sample(_)))).count();
        std::fs::remove_file(&path).expect("it was made");
        (summary.left_out, written)
    }

    #[test]
    fn threads_beyond_the_bound_are_counted_and_make_room_where_the_last_alone_are_kept() {
        assert_eq!(left("all", None), (2 * THREADS_MAX as u64, THREADS_MAX));
        let (left_out, written) = left("last", Some(Duration::from_millis(1)));
        assert_eq!(left_out, 0, "{written}");
        assert!(written < THREADS_MAX, "{written}");
        // All that are told apart are within it at first. As they become old they make room, though nothing else is held.
        let (left_out, _) = left("longer", Some(Duration::from_millis(70)));
        assert!(left_out < THREADS_MAX as u64 / 2, "{left_out}");
    }

    #[test]
    fn threads_are_written_with_their_names() {
        let name = format!("tailwater-samples-named-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let source = Source { teller: "samples", root: 7, began: reading(now_ns()) };
        let mut samples = Samples::new(Written::create(&path, source, None).expect("a file"));
        let tid = std::process::id();
        samples.add(Sample { at_ns: now_ns(), tid, address: 64 });
        samples.finish(now_ns(), 0, SamplingClocks::Processors).expect("it is written");
        let reader = Reader::new(File::open(&path).expect("it is there")).expect("a header");
        let names: Vec<String> = reader
            .filter_map(|item| match item {
                Ok(Record::Thread(Thread { tid: its, name, .. })) if its == tid => Some(name),
                _ => None,
            })
            .collect();
        let own = std::fs::read_to_string(format!("/proc/{tid}/comm")).expect("it is this process");
        assert_eq!(names, [own.trim_end()]);
        std::fs::remove_file(&path).expect("it was made");
    }
}
