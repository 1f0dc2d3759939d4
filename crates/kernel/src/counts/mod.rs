//! System calls, switches and faults of one process, counted: what "system calls per query" is made of.
//!
//! Counting costs next to nothing, since no event leaves the kernel. System calls are counted by tracepoints; all else
//! comes from `/proc`, which needs no right.

mod files;

use crate::probe::{self, Missing};
use crate::tracefs::Tracefs;
use files::Files;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Counter};
use std::collections::BTreeMap;
use std::io;

/// Threads of a process that are counted; each takes a descriptor for each counter.
const THREADS_MAX: usize = 1024;

/// What a process did between two readings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// System calls; `None` where they cannot be counted here.
    pub syscalls: Option<u64>,
    /// Of these the ones that were asked for, by name.
    pub by_name: BTreeMap<String, u64>,
    /// Switches that threads asked for, by waiting.
    pub voluntary_switches: u64,
    /// Switches that were forced on them.
    pub involuntary_switches: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Time on cores, in nanoseconds.
    pub cpu_ns: u64,
    /// Time in which threads could run and had no core, in nanoseconds.
    pub run_delay_ns: u64,
}

/// Counts what a process does from when it is made. Threads that begin later are counted with those that made them; of
/// threads that end, what `/proc` tells is lost between the last reading and their end.
pub struct Counting {
    pid: u32,
    syscalls: Result<Syscalls, Missing>,
    before: Files,
}

struct Syscalls {
    all: Vec<Counter>,
    by_name: Vec<(String, Vec<Counter>)>,
}

impl Counting {
    /// Begins; `names` are the system calls to be counted apart, such as `futex`.
    ///
    /// # Errors
    ///
    /// Where there is no such process.
    pub fn begin(pid: u32, names: &[&str]) -> io::Result<Self> {
        let before = Files::read(pid)?;
        let syscalls =
            probe::tracefs().and_then(|tracefs| Syscalls::open(&tracefs, &before.threads(), names));
        Ok(Self { pid, syscalls, before })
    }

    /// Why system calls are not counted, and what to type.
    #[must_use]
    pub fn lacks(&self) -> Option<&Missing> {
        self.syscalls.as_ref().err()
    }

    /// What the process did since the beginning.
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub fn read(&mut self) -> io::Result<Counts> {
        let mut counts = Files::read(self.pid)?.since(&self.before);
        if let Ok(syscalls) = &mut self.syscalls {
            counts.syscalls = Some(sum(&mut syscalls.all)?);
            for (name, counters) in &mut syscalls.by_name {
                counts.by_name.insert(name.clone(), sum(counters)?);
            }
        }
        Ok(counts)
    }
}

impl Syscalls {
    fn open(tracefs: &Tracefs, threads: &[u32], names: &[&str]) -> Result<Self, Missing> {
        let all = counters(tracefs, "raw_syscalls/sys_enter", threads)?;
        let by_name = names.iter().map(|name| {
            let point = format!("syscalls/sys_enter_{name}");
            Ok(((*name).to_owned(), counters(tracefs, &point, threads)?))
        });
        Ok(Self { all, by_name: by_name.collect::<Result<_, Missing>>()? })
    }
}

/// One for each thread, with all that it will make.
fn counters(tracefs: &Tracefs, point: &str, threads: &[u32]) -> Result<Vec<Counter>, Missing> {
    let format = tracefs.format(point).map_err(|error| {
        Missing::new(
            error,
            "name a system call that this kernel has, as `ls syscalls` shows them there",
        )
    })?;
    let open = |tid: &u32| {
        let mut builder = Builder::new(Tracepoint::with_id(u64::from(format.id)));
        builder.observe_pid(*tid as i32).any_cpu().inherit(true).enabled(true);
        builder.exclude_kernel(false).exclude_hv(false).build()
    };
    let opened: io::Result<Vec<Counter>> = threads.iter().take(THREADS_MAX).map(open).collect();
    opened.map_err(|error| {
        Missing::new(
            format!("{} threads could not be counted: {error}", threads.len()),
            "let more files be open: ulimit -n 65536",
        )
    })
}

fn sum(counters: &mut [Counter]) -> io::Result<u64> {
    counters.iter_mut().map(Counter::read).sum()
}
