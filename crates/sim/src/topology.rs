//! All nodes of a world, and which connection joins which of them.

use crate::callers::Callers;
use crate::control::Control;
use crate::node::walk::Walk;
use crate::node::{Node, Place};
use crate::space::{Packet, Space};
use crate::world::{NodeSpec, World};
use std::sync::Arc;
use tailwater_control::catalog::Controller;
use tailwater_core::Rng;

/// The front is node 0; the nodes of the tiers follow, tier by tier.
pub(crate) struct Topology {
    pub(crate) nodes: Vec<Node>,
    /// Connections below this number are the clients'.
    pub(crate) clients: u32,
    /// Those between nodes, by number.
    between: Vec<Between>,
    /// The node of each core.
    cores: Vec<u16>,
}

/// A connection between nodes.
#[derive(Clone, Copy, Debug)]
struct Between {
    from: u16,
    to: u16,
}

impl Topology {
    /// `controllers` are those of the tiers' nodes, in order.
    pub(crate) fn new(world: &World, front: &Controller, controllers: &[Controller]) -> Self {
        let mut topology = Self {
            nodes: Vec::new(),
            clients: world.clients,
            between: Vec::new(),
            cores: Vec::new(),
        };
        let mut callers: Vec<Callers> = Vec::new();
        let first = topology.connect(world, controllers, &mut callers);
        let rng = Rng::from_seed(world.seed);
        let tier_of = |tier: usize| (world.tiers[tier].name.as_str(), &world.tiers[tier].node);
        let places = std::iter::once(("", &world.node)).chain(tiers(world).map(tier_of));
        let mut controllers = std::iter::once(front).chain(controllers);
        for ((node, (name, spec)), callers) in (0..).zip(places).zip(callers) {
            let Some(controller) = controllers.next() else {
                return topology;
            };
            let place = Place {
                node,
                first_client: first[usize::from(node)].0,
                first_core: topology.cores.len() as u16,
            };
            topology.cores.extend((0..spec.cores.max(1)).map(|_| node));
            let seed = rng.split("paths").split(&format!("node {node}")).seed();
            let paths = spec.paths.as_ref();
            let walk = paths.map(|paths| Walk::new(Arc::clone(paths), name, callers, seed));
            let connections = first[usize::from(node)].1;
            let admission = Arc::clone(&controller.admission);
            let control = Control::new(admission, spec.shards, connections);
            topology.nodes.push(Node::new(spec.clone(), control, place, walk));
        }
        topology
    }

    /// All connections, the clients' included.
    pub(crate) fn connections(&self) -> u32 {
        self.clients + self.between.len() as u32
    }

    /// The node that a connection leads to.
    pub(crate) fn to(&self, connection: u32) -> usize {
        let index = connection.checked_sub(self.clients);
        index.map_or(0, |index| usize::from(self.between[index as usize].to))
    }

    /// The node that a connection comes from; `None` where it is a client's.
    pub(crate) fn caller(&mut self, connection: u32) -> Option<&mut Node> {
        let index = connection.checked_sub(self.clients)?;
        self.nodes.get_mut(usize::from(self.between.get(index as usize)?.from))
    }

    /// The node that a message to its connection's caller reaches; `None` where that is a client.
    pub(crate) fn caller_of(&mut self, packet: Packet, space: &Space) -> Option<&mut Node> {
        if self.is_single() { None } else { self.caller(packet.client(space)) }
    }

    /// There is nothing but the front.
    pub(crate) fn is_single(&self) -> bool {
        self.between.is_empty()
    }

    pub(crate) fn of_core(&self, core: u16) -> usize {
        usize::from(self.cores[usize::from(core)])
    }

    /// Joins each node to those that call it; returns first connection and number of them by node.
    fn connect(
        &mut self,
        world: &World,
        controllers: &[Controller],
        callers: &mut Vec<Callers>,
    ) -> Vec<(u32, u32)> {
        let tier_specs = tiers(world).map(|tier| &world.tiers[tier].node);
        let specs: Vec<&NodeSpec> = std::iter::once(&world.node).chain(tier_specs).collect();
        callers.resize_with(specs.len(), Callers::default);
        let mut first = vec![(0, world.clients)];
        let mut in_tier = (usize::MAX, 0);
        for ((to, tier), controller) in (1..).zip(tiers(world)).zip(controllers) {
            in_tier = if in_tier.0 == tier { (tier, in_tier.1 + 1) } else { (tier, 0) };
            let begin = self.connections();
            let calls = |spec: &NodeSpec| spec.paths.as_ref().is_some_and(|p| p.calls(tier));
            for (from, _) in (0..).zip(&specs).filter(|(_, spec)| calls(spec)) {
                for _ in 0..world.tiers[tier].connections.max(1) {
                    let number = self.connections();
                    self.between.push(Between { from, to });
                    let client = controller.client(u64::from(number));
                    callers[usize::from(from)].connect(tier, in_tier.1, number, client);
                }
            }
            first.push((begin, self.connections() - begin));
        }
        first
    }
}

/// The tier of each node behind the front.
fn tiers(world: &World) -> impl Iterator<Item = usize> {
    let tiers = world.tiers.iter().enumerate();
    tiers.flat_map(|(tier, spec)| std::iter::repeat_n(tier, spec.nodes.max(1) as usize))
}
