//! System calls, counted: no event leaves the kernel, so that costs next to nothing.

use crate::numbers;
use crate::open_files::under_hard_limit;
use crate::probe::{self, Missing};
use crate::processors;
use crate::tracefs::Tracefs;
use crate::{ioctl, ring};
use perf_event::events::Tracepoint;
use perf_event::{Builder, Counter};
use std::io;

/// The calls of `futex` that wait, by this name beside those of system calls: `FUTEX_WAIT` and `FUTEX_WAIT_BITSET` (`futex(2)`).
pub const FUTEX_WAITS: &str = "futex waits";

/// Their operations: shared and private ones, by the monotonic clock and the real one.
const WAITS: [u32; 8] = [0, 9, 128, 137, 256, 265, 384, 393];
/// Every system call.
const ALL: &str = "raw_syscalls/sys_enter";
/// Threads that one counter's filter names; of more, further counters are made. A filter has a page at most.
const FILTERED: usize = 100;

/// How many of all, and how many of each that was named.
type Counted = (u64, Vec<(String, u64)>);

/// Counts the system calls of a program.
pub struct Syscalls {
    all: Sum,
    named: Vec<(String, Sum)>,
    refused: Option<Missing>,
}

/// Counters of the same system call.
struct Sum(Vec<Counter>);

impl Syscalls {
    /// Those of the next program that the calling thread starts; to be called before. Counted is from when that begins
    /// (`execve`) to its end, with all threads and processes that it makes: each inherits the counter from the one that
    /// makes it, so none is missed and none needs a descriptor. `names` are system calls to be counted apart, such as
    /// `futex`, or [`FUTEX_WAITS`].
    ///
    /// # Errors
    ///
    /// What is missing, and what to type.
    pub fn of_next_program(names: &[&str]) -> Result<Self, Missing> {
        Self::open(&probe::tracefs()?, names, |id, only| {
            let mut builder = Builder::new(Tracepoint::with_id(u64::from(id)));
            builder.observe_self().any_cpu().inherit(true).enabled(false).enable_on_exec(true);
            builder.exclude_kernel(false).exclude_hv(false);
            let counter = builder.build()?;
            if !only.is_empty() {
                ioctl::only_where(&counter, only)?;
            }
            Ok(vec![counter])
        })
    }

    /// Those of threads that run already, from now on; of threads that these make none. Processors that come online later
    /// count nothing. A counter of a processor costs nothing when threads are switched, as one of a thread would.
    /// Names that this kernel has no system call for are left out. So is [`FUTEX_WAITS`] where the kernel refuses its filter:
    /// see [`Self::refused`].
    ///
    /// # Errors
    ///
    /// What is missing, and what to type: a thread, where none is named, as none of its calls would look like silence. In a PID
    /// namespace of its own a process does not know what a filter asks for: the host's numbers of threads.
    pub fn of_threads(tids: &[u32], names: &[&str]) -> Result<Self, Missing> {
        if tids.is_empty() {
            return Err(Missing::new(
                "no thread is there whose system calls could be counted",
                "start it before, and let it run to the end",
            ));
        }
        if numbers::are_own() {
            return Err(Missing::new(
                "this process has a PID namespace of its own, and system calls of a program that runs already are told by the \
                 host's numbers of threads",
                "start the program with it, run it on the host, or give the container the host's: --pid=host",
            ));
        }
        let (tracefs, cpus) = (probe::tracefs()?, processors::online());
        let known: Vec<&str> =
            names.iter().copied().filter(|name| tracefs.has(&point_of(name).0)).collect();
        let filters: Vec<String> = tids.chunks(FILTERED).map(filter).collect();
        under_hard_limit(|| {
            Self::open(&tracefs, &known, |id, only| {
                let pairs = cpus.iter().flat_map(|cpu| filters.iter().map(move |of| (*cpu, of)));
                pairs.map(|(cpu, of)| filtered(cpu, id, &both(of, only))).collect()
            })
        })
    }

    /// `counters` gets a tracepoint's number, and which of its events count.
    fn open(
        tracefs: &Tracefs,
        names: &[&str],
        counters: impl Fn(u16, &str) -> io::Result<Vec<Counter>>,
    ) -> Result<Self, Missing> {
        let sum = |point: &str, only: &str| -> Result<Sum, Missing> {
            let opened = counters(number(tracefs, point)?, only);
            opened.map(Sum).map_err(|error| Missing::of_event(&error))
        };
        let (all, mut named, mut refused) = (sum(ALL, "")?, Vec::new(), None);
        for name in names {
            let (point, only) = point_of(name);
            match sum(&point, &only) {
                Ok(sum) => named.push(((*name).to_owned(), sum)),
                // The filter may be what the kernel refuses: that leaves the other counts as they are.
                Err(missing) if !only.is_empty() => refused = Some(missing),
                Err(missing) => return Err(missing),
            }
        }
        Ok(Self { all, named, refused })
    }

