//! A program that is scanned from another process. `tailwater-recorder` does so, which `tailwater profile attach`
//! starts.
//!
//! The program has no part in it: its threads push frames as ever, and ask in shared memory whether marks and waits
//! are wanted. The recorder has a lease there, and renews it ten times a second. Where it does not, the first thread of
//! the program that finds out takes the lease back, and nothing is recorded any more. There is one such recorder at a
//! time, since each has the shared memory's file locked for as long as it lives.

use crate::entry::settings::Settings;
use crate::entry::team::{Around, Placed, Recording, Team};
use crate::look::calibrate::{Calibration, Rig};
use crate::memory::arena::Arena;
use crate::memory::foreign;
use crate::memory::lease::{Recorder, Term};
use crate::system::clock;
use crate::system::other::Other;
use crate::system::own_threads;
use crate::system::process;
use crate::system::subject::Subject;
use crate::write::trace_file;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::TryLockError;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_profile::record::Ticks;

pub use crate::system::other::Refusal;

/// The program takes a recorder for dead that has not renewed its lease for so long. A recorder that waits for a core
/// is late by less.
const LEASE_US: u64 = 3_000_000;
/// Between two renewals.
const PERIOD: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Between two renewals while the last is written, which takes some milliseconds as a rule.
const LAST_NAP: Duration = Duration::from_millis(2);
/// Renewals between two looks whether the process is the same program still: a list of all its mappings is read.
const PERIODS_PER_LOOK: u32 = 10;

/// How a recording came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It was asked to, or could not write.
    Asked,
    /// The process has ended.
    Gone,
    /// The process has become another program, by `exec`.
    Replaced,
    /// The program has taken its lease back: this process stood still for seconds.
    Late,
}

/// What came of it.
#[derive(Debug)]
pub struct Recorded {
    /// How it ended.
    pub end: End,
    /// The first failure of writing the trace; what was written before that can be read.
    pub written: io::Result<()>,
}

/// Records the process with this number into a new file at `path`, by the variables that
/// `tailwater profile record` sets. Ends when `asked` can be read or is closed, or by itself, as [`End`] says.
/// `begun` is told the process's name when recording has begun.
///
/// # Errors
///
/// Where nothing could be recorded.
pub fn record(
    pid: u32,
    path: &Path,
    asked: BorrowedFd<'_>,
    begun: impl FnOnce(&str),
) -> Result<Recorded, Refusal> {
    let (other, file) = Other::find(pid)?;
    let arena = foreign::open(&file)?;
    if !other.is_owner(arena.header().pid.load(Relaxed)) {
        return Err(Refusal::Foreign);
    }
    // The kernel lets it go when this process ends, however it does.
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(arena.header().watch.lease.recorder().into()),
        Err(TryLockError::Error(error)) => return Err(Refusal::Trouble(error)),
        Ok(()) => {}
    }
    let settings = Settings::read(|name| std::env::var_os(name));
    let us = clock::ticks_per_us();
    // To measure it takes two cores for some milliseconds.
    let calibration = if settings.looks { calibration(us) } else { Calibration::NONE };
    let held = Held::take(arena, us)?;
    let other = Arc::new(other);
    let subject = Subject::Other(other.clone());
    let team = start(&held, (pid, subject.clone()), path, &settings, calibration)?;
    let threshold = settings.lock_ticks(us);
    held.renew(threshold);
    begun(&subject.name_of_process());
    let end = wait(&other, &held, threshold, asked);
    let written = finish(team, &held);
    drop(held);
    Ok(Recorded { end, written })
}

/// What looking costs here, and how late it sees, by two threads of this process.
fn calibration(us: Ticks) -> Calibration {
    let rig = Rig::default();
    std::thread::scope(|scope| {
        scope.spawn(|| rig.look(us));
        rig.measure(us)
    })
}

/// The lease, until this is dropped.
struct Held {
    arena: Arena,
    who: Recorder,
    term: Term,
    us: Ticks,
}

