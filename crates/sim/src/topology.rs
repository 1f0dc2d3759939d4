//! All nodes of a world, and which connection joins which of them.

use crate::callers::{Callers, Server};
use crate::connection::{Connection, all_in};
use crate::control::Control;
use crate::node::walk::Walk;
use crate::node::{Node, Place};
use crate::paths::Paths;
use crate::space::{Packet, Space};
use crate::world::{NodeSpec, TierSpec, World};
use std::ops::Range;
use std::sync::Arc;
use tailwater_control::{Admission, Client};
use tailwater_core::Rng;
use tailwater_workload::scenario::Struck;

/// What a run is made of beside its world: both ends of the controllers.
pub(crate) struct Parts<'a> {
    /// The server's half for a node: of each in order, and again after each restart.
    pub(crate) boot: &'a mut dyn FnMut(usize) -> Arc<dyn Admission>,
    /// The client's half of a connection to a node; those to the front have the lowest nodes.
    pub(crate) client: &'a dyn Fn(usize, Connection) -> Client,
}

/// The front is node 0, or its replicas the first; the nodes of the tiers follow, tier by tier.
pub(crate) struct Topology {
    pub(crate) nodes: Vec<Node>,
    clients: u32,
    /// The connections before it are the clients', replica by replica.
    first_between: Connection,
    /// The nodes of the front, then of each tier.
    groups: Vec<Range<usize>>,
    /// The connections that lead to each node; those of neighbours are neighbours.
    leading: Vec<Range<Connection>>,
    /// Those between nodes, in order.
    between: Vec<Between>,
    /// The node of each core.
    cores: Vec<u16>,
}

/// All connections, before there are nodes.
pub(crate) struct Plan<'a> {
    specs: Vec<&'a NodeSpec>,
    groups: Vec<Range<usize>>,
    first_between: Connection,
    tiers: &'a [TierSpec],
    /// Whose server each node is; of the front, nothing.
    places: Vec<Option<Server>>,
    /// The connections that lead to each node.
    to: Vec<Range<Connection>>,
    between: Vec<Between>,
}

/// A connection between nodes.
#[derive(Clone, Copy, Debug)]
struct Between {
    from: u16,
    to: u16,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(world: &'a World) -> Self {
        let (replicas, clients) = (world.replicas.max(1), world.clients);
        let fronts = replicas as usize;
        let first_to = |replica| Connection::of_client((0, replica), clients);
        let of_clients = |replica| first_to(replica)..first_to(replica + 1);
        let mut plan = Self {
            specs: vec![&world.node; fronts],
            groups: std::iter::once(0..fronts).collect(),
            first_between: first_to(replicas),
            tiers: &world.tiers,
            places: vec![None; fronts],
            to: (0..replicas).map(of_clients).collect(),
            between: Vec::new(),
        };
        for (tier, spec) in world.tiers.iter().enumerate() {
            let first = plan.specs.len();
            for number in 0..spec.servers() as usize {
                let replicas = spec.replicas.max(1) as usize;
                let (node, replica) = (number / replicas, number % replicas);
                plan.specs.push(&spec.node);
                plan.places.push(Some(Server { tier, node, replica }));
            }
            plan.groups.push(first..plan.specs.len());
        }
        for to in fronts..plan.specs.len() {
            plan.join(world, to);
        }
        plan
    }

    /// All of them, the clients' included.
    pub(crate) fn connections(&self) -> u32 {
        self.end().0
    }

    /// The one after the last.
    const fn end(&self) -> Connection {
        Connection(self.first_between.0 + self.between.len() as u32)
    }

    /// Joins a node to those that call its tier.
    fn join(&mut self, world: &World, to: usize) {
        let begin = self.end();
        if let Some(Server { tier, .. }) = self.places[to] {
            let calls = |spec: &NodeSpec| spec.paths.as_ref().is_some_and(|p| p.ways.calls(tier));
            let callers = (0..).zip(&self.specs).filter(|(_, spec)| calls(spec));
            let count = world.tiers[tier].connections.max(1) as usize;
            let joined = callers
                .flat_map(|(from, _)| std::iter::repeat_n(Between { from, to: to as u16 }, count));
            self.between.extend(joined);
        }
        self.to.push(begin..self.end());
    }

    /// The first of those between nodes. Those before it are clients'.
    pub(crate) const fn first_between(&self) -> Connection {
        self.first_between
    }

    /// The nodes, each with the connections that lead to it.
    pub(crate) fn servers(&self) -> impl Iterator<Item = (&NodeSpec, Range<Connection>)> {
        self.specs.iter().copied().zip(self.to.iter().cloned())
    }

