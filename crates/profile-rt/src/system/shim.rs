//! What the C part does for the Rust part.

use crate::memory::abi::Context;
use crate::memory::said::Said;
use std::ffi::{c_char, c_void};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;
use tailwater_profile::record::Module;

/// May this thread be registered?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Stage {
    /// Yes, when it first calls an instrumented function.
    Fresh = 0,
    /// It is being registered: what it calls meanwhile is not recorded.
    Busy = 1,
    /// Never (again): it is one of the runtime's own, has ended, or found no room.
    Denied = 2,
}

/// A C `struct module`.
#[repr(C)]
struct Found {
    start: u64,
    end: u64,
    bias: u64,
    path: *const c_char,
    build_id: *const u8,
    build_id_length: u64,
}

/// At least as large as any `sigset_t`.
#[repr(C, align(16))]
struct SignalSet([u64; 16]);

unsafe extern "C" {
    safe fn tw_shim_context() -> *const Context;
    safe fn tw_shim_pad() -> u64;
    safe fn tw_shim_stage() -> u32;
    safe fn tw_shim_set_stage(stage: u32);
    fn tw_shim_set_own(context: *const Context);
    safe fn tw_shim_settled() -> *const Context;
    safe fn tw_shim_kept_at() -> *mut *mut c_void;
    safe fn tw_shim_main_stack() -> u64;
    fn tw_shim_ask_for_mapping(maps: i32, address: u64, bounds: *mut u64) -> i32;
    safe fn tw_shim_watch_ends();
    safe fn tw_shim_hide(begins: u32);
    safe fn tw_shim_keep_open(number: i32);
    fn tw_shim_switch(fiber: *const Context);
    safe fn tw_shim_own() -> *const Context;
    safe fn tw_shim_on_signal_stack() -> u32;
    safe fn tw_shim_thread_pointer() -> u64;
    safe fn tw_shim_word_at(address: u64) -> u64;
    safe fn tw_shim_spare() -> *const Context;
    safe fn tw_shim_take_turns_of(ns: u64);
    safe fn tw_shim_pending_at() -> *mut u32;
    fn tw_shim_ask_at(recording: *const Said, holds: *const Said);
    fn tw_shim_block_signals(before: *mut SignalSet);
    fn tw_shim_restore_signals(before: *const SignalSet);
    fn tw_shim_usage(counts: *mut u64) -> i32;
    safe fn tw_shim_cpu_ns() -> u64;
    safe fn tw_shim_counters() -> *mut c_void;
    safe fn tw_shim_open_counter(kind: u32, event: u64) -> *mut c_void;
    fn tw_shim_close_counter(page: *mut c_void);
    fn tw_shim_modules(each: extern "C" fn(*mut c_void, *const Found), to: *mut c_void);
    fn __errno_location() -> *mut i32;
}

/// The calling thread's context; nobody's when it is not registered.
pub(crate) fn context() -> *const Context {
    tw_shim_context()
}

/// The same, but the thread's own where what was left last runs elsewhere by now.
pub(crate) fn settled() -> *const Context {
    tw_shim_settled()
}

/// Makes `context` the calling thread's own, whatever it pushes on; `None`: it has none.
pub(crate) fn set_own(context: Option<&'static Context>) {
    // SAFETY: contexts live for ever.
    unsafe { tw_shim_set_own(context.map_or(std::ptr::null(), |context| context)) }
}

/// Where the calling thread leaves what a fork's child is to find.
pub(crate) fn kept_at() -> *mut *mut c_void {
    tw_shim_kept_at()
}

/// An address in the main thread's stack.
pub(crate) fn main_stack() -> u64 {
    tw_shim_main_stack()
}

/// What is mapped at `address`, by a question to the file of all mappings; `None`: nothing, or it cannot be asked.
pub(crate) fn ask_for_mapping(maps: i32, address: u64) -> Option<Range<u64>> {
    let mut bounds = [0; 2];
    // SAFETY: it writes two words, and there is room for them.
    let failed = unsafe { tw_shim_ask_for_mapping(maps, address, bounds.as_mut_ptr()) };
    (failed == 0).then_some(bounds[0]..bounds[1])
}

/// What the calling thread calls from now on is pushed on `fiber`; `None`: on its own, or nobody's if it has none.
pub(crate) fn switch(fiber: Option<&'static Context>) {
    // SAFETY: contexts live for ever.
    unsafe { tw_shim_switch(fiber.map_or(std::ptr::null(), |fiber| fiber)) }
}

/// The calling thread's own context, whatever fiber it runs; null while it has none.
pub(crate) fn own() -> *const Context {
    tw_shim_own()
}

/// Whether the calling thread is in a signal's handler that has a stack of its own.
pub(crate) fn is_on_signal_stack() -> bool {
    tw_shim_on_signal_stack() != 0
}

/// The word at an address that need not be mapped any more; `None`: it cannot be read.
pub(crate) fn word_at(address: u64) -> Option<u64> {
    Some(tw_shim_word_at(address)).filter(|word| *word != u64::MAX)
}

/// Where the C library keeps what it knows of the calling thread.
pub(crate) fn thread_pointer() -> u64 {
    tw_shim_thread_pointer()
}

/// The context of all fibers for which there was no room.
pub(crate) fn spare() -> &'static Context {
    // SAFETY: a static of the C part, made of words that may be read and written at any time.
    unsafe { &*tw_shim_spare() }
}

/// Where unregistered threads push.
pub(crate) fn pad() -> u64 {
    tw_shim_pad()
}

pub(crate) fn stage() -> Stage {
    match tw_shim_stage() {
        0 => Stage::Fresh,
        1 => Stage::Busy,
        _ => Stage::Denied,
    }
}

