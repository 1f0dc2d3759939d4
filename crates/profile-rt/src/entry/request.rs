//! Marks of requests, for Rust programs: which thread works for which request, and when.
//!
//! Nothing is recorded, and a mark costs a few nanoseconds, unless the program records
//! (`tailwater profile record`, or [`record_to`]).
//!
//! ```
//! use tailwater_profile_rt::request::Request;
//!
//! fn handle(id: u64) {
//!     let _request = Request::start(id);
//!     // What is called here counts towards the request.
//! }
//! # handle(7);
//! ```

use crate::entry::session;
use crate::memory::arena::ACTIVE_MAX;
use crate::memory::event::Event;
use crate::system::clock;
use crate::system::process;
use crate::threads::register;
use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_profile::record::{MarkKind, Ticks};

/// This thread works for a request while this lives; dropping it ends the thread's part.
#[derive(Debug)]
#[must_use = "the thread's part ends when this is dropped"]
pub struct Request {
    id: u64,
    /// Marks belong to the thread that sets them.
    here: PhantomData<*const ()>,
}

impl Request {
    /// Begins, or goes on, to work for a request; `id` is the program's own number for it.
    pub fn start(id: u64) -> Self {
        start(id);
        Self { id, here: PhantomData }
    }

    /// The same for a request that entered a queue at `enqueued`, a reading of [`now`].
    pub fn start_queued(id: u64, enqueued: Ticks) -> Self {
        start_queued(id, enqueued);
        Self { id, here: PhantomData }
    }

    /// Hands the request over: this or another thread goes on by [`Request::start`].
    pub fn block(self) {
        self.leave(MarkKind::Block);
    }

    /// The request as a whole is done, whichever threads worked for it.
    pub fn finish(self) {
        self.leave(MarkKind::EndAll);
    }

    fn leave(self, kind: MarkKind) {
        leave(self.id, kind);
        std::mem::forget(self);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        leave(self.id, MarkKind::End);
    }
}

/// The profiler's clock, for [`Request::start_queued`].
#[must_use]
pub fn now() -> Ticks {
    clock::ticks()
}

/// Begins to record into a new file at `path`, or beside it (with the process's number appended) when
/// that exists.
///
/// # Errors
///
/// When it records already, the file cannot be made, or a thread cannot be started.
pub fn record_to(path: &Path) -> io::Result<()> {
    session::start(path)
}

/// Ends the recording and completes the file; does nothing when there is none.
///
/// # Errors
///
/// Those of writing the file, at any time during the recording.
pub fn stop() -> io::Result<()> {
    session::stop()
}

/// Work of so many bytes begins, such as the compression of a block: `tailwater accelerate measure` makes a histogram of
/// them. Mark one kind of work in a program.
pub fn size(bytes: u64) {
    mark(&[(MarkKind::Size, bytes, None)]);
}

pub(crate) fn start(request: u64) {
    mark(&[(MarkKind::Start, request, None)]);
    remember(request);
}

pub(crate) fn start_queued(request: u64, enqueued: Ticks) {
    mark(&[(MarkKind::Enqueue, request, Some(enqueued)), (MarkKind::Start, request, None)]);
    remember(request);
}

pub(crate) fn start_waited(request: u64, waited_ns: u64) {
    if process::is_recording() {
        start_queued(request, now().saturating_sub(session::ticks_in(waited_ns)));
    }
}

pub(crate) fn leave(request: u64, kind: MarkKind) {
    mark(&[(kind, request, None)]);
    forget(|active| active == request);
}

pub(crate) fn end_all() {
    forget(|request| {
        mark(&[(MarkKind::End, request, None)]);
        true
    });
}

/// Pushes marks of the calling thread; those that find the ring full are counted.
fn mark(marks: &[(MarkKind, u64, Option<Ticks>)]) {
    if !process::is_recording() {
        return;
    }
    let Some((arena, index)) = register::place() else { return };
    for (kind, request, at) in marks {
        let at = at.unwrap_or_else(clock::ticks);
        let event = Event::Mark { kind: *kind, request: *request, at };
        if !event.push(arena.ring(index)) {
            let lost = &arena.slot(index).lost.marks;
            lost.store(lost.load(Relaxed) + 1, Relaxed);
        }
    }
}

/// Notes it for [`end_all`]; beyond [`ACTIVE_MAX`] requests are not remembered.
fn remember(request: u64) {
    if !process::is_recording() {
        return;
    }
    let Some((arena, index)) = register::place() else { return };
    let own = &arena.slot(index).own;
    let len = own.active_len.load(Relaxed) as usize;
    let known = own.active.iter().take(len).any(|active| active.load(Relaxed) == request);
    if !known && len < ACTIVE_MAX {
        own.active[len].store(request, Relaxed);
        own.active_len.store(len as u32 + 1, Relaxed);
    }
}

/// Drops the requests for which `gone` says so.
fn forget(mut gone: impl FnMut(u64) -> bool) {
    if !process::is_recording() {
        return;
    }
    let Some((arena, index)) = register::place() else { return };
    let own = &arena.slot(index).own;
    let len = (own.active_len.load(Relaxed) as usize).min(ACTIVE_MAX);
    let mut kept = 0;
    for at in 0..len {
        let request = own.active[at].load(Relaxed);
        if !gone(request) {
            own.active[kept].store(request, Relaxed);
            kept += 1;
        }
    }
    own.active_len.store(kept as u32, Relaxed);
}
