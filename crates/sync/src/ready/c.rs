//! The C interface, which `include/tailwater/ready.h` declares and documents. Rust code has no use for it.
//!
//! The consumer's functions and a producer's ring may run at once: each borrows its own field of the set only.

// A C function's safety contract is its declaration: pointers are live, as the header asks.
#![expect(clippy::missing_safety_doc, reason = "the header says it")]

pub mod shared;

use super::{QueueId, ReadySet, VisitPolicy, Waiter};
use rustix::io::Errno;
use std::ffi::c_int;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

const NONE: u32 = u32::MAX;

/// `struct tw_ready`.
#[expect(missing_debug_implementations, reason = "opaque in C")]
pub struct CReady {
    set: ReadySet,
    /// One thread's at a time, as the header asks.
    waiter: Waiter,
}

/// `tw_ready_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_new(
    queues: u32,
    policy: c_int,
    shares: *const u32,
) -> *mut CReady {
    // SAFETY: null or as many as the policy has, as the header asks.
    let policy = unsafe { policy_of(queues, policy, shares) };
    let made = policy.and_then(|policy| ReadySet::new(queues as usize, policy).ok());
    made.map_or(std::ptr::null_mut(), |(set, waiter)| {
        Box::into_raw(Box::new(CReady { set, waiter }))
    })
}

/// `tw_ready_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_free(set: *mut CReady) {
    if !set.is_null() {
        // SAFETY: it came from `tw_ready_new` and nothing uses it any more, as the header asks.
        drop(unsafe { Box::from_raw(set) });
    }
}

/// `tw_ready_ring`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_ring(set: *const CReady, queue: u32) -> c_int {
    // SAFETY: live, as the header asks; the consumer borrows the other field.
    let shared = unsafe { &(*set).set.shared };
    let room = shared.members.room();
    assert!((queue as usize) < room, "tw_ready_ring: found queue {queue} of a ready set of {room}");
    c_int::from(shared.board.ring(queue as usize))
}

/// `tw_ready_take`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_take(set: *mut CReady) -> u32 {
    // SAFETY: our caller's promise, which the header asks for.
    unsafe { waiter(set) }.take().map_or(NONE, |queue| queue.0)
}

/// `tw_ready_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_wait(set: *mut CReady, at_most_ns: u64) -> u32 {
    // SAFETY: as above.
    let waiter = unsafe { waiter(set) };
    if at_most_ns == u64::MAX {
        return waiter.wait().0;
    }
    waiter.wait_for(Duration::from_nanos(at_most_ns)).map_or(NONE, |queue| queue.0)
}

/// `tw_ready_again`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_again(set: *mut CReady, queue: u32) {
    // SAFETY: as above.
    unsafe { waiter(set) }.again(QueueId(queue));
}

/// `tw_ready_charge`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_charge(set: *mut CReady, queue: u32, cost: u32) {
    // SAFETY: as above.
    unsafe { waiter(set) }.charge(QueueId(queue), cost);
}

/// `tw_ready_fd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_fd(set: *mut CReady) -> c_int {
    // SAFETY: as above.
    answer(unsafe { waiter(set) }.event_fd().map(|fd| fd.as_raw_fd()))
}

/// `tw_ready_arm`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ready_arm(set: *mut CReady) -> c_int {
    // SAFETY: as above.
    answer(unsafe { waiter(set) }.arm().map(c_int::from))
}

/// The error's number, negated: system calls here go past the C library, so its errno knows nothing of them.
fn answer(result: io::Result<c_int>) -> c_int {
    let number = |error: io::Error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
    result.unwrap_or_else(|error| -number(error))
}

/// # Safety
///
/// The set is live, and its consumer makes one call at a time.
unsafe fn waiter<'a>(set: *mut CReady) -> &'a mut Waiter {
    // SAFETY: our caller's promise; a producer borrows the other field.
    unsafe { &mut (*set).waiter }
}

/// How many shares a policy has; `None` if there is no such policy.
const fn shares_of(queues: u32, policy: c_int) -> Option<u32> {
    match policy {
        0 | 2 => Some(0),
        1 | 4 => Some(queues),
        3 => Some(1),
        _ => None,
    }
}

/// # Safety
///
/// Null, or as many shares as [`shares_of`] says.
unsafe fn policy_of(queues: u32, policy: c_int, shares: *const u32) -> Option<VisitPolicy> {
    let count = shares_of(queues, policy)? as usize;
    let shares: &[u32] = match (count, shares.is_null()) {
        (0, _) => &[],
        (_, true) => return None,
        // SAFETY: as many as that where it is not null, as our caller has it.
        (_, false) => unsafe { std::slice::from_raw_parts(shares, count) },
    };
    Some(match policy {
        0 => VisitPolicy::RoundRobin,
        1 => {
            let weights = shares.iter().map(|share| u16::try_from(*share).ok());
            VisitPolicy::Weighted(weights.collect::<Option<Arc<[u16]>>>()?)
        }
        2 => VisitPolicy::Strict,
        3 => VisitPolicy::Aged { strict_for: *shares.first()? },
        4 => VisitPolicy::Deficit(Arc::from(shares)),
        _ => return None,
    })
}
