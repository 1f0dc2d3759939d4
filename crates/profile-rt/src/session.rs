//! A process's recording: from start to stop, across forks, to the exit.

use crate::arena::Arena;
use crate::calibrate::Rig;
use crate::clock;
use crate::forked::Kept;
use crate::output::{self, Output};
use crate::scan::Costs;
use crate::scanner::{BATCHES_MAX, Scanner, Times};
use crate::settings::Settings;
use crate::shim::{self, Stage};
use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity, set_current_timer_slack};
use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::thread::JoinHandle;
use tailwater_profile::trace::{Header, Writer};

static ARENA: OnceLock<Arena> = OnceLock::new();
static MAKING: AtomicBool = AtomicBool::new(false);
static RECORDING: AtomicBool = AtomicBool::new(false);
/// How many of a recording's two threads have started; none once its output is through.
static STARTED: AtomicU32 = AtomicU32::new(0);
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// The two threads of a recording.
struct Running {
    /// The process that they run in: a forked child has a copy of this, and not of them.
    pid: u32,
    stop: Arc<AtomicBool>,
    scanner: JoinHandle<()>,
    output: JoinHandle<io::Result<()>>,
}

/// The arena, which the first to ask makes; `None` while he does, and when there is no room. Never
/// waits: instrumented code may ask, in a signal handler even.
pub(crate) fn arena() -> Option<Arena> {
    if let Some(arena) = ARENA.get() {
        return Some(*arena);
    }
    if MAKING.swap(true, AcqRel) {
        return None;
    }
    let arena = Arena::create()?;
    // Nobody else comes here, so nobody waits.
    let _ = ARENA.set(arena);
    Some(arena)
}

/// Whether marks are worth making.
#[inline]
pub(crate) fn is_recording() -> bool {
    RECORDING.load(Relaxed)
}

/// Whether the threads of a recording are at work: just begun, they may not be, and just stopped, they
/// are until all is written.
pub(crate) fn is_watching() -> bool {
    STARTED.load(Acquire) == 2
}

/// In the output's hands: nobody waits for a thread that has ended, be it by a panic.
struct AtWork;

impl Drop for AtWork {
    fn drop(&mut self) {
        STARTED.store(0, Release);
    }
}

/// The process has begun.
pub(crate) fn load() {
    let _ = arena();
    let settings = Settings::read(|name| std::env::var_os(name));
    if let Some(path) = settings.out.clone()
        && let Err(error) = begin(&path, settings)
    {
        complain(&format!("cannot record to {}: {error}", path.display()));
    }
}

/// Records into a new file at `path` from now on.
pub(crate) fn start(path: &Path) -> io::Result<()> {
    begin(path, Settings::read(|name| std::env::var_os(name)))
}

/// Ends the recording and completes the file.
pub(crate) fn stop() -> io::Result<()> {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(running) = running else { return Ok(()) };
    if running.pid != std::process::id() {
        // A parent's: its threads are not here.
        std::mem::forget(running);
        return Ok(());
    }
    RECORDING.store(false, Relaxed);
    shim::set_lock_threshold(u64::MAX);
    running.stop.store(true, Relaxed);
    let scanned = running.scanner.join();
    let written = running.output.join();
    if let Some(arena) = arena() {
        arena.header().lease.store(0, Release);
    }
    scanned.map_err(|_| io::Error::other("the scanner panicked"))?;
    written.map_err(|_| io::Error::other("the output panicked"))?
}

/// The process exits.
pub(crate) fn exit() {
    // A fork in the middle of start or stop leaves the lock taken for ever.
    let ours = match RUNNING.try_lock() {
        Ok(running) => running.as_ref().is_some_and(|r| r.pid == std::process::id()),
        Err(TryLockError::Poisoned(_)) => true,
        Err(TryLockError::WouldBlock) => false,
    };
    if ours && let Err(error) = stop() {
        complain(&format!("the trace is incomplete: {error}"));
    }
}

