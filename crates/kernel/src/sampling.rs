//! At which addresses the threads of a program are, by a clock of the time that each has a core.

use crate::open_files::under_hard_limit;
use crate::probe::Missing;
use crate::processors;
use crate::recorder::now_ns;
use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};
use perf_event_open_sys::bindings::{
    PERF_RECORD_FORK, PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES, PERF_RECORD_SAMPLE,
};
use rustix::io::Errno;
use rustix::param::page_size;
use rustix::thread::gettid;
use std::collections::HashSet;
use std::io;
use std::path::Path;

/// A processor's ring, in bytes: at 40 bytes a sample and 10,000 samples a second it is full after 160 ms.
const RING_BYTES: usize = 1 << 16;
/// Samples of a ring that are read before the next ring's turn.
const READ_MAX: usize = 4 * RING_BYTES / 40;

/// Ancestors of a process that are asked for.
const ANCESTORS_MAX: usize = 64;
/// Processes that are there at once; of further ones no sample is handed out.
const PROCESSES_MAX: usize = 65_536;

/// The place of the instruction pointer among the registers of a sample (`perf_regs.h` of the architecture).
#[cfg(target_arch = "x86_64")]
const INSTRUCTION_POINTER: u64 = 1 << 8;
#[cfg(not(target_arch = "x86_64"))]
const INSTRUCTION_POINTER: u64 = 1 << 32;

/// A clock that tells the addresses of a program's threads, and of those that it makes, whenever it has run down.
///
/// There is one for each processor where the machine may be watched, which costs the program an interrupt for each sample.
/// Otherwise there is one for each thread, which also stops and starts with each switch from and to it: a server that sleeps
/// after each request pays two microseconds for each (`docs/claims/profiler.md`). A thread that another makes while these are
/// opened may be sampled on some processors alone.
///
/// Memory is bounded: a ring of at most 64 KiB for each processor, and the records of two readings. Samples that find theirs full are lost and counted. A processor
/// that came online later is not watched.
pub struct Sampling {
    rings: Vec<Sampler>,
    /// The events of further threads that go to the same rings: they end when they are closed.
    others: Vec<Counter>,
    clocks: SamplingClocks,
    family: Family,
    /// What came after the last reading had begun.
    held: Vec<Told>,
    lost: u64,
}

/// What is sampled.
#[derive(Clone, Copy, Debug)]
pub enum Sampled<'a> {
    /// The program that the calling thread starts next.
    Next,
    /// A process that runs, with these threads.
    Running(u32, &'a [u32]),
}

/// What has a clock, and when it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SamplingClocks {
    /// Each processor.
    Processors,
    /// Each thread.
    Threads,
    /// Each thread, while it is not in the kernel: the right to see that is missing.
    ThreadsOutsideKernel,
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
    /// are among them, and those of its children. Where the right to see the kernel is missing, no sample is taken while a thread
    /// is there.
    ///
    /// # Errors
    ///
    /// What is missing, and what to type.
    pub fn start(what: Sampled<'_>, hz: u32) -> Result<Self, Missing> {
        let cpus = processors::online();
        let own = [own_tid()];
        let (process, threads) = match what {
            Sampled::Next => (std::process::id(), &own[..]),
            Sampled::Running(process, threads) => (process, threads),
        };
        let files = cpus.len() * threads.len().max(1);
        let family = Family::of(process, matches!(what, Sampled::Next));
        let opened = under_hard_limit(|| open(&cpus, threads, hz));
        let (Opened { rings, others }, clocks) =
            opened.map_err(|trouble| trouble.missing(files))?;
        Ok(Self { rings, others, clocks, family, held: Vec::new(), lost: 0 })
    }

    /// What has a clock.
    #[must_use]
    pub const fn clocks(&self) -> SamplingClocks {
        self.clocks
    }

    /// Hands out what was before the reading began: by then all rings have it. To be called every few milliseconds.
    pub fn read(&mut self, take: impl FnMut(Sample)) {
        let began_ns = now_ns();
        self.drain();
        self.hand_out(began_ns, take);
    }

    /// Ends it, and hands out what is left. Answers how many records were lost; with a clock for each processor, those of other
    /// programs are among them.
    pub fn finish(mut self, take: impl FnMut(Sample)) -> u64 {
        // They were open, and nothing else can fail.
        self.rings.iter_mut().for_each(|ring| drop(ring.disable()));
        self.others.iter_mut().for_each(|event| drop(event.disable()));
        self.drain();
        self.hand_out(u64::MAX, take);
        self.lost
    }

    fn drain(&mut self) {
        for ring in &mut self.rings {
            for _ in 0..READ_MAX {
                let Some(record) = ring.next_record() else { break };
                match read(record.ty(), &record.to_contiguous()) {
                    Told::Lost(lost) => {
                        self.lost += lost;
                        self.family.is_unsure = true;
                    }
                    Told::Nothing => {}
                    told => self.held.push(told),
                }
            }
        }
    }

    fn hand_out(&mut self, until_ns: u64, mut take: impl FnMut(Sample)) {
        // A child may run or fork on a processor whose ring is read before that of its own fork.
        self.held.sort_by_key(Told::at_ns);
        let count = self.held.partition_point(|one| one.at_ns() < until_ns);
        for one in self.held.drain(..count) {
            match one {
                Told::Fork(fork) => self.family.learn(fork),
                Told::Sample(process, sample) if self.family.has(process) => take(sample),
                _ => {}
            }
        }
    }
}

