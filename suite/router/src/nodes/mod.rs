//! The memcacheds behind a router: keys to nodes, commands to connections, answers back.
//!
//! A get goes to one replica, and to the next when that is lost. A write goes to all replicas that can be reached.
//! One that misses it, or is lost amid it, forgets the key before it is asked again, so that it has no old value.
//! A node that may lack what others have is *cold*: what it misses is asked of the others.
//!
//! All commands of a router pass one thread in one order, and each node has one connection. So all replicas carry
//! out the writes of a key in one order. Two routers over the same nodes have no such order between them.

mod answer;
mod ledger;
mod forget;
mod tries;
mod writes;
mod connection;
mod node;
mod alone;
#[cfg(test)]
mod tests;

pub use answer::Answer;
pub(crate) use answer::{Expected, FULL, Read, is_error, read, value_of};
pub(crate) use forget::DELETE;
pub use ledger::Ticket;

use crate::choice::{Choice, Chooser};
use crate::parts::Part;
use crate::placement::{Placement, PlacementError, Replicas, Rule};
use crate::standing::Forget;
use ledger::{Asked, Owed};
use node::{Ended, Node, Reach};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_control::retry::HedgeConfig;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::buffers::Pool;
use tailwater_rt::net::{Address, Dialing};
use tailwater_rt::poll::{Poller, Readiness};
use tries::{End, Follows, Tries};
use writes::Writes;

/// What is answered to a get that a node has answered by something else.
pub(crate) const SPOILT: &str =
    "SERVER_ERROR a node has answered by what is no answer; its connection is made again";

/// What is answered where a node has no room for a command.
pub(crate) const BUSY: &str =
    "SERVER_ERROR busy: a node has too many commands to answer; send fewer at a time";

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
    /// A node that takes longer to connect, or moves no byte for so long while it owes answers, counts as lost.
    /// Default 1 s.
    pub timeout: Duration,
    /// When a connection is lost amid writes, the node may yet carry them out. After so long it has, or never will:
    /// only then it is asked again. Default 1 s.
    pub settle: Duration,
    /// Whether the nodes forget everything when they are reached first. Otherwise they are taken to agree: what one
    /// has missed of an earlier router is not known. Default false.
    pub empty_at_start: bool,
    /// When a get is asked of a second replica, too, since the first is late; `None`, the default, for never. Needs a second
    /// replica.
    pub hedge: Option<HedgeConfig>,
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
            empty_at_start: false,
            hedge: None,
            seed: 1,
        }
    }
}

