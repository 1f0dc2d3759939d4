//! System calls of a program, counted: no event leaves the kernel, so that costs next to nothing.

use crate::probe::{self, Missing};
use crate::tracefs::Tracefs;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Counter};
use std::io;

/// Counts the system calls of the next program that a thread starts.
pub struct Syscalls {
    all: Counter,
    named: Vec<(String, Counter)>,
}

impl Syscalls {
    /// To be called by the thread that starts the program, before. Counted is from when that begins (`execve`) to its end,
    /// with all threads and processes that it makes: each inherits the counter from the one that makes it, so none is missed
    /// and none needs a descriptor. `names` are system calls to be counted apart, such as `futex`.
    ///
    /// # Errors
    ///
    /// What is missing, and what to type.
    pub fn of_next_program(names: &[&str]) -> Result<Self, Missing> {
        let tracefs = probe::tracefs()?;
        let all = counter(&tracefs, "raw_syscalls/sys_enter")?;
        let named = names.iter().map(|name| {
            Ok(((*name).to_owned(), counter(&tracefs, &format!("syscalls/sys_enter_{name}"))?))
        });
        Ok(Self { all, named: named.collect::<Result<_, Missing>>()? })
    }

    /// How many there were so far, of all and of those that were named.
    ///
    /// # Errors
    ///
    /// Where the kernel does not say.
    pub fn read(&mut self) -> io::Result<(u64, Vec<(String, u64)>)> {
        let named = self.named.iter_mut();
        let named = named.map(|(name, counter)| Ok((name.clone(), counter.read()?)));
        Ok((self.all.read()?, named.collect::<io::Result<_>>()?))
    }
}

fn counter(tracefs: &Tracefs, point: &str) -> Result<Counter, Missing> {
    let format = tracefs.format(point).map_err(|error| {
        Missing::new(
            error,
            "name a system call that this kernel has, as `ls syscalls` shows them there",
        )
    })?;
    let mut builder = Builder::new(Tracepoint::with_id(u64::from(format.id)));
    builder.observe_self().any_cpu().inherit(true).enabled(false).enable_on_exec(true);
    builder.exclude_kernel(false).exclude_hv(false);
    builder.build().map_err(|error| Missing::of_event(&error))
}
