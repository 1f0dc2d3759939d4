//! At which addresses the threads of a program are, by a clock of the time that each has a core.

use crate::open_files::under_hard_limit;
use crate::probe::Missing;
use crate::processors;
use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};
use perf_event_open_sys::bindings::{
    PERF_RECORD_FORK, PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES, PERF_RECORD_SAMPLE,
};
use rustix::io::Errno;
use rustix::param::page_size;
use std::collections::HashSet;
use std::io;

/// A processor's ring, in bytes: at 40 bytes a sample and 10,000 samples a second it is full after 160 ms.
const RING_BYTES: usize = 1 << 16;
/// Samples of a ring that are read before the next ring's turn.
const READ_MAX: usize = 4 * RING_BYTES / 40;

/// Processes told apart; of further ones no sample is handed out.
const PROCESSES_MAX: usize = 65_536;

/// The place of the instruction pointer among the registers of a sample (`perf_regs.h` of the architecture).
#[cfg(target_arch = "x86_64")]
const INSTRUCTION_POINTER: u64 = 1 << 8;
#[cfg(not(target_arch = "x86_64"))]
const INSTRUCTION_POINTER: u64 = 1 << 32;

/// A clock that tells the addresses of a program's threads, and of those that it makes, whenever it has run down.
///
/// There is one for each processor where the machine may be watched, which costs the program an interrupt for each sample.
/// Otherwise there is one for each thread, which also runs down and up with each switch to and from it: a server that sleeps
/// after each request pays two microseconds for each (`docs/claims/profiler.md`).
///
/// Memory is bounded: a ring of 64 KiB for each processor. Samples that find theirs full are lost and counted. A processor that
/// came online later is not watched.
pub struct Sampling {
    rings: Vec<Sampler>,
    /// The events of further threads that go to the same rings: they end when they are closed.
    _others: Vec<Counter>,
    of: Of,
    lost: u64,
}

/// Whose samples come.
enum Of {
    /// Of all processes. These are the program's.
    Machine(HashSet<u32>),
    /// Of the program's threads.
    Threads,
}

/// Where a thread was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    pub at_ns: u64,
    /// The kernel's number of the thread.
    pub tid: u32,
    /// Its next instruction; where it was in the kernel, that at which it had gone there.
    pub address: u64,
}

impl Sampling {
    /// Samples the threads of a process, so many times in a second of each one's time on a core. Those that it makes from now on
    /// are among them, and those of its children. Where the right to see the kernel is missing, no sample is taken while a thread is there.
    ///
    /// # Errors
    ///
    /// What is missing, and what to type.
    pub fn start(process: u32, threads: &[u32], hz: u32) -> Result<Self, Missing> {
        let cpus = processors::online();
        let files = cpus.len() * threads.len().max(1);
        let opened = under_hard_limit(|| match open_machine(process, &cpus, hz) {
            Err(error) if is_refused(&error) => open_threads(threads, &cpus, hz),
            opened => opened,
        });
        opened.map_err(|error| missing(&error, files))
    }

    /// Hands out what has come. To be called every ten milliseconds or so.
    pub fn read(&mut self, mut take: impl FnMut(Sample)) {
        for ring in &mut self.rings {
            for _ in 0..READ_MAX {
                let Some(record) = ring.next_record() else { break };
                match (told(record.ty(), &record.to_contiguous()), &mut self.of) {
                    (Told::Sample(_, sample), Of::Threads) => take(sample),
                    (Told::Sample(process, sample), Of::Machine(all)) if all.contains(&process) => {
                        take(sample);
                    }
                    (Told::Fork { parent, child }, Of::Machine(all))
                        if all.contains(&parent) && all.len() < PROCESSES_MAX =>
                    {
                        all.insert(child);
                    }
                    (Told::Lost(lost), _) => self.lost += lost,
                    _ => {}
                }
            }
        }
    }

    /// Ends it, and hands out what is left. Answers how many samples were lost.
    pub fn finish(mut self, take: impl FnMut(Sample)) -> u64 {
        // They were open, and nothing else can fail.
        self.rings.iter_mut().for_each(|ring| drop(ring.disable()));
        self._others.iter_mut().for_each(|event| drop(event.disable()));
        self.read(take);
        self.lost
    }
}

/// What a record says.
#[derive(PartialEq, Eq, Debug)]
enum Told {
    /// Of a thread of this process.
    Sample(u32, Sample),
    Fork {
        parent: u32,
        child: u32,
    },
    Lost(u64),
    Nothing,
}

/// A sample has process and thread, time, and the registers that were asked for, a fork the child's process and its parent's:
/// `perf_event_open(2)`, `PERF_RECORD_SAMPLE` and `PERF_RECORD_FORK`.
fn told(kind: u32, bytes: &[u8]) -> Told {
    let word = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let told = match kind {
        // Without registers, as of a thread that has no user's part, there is no word at 24.
        PERF_RECORD_SAMPLE => word(24).and_then(|address| {
            Some(Told::Sample(half(0)?, Sample { at_ns: word(8)?, tid: half(4)?, address }))
        }),
        PERF_RECORD_FORK => half(4).and_then(|parent| Some(Told::Fork { parent, child: half(0)? })),
        PERF_RECORD_LOST => Some(Told::Lost(word(8).unwrap_or(1))),
        PERF_RECORD_LOST_SAMPLES => Some(Told::Lost(word(0).unwrap_or(1))),
        _ => None,
    };
    told.unwrap_or(Told::Nothing)
}

