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
