//! A trace as `measure` needs it: stacks with times on a core, where the kernel's file tells these, and marks of sizes.

use crate::failure::Failure;
use crate::profile::{Companion, Trace};
use std::collections::BTreeSet;
use std::path::Path;
use tailwater_profile::breakdown::Sizes;
use tailwater_profile::clock::{Clocks, TickRate};
use tailwater_profile::kernel::{Account, Accounts, Running, RunningTimes, Stretch};
use tailwater_profile::record::Record;
use tailwater_profile::stacks::{Choice, Report, Stacks};
use tailwater_profile::trace::{Ending, Header};

/// The kernel's number of what it knows nothing of.
const FIBER: u32 = 0;
/// Threads whose time on a core is asked for: as many as have names in the second reading.
const TIDS_MAX: usize = 1 << 20;

/// What a trace tells.
pub(super) struct Recording {
    pub(super) program: String,
    pub(super) length_ns: u64,
    pub(super) on_core: bool,
    pub(super) has_fibers: bool,
    pub(super) rate: TickRate,
    pub(super) total_ns: u64,
    pub(super) lost_kernel: u64,
    /// Where the time of these threads went, by the kernel.
    pub(super) account: Option<Account>,
    pub(super) stacks: Report,
    pub(super) sizes: Sizes,
}

/// What the first reading finds: what the second needs to know beforehand.
struct Beforehand {
    clocks: Clocks,
    /// Numbers of the kernel; those beyond the bound are told by the second reading, which forgets as many names.
    tids: BTreeSet<u32>,
    /// The last end of a call.
    until: u64,
}

impl Recording {
    /// Reads it twice.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let beforehand = Beforehand::read(path)?;
        let trace = Trace::open(path)?;
        let header = trace.header().clone();
        let has_fibers = beforehand.tids.contains(&FIBER);
        // Calls of fibers would have no time beside those of threads.
        let running = if has_fibers { None } else { running(path, &header) };
        let rate = beforehand.clocks.rate();
        let until_ns = beforehand.clocks.raw_ns(beforehand.until);
        let on_core = running.as_ref().map(|running| {
            let until = |tid: u32, raw_ns: u64| running.until(tid, raw_ns);
            let of =
                |&tid: &u32| until(tid, until_ns).saturating_sub(until(tid, header.clock.raw_ns));
            beforehand.tids.iter().map(of).fold(0, u64::saturating_add)
        });
        if on_core == Some(0) {
            return Err(Failure::usage(format!(
                "the kernel's file beside {} knows no thread of it; record both anew by `tailwater profile record --kernel`",
                path.display()
            )));
        }
        let account = running.as_ref().and_then(|_| {
            let of = |&tid: &u32| Stretch { tid, from_ns: header.clock.raw_ns, to_ns: until_ns };
            account(path, &header, beforehand.tids.iter().map(of).collect())
        });
        let lost_kernel = running.as_ref().map_or(0, |running| running.lost);
        let mut stacks = Stacks::new(&header, Choice::All);
        if let Some(running) = running {
            stacks = stacks.while_running(running, beforehand.clocks);
        }
        let mut sizes = Sizes::default();
        let ending = trace.read(|item| match item {
            Ok(record) => {
                sizes.add(record);
                stacks.add(record);
            }
            Err(error) => stacks.damaged(error),
        });
        let stacks = stacks.finish(&ending);
        Ok(Self {
            program: header.program,
            length_ns: until_ns.saturating_sub(header.clock.raw_ns),
            on_core: on_core.is_some(),
            has_fibers,
            rate,
            total_ns: on_core.unwrap_or(stacks.total_ns),
            lost_kernel,
            account,
            stacks,
            sizes,
        })
    }
}

impl Beforehand {
    fn read(path: &Path) -> Result<Self, Failure> {
        let trace = Trace::open(path)?;
        let clock = trace.header().clock;
        let mut found =
            Self { clocks: Clocks::new(clock), tids: BTreeSet::new(), until: clock.ticks };
        trace.read(|item| match item {
            Ok(Record::Clock(clock)) => found.clocks.add(clock),
            Ok(Record::Thread(thread)) if found.tids.len() < TIDS_MAX => {
                found.tids.insert(thread.tid);
            }
            Ok(Record::Call(call)) => found.until = found.until.max(call.end),
            // The second reading tells of damage.
            Ok(_) | Err(_) => {}
        });
        Ok(found)
    }
}

/// The threads' times on a core, where the recording has them.
fn running(path: &Path, header: &Header) -> Option<Running> {
    let kernel = Companion::Kernel.open(path, header)?;
    let mut times = RunningTimes::default();
    let ending = kernel.read(|item| match item {
        Ok(record) => times.add(record),
        Err(_) => times.damaged(),
    });
    if !matches!(ending, Ending::Finished(_)) {
        // Its last moments are missing.
        times.damaged();
    }
    Some(times.finish())
}

/// The same file once more, for what interrupted.
fn account(path: &Path, header: &Header, stretches: Vec<Stretch>) -> Option<Account> {
    let kernel = Companion::Kernel.open(path, header)?;
    let mut accounts = Accounts::new(vec![stretches]);
    kernel.read(|item| match item {
        Ok(record) => accounts.add(record),
        Err(_) => accounts.damaged(),
    });
    accounts.finish().into_iter().next()
}
