//! What one session has in the server.

use crate::server::Reached;
use std::collections::VecDeque;
use tailwater_core::Class;

/// Classes of a session's requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// In the order in which they were admitted.
    waiting: VecDeque<Class>,
    running: Vec<Class>,
}

impl Held {
    pub(super) fn join(&mut self, class: Class) {
        self.waiting.push_back(class);
    }

    /// The first that waits starts.
    pub(super) fn start(&mut self) -> Option<Class> {
        let class = self.waiting.pop_front()?;
        self.running.push(class);
        Some(class)
    }

    /// One of the class ended that had come so far. Returns how far it had come by this account: another was
    /// taken for it where a guard let one in that was refused.
    pub(super) fn end(&mut self, class: Class, reached: Reached) -> Option<Reached> {
        let waiting = self.waiting.iter().position(|held| *held == class);
        let running = self.running.iter().position(|held| *held == class);
        match (waiting, running) {
            (Some(place), None) => self.remove_waiting(place),
            (Some(place), Some(_)) if reached == Reached::Queue => self.remove_waiting(place),
            (_, Some(place)) => {
                self.running.swap_remove(place);
                Some(Reached::Start)
            }
            (None, None) => None,
        }
    }

    fn remove_waiting(&mut self, place: usize) -> Option<Reached> {
        self.waiting.remove(place);
        Some(Reached::Queue)
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = Class> {
        self.waiting.iter().copied()
    }

    pub(super) fn running(&self) -> impl Iterator<Item = Class> {
        self.running.iter().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::MethodId;

    const A: Class = Class::of(MethodId(1));
    const B: Class = Class::of(MethodId(2));

    /// Two of one class wait behind another that runs.
    fn held() -> Held {
        let mut held = Held::default();
        assert!(held.is_empty());
        [A, B, A].into_iter().for_each(|class| held.join(class));
        assert_eq!(held.start(), Some(A));
        assert_eq!(held.waiting().collect::<Vec<_>>(), [B, A]);
        assert_eq!(held.running().collect::<Vec<_>>(), [A]);
        held
    }

    #[test]
    fn an_end_takes_one_that_has_come_as_far() {
        let mut held = held();
        assert_eq!(held.end(A, Reached::Queue), Some(Reached::Queue));
        assert_eq!(held.waiting().collect::<Vec<_>>(), [B]);
        assert_eq!(held.end(A, Reached::Start), Some(Reached::Start));
        assert_eq!(held.end(A, Reached::Start), None, "there is none of its class");
        assert!(!held.is_empty());
        assert_eq!(held.end(B, Reached::Queue), Some(Reached::Queue));
        assert!(held.is_empty());
        assert_eq!(held.start(), None);
    }

    /// A guard let one in that was refused, so that another is taken for it.
    #[test]
    fn where_none_has_come_as_far_another_of_its_class_is_taken() {
        let mut held = held();
        assert_eq!(held.end(B, Reached::Start), Some(Reached::Queue));
        assert_eq!(held.end(A, Reached::Start), Some(Reached::Start));
        held.start();
        assert!(!held.is_empty(), "one runs and none waits");
        assert_eq!(held.end(A, Reached::Queue), Some(Reached::Start));
        assert!(held.is_empty());
    }
}
