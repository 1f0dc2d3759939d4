//! The memcacheds behind a router: keys to nodes, commands to connections, answers back.
//!
//! A get goes to one replica, and to the next when that is lost. A write goes to all replicas that can be reached;
//! one that misses it forgets everything (`flush_all`) before it is asked again, so that it has no old value. A
//! node that has forgotten is *cold*: what it misses is asked of the others.
//!
//! All commands of a router pass one thread in one order, and each node has one connection. So all replicas carry
//! out the writes of a key in one order. Two routers over the same nodes have no such order between them.

mod answer;
mod node;
mod owed;

pub use answer::Answer;
pub(crate) use answer::is_error;
pub use owed::Ticket;

use crate::choice::{Choice, Chooser};
use crate::placement::{Placement, PlacementError, Replicas, Rule};
use node::Node;
use owed::{Asked, Owed};
use std::fmt::Display;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_rt::net::{Address, Dialing};
use tailwater_rt::poll::{Poller, Readiness};

/// Which nodes there are, and how they are used.
#[derive(Clone, Debug)]
pub struct NodesConfig {
    /// The memcacheds. Their texts are their names.
    pub nodes: Vec<Address>,
    /// How many of them hold a key.
    pub replicas: usize,
    /// How a key finds these.
    pub placement: Rule,
    /// Which of these answers a get.
    pub choice: Choice,
    /// In which a node must connect and answer; then it counts as lost. Default 1 s.
    pub timeout: Duration,
    /// When a connection is lost amid writes, the node may yet carry them out. After so long it has, or never will:
    /// only then it is emptied and asked again. Default 1 s.
    pub settle: Duration,
    /// Decides what is chance.
    pub seed: u64,
}

impl NodesConfig {
    /// One replica on each of these nodes, placed by jump hash.
    #[must_use]
    pub const fn new(nodes: Vec<Address>) -> Self {
        Self {
            nodes,
            replicas: 1,
            placement: Rule::Jump,
            choice: Choice::Random,
            timeout: Duration::from_secs(1),
            settle: Duration::from_secs(1),
            seed: 1,
        }
    }
}

