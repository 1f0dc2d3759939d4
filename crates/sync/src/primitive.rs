//! What the locks are made of: the standard library's parts, or loom's when it models them.
//!
//! Threads park with [`std::thread::park`], which is one futex on Linux: no dependency, no unsafe code
//! here, and loom knows it. A stray token only wakes a waiter once too often.

#[cfg(not(loom))]
mod real {
    #[cfg(tsan)]
    pub(crate) use super::watched::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
    #[cfg(not(tsan))]
    pub(crate) use std::sync::{Mutex, MutexGuard};
    pub(crate) use std::thread::{Thread, current};

    use rustix::thread::futex::{self, Timespec};
    use std::sync::atomic::AtomicU32;
    use tailwater_core::Instant;

    /// How many pauses a waiter makes before it queues or sleeps again: a microsecond or so.
    pub(crate) const SPINS: u32 = 64;

    /// Bits of a word of a ready set, as a power of two.
    pub(crate) const WORD_SHIFT: usize = 6;

    /// Words of a line of a ready set, as a power of two.
    pub(crate) const LINE_SHIFT: usize = 3;

    /// A fence right behind a sequentially consistent read-modify-write of the same thread.
    #[inline]
    pub(crate) fn fence_after_rmw() {
        // On x86-64 such an operation is a locked instruction, which is a full barrier by itself (Intel SDM
        // 3A, 8.2.3.9); a second one would only cost. So the compiler alone is told.
        #[cfg(target_arch = "x86_64")]
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        // Elsewhere a later load may be satisfied before the operation's write is seen.
        #[cfg(not(target_arch = "x86_64"))]
        fence(Ordering::SeqCst);
    }

    /// A fence right behind a sequentially consistent load, and before another one.
    #[inline]
    pub(crate) const fn fence_after_load() {
        // The two have their places in the one order as they are.
    }

    /// Asks for the line of a word, to be written soon.
    #[inline]
    pub(crate) fn prefetch_for_write(word: &AtomicU64) {
        // SAFETY: a prefetch is a hint: it neither faults nor changes what any thread reads. The intrinsic becomes
        // `prefetcht0` where the target is any x86-64: a copy to read, and a second fetch at the write. Processors
        // that do not know this one take it for a no-op (Intel SDM 2B, PREFETCHW; AMD APM 3).
        #[cfg(target_arch = "x86_64")]
        unsafe {
            use std::arch::asm;
            let line = std::ptr::from_ref(word);
            asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = word;
    }

    /// Sleeps until a wake-up or until then, whichever is first; may also return for no reason.
    /// True once it is past `until`.
    pub(crate) fn park(until: Option<Instant>) -> bool {
        let Some(until) = until else {
            std::thread::park();
            return false;
        };
        let left = until.since(crate::clock::now());
        if !left.is_zero() {
            std::thread::park_timeout(left);
        }
        crate::clock::now() >= until
    }

    /// Sleep at a word in memory that other processes may have, too.
    pub(crate) struct Futex;

    impl Futex {
        pub(crate) const fn new() -> Self {
            Self
        }

        /// Sleeps if the word still is what was seen; until a wake-up or until then, or for no reason a shorter time.
        /// True once it is past `until`.
        pub(crate) fn wait(&self, word: &AtomicU64, seen: u64, until: Option<Instant>) -> bool {
            let left = until.map(|until| until.since(crate::clock::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return true;
            }
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            // The low half of what was seen. Not private: the other process wakes us. However it ends, we look.
            let _ = futex::wait(low_half(word), futex::Flags::empty(), seen as u32, left.as_ref());
            until.is_some_and(|until| crate::clock::now() >= until)
        }

        /// Ends all sleeps at the word. True if there was one.
        pub(crate) fn wake(&self, word: &AtomicU64) -> bool {
            // All: a second process that sleeps here, which no rule allows, must not take the only wake-up.
            let woken = futex::wake(low_half(word), futex::Flags::empty(), i32::MAX as u32);
            woken.is_ok_and(|woken| woken > 0)
        }
    }

    /// The half that the kernel looks at; it has no futexes of 64 bits.
    fn low_half(word: &AtomicU64) -> &AtomicU32 {
        let at = usize::from(cfg!(target_endian = "big"));
        // SAFETY: a half of the word, aligned. It carries the address into a system call; nothing is read or
        // written by it here.
        unsafe { &*std::ptr::from_ref(word).cast::<AtomicU32>().add(at) }
    }

    /// What a lock protects.
    #[derive(Debug, Default)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub(crate) fn shared(&self) -> *const T {
            self.0.get()
        }

        #[inline]
        pub(crate) fn unique(&self) -> *mut T {
            self.0.get()
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }
}

#[cfg(loom)]
mod real {
    pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use loom::thread::{Thread, current};