/// The calling thread is about to fork.
pub(crate) fn forks() {
    if let Some(arena) = arena() {
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

/// This is a fork's child: its only thread goes on in an arena of its own. It does not record
/// unless it starts to.
pub(crate) fn forked() {
    RECORDING.store(false, Relaxed);
    STARTED.store(0, Relaxed);
    shim::set_lock_threshold(u64::MAX);
    let Some(arena) = arena() else { return };
    // The memory is still the parent's: what is called from here may not touch it.
    shim::set_own(None);
    shim::switch(None);
    let stage = shim::stage();
    shim::set_stage(Stage::Denied);
    let kept = has_forked();
    if !arena.replace() {
        return;
    }
    shim::set_stage(stage);
    if let Some(kept) = kept {
        kept.restore(&arena);
    }
}

fn begin(path: &Path, settings: Settings) -> io::Result<()> {
    let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    if running.as_ref().is_some_and(|running| running.pid == pid) {
        return Err(io::Error::from_raw_os_error(EALREADY));
    }
    let arena = arena().ok_or_else(no_memory)?;
    if arena.header().lease.compare_exchange(0, pid, Acquire, Relaxed).is_err() {
        return Err(io::Error::from_raw_os_error(EALREADY));
    }
    // An earlier recording may have ended on one.
    arena.header().unload.done();
    STARTED.store(0, Relaxed);
    let launched = launch(arena, path, &settings, pid);
    if launched.is_err() {
        arena.header().lease.store(0, Release);
    }
    // A parent's handles are for threads that are not here.
    std::mem::forget(running.replace(launched?));
    Ok(())
}

const EALREADY: i32 = 114;

fn launch(arena: Arena, path: &Path, settings: &Settings, pid: u32) -> io::Result<Running> {
    let file = create(path, pid)?;
    let us = clock::ticks_per_us();
    let header = Header {
        architecture: std::env::consts::ARCH.into(),
        pid,
        program: output::program(),
        build_id: output::build_id(),
        clock: clock::read(),
    };
    let output = Output::new(arena, Writer::new(file, &header)?, settings.filter.clone());
    let (stop, rig) = (Arc::new(AtomicBool::new(false)), Arc::new(Rig::default()));
    let (to, from) = sync_channel(BATCHES_MAX);
    let (empty, emptied) = sync_channel(BATCHES_MAX);
    let (stop_too, rig_too) = (stop.clone(), rig.clone());
    let (budget, began) = (settings.budget, header.clock.ticks);
    let busy = sched_getcpu();
    let shares_core = sched_getaffinity(None).is_ok_and(|allowed| allowed.count() == 1);
    let scan = move || {
        move_off(busy);
        let costs = if shares_core { Costs::NONE } else { rig_too.measure(us) };
        // Or naps would be half as long again. Best effort.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        Scanner::new(arena, Times { us, costs, budget, began, shares_core }, to, emptied)
            .run(&stop_too);
    };
    let write = move || {
        let _at_work = AtWork;
        output.run(&from, &empty)
    };
    let scanner = own_thread("tw-scanner", scan)?;
    let output = own_thread("tw-output", write).inspect_err(|_| stop.store(true, Relaxed))?;
    if !shares_core {
        // A few milliseconds, from the core that the program runs on.
        rig.look(us);
    }
    RECORDING.store(true, Relaxed);
    shim::set_lock_threshold((settings.lock_ns.saturating_mul(us) / 1000).min(u64::MAX - 1));
    Ok(Running { pid, stop, scanner, output })
}

/// Moves the calling thread to another core, if it may use one: the kernel starts threads on the core
/// of their parent and takes a tenth of a second to part two that never sleep, in which the one could
/// not see the other. Later it may move where it likes.
fn move_off(core: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut others = allowed;
    others.unset(core);
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        let _ = sched_setaffinity(None, &allowed);
    }
}

/// A thread that no signal handler runs on, and that is not profiled.
fn own_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let work = || {
        shim::set_stage(Stage::Denied);
        STARTED.fetch_add(1, Release);
        work()
    };
    shim::without_signals(|| std::thread::Builder::new().name(name.into()).spawn(work))
}

/// A new file: what is there already is another process's recording.
fn create(path: &Path, pid: u32) -> io::Result<File> {
    let open = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
    match open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut beside = path.as_os_str().to_owned();
            beside.push(format!(".{pid}"));
            open(beside.as_ref())
        }
        result => result,
    }
}

#[expect(clippy::print_stderr, reason = "there is nobody else to tell")]
fn complain(what: &str) {
    eprintln!("tailwater: {what}");
}
