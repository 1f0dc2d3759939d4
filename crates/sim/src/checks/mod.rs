//! The rules that every run must obey, whatever the load, the faults and the controller.
//!
//! Each rule is a small thing of its own that looks at a run from outside: it keeps its own books of
//! what was said and done, and compares. A broken rule is a defect of a controller or of the
//! simulator. `sabotage` plants such defects and shows that each is found.

pub(crate) mod budgets;
pub(crate) mod calls;
pub(crate) mod credits;
pub(crate) mod deadline;
pub(crate) mod fates;
pub(crate) mod honest;
pub(crate) mod ledger;
pub(crate) mod locks;
pub(crate) mod queues;
pub(crate) mod retries;
pub(crate) mod signal;
pub(crate) mod starvation;
pub(crate) mod threads;
pub(crate) mod windows;

/// A rule by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// Credits are conserved: what the controller counts as issued never exceeds the windows that the
    /// sessions were told of, and equals them once nothing is pending; it counts as many sessions as
    /// are registered.
    Credits,
    /// Windows are bounded: no session is offered more than the pool ever held beside what it has pending. A new
    /// window comes under a new number. A client that exceeds every window it was ever offered is not served.
    Windows,
    /// A client that follows the protocol never exceeds its window and is never accused of it.
    Honest,
    /// No session starves for ever: a client with calls waiting and nothing on its way may send within
    /// [`crate::World::starved_max`] of time in which the server had a core to spare.
    Starvation,
    /// Every intended request has exactly one fate, is answered at most once, and is at exactly one
    /// place until then.
    Fates,
    /// Every queue keeps to its bound.
    Queues,
    /// The delay signal is refreshed on every tick while the server works. Nothing is shed for
    /// its delay where nothing waits, unless it waited itself to be parsed.
    Signal,
    /// A controller that asked to be called by a certain time is called by then.
    Deadline,
    /// A request that holds a lock or waits for one knows it, as does the lock; none is answered while it does
    /// either.
    Locks,
    /// Every nanosecond that a request with a path spends at a node is computing, calling, or deducted from its
    /// budget. No request gets a lock after its budget for it has ended.
    Budgets,
    /// A request that calls further nodes waits until all have answered or one has refused, and every
    /// call ends exactly once.
    Calls,
    /// A thread that has something to do runs, wants a core or is about to wake. One that waits for the calls of a
    /// request has one that waits for them; one that waits for a call alone has made it.
    Threads,
    /// A request is tried at no replica twice, at as many as it may be, and never anew after its
    /// deadline; retries after a shed keep to the client's budget. No try counts as none that was sent, or over a
    /// connection that stands.
    Retries,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 13] = [
        Self::Credits,
        Self::Windows,
        Self::Honest,
        Self::Starvation,
        Self::Fates,
        Self::Queues,
        Self::Signal,
        Self::Deadline,
        Self::Locks,
        Self::Budgets,
        Self::Calls,
        Self::Threads,
        Self::Retries,
    ];

    /// A stable word for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Credits => "credits",
            Self::Windows => "windows",
            Self::Honest => "honest",
            Self::Starvation => "starvation",
            Self::Fates => "fates",
            Self::Queues => "queues",
            Self::Signal => "signal",
            Self::Deadline => "deadline",
            Self::Locks => "locks",
            Self::Budgets => "budgets",
            Self::Calls => "calls",
            Self::Threads => "threads",
            Self::Retries => "retries",
        }
    }
}

/// What a rule found: a sentence, or nothing.
pub(crate) type Finding = Option<String>;
