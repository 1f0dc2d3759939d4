//! Where instrumented code goes when its thread has no stack yet, or its stack is full.

use crate::register;
use crate::shim;
use std::sync::atomic::Ordering::Relaxed;

/// See `tailwater/profile_abi.h`. Instrumented code calls this with LLVM's `preserve_most`, which
/// stable Rust cannot say: it saves what that convention wants kept.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn tw_profile_slow() -> u64 {
    std::arch::naked_asm!(
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "call {slow}",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "ret",
        slow = sym tw_shim_slow,
    )
}

/// As above; AArch64's convention keeps x9 to x15 too.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn tw_profile_slow() -> u64 {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-80]!",
        "stp x9, x10, [sp, #16]",
        "stp x11, x12, [sp, #32]",
        "stp x13, x14, [sp, #48]",
        "str x15, [sp, #64]",
        "mov x29, sp",
        "bl {slow}",
        "ldr x15, [sp, #64]",
        "ldp x13, x14, [sp, #48]",
        "ldp x11, x12, [sp, #32]",
        "ldp x9, x10, [sp, #16]",
        "ldp x29, x30, [sp], #80",
        "ret",
        slow = sym tw_shim_slow,
    )
}

unsafe extern "C" {
    /// Calls [`tw_rt_slow`], unless this thread is in there already.
    fn tw_shim_slow() -> u64;
}

/// The position to push at.
#[unsafe(no_mangle)]
extern "C" fn tw_rt_slow() -> u64 {
    shim::keeping_errno(|| {
        let registered = crate::session::arena()
            .and_then(|arena| Some((arena, arena.index_of(shim::context())?)));
        match registered {
            Some((arena, index)) => {
                let frames = &arena.slot(index).lost.frames;
                frames.store(frames.load(Relaxed) + 1, Relaxed);
                arena.stack(index).1
            }
            None => match register::calling_thread() {
                Some((arena, index)) => arena.stack(index).0,
                None => shim::pad(),
            },
        }
    })
}
