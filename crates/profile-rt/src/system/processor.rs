//! The processor's own counters, of the calling thread. The kernel has them count, and a page of its says how to read them without
//! a system call. `struct perf_event_mmap_page` in `linux/perf_event.h` gives the protocol.

use crate::system::shim;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{
    AtomicI64, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, compiler_fence, fence,
};
use tailwater_profile::record::{Counter, Counters};

/// How many counters are the processor's.
const KINDS: usize = Counter::ALL.len() - Counter::Cycles as usize;

/// The beginning of the kernel's page. Written by the kernel, also while it is read.
#[repr(C)]
struct Page {
    version: AtomicU32,
    compatible: AtomicU32,
    /// Odd or changed: the kernel wrote meanwhile.
    lock: AtomicU32,
    /// The register's number plus one; zero: the event is on none now.
    index: AtomicU32,
    /// What to add to the register.
    offset: AtomicI64,
    enabled_ns: AtomicU64,
    running_ns: AtomicU64,
    capabilities: AtomicU64,
    /// Bits that the register has.
    width: AtomicU16,
}

/// `cap_user_rdpmc`.
const MAY_READ: u64 = 1 << 2;

/// What the calling thread has open. Zeroed memory has nothing.
#[repr(C)]
struct Open {
    /// Whose the pages are, for the C part.
    owner: u32,
    /// Bits of those that were tried.
    tried: u32,
    /// A page is being read.
    is_read: u32,
    /// Null where one could not be had.
    pages: [AtomicPtr<Page>; KINDS],
}

// As many as the C part has room for.
const _: () = assert!(KINDS == 4);

/// The calling thread's. A fork's child finds none.
fn open_counters() -> *mut Open {
    shim::open_counters().cast()
}

/// What was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Processor([Option<u64>; KINDS]);

impl Processor {
    /// How much that one had counted, where it could be read.
    pub(crate) fn of(&self, counter: Counter) -> Option<u64> {
        self.0.get(place(counter)).copied().flatten()
    }
}

const fn place(counter: Counter) -> usize {
    (counter as usize).wrapping_sub(Counter::Cycles as usize)
}

/// Whether a counter that is not open may be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// At the start of what is counted.
    Open,
    /// At its end: one that was opened since would have counted less.
    LeaveOut,
}

/// Reads these of the calling thread's.
pub(crate) fn read(wanted: Counters, missing: Missing) -> Processor {
    let mut found = Processor::default();
    // Elsewhere it is not known how a register is read, and none is opened.
    if !cfg!(target_arch = "x86_64") || wanted.is_empty() {
        return found;
    }
    let open = open_counters();
    // SAFETY: the calling thread's own variable, which no reference is to. Pages stay while it says that one is read: only the
    // thread itself closes them, and a handler of a signal that comes in between finds that said.
    unsafe {
        let was_read = (*open).is_read;
        (*open).is_read = 1;
        compiler_fence(SeqCst);
        for counter in wanted.iter() {
            found.0[place(counter)] =
                page(open, counter, missing).and_then(|page| page.read(register));
        }
        compiler_fence(SeqCst);
        (*open).is_read = was_read;
    }
    found
}

/// The calling thread has none any more, until what is counted starts anew. Not while it reads one, which a handler of a signal has
/// interrupted: the next one does.
pub(crate) fn close() {
    let open = open_counters();
    // SAFETY: as above.
    unsafe {
        if (*open).tried == 0 || (*open).is_read != 0 {
            return;
        }
        for page in &(*open).pages {
            // At once: a handler that comes in between finds the page, or none, and may jump out for good.
            if let Some(page) = NonNull::new(page.swap(std::ptr::null_mut(), Relaxed)) {
                shim::close_counter(page.cast());
            }
        }
        compiler_fence(SeqCst);
        (*open).tried = 0;
    }
}

/// The thread ends: nothing reads any more, though a handler may have jumped out of a reading.
pub(crate) fn end() {
    // SAFETY: the calling thread's own variable, which no reference is to.
    unsafe {
        (*open_counters()).is_read = 0;
        // One that a handler has opened while all were closed is in no bit.
        (*open_counters()).tried = 1;
    }
    close();
}

/// The page of one of the calling thread's counters.
///
/// # Safety
/// `open` is the calling thread's, and says that a page is read until this one is used no more.
unsafe fn page<'a>(open: *mut Open, counter: Counter, missing: Missing) -> Option<&'a Page> {
    let at = place(counter);
    // SAFETY: the calling thread's own variable. A handler of a signal that comes in between finds it tried, and no page.
    unsafe {
        if (*open).tried & 1 << at == 0 {
            if missing == Missing::LeaveOut {
                return None;
            }
            (*open).tried |= 1 << at;
            let page = shim::open_counter(HARDWARE, event(counter));
            let page = page.map_or(std::ptr::null_mut(), |page| page.as_ptr().cast());
            // One is there where a handler of a signal has opened it while this thread closed all.
            if let Some(before) = NonNull::new((*open).pages[at].swap(page, Relaxed)) {
                shim::close_counter(before.cast());
            }
        }
        (*open).pages[at].load(Relaxed).as_ref()
    }
}

/// `PERF_TYPE_HARDWARE`.
const HARDWARE: u32 = 0;

/// The kernel's number of it, of `enum perf_hw_id`.
const fn event(counter: Counter) -> u64 {
    match counter {
        Counter::Instructions => 1,
        Counter::CacheMisses => 3,
        Counter::BranchMisses => 5,
        // `PERF_COUNT_HW_CPU_CYCLES`; those of the kernel are not opened.
        _ => 0,
    }
}

