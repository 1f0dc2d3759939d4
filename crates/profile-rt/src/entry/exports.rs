//! The C functions: the public ones of `tailwater/profile.h`, and those that the C part calls.

use crate::memory::abi::{Context, What};
use crate::memory::event::{Waited, wait_kind};
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use tailwater_profile::record::{HopKind, MarkKind};

const EIO: i32 = 5;
const EINVAL: i32 = 22;

/// Starts recording into a file at `path`; see `tailwater/profile.h`.
///
/// # Safety
///
/// `path` is null or a null-terminated text.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_profile_start(path: *const c_char) -> i32 {
    if path.is_null() {
        return EINVAL;
    }
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    let path = OsStr::from_bytes(path.to_bytes());
    code(crate::entry::session::start(path.as_ref()))
}

/// Ends the recording; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_profile_stop() -> i32 {
    code(crate::entry::session::stop())
}

/// The profiler's clock; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_profile_now() -> u64 {
    crate::system::clock::ticks()
}

fn code(result: io::Result<()>) -> i32 {
    result.map_or_else(|error| error.raw_os_error().unwrap_or(EIO), |()| 0)
}

/// This thread works for a request from now on; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_start(request: u64) {
    crate::entry::request::start(request);
}

/// The same for a request out of a queue; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_start_queued(request: u64, enqueued: u64) {
    crate::entry::request::start_queued(request, enqueued);
}

/// The same for one that has waited for some time; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_start_waited(request: u64, waited_ns: u64) {
    crate::entry::request::start_waited(request, waited_ns);
}

/// The same for one that was taken from a queue; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_start_dequeued(request: u64, enqueued: u64, queue: *const c_void) {
    crate::entry::request::start_dequeued(request, enqueued, queue.addr() as u64);
}

/// This thread hands a request over; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_block(request: u64) {
    crate::entry::request::leave(request, MarkKind::Block);
}

/// This thread's part of a request is done; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_end(request: u64) {
    crate::entry::request::leave(request, MarkKind::End);
}

/// A request is the call of another process; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_called(request: u64, call: u64) {
    crate::entry::request::hop(HopKind::Called, request, call);
}

/// A request sends a call to another process; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_sent(request: u64, call: u64) {
    crate::entry::request::hop(HopKind::Sent, request, call);
}

/// Its answer was read; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_answered(request: u64, call: u64) {
    crate::entry::request::hop(HopKind::Answered, request, call);
}

/// Work of so many bytes begins; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_size(bytes: u64) {
    crate::entry::request::size(bytes);
}

/// This thread's part of all requests is done; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_end_all() {
    crate::entry::request::end_all();
}

/// A whole request is done; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_req_finish(request: u64) {
    crate::entry::request::leave(request, MarkKind::EndAll);
}

/// A fiber begins; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_fiber_create() -> *const Context {
    crate::threads::register::new_fiber()
}

/// This thread goes on in a fiber; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_fiber_switch(to: *const Context) {
    crate::threads::register::switch_to(to);
}

/// A fiber has ended; see `tailwater/profile.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_fiber_destroy(fiber: *const Context) {
    crate::threads::register::end_of_fiber(fiber);
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_load() {
    crate::entry::session::load();
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_exit() {
    crate::entry::session::exit();
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_cut_short() {
    crate::entry::session::cut_short();
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_forks() {
    crate::entry::session::forks();
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_has_forked() {
    drop(crate::entry::session::has_forked());
    if crate::system::process::is_recording() {
        crate::system::process::is_born();
    }
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_forked() {
    crate::entry::child::forked();
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_thread_end() {
    crate::threads::register::end_of_thread();
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_waited(
    kind: u32,
    object: u64,
    start: u64,
    end: u64,
    site: u64,
    holder: u32,
    held_in: u64,
    has_lock: u32,
) {
    let Some(kind) = wait_kind(kind as u8) else { return };
    if !crate::system::process::is_recording() {
        return;
    }
    let released = end;
    let function = 0;
    let held_in = What::from(held_in);
    let wait = Waited { kind, object, start, end, released, holder, function, held_in, site };
    crate::threads::waits::waited(wait, has_lock != 0);
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_is_recording() -> u32 {
    u32::from(crate::system::process::is_recording())
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_library_gone(from: u64, to: u64) {
    crate::threads::unload::library_gone(from..to);
}

#[unsafe(no_mangle)]
extern "C" fn tw_rt_released(object: u64, at: u64) {
    crate::threads::waits::released(object, at);
}
