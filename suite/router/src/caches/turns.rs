//! The thread: takes questions, asks nodes, and ends questions by what these answer.

use super::desk::{Desk, Question};
use super::open::{Meaning, Open};
use crate::front::StartError;
use crate::nodes::{Nodes, NodesConfig, Outcome, Refusal, Ticket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::Instant;
use tailwater_load::application::Unanswered;
use tailwater_load::foreign::{ForeignAsk, Protocol};
use tailwater_rt::net::Address;
use tailwater_rt::poll::{Interest, Poller, Readiness};
use tailwater_rt::time::now;

/// The poller's key of the desk. Those of nodes are their numbers.
const DESK: u64 = u64::MAX;
/// Read at a time.
const SCRATCH_BYTES: usize = 64 << 10;
/// What commands to one node may borrow that it has not taken.
const BUFFERS: usize = 16 << 20;

pub(super) struct Turns {
    desk: Arc<Desk>,
    questions: Receiver<Question>,
    poller: Poller,
    /// Each of one node, which has its number as the poller's key.
    nodes: Vec<Nodes>,
    open: Open,
    /// Commands that have ended, and what follows from that is not done.
    ended: Vec<(Ticket, Meaning)>,
    /// Hears once that every node was tried.
    tell: Option<Sender<()>>,
}

impl Turns {
    pub(super) fn new(
        nodes: &[Address],
        desk: Arc<Desk>,
        questions: Receiver<Question>,
        tell: Sender<()>,
    ) -> Result<Self, StartError> {
        let poller = Poller::new()?;
        poller.add(&*desk, DESK, Interest::READ)?;
        let of_one = |(key, node): (u64, &Address)| {
            Nodes::new(&NodesConfig::new(vec![node.clone()]), key, BUFFERS)
        };
        let nodes: Result<_, _> = (0..).zip(nodes).map(of_one).collect();
        let nodes = nodes.map_err(StartError::Placement)?;
        let (open, ended) = Default::default();
        Ok(Self { desk, questions, poller, nodes, open, ended, tell: Some(tell) })
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
        let (open, ended) = (&self.open, &mut self.ended);
        let node = self.nodes.iter_mut().find(|nodes| nodes.has(readiness.key));
        if let Some(node) = node {
            node.on_ready(time, &self.poller, readiness, scratch, note(open, ended));
        }
    }

    fn turn(&mut self, time: Instant, scratch: &mut [u8]) {
        for node in &mut self.nodes {
            node.turn(time, &self.poller, scratch, note(&self.open, &mut self.ended));
        }
        self.open.expire(time);
        while let Ok(question) = self.questions.try_recv() {
            self.begin(time, question);
        }
        // What sending finds lost is settled until nothing is.
        loop {
            self.conclude(time);
            let mut has_settled = false;
            for node in &mut self.nodes {
                // If this process was stopped since `time`, the node has not been silent for that long.
                node.flush(now(), &self.poller);
                has_settled |= node.settle(note(&self.open, &mut self.ended));
            }
            if !has_settled && self.ended.is_empty() {
                break;
            }
        }
        self.desk.on_ended(self.open.take_ended());
        if self.nodes.iter().all(Nodes::were_tried)
            && let Some(tell) = self.tell.take()
        {
            // Whether it is still waited for does not matter.
            let _ = tell.send(());
        }
    }

    fn begin(&mut self, time: Instant, question: Question) {
        let (node, ask) = (question.node, ForeignAsk::Get(question.key));
        let ticket = self.open.begin(question);
        let sent = self.nodes[node].get(time, ticket, ask.key().as_bytes(), false);
        self.refuse(ticket, sent);
    }

    /// Does what follows from the outcomes that were noted.
    fn conclude(&mut self, time: Instant) {
        for (ticket, meaning) in std::mem::take(&mut self.ended) {
            match meaning {
                Meaning::End(outcome) => self.open.end(ticket, outcome),
                Meaning::Missed => self.set(time, ticket),
            }
        }
    }

    fn set(&mut self, time: Instant, ticket: Ticket) {
        let Some((node, key, next)) = self.open.sets(ticket) else {
            return self.open.end(ticket, Ok(()));
        };
        let (ask, mut command) = (ForeignAsk::Set(key), Vec::new());
        Protocol::Memcached.request(ask, &mut command);
        let sent = self.nodes[node].write(time, next, ask.key().as_bytes(), &[&command]);
        self.refuse(ticket, sent.map(drop));
    }

    /// Ends a question of which nothing was sent: the node cannot be reached, or has too much to do.
    fn refuse(&mut self, ticket: Ticket, sent: Result<(), Refusal>) {
        if sent.is_err() {
            self.open.end(ticket, Err(Unanswered::Refused(Reason::Unavailable)));
        }
    }

    fn patience(&self, time: Instant) -> Option<Duration> {
        let due = self.nodes.iter().filter_map(Nodes::next_due).chain(self.open.next_due()).min();
        due.map(|at| at.since(time))
    }
}

/// Notes what outcomes mean.
fn note<'a>(
    open: &'a Open,
    ended: &'a mut Vec<(Ticket, Meaning)>,
) -> impl FnMut(Ticket, Outcome<'_>) + 'a {
    move |ticket, outcome: Outcome<'_>| {
        ended.extend(open.meaning(ticket, &outcome).map(|it| (ticket, it)));
    }
}
