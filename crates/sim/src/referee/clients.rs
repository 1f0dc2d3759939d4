//! What clients did and suffered: whether they keep to their windows, starve, and try again as they may.

use super::Ruling;
use crate::checks::honest::Conduct;
use crate::checks::retries::{Books, Visits};
use crate::checks::starvation::{Spare, Stranded};
use crate::checks::{Rule, queues};
use crate::facts::Fact;
use crate::world::World;
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_control::RetryConfig;
use tailwater_core::Instant;

/// All connections, and the clients that have several.
pub(super) struct ClientBooks {
    /// By connection, those between nodes included.
    ends: Vec<End>,
    /// How long each replica of the front has had a core to spare.
    spare: Vec<Spare>,
    clients: u32,
    starved_max: Option<Duration>,
    queue_max: usize,
    /// By client; empty where there is one replica.
    retries: Vec<Books>,
    config: RetryConfig,
    /// Requests that have not ended, where there are replicas.
    visits: BTreeMap<u64, Visits>,
}

/// A client's end of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Once the connection was accepted.
    conduct: Option<Conduct>,
    stranded: Stranded,
    /// It has lied, and the server may believe it still.
    lied: bool,
    /// It has flooded, and is held to no rule any more.
    rogue: bool,
}

impl ClientBooks {
    pub(super) fn new(world: &World, connections: u32) -> Self {
        let clients = if world.replicas > 1 { world.clients } else { 0 };
        Self {
            ends: vec![End::default(); connections as usize],
            spare: vec![Spare::default(); world.replicas.max(1) as usize],
            clients: world.clients.max(1),
            starved_max: world.starved_max,
            queue_max: world.client_queue_max as usize,
            retries: vec![Books::default(); clients as usize],
            config: world.retry,
            visits: BTreeMap::new(),
        }
    }

    pub(super) fn hear(&mut self, now: Instant, fact: &Fact, ruling: &mut Ruling) {
        match *fact {
            Fact::Accepted { client, offer, .. } => {
                // What it learns later it learns by its own ears.
                let conduct = &mut self.ends[client as usize].conduct;
                conduct.get_or_insert(Conduct::new(offer.window));
            }
            Fact::Sent { client, registers } => {
                let end = &mut self.ends[client as usize];
                let finding = end.conduct.as_mut().and_then(|conduct| conduct.on_sent(registers));
                let finding = finding.filter(|_| !end.rogue);
                ruling.judge(Rule::Honest, finding.map(|what| format!("client {client}: {what}")));
            }
            Fact::Heard { client, offer, answers } => self.conduct(client, |conduct| {
                if answers {
                    conduct.on_answered(offer);
                } else {
                    conduct.on_offer(offer);
                }
            }),
            Fact::Resigned { client } => self.conduct(client, Conduct::on_deregistered),
            Fact::Disconnected { client } => self.conduct(client, Conduct::on_disconnected),
            Fact::Crashed { client } => {
                self.conduct(client, Conduct::on_disconnected);
                self.ends[client as usize].stranded = Stranded::default();
                // Its budget is forgotten with all that it knew.
                if let Some(books) = self.retries.get_mut(client as usize) {
                    *books = Books::default();
                }
            }
            Fact::Driven { client, queued, stranded } => {
                self.driven(now, client, (queued, stranded), ruling);
            }
            Fact::Spare { node, spare } => {
                if let Some(of_front) = self.spare.get_mut(usize::from(node)) {
                    of_front.set(now, spare);
                }
            }
            Fact::Lied { client } => self.ends[client as usize].lied = true,
            Fact::Floods { client } => self.ends[client as usize].rogue = true,
            Fact::Tried { request, client, now, deadline } => {
                self.tried(request, client, (now, deadline), ruling);
            }
            Fact::Retried { client } => {
                let client = client % self.clients;
                if let Some(books) = self.retries.get_mut(client as usize) {
                    ruling.judge(Rule::Retries, books.on_retry(&self.config));
                }
            }
            Fact::Ended { request } => {
                self.visits.remove(&request);
            }
            _ => {}
        }
    }

    fn conduct(&mut self, client: u32, change: impl FnOnce(&mut Conduct)) {
        if let Some(conduct) = &mut self.ends[client as usize].conduct {
            change(conduct);
        }
    }

    /// A client that lies about its demand, or floods, may starve: the fault is its own.
    fn driven(
        &mut self,
        now: Instant,
        client: u32,
        (queued, stranded): (u32, bool),
        ruling: &mut Ruling,
    ) {
        let finding = queues::bounded("a client's queue", queued as usize, self.queue_max);
        ruling.judge(Rule::Queues, finding);
        // Between nodes nobody is promised anything.
        let Some(spare) = self.spare.get((client / self.clients) as usize) else {
            return;
        };
        let spare_ns = spare.reading(now);
        let end = &mut self.ends[client as usize];
        let innocent = !end.rogue && !end.lied;
        let limit = self.starved_max.filter(|_| innocent);
        let finding = end.stranded.update(innocent && stranded, spare_ns, limit);
        ruling.judge(Rule::Starvation, finding);
    }

    fn tried(&mut self, request: u64, client: u32, times: (Instant, Instant), ruling: &mut Ruling) {
        let (replica, client) = (client / self.clients, client % self.clients);
        let Some(books) = self.retries.get_mut(client as usize) else {
            return;
        };
        let visits = self.visits.entry(request).or_insert_with(|| {
            books.on_call();
            Visits::NONE
        });
        ruling.judge(Rule::Retries, visits.at(replica, times, &self.config));
    }
}
