//! A process's recording: from start to stop, across forks, to the exit.

use crate::entry::settings::Settings;
use crate::entry::team::{Around, Placed, Recording, Team};
use crate::look::calibrate::{Calibration, Rig};
use crate::memory::arena::Arena;
use crate::memory::lease::{Recorder, Term};
use crate::system::clock;
use crate::system::complaint::{self, complain};
use crate::system::own_threads;
use crate::system::process::{self, AtWork};
use crate::system::shim;
use crate::system::subject::Subject;
use crate::threads::forked::Kept;
use crate::write::trace_file::{self, Programs};
use rustix::thread::sched_getcpu;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::time::Duration;
use tailwater_profile::record::Ticks;

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);
/// Null, or what a fork's child has in its place: of a fork while another thread began, that stays locked for ever.
static FRESH: AtomicPtr<Mutex<Option<Running>>> = AtomicPtr::new(null_mut());

/// A recording of this process, by threads of its own.
struct Running {
    /// The process that they run in: a forked child has a copy of this, and not of them.
    pid: u32,
    /// Where to, and how: a child that is recorded after it does the same.
    asked: (PathBuf, Settings),
    programs: Programs,
    team: Team,
}

/// The recording of this process.
fn current() -> &'static Mutex<Option<Running>> {
    // SAFETY: null, or of a box that is never freed.
    unsafe { FRESH.load(Acquire).as_ref() }.unwrap_or(&RUNNING)
}

/// The process has begun.
pub(crate) fn load() {
    complaint::remember();
    let _ = process::arena();
    let settings = Settings::read(|name| std::env::var_os(name));
    if let Some(path) = settings.out.clone()
        && let Err(error) = begin(&path, &settings)
    {
        complain(&format!("cannot record to {}: {error}", path.display()));
    }
}

/// Records into a new file at `path` from now on.
pub(crate) fn start(path: &Path) -> io::Result<()> {
    begin(path, &Settings::read(|name| std::env::var_os(name)))
}

/// Ends the recording and completes the file.
pub(crate) fn stop() -> io::Result<()> {
    process::begins_no_more();
    let running = current().lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(running) = running else { return Ok(()) };
    if running.pid != std::process::id() {
        // A parent's: its threads are not here.
        std::mem::forget(running);
        return Ok(());
    }
    process::end();
    let written = running.team.join();
    running.programs.close();
    if let Some(arena) = process::arena() {
        arena.header().watch.lease.give_back(Recorder::Own(running.pid));
    }
    written
}

/// Naps of a process that ends before its trace is written, some more than a second in all: a recorder that takes longer
/// stands still. The thread that ends the process may have been stopped within the allocator, and then the output gets no
/// memory. Naps are counted, and no clock is asked: a process that was stopped meanwhile, or had no core, would give up at
/// once, and its recorder had none either.
const NAPS_MAX: u32 = 2000;
/// Between two looks whether it is written; the output looks every 4 ms.
const NAP: Duration = Duration::from_micros(500);

/// The process ends without `exit`. May come from any thread and in any signal's handler: neither allocates nor
/// takes a lock.
pub(crate) fn cut_short() {
    // A child of `vfork` has its parent's memory.
    let ours = Some(Recorder::Own(std::process::id()));
    if process::made_arena().is_none_or(|arena| arena.header().watch.lease.recorder() != ours) {
        return;
    }
    process::end();
    for _ in 0..NAPS_MAX {
        if process::is_written() {
            return;
        }
        std::thread::sleep(NAP);
    }
}

/// Of the last scanner, which ends after all others then: the output could not write what the program left to its `exit`,
/// having no file but the trace.
fn end_last() {
    let running = current().lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(Err(error)) = running.map(|running| running.team.join_output()) {
        incomplete(&error);
    }
}

