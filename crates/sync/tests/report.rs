//! What the report of the most contended locks costs where there are many names. In a process of its own:
//! the names of other tests would be among them, and their allocations counted.

#![cfg(not(loom))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use tailwater_sync::task::Mutex;
use tailwater_sync::{report, report_top};

/// Counts the bytes that were asked for.
struct Counting(AtomicUsize);

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the same promises to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATED: Counting = Counting(AtomicUsize::new(0));

/// Makes one wait at the lock and get it.
fn wait_at(lock: &Mutex<()>) {
    let mut context = Context::from_waker(Waker::noop());
    let held = lock.try_lock().expect("it is free");
    let mut waiting = pin!(lock.lock());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    drop(held);
    assert!(waiting.poll(&mut context).is_ready());
}

/// Defect A20: to tell 32 locks of 2,000, all were copied, a histogram of 2.4 KB each, and sorted.
#[test]
fn the_top_is_that_of_the_whole_report_and_costs_no_copy_of_the_rest() {
    for number in 0..2_000 {
        let lock = Mutex::named(&format!("lock {number}"), ());
        if number % 3 == 0 {
            wait_at(&lock);
        }
    }
    let whole = report();
    assert_eq!(whole.len(), 2_000);
    assert!(whole.is_sorted_by_key(|lock| (std::cmp::Reverse(lock.wait_total), lock.name)));
    for most in [0, 1, 32, 1_999, 2_000, 2_001] {
        assert_eq!(report_top(most), whole[..most.min(2_000)], "{most}");
    }
    let before = ALLOCATED.0.load(Ordering::Relaxed);
    let top = report_top(32);
    let bytes = ALLOCATED.0.load(Ordering::Relaxed) - before;
    assert_eq!(top.len(), 32);
    assert!(bytes < 300_000, "{bytes} bytes to tell {} locks", top.len());
}
