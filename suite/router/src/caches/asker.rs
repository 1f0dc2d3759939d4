//! The thread that has the connections, as those see it that leave questions.

use super::desk::Desk;
use super::turns::{Turns, Work};
use crate::front::StartError;
use crate::nodes::Nodes;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Dropping it ends the questions that are under way, and the connections.
#[derive(Debug)]
pub(crate) struct Asker<Q> {
    desk: Arc<Desk<Q>>,
    thread: Option<JoinHandle<()>>,
}

impl<Q: Send + 'static> Asker<Q> {
    /// Returns as soon as each node has been reached or found unreachable; one that is lost is connected to again.
    ///
    /// # Errors
    /// When the kernel refuses a descriptor or a thread.
    pub(crate) fn start<W>(nodes: Vec<Nodes>, work: W) -> Result<Self, StartError>
    where
        W: Work<Question = Q> + Send + 'static,
        W::Meaning: Send,
    {
        let (tell, told) = mpsc::channel();
        let (desk, questions) = Desk::new()?;
        let desk = Arc::new(desk);
        let turns = Turns::new((nodes, work), desk.clone(), questions, tell)?;
        let thread = std::thread::Builder::new()
            .name("caches".into())
            .spawn(move || turns.run())
            .map_err(StartError::System)?;
        told.recv().map_err(|_| StartError::System(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self { desk, thread: Some(thread) })
    }

    /// Gives the question back where there is no room, or no thread any more.
    pub(crate) fn leave(&self, question: Q) -> Result<(), Q> {
        self.desk.leave(question)
    }
}

impl<Q> Drop for Asker<Q> {
    fn drop(&mut self) {
        self.desk.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
