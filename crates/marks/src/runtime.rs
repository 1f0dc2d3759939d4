//! The runtime's functions by way of weak references (`weak.c`).
//!
//! Rule for the unsafe code here: the C functions take numbers alone and touch no memory of the caller. Any thread may
//! call them at any time, save in a signal's handler.

// SAFETY: `weak.c` defines all of them, with these types; the rule above holds.
unsafe extern "C" {
    safe fn tailwater_marks_are_read() -> i32;
    safe fn tailwater_marks_start(request: u64);
    safe fn tailwater_marks_start_waited(request: u64, waited_ns: u64);
    safe fn tailwater_marks_block(request: u64);
    safe fn tailwater_marks_finish(request: u64);
    safe fn tailwater_marks_called(request: u64, call: u64);
    safe fn tailwater_marks_sent(request: u64, call: u64);
    safe fn tailwater_marks_answered(request: u64, call: u64);
    safe fn tailwater_marks_size(bytes: u64);
}

/// The program holds the profiler's runtime.
pub(crate) fn is_there() -> bool {
    tailwater_marks_are_read() != 0
}

pub(crate) fn start(request: u64) {
    tailwater_marks_start(request);
}

pub(crate) fn start_waited(request: u64, waited_ns: u64) {
    tailwater_marks_start_waited(request, waited_ns);
}

pub(crate) fn block(request: u64) {
    tailwater_marks_block(request);
}

pub(crate) fn finish(request: u64) {
    tailwater_marks_finish(request);
}

pub(crate) fn called(request: u64, call: u64) {
    tailwater_marks_called(request, call);
}

pub(crate) fn sent(request: u64, call: u64) {
    tailwater_marks_sent(request, call);
}

pub(crate) fn answered(request: u64, call: u64) {
    tailwater_marks_answered(request, call);
}

pub(crate) fn size(bytes: u64) {
    tailwater_marks_size(bytes);
}
