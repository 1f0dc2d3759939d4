//! The calls of a thread's handlers have their turns: between two handlers, or while one holds the thread for its own.

use super::TierConfig;
use super::away::Away;
use super::crew::Crew;
use super::desk::Desk;
use super::errands::Errands;
use super::install;
use super::post::Post;
use super::stage::{CREW, Stage};
use crate::bell::Doorbell;
use crate::executor::{add_held, held};
use crate::poll::{EventBell, Interest, Poller, Readiness};
use crate::time::now;
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_core::threads::Completion;
use tailwater_sync::budget::exempt;

/// A thread's way to its tiers, before it is on the thread.
pub(crate) struct Trunk {
    /// A part of the thread's own.
    poller: Poller,
    /// Where it hears from the crew, and the bell that ends its sleep for that.
    post: Option<(Post, EventBell)>,
}

impl Trunk {
    /// # Errors
    /// When the system is out of descriptors or memory.
    pub(crate) fn new(whole: &Poller) -> Result<Self, Errno> {
        Ok(Self { poller: whole.part()?, post: None })
    }

    /// The same with a crew that may make the calls. `thread` ends the thread's sleep; `number` is its own among all
    /// that have handlers.
    ///
    /// # Errors
    /// As [`Trunk::new`].
    pub(crate) fn with_crew(
        mut self,
        crew: &Arc<Crew>,
        thread: Arc<Doorbell>,
        number: usize,
    ) -> Result<Self, Errno> {
        let bell = EventBell::new()?;
        self.poller.add(&bell, CREW, Interest::READ)?;
        self.post = Some((Post::new(crew.clone(), thread, bell.clone(), number), bell));
        Ok(self)
    }
}

/// What a loop or a worker has of its tiers.
pub(crate) struct Downstream {
    desk: Rc<Desk>,
    turns: Rc<Turns>,
}

/// How long a handler may hold its thread while it waits for its calls. After that they go on asynchronously.
pub(crate) struct Hold {
    /// With all of its fans together.
    pub(crate) longest: Duration,
    /// The thread is needed for something else: the server ends, or a request is to be cancelled.
    pub(crate) is_called: Box<dyn Fn(Instant) -> bool>,
}

/// The turns of one thread's calls.
pub(super) struct Turns {
    stage: RefCell<Stage>,
    hold: Hold,
    /// What handlers that held the thread slept since it was asked.
    slept: Cell<Duration>,
}

impl Downstream {
    /// Makes the tiers those of the thread's handlers.
    pub(crate) fn install(tiers: &[TierConfig], trunk: Trunk, hold: Hold) -> Self {
        let (post, bell) = trunk.post.unzip();
        let desk = Rc::new(Desk::new(tiers, post));
        let stage = RefCell::new(Stage::new(tiers, desk.clone(), trunk.poller, bell));
        let turns = Rc::new(Turns { stage, hold, slept: Cell::default() });
        install(desk.clone(), Rc::downgrade(&turns));
        Self { desk, turns }
    }

    /// Sets what waits for the calls of the fans that are first polled from now on.
    pub(crate) fn set_completion(&self, completion: Completion) {
        self.desk.set_completion(completion);
    }

    /// Whether a handler that is polled now may hold the thread.
    pub(crate) fn may_be_held(&self) -> bool {
        self.desk.completion().is_sync()
    }

    /// For the calls of other threads' handlers.
    pub(crate) fn errands(&self) -> Errands {
        Errands::new(self.desk.clone())
    }

    /// How many sources the poller may tell of.
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

    /// When that was done last, by whomever.
    pub(crate) fn looked(&self) -> Instant {
        self.turns.stage.borrow().looked()
    }

    /// Sends what handlers have asked, ends calls, and wakes the handlers that have what they need. True if
    /// there was something to do.
    pub(crate) fn turn(&self, time: Instant) -> bool {
        self.turns.turn(&self.desk, time)
    }

    /// Handlers or the crew have left something since the last turn.
    pub(crate) fn has_work(&self) -> bool {
        !self.desk.is_empty() || self.desk.away().is_some_and(Away::has_returned)
    }

    /// When a turn is due at the latest.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let away = self.desk.away().and_then(Away::next_due);
        [self.turns.stage.borrow().next_due(), away].into_iter().flatten().min()
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
        drop(self.desk.away().map(Away::take_all));
        self.desk.notes().wake();
    }
}

impl Turns {
    /// Holds the thread until `is_done`, for as long as [`Hold`] lets the handler that is being polled. The calls of the
    /// thread's other handlers go on meanwhile; the handlers do not.
    pub(super) fn hold(&self, desk: &Desk, is_done: impl Fn() -> bool) {
        let left = self.hold.longest.saturating_sub(held());
        if !left.is_zero() {
            let began = now();
            // What is told or dropped meanwhile may be another request's: it has no part in this one's budget and locks.
            exempt(|| self.wait(desk, began, left, is_done));
            add_held(now().since(began));
        }
    }

    fn wait(&self, desk: &Desk, began: Instant, longest: Duration, is_done: impl Fn() -> bool) {
        loop {
            let time = now();
            self.turn(desk, time);
            let is_over = time.since(began) >= longest || (self.hold.is_called)(time);
            if is_done() || is_over {
                return;
            }
            // As in `turn`.
            let Ok(mut stage) = self.stage.try_borrow_mut() else { return };
            let slept = match desk.away() {
                None => stage.nap(None),
                Some(away) => away.sleep(|| stage.nap(away.next_due())),
            };
            self.slept.set(self.slept.get() + slept);
        }
    }

    fn turn(&self, desk: &Desk, time: Instant) -> bool {
        let returned = desk.away().is_some_and(|away| away.collect(time));
        // The stage is taken where a payload that is dropped in a turn polls a fan: that fan is asynchronous.
        let worked =
            self.stage.try_borrow_mut().is_ok_and(|mut stage| stage.turn(time)) || returned;
        if worked {
            desk.notes().wake();
        }
        worked
    }
}