    use tailwater_core::Instant;

    /// Looking again is one more interleaving of no interest.
    pub(crate) const SPINS: u32 = 0;

    /// Two bits to a word: four queues have two levels, eight have three.
    pub(crate) const WORD_SHIFT: usize = 1;

    /// As many as the first line needs.
    pub(crate) const LINE_SHIFT: usize = 2;

    /// loom takes sequentially consistent operations for acquiring and releasing ones; its fences are whole.
    pub(crate) fn fence_after_rmw() {
        // Stands for the place in the one order that the operation before it has.
        fence(Ordering::SeqCst);
    }

    /// As above: to loom a sequentially consistent load is an acquiring one.
    pub(crate) fn fence_after_load() {
        // Stands for the place in the one order that the load before it has.
        fence(Ordering::SeqCst);
    }

    /// There are no lines in a model.
    pub(crate) fn prefetch_for_write(_: &AtomicU64) {}

    /// Time stands still in a model, so that a wait with an end ends after whatever others did.
    pub(crate) fn park(until: Option<Instant>) -> bool {
        if until.is_none() {
            loom::thread::park();
            return false;
        }
        loom::thread::yield_now();
        true
    }

    /// The kernel's promise: it compares and goes to sleep in one step, as far as wake-ups can see.
    pub(crate) struct Futex {
        asleep: Mutex<u32>,
        wakes: loom::sync::Condvar,
    }

    impl Futex {
        #[allow(dead_code, reason = "its models are unit tests")]
        pub(crate) fn new() -> Self {
            Self { asleep: Mutex::new(0), wakes: loom::sync::Condvar::new() }
        }

        pub(crate) fn wait(&self, word: &AtomicU64, seen: u64, until: Option<Instant>) -> bool {
            if until.is_some() {
                loom::thread::yield_now();
                return true;
            }
            let mut asleep = super::hold(&self.asleep);
            // The mutex orders it after whoever was here to wake before.
            if word.load(Ordering::SeqCst) == seen {
                *asleep += 1;
                drop(self.wakes.wait(asleep));
            }
            false
        }

        pub(crate) fn wake(&self, _: &AtomicU64) -> bool {
            let mut asleep = super::hold(&self.asleep);
            self.wakes.notify_all();
            std::mem::take(&mut *asleep) > 0
        }
    }

    /// What a lock protects; loom checks at each access that it does.
    #[derive(Debug, Default)]
    pub(crate) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::cell::UnsafeCell::new(value))
        }

        pub(crate) fn shared(&self) -> *const T {
            self.0.with(|value| value)
        }

        pub(crate) fn unique(&self) -> *mut T {
            self.0.with_mut(|value| value)
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }
}

/// The mutex around a queue where the thread sanitizer looks on: it does not see into the standard
/// library's, which is not built with it, and would call everything behind it a race.
#[cfg(tsan)]
mod watched {
    use std::cell::UnsafeCell;
    use std::ops::{Deref, DerefMut};
    use std::sync::LockResult;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(AtomicBool, UnsafeCell<T>);

    // SAFETY: the flag lets one thread at a time have the value.
    unsafe impl<T: Send> Sync for Mutex<T> {}

    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T>(&'a Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(AtomicBool::new(false), UnsafeCell::new(value))
        }

        pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            // Pairs with the store when the guard goes: what one holder wrote, the next one sees.
            while self.0.swap(true, Ordering::Acquire) {
                std::thread::yield_now();
            }
            Ok(MutexGuard(self))
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            // Pairs with the swap in `lock`.
            self.0.0.store(false, Ordering::Release);
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: whoever has the guard has the value to itself.
            unsafe { &*self.0.1.get() }
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: as above.
            unsafe { &mut *self.0.1.get() }
        }
    }
}

pub(crate) use real::*;

/// A constructor: `const` except under loom, whose parts have identities.
macro_rules! constructor {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        #[must_use]
        $vis const fn $name($($arg: $ty),*) -> $ret $body
        #[cfg(loom)]
        $(#[$meta])*
        #[must_use]
        $vis fn $name($($arg: $ty),*) -> $ret $body
    };
}
pub(crate) use constructor;

/// The mutex around a queue. Nothing panics while it is held, so poison means nothing.
pub(crate) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
