//! What the thread does: takes questions, asks nodes, and ends questions by what these answer.

use super::desk::Desk;
use crate::front::StartError;
use crate::nodes::{Nodes, Outcome, Ticket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_rt::poll::{Interest, Poller, Readiness};
use tailwater_rt::time::now;

/// The poller's key of the desk. Those of nodes are small numbers.
const DESK: u64 = u64::MAX;
/// Read at a time.
const SCRATCH_BYTES: usize = 64 << 10;

/// Questions of one kind, each of which ends once.
pub(crate) trait Work {
    /// What handlers leave.
    type Question;
    /// What an outcome means, without what it borrows.
    type Meaning;

    /// Asks nodes what the question needs.
    fn begin(&mut self, time: Instant, question: Self::Question, nodes: &mut [Nodes]);

    /// What the outcome of a command means; nothing where its question has ended.
    fn meaning(&self, ticket: Ticket, outcome: &Outcome<'_>) -> Option<Self::Meaning>;

    /// Does what follows from that. The question may have ended since.
    fn conclude(&mut self, time: Instant, noted: (Ticket, Self::Meaning), nodes: &mut [Nodes]);

    /// Ends what is past its deadline. What comes of it later has no question.
    fn expire(&mut self, now: Instant);

    /// The next deadline.
    fn next_due(&self) -> Option<Instant>;

    /// How many have ended since it was asked last.
    fn take_ended(&mut self) -> usize;
}

pub(super) struct Turns<W: Work> {
    desk: Arc<Desk<W::Question>>,
    questions: Receiver<W::Question>,
    poller: Poller,
    nodes: Vec<Nodes>,
    work: W,
    /// Commands that have ended, and what follows from that is not done.
    ended: Vec<(Ticket, W::Meaning)>,
    /// Hears once that every node was tried.
    tell: Option<Sender<()>>,
}

impl<W: Work> Turns<W> {
    pub(super) fn new(
        (nodes, work): (Vec<Nodes>, W),
        desk: Arc<Desk<W::Question>>,
        questions: Receiver<W::Question>,
        tell: Sender<()>,
    ) -> Result<Self, StartError> {
        let poller = Poller::new()?;
        poller.add(&*desk, DESK, Interest::READ)?;
        Ok(Self { desk, questions, poller, nodes, work, ended: Vec::new(), tell: Some(tell) })
    }

    pub(super) fn run(mut self) {
        let (mut ready, mut scratch) = (Vec::new(), vec![0; SCRATCH_BYTES]);
        while !self.desk.is_closed() {
            let time = now();
            self.turn(time, &mut scratch);
            self.poller.wait(self.patience(now()), &mut ready);
            let time = now();
            for readiness in ready.drain(..) {
                self.on_ready(time, readiness, &mut scratch);
            }
        }
    }

    fn on_ready(&mut self, time: Instant, readiness: Readiness, scratch: &mut [u8]) {
        if readiness.key == DESK {
            return self.desk.hush();
        }
        let (work, ended) = (&self.work, &mut self.ended);
        let node = self.nodes.iter_mut().find(|nodes| nodes.has(readiness.key));
        if let Some(node) = node {
            node.on_ready(time, &self.poller, readiness, scratch, note(work, ended));
        }
    }

    fn turn(&mut self, time: Instant, scratch: &mut [u8]) {
        for node in &mut self.nodes {
            node.turn(time, &self.poller, scratch, note(&self.work, &mut self.ended));
        }
        self.work.expire(time);
        while let Ok(question) = self.questions.try_recv() {
            self.work.begin(time, question, &mut self.nodes);
        }
        // What sending finds lost is settled until nothing is.
        loop {
            for noted in std::mem::take(&mut self.ended) {
                self.work.conclude(time, noted, &mut self.nodes);
            }
            let mut has_settled = false;
            for node in &mut self.nodes {
                // If this process was stopped since `time`, the node has not been silent for that long.
                node.flush(now(), &self.poller);
                has_settled |= node.settle(note(&self.work, &mut self.ended));
            }
            if !has_settled && self.ended.is_empty() {
                break;
            }
        }
        self.desk.on_ended(self.work.take_ended());
        if self.nodes.iter().all(Nodes::were_tried)
            && let Some(tell) = self.tell.take()
        {
            // Whether it is still waited for does not matter.
            let _ = tell.send(());
        }
    }

    fn patience(&self, time: Instant) -> Option<Duration> {
        let due = self.nodes.iter().filter_map(Nodes::next_due).chain(self.work.next_due()).min();
        due.map(|at| at.since(time))
    }
}

/// Notes what outcomes mean.
fn note<'a, W: Work>(
    work: &'a W,
    ended: &'a mut Vec<(Ticket, W::Meaning)>,
) -> impl FnMut(Ticket, Outcome<'_>) + 'a {
    move |ticket, outcome: Outcome<'_>| {
        ended.extend(work.meaning(ticket, &outcome).map(|it| (ticket, it)));
    }
}
