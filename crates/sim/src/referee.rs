//! Watches a run and says which rule was broken first.
//!
//! It hears [`Fact`]s, keeps its own books of them, and compares; it changes nothing, and nothing in the
//! mechanics knows of it. What it goes by, bounds and numbers, it takes from the world itself.
//! `referee/servers.rs` has the books of nodes, `referee/clients.rs` those of their clients.

mod clients;
mod servers;
#[cfg(test)]
mod tests;

use crate::checks::{Finding, Rule, budgets, calls, fates, locks, queues, threads};
use crate::connection::Connection;
use crate::facts::{Fact, Thing};
use crate::standing::Standing;
use crate::topology::Plan;
use crate::world::World;
use clients::ClientBooks;
use servers::ServerBooks;
use tailwater_core::Instant;

/// See the module.
pub(crate) struct Referee {
    servers: ServerBooks,
    clients: ClientBooks,
    /// Requests that clients intended, and fates that were counted.
    intended: u64,
    ended: u64,
    /// Calls made and ended, by connection between nodes, and the first of these.
    calls: Vec<[u64; 2]>,
    first_between: Connection,
    ruling: Ruling,
}

/// The first rule that was found broken, and how.
#[derive(Debug, Default)]
pub(crate) struct Ruling(pub(crate) Option<(Rule, String)>);

impl Ruling {
    /// Notes what a check found; the first finding stands.
    fn judge(&mut self, rule: Rule, finding: Finding) {
        if let Some(what) = finding {
            self.0.get_or_insert((rule, what));
        }
    }
}

impl Referee {
    pub(crate) fn new(world: &World) -> Self {
        let plan = Plan::of(world);
        let first_between = plan.first_between();
        Self {
            servers: ServerBooks::new(&plan),
            clients: ClientBooks::new(world, plan.connections()),
            intended: 0,
            ended: 0,
            calls: vec![[0; 2]; (plan.connections() - first_between.0) as usize],
            first_between,
            ruling: Ruling::default(),
        }
    }

    /// Whether no rule was found broken yet.
    pub(crate) const fn is_content(&self) -> bool {
        self.ruling.0.is_none()
    }

    /// Whether every request that was intended has its fate.
    pub(crate) const fn has_all_fates(&self) -> bool {
        self.ended == self.intended
    }

    pub(crate) fn hear(&mut self, now: Instant, fact: &Fact) {
        self.servers.hear(now, fact, &mut self.ruling);
        self.clients.hear(now, fact, &mut self.ruling);
        match fact {
            Fact::Intended => self.intended += 1,
            Fact::Ended { .. } => self.ended += 1,
            Fact::Called { connection } => self.calls_over(*connection)[0] += 1,
            Fact::CallEnded { connection } => self.calls_over(*connection)[1] += 1,
            Fact::HandedOver { lock, waited, give_up_at } => {
                self.ruling.judge(Rule::Budgets, budgets::kept(now, *lock, *waited, *give_up_at));
            }
            Fact::Settled { held, stage, there, spent } => {
                self.ruling.judge(Rule::Locks, locks::let_go(*held, *stage));
                self.ruling.judge(Rule::Budgets, budgets::accounted(*there, *spent));
            }
            Fact::CreditsWait { length, max } => {
                self.ruling.judge(Rule::Queues, queues::bounded("the outbox", *length, *max));
            }
            Fact::Astray(thing, what) => {
                let rule = match thing {
                    Thing::Request => Rule::Fates,
                    Thing::Call => Rule::Calls,
                    Thing::Lock => Rule::Locks,
                };
                self.ruling.judge(rule, Some(what.clone()));
            }
            _ => {}
        }
    }

    fn calls_over(&mut self, connection: Connection) -> &mut [u64; 2] {
        &mut self.calls[(connection.0 - self.first_between.0) as usize]
    }

    /// The end of the run: what must be true when nothing more happens.
    pub(crate) fn conclude(mut self, now: Instant, standing: &Standing<'_>) -> Ruling {
        let Standing { space, waiting, at_nodes, locks, threads: asleep, gauges } = standing;
        let ruling = &mut self.ruling;
        ruling.judge(Rule::Fates, fates::placed(*waiting, at_nodes, space));
        for (lock, holder, waiters) in locks {
            ruling.judge(Rule::Locks, locks::known(*lock, *holder, waiters, space));
        }
        ruling.judge(Rule::Threads, threads::roused(asleep, space));
        ruling.judge(Rule::Threads, threads::held(asleep, space));
        ruling.judge(Rule::Threads, threads::alone(asleep, space));
        let mut left = 0;
        let mut calls_left = vec![0; self.calls.len()];
        for request in space.requests.iter() {
            match request.connection.place_from(self.first_between) {
                None => left += 1,
                Some(place) => calls_left[place] += 1,
            }
        }
        for ([made, ended], left) in self.calls.iter().zip(calls_left) {
            ruling.judge(Rule::Calls, calls::counted(*made, *ended, left));
        }
        self.servers.conclude(now, gauges, ruling);
        ruling.judge(Rule::Calls, calls::awaited(space));
        ruling.judge(Rule::Fates, fates::counted(self.intended, self.ended + left));
        self.ruling
    }
}