/// The process exits.
pub(crate) fn exit() {
    let ours = match current().try_lock() {
        Ok(running) => running.as_ref().is_some_and(|r| r.pid == std::process::id()),
        Err(TryLockError::Poisoned(_)) => true,
        // Another thread is about to start, or this is a child of a fork in the middle of that, of which no handler was told.
        Err(TryLockError::WouldBlock) => return cut_short(),
    };
    if ours && let Err(error) = stop() {
        incomplete(&error);
    }
}

/// The calling thread is about to fork.
pub(crate) fn forks() {
    if let Some(arena) = process::arena() {
        let kept = Box::into_raw(Box::new(Kept::of(&arena)));
        // SAFETY: the calling thread's own variable.
        unsafe { *shim::kept_at() = kept.cast() };
    }
}

/// It has forked, and this is the parent or the child: takes what was copied.
pub(crate) fn has_forked() -> Option<Box<Kept>> {
    // SAFETY: as above.
    let kept = unsafe { std::mem::replace(&mut *shim::kept_at(), std::ptr::null_mut()) };
    // SAFETY: null, or of `forks`, which nobody else has.
    (!kept.is_null()).then(|| unsafe { Box::from_raw(kept.cast()) })
}

/// In a fork's child: gives up what it has of its parent's recording, and says where that went, and how.
pub(crate) fn leave_parents() -> Option<(PathBuf, Settings)> {
    match current().try_lock() {
        Ok(running) => {
            let parents = running.as_ref()?;
            // Or the parent's trace would count as being written for as long as this process lives.
            parents.programs.close();
            Some(parents.asked.clone())
        }
        Err(TryLockError::WouldBlock) => {
            // The thread that has the lock is not here.
            FRESH.store(Box::into_raw(Box::new(Mutex::new(None))), Release);
            None
        }
        Err(TryLockError::Poisoned(_)) => None,
    }
}

/// Fails with [`EALREADY`] where the process is recorded.
pub(crate) fn begin(path: &Path, settings: &Settings) -> io::Result<()> {
    let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
    let mut running = current().lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    if running.as_ref().is_some_and(|running| running.pid == pid) {
        return Err(io::Error::from_raw_os_error(EALREADY));
    }
    let arena = process::arena().ok_or_else(no_memory)?;
    let lease = &arena.header().watch.lease;
    // It may still be that of a recorder that is dead.
    if arena.is_watched(clock::ticks) || lease.take(STARTING, 0).is_err() {
        return Err(io::Error::from_raw_os_error(EALREADY));
    }
    let has_lease = || lease.recorder() == Some(STARTING);
    let term = arena.begin_term(has_lease).ok_or(io::ErrorKind::WouldBlock)?;
    process::begins(settings.scanners);
    // From here on `cut_short` finds it, and what it asks for stays.
    lease.hand_to(Recorder::Own(pid));
    shim::watch_ends();
    let launched = launch((arena, term), path, settings, pid);
    if launched.is_err() {
        lease.give_back(Recorder::Own(pid));
    }
    // A parent's handles are for threads that are not here.
    std::mem::forget(running.replace(launched?));
    Ok(())
}