pub(crate) fn set_stage(stage: Stage) {
    tw_shim_set_stage(stage as u32);
}

/// Says how many waits the calling thread must report when it lets go.
pub(crate) fn set_pending(count: u32) {
    // SAFETY: the calling thread's own variable, which only it reads.
    unsafe { *tw_shim_pending_at() = count }
}

/// How many those are.
pub(crate) fn pending() -> u32 {
    // SAFETY: as above.
    unsafe { *tw_shim_pending_at() }
}

/// Where each lock asks how long a wait must be to leave an event, in ticks, zero: nothing is recorded; and a hold, zero: none.
pub(crate) fn ask_at(recording: &'static Said, holds: &'static Said) {
    // SAFETY: they live for ever.
    unsafe { tw_shim_ask_at(recording, holds) };
}

/// What the calling thread has done: page faults without a disk and with one, leaving its core by itself, and having it
/// taken away. `None`: it may not ask.
pub(crate) fn usage() -> Option<[u64; 4]> {
    let mut counts = [0; 4];
    // SAFETY: it writes four words, and there is room for them.
    let failed = unsafe { tw_shim_usage(counts.as_mut_ptr()) };
    (failed == 0).then_some(counts)
}

/// For how long the calling thread has been on a core, in nanoseconds. `None`: it may not ask.
pub(crate) fn cpu_ns() -> Option<u64> {
    Some(tw_shim_cpu_ns()).filter(|ns| *ns != u64::MAX)
}

/// Where the calling thread keeps what it has open of the processor's counters: zeroed memory, as `processor` knows it.
pub(crate) fn open_counters() -> *mut c_void {
    tw_shim_counters()
}

/// Has an event, by the kernel's numbers, counted for the calling thread; its page, if it can be had.
pub(crate) fn open_counter(kind: u32, event: u64) -> Option<NonNull<c_void>> {
    NonNull::new(tw_shim_open_counter(kind, event))
}

/// Ends that.
pub(crate) fn close_counter(page: NonNull<c_void>) {
    // SAFETY: it was mapped by the function above, and is not used any more.
    unsafe { tw_shim_close_counter(page.as_ptr()) };
}

/// From now on the process's ends by `_exit`, `quick_exit` and deadly signals end the recording first.
pub(crate) fn watch_ends() {
    tw_shim_watch_ends();
}

/// Has the calling thread keep one descriptor open, in a table of its own. Where the kernel has no such, all stays as it is.
pub(crate) fn keep_open(number: i32) {
    tw_shim_keep_open(number);
}

/// Runs `work` in the calling thread without a sanitizer that looks for races in what it allocates.
pub(crate) fn hidden<R>(work: impl FnOnce() -> R) -> R {
    struct Hidden;
    impl Drop for Hidden {
        fn drop(&mut self) {
            tw_shim_hide(0);
        }
    }
    tw_shim_hide(1);
    let _hidden = Hidden;
    work()
}

/// The calling thread's turns on a core, in nanoseconds, where the kernel has such.
pub(crate) fn take_turns_of(ns: u64) {
    tw_shim_take_turns_of(ns);
}

/// Runs `work` with every signal blocked: threads that it starts inherit that.
pub(crate) fn without_signals<R>(work: impl FnOnce() -> R) -> R {
    let mut before = SignalSet([0; 16]);
    // SAFETY: it writes one sigset_t, and there is room for it.
    unsafe { tw_shim_block_signals(&raw mut before) };
    let result = work();
    // SAFETY: what the call above wrote.
    unsafe { tw_shim_restore_signals(&raw const before) };
    result
}

/// Runs `work` and leaves the C library's `errno` as it was: it runs inside of the program's code.
pub(crate) fn keeping_errno<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: the calling thread's errno, for its life.
    let errno = unsafe { __errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = work();
    // SAFETY: as above.
    unsafe { *errno = before };
    result
}

/// Taken for each walk of the modules, in which the dynamic linker has a lock that a fork would leave taken in the child.
static WALKING: Mutex<()> = Mutex::new(());

/// No thread of ours walks the modules while this is held. `None`: one did for all of a tenth of a second, as where the
/// calling thread itself has the dynamic linker's lock.
pub(crate) fn stop_walks() -> Option<MutexGuard<'static, ()>> {
    (0..1000).find_map(|_| match WALKING.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(Duration::from_micros(100));
            None
        }
    })
}

/// The program and its libraries as they are mapped now.
pub(crate) fn modules() -> Vec<Module> {
    // Not for ever: in a child of a fork that did not get it, what has it is another thread, which is not there.
    let _walking = stop_walks();
    extern "C" fn each(to: *mut c_void, found: *const Found) {
        // SAFETY: both point at what lives during the walk, and the walk is the only user.
        let (to, found) = unsafe { (&mut *to.cast::<Vec<Module>>(), &*found) };
        // SAFETY: the loader's own text, null-terminated.
        let path = unsafe { std::ffi::CStr::from_ptr(found.path) }.to_string_lossy().into_owned();
        let build_id = if found.build_id.is_null() {
            Vec::new()
        } else {
            // SAFETY: a note inside of a mapped segment.
            unsafe { std::slice::from_raw_parts(found.build_id, found.build_id_length as usize) }
                .to_vec()
        };
        let Found { start, end, bias, .. } = *found;
        to.push(Module { start, end, bias, path, build_id });
    }
    let mut modules = Vec::new();
    // SAFETY: `each` does not unwind unless memory is out, and `modules` outlives the walk.
    unsafe { tw_shim_modules(each, (&raw mut modules).cast()) };
    modules
}
