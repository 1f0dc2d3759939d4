//! Connections: two queues each, whose messages arrive in order and as late as chance decides.

use super::peer::{Down, Up};
use super::server::{Answer, Scene, Server};
use super::{Breach, Rules, World};
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_control::Reply;
use tailwater_control::catalog::Controller;
use tailwater_core::{Instant, SessionId};

/// A connection: two queues that keep their order.
pub(super) struct Link {
    pub(super) owner: Owner,
    /// Its owner, or former owner, follows the rules.
    honest: bool,
    pub(super) server: usize,
    pub(super) session: Option<SessionId>,
    pub(super) up: VecDeque<Up>,
    pub(super) down: VecDeque<Down>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Honest(usize),
    Rogue,
    /// The client is gone; what it sent before is still on its way.
    Nobody,
}

impl World {
    pub(super) fn dial(&mut self, owner: Owner, who: usize) -> u64 {
        self.made += 1;
        let link = Link {
            owner,
            honest: owner != Owner::Rogue,
            server: who % self.servers.len(),
            session: None,
            up: VecDeque::from([Up::Open]),
            down: VecDeque::new(),
        };
        self.links.insert(self.made, link);
        self.made
    }

    pub(super) fn hang_up(&mut self, id: u64) {
        let link = self.link(id);
        link.owner = Owner::Nobody;
        link.down.clear();
        link.up.push_back(Up::Bye);
    }

    pub(super) fn link(&mut self, id: u64) -> &mut Link {
        self.links.get_mut(&id).expect("a live link")
    }

    /// The server takes the next message of one of the links that have any.
    pub(super) fn deliver_up(&mut self, pick: usize) -> Result<(), Breach> {
        let ready: Vec<u64> = self.ready(|link| !link.up.is_empty());
        if ready.is_empty() {
            return Ok(());
        }
        let id = ready[pick % ready.len()];
        let link = self.link(id);
        let (at, honest, session) = (link.server, link.honest, link.session);
        let message = link.up.pop_front().expect("chosen for having one");
        let scene = scene(self.now, &self.rules, &self.controller);
        let server = &mut self.servers[at];
        let Some(session) = session else {
            // What comes after a goodbye is not read, save that the client has gone as well.
            if matches!(message, Up::Bye) {
                self.links.remove(&id);
            } else if matches!(message, Up::Open) {
                let (session, offer) = server.open(&scene);
                self.link(id).session = Some(session);
                self.send_down(at, session, Down::Credit(offer, self.now.stamp()));
            }
            return Ok(());
        };
        match message {
            Up::Open => unreachable!("a link opens once"),
            Up::Request(request, arrival) => {
                let answer = server.request(&scene, session, request, &arrival, honest)?;
                self.route(at, answer);
            }
            Up::Demand(demand, acked) => server.demand(&scene, session, demand, acked),
            Up::Deregister => server.deregister(&scene, session),
            Up::Bye => {
                server.close(&scene, session);
                self.links.remove(&id);
            }
        }
        Ok(())
    }

    pub(super) fn deliver_down(&mut self, pick: usize) -> Result<(), Breach> {
        let ready = self.ready(|link| !link.down.is_empty());
        if ready.is_empty() {
            return Ok(());
        }
        let id = ready[pick % ready.len()];
        let link = self.link(id);
        let message = link.down.pop_front().expect("chosen for having one");
        match link.owner {
            Owner::Nobody => unreachable!("nothing is sent to a client that is gone"),
            Owner::Honest(who) => self.honest[who].take(self.now, message),
            Owner::Rogue => {
                if !self.rogue.take(&message) {
                    self.links.remove(&id);
                }
                Ok(())
            }
        }
    }

    pub(super) fn ready(&self, has: impl Fn(&Link) -> bool) -> Vec<u64> {
        let ready = self.links.iter().filter(|(_, link)| has(link));
        ready.map(|(&id, _)| id).collect()
    }

    pub(super) fn serve(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Server, &Scene<'_>) -> Result<Option<Answer>, Breach>,
    ) -> Result<(), Breach> {
        let scene = scene(self.now, &self.rules, &self.controller);
        let answer = act(&mut self.servers[at], &scene)?;
        self.route(at, answer);
        Ok(())
    }

    pub(super) fn tick(&mut self, at: usize, delay: Duration) -> Result<(), Breach> {
        if self.now >= self.due {
            let (min, max) = self.rules.interval;
            self.due = self.now + self.controller.admission.gauges().rtt.clamp(min, max);
            self.updates += 1;
        }
        let mut credits = Vec::new();
        self.serve(at, |server, scene| {
            credits = server.tick(scene, delay)?;
            Ok(None)
        })?;
        for (session, offer) in credits {
            self.send_down(at, session, Down::Credit(offer, self.now.stamp()));
        }
        self.check()
    }

    pub(super) fn route(&mut self, at: usize, answer: Option<Answer>) {
        let Some(answer) = answer else { return };
        let reply = Reply {
            outcome: answer.outcome,
            offer: answer.offer,
            stamp: self.now.stamp(),
            elapsed: Duration::ZERO,
            sojourn: answer.sojourn,
            waited: answer.waited,
        };
        self.send_down(at, answer.session, Down::Reply(answer.id, reply));
        if answer.goodbye {
            self.turn_away(at, answer.session);
        }
    }

    /// The server closes; the client hears of it after all that was sent before.
    pub(super) fn turn_away(&mut self, at: usize, session: SessionId) {
        self.send_down(at, session, Down::Goodbye);
        self.servers[at].close(&scene(self.now, &self.rules, &self.controller), session);
        for link in self.links.values_mut() {
            if (link.server, link.session) == (at, Some(session)) {
                link.session = None;
            }
        }
    }

    pub(super) fn send_down(&mut self, at: usize, session: SessionId, message: Down) {
        let to = |link: &&mut Link| (link.server, link.session) == (at, Some(session));
        if let Some(link) = self.links.values_mut().find(to)
            && link.owner != Owner::Nobody
        {
            link.down.push_back(message);
        }
    }
}

fn scene<'a>(now: Instant, rules: &'a Rules, controller: &'a Controller) -> Scene<'a> {
    Scene { now, rules, mode: controller.switch.get(), admission: &*controller.admission }
}
