//! What a scenario's server serves and what its clients ask for: the hook for services of all kinds.
//!
//! An [`Application`] is both ends of one service. A [`Kind`] names it, lists its settings and makes it
//! from what a scenario says; programs keep a list of kinds. Server and load generator make the same
//! application from the same scenario, each in a process of its own.

mod settings;

pub use settings::{BadSetting, Setting, Settings};

use crate::work::Spinner;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{MethodId, Rng};
use tailwater_rt::{LockRules, Router};
use tailwater_workload::scenario::{Path, Tier};
use tailwater_workload::{Distribution, Service, Work};

/// Both ends of a service: what is served, what is asked, and whether an answer answers it.
pub trait Application: Send + Sync {
    /// The server's methods, with everything that they need loaded. Called once in a process.
    ///
    /// # Errors
    /// A sentence for the operator when it cannot serve here, such as too little memory.
    fn router(&self, place: &Place) -> Result<Router, String>;

    /// A request. Everything about it is decided by `order`, so that all controllers are offered the
    /// same ones. Called by the generator between two sends: take well under a microsecond.
    fn ask(&self, order: &Order) -> Ask;

    /// The number of the request's class, where results are to tell classes apart.
    fn class_of(&self, _: &Order) -> Option<usize> {
        None
    }

    /// Whether this answers the request with this tag. Statuses other than zero are the application's
    /// own; a run with one wrong answer counts for nothing.
    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool;
}

/// Where an application is to serve.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Event loops.
    pub loops: usize,
    /// Threads of the worker pool; zero where handlers run on the loops.
    pub workers: usize,
    /// What requests do at contended locks; `None`: they wait, as they do without tailwater. The server
    /// gives each request its budget by itself: `lock_within_budget()?` is all that a handler does.
    pub locks: Option<LockRules>,
    /// Computes for given times.
    pub spinner: Spinner,
}

/// What decides a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// Of the request's own: the same for every controller.
    pub seed: u64,
    /// Its service time, for applications that have one in the scenario; otherwise a nanosecond.
    pub service: Duration,
    /// Told again to [`Application::is_answer`]; tells requests of a run apart.
    pub tag: u32,
}

impl Order {
    /// A generator of the request's own.
    #[must_use]
    pub fn rng(&self) -> Rng {
        Rng::from_seed(self.seed)
    }
}

/// A request as it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ask {
    /// Which method.
    pub method: MethodId,
    /// Its arguments.
    pub payload: Vec<u8>,
}

/// A kind of application: one line in a program's list.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// As scenario files spell it.
    pub name: &'static str,
    /// For people, in a line.
    pub about: &'static str,
    /// Every setting that it knows.
    pub settings: &'static [Setting],
    /// Makes it.
    pub build: fn(&Given<'_>) -> Result<Arc<dyn Application>, BadSetting>,
}

/// What a scenario says of its application.
#[derive(Debug)]
pub struct Given<'a> {
    /// Its settings: what the file says, else the defaults.
    pub settings: Settings,
    /// `server.service`, for the application that takes time as it is told.
    pub service: Service,
    /// How that time is spent.
    pub work: Work,
    /// `server.classes`.
    pub classes: bool,
    /// `server.path`, for the application that walks them.
    pub paths: &'a [Path],
    /// `tier`, which those paths call.
    pub tiers: &'a [Tier],
}

impl Kind {
    /// Makes an application from settings as text.
    ///
    /// # Errors
    /// A setting that it does not know, or a value that it cannot use.
    pub fn make(
        &self,
        said: &[(String, String)],
        service: Service,
        (work, classes): (Work, bool),
        (paths, tiers): (&[Path], &[Tier]),
    ) -> Result<Arc<dyn Application>, BadSetting> {
        let settings = Settings::new(self.settings, said)?;
        (self.build)(&Given { settings, service, work, classes, paths, tiers })
    }

    /// Makes one without a scenario, from settings alone: it is told no service time and no path.
    ///
    /// # Errors
    /// As [`Kind::make`].
    pub fn alone(&self, said: &[(&str, &str)]) -> Result<Arc<dyn Application>, BadSetting> {
        let said: Vec<_> =
            said.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let service = Service { distribution: Distribution::Constant, mean: Duration::ZERO };
        self.make(&said, service, (Work::Spin, false), (&[], &[]))
    }
}
