//! The calls of a thread's handlers have their turns: between two handlers, or while one waits for its own.

use super::TierConfig;
use super::desk::Desk;
use super::install_desk;
use super::stage::Stage;
use crate::poll::{Poller, Readiness};
use crate::time::now;
use std::cell::RefCell;
use std::rc::Rc;
use tailwater_core::Instant;
use tailwater_core::threads::Completion;

/// What a loop or a worker has of its tiers.
pub(crate) struct Downstream {
    desk: Rc<Desk>,
    driver: Rc<Driver>,
}

/// See the module's words.
pub(super) struct Driver {
    /// Not borrowed while foreign code runs.
    stage: RefCell<Stage>,
    /// The server has no patience left: nothing is waited for any more.
    is_over: Box<dyn Fn(Instant) -> bool>,
}

impl Downstream {
    /// Makes the tiers those of the thread's handlers. `poller` is a part of the thread's own. `is_over` says
    /// whether a handler that waits for its calls must come to an end.
    pub(crate) fn install(
        tiers: &[TierConfig],
        poller: Poller,
        is_over: impl Fn(Instant) -> bool + 'static,
    ) -> Self {
        let desk = Rc::new(Desk::new(tiers));
        let stage = RefCell::new(Stage::new(tiers, desk.clone(), poller));
        let driver = Rc::new(Driver { stage, is_over: Box::new(is_over) });
        desk.is_driven_by(&driver);
        install_desk(desk.clone());
        Self { desk, driver }
    }

    /// Who waits for the calls of the fans that are made from now on.
    pub(crate) fn set_completion(&self, completion: Completion) {
        self.desk.set_completion(completion);
    }

    /// How many sockets the poller may tell of.
    pub(crate) fn sockets(&self) -> usize {
        self.driver.stage.borrow().sockets()
    }

    /// The poller says something of a channel.
    pub(crate) fn on_ready(&self, time: Instant, readiness: Readiness) {
        self.driver.stage.borrow_mut().on_ready(time, readiness);
    }

    /// Takes what the channels have now, where the thread's own poller was not asked.
    pub(crate) fn look(&self) {
        self.driver.stage.borrow_mut().look();
    }

    /// Sends what handlers have asked, ends calls, and wakes the handlers that have what they need. True if
    /// there was something to do.
    pub(crate) fn turn(&self, time: Instant) -> bool {
        self.driver.turn(&self.desk, time)
    }

    /// Handlers have left something since the last turn.
    pub(crate) fn has_work(&self) -> bool {
        !self.desk.is_empty()
    }

    /// When a turn is due at the latest.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.driver.stage.borrow().next_due()
    }
}

/// Calls that were left and not taken would keep the desk, and it them; so may wakers.
impl Drop for Downstream {
    fn drop(&mut self) {
        drop(self.desk.take_orders());
        self.desk.wake();
    }
}

impl Driver {
    /// Holds the thread until `is_done`, or the server has no patience left: then it was not done. The calls of
    /// the thread's other handlers go on meanwhile.
    pub(super) fn wait(&self, desk: &Desk, is_done: impl Fn() -> bool) {
        loop {
            let time = now();
            self.turn(desk, time);
            if is_done() || (self.is_over)(time) {
                return;
            }
            self.stage.borrow_mut().nap();
        }
    }

    fn turn(&self, desk: &Desk, time: Instant) -> bool {
        let worked = self.stage.borrow_mut().turn(time);
        if worked {
            desk.wake();
        }
        worked
    }
}
