//! Thousands of logical clients on one thread: connections, control state, and their timers.

mod error;
mod link;
mod foreign_link;
mod replicas;

pub use error::FleetError;
pub use replicas::Retried;

use crate::alarm::Alarm;
use crate::application::{Ask, ForeignFront};
use crate::connections::Roll;
use bytes::Bytes;
use foreign_link::ForeignLink;
use link::Link;
use replicas::{Retries, Stays};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_control::{RetryConfig, Site};
use tailwater_core::pace::Pace;
use tailwater_core::{Instant, MethodId};
use tailwater_rt::Address;
use tailwater_rt::client::{Caller, Channel, ChannelConfig, End, Event, Losses, NewCall};
use tailwater_rt::poll::{Interest, Poller, Readiness};
use tailwater_rt::time::now;
use tailwater_stats::result::ConnectionReading;

/// Logical clients of one thread. Client `i` has the channel with key `i`, and those to further replicas follow, all
/// clients' to each. One more channel for each replica, beside admission, asks it for its counts, and one each the nodes
/// behind it that are watched. A server that speaks a protocol of others is not asked for counts.
pub struct Fleet {
    poller: Poller,
    /// Wakes a generator that sleeps.
    alarm: Alarm,
    channels: Vec<Link>,
    clients: usize,
    /// Channels of clients: those behind them ask for counts.
    links: usize,
    /// Channels to the server, behind which stand those to nodes: the end of these clients do not feel.
    called: usize,
    /// Servers that tell no counts.
    mute: usize,
    /// Where requests go; `None` where there is one server.
    retries: Option<Retries>,
    /// When each channel wants to be driven, and what of that is in the heap.
    due: BinaryHeap<Reverse<(Instant, u32)>>,
    scheduled: Vec<Instant>,
    ready: Vec<Readiness>,
    scratch: Vec<u8>,
    /// Calls that have ended, with the number of their client: one for each that was submitted at most.
    events: VecDeque<(usize, Event)>,
    /// What became of connections to the server since all stood.
    roll: Roll,
}

/// Clients of one of a generator's threads, each of which has every so many'th client of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadClients {
    /// How many this thread has.
    pub clients: u32,
    /// The generator's threads, at least one.
    pub threads: u32,
    /// Which of them this is, from 0.
    pub thread: u32,
}

impl ThreadClients {
    /// All of them on one thread.
    #[must_use]
    pub const fn all(clients: u32) -> Self {
        Self { clients, threads: 1, thread: 0 }
    }

    /// The number among all clients that this thread's `client` has.
    #[must_use]
    pub fn number(self, client: u32) -> u64 {
        u64::from(client) * u64::from(self.threads) + u64::from(self.thread)
    }
}

/// Clients with their connections, none of which was begun.
struct Clients {
    links: Vec<Link>,
    clients: usize,
    retries: Option<Retries>,
    mute: usize,
}

/// The alarm's key. Those of channels are their indices.
const ALARM: u64 = u64::MAX;
/// Where nothing at all could be connected to, or all but a node, and attempts have failed, no more is waited for.
const NOTHING_LISTENS_AFTER: Duration = Duration::from_secs(2);
/// How long connecting all clients may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// Connections begun per round: below the server's backlog, so that no SYN is dropped and retried
/// after a second.
const CONNECT_BURST: usize = 256;

impl Fleet {
    /// Connects `clients` clients of `controller`, and to each of the `watched` nodes.
    ///
    /// # Errors
    /// When descriptors run out or the server does not answer in 20 s; in 2 s, where connections are refused
    /// and none stands.
    pub fn connect(
        address: &Address,
        clients: u32,
        controller: &Controller,
        watched: &[Address],
    ) -> Result<Self, FleetError> {
        let one = std::slice::from_ref(address);
        let all = ThreadClients::all(clients);
        Self::connect_to((one, RetryConfig::default()), all, controller, watched)
    }