impl Page {
    /// What was counted so far; `register` reads one by its number. `None` while the event is on no register.
    fn read(&self, register: impl Fn(u32) -> Option<u64>) -> Option<u64> {
        loop {
            // Loads of memory that may not be written are relaxed by std's rules, so that fences order them.
            let lock = self.lock.load(Relaxed);
            // Acquire, as below: what is read in between is of the time at which the lock had this value.
            fence(Acquire);
            let index = self.index.load(Relaxed).checked_sub(1)?;
            if self.capabilities.load(Relaxed) & MAY_READ == 0 {
                return None;
            }
            let unused = u64::BITS.checked_sub(self.width.load(Relaxed).into())?;
            // Registers are signed, and narrower than a word.
            let own = (register(index)? as i64).checked_shl(unused)? >> unused;
            let count = self.offset.load(Relaxed).wrapping_add(own);
            fence(Acquire);
            if self.lock.load(Relaxed) == lock {
                return Some(count.cast_unsigned());
            }
        }
    }
}

/// A register of the processor, by its number; `None`: it is not known how to read it here.
fn register(number: u32) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        let (low, high): (u32, u32);
        // SAFETY: the kernel's page has just said that programs may, and that this one is there.
        unsafe {
            std::arch::asm!("rdpmc", in("ecx") number, out("eax") low, out("edx") high, options(nostack));
        }
        Some(u64::from(high) << 32 | u64::from(low))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = number;
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;

    fn fake(index: u32, offset: i64, capabilities: u64, width: u16) -> Page {
        Page {
            version: 0.into(),
            compatible: 0.into(),
            lock: 7.into(),
            index: index.into(),
            offset: offset.into(),
            enabled_ns: 0.into(),
            running_ns: 0.into(),
            capabilities: capabilities.into(),
            width: width.into(),
        }
    }

    #[test]
    fn a_count_is_the_register_and_what_the_kernel_adds() {
        let page = fake(3, 1_000, MAY_READ, 48);
        let at = |number| (number == 2).then_some(5);
        assert_eq!(page.read(at), Some(1_005));
        // The kernel sets it below zero, so that it overflows soon.
        assert_eq!(page.read(|_| Some((1 << 48) - 10)), Some(990));
        assert_eq!(page.read(|_| None), None);
    }

    #[test]
    fn what_is_on_no_register_or_may_not_be_read_has_no_count() {
        let never = |_| -> Option<u64> { panic!("no register may be read") };
        assert_eq!(fake(0, 9, MAY_READ, 48).read(never), None);
        assert_eq!(fake(1, 9, 0, 48).read(never), None);
        assert_eq!(fake(1, 9, MAY_READ, 65).read(never), None);
        assert_eq!(fake(1, 9, MAY_READ, 0).read(|_| Some(1)), None, "a register of no bits");
    }

    #[test]
    fn what_the_kernel_changes_meanwhile_is_read_again() {
        let (page, reads) = (fake(1, 100, MAY_READ, 48), Cell::new(0));
        let register = |_| {
            reads.set(reads.get() + 1);
            if reads.get() == 1 {
                // The thread was moved: the register begins anew, and the kernel keeps what was counted.
                page.offset.store(1_100, Relaxed);
                page.lock.store(8, Relaxed);
                return Some(1_000);
            }
            Some(3)
        };
        assert_eq!((page.read(register), reads.get()), (Some(1_103), 2));
    }

    /// Whether the calling thread can read it here: it is open, and on a register.
    pub(crate) fn can_read(counter: Counter) -> bool {
        let is_on = |page: &Page| {
            page.index.load(Relaxed) != 0 && page.capabilities.load(Relaxed) & MAY_READ != 0
        };
        // SAFETY: the calling thread's, which closes nothing meanwhile.
        let page = unsafe { page(open_counters(), counter, Missing::Open) };
        cfg!(target_arch = "x86_64") && page.is_some_and(is_on)
    }

    #[test]
    fn a_page_of_the_kernels_own_events_is_opened_read_and_closed() {
        // `PERF_COUNT_SW_TASK_CLOCK`: every machine has it, and no register.
        let Some(page) = shim::open_counter(1, 1) else {
            // The kernel lets this process have none: a container may be set up so.
            return;
        };
        // SAFETY: it was mapped just now, and is closed below.
        let own: &Page = unsafe { page.cast().as_ref() };
        assert_eq!(own.index.load(Relaxed), 0);
        assert!(own.width.load(Relaxed) <= 64);
        assert_eq!(own.read(|_| panic!("no register has it")), None);
        shim::close_counter(page);
    }

    #[test]
    fn what_is_closed_is_tried_again_where_something_starts() {
        let counters = Counters::of_mask(1 << Counter::Cycles as u8).expect("one");
        let tried = || {
            // SAFETY: the calling thread's own variable.
            unsafe { (*open_counters()).tried }
        };
        assert_eq!(read(counters, Missing::LeaveOut), Processor::default());
        assert_eq!(tried(), 0, "an end opens none");
        let first = read(counters, Missing::Open).of(Counter::Cycles).is_some();
        let is_x86 = u32::from(cfg!(target_arch = "x86_64"));
        assert_eq!((tried(), first), (is_x86, can_read(Counter::Cycles)), "and no other");
        // SAFETY: as above.
        unsafe { (*open_counters()).is_read = 1 };
        close();
        assert_ne!(tried(), 0, "a page is being read");
        // SAFETY: as above.
        unsafe { (*open_counters()).is_read = 0 };
        close();
        assert_eq!(tried(), 0);
        assert_eq!(read(counters, Missing::Open).of(Counter::Cycles).is_some(), first);
        close();
    }
}
