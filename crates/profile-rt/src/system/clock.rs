//! The time stamp counter, and the clocks it is compared with.

use rustix::time::{ClockId, clock_gettime};
use tailwater_profile::record::{Clock, Ticks};

/// The counter now.
#[inline]
pub(crate) fn ticks() -> Ticks {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: reads a counter that Linux lets programs read.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}

/// All clocks, the counter in the middle of the closest of three tries.
pub(crate) fn read() -> Clock {
    let try_once = || {
        let before = ticks();
        let raw_ns = nanoseconds(ClockId::MonotonicRaw);
        let after = ticks();
        let clock = Clock { ticks: before + after.wrapping_sub(before) / 2, raw_ns, real_ns: 0 };
        (after.wrapping_sub(before), clock)
    };
    let (_, best) = [try_once(), try_once(), try_once()]
        .into_iter()
        .min_by_key(|(width, _)| *width)
        .expect("three tries");
    Clock { real_ns: nanoseconds(ClockId::Realtime), ..best }
}

/// Ticks in a microsecond, from a fifth of a millisecond of looking at both clocks; at least one.
pub(crate) fn ticks_per_us() -> u64 {
    const LOOK_NS: u64 = 200_000;
    let first = read();
    loop {
        let last = read();
        let ns = last.raw_ns.saturating_sub(first.raw_ns);
        if ns >= LOOK_NS {
            return ((last.ticks - first.ticks) * 1000 / ns).max(1);
        }
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}