    /// The same to all replicas of a server, which clients choose among as it is said, each by its number among all. Each of a
    /// client's connections has a number of its own, or their calls could not be told apart in traces.
    ///
    /// # Errors
    /// As above.
    pub fn connect_to(
        (servers, retry): (&[Address], RetryConfig),
        whose: ThreadClients,
        controller: &Controller,
        watched: &[Address],
    ) -> Result<Self, FleetError> {
        let has_replicas = servers.len() > 1;
        let each =
            (0..).zip(servers).flat_map(|place| (0..whose.clients).map(move |it| (place, it)));
        let link = |(key, ((place, server), client)): (u64, ((u64, &Address), u32))| {
            let client_id = whose.number(client) + 1;
            let config = ChannelConfig { client_id, ..ChannelConfig::new(server.clone()) };
            let control = controller.client(key);
            Link::Ours(match has_replicas {
                true => Channel::to_replica(&config, place, key, control),
                false => Channel::new(config, key, control),
            })
        };
        let links = (0..).zip(each).map(link).collect();
        let retries = has_replicas.then(|| Retries::new(retry, servers.len(), whose));
        let clients = whose.clients as usize;
        Self::of(Clients { links, clients, retries, mute: 0 }, (servers, watched))
    }

    /// The same to one server that speaks a protocol of others, which nothing controls.
    ///
    /// # Errors
    /// As above.
    pub fn connect_foreign(
        (server, front): (&Address, &Arc<dyn ForeignFront>),
        clients: u32,
        watched: &[Address],
    ) -> Result<Self, FleetError> {
        let link = |key| Link::Foreign(ForeignLink::new(front.clone(), server.clone(), key));
        let links = (0..u64::from(clients)).map(link).collect();
        let clients = Clients { links, clients: clients as usize, retries: None, mute: 1 };
        Self::of(clients, (std::slice::from_ref(server), watched))
    }

    /// With connections to the servers and nodes that are asked for their counts.
    fn of(
        clients: Clients,
        (servers, watched): (&[Address], &[Address]),
    ) -> Result<Self, FleetError> {
        let system = |errno: rustix::io::Errno| FleetError::System(errno.into());
        let (poller, alarm) = (Poller::new().map_err(system)?, Alarm::new().map_err(system)?);
        poller.add(&alarm, ALARM, Interest::READ).map_err(system)?;
        let Clients { links: mut channels, clients, retries, mute } = clients;
        let links = channels.len();
        let open = tailwater_control::catalog::Spec::named("none")
            .build(&Site::one_loop(CONNECT_LIMIT, 0))
            .expect("no control has no settings that could be wrong");
        let called: Vec<&Address> = servers.iter().chain(watched).collect();
        let asked = (links as u64..).zip(called.iter().skip(mute));
        channels.extend(asked.map(|(key, address)| {
            let config = ChannelConfig::new((*address).clone());
            Link::Ours(Channel::new(config, key, open.client(key)))
        }));
        let mut fleet = Self {
            poller,
            alarm,
            scheduled: vec![Instant::FAR_FUTURE; channels.len()],
            channels,
            clients,
            links,
            called: links + servers.len() - mute,
            mute,
            retries,
            due: BinaryHeap::new(),
            ready: Vec::new(),
            scratch: vec![0; 64 << 10],
            events: VecDeque::new(),
            roll: Roll::default(),
        };
        fleet.bring_up(&called)?;
        fleet.roll = Roll::call(fleet.channels[..fleet.called].iter().map(Link::losses));
        Ok(fleet)
    }

    fn bring_up(&mut self, called: &[&Address]) -> Result<(), FleetError> {
        let start = now();
        let mut begun = 0;
        loop {
            let time = now();
            let up = self.channels.iter().filter(|channel| channel.is_up()).count();
            if up == self.channels.len() {
                return Ok(());
            }
            let patience = time.since(start);
            let why = self.channels.iter().find_map(Link::failure);
            // No channel is up, or only a node's is missing: no crowd is on its way in.
            let stands = up == 0 || self.channels[..self.links].iter().all(Link::is_up);
            let nothing_listens = stands && why.is_some() && patience >= NOTHING_LISTENS_AFTER;
            if nothing_listens || patience >= CONNECT_LIMIT {
                return Err(self.unconnected(called));
            }
            if begun - up.min(begun) < CONNECT_BURST {
                let end = (begun + CONNECT_BURST).min(self.channels.len());
                for index in begun..end {
                    self.drive(index, time);
                }
                begun = end;
            }
            self.poller.wait(Some(Duration::from_millis(1)), &mut self.ready);
            self.take_ready();
            self.fire(now());
        }
    }

