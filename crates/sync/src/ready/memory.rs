//! Memory of atomics: this process's own, or a part of a mapping that other processes have too.
//!
//! # The rules
//!
//! 1. The items are a box that this value alone frees, or they lie in what its keeper keeps.
//! 2. Items that others can write are made of atomics, for which any bytes are valid. All access is by these.

use std::any::Any;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

pub(super) struct Memory<T> {
    items: NonNull<[T]>,
    /// What they lie in. `None`: in a box of their own.
    keeper: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: it is a box or a shared borrow, and those may go where `T` and references to it may.
unsafe impl<T: Send + Sync> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Memory<T> {}

impl<T> Memory<T> {
    pub(super) fn own(items: impl Iterator<Item = T>) -> Self {
        let items: Box<[T]> = items.collect();
        Self { items: NonNull::from(Box::leak(items)), keeper: None }
    }

    /// # Safety
    ///
    /// The items lie in what the keeper keeps, aligned, and rule 2 holds for `T`.
    #[cfg(not(loom))]
    pub(super) unsafe fn kept(items: NonNull<[T]>, keeper: Arc<dyn Any + Send + Sync>) -> Self {
        Self { items, keeper: Some(keeper) }
    }
}

impl<T> Deref for Memory<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: rules 1 and 2.
        unsafe { self.items.as_ref() }
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        if self.keeper.is_none() {
            // SAFETY: rule 1; `own` leaked this box.
            drop(unsafe { Box::from_raw(self.items.as_ptr()) });
        }
    }
}
