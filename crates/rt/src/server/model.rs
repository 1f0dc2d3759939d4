//! The server's threading model, which may change while it serves.
//!
//! # The protocol
//!
//! 1. The thread that changes the model stores it, sizes the pool of workers and the crew, raises the epoch, and
//!    rings for all threads.
//! 2. A loop looks at the epoch at the top of each turn, and once more before it sleeps. From the turn on in which
//!    it finds another, requests *begin* by the new model. A worker looks before each request that it begins.
//! 3. What has begun ends where it is: on its loop or with its worker, its calls with the thread that sent them or with
//!    the member of the crew that has them. A fan's calls are made and awaited by the completion of the moment in
//!    which it is first polled. What waits for a crew that becomes smaller is served
//!    by all of its members.
//!
//! So no request is lost or served twice: nothing moves but the decision where the next one begins.

use crate::config::{Reception, ServerConfig};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tailwater_core::threads::Model;

pub(crate) struct Models {
    present: Mutex<Model>,
    /// How often it was changed.
    epoch: AtomicU64,
    /// Of each loop: the epoch whose model it follows.
    followed: Vec<AtomicU64>,
}

impl Models {
    pub(super) fn new(first: Model, loops: usize) -> Self {
        let followed = (0..loops).map(|_| AtomicU64::new(0)).collect();
        Self { present: Mutex::new(first), epoch: AtomicU64::new(0), followed }
    }

    pub(super) fn present(&self) -> Model {
        // Nothing panics under the lock.
        *self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it; `prepare` comes before any thread follows. Of several that change it at once, one comes after
    /// the other.
    pub(super) fn change(&self, model: Model, prepare: impl FnOnce()) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        *present = model;
        prepare();
        // Before the doorbells are looked at: the publishing of rule 2 in `bell.rs`.
        self.epoch.fetch_add(1, SeqCst);
    }

    /// The epoch of the present model.
    pub(crate) fn epoch(&self) -> u64 {
        // A sleeper asks after it lay down: the look for work of rule 1 in `bell.rs`.
        self.epoch.load(SeqCst)
    }

    /// The model to follow from now on and its epoch, if that is another than `epoch`.
    pub(crate) fn news(&self, epoch: u64) -> Option<(u64, Model)> {
        if self.epoch() == epoch {
            return None;
        }
        // One lock for both: they belong together.
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        Some((self.epoch(), *present))
    }

    /// A loop follows the model of this epoch.
    pub(super) fn follows(&self, index: usize, epoch: u64) {
        // What the loop begins by the new model comes after this: see `is_followed`.
        self.followed[index].store(epoch, SeqCst);
    }

    /// A loop has ended: it follows every model.
    pub(super) fn ends(&self, index: usize) {
        self.follows(index, u64::MAX);
    }

    /// Every loop that runs follows the present model.
    pub(super) fn is_followed(&self) -> bool {
        let epoch = self.epoch();
        // Pairs with `follows`.
        self.followed.iter().all(|followed| followed.load(SeqCst) >= epoch)
    }
}

/// What a loop does by the model that it follows.
#[derive(Default, Debug)]
pub(super) struct Followed {
    epoch: u64,
    reception: Reception,
    tasks_per_connection: usize,
}

impl Followed {
    pub(super) fn new(epoch: u64, model: Model, config: &ServerConfig) -> Self {
        let tasks_per_connection = config.tasks_of_one(model);
        Self { epoch, reception: model.reception, tasks_per_connection }
    }

    /// That of the model.
    pub(super) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Most handlers of one connection.
    pub(super) const fn tasks_per_connection(&self) -> usize {
        self.tasks_per_connection
    }

    /// Whether a loop that has been idle for so long looks again before it sleeps.
    pub(super) fn spins(&self, idle: Duration) -> bool {
        match self.reception {
            Reception::Poll => true,
            Reception::SpinThenBlock(budget) => idle < budget,
            Reception::Block => false,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_polls_never_sleeps_and_one_that_spins_does_when_its_budget_is_spent() {
        let us = Duration::from_micros;
        let spins = |reception| {
            let model = Model { reception, ..Model::default() };
            let followed = Followed::new(1, model, &ServerConfig::default());
            [us(0), us(19), us(20), us(1_000)].map(|idle| followed.spins(idle))
        };
        assert_eq!(spins(Reception::Block), [false; 4]);
        assert_eq!(spins(Reception::SpinThenBlock(us(20))), [true, true, false, false]);
        assert_eq!(spins(Reception::Poll), [true; 4]);
    }

    #[test]
    fn a_change_is_news_once_and_followed_when_all_loops_say_so() {
        let models = Models::new(Model::default(), 2);
        assert!(models.is_followed() && models.news(0).is_none());
        let model: Model = "sdb:4".parse().unwrap();
        models.change(model, || {});
        assert_eq!((models.news(0), models.news(1)), (Some((1, model)), None));
        models.follows(0, 1);
        assert!(!models.is_followed());
        models.follows(1, 1);
        assert!(models.is_followed());
        models.change(Model::default(), || {});
        models.follows(0, 2);
        models.ends(1);
        assert!(models.is_followed(), "a loop that has ended keeps nobody waiting");
    }
}