    /// What is missing: clients first, else the first server or node that is asked for its counts.
    fn unconnected(&self, servers: &[&Address]) -> FleetError {
        let (links, asked) = self.channels.split_at(self.links);
        let why = |channels: &[Link]| channels.iter().find_map(Link::failure);
        // The first server that has none of a client, with its clients.
        let mut each = servers.iter().zip(links.chunks(self.clients.max(1)));
        let missing = each.find(|(_, clients)| !clients.iter().all(Link::is_up));
        if let Some((server, clients)) = missing {
            return FleetError::Unconnected {
                up: clients.iter().filter(|channel| channel.is_up()).count(),
                wanted: clients.len(),
                address: (*server).clone(),
                why: why(&self.channels),
            };
        }
        let mut nodes = servers.iter().skip(self.mute).zip(asked);
        let missing = nodes.find(|(_, channel)| !channel.is_up());
        let (node, channel) = missing.unwrap_or((&servers[0], &asked[0]));
        FleetError::Unreachable { node: (*node).clone(), why: why(std::slice::from_ref(channel)) }
    }

    /// Logical clients.
    #[must_use]
    pub const fn clients(&self) -> usize {
        self.clients
    }

    /// The replicas of the server and the nodes that are watched.
    #[must_use]
    pub fn servers(&self) -> usize {
        self.mute + self.channels.len() - self.links
    }

    /// Hands a call to a client and sends it if it may go.
    pub fn submit(&mut self, client: usize, time: Instant, token: u64, call: NewCall) {
        let index = match &mut self.retries {
            Some(retries) => retries.begin(time, (client, token), call.deadline, &self.channels),
            None => client,
        };
        self.hand(index, time, token, call);
    }

    /// Hands a call to a channel and sends it if it may go.
    fn hand(&mut self, index: usize, time: Instant, token: u64, call: NewCall) {
        let id = self.channels[index].submit(time, token, call);
        if let Some(retries) = self.retries.as_mut().filter(|_| index < self.links) {
            retries.place(time, token, (index, id));
        }
        self.drive(index, time);
    }

    /// What clients of several replicas have done since the measured window began, which does at `from`.
    pub fn count_retries_from(&mut self, from: Instant) {
        self.retries.iter_mut().for_each(|retries| retries.count_from(from));
    }

    /// What became of tries so far; `None` where there is one server.
    #[must_use]
    pub fn retried(&self) -> Option<Retried> {
        self.retries.as_ref().map(Retries::told)
    }

    /// A call that has ended, with the number of its client. To be asked for until there is none after
    /// each submission and turn.
    pub fn poll_event(&mut self) -> Option<(usize, Event)> {
        self.events.pop_front()
    }

    /// Asks all replicas and the watched nodes for their counts; the answers come from the clients with numbers from
    /// [`Fleet::clients`] on.
    pub fn ask_for_counts(&mut self, time: Instant, token: u64) {
        let question = NewCall {
            method: MethodId::INTROSPECT,
            payload: Bytes::new(),
            deadline: None,
            priority: 0,
            tenant: 0,
            caller: Caller::NONE,
        };
        for server in 0..self.mute {
            let event = Event { token, at: time, call: question.clone(), end: End::NotTaken };
            self.events.push_back((self.clients + server, event));
        }
        for channel in self.links..self.channels.len() {
            self.hand(channel, time, token, question.clone());
        }
    }

    /// Takes what has arrived and does what is due. Waits for at most `patience` if there is
    /// nothing.
    pub fn turn(&mut self, patience: Duration) {
        self.poller.wait(Some(patience), &mut self.ready);
        self.take_ready();
        self.fire(now());
    }

    /// A turn of a generator that has nothing else to do before `until`: over at once where it spins. One that
    /// sleeps is woken then, by whatever arrives, or when something is due for a client.
    pub fn wait(&mut self, pace: Pace, until: Instant) {
        let time = now();
        let impatient = self.retries.as_ref().and_then(Retries::next_due);
        let due = self.due.peek().map(|&Reverse((at, _))| at);
        let due = [due, impatient].into_iter().flatten().fold(until, Instant::min);
        if pace == Pace::Spin || due <= time {
            return self.turn(Duration::ZERO);
        }
        self.alarm.set(due);
        self.poller.wait(None, &mut self.ready);
        self.take_ready();
        self.fire(now());
    }

