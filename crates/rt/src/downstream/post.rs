//! A thread's way to the crew, and what is known of a call that went by it.

use super::crew::{Crew, Leg};
use super::home::{Countdown, Home};
use crate::bell::Doorbell;
use crate::poll::EventBell;
use std::sync::Arc;

/// The crew, and where a thread hears from it.
pub(crate) struct Post {
    pub(super) crew: Arc<Crew>,
    pub(super) home: Arc<Home>,
    /// The thread's number among all that have handlers.
    pub(super) number: usize,
}

/// One call that the crew has, or is about to.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) leg: Arc<Leg>,
    pub(super) count: Arc<Countdown>,
}

impl Post {
    /// `thread` ends the thread's sleep, and `held` its sleep while a handler holds it.
    pub(super) fn new(
        crew: Arc<Crew>,
        thread: Arc<Doorbell>,
        held: EventBell,
        number: usize,
    ) -> Self {
        Self { crew, home: Arc::new(Home::new(thread, held)), number }
    }

    /// Takes back a call that is not wanted any more, nor any other of its leg.
    pub(super) fn recall(&self, sent: &Sent) {
        self.crew.recall(&sent.leg);
    }

    /// Takes a call back, and with it all of its leg. False if a member has begun it.
    pub(super) fn revoke(&self, sent: &Sent) -> bool {
        let is_back = self.crew.revoke(&sent.leg);
        if is_back {
            // No ring: this is the home's own thread, which looks once more before it sleeps.
            sent.count.count_off();
        }
        is_back
    }
}
