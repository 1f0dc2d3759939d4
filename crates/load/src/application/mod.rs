//! What a scenario's server serves and what its clients ask for: the hook for services of all kinds.
//!
//! An [`Application`] is both ends of one service, and the tiers behind it. A [`Kind`] names it, lists its settings
//! and makes it from what a scenario says; programs keep a list of kinds. The orchestrator, server, tiers and load
//! generator make the same application from the same scenario, each in a process of its own. So making one is
//! cheap, and reads no data: [`Application::prepare`] prepares these once for all, and each process opens its part.

mod accord;
mod foreign;
mod foreign_front;
mod inquiry;
mod settings;
mod unanswered;

pub use accord::Accord;
pub use foreign::{Asked, ForeignTier, ForeignTiers};
pub use foreign_front::{ForeignFront, FrontPlace, Heard, ServingFront};
pub use inquiry::{Inquiry, ShownAnswer, ShownRow};
pub use settings::{BadSetting, Setting, Settings};
pub use unanswered::Unanswered;

use crate::spinner::Spinner;
use std::path::Path as File;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{MethodId, Rng};
use tailwater_rt::{Address, LockRules, Router};
use tailwater_stats::result::DataUsed;
use tailwater_workload::scenario::{Path, Tier};
use tailwater_workload::{Distribution, Service, Work};

/// Both ends of a service: what is served, what is asked, and whether an answer answers it.
pub trait Application: Send + Sync {
    /// Prepares the data that these processes open, unless they are there. Called once, before any of them starts.
    /// Says what a result must tell of them.
    ///
    /// # Errors
    /// A sentence for the operator when they cannot be made; what `tell` returns.
    fn prepare(&self, _whose: Whose<'_>, _tell: Tell<'_>) -> Result<Vec<DataUsed>, String> {
        Ok(Vec::new())
    }

    /// The methods of the server that clients ask, with everything that they need loaded. Called once in a process.
    ///
    /// # Errors
    /// A sentence for the operator when it cannot serve here, such as too little memory.
    fn router(&self, place: &Place) -> Result<Router, String>;

    /// The same where tiers behind it are programs of others. Only requests that the scenario describes call such.
    ///
    /// # Errors
    /// As above.
    fn router_before(&self, place: &Place, _: &ForeignTiers) -> Result<Router, String> {
        self.router(place)
    }

    /// The same where the nodes of its tier are programs of others, which listen at these addresses. One that allows such a
    /// tier ([`Given::only_tier_or_command`]) has this.
    ///
    /// # Errors
    /// As above, and when it has no such tier.
    fn router_over(&self, _place: &Place, _nodes: &[Address]) -> Result<Router, String> {
        Err("the nodes of this application are tailwater's own; leave command out of its tier"
            .into())
    }

    /// What serves in place of these methods, where clients speak a protocol of others to it. Such an application has no
    /// controllers, and its replicas are not compared after a run.
    fn foreign_front(&self) -> Option<Arc<dyn ForeignFront>> {
        None
    }

    /// The methods of a node of one of its tiers, with everything that this node needs loaded. Nodes of one process load at the
    /// same time.
    ///
    /// # Errors
    /// As above, and when it has no such tier.
    fn node(&self, at: Node<'_>, _place: &Place) -> Result<Router, String> {
        Err(format!("this application has no tier {}; leave application out there", at.tier))
    }

    /// Loads the requests and the answers that they must get. Called once by a generator, before the first [`ask`](Self::ask).
    ///
    /// # Errors
    /// A sentence for the operator when they are not there.
    fn load_questions(&self) -> Result<(), String> {
        Ok(())
    }

    /// How many requests one generator may ask of it at most: what its oracle can hold. More are refused before a load begins,
    /// and end a sweep as an error.
    fn requests_max(&self) -> usize {
        usize::MAX
    }

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

    /// The request of this order was refused, or was not sent: nothing of it goes on. Not told by closed loops, nor of a
    /// request of which nothing was heard.
    fn was_refused(&self, _: &Order) {}

    /// How often replicas of its data were lost, and came back, as far as answers have told.
    fn replicas(&self) -> ReplicaCounts {
        ReplicaCounts::default()
    }

    /// Why the reads of a run were not shared among replicas as the application promises; nothing where they were, or were too
    /// few to tell. It voids the run.
    fn uneven_replicas(&self) -> Option<String> {
        None
    }

    /// A request for each key whose replicas are to be compared: what each of them holds. Called once the load of a run is over,
    /// and none of its requests is under way that was heard of. None by default.
    fn ask_replicas(&self) -> Vec<Ask> {
        Vec::new()
    }

    /// What the answer to one of these says. Disagreement voids the run.
    fn judge_replicas(&self, _asked: &Ask, _status: u16, _payload: &[u8]) -> Accord {
        Accord::Untold
    }

