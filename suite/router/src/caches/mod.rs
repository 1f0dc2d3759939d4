//! Memcacheds that the handlers of a process ask, as a tier behind them.
//!
//! One thread has a connection to each node, [`nodes`](crate::nodes) of one each, and handlers of all threads leave their
//! questions there. So a question costs two wake-ups: that of this thread, and that of the handler's. A question is a
//! look-aside read: a get, and where the key is not there a set of its value. Keys and values are those of
//! [`tailwater_load::foreign`], so that every answer is known beforehand, and each is compared.

mod desk;
mod open;
mod slot;
mod turns;

use crate::front::StartError;
use desk::{Desk, Question};
use slot::Slot;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use tailwater_control::Reason;
use tailwater_core::Instant;
use tailwater_load::application::{Asked, ForeignTier, Unanswered};
use tailwater_rt::net::Address;
use turns::Turns;

/// The nodes of one tier. Dropping it ends the questions that are under way, and the connections.
#[derive(Debug)]
pub struct Caches {
    desk: Arc<Desk>,
    nodes: u32,
    keys: u32,
    thread: Option<JoinHandle<()>>,
}

impl Caches {
    /// Connects to these nodes, each of which is asked for so many keys, at least one. Returns as soon as each has been
    /// reached or found unreachable; one that is lost is connected to again.
    ///
    /// # Errors
    /// When the kernel refuses a descriptor or a thread.
    pub fn start(nodes: &[Address], keys: u32) -> Result<Self, StartError> {
        let (tell, told) = mpsc::channel();
        let (desk, questions) = Desk::new()?;
        let desk = Arc::new(desk);
        let turns = Turns::new(nodes, desk.clone(), questions, tell)?;
        let thread = std::thread::Builder::new()
            .name("caches".into())
            .spawn(move || turns.run())
            .map_err(StartError::System)?;
        told.recv().map_err(|_| StartError::System(io::ErrorKind::BrokenPipe.into()))?;
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        Ok(Self { desk, nodes: count, keys: keys.max(1), thread: Some(thread) })
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
        if let Err(question) = self.desk.leave(question) {
            question.filler.fill(Err(Unanswered::Refused(Reason::QueueFull)));
        }
        Box::pin(slot.answer())
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        self.desk.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
