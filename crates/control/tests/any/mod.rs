//! A driver for any controller, as lenient as its promises: it knows of no credits, levels or rates.
//!
//! It does what the real drivers do for the controller: `on_request`, `on_start` and `on_done` once each, a tick
//! before it sleeps. It checks what the controller owes to all of them.

pub(crate) mod ops;
mod server;

use ops::Op;
use server::Server;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::{Action, Call, Client, Dispatch, Offer, Reason, Reply, Shard, Site};
use tailwater_core::{Instant, RequestId, SessionId, Stamp};

pub(crate) const SLO: Duration = Duration::from_micros(200);
/// Times to sleep until the next deadline before calls that wait count as stuck. Each client's calls
/// expire or go within some milliseconds; controllers tick every few microseconds meanwhile.
const PATIENCE: usize = 200_000;

pub(crate) type Breach = String;

enum Up {
    Open,
    Request(Dispatch),
    Demand(u32, u32),
    Deregister,
    Bye,
}

enum Down {
    Welcome(Offer, Stamp),
    Reply(RequestId, Reply),
    Credit(Offer, Stamp),
}

/// A client and its connection. The server hears of a lost connection in its turn.
struct Peer {
    client: Client,
    connected: bool,
    /// Calls that wait, and those on their way with the time they left.
    waiting: Vec<RequestId>,
    sent: BTreeMap<RequestId, Instant>,
    up: VecDeque<Up>,
    down: VecDeque<Down>,
}

pub(crate) struct World {
    now: Instant,
    name: String,
    controller: Controller,
    servers: Vec<Server>,
    peers: Vec<Peer>,
    calls: u64,
}

impl World {
    pub(crate) fn new(
        spec: &Spec,
        shards: usize,
        clients: usize,
        wrap: impl Fn(Box<dyn Shard>) -> Box<dyn Shard>,
    ) -> Self {
        let controller =
            spec.build(&Site::of_loops(SLO, shards, 1)).expect("a profile of the catalog");
        let shard = |index| wrap(controller.admission.clone().shard(index));
        let servers = (0..shards).map(|index| Server::new(shard(index))).collect();
        let peer = |index| Peer {
            client: controller.client(index),
            connected: false,
            waiting: Vec::new(),
            sent: BTreeMap::new(),
            up: VecDeque::new(),
            down: VecDeque::new(),
        };
        let peers = (0..clients as u64).map(peer).collect();
        let now = Instant::from_nanos(1_000_000);
        let name = spec.name.clone();
        let mut world = Self { now, name, controller, servers, peers, calls: 0 };
        (0..clients).for_each(|who| world.connect(who));
        world
    }