    /// Whether an answer that is right lacks a part, as an application may allow it: the documents of a leaf that did not
    /// answer in time. Such answers are told apart, and are no goodput.
    fn is_partial(&self, _payload: &[u8]) -> bool {
        false
    }

    /// What people may ask it in words, of the prepared data; `None` where there is no such thing.
    ///
    /// # Errors
    /// A sentence for the operator when the data are not there; what `tell` returns.
    fn inquiry(&self, _tell: Tell<'_>) -> Result<Option<Box<dyn Inquiry>>, String> {
        Ok(None)
    }
}

/// Replicas that were not asked for a while, since the server's start.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ReplicaCounts {
    /// How often one was lost.
    pub lost: u64,
    /// How often one of these came back.
    pub returned: u64,
    /// How many reads each replica has answered, in the order in which a key has them; empty where that is not told.
    pub gets: Vec<u64>,
}

/// Hears what a preparation is about, every tenth of a second of work or more often. Its error ends the preparation.
pub type Tell<'a> = &'a dyn Fn(&str) -> Result<(), String>;

/// Processes whose data are prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose<'a> {
    /// Server, tiers and generator: what a result tells of.
    All,
    /// The server that clients ask.
    Front,
    /// The nodes of this tier.
    Tier(&'a str),
}

/// A node of a tier of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node<'a> {
    /// The tier's name.
    pub tier: &'a str,
    /// Which of its nodes, from 0. How many there are says [`Given::tiers`].
    pub number: u32,
}

/// Where an application is to serve.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Event loops.
    pub loops: usize,
    /// Threads of the worker pool; zero where handlers run on the loops.
    pub workers: usize,
    /// Threads that make handlers' calls; zero where the handlers' own do.
    pub crew: usize,
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

/// Whether a load of so many requests is no more than the application's oracle can hold.
///
/// # Errors
/// A sentence for people where it is.
pub fn check_count(application: &dyn Application, requests: f64) -> Result<(), String> {
    let most = application.requests_max();
    if requests <= most as f64 {
        return Ok(());
    }
    Err(format!(
        "a run asks for {requests:.0} requests, warm-up included, and this application's oracle holds {most}; a shorter \
         duration or a lower rate is needed"
    ))
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
    /// `tier`: those that these paths call, or in which the application serves.
    pub tiers: &'a [Tier],
    /// The folder of prepared data.
    pub data: &'a File,
}

impl Given<'_> {
    /// The nodes of a tier in which the application serves; `None` where the scenario has no such tier.
    #[must_use]
    pub fn nodes(&self, tier: &str) -> Option<u32> {
        let found = self.tiers.iter().find(|found| found.application && found.name == tier);
        found.map(|found| found.nodes)
    }

    /// The same of an application whose one tier is called so, and may have so many nodes at most, which are tailwater's own.
    ///
    /// # Errors
    /// Where that is missing or too large, or runs a command, or another tier is said to be the application's.
    pub fn only_tier(&self, name: &str, most: u32) -> Result<u32, BadSetting> {
        match self.only_tier_or_command(name, most)? {
            (nodes, false) => Ok(nodes),
            (_, true) => Err(BadSetting {
                key: name.into(),
                message: format!(
                    "tier {name} has a command, and its nodes are the application's own; leave command out"
                ),
            }),
        }
    }

    /// The same where its nodes may be programs of others: also whether they are.
    ///
    /// # Errors
    /// As above, but where it runs a command.
    pub fn only_tier_or_command(&self, name: &str, most: u32) -> Result<(u32, bool), BadSetting> {
        let nodes = self.nodes(name).filter(|nodes| *nodes <= most).ok_or_else(|| BadSetting {
            key: name.into(),
            message: format!(
                "a tier {name} of 1 to {most} nodes is needed: [[tier]] with name = \"{name}\", nodes = 4, \
                 application = true"
            ),
        })?;
        match self.tiers.iter().find(|tier| tier.application && tier.name != name) {
            Some(other) => Err(BadSetting {
                key: other.name.clone(),
                message: format!(
                    "tier {} is none of this application's; name it \"{name}\"",
                    other.name
                ),
            }),
            None => {
                let is_command = |tier: &Tier| tier.application && tier.command.is_some();
                Ok((nodes, self.tiers.iter().any(is_command)))
            }
        }
    }
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
        data: &File,
    ) -> Result<Arc<dyn Application>, BadSetting> {
        let settings = Settings::new(self.settings, said)?;
        (self.build)(&Given { settings, service, work, classes, paths, tiers, data })
    }

    /// Makes one without a scenario, from settings alone: it is told no service time and no path.
    ///
    /// # Errors
    /// As [`Kind::make`].
    pub fn alone(&self, said: &[(&str, &str)]) -> Result<Arc<dyn Application>, BadSetting> {
        let said: Vec<_> =
            said.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let service = Service { distribution: Distribution::Constant, mean: Duration::ZERO };
        self.make(&said, service, (Work::Spin, false), (&[], &[]), File::new(""))
    }
}
