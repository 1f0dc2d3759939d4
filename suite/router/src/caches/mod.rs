//! Memcacheds that the handlers of a process ask, as a tier behind them.
//!
//! One thread has a connection to each node (`asker`), and handlers of all threads leave their questions there. So a question
//! costs two wake-ups: that of this thread, and that of the handler's. `turns` is what this thread does, whatever is asked.
//! Here a question is a look-aside read of one node ([`nodes`](crate::nodes) of one each): a get, and where the key is not
//! there a set of its value. Keys and values are those of [`tailwater_load::foreign`], so that every answer is known
//! beforehand, and each is compared.

mod asker;
mod desk;
mod turns;
mod slot;
mod open;

use crate::front::StartError;
use crate::nodes::{Nodes, NodesConfig};
use open::{Open, Question};
use std::sync::Arc;
use tailwater_control::Reason;
use tailwater_core::Instant;
use tailwater_load::application::{Asked, ForeignTier, Unanswered};
use tailwater_rt::net::Address;

pub(crate) use asker::Asker;
pub(crate) use slot::{Answer, Filler, Slot};
pub(crate) use turns::Work;

/// What commands to the nodes of one router may borrow that these have not taken.
pub(crate) const BUFFERS: usize = 16 << 20;

/// The nodes of one tier. Dropping it ends the questions that are under way, and the connections.
#[derive(Debug)]
pub struct Caches {
    asker: Asker<Question>,
    nodes: u32,
    keys: u32,
}

impl Caches {
    /// Connects to these nodes, each of which is asked for so many keys, at least one. Returns as soon as each has been
    /// reached or found unreachable; one that is lost is connected to again.
    ///
    /// # Errors
    /// When the kernel refuses a descriptor or a thread.
    pub fn start(nodes: &[Address], keys: u32) -> Result<Self, StartError> {
        let of_one = |(key, node): (u64, &Address)| {
            Nodes::new(&NodesConfig::new(vec![node.clone()]), key, BUFFERS)
        };
        let all: Result<Vec<_>, _> = (0..).zip(nodes).map(of_one).collect();
        let all = all.map_err(StartError::Placement)?;
        let asker = Asker::start(all, Open::default())?;
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        Ok(Self { asker, nodes: count, keys: keys.max(1) })
    }
}

impl ForeignTier for Caches {
    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn ask(&self, node: u32, draw: u64, deadline: Option<Instant>) -> Asked {
        let slot = Arc::new(Slot::default());
        // Below the number of keys, which has 32 bits.
        let key = (draw % u64::from(self.keys)) as u32;
        let question = Question { node: node as usize, key, deadline, filler: slot.filler() };
        if let Err(question) = self.asker.leave(question) {
            question.filler.fill(Err(Unanswered::Refused(Reason::QueueFull)));
        }
        Box::pin(slot.answer())
    }
}