    /// Why requests were shed so far.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        self.servers.iter().flat_map(|server| server.reasons.iter().copied()).collect()
    }

    pub(crate) fn step(&mut self, op: &Op) -> Result<(), Breach> {
        let (clients, shards) = (self.peers.len(), self.servers.len());
        match *op {
            Op::Submit(who, calls, priority) => {
                (0..calls).try_for_each(|_| self.submit(who % clients, priority))?;
            }
            Op::Up(who) => self.deliver_up(who % clients)?,
            Op::Down(who) => self.deliver_down(who % clients)?,
            Op::Start(at) => self.start(at % shards)?,
            Op::Finish(at, pick) => self.finish(at % shards, pick),
            Op::End(at, pick, why) => self.end(at % shards, pick, why),
            Op::Abort(at, pick) => self.abort(at % shards, pick),
            Op::Tick(at, us) => self.tick(at % shards, Duration::from_micros(us))?,
            Op::Pass(nanos) => self.now = self.now + Duration::from_nanos(nanos),
            Op::Connect(who) => self.connect(who % clients),
            Op::Disconnect(who) => self.disconnect(who % clients),
            Op::Switch(mode) => self.controller.switch.set(mode),
        }
        (0..clients).try_for_each(|who| self.poll(who))
    }

    fn submit(&mut self, who: usize, priority: u8) -> Result<(), Breach> {
        self.calls += 1;
        let call = Call { id: RequestId(self.calls), deadline: None, priority };
        self.peers[who].waiting.push(call.id);
        self.peers[who].client.submit(self.now, call);
        self.poll(who)
    }

    fn connect(&mut self, who: usize) {
        let peer = &mut self.peers[who];
        // The old connection must be gone from the server before a new one takes its place.
        if !peer.connected && peer.up.is_empty() {
            peer.connected = true;
            peer.up.push_back(Up::Open);
            peer.client.on_connected(self.now);
        }
    }

    fn disconnect(&mut self, who: usize) {
        let peer = &mut self.peers[who];
        if std::mem::take(&mut peer.connected) {
            peer.client.on_disconnected();
            peer.sent.clear();
            peer.down.clear();
            peer.up.push_back(Up::Bye);
        }
    }

    /// Does what the client wants done now.
    fn poll(&mut self, who: usize) -> Result<(), Breach> {
        let (now, peer) = (self.now, &mut self.peers[who]);
        while let Some(action) = peer.client.poll(now) {
            let ended = match action {
                Action::Send(Dispatch { id, .. }) | Action::Drop(id, _) => Some(id),
                Action::Demand { .. } | Action::Deregister => None,
            };
            if let Some(id) = ended {
                let found = peer.waiting.iter().position(|&waiting| waiting == id);
                peer.waiting.remove(found.ok_or(format!("{id:?} ends and did not wait"))?);
            }
            match action {
                Action::Send(dispatch) => {
                    peer.sent.insert(dispatch.id, now);
                    peer.up.push_back(Up::Request(dispatch));
                }
                Action::Drop(..) => {}
                Action::Demand { demand, acked } => peer.up.push_back(Up::Demand(demand, acked)),
                Action::Deregister => peer.up.push_back(Up::Deregister),
            }
        }
        if peer.client.outstanding() as usize != peer.sent.len() {
            return Err(format!(
                "{} outstanding, {} sent",
                peer.client.outstanding(),
                peer.sent.len()
            ));
        }
        match peer.client.next_deadline() {
            Some(at) if at <= now => {
                Err(format!("client: a deadline that is not in the future: {at:?}"))
            }
            _ => Ok(()),
        }
    }

    fn deliver_up(&mut self, who: usize) -> Result<(), Breach> {
        let Some(message) = self.peers[who].up.pop_front() else { return Ok(()) };
        let (at, now) = (who % self.servers.len(), self.now);
        let (session, mode) = (session(who), self.controller.switch.get());
        let server = &mut self.servers[at];
        match message {
            Up::Open => {
                let offer = server.open(now, session);
                self.send_down(who, Down::Welcome(offer, self.now.stamp()));
            }
            Up::Request(dispatch) => {
                if let Some(answer) = server.request(now, session, &dispatch, mode)? {
                    self.send_down(who, Down::Reply(answer.0, answer.1));
                }
            }
            Up::Demand(demand, acked) => server.demand(now, session, demand, acked),
            Up::Deregister => server.deregister(now, session),
            Up::Bye => server.close(now, session),
        }
        Ok(())
    }

    fn deliver_down(&mut self, who: usize) -> Result<(), Breach> {
        let (now, peer) = (self.now, &mut self.peers[who]);
        match peer.down.pop_front() {
            Some(Down::Reply(id, mut reply)) => {
                let sent = peer.sent.remove(&id).ok_or(format!("{id:?} was answered twice"))?;
                reply.elapsed = now.since(sent);
                peer.client.on_reply(now, &reply);
            }
            Some(Down::Welcome(offer, stamp)) => peer.client.on_welcome(now, offer, stamp),
            Some(Down::Credit(offer, stamp)) => peer.client.on_credit(now, offer, stamp),
            None => {}
        }
        self.poll(who)
    }

    fn start(&mut self, at: usize) -> Result<(), Breach> {
        let mode = self.controller.switch.get();
        if let Some((who, id, reply)) = self.servers[at].start(self.now, mode)? {
            self.send_down(who.index(), Down::Reply(id, reply));
        }
        Ok(())
    }

    fn finish(&mut self, at: usize, pick: usize) {
        if let Some((who, id, reply)) = self.servers[at].finish(self.now, pick) {
            self.send_down(who.index(), Down::Reply(id, reply));
        }
    }

    fn end(&mut self, at: usize, pick: usize, why: Reason) {
        if let Some((who, id, reply)) = self.servers[at].end(self.now, pick, why) {
            self.send_down(who.index(), Down::Reply(id, reply));
        }
    }

    fn abort(&mut self, at: usize, pick: usize) {
        if let Some((who, id, reply)) = self.servers[at].abort(self.now, pick) {
            self.send_down(who.index(), Down::Reply(id, reply));
        }
    }

    fn tick(&mut self, at: usize, delay: Duration) -> Result<(), Breach> {
        let most = self.peers.len();
        for (who, offer) in self.servers[at].tick(self.now, delay, most)? {
            self.send_down(who.index(), Down::Credit(offer, self.now.stamp()));
        }
        Ok(())
    }

    fn send_down(&mut self, who: usize, message: Down) {
        // Nothing reaches a client through a connection that it gave up.
        if self.peers[who].connected {
            self.peers[who].down.push_back(message);
        }
    }

    /// Everybody connects and nothing is withheld: each call must come to its end, be it by waiting
    /// for whatever anybody asked to be called for.
    pub(crate) fn drain(&mut self) -> Result<(), Breach> {
        self.settle()?;
        (0..self.peers.len()).for_each(|who| self.connect(who));
        (0..self.servers.len()).try_for_each(|at| self.tick(at, Duration::ZERO))?;
        for _ in 0..PATIENCE {
            self.settle()?;
            if self.peers.iter().all(|peer| peer.waiting.is_empty() && peer.sent.is_empty()) {
                return self.rest();
            }
            self.sleep()?;
        }
        Err("stuck: calls wait although everybody is called whenever he asked to be".into())
    }

    /// Everybody is still there and nothing is in the server: after half a second it must read so.
    fn rest(&mut self) -> Result<(), Breach> {
        for _ in 0..500 {
            self.now = self.now + Duration::from_millis(1);
            (0..self.servers.len()).try_for_each(|at| self.tick(at, Duration::ZERO))?;
        }
        let gauges = self.controller.admission.gauges();
        // The gradient's gauge is of what it served last.
        if gauges.delay > Duration::from_micros(1) && self.name != "gradient" {
            return Err(format!("nothing waits, yet {gauges:?}"));
        }
        // Where there is no session to hold credits, what is issued is in the server.
        if gauges.sessions == 0 && gauges.issued > 0 {
            return Err(format!("nothing is inside, yet {gauges:?}"));
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Breach> {
        loop {
            let before =
                self.peers.iter().map(|peer| peer.up.len() + peer.down.len()).sum::<usize>()
                    + self.servers.iter().map(Server::held).sum::<usize>();
            if before == 0 {
                return Ok(());
            }
            for who in 0..self.peers.len() {
                self.deliver_up(who)?;
                self.deliver_down(who)?;
            }
            for at in 0..self.servers.len() {
                self.start(at)?;
                self.finish(at, 0);
            }
        }
    }

    fn sleep(&mut self) -> Result<(), Breach> {
        let servers = self.servers.iter().map(|server| server.next_deadline(self.now));
        let clients = self.peers.iter().map(|peer| peer.client.next_deadline());
        let next = servers.chain(clients).flatten().min();
        self.now =
            next.ok_or("stuck: calls wait, nothing is on its way, and nobody asks to be called")?;
        (0..self.servers.len()).try_for_each(|at| self.tick(at, Duration::ZERO))?;
        (0..self.peers.len()).try_for_each(|who| self.poll(who))
    }

    /// Everybody leaves; nothing may remain.
    pub(crate) fn leave(&mut self) -> Result<(), Breach> {
        (0..self.peers.len()).for_each(|who| self.disconnect(who));
        self.settle()?;
        let gauges = self.controller.admission.gauges();
        if gauges.issued != 0 || gauges.sessions != 0 {
            return Err(format!("nobody is there, yet {gauges:?}"));
        }
        Ok(())
    }
}

fn session(who: usize) -> SessionId {
    SessionId(u32::try_from(who).expect("few clients"))
}

/// What a client does with a hundred calls that nobody answers.
pub(crate) fn actions(mut client: Client) -> Vec<Action> {
    let mut out = Vec::new();
    client.on_connected(Instant::ZERO);
    client.on_welcome(
        Instant::ZERO,
        Offer { window: 40, seq: 1, level: 60, ..Offer::OPEN },
        Instant::ZERO.stamp(),
    );
    for id in 0..100 {
        let now = Instant::ZERO + Duration::from_micros(10 * id);
        client.submit(now, Call { id: RequestId(id), deadline: None, priority: 128 });
        out.extend(std::iter::from_fn(|| client.poll(now)));
    }
    out
}
