//! What clients did and suffered: whether they keep to their windows, starve, and try again as they may.

use super::Ruling;
use crate::checks::honest::Conduct;
use crate::checks::retries::{Books, Visits};
use crate::checks::starvation::{Spare, Stranded};
use crate::checks::{Rule, queues};
use crate::connection::Connection;
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
    /// The connection is lost, and the next one is not there yet.
    lost: bool,
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
            Fact::Accepted { connection, offer, .. } => {
                // What it learns later it learns by its own ears.
                let conduct = &mut self.ends[connection.index()].conduct;
                conduct.get_or_insert(Conduct::new(offer.window));
            }
            Fact::Sent { request, connection, registers } => {
                self.sent(request, connection, registers, ruling);
            }
            Fact::Heard { connection, offer, answers } => {
                // The first that is heard after a loss is the WELCOME of the next connection.
                self.ends[connection.index()].lost = false;
                self.conduct(connection, |conduct| {
                    if answers {
                        conduct.on_answered(offer);
                    } else {
                        conduct.on_offer(offer);
                    }
                });
            }
            Fact::Resigned { connection } => self.conduct(connection, Conduct::on_deregistered),
            Fact::Disconnected { connection } => {
                self.ends[connection.index()].lost = true;
                self.conduct(connection, Conduct::on_disconnected);
            }
            Fact::Crashed { connection } => self.crashed(connection),
            Fact::Driven { connection, queued, stranded } => {
                self.driven(now, connection, (queued, stranded), ruling);
            }
            Fact::Spare { node, spare } => {
                if let Some(of_front) = self.spare.get_mut(usize::from(node)) {
                    of_front.set(now, spare);
                }
            }
            Fact::Lied { connection } => self.ends[connection.index()].lied = true,
            Fact::Floods { connection } => self.ends[connection.index()].rogue = true,
            Fact::Tried { request, connection, now, deadline } => {
                self.tried(request, connection, (now, deadline), ruling);
            }
            Fact::Retried { connection } => self.retried(connection, ruling),
            Fact::Untried { request, connection } => self.untried(request, connection, ruling),
            Fact::Ended { request } => {
                self.visits.remove(&request);
            }
            _ => {}
        }
    }

    fn conduct(&mut self, connection: Connection, change: impl FnOnce(&mut Conduct)) {
        if let Some(conduct) = &mut self.ends[connection.index()].conduct {
            change(conduct);
        }
    }

    fn sent(&mut self, request: u64, connection: Connection, registers: bool, ruling: &mut Ruling) {
        let (_, replica) = connection.ends(self.clients);
        if let Some(visits) = self.visits.get_mut(&request) {
            visits.send(replica);
        }
        let end = &mut self.ends[connection.index()];
        let finding = end.conduct.as_mut().and_then(|conduct| conduct.on_sent(registers));
        let finding = finding.filter(|_| !end.rogue);
        let of_client = |what| format!("client {}: {what}", connection.0);
        ruling.judge(Rule::Honest, finding.map(of_client));
    }

    fn crashed(&mut self, connection: Connection) {
        self.conduct(connection, Conduct::on_disconnected);
        let end = &mut self.ends[connection.index()];
        (end.stranded, end.lost) = (Stranded::default(), true);
        // Its budget is forgotten with all that it knew.
        let (client, replica) = connection.ends(self.clients);
        if replica == 0
            && let Some(books) = self.retries.get_mut(client as usize)
        {
            *books = Books::default();
        }
    }

    /// A client that lies about its demand, or floods, may starve: the fault is its own.
    fn driven(
        &mut self,
        now: Instant,
        connection: Connection,
        (queued, stranded): (u32, bool),
        ruling: &mut Ruling,
    ) {
        let finding = queues::bounded("a client's queue", queued as usize, self.queue_max);
        ruling.judge(Rule::Queues, finding);
        // Between nodes nobody is promised anything.
        let (_, replica) = connection.ends(self.clients);
        let Some(spare) = self.spare.get(replica as usize) else {
            return;
        };
        let spare_ns = spare.reading(now);
        let end = &mut self.ends[connection.index()];
        let innocent = !end.rogue && !end.lied;
        let limit = self.starved_max.filter(|_| innocent);
        let finding = end.stranded.update(innocent && stranded, spare_ns, limit);
        ruling.judge(Rule::Starvation, finding);
    }

    fn tried(
        &mut self,
        request: u64,
        connection: Connection,
        times: (Instant, Instant),
        ruling: &mut Ruling,
    ) {
        let (client, replica) = connection.ends(self.clients);
        let Some(books) = self.retries.get_mut(client as usize) else {
            return;
        };
        let visits = self.visits.entry(request).or_insert_with(|| {
            books.on_call();
            Visits::NONE
        });
        ruling.judge(Rule::Retries, visits.at(replica, times, &self.config));
    }

    fn retried(&mut self, connection: Connection, ruling: &mut Ruling) {
        let (client, _) = connection.ends(self.clients);
        if let Some(books) = self.retries.get_mut(client as usize) {
            ruling.judge(Rule::Retries, books.on_retry(&self.config));
        }
    }

    fn untried(&mut self, request: u64, connection: Connection, ruling: &mut Ruling) {
        let (_, replica) = connection.ends(self.clients);
        let is_lost = self.ends[connection.index()].lost;
        if let Some(visits) = self.visits.get_mut(&request) {
            ruling.judge(Rule::Retries, visits.leave(replica, is_lost));
        }
    }
}
