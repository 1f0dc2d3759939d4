//! What the wake protocol is made of: the standard library's atomics and crossbeam's queue, or loom's
//! atomics and a queue under a mutex when loom models it.

#[cfg(not(loom))]
mod real {
    pub(crate) use crossbeam_queue::SegQueue as Queue;
    pub(crate) use std::sync::Mutex;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
}

#[cfg(loom)]
mod real {
    pub(crate) use loom::sync::Mutex;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    use std::collections::VecDeque;

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
}

pub(crate) use real::*;