    /// Why [`FUTEX_WAITS`] are not counted, though they were named; `None` where they are.
    #[must_use]
    pub const fn refused(&self) -> Option<&Missing> {
        self.refused.as_ref()
    }

    /// How many there were so far, of all and of those that were named. All are read last: those that are made meanwhile are
    /// among them.
    ///
    /// # Errors
    ///
    /// Where the kernel does not say.
    pub fn read(&mut self) -> io::Result<Counted> {
        let named = self.read_named()?;
        Ok((self.all.read()?, named))
    }

    /// The same at the beginning of a time that [`Self::read`] ends. All are read first: so between both there are never more
    /// of those that were named than of all.
    ///
    /// # Errors
    ///
    /// Where the kernel does not say.
    pub fn read_first(&mut self) -> io::Result<Counted> {
        let all = self.all.read()?;
        Ok((all, self.read_named()?))
    }

    fn read_named(&mut self) -> io::Result<Vec<(String, u64)>> {
        let named = self.named.iter_mut();
        named.map(|(name, sum)| Ok((name.clone(), sum.read()?))).collect()
    }
}

impl Sum {
    fn read(&mut self) -> io::Result<u64> {
        self.0.iter_mut().map(Counter::read).sum()
    }
}

/// The tracepoint of a name, and which of its events count: a filter, or nothing for all.
fn point_of(name: &str) -> (String, String) {
    let (call, only) = match name {
        FUTEX_WAITS => ("futex", WAITS.map(|operation| format!("op=={operation}")).join("||")),
        call => (call, String::new()),
    };
    (format!("syscalls/sys_enter_{call}"), only)
}

/// What the kernel calls a tracepoint.
fn number(tracefs: &Tracefs, point: &str) -> Result<u16, Missing> {
    let format = tracefs.format(point).map_err(|error| {
        Missing::new(
            error,
            "name a system call that this kernel has, as `ls syscalls` shows them there",
        )
    })?;
    Ok(format.id)
}

/// Counts a tracepoint on a processor while one of the threads of the filter has it.
fn filtered(cpu: u32, id: u16, filter: &str) -> io::Result<Counter> {
    let mut counter = ring::point_on(cpu, id).enabled(false).build()?;
    ioctl::only_where(&counter, filter)?;
    counter.enable()?;
    Ok(counter)
}

/// As `Documentation/trace/events.rst` of the kernel has it, section 5.1.
fn filter(tids: &[u32]) -> String {
    let each: Vec<String> = tids.iter().map(|tid| format!("common_pid=={tid}")).collect();
    each.join("||")
}

/// What passes one filter, and the other where it is there.
fn both(of: &str, only: &str) -> String {
    if only.is_empty() { of.to_owned() } else { format!("({of})&&({only})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing was opened, and the sum was zero.
    #[test]
    fn calls_of_no_thread_are_no_count() {
        let missing = Syscalls::of_threads(&[], &[]).err().map(|missing| missing.to_string());
        assert!(missing.is_some_and(|why| why.starts_with("no thread is there")));
    }

    /// All counts were missing.
    #[test]
    fn a_filter_that_the_kernel_refuses_leaves_the_other_counts() {
        let Ok(tracefs) = probe::tracefs() else { return };
        if [ALL, &point_of("futex").0].iter().any(|point| number(&tracefs, point).is_err()) {
            return;
        }
        let refusing = |_: u16, only: &str| match only {
            "" => Ok(Vec::new()),
            _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        };
        let syscalls = Syscalls::open(&tracefs, &[FUTEX_WAITS, "futex"], refusing);
        let syscalls = syscalls.expect("the others are counted");
        let names: Vec<&str> = syscalls.named.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["futex"]);
        assert!(syscalls.refused().is_some());
        let refusing_all = |_: u16, _: &str| Err(io::Error::from(io::ErrorKind::InvalidInput));
        assert!(Syscalls::open(&tracefs, &["futex"], refusing_all).is_err());
    }

    #[test]
    fn a_filter_names_each_thread_and_fits_a_page() {
        assert_eq!(filter(&[7, 12]), "common_pid==7||common_pid==12");
        assert_eq!(both("a", ""), "a");
        let (point, only) = point_of(FUTEX_WAITS);
        assert_eq!(point, point_of("futex").0);
        assert!(both(&filter(&[7]), &only).starts_with("(common_pid==7)&&(op==0||op==9||op==128"));
        assert!(both(&filter(&[4_194_304; FILTERED]), &only).len() < 4_096);
    }
}