/// How many ticks so many nanoseconds are, to the tick in a microsecond, as the last recorder measured.
pub(crate) fn ticks_in(ns: u64) -> Ticks {
    let measured = |arena: Arena| arena.header().watch.ticks_per_us.number();
    let ticks = u128::from(ns) * u128::from(process::made_arena().map_or(0, measured)) / 1000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

pub(crate) const EALREADY: i32 = 114;
/// No process has this number.
const STARTING: Recorder = Recorder::Own(0);

fn launch(
    (arena, term): (Arena, Term),
    path: &Path,
    settings: &Settings,
    pid: u32,
) -> io::Result<Running> {
    let us = clock::ticks_per_us();
    arena.header().watch.ticks_per_us.say(term, us as u32);
    let create = || trace_file::create(path, pid);
    let recording = Recording::new((arena, term), (pid, Subject::Own), create, settings, us)?;
    let programs = recording.programs();
    // Before anyone looks: scanners would tell of calls that begin after that and are not clocked.
    settings.ask(&arena.header().watch, term, us);
    process::records(arena, term, settings.lock_ticks(us));
    let team = start_team(recording, settings, us).inspect_err(|_| process::end())?;
    // A child may have gone to another folder by the time it begins: daemons go to the root.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let asked = (absolute, settings.clone());
    Ok(Running { pid, asked, programs, team })
}

/// How long the program waits at most until what writes the trace has a table of descriptors to itself.
/// Long for a thread to begin, and short where it cannot.
const KEPT_WITHIN: Duration = Duration::from_millis(100);

/// What is known of looks here, and by which process that was measured. A child of `fork` goes by it, since the thread that
/// begins there is not the program's; it may find it locked for ever, too.
static CALIBRATION: Mutex<Option<(u32, Calibration)>> = Mutex::new(None);

fn start_team(recording: Recording<'_>, settings: &Settings, us: Ticks) -> io::Result<Team> {
    let busy = sched_getcpu();
    // Of each scanner: which processor it is to have, and whether that is the program's only one.
    let cpus = (0..settings.scanners).map(|scanner| settings.cpu_of(scanner));
    let places: Vec<_> = cpus.map(|cpu| (cpu, own_threads::share_a_core(cpu))).collect();
    let pid = std::process::id();
    let known = CALIBRATION.try_lock().ok().and_then(|calibration| *calibration);
    let known = known.filter(|(measured_by, _)| *measured_by != pid).map(|(_, of)| of);
    let is_measured = settings.looks && !places[0].1 && known.is_none();
    let rig = Arc::new(Rig::default());
    let (rig_too, found) = (rig.clone(), Arc::new(OnceLock::new()));
    let place = move |scanner: usize| {
        process::has_started();
        let (cpu, shares_core) = places[scanner];
        own_threads::place(cpu, busy);
        let calibration = match known {
            Some(calibration) => calibration,
            None if scanner == 0 && is_measured => *found.get_or_init(|| rig_too.measure(us)),
            // The first one is about to tell.
            None if is_measured => *found.wait(),
            None => Calibration::usual(us),
        };
        if let (0, false, Ok(mut known)) = (scanner, shares_core, CALIBRATION.try_lock()) {
            *known = Some((pid, calibration));
        }
        let calibration = if shares_core { Calibration::NONE } else { calibration };
        Placed { calibration, shares_core }
    };
    let programs = recording.programs();
    let (kept, is_kept) = mpsc::channel();
    let writes = move || {
        let at_work = AtWork;
        process::has_started();
        let is_alone = programs.keep_alone();
        let _ = kept.send(is_alone);
        is_alone.then_some(at_work).ok_or_else(trace_file::taken)
    };
    let over = || {
        if process::is_outlived() {
            end_last();
        }
    };
    let team = recording.start(Around { place, writes, over })?;
    // The program may close all that it has as soon as it goes on, and open a file of its own in the trace's place. Not for ever: where
    // a library that is being loaded brought the runtime, the thread waits for the loader's lock, which this one has.
    if is_kept.recv_timeout(KEPT_WITHIN) == Ok(false) {
        // They have been told to end.
        let _ = team.join();
        return Err(trace_file::taken());
    }
    if is_measured {
        // A few milliseconds, from the core that the program runs on.
        rig.look(us);
    }
    Ok(team)
}

fn incomplete(error: &io::Error) {
    complain(&format!("the trace is incomplete: {error}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It waited for ever in its own start, or stop.
    #[test]
    fn a_child_of_a_fork_while_a_recording_began_can_begin_its_own() {
        // The thread that has it is not in the child.
        let taken = current().lock().expect("nobody panicked");
        assert!(leave_parents().is_none(), "what it was to record is not known");
        assert!(current().try_lock().is_ok_and(|running| running.is_none()));
        assert!(stop().is_ok());
        drop(taken);
    }
}
