//! Where instrumented code goes when its thread has no stack yet, or its stack is full.

use crate::memory::abi::Context;
use crate::memory::arena::Arena;
use crate::system::shim;
use crate::threads::register;
use crate::threads::stacks;
use std::sync::atomic::Ordering::Relaxed;

/// A function of `tailwater/profile_abi.h`. Instrumented code calls it with LLVM's `preserve_most`, which
/// stable Rust cannot say: it saves what that convention wants kept, and tells unwinders so. `$first` is the
/// register of results, which is kept where there is none.
macro_rules! preserving_most {
    ($(#[$doc:meta])* $name:ident => $target:ident, keeps [$($first:literal)?]) => {
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                $(concat!("push ", $first), "sub rsp, 8", ".cfi_adjust_cfa_offset 16",)?
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                ".cfi_adjust_cfa_offset 56",
                "call {target}",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                ".cfi_adjust_cfa_offset -56",
                $("add rsp, 8", concat!("pop ", $first), ".cfi_adjust_cfa_offset -16",)?
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }

        $(#[$doc])*
        /// AArch64's convention keeps x9 to x15, and no registers of results.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, #-80]!",
                ".cfi_def_cfa_offset 80",
                ".cfi_offset x29, -80",
                ".cfi_offset x30, -72",
                "stp x9, x10, [sp, #16]",
                "stp x11, x12, [sp, #32]",
                "stp x13, x14, [sp, #48]",
                "str x15, [sp, #64]",
                "mov x29, sp",
                "bl {target}",
                "ldr x15, [sp, #64]",
                "ldp x13, x14, [sp, #48]",
                "ldp x11, x12, [sp, #32]",
                "ldp x9, x10, [sp, #16]",
                "ldp x29, x30, [sp], #80",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}

preserving_most! {
    /// The position to push at, for a thread that has no stack yet, or a full one.
    tw_profile_slow => tw_shim_slow, keeps []
}
preserving_most! {
    /// The same, of the machine stack that is told.
    tw_profile_slow_on_stack => tw_shim_slow_on_stack, keeps []
}
preserving_most! {
    /// A function goes on in the context that is told.
    tw_profile_back => tw_shim_back, keeps ["rax"]
}

unsafe extern "C" {
    /// Calls [`tw_rt_slow`], unless this thread is in there already.
    fn tw_shim_slow() -> u64;
    /// Calls [`tw_rt_slow_on_stack`], unless this thread is in there already.
    fn tw_shim_slow_on_stack(stack: u64) -> u64;
    /// Calls [`tw_rt_back`], unless this thread is in the runtime already.
    fn tw_shim_back(context: *const Context);
}

/// The position to push at.
#[unsafe(no_mangle)]
extern "C" fn tw_rt_slow() -> u64 {
    shim::keeping_errno(|| {
        let registered = crate::system::process::arena()
            .and_then(|arena| Some((arena, arena.index_of(shim::context())?)));
        match registered {
            Some((arena, index)) => overflow(&arena, index),
            None => match register::calling_thread() {
                Some((arena, index)) => arena.stack(index).0,
                None => shim::pad(),
            },
        }
    })
}

/// There is no room for another frame: counts it, and has it pushed where nobody looks.
fn overflow(arena: &Arena, index: usize) -> u64 {
    let frames = &arena.slot(index).lost.frames;
    frames.store(frames.load(Relaxed) + 1, Relaxed);
    arena.stack(index).1
}

/// A C `struct tw_rt_place`.
#[repr(C)]
struct Place {
    context: *const Context,
    position: u64,
}

/// Where to push on the machine stack at `stack`. The thread's context was `left`, and is nobody's meanwhile.
#[unsafe(no_mangle)]
extern "C" fn tw_rt_slow_on_stack(left: *const Context, stack: u64) -> Place {
    shim::keeping_errno(|| {
        let Some((arena, index)) = stacks::enter(left, stack) else {
            return Place { context: std::ptr::null(), position: shim::pad() };
        };
        let context = &arena.slot(index).context;
        let position = context.position.load(Relaxed);
        let is_full = position >= arena.stack(index).1;
        Place { context, position: if is_full { overflow(&arena, index) } else { position } }
    })
}

/// A function that had pushed on `context` goes on, where `left` was this thread's last.
#[unsafe(no_mangle)]
extern "C" fn tw_rt_back(left: *const Context, context: *const Context) {
    if let Some(arena) = crate::system::process::arena() {
        register::move_waits(&arena, left, context);
    }
}
