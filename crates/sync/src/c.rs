//! The C interface, which `include/tailwater/sync.h` declares and documents.
//!
//! Rust code has no use for it. A panic (a debug build that finds a deadlock, a mutex freed while it is
//! held) ends the process with its message.

// A C function's safety contract is its declaration: pointers are live, as the header asks.
#![expect(clippy::missing_safety_doc, reason = "the header says it")]

use crate::budget::{self, Budget};
use crate::raw::RawMutex;
use crate::stats::Stats;
use crate::{Condvar, Refused};
use std::ffi::{CStr, c_char, c_int};
use std::time::Duration;
use tailwater_core::Nanos;

const ACQUIRED: c_int = 0;
const REFUSED: c_int = 1;

/// `struct tw_mutex`.
#[expect(missing_debug_implementations, reason = "opaque in C")]
pub struct CMutex(RawMutex);

/// `struct tw_condvar`.
#[expect(missing_debug_implementations, reason = "opaque in C")]
pub struct CCondvar(Condvar);

/// `struct tw_refused`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct CRefused {
    oldest_wait_ns: u64,
    left_ns: u64,
    waited_ns: u64,
}

/// `tw_mutex_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_mutex_new(name: *const c_char) -> *mut CMutex {
    // SAFETY: the name is null or a C string, as the header asks.
    let stats = unsafe { stats_of(name) };
    Box::into_raw(Box::new(CMutex(RawMutex::new(stats))))
}

/// `tw_mutex_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_mutex_free(mutex: *mut CMutex) {
    if mutex.is_null() {
        return;
    }
    // SAFETY: it came from `tw_mutex_new` and nobody uses it any more, as the header asks.
    let mutex = unsafe { Box::from_raw(mutex) };
    assert!(mutex.0.is_idle(), "tw_mutex_free: the mutex is held or waited for; unlock it first");
}

/// `tw_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_mutex_lock(mutex: *const CMutex) {
    // SAFETY: live, as the header asks.
    unsafe { &*mutex }.0.lock();
}

/// `tw_mutex_lock_within_budget`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_mutex_lock_within_budget(
    mutex: *const CMutex,
    why: *mut CRefused,
) -> c_int {
    // SAFETY: both are live, `why` or null, as the header asks.
    unsafe { answer((*mutex).0.lock_within_budget(), why) }
}

/// `tw_mutex_trylock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_mutex_trylock(mutex: *const CMutex) -> c_int {
    // SAFETY: live, as the header asks.
    if unsafe { &*mutex }.0.try_lock() { ACQUIRED } else { REFUSED }
}

/// `tw_mutex_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_mutex_unlock(mutex: *const CMutex) {
    // SAFETY: live, as the header asks.
    unsafe { &*mutex }.0.unlock();
}

/// `tw_condvar_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_condvar_new(name: *const c_char) -> *mut CCondvar {
    // SAFETY: the name is null or a C string, as the header asks.
    let named = unsafe { name_of(name) };
    let condvar = named.map_or_else(Condvar::new, |name| Condvar::named(&name));
    Box::into_raw(Box::new(CCondvar(condvar)))
}

/// `tw_condvar_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_condvar_free(condvar: *mut CCondvar) {
    if condvar.is_null() {
        return;
    }
    // SAFETY: it came from `tw_condvar_new` and nobody uses it any more, as the header asks.
    let condvar = unsafe { Box::from_raw(condvar) };
    assert!(!condvar.0.is_waited_at(), "tw_condvar_free: the condvar is waited at; notify first");
}

/// `tw_condvar_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_condvar_wait(condvar: *const CCondvar, mutex: *const CMutex) {
    // SAFETY: both are live, as the header asks. A wait for ever is not refused.
    let _ = unsafe { (*condvar).0.wait_at(&(*mutex).0, false) };
}

/// `tw_condvar_wait_within_budget`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_condvar_wait_within_budget(
    condvar: *const CCondvar,
    mutex: *const CMutex,
    why: *mut CRefused,
) -> c_int {
    // SAFETY: all are live, `why` or null, as the header asks.
    unsafe { answer((*condvar).0.wait_at(&(*mutex).0, true), why) }
}

/// `tw_condvar_notify_one`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_condvar_notify_one(condvar: *const CCondvar) {
    // SAFETY: live, as the header asks.
    unsafe { &*condvar }.0.notify_one();
}

/// `tw_condvar_notify_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_condvar_notify_all(condvar: *const CCondvar) {
    // SAFETY: live, as the header asks.
    unsafe { &*condvar }.0.notify_all();
}

/// `tw_budget_set`.
#[unsafe(no_mangle)]
pub extern "C" fn tw_budget_set(left_ns: u64) {
    budget::set(Some(Budget::new(Duration::from_nanos(left_ns))));
}

/// `tw_budget_clear`.
#[unsafe(no_mangle)]
pub extern "C" fn tw_budget_clear() {
    budget::set(None);
}

/// `tw_budget_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_budget_get(left_ns: *mut u64) -> c_int {
    let Some(budget) = budget::current() else { return 0 };
    // SAFETY: null or live, as the header asks.
    if let Some(left_ns) = unsafe { left_ns.as_mut() } {
        *left_ns = budget.left().nanos();
    }
    1
}

/// `tw_budget_deduct`.
#[unsafe(no_mangle)]
pub extern "C" fn tw_budget_deduct(waited_ns: u64) {
    budget::deduct(Duration::from_nanos(waited_ns));
}

/// # Safety
///
/// `why` is null or live.
unsafe fn answer(result: Result<(), Refused>, why: *mut CRefused) -> c_int {
    let Err(refused) = result else { return ACQUIRED };
    // SAFETY: null or live, as our caller has it.
    if let Some(why) = unsafe { why.as_mut() } {
        *why = match refused {
            Refused::OnEntry { oldest_wait, left } => CRefused {
                oldest_wait_ns: oldest_wait.nanos(),
                left_ns: left.nanos(),
                waited_ns: 0,
            },
            Refused::GaveUp { waited } => {
                CRefused { waited_ns: waited.nanos(), ..CRefused::default() }
            }
        };
    }
    REFUSED
}

/// # Safety
///
/// Null or a C string.
unsafe fn name_of(name: *const c_char) -> Option<String> {
    // SAFETY: a C string where it is not null, as our caller has it.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// # Safety
///
/// Null or a C string.
unsafe fn stats_of(name: *const c_char) -> Option<&'static Stats> {
    // SAFETY: our caller's promise.
    unsafe { name_of(name) }.map(|name| Stats::named(&name))
}