/// The processes that samples are wanted of.
struct Family {
    members: HashSet<u32>,
    /// Starts the first of them, and is none itself.
    starter: Option<u32>,
    /// Forks may have been lost.
    is_unsure: bool,
    /// Of these the kernel was asked since, and they are none of the family.
    strangers: HashSet<u32>,
}

impl Family {
    fn of(process: u32, is_starter: bool) -> Self {
        let starter = is_starter.then_some(process);
        let members = HashSet::from([process]);
        Self { members, starter, is_unsure: false, strangers: HashSet::new() }
    }

    /// Takes note of a fork, in their order of time.
    fn learn(&mut self, Fork { parent, child, .. }: Fork) {
        self.strangers.remove(&child);
        if self.members.contains(&parent) {
            self.add(child);
        } else {
            // The number is that of another process now.
            self.members.remove(&child);
        }
    }

    fn add(&mut self, child: u32) {
        if self.members.len() >= PROCESSES_MAX {
            self.members.retain(|process| Path::new(&format!("/proc/{process}")).exists());
        }
        // Where so many are there, samples of further ones are not wanted.
        if self.members.len() < PROCESSES_MAX {
            self.members.insert(child);
        }
    }

    /// Whether a process is one of them; where forks may have been lost, its ancestors are asked for once.
    fn has(&mut self, process: u32) -> bool {
        if self.starter == Some(process) {
            return false;
        }
        if self.members.contains(&process) {
            return true;
        }
        if !self.is_unsure || self.strangers.contains(&process) {
            return false;
        }
        let above = std::iter::successors(parent(process), |process| parent(*process));
        // What else the starter has started is none.
        let mut above = above.take(ANCESTORS_MAX).take_while(|one| self.starter != Some(*one));
        let is_ours = above.any(|one| self.members.contains(&one));
        if is_ours {
            self.add(process);
        } else if self.strangers.len() < PROCESSES_MAX {
            self.strangers.insert(process);
        }
        is_ours
    }
}

/// The parent of a process that is there (`proc_pid_stat(5)`).
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn own_tid() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

/// What a record says.
#[derive(PartialEq, Eq, Debug)]
enum Told {
    /// Of a thread of this process.
    Sample(u32, Sample),
    Fork(Fork),
    Lost(u64),
    Nothing,
}

impl Told {
    const fn at_ns(&self) -> u64 {
        match self {
            Self::Sample(_, sample) => sample.at_ns,
            Self::Fork(fork) => fork.at_ns,
            Self::Lost(_) | Self::Nothing => 0,
        }
    }
}

/// A process or a thread was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fork {
    at_ns: u64,
    parent: u32,
    child: u32,
}

/// A sample has process and thread, time, and the registers that were asked for, a fork the child's process and its parent's:
/// `perf_event_open(2)`, `PERF_RECORD_SAMPLE` and `PERF_RECORD_FORK`.
fn read(kind: u32, bytes: &[u8]) -> Told {
    let word = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let told = match kind {
        // Without registers, as of a thread that has no user's part, there is no word at 24.
        PERF_RECORD_SAMPLE => word(24).and_then(|address| {
            Some(Told::Sample(half(0)?, Sample { at_ns: word(8)?, tid: half(4)?, address }))
        }),
        PERF_RECORD_FORK => word(16)
            .and_then(|at_ns| Some(Told::Fork(Fork { at_ns, parent: half(4)?, child: half(0)? }))),
        PERF_RECORD_LOST => Some(Told::Lost(word(8).unwrap_or(1))),
        PERF_RECORD_LOST_SAMPLES => Some(Told::Lost(word(0).unwrap_or(1))),
        _ => None,
    };
    told.unwrap_or(Told::Nothing)
}

