//! Marks of requests: which thread works for which request, and when. Nothing is recorded, and a mark costs a few
//! nanoseconds, unless the program records.

use crate::entry::session;
use crate::memory::arena::ACTIVE_MAX;
use crate::memory::event::Event;
use crate::system::clock;
use crate::system::process;
use crate::threads::register;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_profile::record::{HopKind, MarkKind, Ticks};

/// Work of so many bytes begins.
pub(crate) fn size(bytes: u64) {
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
        // One reading for both: a thread that loses its core in between would add to the wait.
        let now = clock::ticks();
        let enqueued = now.saturating_sub(session::ticks_in(waited_ns));
        let [queued, started] = [(MarkKind::Enqueue, enqueued), (MarkKind::Start, now)];
        mark(&[queued, started].map(|(kind, at)| (kind, request, Some(at))));
        remember(request);
    }
}

pub(crate) fn start_dequeued(request: u64, enqueued: Ticks, queue: u64) {
    if process::is_recording() {
        // One reading for all: by it the reader knows which stay in a queue this was.
        let now = clock::ticks();
        let mark = |kind, at| Event::Mark { kind, request, at };
        push([
            mark(MarkKind::Enqueue, enqueued),
            mark(MarkKind::Start, now),
            Event::Hop { kind: HopKind::Dequeued, request, call: queue, at: now },
        ]);
        remember(request);
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

/// A request and its call to or from another process.
pub(crate) fn hop(kind: HopKind, request: u64, call: u64) {
    push(std::iter::once_with(|| Event::Hop { kind, request, call, at: clock::ticks() }));
}

/// Marks of the calling thread.
fn mark(marks: &[(MarkKind, u64, Option<Ticks>)]) {
    push(marks.iter().map(|&(kind, request, at)| Event::Mark {
        kind,
        request,
        at: at.unwrap_or_else(clock::ticks),
    }));
}

/// Pushes events of the calling thread; those that find the ring full are counted.
fn push(events: impl IntoIterator<Item = Event>) {
    if !process::is_recording() {
        return;
    }
    let Some((arena, index)) = register::place() else { return };
    for event in events {
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
