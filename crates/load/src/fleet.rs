//! Thousands of logical clients on one thread: connections, control state, and their timers.

use crate::alarm::Alarm;
use crate::application::Ask;
use crate::connections::Roll;
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Controller;
use tailwater_core::pace::Pace;
use tailwater_core::{Instant, MethodId};
use tailwater_rt::Address;
use tailwater_rt::client::{Channel, ChannelConfig, Event, Losses, NewCall};
use tailwater_rt::poll::{Interest, Poller, Readiness};
use tailwater_rt::time::now;
use tailwater_stats::result::ConnectionReading;

/// Logical clients of one thread. Client `i` is the channel with key `i`. One more channel, beside
/// admission, asks the server for its counts, and one each the nodes behind it that are watched.
pub struct Fleet {
    poller: Poller,
    /// Wakes a generator that sleeps.
    alarm: Alarm,
    channels: Vec<Channel>,
    clients: usize,
    /// When each channel wants to be driven, and what of that is in the heap.
    due: BinaryHeap<Reverse<(Instant, u32)>>,
    scheduled: Vec<Instant>,
    ready: Vec<Readiness>,
    scratch: Vec<u8>,
    /// Calls that have ended, with the number of their client: one for each that was submitted at most.
    events: VecDeque<(usize, Event)>,
    /// What became of connections since all stood.
    roll: Roll,
}

/// Why a fleet cannot set sail.
#[derive(Debug)]
pub enum FleetError {
    /// The system is out of something.
    System(std::io::Error),
    /// Some clients could not connect in time.
    Unconnected {
        /// Connected.
        up: usize,
        /// Wanted.
        wanted: usize,
        /// Where to.
        address: Address,
        /// What one of the attempts said that failed.
        why: Option<String>,
    },
    /// All clients are connected, and a node that is asked for its counts is not.
    Unreachable {
        /// Which.
        node: Address,
        /// What the last attempt said that failed.
        why: Option<String>,
    },
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "the generator cannot run: {error}"),
            Self::Unconnected { up, wanted, address, why } => write!(
                f,
                "{up} of {wanted} clients are connected to {address}; is a tailwater server \
                 listening there, and does `ulimit -n` allow {} descriptors?{}",
                wanted + 64,
                in_brackets(why)
            ),
            Self::Unreachable { node, why } => write!(
                f,
                "all clients are connected, but {node} is not, which is asked for its counts; is its server still \
                 there?{}",
                in_brackets(why)
            ),
        }
    }
}

fn in_brackets(why: &Option<String>) -> String {
    why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
}

impl std::error::Error for FleetError {}

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
        let system = |errno: rustix::io::Errno| FleetError::System(errno.into());
        let (poller, alarm) = (Poller::new().map_err(system)?, Alarm::new().map_err(system)?);
        poller.add(&alarm, ALARM, Interest::READ).map_err(system)?;
        let mut channels: Vec<_> = (0..u64::from(clients))
            .map(|key| {
                let config =
                    ChannelConfig { client_id: key + 1, ..ChannelConfig::new(address.clone()) };
                Channel::new(config, key, controller.client(key))
            })
            .collect();
        let open = tailwater_control::catalog::Spec::named("none")
            .build(&Site::one_loop(CONNECT_LIMIT, 0))
            .expect("no control has no settings that could be wrong");
        let asked = std::iter::once(address).chain(watched);
        channels.extend((u64::from(clients)..).zip(asked).map(|(key, address)| {
            Channel::new(ChannelConfig::new(address.clone()), key, open.client(key))
        }));
        let mut fleet = Self {
            poller,
            alarm,
            scheduled: vec![Instant::FAR_FUTURE; channels.len()],
            channels,
            clients: clients as usize,
            due: BinaryHeap::new(),
            ready: Vec::new(),
            scratch: vec![0; 64 << 10],
            events: VecDeque::new(),
            roll: Roll::default(),
        };
        fleet.bring_up(address, watched)?;
        fleet.roll = Roll::call(fleet.channels.iter().map(Channel::losses));
        Ok(fleet)
    }

    fn bring_up(&mut self, address: &Address, watched: &[Address]) -> Result<(), FleetError> {
        let start = now();
        let mut begun = 0;
        loop {
            let time = now();
            let up = self.channels.iter().filter(|channel| channel.is_up()).count();
            if up == self.channels.len() {
                return Ok(());
            }
            let patience = time.since(start);
            let why = self.channels.iter().find_map(Channel::failure);
            // No channel is up, or only a node's is missing: no crowd is on its way in.
            let stands = up == 0 || self.channels[..self.clients].iter().all(Channel::is_up);
            let nothing_listens = stands && why.is_some() && patience >= NOTHING_LISTENS_AFTER;
            if nothing_listens || patience >= CONNECT_LIMIT {
                return Err(self.unconnected(address, watched));
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

    /// What is missing: clients first, else the first node that is asked for its counts.
    fn unconnected(&self, address: &Address, watched: &[Address]) -> FleetError {
        let (clients, asked) = self.channels.split_at(self.clients);
        let why = |channels: &[Channel]| {
            channels.iter().find_map(Channel::failure).map(ToString::to_string)
        };
        let up = clients.iter().filter(|channel| channel.is_up()).count();
        let mut nodes = std::iter::once(address).chain(watched).zip(asked);
        let missing = nodes.find(|(_, channel)| !channel.is_up());
        match missing.filter(|_| up == clients.len()) {
            Some((node, channel)) => FleetError::Unreachable {
                node: node.clone(),
                why: why(std::slice::from_ref(channel)),
            },
            None => FleetError::Unconnected {
                up,
                wanted: clients.len(),
                address: address.clone(),
                why: why(&self.channels),
            },
        }
    }

    /// Logical clients.
    #[must_use]
    pub const fn clients(&self) -> usize {
        self.clients
    }

    /// The server and the nodes that are watched.
    #[must_use]
    pub fn servers(&self) -> usize {
        self.channels.len() - self.clients
    }

    /// Hands a call to a client and sends it if it may go.
    pub fn submit(&mut self, client: usize, time: Instant, token: u64, call: NewCall) {
        self.channels[client].submit(time, token, call);
        self.drive(client, time);
    }

    /// A call that has ended, with the number of its client. To be asked for until there is none after
    /// each submission and turn.
    pub fn poll_event(&mut self) -> Option<(usize, Event)> {
        self.events.pop_front()
    }

    /// Asks the server and the watched nodes for their counts; the answers come from the clients with numbers from
    /// [`Fleet::clients`] on.
    pub fn ask_for_counts(&mut self, time: Instant, token: u64) {
        let question = NewCall {
            method: MethodId::INTROSPECT,
            payload: Bytes::new(),
            deadline: None,
            priority: 0,
            tenant: 0,
        };
        for channel in self.clients..self.channels.len() {
            self.submit(channel, time, token, question.clone());
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
        let due = self.due.peek().map_or(until, |&Reverse((at, _))| at.min(until));
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

    /// Whether a client's connection stands.
    #[must_use]
    pub fn stands(&self, client: usize) -> bool {
        self.channels[client].is_up()
    }

    fn losses(&self) -> Losses {
        self.channels.iter().map(Channel::losses).fold(Losses::default(), Losses::plus)
    }

    /// Calls that have not ended.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.channels.iter().map(Channel::unfinished).sum()
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
        while let Some(event) = channel.poll_event() {
            self.events.push_back((index, event));
        }
        self.schedule(index, time);
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
    NewCall { method: ask.method, payload: ask.payload.into(), deadline, priority: 128, tenant: 0 }
}