/// Events with their rings.
struct Opened {
    rings: Vec<Sampler>,
    others: Vec<Counter>,
}

/// What could not be had.
enum Trouble {
    Event(io::Error),
    /// An event could be opened, and there is no memory for its ring.
    Ring(io::Error),
}

/// With the best clocks that are permitted, and the largest rings that there is memory for.
fn open(cpus: &[u32], threads: &[u32], hz: u32) -> Result<(Opened, SamplingClocks), Trouble> {
    let mut bytes = RING_BYTES.max(page_size());
    loop {
        match open_permitted(cpus, threads, hz, bytes) {
            Err(Trouble::Ring(_)) if bytes > page_size() => bytes /= 2,
            opened => return opened,
        }
    }
}

fn open_permitted(
    cpus: &[u32],
    threads: &[u32],
    hz: u32,
    bytes: usize,
) -> Result<(Opened, SamplingClocks), Trouble> {
    let machine = open_machine(cpus, hz, bytes).map(|opened| (opened, SamplingClocks::Processors));
    let with_kernel = or_else(machine, || {
        let opened =
            open_threads(cpus, threads, builder(hz).inherit(true).exclude_kernel(false), bytes);
        opened.map(|opened| (opened, SamplingClocks::Threads))
    });
    or_else(with_kernel, || {
        let opened = open_threads(cpus, threads, builder(hz).inherit(true), bytes);
        opened.map(|opened| (opened, SamplingClocks::ThreadsOutsideKernel))
    })
}

/// The other way where the first is not permitted.
fn or_else<T>(
    first: Result<T, Trouble>,
    other: impl FnOnce() -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    match first {
        Err(Trouble::Event(error)) if is_refused(&error) => other(),
        first => first,
    }
}

/// Opens an event for each processor, whatever has it.
fn open_machine(cpus: &[u32], hz: u32, bytes: usize) -> Result<Opened, Trouble> {
    let mut builder = builder(hz);
    builder.any_pid().exclude_kernel(false).exclude_idle(true).task(true);
    let mut rings = Vec::new();
    for &cpu in cpus {
        let event = builder.one_cpu(cpu as usize).build().map_err(Trouble::Event)?;
        rings.push(event.sampled(bytes).map_err(Trouble::Ring)?);
    }
    Opened { rings, others: vec![] }.begun()
}

/// Opens an event of each thread on each processor: what a thread hands down to those that it makes must be of one processor.
fn open_threads(
    cpus: &[u32],
    threads: &[u32],
    builder: &mut Builder<'_>,
    bytes: usize,
) -> Result<Opened, Trouble> {
    let (mut rings, mut others) = (Vec::new(), Vec::new());
    builder.task(true);
    for &cpu in cpus {
        let mut first: Option<Sampler> = None;
        for &tid in threads {
            let event = match builder.observe_pid(tid.cast_signed()).one_cpu(cpu as usize).build() {
                Ok(event) => event,
                // It has ended meanwhile.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => continue,
                Err(error) => return Err(Trouble::Event(error)),
            };
            match &first {
                None => first = Some(event.sampled(bytes).map_err(Trouble::Ring)?),
                Some(first) => {
                    crate::ioctl::share_ring(&event, first.as_counter()).map_err(Trouble::Event)?;
                    others.push(event);
                }
            }
        }
        rings.extend(first);
    }
    if rings.is_empty() {
        return Err(Trouble::Event(Errno::SRCH.into()));
    }
    Opened { rings, others }.begun()
}

fn builder<'a>(hz: u32) -> Builder<'a> {
    let mut builder = Builder::new(Software::CPU_CLOCK);
    builder.exclude_kernel(true).exclude_hv(true);
    builder.sample_frequency(hz.into()).clockid(Clock::MONOTONIC_RAW);
    builder.sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::REGS_USER);
    builder.sample_regs_user(INSTRUCTION_POINTER);
    builder
}

impl Opened {
    fn begun(mut self) -> Result<Self, Trouble> {
        self.rings.iter_mut().try_for_each(|ring| ring.enable()).map_err(Trouble::Event)?;
        self.others.iter_mut().try_for_each(Counter::enable).map_err(Trouble::Event)?;
        Ok(self)
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ACCESS | Errno::PERM))
}

