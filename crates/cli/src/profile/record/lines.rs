//! `--lines` of `record` and `attach`: at which addresses the program's threads are, written beside the trace.

use super::kernel::{Whose, threads};
use crate::profile::companion::Companion;
use crate::profile::written::{Kept, Source, Written, gone, reading};
use clap::Args;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_kernel::{Missing, Sample, Sampling, now_ns};
use tailwater_profile::record::{self, Loss, LossKind, Record, Thread, ThreadId};
use tailwater_report::count;

/// Between two readings of the rings.
const PERIOD: Duration = Duration::from_millis(10);
/// Readings between two writings of what is held back: about a second.
const FLUSH: u32 = 100;
/// Threads told apart; samples of further ones are counted.
const THREADS_MAX: usize = 65_536;

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
pub(in super::super) struct LinesRecording {
    tell: Sender<u32>,
    work: JoinHandle<Option<io::Result<Summary>>>,
    path: PathBuf,
    written: PathBuf,
}

/// What was recorded.
struct Summary {
    samples: u64,
    threads: usize,
    lost: u64,
    left_out: u64,
    bytes: u64,
    kept: Kept,
}

impl Lines {
    /// Begins, where that was asked for. With `last`, only samples of so long before the end are written, when that has come.
    pub(in super::super) fn start(
        &self,
        trace: &Path,
        whose: Whose,
        last: Option<Duration>,
    ) -> Option<LinesRecording> {
        let hz = self.lines?;
        let path = Companion::Lines.file(trace);
        let written = whose.written(&path);
        let (to, began_ns) = (written.clone(), now_ns());
        let (tell, told) = channel();
        let work = move || {
            let root = told.recv().ok()?;
            let sampling = match Sampling::start(root, &threads(root), hz) {
                Ok(sampling) => sampling,
                Err(missing) => {
                    without(&missing);
                    return None;
                }
            };
            let source = Source { teller: "samples", root, began: reading(began_ns) };
            Some(Written::create(&to, source, last).and_then(|file| record(sampling, file, &told)))
        };
        let started = LinesRecording { tell, work: std::thread::spawn(work), path, written };
        if let Whose::Running(pid) = whose {
            started.follow(pid);
        }
        Some(started)
    }
}

fn without(missing: &Missing) {
    super::tell(&format!("tailwater: recording without lines: {missing}"));
}

impl LinesRecording {
    /// The process whose threads are to be sampled, and all that it makes.
    pub(super) fn follow(&self, pid: u32) {
        // Where the other side has failed, it says so at the end.
        let _ = self.tell.send(pid);
    }

    /// Ends the recording of what was not recorded after all.
    pub(in super::super) fn discard(self) {
        drop(self.tell);
        let _ = self.work.join();
        // It may never have been made.
        let _ = std::fs::remove_file(self.written);
    }

    /// Ends the recording; what came of it, in words.
    pub(in super::super) fn finish(self) -> String {
        drop(self.tell);
        let path = self.path.display();
        match self.work.join() {
            Ok(None) => String::new(),
            Ok(Some(recorded)) => {
                let placed = std::fs::rename(&self.written, &self.path);
                match placed.and(recorded) {
                    Ok(summary) => format!("\n{path}: {}", summary.text()),
                    Err(error) => format!("\n{path}: the samples could not be written: {error}"),
                }
            }
            Err(_) => format!("\n{path}: the recorder of samples has failed"),
        }
    }
}

impl Summary {
    fn text(&self) -> String {
        let mut text = format!(
            "{} samples of where {} threads were; {} bytes. Lost: {}.{}",
            count(self.samples),
            count(self.threads as u64),
            count(self.bytes),
            count(self.lost),
            gone(self.kept),
        );
        if self.left_out > 0 {
            let left_out = count(self.left_out);
            text.push_str(&format!(" {left_out} of further threads were left out."));
        }
        text
    }
}

/// Samples until the other side hangs up.
fn record(mut sampling: Sampling, file: Written, told: &Receiver<u32>) -> io::Result<Summary> {
    let mut samples = Samples { file, threads: HashMap::new(), taken: 0, left_out: 0 };
    let mut readings = 0u32;
    while told.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
        sampling.read(|sample| samples.add(sample));
        readings = readings.wrapping_add(1);
        if readings.is_multiple_of(FLUSH) {
            samples.file.flush();
        }
    }
    let lost = sampling.finish(|sample| samples.add(sample));
    samples.finish(lost)
}

/// Samples on their way to the file.
struct Samples {
    file: Written,
    /// By the kernel's number.
    threads: HashMap<u32, ThreadId>,
    taken: u64,
    left_out: u64,
}

impl Samples {
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
        if self.threads.len() >= THREADS_MAX {
            return None;
        }
        let id = ThreadId(self.threads.len() as u32);
        self.threads.insert(tid, id);
        self.file.add(Record::Thread(Thread { id, tid, name: String::new() }));
        Some(id)
    }

    fn finish(mut self, lost: u64) -> io::Result<Summary> {
        if lost > 0 {
            let loss = Loss { thread: None, kind: LossKind::Events, count: lost };
            self.file.add(Record::Loss(loss));
        }
        let (bytes, kept) = self.file.finish(reading(now_ns()))?;
        let (samples, threads, left_out) = (self.taken, self.threads.len(), self.left_out);
        Ok(Summary { samples, threads, lost, left_out, bytes, kept })
    }
}
