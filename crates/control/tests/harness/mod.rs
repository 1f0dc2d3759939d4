//! Model clients and servers around the control core, and what must hold after every step.
//!
//! Start with [`World`]: it takes operations one by one and answers with the first [`Breach`].
//! `setup` draws controllers and operations; `links` carries messages; `server`, `peer` and `rogue` drive the two
//! halves. `ledger` is the naive oracle, `verdict` and `check` compare with it. `drain` brings every call to its end,
//! and `mutant` plants bugs to be caught.

mod check;
mod drain;
mod ledger;
mod links;
pub(crate) mod mutant;
mod peer;
mod rogue;
mod server;
pub(crate) mod setup;
mod verdict;

use links::{Link, Owner};
use peer::Honest;
use rogue::Rogue;
use server::Server;
use setup::{Guard, Mischief, Op, Setup};
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_control::guard::Mode;
use tailwater_control::{Call, Shard};
use tailwater_core::{Instant, RequestId};

/// An invariant that did not hold, in words.
pub(crate) type Breach = String;

pub(crate) fn breach<T>(what: String) -> Result<T, Breach> {
    Err(what)
}

/// What a profile promises, written down anew rather than read from its `Config`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) guard: Guard,
    /// The pool counts requests in use beside unused credits.
    pub(crate) counts_pending: bool,
    pub(crate) cuts_on_demand: bool,
    /// A starving session gets a credit even from an empty pool.
    pub(crate) relieves_starvation: bool,
    pub(crate) window_max: u32,
    pub(crate) pool_min: u32,
    /// The measured RTT paces the updates within these bounds.
    interval: (Duration, Duration),
    /// No guard has ever hidden a window or spared a request.
    pub(crate) always_enforced: bool,
}

impl Rules {
    fn of(setup: &Setup) -> Self {
        let (window_max, min_us, max_us) = match setup.profile {
            "paper" => (u32::MAX / 2, 1, 100_000),
            "artifact" if setup.controller == "efficiency" => (63, 200, 200),
            "artifact" => (63, 10, 10),
            _ => (64, 20, 10_000),
        };
        Self {
            guard: setup.guard,
            counts_pending: setup.profile != "paper",
            cuts_on_demand: setup.profile == "artifact",
            relieves_starvation: setup.profile == "default",
            interval: (Duration::from_micros(min_us), Duration::from_micros(max_us)),
            window_max: setup.window_max.unwrap_or(window_max),
            pool_min: u32::try_from(setup.shards).expect("few shards"),
            always_enforced: matches!(setup.guard, Guard::Enforce | Guard::Cap),
        }
    }
}

/// A server of some loops, its clients, and everything between them.
pub(crate) struct World {
    now: Instant,
    setup: Setup,
    rules: Rules,
    controller: Controller,
    servers: Vec<Server>,
    honest: Vec<Honest>,
    rogue: Rogue,
    links: BTreeMap<u64, Link>,
    made: u64,
    calls: u64,
    pool: u32,
    /// When the pool's next update is due, and how many there have been.
    due: Instant,
    updates: u32,
}

impl World {
    /// A world in which every client is about to connect; `wrap` may plant a bug in each shard.
    pub(crate) fn new(setup: &Setup, wrap: impl Fn(Box<dyn Shard>) -> Box<dyn Shard>) -> Self {
        let controller = setup.build();
        let shard = |index| wrap(controller.admission.clone().shard(index));
        let servers = (0..setup.shards).map(|index| Server::new(shard(index)));
        let mut world = Self {
            now: Instant::from_nanos(1_000_000),
            setup: setup.clone(),
            rules: Rules::of(setup),
            servers: servers.collect(),
            honest: (0..setup.clients as u64)
                .map(|who| Honest::new(controller.client(who)))
                .collect(),
            rogue: Rogue::default(),
            links: BTreeMap::new(),
            made: 0,
            calls: 0,
            pool: controller.admission.gauges().pool,
            controller,
            due: Instant::ZERO,
            updates: 0,
        };
        (0..setup.clients).for_each(|who| world.connect(who));
        world
    }

    /// Does one thing and checks all that must hold after it.
    pub(crate) fn step(&mut self, op: &Op) -> Result<(), Breach> {
        self.apply(op)?;
        self.poll_clients()?;
        self.check()
    }

    fn apply(&mut self, op: &Op) -> Result<(), Breach> {
        let (clients, shards) = (self.honest.len(), self.servers.len());
        match *op {
            Op::Submit(who, calls, deadline) => self.submit(who % clients, calls, deadline)?,
            Op::Up(pick) => self.deliver_up(pick)?,
            Op::Down(pick) => self.deliver_down(pick)?,
            Op::Start(server) => self.serve(server % shards, Server::start)?,
            Op::Finish(server, pick) => {
                self.serve(server % shards, |server, scene| server.finish(scene, pick))?;
            }
            Op::Tick(server, us) => self.tick(server % shards, Duration::from_micros(us))?,
            Op::Pass(nanos) => self.now = self.now + Duration::from_nanos(nanos),
            Op::Connect(who) => self.connect(who % clients),
            Op::Disconnect(who) => self.disconnect(who % clients),
            Op::Repeat(who, which) => self.honest[who % clients].repeat(self.now, which),
            Op::Rogue(ref mischief) => self.misbehave(mischief),
            Op::Switch(mode) => {
                self.rules.always_enforced &= mode == Mode::Enforce;
                self.controller.switch.set(mode);
            }
        }
        Ok(())
    }

    fn submit(&mut self, who: usize, calls: u64, deadline_us: Option<u64>) -> Result<(), Breach> {
        for _ in 0..calls {
            self.calls += 1;
            let call = Call {
                id: RequestId(self.calls),
                deadline: deadline_us.map(|us| self.now + Duration::from_micros(us)),
                priority: 128,
            };
            self.honest[who].submit(self.now, call);
            self.poll_client(who)?;
        }
        Ok(())
    }

    fn connect(&mut self, who: usize) {
        if self.honest[who].link.is_none() {
            let link = self.dial(Owner::Honest(who), who);
            self.honest[who].connect(self.now, link);
        }
    }

    fn disconnect(&mut self, who: usize) {
        if let Some(link) = self.honest[who].link {
            self.honest[who].disconnect();
            self.hang_up(link);
        }
    }

    fn misbehave(&mut self, mischief: &Mischief) {
        match (mischief, self.rogue.link) {
            (Mischief::Connect, None) => {
                let link = self.dial(Owner::Rogue, 0);
                self.rogue.connect(link);
            }
            (Mischief::Vanish, Some(link)) => {
                self.rogue.link = None;
                self.hang_up(link);
            }
            (mischief, Some(link)) => {
                let messages = self.rogue.send(mischief);
                self.link(link).up.extend(messages);
            }
            (_, None) => {}
        }
    }

    fn poll_clients(&mut self) -> Result<(), Breach> {
        (0..self.honest.len()).try_for_each(|who| self.poll_client(who))
    }

    fn poll_client(&mut self, who: usize) -> Result<(), Breach> {
        let messages = self.honest[who].poll(self.now)?;
        if let Some(id) = self.honest[who].link {
            self.link(id).up.extend(messages);
        }
        Ok(())
    }
}
