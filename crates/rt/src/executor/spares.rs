//! The boxes that futures live in, and how many of them are kept for the next.

use std::pin::Pin;
use tailwater_core::caught;

/// A pinned place for one future at a time.
pub(super) struct Body<F>(Pin<Box<Option<F>>>);

impl<F> Body<F> {
    pub(super) fn future(&mut self) -> Option<Pin<&mut F>> {
        self.0.as_mut().as_pin_mut()
    }

    /// Drops the future. A panic of its destructor ends here.
    pub(super) fn clear(&mut self) {
        let place = self.0.as_mut();
        // The answer or the cancellation stands, whatever the destructor did; the panic hook has spoken.
        let _ = caught(|| { place }.set(None));
    }
}

/// Where an executor ends with its tasks in it.
impl<F> Drop for Body<F> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Boxes without a future. There are at most as many as tasks wait, or [`SPARE`] if those are fewer:
/// after a burst the memory is given back while its tasks end, two boxes for each.
pub(super) struct Spares<F>(Vec<Body<F>>);

/// Boxes that are kept even if nothing waits. A loop starts handlers one after the other and most never
/// wait, so one box serves; 64 let as many begin to wait at once without an allocation.
pub(super) const SPARE: usize = 64;

impl<F> Spares<F> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Puts a future into a box, a new one if there is no spare one.
    pub(super) fn place(&mut self, future: F) -> Body<F> {
        let mut body = self.0.pop().unwrap_or_else(|| Body(Box::pin(None)));
        body.0.as_mut().set(Some(future));
        body
    }

    /// Takes back a box that was cleared, when so many tasks are left.
    pub(super) fn give_back(&mut self, body: Body<F>, live: usize) {
        self.0.push(body);
        self.0.truncate(live.max(SPARE));
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
