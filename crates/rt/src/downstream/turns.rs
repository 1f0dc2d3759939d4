//! The calls of a thread's handlers have their turns: between two handlers, or while one holds the thread for its own.

use super::TierConfig;
use super::desk::Desk;
use super::install_desk;
use super::stage::Stage;
use crate::poll::{Poller, Readiness};
use crate::time::now;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_core::threads::Completion;

/// What a loop or a worker has of its tiers.
pub(crate) struct Downstream {
    desk: Rc<Desk>,
    turns: Rc<Turns>,
}

/// How long a handler may hold its thread while it waits for its calls. After that they go on asynchronously.
pub(crate) struct Hold {
    pub(crate) longest: Duration,
    /// The thread is needed for something else: the server ends, or a request is to be cancelled.
    pub(crate) is_called: Box<dyn Fn(Instant) -> bool>,
}

/// See the module's words.
pub(super) struct Turns {
    stage: RefCell<Stage>,
    hold: Hold,
    /// What handlers that held the thread slept since it was asked.
    slept: Cell<Duration>,
}

impl Downstream {
    /// Makes the tiers those of the thread's handlers. `poller` is a part of the thread's own.
    pub(crate) fn install(tiers: &[TierConfig], poller: Poller, hold: Hold) -> Self {
        let desk = Rc::new(Desk::new(tiers));
        let stage = RefCell::new(Stage::new(tiers, desk.clone(), poller));
        let turns = Rc::new(Turns { stage, hold, slept: Cell::default() });
        desk.has_turns_by(&turns);
        install_desk(desk.clone());
        Self { desk, turns }
    }

    /// Who waits for the calls of the fans that are first polled from now on.
    pub(crate) fn set_completion(&self, completion: Completion) {
        self.desk.set_completion(completion);
    }

    /// How many sockets the poller may tell of.
    pub(crate) fn sockets(&self) -> usize {
        self.turns.stage.borrow().sockets()
    }

    /// The poller says something of a channel.
    pub(crate) fn on_ready(&self, time: Instant, readiness: Readiness) {
        self.turns.stage.borrow_mut().on_ready(time, readiness);
    }

    /// Takes what the channels have now, where the thread's own poller was not asked.
    pub(crate) fn look(&self) {
        self.turns.stage.borrow_mut().look();
    }

    /// Sends what handlers have asked, ends calls, and wakes the handlers that have what they need. True if
    /// there was something to do.
    pub(crate) fn turn(&self, time: Instant) -> bool {
        self.turns.turn(&self.desk, time)
    }

    /// Handlers have left something since the last turn.
    pub(crate) fn has_work(&self) -> bool {
        !self.desk.is_empty()
    }

    /// When a turn is due at the latest.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.turns.stage.borrow().next_due()
    }

    /// How long handlers that held the thread have slept since this was asked last.
    pub(crate) fn take_slept(&self) -> Duration {
        self.turns.slept.take()
    }
}

/// Calls that were left and not taken would keep the desk, and it them; so may wakers.
impl Drop for Downstream {
    fn drop(&mut self) {
        drop(self.desk.take_all_orders());
        self.desk.wake();
    }
}

impl Turns {
    /// Holds the thread until `is_done`, for as long as [`Hold`] lets it. The calls of the thread's other handlers go
    /// on meanwhile; the handlers do not.
    pub(super) fn hold(&self, desk: &Desk, is_done: impl Fn() -> bool) {
        let began = now();
        loop {
            let time = now();
            self.turn(desk, time);
            let is_over = time.since(began) >= self.hold.longest || (self.hold.is_called)(time);
            if is_done() || is_over {
                return;
            }
            // As in `turn`.
            let Ok(mut stage) = self.stage.try_borrow_mut() else { return };
            self.slept.set(self.slept.get() + stage.nap());
        }
    }

    fn turn(&self, desk: &Desk, time: Instant) -> bool {
        // The stage is taken where a payload that is dropped in a turn polls a fan: that fan is asynchronous.
        let worked = self.stage.try_borrow_mut().is_ok_and(|mut stage| stage.turn(time));
        if worked {
            desk.wake();
        }
        worked
    }
}
