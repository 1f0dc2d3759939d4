//! What the wake protocol is made of: the standard library's atomics and crossbeam's queue, or loom's
//! atomics and a queue under a mutex when loom models it.

#[cfg(not(loom))]
mod real {
    pub(crate) use crossbeam_queue::{ArrayQueue, SegQueue as Queue};
    pub(crate) use std::sync::Mutex;
    use std::sync::atomic::Ordering::SeqCst;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, fence,
    };

    /// The word as it is in the one order of all sequentially consistent operations.
    pub(crate) fn latest(word: &AtomicIsize) -> isize {
        // One order with all others: what it pairs with stands at its users.
        word.load(SeqCst)
    }
}

#[cfg(loom)]
mod real {
    pub(crate) use loom::sync::Mutex;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    use std::collections::VecDeque;
    use std::sync::atomic::Ordering::SeqCst;

    /// A change of nothing: loom's loads may miss what was stored before them, as sequentially consistent ones may not.
    pub(crate) fn latest(word: &AtomicIsize) -> isize {
        // As above.
        word.fetch_or(0, SeqCst)
    }

    /// Orders more than crossbeam's queue does: each operation after the one before it. So a model cannot
    /// find a fault that lies between two of them; what is needed of the real queue stands at its users.
    pub(crate) struct Queue<T>(Mutex<VecDeque<T>>);

    impl<T> Queue<T> {
        pub(crate) fn new() -> Self {
            Self(Mutex::new(VecDeque::new()))
        }

        pub(crate) fn push(&self, item: T) {
            self.0.lock().expect("nothing panics under it").push_back(item);
        }

        pub(crate) fn pop(&self) -> Option<T> {
            self.0.lock().expect("nothing panics under it").pop_front()
        }

        pub(crate) fn is_empty(&self) -> bool {
            self.len() == 0
        }

        pub(crate) fn len(&self) -> usize {
            self.0.lock().expect("nothing panics under it").len()
        }
    }

    /// The same with a number of slots.
    pub(crate) struct ArrayQueue<T> {
        all: Queue<T>,
        slots: usize,
    }

    impl<T> ArrayQueue<T> {
        pub(crate) fn new(slots: usize) -> Self {
            Self { all: Queue::new(), slots }
        }

        pub(crate) fn push(&self, item: T) -> Result<(), T> {
            let mut all = self.all.0.lock().expect("nothing panics under it");
            if all.len() == self.slots {
                return Err(item);
            }
            all.push_back(item);
            Ok(())
        }

        pub(crate) fn pop(&self) -> Option<T> {
            self.all.pop()
        }

        pub(crate) fn is_empty(&self) -> bool {
            self.all.is_empty()
        }
    }
}

pub(crate) use real::*;
