//! What travels with a handler, on a loop and at a worker alike.

use crate::executor::Meta;
use tailwater_core::Instant;
use tailwater_marks::Mark;
use tailwater_sync::budget::TaskBudget;

pub(super) struct Rider<K> {
    /// Which flight it is.
    pub(super) flight: K,
    pub(super) started: Instant,
    pub(super) budget: Option<Box<TaskBudget>>,
    /// Tells a profiler of it.
    pub(super) mark: Mark,
}

impl<K> Meta for Rider<K> {
    fn budget(&mut self) -> Option<&mut TaskBudget> {
        self.budget.as_deref_mut()
    }

    fn works(&mut self) {
        self.mark.works();
    }

    fn waits(&mut self) {
        self.mark.waits();
    }
}
