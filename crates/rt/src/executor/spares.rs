//! The boxes that futures live in, and how many of them are kept for the next.

use std::pin::Pin;
use tailwater_core::caught;

/// A pinned place for one future at a time.
pub(super) struct Body<F>(Pin<Box<Option<F>>>);

impl<F> Body<F> {
    /// Puts a future into the place, which is empty.
    pub(super) fn put(&mut self, future: F) {
        self.0.as_mut().set(Some(future));
    }

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

/// Boxes without a future. At the end of each [`WINDOW`] as many are kept as the tasks that were there at once within
/// it need. [`SPARE`] are kept if that is more. So a load that comes and goes finds its boxes
/// again, and after a burst the memory is given back. A window gives back at most as many boxes as tasks
/// ended in it, so no turn frees many at once.
pub(super) struct Spares<F> {
    boxes: Vec<Body<F>>,
    /// Of the present window: the tasks that have ended, and the most that were there at once.
    ended: usize,
    most: usize,
}

/// Boxes that are kept even if nothing waits. A loop starts handlers one after the other and most never
/// wait, so one box serves; 64 let as many begin to wait at once without an allocation.
pub(super) const SPARE: usize = 64;

/// Tasks that end until boxes are given back again. Longer than the swings of a steady load, and a
/// thousand boxes are freed in less than a turn may take.
pub(super) const WINDOW: usize = 1_024;

impl<F> Spares<F> {
    pub(super) const fn new() -> Self {
        Self { boxes: Vec::new(), ended: 0, most: 0 }
    }

    /// An empty box, a new one if there is no spare one.
    pub(super) fn take(&mut self) -> Body<F> {
        self.boxes.pop().unwrap_or_else(|| Body(Box::pin(None)))
    }

    /// Takes back the box of a task that has ended, when so many others are left.
    pub(super) fn give_back(&mut self, body: Body<F>, live: usize) {
        self.boxes.push(body);
        self.most = self.most.max(live + 1);
        self.ended += 1;
        if self.ended == WINDOW {
            self.boxes.truncate(self.most.max(SPARE).saturating_sub(live));
            (self.ended, self.most) = (0, live);
        }
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.boxes.len()
    }
}