impl Held {
    fn take(arena: Arena, us: Ticks) -> Result<Self, Refusal> {
        let watch = &arena.header().watch;
        let who = Recorder::Other(std::process::id());
        // Another recorder would have the file locked.
        watch.lease.bury();
        watch.lease.take(who, clock::ticks() + us * LEASE_US)?;
        let has_lease = || watch.lease.recorder() == Some(who);
        let term = arena.begin_term(has_lease).ok_or_else(|| watch.lease.recorder())?;
        watch.ticks_per_us.say(term, us as u32);
        Ok(Self { arena, who, term, us })
    }

    /// For another while, in which waits of so many ticks and marks are recorded; zero: neither. False: the lease was
    /// taken back, and what is recorded now is another's to say.
    fn renew(&self, threshold: u32) -> bool {
        let watch = &self.arena.header().watch;
        let held = watch.lease.renew(self.who, clock::ticks() + self.us * LEASE_US);
        if held {
            // It may have been taken back since, and the next recorder have begun.
            watch.recording.say(self.term, threshold);
        }
        held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renew(0);
        self.arena.header().watch.lease.give_back(self.who);
    }
}

/// Until there is a reason to end.
fn wait(other: &Other, held: &Held, threshold: u32, asked: BorrowedFd<'_>) -> End {
    for turn in 1u32.. {
        let end = other.end();
        let mut files = [PollFd::new(&asked, PollFlags::IN), PollFd::new(&end, PollFlags::IN)];
        // By a signal it returns early, and there is nothing to do.
        let _ = poll(&mut files, Some(&PERIOD));
        let is_asked = !files[0].revents().is_empty();
        if turn.is_multiple_of(PERIODS_PER_LOOK) && other.is_replaced() && !other.has_ended() {
            return End::Replaced;
        }
        if other.has_ended() {
            return End::Gone;
        } else if !held.renew(threshold) {
            return End::Late;
        } else if is_asked || process::stop().load(Relaxed) {
            break;
        }
    }
    End::Asked
}

/// Starts the threads that look, and the one that writes a new trace at `path`.
fn start(
    held: &Held,
    (pid, subject): (u32, Subject),
    path: &Path,
    settings: &Settings,
    calibration: Calibration,
) -> Result<Team, Refusal> {
    let Held { arena, term, us, .. } = *held;
    let create = || trace_file::remove_last(path).and_then(|()| trace_file::create(path, pid));
    let recording = Recording::new((arena, term), (pid, subject), create, settings, us)
        .map_err(Refusal::Trace)?;
    process::begins(settings.scanners);
    settings.ask(&arena.header().watch, term, us);
    // Before anyone looks: scanners would tell of calls that begin after that and are not clocked.
    held.renew(settings.lock_ticks(us));
    let cpus: Vec<_> = (0..settings.scanners).map(|scanner| settings.cpu_of(scanner)).collect();
    let place = move |scanner: usize| {
        let shares_core = own_threads::place_beside(pid, cpus[scanner]);
        let calibration = if shares_core { Calibration::NONE } else { calibration };
        Placed { calibration, shares_core }
    };
    Ok(recording.start(Around { place, writes: || Ok(()), over: || () })?)
}

/// Looks a last time, and writes what is left. A disk may stand still for longer than the lease lasts; it is held all the
/// same, so that none begins anew in slots and rings that are read here still.
fn finish(team: Team, held: &Held) -> io::Result<()> {
    // First: calls that begin after the last look would be clocked.
    held.renew(0);
    process::stop().store(true, Relaxed);
    while !team.is_finished() {
        held.renew(0);
        std::thread::sleep(LAST_NAP);
    }
    team.join()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both have this process's number. So the lease takes the first one for its holder, as it did before that one stood still.
    #[test]
    fn a_recorder_that_stood_still_when_it_had_renewed_says_nothing_in_the_next_ones_term() {
        let arena = Arena::create().expect("address space");
        let [first, next] = [(); 2].map(|()| Held::take(arena, 1).expect("the first is buried"));
        assert!(next.renew(2000));
        for threshold in [1000, 0] {
            assert!(first.renew(threshold));
            assert_eq!(arena.header().watch.recording.number(), 2000);
        }
    }
}