/// What became of a part of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome<'a> {
    /// This node has answered.
    Answered(Answer<'a>, u16),
    /// A node that may lack what others hold has answered this line: that the key is not there.
    Unsure(&'a [u8]),
    /// A node was lost; the other replicas have the write, or will forget what they have.
    Lost,
    /// No node can answer this; why.
    Unreachable(&'a str),
}

/// Why a command was not sent at all, as it is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal(pub(crate) String);

impl Refusal {
    /// The same for callers that do not speak memcached's protocol: overload, or no node can be asked.
    pub(crate) fn reason(&self) -> Reason {
        if self.0 == BUSY { Reason::QueueFull } else { Reason::Unavailable }
    }
}

/// The nodes of one router.
#[derive(Debug)]
pub(crate) struct Nodes {
    placement: Placement,
    chooser: Chooser,
    all: Vec<Node>,
    names: Vec<String>,
    writes: Writes,
    /// Of gets that may have two, if there are some.
    tries: Option<Tries>,
    /// Parts of writes that have ended, and what follows from that is not done.
    parts: Vec<(u32, u16, Part)>,
    /// Gets that another replica is to answer.
    again: Vec<Asked>,
    /// Writes of nodes that were lost.
    lost: Vec<Ticket>,
    /// Gets that no other replica is to answer.
    spoilt: Vec<Ticket>,
    /// When all nodes forget everything.
    empties_at: Option<Instant>,
    first_key: u64,
}

impl Nodes {
    /// `first_key` and as many as there are nodes are the poller's keys of these. All together borrow so many bytes
    /// for commands that wait to be sent, beyond 256 KiB for each.
    pub(crate) fn new(
        config: &NodesConfig,
        first_key: u64,
        buffers: usize,
    ) -> Result<Self, PlacementError> {
        let names: Vec<String> = config.nodes.iter().map(ToString::to_string).collect();
        let placement = Placement::new(config.placement, &names, config.replicas)?;
        Ok(Self::placed(config, placement, first_key, buffers))
    }

    /// The same with keys on nodes by this placement, of as many nodes.
    pub(crate) fn placed(
        config: &NodesConfig,
        placement: Placement,
        first_key: u64,
        buffers: usize,
    ) -> Self {
        let names: Vec<String> = config.nodes.iter().map(ToString::to_string).collect();
        let pool = Arc::new(Pool::new(buffers));
        let node = |(key, address): (u64, &Address)| {
            let (dialing, pool) = (Dialing::to(address.clone()), pool.clone());
            let NodesConfig { timeout, settle, .. } = *config;
            Node::new(Reach { dialing, key, timeout, settle, pool }, config.empty_at_start)
        };
        Self {
            chooser: Chooser::new(config.choice, names.len(), config.seed),
            all: (first_key..).zip(&config.nodes).map(node).collect(),
            writes: Writes::new(names.len()),
            tries: config.hedge.filter(|_| placement.replicas() > 1).map(Tries::new),
            placement,
            names,
            parts: vec![],
            again: vec![],
            lost: vec![],
            spoilt: vec![],
            empties_at: None,
            first_key,
        }
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
        let (key, flight) = (key.into(), None);
        let asked = Asked { ticket, key, with_cas, asks: 0, tried: 0, missed: 0, flight };
        // One that is silent would be late most likely.
        let patience = self.tries.as_ref().and_then(Tries::patience);
        let answers =
            |node: &Node| node.is_up() && !patience.is_some_and(|time| node.is_silent(now, time));
        let Some((node, mut asked)) = self.find(&asked, answers) else { return self.ask(asked) };
        self.make_room_for(node, &asked)?;
        if let Some(tries) = &mut self.tries {
            asked.flight = Some(tries.begin(now, &asked));
        }
        self.send(node, asked);
        Ok(())
    }

    /// Asks a replica that was not asked before.
    fn ask(&mut self, asked: Asked) -> Result<(), Refusal> {
        let Some((node, asked)) = self.find(&asked, Node::is_up) else {
            let replicas = self.placement.of(&asked.key);
            return Err(self.unreachable(replicas, asked.missed));
        };
        self.make_room_for(node, &asked)?;
        self.send(node, asked);
        Ok(())
    }

    /// A replica for a get, of those that were not asked: which, and the get as it is noted then.
    fn find(&mut self, asked: &Asked, is: impl Fn(&Node) -> bool) -> Option<(u16, Asked)> {
        let replicas = self.placement.of(&asked.key);
        let nodes = &self.all;
        let bit_of = |node| {
            let place = replicas.nodes().iter().position(|held| *held == node);
            1_u8 << place.expect("it is one of these")
        };
        let may = |node: u16| asked.tried & bit_of(node) == 0 && is(&nodes[usize::from(node)]);
        let node = self.chooser.choose(replicas.nodes(), may)?;
        let asks = bit_of(node);
        Some((node, Asked { asks, tried: asked.tried | asks, ..asked.clone() }))
    }

    fn make_room_for(&mut self, node: u16, asked: &Asked) -> Result<(), Refusal> {
        let bytes = verb(asked).len() + asked.key.len() + 2;
        let has_room = self.all[usize::from(node)].make_room(bytes);
        if has_room { Ok(()) } else { Err(busy()) }
    }

    /// There is room for it.
    fn send(&mut self, node: u16, asked: Asked) {
        let (verb, key) = (verb(&asked), asked.key.clone());
        self.all[usize::from(node)].queue(&[verb, &key, b"\r\n"], Owed::Get(asked));
    }

    /// Asks late gets of a second replica, too: of one that has taken all it was sent, so that nothing is before it.
    fn hedge_late(&mut self, now: Instant) {
        while let Some(late) = self.tries.as_mut().and_then(|tries| tries.next_late(now)) {
            let patience = self.tries.as_ref().and_then(Tries::patience).unwrap_or(Duration::MAX);
            let answers = |node: &Node| node.is_open() && !node.is_silent(now, patience);
            let Some((node, asked)) = self.find(&late, answers) else { continue };
            let has_room = self.make_room_for(node, &asked).is_ok();
            if has_room && self.tries.as_mut().is_some_and(Tries::take) {
                self.tries.iter_mut().for_each(|tries| tries.hedge(&asked));
                self.send(node, asked);
            }
        }
    }

    /// Has all replicas of this key that are up carry a command out. How many these are.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        ticket: Ticket,
        key: &[u8],
        command: &[&[u8]],
    ) -> Result<u32, Refusal> {
        let replicas = self.placement.of(key);
        match self.send_to_all(now, ticket, Some(key), replicas.nodes(), command)? {
            0 => Err(self.unreachable(replicas, 0)),
            sent => Ok(sent),
        }
    }

    /// Has all nodes forget everything: those that are up at once, the others before they are asked again. How many
    /// are up.
    pub(crate) fn empty(&mut self, now: Instant, ticket: Ticket) -> Result<u32, Refusal> {
        let all: Vec<u16> = (0..self.all.len() as u16).collect();
        let command = forget::command(&Forget::Everything);
        let sent = self.send_to_all(now, ticket, None, &all, &command)?;
        if sent == 0 {
            return Err(Refusal("SERVER_ERROR no node can be reached".into()));
        }
        self.empties_at = None;
        self.grow_warm();
        Ok(sent)
    }

    /// The same at this time, unless all are emptied before.
    pub(crate) const fn empty_at(&mut self, at: Instant) {
        self.empties_at = Some(at);
    }

    /// Those that are up have been told to forget everything, and so have the others.
    fn grow_warm(&mut self) {
        let up = self.all.iter_mut().filter(|node| node.is_up());
        up.for_each(|node| node.standing.grows_warm());
    }

    /// Nothing is sent if one has no room: the others would have what it has not.
    fn send_to_all(
        &mut self,
        now: Instant,
        ticket: Ticket,
        key: Option<&[u8]>,
        nodes: &[u16],
        command: &[&[u8]],
    ) -> Result<u32, Refusal> {
        let bytes = command.iter().map(|part| part.len()).sum();
        let mut sent = 0;
        for &node in nodes {
            let node = &mut self.all[usize::from(node)];
            if node.is_up() {
                if !node.make_room(bytes) {
                    return Err(busy());
                }
                sent += 1;
            }
        }
        // A write that no node gets is no write that a node misses.
        if sent > 0 {
            let is_delete = command.first().is_some_and(|verb| *verb == DELETE);
            let write = self.writes.begin(ticket, key, sent, is_delete);
            for &node in nodes {
                let node = &mut self.all[usize::from(node)];
                if node.is_up() {
                    node.queue(command, Owed::Write(write));
                } else {
                    node.forget(now, Forget::of(key));
                }
            }
        }
        // At most 256.
        Ok(sent as u32)
    }

    /// Why no replica is asked, or no other than these, which have said that they have nothing.
    fn unreachable(&self, replicas: Replicas, missed: u8) -> Refusal {
        let why = |(place, node): (usize, &u16)| {
            let node = usize::from(*node);
            let has_missed = missed & 1 << place != 0;
            let why = if has_missed { "has lost what it had" } else { self.all[node].state() };
            format!("{}: {why}", self.names[node])
        };
        let all: Vec<_> = replicas.nodes().iter().enumerate().map(why).collect();
        let which = if missed == 0 { "no replica" } else { "no other replica" };
        Refusal(format!("SERVER_ERROR {which} of the key can be reached; {}", all.join("; ")))
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
        // There are at most 256.
        let at = (readiness.key - self.first_key) as u16;
        self.with_answers(now, at, &mut deliver, |node, take| {
            node.on_ready(now, poller, readiness, scratch, take);
        });
    }

    /// Does what brings answers of a node, and hands these on.
    fn with_answers(
        &mut self,
        now: Instant,
        at: u16,
        deliver: &mut dyn FnMut(Ticket, Outcome<'_>),
        act: impl FnOnce(&mut Node, &mut dyn FnMut(Owed, Answer<'_>)),
    ) {
        let all_replicas = u8::MAX >> (8 - self.replicas());
        let node = &mut self.all[usize::from(at)];
        let (again, parts, writes) = (&mut self.again, &mut self.parts, &self.writes);
        let tries = &mut self.tries;
        let is_cold = node.standing.is_cold();
        act(node, &mut |owed, answer| match owed {
            Owed::Get(asked) => {
                let end = match answer {
                    Answer::Miss if is_cold => End::Missed,
                    // An error: what another try brings may be an answer.
                    Answer::Line(_) => End::Spoilt,
                    Answer::Miss | Answer::Value(_) => End::Answered,
                };
                match follows(tries, now, asked, end) {
                    Follows::Ends(ticket) => deliver(ticket, Outcome::Answered(answer, at)),
                    Follows::Again(asked) if asked.missed == all_replicas => {
                        deliver(asked.ticket, Outcome::Answered(answer, at));
                    }
                    Follows::Again(asked) => again.push(asked),
                    Follows::Nothing => {}
                }
            }
            Owed::Write(write) => {
                let ticket = writes.ticket(write).expect("a part of it was open");
                let outcome = match answer {
                    // Of a delete it is enough that the key is not there.
                    Answer::Line(line @ (b"NOT_FOUND" | b"NOT_STORED"))
                        if is_cold && !writes.is_delete(write) =>
                    {
                        Outcome::Unsure(line)
                    }
                    answer => Outcome::Answered(answer, at),
                };
                deliver(ticket, outcome);
                parts.push((write, at, answer.into()));
            }
            Owed::Forget(_) | Owed::LateGet(_) | Owed::LateWrite => {}
        });
        self.take_ended(now, at);
    }

    /// Connects and gives up what is due. What has come is read before a node is given up.
    pub(crate) fn turn(
        &mut self,
        now: Instant,
        poller: &Poller,
        scratch: &mut [u8],
        mut deliver: impl FnMut(Ticket, Outcome<'_>),
    ) {
        if self.empties_at.is_some_and(|at| at <= now) {
            self.empties_at = None;
            self.all.iter_mut().for_each(|node| node.forget(now, Forget::Everything));
            self.grow_warm();
        }
        for at in 0..self.all.len() as u16 {
            if self.all[usize::from(at)].is_overdue(now) {
                self.with_answers(now, at, &mut deliver, |node, take| {
                    node.receive(now, scratch, take);
                    if node.is_overdue(now) {
                        node.give_up(now);
                    }
                });
            }
            let may_begin = !self.writes.is_unsure(at);
            self.all[usize::from(at)].turn(now, poller, may_begin);
            self.take_ended(now, at);
        }
        self.hedge_late(now);
    }

    /// Sends what was left.
    pub(crate) fn flush(&mut self, now: Instant, poller: &Poller) {
        for at in 0..self.all.len() as u16 {
            self.all[usize::from(at)].flush(now, poller);
            self.take_ended(now, at);
        }
    }

    fn take_ended(&mut self, now: Instant, at: u16) {
        let Ended { lost, spoilt } = self.all[usize::from(at)].take_ended();
        for asked in spoilt {
            self.end_try(now, asked, End::Spoilt);
        }
        for owed in lost {
            match owed {
                Owed::Get(asked) => self.end_try(now, asked, End::Lost),
                Owed::Write(write) => {
                    self.lost.extend(self.writes.ticket(write));
                    self.parts.push((write, at, Part::Lost));
                }
                Owed::Forget(_) | Owed::LateGet(_) | Owed::LateWrite => {}
            }
        }
        // In the order of the writes: what an earlier one has a node forget decides which node keeps a later one.
        for (write, node, part) in std::mem::take(&mut self.parts) {
            self.end_part(now, write, node, part);
        }
    }

    /// A try of a get has ended without an answer.
    fn end_try(&mut self, now: Instant, asked: Asked, end: End) {
        match follows(&mut self.tries, now, asked, end) {
            Follows::Ends(ticket) => self.spoilt.push(ticket),
            Follows::Again(asked) => self.again.push(asked),
            Follows::Nothing => {}
        }
    }

    /// A replica has carried a write out, or not: one that has not what another has forgets the key.
    fn end_part(&mut self, now: Instant, write: u32, node: u16, part: Part) {
        let is_cold = self.all[usize::from(node)].standing.is_cold();
        let ended = self.writes.end(write, (node, is_cold), part);
        let Some((what, follows)) = ended else { return };
        let mut forget = follows.forget;
        if let Forget::Key(key) = &what {
            // It keeps what it has that has no other reason to forget it. That is always the same one of two, so that
            // not each of them forgets another half.
            let standing = |node: &u16| &self.all[usize::from(*node)].standing;
            let keeps = follows.all_but_one.iter().copied().min_by_key(|node| {
                (standing(node).is_to_forget(key), standing(node).is_cold(), *node)
            });
            forget.extend(follows.all_but_one.iter().filter(|node| Some(**node) != keeps));
        }
        for node in forget {
            self.all[usize::from(node)].forget(now, what.clone());
        }
    }

    /// Finds other replicas for what was lost; what finds none ends. True if there was something.
    pub(crate) fn settle(&mut self, mut end: impl FnMut(Ticket, Outcome<'_>)) -> bool {
        let did = !self.again.is_empty() || !self.lost.is_empty() || !self.spoilt.is_empty();
        for ticket in std::mem::take(&mut self.lost) {
            end(ticket, Outcome::Lost);
        }
        for ticket in std::mem::take(&mut self.spoilt) {
            end(ticket, Outcome::Unreachable(SPOILT));
        }
        for asked in std::mem::take(&mut self.again) {
            let ticket = asked.ticket;
            if let Err(Refusal(why)) = self.ask(asked) {
                end(ticket, Outcome::Unreachable(&why));
            }
        }
        did
    }

    /// When a turn is due at the latest.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let due = |(at, node): (u16, &Node)| node.next_due(!self.writes.is_unsure(at));
        let late = self.tries.as_ref().and_then(Tries::next_due);
        (0..).zip(&self.all).filter_map(due).chain(self.empties_at).chain(late).min()
    }

    /// For `stats`: name and value of each line.
    pub(crate) fn report(&self, mut line: impl FnMut(&str, &dyn Display)) {
        let counts = self.tries.as_ref().map(Tries::counts).unwrap_or_default();
        line("hedged", &counts.sent);
        line("hedges_won", &counts.won);
        line("hedges_over_budget", &counts.over_budget);
        for (name, node) in self.names.iter().zip(&self.all) {
            let counts = node.counts;
            let mut line = |what: &str, value: &dyn Display| line(&format!("{name}:{what}"), value);
            line("state", &node.state());
            line("gets", &counts.gets);
            line("misses", &counts.misses);
            line("writes", &counts.writes);
            line("breaks", &counts.breaks);
            line("forgets", &counts.forgets);
            line("cleanings", &counts.cleanings);
        }
    }
}

/// What follows for a get of which a try has ended.
fn follows(tries: &mut Option<Tries>, now: Instant, asked: Asked, end: End) -> Follows {
    match (asked.flight, tries, end) {
        (Some(flight), Some(tries), end) => tries.end(now, flight, asked.asks, end),
        (_, _, End::Answered | End::Spoilt) => Follows::Ends(asked.ticket),
        (_, _, End::Missed) => Follows::Again(Asked { missed: asked.missed | asked.asks, ..asked }),
        (_, _, End::Lost) => Follows::Again(asked),
    }
}

const fn verb(asked: &Asked) -> &'static [u8] {
    if asked.with_cas { b"gets " } else { b"get " }
}

fn busy() -> Refusal {
    Refusal(BUSY.into())
}
