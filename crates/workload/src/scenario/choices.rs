//! What a word of a scenario file can choose: each choice with its words, from which keys are declared and values read.

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the node that is asked.
    Requests,
    /// From it.
    Answers,
}

/// What a lying client claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// That nothing waits.
    Nothing,
    /// That more waits than anybody could serve.
    Everything,
}

pub(super) const WAYS: &[(&str, Direction)] =
    &[("requests", Direction::Requests), ("answers", Direction::Answers)];
pub(super) const CLAIMS: &[(&str, Claim)] =
    &[("nothing", Claim::Nothing), ("everything", Claim::Everything)];

/// Which replica a client asks first: see [`Retry::first`](super::Retry::first).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstReplica {
    /// Clients are divided over the replicas by their numbers.
    Own,
    /// Everybody's first is the first replica.
    Primary,
    /// Where the client has the fewest requests that have not ended, and no pause was asked for.
    LeastLoaded,
}

pub(super) const FIRST: &[(&str, FirstReplica)] = &[
    ("own", FirstReplica::Own),
    ("primary", FirstReplica::Primary),
    ("least-loaded", FirstReplica::LeastLoaded),
];

/// What carries requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// TCP on the loopback interface.
    Tcp,
    /// A Unix socket.
    Unix,
}

pub(super) const TRANSPORTS: &[(&str, Transport)] =
    &[("tcp", Transport::Tcp), ("unix", Transport::Unix)];

/// Where a request goes that was handed a lock, and holds it from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Before all else that waits for a core of its loop, as on the runtime of Protego's authors; ours gives
    /// a woken handler its turn before a new request.
    Front,
    /// To the end of the run queue: with full cores every taken lock stays taken for as long as its next
    /// holder waits there.
    Back,
}

pub(super) const WAKES: &[(&str, Wake)] = &[("front", Wake::Front), ("back", Wake::Back)];
