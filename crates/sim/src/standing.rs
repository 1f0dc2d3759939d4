//! What is left when nothing more happens, for whoever judges it.

use crate::slab::Key;
use crate::space::Space;
use tailwater_control::Gauges;

/// Where everything stands when nothing more happens.
pub(crate) struct Standing<'a> {
    pub(crate) space: &'a Space,
    /// Calls in the queues of clients and calling nodes.
    pub(crate) waiting: u64,
    /// What nodes hold.
    pub(crate) at_nodes: Vec<Key>,
    /// Locks that are held or waited for, with holder and waiters.
    pub(crate) locks: Vec<(u32, Option<Key>, Vec<Key>)>,
    /// Threads that neither run nor want a core.
    pub(crate) threads: Vec<Waiting>,
    /// By node.
    pub(crate) gauges: Vec<Gauges>,
}

/// A thread that neither runs nor wants a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    pub(crate) node: u16,
    /// Of the node's process of this number.
    pub(crate) life: u16,
    pub(crate) thread: u16,
    /// Its sleep is about to end.
    pub(crate) is_waking: bool,
    pub(crate) has_work: bool,
    /// The request whose calls it waits for.
    pub(crate) held: Option<Key>,
    /// The request of which it waits for one call alone.
    pub(crate) alone: Option<Key>,
}
