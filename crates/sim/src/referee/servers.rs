//! What nodes were asked, told and allowed: credits, windows, the signal, deadlines, run queues.

use super::Ruling;
use crate::checks::deadline::Deadline;
use crate::checks::ledger::Ledger;
use crate::checks::signal::Signal;
use crate::checks::windows::Windows;
use crate::checks::{Rule, credits, honest, queues, signal};
use crate::connection::{Connection, indices};
use crate::facts::Fact;
use crate::topology::Plan;
use std::time::Duration;
use tailwater_control::{Gauges, Offer, Verdict};
use tailwater_core::Instant;

/// All nodes.
pub(super) struct ServerBooks {
    nodes: Vec<Books>,
    /// The node that a connection leads to.
    node_of: Vec<u16>,
}

/// One of them.
struct Books {
    ledger: Ledger,
    windows: Windows,
    loops: Vec<Talk>,
    tick: Duration,
    queue_max: usize,
}

/// Between one loop and its shards.
#[derive(Clone, Copy, Debug, Default)]
struct Talk {
    signal: Signal,
    deadline: Deadline,
}

impl ServerBooks {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        let mut node_of = vec![0; plan.connections() as usize];
        let mut nodes = Vec::new();
        for (spec, connections) in plan.servers() {
            node_of[indices(&connections)].fill(nodes.len() as u16);
            nodes.push(Books {
                ledger: Ledger::new(&connections),
                windows: Windows::default(),
                loops: vec![Talk::default(); spec.loops.max(1) as usize],
                tick: spec.tick,
                queue_max: spec.queue_max as usize,
            });
        }
        Self { nodes, node_of }
    }

    pub(super) fn hear(&mut self, now: Instant, fact: &Fact, ruling: &mut Ruling) {
        match *fact {
            Fact::Accepted { connection, offer, gauges } => {
                let books = self.of(connection);
                books.ledger.reset(connection);
                books.offered(connection, offer, &gauges, ruling);
            }
            Fact::Closed { connection } => self.of(connection).ledger.reset(connection),
            Fact::Offered { connection, offer, gauges } => {
                self.of(connection).offered(connection, offer, &gauges, ruling);
            }
            // As before it registered: the request that registers it again is its own permission.
            Fact::Deregistered { connection } => self.of(connection).ledger.deregister(connection),
            Fact::Judged { connection, registers, verdict, idle } => {
                let books = self.of(connection);
                books.ledger.request(connection, registers);
                books.check_verdict(connection, verdict, ruling);
                ruling.judge(Rule::Signal, signal::shed_while_idle(idle, verdict));
            }
            Fact::Answered { connection, again } => {
                self.of(connection).answered(connection, again, ruling);
            }
            Fact::Ticked { node, at, gauges } => self.node(node).ticked(now, at, &gauges, ruling),
            Fact::Asked { node, at, due } => self.node(node).loops[at].deadline.on_asked(due),
            Fact::Postponed { node, at, until } => {
                self.node(node).loops[at].deadline.postpone(until);
            }
            Fact::Worked { node, at, unbegun } => {
                let Books { loops, tick, queue_max, .. } = self.node(node);
                ruling.judge(Rule::Signal, loops[at].signal.check(now, *tick));
                ruling.judge(Rule::Queues, queues::bounded("the run queue", unbegun, *queue_max));
            }
            Fact::Died { node } => {
                self.node(node).loops.iter_mut().for_each(|talk| talk.deadline.on_called());
            }
            Fact::Floods { connection } => self.of(connection).ledger.distrust(connection),
            _ => {}
        }
    }

    /// At the end of the run.
    pub(super) fn conclude(&self, now: Instant, gauges: &[Gauges], ruling: &mut Ruling) {
        for (books, gauges) in self.nodes.iter().zip(gauges) {
            for talk in &books.loops {
                ruling.judge(Rule::Deadline, talk.deadline.check(now));
            }
            ruling.judge(Rule::Credits, credits::at_rest(&books.ledger, gauges));
        }
    }

    fn of(&mut self, connection: Connection) -> &mut Books {
        &mut self.nodes[usize::from(self.node_of[connection.index()])]
    }

    fn node(&mut self, node: u16) -> &mut Books {
        &mut self.nodes[usize::from(node)]
    }
}

impl Books {
    fn offered(
        &mut self,
        connection: Connection,
        offer: Offer,
        gauges: &Gauges,
        ruling: &mut Ruling,
    ) {
        let told = self.ledger.of(connection);
        ruling.judge(Rule::Windows, self.windows.check_offer(told, offer, gauges));
        self.ledger.offer(connection, offer);
    }

    fn check_verdict(&self, connection: Connection, verdict: Verdict, ruling: &mut Ruling) {
        let told = self.ledger.of(connection);
        ruling.judge(Rule::Windows, self.windows.check_verdict(told, verdict));
        if !told.rogue {
            ruling.judge(Rule::Honest, honest::accused(verdict));
        }
    }

    fn answered(&mut self, connection: Connection, again: bool, ruling: &mut Ruling) {
        let twice = || format!("client {}: a request was answered twice", connection.0);
        ruling.judge(Rule::Fates, again.then(twice));
        let more = || format!("client {}: more answers than requests", connection.0);
        ruling.judge(Rule::Fates, (self.ledger.of(connection).pending == 0).then(more));
        self.ledger.answer(connection);
    }

    fn ticked(&mut self, now: Instant, at: usize, gauges: &Gauges, ruling: &mut Ruling) {
        let talk = &mut self.loops[at];
        talk.signal.on_tick(now);
        ruling.judge(Rule::Deadline, talk.deadline.check(now));
        talk.deadline.on_called();
        self.windows.on_pool(gauges);
        ruling.judge(Rule::Credits, credits::at_tick(&self.ledger, gauges));
    }
}
