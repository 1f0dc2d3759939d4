//! The system calls of each process, counted in the kernel.

use super::processes::Processes;
use super::sleep_until;
use std::collections::BTreeMap;
use tailwater_core::Instant;
use tailwater_kernel::{FUTEX_WAITS, Missing, Syscalls};
use tailwater_stats::traits::ALL_CALLS;

/// System calls that are told apart: what sockets, locks, polls and sleeps make. Those that a kernel lacks are left out.
const CALLS: [&str; 17] = [
    "clock_nanosleep",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex",
    FUTEX_WAITS,
    "ppoll",
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "sendmsg",
    "sendto",
    "write",
    "writev",
];

/// How many of each, by name; or why that is not known: a clause.
pub(super) type Counts = Result<BTreeMap<String, u64>, String>;

/// Of the counters of one, all and those that are named, in one order or the other.
type How = fn(&mut Syscalls) -> std::io::Result<(u64, Vec<(String, u64)>)>;

/// Counters of the front, and of each tier; none of one that is not there.
pub(super) struct Calls<'a>(Vec<(&'a Processes, Option<Syscalls>)>);

impl<'a> Calls<'a> {
    pub(super) fn open(all: &'a [Processes]) -> Result<Self, Missing> {
        let open = |processes: &'a Processes| {
            let is_there = processes.absence().is_none();
            let opened = is_there.then(|| Syscalls::of_threads(&processes.threads(), &CALLS));
            Ok((processes, opened.transpose()?))
        };
        all.iter().map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Why waits of `futex` are not told apart, where a kernel refuses that.
    pub(super) fn refused(&self) -> Option<&Missing> {
        self.0.iter().find_map(|(_, syscalls)| syscalls.as_ref()?.refused())
    }

    /// How many each makes from now until then.
    pub(super) fn count_until(mut self, to: Instant) -> Vec<Counts> {
        let before = self.read(Syscalls::read_first);
        sleep_until(to);
        let after = self.read(Syscalls::read);
        let since = |((processes, _), (before, after)): (&(&Processes, _), _)| {
            since(processes.absence(), before, after)
        };
        self.0.iter().zip(before.into_iter().zip(after)).map(since).collect()
    }

    fn read(&mut self, how: How) -> Vec<Counts> {
        let read = |(processes, syscalls): &mut (&Processes, Option<Syscalls>)| {
            let absent = || processes.absence().unwrap_or("it was absent").to_owned();
            let (all, named) = how(syscalls.as_mut().ok_or_else(absent)?).map_err(unread)?;
            Ok(named.into_iter().chain([(ALL_CALLS.to_owned(), all)]).collect())
        };
        self.0.iter_mut().map(read).collect()
    }
}

fn unread(error: std::io::Error) -> String {
    format!("they could not be read ({error})")
}

/// What was counted between two readings. A process that is gone has made too few to be told.
fn since(absence: Option<&str>, before: Counts, after: Counts) -> Counts {
    if let Some(why) = absence {
        return Err(why.to_owned());
    }
    let (before, mut counts) = (before?, after?);
    for (name, count) in &mut counts {
        *count = count.saturating_sub(before.get(name).copied().unwrap_or(0));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::super::processes::tests::of;
    use super::*;

    fn counted(futex: u64) -> Counts {
        Ok([("futex".to_owned(), futex)].into())
    }

    /// Both were zero calls, without a word.
    #[test]
    fn what_is_gone_or_could_not_be_read_is_told_and_no_zero() {
        assert_eq!(since(None, counted(5), counted(12)), counted(7));
        let gone = "a process of it has ended";
        assert_eq!(since(Some(gone), counted(5), counted(5)), Err(gone.to_owned()));
        let error = || unread(std::io::Error::other("the counter is closed"));
        assert_eq!(since(None, counted(5), Err(error())), Err(error()));
        assert_eq!(since(None, Err(error()), counted(5)), Err(error()));
    }

    #[test]
    fn nothing_is_opened_for_processes_that_are_not_there() {
        let all = [of("", &[]), of("leaf", &[u32::MAX])];
        let calls = Calls::open(&all).expect("nothing is asked of the kernel");
        let found = calls.count_until(Instant::ZERO);
        assert!(found.iter().all(Result::is_err), "{found:?}");
    }
}