/// What became of a part of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome<'a> {
    /// A node has answered.
    Answered(Answer<'a>),
    /// A node was lost; the other replicas have the write, or will forget what they have.
    Lost,
    /// No node can answer this; why.
    Unreachable(&'a str),
}

/// Why a command was not sent at all, as it is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal(pub(crate) String);

/// The nodes of one router.
#[derive(Debug)]
pub(crate) struct Nodes {
    placement: Placement,
    chooser: Chooser,
    all: Vec<Node>,
    names: Vec<String>,
    /// Gets that another replica is to answer.
    again: Vec<Asked>,
    /// Writes of nodes that were lost.
    lost: Vec<Ticket>,
    first_key: u64,
}

impl Nodes {
    /// `first_key` and as many as there are nodes are the poller's keys of these.
    pub(crate) fn new(config: &NodesConfig, first_key: u64) -> Result<Self, PlacementError> {
        let names: Vec<String> = config.nodes.iter().map(ToString::to_string).collect();
        let placement = Placement::new(config.placement, &names, config.replicas)?;
        let chooser = Chooser::new(config.choice, names.len(), config.seed);
        let node = |(key, address): (u64, &Address)| {
            let dialing = Dialing::to(address.clone());
            Node::new(dialing, key, [config.timeout, config.settle], config.replicas > 1)
        };
        let all = (first_key..).zip(&config.nodes).map(node).collect();
        Ok(Self { placement, chooser, all, names, again: vec![], lost: vec![], first_key })
    }

    pub(crate) const fn replicas(&self) -> usize {
        self.placement.replicas()
    }

    /// Whether each node has been reached, or an attempt has failed.
    pub(crate) fn were_tried(&self) -> bool {
        self.all.iter().all(Node::was_tried)
    }

    /// Asks a replica of this key for its value.
    pub(crate) fn get(
        &mut self,
        now: Instant,
        ticket: Ticket,
        key: &[u8],
        with_cas: bool,
    ) -> Result<(), Refusal> {
        self.ask(now, Asked { ticket, key: key.into(), with_cas, tried: 0, missed: false })
    }

    fn ask(&mut self, now: Instant, asked: Asked) -> Result<(), Refusal> {
        let replicas = self.placement.of(&asked.key);
        let (nodes, tried) = (&self.all, asked.tried);
        let place_of = |node| replicas.nodes().iter().position(|held| *held == node).unwrap_or(0);
        let may = |node: u16| tried & 1 << place_of(node) == 0 && nodes[usize::from(node)].is_up();
        let Some(node) = self.chooser.choose(replicas.nodes(), may) else {
            return Err(self.unreachable(replicas));
        };
        let tried = tried | 1 << place_of(node);
        let node = &mut self.all[usize::from(node)];
        if !node.has_room() {
            return Err(busy());
        }
        let verb: &[u8] = if asked.with_cas { b"gets " } else { b"get " };
        node.queue(|out| {
            [verb, &asked.key, b"\r\n"].iter().for_each(|part| out.extend_from_slice(part));
        });
        node.owes(now, Owed::Get(Asked { tried, ..asked }));
        Ok(())
    }

    /// Has all replicas of this key that are up carry a command out. How many these are.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        ticket: Ticket,
        key: &[u8],
        command: impl Fn(&mut Vec<u8>),
    ) -> Result<u32, Refusal> {
        let replicas = self.placement.of(key);
        self.send_to_all(now, ticket, replicas.nodes(), command)
            .ok_or_else(busy)
            .and_then(|sent| if sent > 0 { Ok(sent) } else { Err(self.unreachable(replicas)) })
    }

    /// Has all nodes that are up carry a command out.
    pub(crate) fn everywhere(
        &mut self,
        now: Instant,
        ticket: Ticket,
        command: impl Fn(&mut Vec<u8>),
    ) -> Result<u32, Refusal> {
        let all: Vec<u16> = (0..self.all.len() as u16).collect();
        match self.send_to_all(now, ticket, &all, command) {
            None => Err(busy()),
            Some(0) => Err(Refusal("SERVER_ERROR no node can be reached".into())),
            Some(sent) => Ok(sent),
        }
    }

    /// `None` if one has no room: then nothing was sent, as the others would have what it has not.
    fn send_to_all(
        &mut self,
        now: Instant,
        ticket: Ticket,
        nodes: &[u16],
        command: impl Fn(&mut Vec<u8>),
    ) -> Option<u32> {
        let reached = |nodes: &[Node], node: u16| nodes[usize::from(node)].is_up();
        let is_full = |node: &&u16| !self.all[usize::from(**node)].has_room();
        if nodes.iter().filter(|node| reached(&self.all, **node)).any(|node| is_full(&node)) {
            return None;
        }
        let sent = nodes.iter().filter(|node| reached(&self.all, **node)).count() as u32;
        // A write that nobody gets is no write that somebody misses.
        for &node in nodes.iter().filter(|_| sent > 0) {
            let node = &mut self.all[usize::from(node)];
            if node.is_up() {
                node.queue(&command);
                node.owes(now, Owed::Write(ticket));
            } else {
                node.miss_write();
            }
        }
        Some(sent)
    }

    fn unreachable(&self, replicas: Replicas) -> Refusal {
        let why = |&node: &u16| {
            let node = usize::from(node);
            format!("{}: {}", self.names[node], self.all[node].state())
        };
        let all: Vec<_> = replicas.nodes().iter().map(why).collect();
        Refusal(format!("SERVER_ERROR no replica of the key can be reached; {}", all.join("; ")))
    }

    /// Whether the poller's key is a node's.
    pub(crate) fn has(&self, key: u64) -> bool {
        key.checked_sub(self.first_key).is_some_and(|node| node < self.all.len() as u64)
    }

    /// The poller says something of a node.
    pub(crate) fn on_ready(
        &mut self,
        now: Instant,
        poller: &Poller,
        readiness: Readiness,
        scratch: &mut [u8],
        mut deliver: impl FnMut(Ticket, Outcome<'_>),
    ) {
        let replicas = self.replicas() as u32;
        let node = &mut self.all[(readiness.key - self.first_key) as usize];
        let (again, is_cold) = (&mut self.again, node.is_cold());
        node.on_ready(now, poller, readiness, scratch, &mut |owed, answer| match owed {
            Owed::Get(asked)
                if answer == Answer::Miss && is_cold && asked.tried.count_ones() < replicas =>
            {
                again.push(Asked { missed: true, ..asked });
            }
            Owed::Get(Asked { ticket, .. }) | Owed::Write(ticket) => {
                deliver(ticket, Outcome::Answered(answer));
            }
            Owed::Clean | Owed::LateGet(_) | Owed::Late => {}
        });
        take_lost(node, &mut self.again, &mut self.lost);
    }

    /// Connects and gives up what is due.
    pub(crate) fn turn(&mut self, now: Instant, poller: &Poller) {
        for node in &mut self.all {
            node.turn(now, poller);
            take_lost(node, &mut self.again, &mut self.lost);
        }
    }

    /// Sends what was left.
    pub(crate) fn flush(&mut self, now: Instant, poller: &Poller) {
        for node in &mut self.all {
            node.flush(now, poller);
            take_lost(node, &mut self.again, &mut self.lost);
        }
    }

    /// Finds other replicas for what was lost; what finds none ends. True if there was something.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        mut end: impl FnMut(Ticket, Outcome<'_>),
    ) -> bool {
        let did = !self.again.is_empty() || !self.lost.is_empty();
        for ticket in std::mem::take(&mut self.lost) {
            end(ticket, Outcome::Lost);
        }
        for asked in std::mem::take(&mut self.again) {
            let (ticket, missed) = (asked.ticket, asked.missed);
            match self.ask(now, asked) {
                Ok(()) => {}
                // One replica has said that it has nothing, and no other can be asked.
                Err(_) if missed => end(ticket, Outcome::Answered(Answer::Miss)),
                Err(Refusal(why)) => end(ticket, Outcome::Unreachable(&why)),
            }
        }
        did
    }

    /// When a turn is due at the latest.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.all.iter().filter_map(Node::next_due).min()
    }

    /// For `stats`: name and value of each line.
    pub(crate) fn report(&self, mut line: impl FnMut(&str, &dyn Display)) {
        for (name, node) in self.names.iter().zip(&self.all) {
            let counts = node.counts;
            let mut line = |what: &str, value: &dyn Display| line(&format!("{name}:{what}"), value);
            line("state", &node.state());
            line("gets", &counts.gets);
            line("misses", &counts.misses);
            line("writes", &counts.writes);
            line("breaks", &counts.breaks);
            line("cleanings", &counts.cleanings);
        }
    }
}

fn take_lost(node: &mut Node, again: &mut Vec<Asked>, lost: &mut Vec<Ticket>) {
    for owed in node.take_lost() {
        match owed {
            Owed::Get(asked) => again.push(asked),
            Owed::Write(ticket) => lost.push(ticket),
            Owed::Clean | Owed::LateGet(_) | Owed::Late => {}
        }
    }
}

fn busy() -> Refusal {
    Refusal(
        "SERVER_ERROR busy: a node has too many commands to answer; send fewer at a time".into(),
    )
}
