//! The machine's frames, by the unwinder that is in every program of ours.

use crate::system::maps;
use std::ffi::{c_int, c_void};

/// Stacks that are mapped for that are this far apart at least.
const PAGE: u64 = 4096;

/// Shows the callers of the function that is entered at `stack`, where its return address lies, to `each`: where
/// the caller's stack pointer was, and an address in its code, or zero. Goes on for as long as `each` wants more
/// and they lie on one stack: some libraries lead unwinders from a fiber's stack on to that of who resumed it.
/// Past the outermost, some unwinders show one more.
pub(crate) fn callers(stack: u64, mut each: impl FnMut(u64, u64) -> bool) {
    let mut last = stack;
    unwind(|low, code| {
        if last == stack && low <= stack {
            // Our own, and the one that is entered.
            return true;
        }
        let is_next = low > last && (low - last < PAGE || maps::is_one(last, low));
        last = low;
        is_next && each(low, code)
    });
}

/// Where the function begins that has `code`; `None` where nothing is known of it.
pub(crate) fn function_with(code: u64) -> Option<u64> {
    // SAFETY: it looks the address up, whatever that is.
    let function = unsafe { _Unwind_FindEnclosingFunction(code as *mut c_void) } as u64;
    (code != 0 && function != 0).then_some(function)
}

fn unwind<F: FnMut(u64, u64) -> bool>(mut each: F) {
    extern "C" fn step<F: FnMut(u64, u64) -> bool>(frame: *mut c_void, each: *mut c_void) -> c_int {
        // SAFETY: the closure below, which is in nobody else's hands meanwhile.
        let each = unsafe { &mut *each.cast::<F>() };
        // SAFETY: the unwinder's own, for the time of this call.
        let (low, code) = unsafe { (_Unwind_GetCFA(frame), _Unwind_GetIP(frame)) };
        if each(low as u64, code as u64) { NO_REASON } else { NORMAL_STOP }
    }
    // SAFETY: `step` does not unwind, and `each` outlives the call.
    let _ = unsafe { _Unwind_Backtrace(step::<F>, (&raw mut each).cast()) };
}

const NO_REASON: c_int = 0;
const NORMAL_STOP: c_int = 4;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        step: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_FindEnclosingFunction(code: *mut c_void) -> *mut c_void;
}
