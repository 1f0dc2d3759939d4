//! Sets that processes share, for C: `tw_shared_ready`.

use super::{NONE, policy_of, shares_of};
use crate::ready::{QueueId, ShareError, SharedSet, SharedWaiter};
use rustix::io::Errno;
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// `struct tw_shared_ready`.
#[expect(missing_debug_implementations, reason = "opaque in C")]
pub struct CShared {
    set: SharedSet,
    /// One thread's at a time, as the header asks; `None` until it consumes.
    waiter: Option<SharedWaiter>,
}

/// `tw_shared_ready_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_create(queues: u32, error: *mut c_int) -> *mut CShared {
    // SAFETY: null or writable, as the header asks.
    unsafe { made(SharedSet::create(queues as usize), error) }
}

/// `tw_shared_ready_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_open(
    fd: c_int,
    queues: u32,
    error: *mut c_int,
) -> *mut CShared {
    let set = if fd < 0 {
        Err(ShareError::from(Errno::BADF))
    } else {
        // SAFETY: open for the length of this call, as the header asks; the set has a copy of its own.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        file.try_clone_to_owned().map_err(ShareError::from).and_then(SharedSet::open)
    };
    let set = set.and_then(|set| match set.queues() {
        found if queues == 0 || found == queues as usize => Ok(set),
        found => Err(ShareError::Queues { found: found as u64 }),
    });
    // SAFETY: as above.
    unsafe { made(set, error) }
}

/// `tw_shared_ready_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_free(set: *mut CShared) {
    if !set.is_null() {
        // SAFETY: it came from one of the two above and nothing uses it any more, as the header asks.
        drop(unsafe { Box::from_raw(set) });
    }
}

/// `tw_shared_ready_fd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_fd(set: *const CShared) -> c_int {
    // SAFETY: live, as the header asks; the consumer borrows the other field.
    unsafe { &(*set).set }.as_fd().as_raw_fd()
}

/// `tw_shared_ready_queues`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_queues(set: *const CShared) -> u32 {
    // SAFETY: as above.
    unsafe { &(*set).set }.queues() as u32
}

/// `tw_shared_ready_ring`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_ring(set: *const CShared, queue: u32) -> c_int {
    // SAFETY: as above.
    let set = unsafe { &(*set).set };
    // Another process may have chosen how many there are, so a number beyond is no mistake of this one.
    if queue as usize >= set.queues() {
        return -Errno::INVAL.raw_os_error();
    }
    c_int::from(set.ring(queue as usize))
}

/// `tw_shared_ready_consume`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_consume(
    set: *mut CShared,
    policy: c_int,
    shares: *const u32,
    count: u32,
    spin_ns: u64,
) -> c_int {
    // SAFETY: live, and its consumer's call, as the header asks.
    let (set, waiter) = unsafe { (&(*set).set, &mut (*set).waiter) };
    let queues = set.queues() as u32;
    // The number of queues is of the file's making: only the caller knows how many shares it has.
    if shares_of(queues, policy) != Some(count) {
        return -Errno::INVAL.raw_os_error();
    }
    // SAFETY: null or `count`, as the header asks, which is as many as the policy has.
    let Some(policy) = (unsafe { policy_of(queues, policy, shares) }) else {
        return -Errno::INVAL.raw_os_error();
    };
    match set.waiter(policy, Duration::from_nanos(spin_ns)) {
        Ok(made) => {
            *waiter = Some(made);
            0
        }
        Err(error) => -number(&error),
    }
}

/// `tw_shared_ready_take`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_take(set: *mut CShared) -> u32 {
    // SAFETY: our caller's promise, which the header asks for.
    unsafe { waiter(set) }.take().map_or(NONE, |queue| queue.0)
}

/// `tw_shared_ready_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_wait(set: *mut CShared, at_most_ns: u64) -> u32 {
    // SAFETY: as above.
    let waiter = unsafe { waiter(set) };
    if at_most_ns == u64::MAX {
        return waiter.wait().0;
    }
    waiter.wait_for(Duration::from_nanos(at_most_ns)).map_or(NONE, |queue| queue.0)
}

/// `tw_shared_ready_again`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_again(set: *mut CShared, queue: u32) {
    // SAFETY: as above.
    unsafe { waiter(set) }.again(QueueId(queue));
}

/// `tw_shared_ready_charge`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_shared_ready_charge(set: *mut CShared, queue: u32, cost: u32) {
    // SAFETY: as above.
    unsafe { waiter(set) }.charge(QueueId(queue), cost);
}

/// # Safety
///
/// The set is live, and its consumer makes one call at a time.
unsafe fn waiter<'a>(set: *mut CShared) -> &'a mut SharedWaiter {
    // SAFETY: our caller's promise; a producer borrows the other field.
    let waiter = unsafe { &mut (*set).waiter };
    waiter.as_mut().expect("tw_shared_ready_consume comes first")
}

/// # Safety
///
/// `error` is null or writable.
unsafe fn made(set: Result<SharedSet, ShareError>, error: *mut c_int) -> *mut CShared {
    match set {
        Ok(set) => Box::into_raw(Box::new(CShared { set, waiter: None })),
        Err(found) => {
            if !error.is_null() {
                // SAFETY: our caller's promise.
                unsafe { error.write(number(&found)) };
            }
            std::ptr::null_mut()
        }
    }
}

/// The errno number that the header names for it.
fn number(error: &ShareError) -> c_int {
    let number = match error {
        ShareError::Settings(_) => Errno::INVAL,
        ShareError::NoSet
        | ShareError::MayShrink
        | ShareError::Queues { .. }
        | ShareError::Size { .. } => Errno::BADMSG,
        ShareError::Version { .. } => Errno::PROTO,
        ShareError::Consumed => Errno::BUSY,
        ShareError::System(error) => {
            return error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
        }
    };
    number.raw_os_error()
}