impl Trouble {
    /// What is missing, where so many files were to be opened.
    fn missing(&self, files: usize) -> Missing {
        let error = match self {
            Self::Ring(error) => return Missing::of_ring(error, files),
            Self::Event(error) => error,
        };
        let setting = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
            text.unwrap_or_default().trim().to_owned()
        };
        match Errno::from_io_error(error) {
            Some(Errno::ACCESS | Errno::PERM) => refused(&setting("perf_event_paranoid")),
            Some(Errno::INVAL) => Missing::new(
                format!(
                    "addresses cannot be sampled that often: kernel.perf_event_max_sample_rate is {}",
                    setting("perf_event_max_sample_rate")
                ),
                "ask for fewer a second, or raise it as root by sysctl",
            ),
            Some(Errno::SRCH) => Missing::new("the program had ended", "nothing is to be done"),
            _ => Missing::of_event(error),
        }
    }
}

/// Up to 2 the setting lets a user sample programs of its own, so that something else forbids it.
fn refused(paranoid: &str) -> Missing {
    if paranoid.parse::<i32>().is_ok_and(|level| level <= 2) {
        return Missing::new(
            "addresses of threads may not be sampled: the process is another user's, or perf_event_open is forbidden, as by \
             the seccomp profile of a container",
            "run it as root, or start the container with --security-opt seccomp=unconfined",
        );
    }
    Missing::new(
        format!(
            "addresses of threads may not be sampled: kernel.perf_event_paranoid is {paranoid}"
        ),
        "run it as root, or type, as root: sysctl kernel.perf_event_paranoid=2",
    )
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
        assert_eq!(read(PERF_RECORD_SAMPLE, &sample), Told::Sample(7, expected));
        assert_eq!(read(PERF_RECORD_SAMPLE, &words(&[thread, 50, 0])), Told::Nothing);
        let fork = Told::Fork(Fork { at_ns: 50, parent: 9, child: 7 });
        assert_eq!(read(PERF_RECORD_FORK, &words(&[thread, thread, 50])), fork);
        assert_eq!(read(PERF_RECORD_LOST, &words(&[1, 5])), Told::Lost(5));
        assert_eq!(read(PERF_RECORD_LOST_SAMPLES, &words(&[6])), Told::Lost(6));
    }

    #[test]
    fn children_are_of_the_family_and_its_starter_and_strangers_are_not() {
        let mut family = Family::of(1, true);
        let fork = |parent, child| Fork { at_ns: 0, parent, child };
        [fork(1, 5), fork(5, 6), fork(9, 10)].into_iter().for_each(|fork| family.learn(fork));
        let has = |family: &mut Family| [1, 5, 6, 9, 10].map(|process| family.has(process));
        assert_eq!(has(&mut family), [false, true, true, false, false]);
        // The number is another process' now.
        family.learn(fork(9, 6));
        assert_eq!(has(&mut family), [false, true, false, false, false]);
    }

    #[test]
    fn a_childs_samples_and_forks_are_told_whichever_ring_is_read_first() {
        let fork = |at_ns, parent, child| Told::Fork(Fork { at_ns, parent, child });
        let sample = |at_ns, tid| Told::Sample(tid, Sample { at_ns, tid, address: 8 });
        let mut sampling = Sampling {
            rings: vec![],
            others: vec![],
            clocks: SamplingClocks::Processors,
            family: Family::of(1, true),
            held: vec![sample(25, 6), fork(20, 5, 6), sample(30, 9)],
            lost: 0,
        };
        let mut told = vec![];
        // The fork of 5 was written before this reading began at 15, and is read in the next.
        sampling.hand_out(15, |sample| told.push(sample.tid));
        assert!(told.is_empty());
        sampling.held.push(fork(10, 1, 5));
        sampling.hand_out(40, |sample| told.push(sample.tid));
        assert_eq!(told, [6]);
    }

    #[test]
    fn where_forks_were_lost_ancestors_are_asked_for_and_the_starters_other_children_are_none() {
        let (own, above) = (std::process::id(), std::os::unix::process::parent_id());
        let mut family = Family::of(above, false);
        assert!(!family.has(own), "nothing was lost");
        family.is_unsure = true;
        assert!(family.has(own) && parent(own) == Some(above));
        let mut family = Family { is_unsure: true, ..Family::of(above, true) };
        assert!(!family.has(own) && family.strangers.contains(&own));
        family.learn(Fork { at_ns: 1, parent: above, child: own });
        assert!(family.has(own));
    }

    #[test]
    fn what_forbids_it_decides_what_to_type() {
        assert!(refused("4").to_string().contains("sysctl kernel.perf_event_paranoid=2"));
        assert!(refused("2").to_string().contains("another user's"));
        let no_memory = Trouble::Ring(Errno::PERM.into()).missing(2);
        assert!(no_memory.to_string().contains("perf_event_mlock_kb"), "{no_memory}");
    }
}
