//! What a thread holds.

use super::graph::{Named, Tag, note};
use std::cell::RefCell;

thread_local! {
    static HELD: RefCell<Vec<Named>> = const { RefCell::new(Vec::new()) };
}

impl Tag {
    /// # Panics
    ///
    /// If this thread holds the lock already, or it was taken elsewhere before one that this thread
    /// holds.
    pub(crate) fn before_wait(&self) {
        let held = HELD.try_with(|held| held.borrow().clone()).unwrap_or_default();
        note(self.named(), &held, "thread").unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn acquired(&self) {
        // A thread that ends has no list any more.
        let _ = HELD.try_with(|held| held.borrow_mut().push(self.named()));
    }

    pub(crate) fn released(&self) {
        let (number, _) = self.named();
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(at) = held.iter().rposition(|one| one.0 == number) {
                held.remove(at);
            }
        });
    }
}