/// Opens an event for each processor, whatever has it.
fn open_machine(process: u32, cpus: &[u32], hz: u32) -> io::Result<Sampling> {
    let mut builder = builder(hz);
    builder.any_pid().exclude_kernel(false).exclude_idle(true).task(true);
    let rings = cpus.iter().map(|cpu| ring(builder.one_cpu(*cpu as usize).build()?));
    let rings = rings.collect::<io::Result<Vec<Sampler>>>()?;
    begun(rings, vec![], Of::Machine(HashSet::from([process])))
}

/// Opens an event for each thread, with the kernel where that may be seen.
fn open_threads(threads: &[u32], cpus: &[u32], hz: u32) -> io::Result<Sampling> {
    let mut builder = builder(hz);
    builder.inherit(true).exclude_kernel(false);
    match open_each(&mut builder, threads, cpus) {
        Err(error) if is_refused(&error) => open_each(builder.exclude_kernel(true), threads, cpus),
        opened => opened,
    }
}

/// Opens an event of each thread on each processor: what a thread hands down to those that it makes must be of one processor.
fn open_each(builder: &mut Builder<'_>, threads: &[u32], cpus: &[u32]) -> io::Result<Sampling> {
    let (mut rings, mut others) = (Vec::new(), Vec::new());
    for &cpu in cpus {
        let mut first: Option<Sampler> = None;
        for &tid in threads {
            let counter = match builder.observe_pid(tid.cast_signed()).one_cpu(cpu as usize).build()
            {
                Ok(counter) => counter,
                // It has ended meanwhile.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => continue,
                Err(error) => return Err(error),
            };
            match &first {
                None => first = Some(ring(counter)?),
                Some(first) => {
                    crate::ioctl::share_ring(&counter, first.as_counter())?;
                    others.push(counter);
                }
            }
        }
        rings.extend(first);
    }
    if rings.is_empty() {
        return Err(Errno::SRCH.into());
    }
    begun(rings, others, Of::Threads)
}

fn builder<'a>(hz: u32) -> Builder<'a> {
    let mut builder = Builder::new(Software::CPU_CLOCK);
    builder.exclude_hv(true).sample_frequency(hz.into()).clockid(Clock::MONOTONIC_RAW);
    builder.sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::REGS_USER);
    builder.sample_regs_user(INSTRUCTION_POINTER);
    builder
}

fn ring(counter: Counter) -> io::Result<Sampler> {
    counter.sampled(RING_BYTES.max(page_size()))
}

fn begun(mut rings: Vec<Sampler>, mut others: Vec<Counter>, of: Of) -> io::Result<Sampling> {
    rings.iter_mut().try_for_each(|ring| ring.enable())?;
    others.iter_mut().try_for_each(Counter::enable)?;
    Ok(Sampling { rings, _others: others, of, lost: 0 })
}

fn is_refused(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ACCESS | Errno::PERM))
}

fn missing(error: &io::Error, files: usize) -> Missing {
    let setting = |name: &str| {
        std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default()
    };
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => Missing::new(
            format!(
                "addresses of threads may not be sampled: kernel.perf_event_paranoid is {}, or perf_event_open is forbidden, \
                 as in a container",
                setting("perf_event_paranoid").trim()
            ),
            "type, as root: sysctl kernel.perf_event_paranoid=2; or start the container with --security-opt \
             seccomp=unconfined",
        ),
        Some(Errno::INVAL) => Missing::new(
            format!(
                "addresses cannot be sampled that often: kernel.perf_event_max_sample_rate is {}",
                setting("perf_event_max_sample_rate").trim()
            ),
            "ask for fewer a second, or raise it as root by sysctl",
        ),
        Some(Errno::SRCH) => Missing::new("the program had ended", "nothing is to be done"),
        _ => Missing::of_ring(error, files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_tells_of_a_thread_or_of_what_was_lost() {
        let words =
            |all: &[u64]| -> Vec<u8> { all.iter().flat_map(|one| one.to_ne_bytes()).collect() };
        let thread = 7 | 9 << 32;
        let sample = words(&[thread, 50, 2, 0x40_1000]);
        let expected = Sample { at_ns: 50, tid: 9, address: 0x40_1000 };
        assert_eq!(told(PERF_RECORD_SAMPLE, &sample), Told::Sample(7, expected));
        assert_eq!(told(PERF_RECORD_SAMPLE, &words(&[thread, 50, 0])), Told::Nothing);
        let fork = Told::Fork { parent: 9, child: 7 };
        assert_eq!(told(PERF_RECORD_FORK, &words(&[thread, thread, 50])), fork);
        assert_eq!(told(PERF_RECORD_LOST, &words(&[1, 5])), Told::Lost(5));
        assert_eq!(told(PERF_RECORD_LOST_SAMPLES, &words(&[6])), Told::Lost(6));
    }
}