    /// What `from` calls.
    fn callers(&self, from: usize, parts: &Parts<'_>) -> Callers {
        let mut callers = Callers::default();
        for (connection, between) in all_in(self.first_between..self.end()).zip(&self.between) {
            let to = usize::from(between.to);
            if usize::from(between.from) == from
                && let Some(server) = self.places[to]
            {
                // Callers are at home at different replicas.
                let choice = || self.tiers[server.tier].choice(connection.0.into());
                let client = (parts.client)(to, connection);
                callers.connect(server, (connection, to), client, choice);
            }
        }
        callers
    }
}

impl Topology {
    pub(crate) fn new(
        world: &World,
        plan: Plan<'_>,
        parts: &mut Parts<'_>,
        space: &mut Space,
    ) -> Self {
        let seed = Rng::from_seed(world.seed);
        let (rng, stalls) = (seed.split("paths"), seed.split("stalls"));
        let wakes = seed.split("wake-ups");
        let mut controls = Vec::new();
        for (node, spec) in plan.specs.iter().enumerate() {
            let admission = (parts.boot)(node);
            let shape = (spec.loops, spec.shards);
            let leading = plan.to[node].clone();
            controls.push(Control::new(admission, (node as u16, shape), leading, space));
        }
        let walk = |node: usize| {
            let paths = plan.specs[node].paths.as_ref();
            let paths = paths.map_or_else(|| Arc::new(Paths::none()), Arc::clone);
            let tier = plan.places[node].map_or("", |it| &world.tiers[it.tier].name);
            let callers = plan.callers(node, parts);
            // A request does the same at whichever replica it is tried.
            let drawn_as = if plan.places[node].is_some() { node } else { 0 };
            let seed = rng.split(&format!("node {drawn_as}")).seed();
            Walk::new(paths, tier, callers, (seed, world.clients))
        };
        let walks: Vec<Walk> = (0..plan.specs.len()).map(walk).collect();
        let mut cores = Vec::new();
        let mut nodes = Vec::new();
        for ((node, spec), (control, walk)) in
            (0..).zip(&plan.specs).zip(controls.into_iter().zip(walks))
        {
            let place = Place { node, first_core: cores.len() as u16 };
            cores.extend((0..spec.cores_in_all()).map(|_| node));
            let mut node = Node::new((*spec).clone(), control, place, walk);
            node.expect_stalls(&stalls, space);
            node.draw_wakes(&wakes);
            nodes.push(node);
        }
        let Plan { first_between, groups, between, to: leading, .. } = plan;
        Self { nodes, clients: world.clients, first_between, groups, leading, between, cores }
    }

    /// The node that a connection leads to.
    pub(crate) fn to(&self, connection: Connection) -> usize {
        match connection.place_from(self.first_between) {
            None => connection.ends(self.clients.max(1)).1 as usize,
            Some(place) => usize::from(self.between[place].to),
        }
    }

    /// The node that a connection comes from; `None` where it is a client's.
    pub(crate) fn caller(&mut self, connection: Connection) -> Option<&mut Node> {
        let from = self.from(connection)?;
        self.nodes.get_mut(from)
    }

    /// The number of that node.
    pub(crate) fn from(&self, connection: Connection) -> Option<usize> {
        let place = connection.place_from(self.first_between)?;
        Some(usize::from(self.between.get(place)?.from))
    }

    /// The node that a message to its connection's caller reaches; `None` where that is a client.
    pub(crate) fn caller_of(&mut self, packet: Packet, space: &Space) -> Option<&mut Node> {
        if self.is_single() { None } else { self.caller(packet.connection(space)) }
    }

    /// There is nothing but the front.
    pub(crate) fn is_single(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The nodes that a fault strikes.
    pub(crate) fn struck(&self, nodes: Struck) -> Range<usize> {
        let group = self.groups.get(nodes.tier.map_or(0, |tier| tier + 1)).cloned().unwrap_or(0..0);
        match nodes.node {
            None => group,
            Some(node) => {
                let one = group.start + node as usize;
                one.min(group.end)..(one + 1).min(group.end)
            }
        }
    }

    /// The connections that lead to those nodes.
    pub(crate) fn connections_to(&self, nodes: Struck) -> Range<Connection> {
        match &self.leading[self.struck(nodes)] {
            [] => Connection(0)..Connection(0),
            [first, .., last] => first.start..last.end,
            [only] => only.clone(),
        }
    }

    /// The replicas of the front, then the nodes of each tier.
    pub(crate) fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    pub(crate) fn of_core(&self, core: u16) -> usize {
        usize::from(self.cores[usize::from(core)])
    }
}
