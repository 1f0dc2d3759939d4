//! The requests for which a thread works, in the order in which it began them.

use std::cell::RefCell;
use std::num::NonZeroU64;

/// As many as the profiler's runtime remembers of a thread for `tw_req_end_all`. Of more, those that began first are
/// forgotten: until they begin again, the thread's calls and pauses are of none of them.
const MOST: usize = 32;

thread_local! {
    static WORKING: RefCell<Working> =
        const { RefCell::new(Working { numbers: [0; MOST], count: 0 }) };
}

/// Each number is there once, and leaves by itself wherever it stands. A request that kept the number of the one before to
/// come back to it would bring back one that has ended meanwhile.
///
/// A number leaves by its own thread alone. Where another one ends the request, it stays here until the list is full.
struct Working {
    numbers: [u64; MOST],
    count: usize,
}

/// The thread works for this request from now on.
pub(crate) fn begin(number: NonZeroU64) {
    on_list(|it| it.begin(number.get()));
}

/// It stops working for it.
pub(crate) fn end(number: NonZeroU64) {
    on_list(|it| it.end(number.get()));
}

/// The one that it began last.
pub(crate) fn last() -> Option<NonZeroU64> {
    on_list(|it| it.last())
}

/// Whether it works for this request.
pub(crate) fn has(number: NonZeroU64) -> bool {
    on_list(|it| it.place(number.get()).is_some())
}

fn on_list<T: Default>(what: impl FnOnce(&mut Working) -> T) -> T {
    // A thread that ends works for none any more.
    WORKING.try_with(|it| what(&mut it.borrow_mut())).unwrap_or_default()
}

impl Working {
    fn begin(&mut self, number: u64) {
        // It is there already where another thread has said that the request waits.
        self.end(number);
        if self.count == MOST {
            self.end(self.numbers[0]);
        }
        self.numbers[self.count] = number;
        self.count += 1;
    }

    fn end(&mut self, number: u64) {
        if let Some(place) = self.place(number) {
            self.numbers.copy_within(place + 1..self.count, place);
            self.count -= 1;
        }
    }

    fn last(&self) -> Option<NonZeroU64> {
        self.numbers[..self.count].last().copied().and_then(NonZeroU64::new)
    }

    fn place(&self, number: u64) -> Option<usize> {
        // Nearly always it is the last one.
        self.numbers[..self.count].iter().rposition(|&it| it == number)
    }
}