    /// What became of the connections since all stood, by a clock that began at `start`. Requests are not counted.
    #[must_use]
    pub fn connections(&self, start: Instant) -> ConnectionReading {
        self.roll.reading(self.losses(), start)
    }

    /// Whether a connection of a client stands, to whichever replica.
    #[must_use]
    pub fn stands(&self, client: usize) -> bool {
        (client..self.links).step_by(self.clients.max(1)).any(|link| self.channels[link].is_up())
    }

    fn losses(&self) -> Losses {
        self.channels[..self.called].iter().map(Link::losses).fold(Losses::default(), Losses::plus)
    }

    /// Calls that have not ended.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.channels.iter().map(Link::unfinished).sum()
    }

    fn take_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for readiness in ready.drain(..).filter(|readiness| readiness.key != ALARM) {
            let index = usize::try_from(readiness.key).expect("keys are indices");
            let time = now();
            self.channels[index].on_ready(time, &self.poller, readiness, &mut self.scratch);
            self.drive(index, time);
        }
        self.ready = ready;
    }

    fn drive(&mut self, index: usize, time: Instant) {
        let channel = &mut self.channels[index];
        channel.drive(time, &self.poller);
        self.roll.note(index, time, channel.is_up(), channel.losses());
        let mut again = Vec::new();
        while let Some(event) = self.channels[index].poll_event() {
            let Some(retries) = self.retries.as_mut().filter(|_| index < self.links) else {
                self.events.push_back((self.number(index), event));
                continue;
            };
            match retries.end(time, index, event, &self.channels) {
                Stays::Ended(client, event) => self.events.push_back((client, event)),
                Stays::Tried(next) => again.push(next),
            }
        }
        self.schedule(index, time);
        for (next, token, call) in again {
            self.hand(next, time, token, call);
        }
        self.leave_unwell(index, time);
    }

    fn fire(&mut self, time: Instant) {
        while let Some(&Reverse((at, index))) = self.due.peek()
            && at <= time
        {
            self.due.pop();
            let index = index as usize;
            // Only the earliest entry of a channel is in force; later ones are left to come up.
            if self.scheduled[index] == at {
                self.scheduled[index] = Instant::FAR_FUTURE;
                self.drive(index, time);
            }
        }
        while let Some(retries) = &mut self.retries
            && let Some(token) = retries.next_impatient(time, &self.channels)
        {
            self.leave(token, time);
        }
    }

    /// The client of a channel; those that ask for counts come behind the clients.
    fn number(&self, index: usize) -> usize {
        match index.checked_sub(self.links) {
            Some(asking) => self.clients + self.mute + asking,
            None => index % self.clients,
        }
    }

    /// What waits at a replica that is lost goes elsewhere, if it can: when that is lost, or when another is well again.
    fn leave_unwell(&mut self, index: usize, time: Instant) {
        let health = self.channels[index].health(time);
        let Some(retries) = self.retries.as_mut().filter(|_| index < self.links) else { return };
        for token in retries.note_health(index, health) {
            self.leave(token, time);
        }
    }

    /// A call that waits goes to another replica, if it can.
    fn leave(&mut self, token: u64, time: Instant) {
        let Some(retries) = &mut self.retries else { return };
        let Some(((from, id), next)) = retries.leave(time, token, &self.channels) else { return };
        if let Some(call) = self.channels[from].recall(id) {
            self.hand(next, time, token, call);
        }
    }

    fn schedule(&mut self, index: usize, time: Instant) {
        if let Some(at) = self.channels[index].next_deadline(time)
            && at < self.scheduled[index]
        {
            self.scheduled[index] = at;
            self.due.push(Reverse((at, u32::try_from(index).expect("clients fit 32 bits"))));
        }
    }
}

/// A request of an application as a call.
#[must_use]
pub fn call(ask: Ask, deadline: Option<Instant>) -> NewCall {
    NewCall {
        method: ask.method,
        payload: ask.payload.into(),
        deadline,
        priority: 128,
        tenant: 0,
        caller: Caller::NONE,
    }
}
