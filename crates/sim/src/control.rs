//! The node's side of the controller: its connections, and which shard each belongs to.

use crate::facts::Fact;
use crate::space::{Credit, Space};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::{
    Admission, Arrival, Dispatch, Gauges, Offer, RequestEnd, Shard, Verdict, Wish,
};
use tailwater_core::{Class, Instant, SessionId, Silent};

/// The shards, and the connections that are divided among them.
pub(crate) struct Control {
    admission: Arc<dyn Admission>,
    shards: Vec<Box<dyn Shard>>,
    /// The node's number.
    node: u16,
    /// Announcements of demand to each loop's shards, of which there may be several, since its outbox was
    /// empty.
    announced: Vec<usize>,
    /// The number of the first connection.
    first: u32,
    connections: Vec<Connection>,
}

/// A client's connection, or a caller's.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    up: bool,
    /// The node is about to close it.
    closing: bool,
    /// Counts how often it was made anew.
    number: u16,
}

impl Control {
    /// Connects the clients of these numbers to a node, divided in turn over so many loops of so many shards
    /// each.
    pub(crate) fn new(
        admission: Arc<dyn Admission>,
        (node, (loops, shards)): (u16, (u32, u32)),
        clients: Range<u32>,
        space: &mut Space,
    ) -> Self {
        let mut control = Self {
            shards: shards_of(&admission, (loops.max(1) * shards.max(1)) as usize),
            admission,
            node,
            announced: vec![0; loops.max(1) as usize],
            first: clients.start,
            connections: vec![Connection::default(); clients.len()],
        };
        for client in clients {
            // Its WELCOME was used up before the run.
            control.open(Instant::ZERO, client, 0, space);
        }
        control
    }

    /// A client's connection stands; returns its WELCOME.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        client: u32,
        number: u16,
        space: &mut Space,
    ) -> Credit {
        if self.of(client).up {
            self.close(now, client, space);
        }
        *self.of(client) = Connection { up: true, closing: false, number };
        let session = self.session(client);
        let offer = self.shard(client).on_open(now, session, &mut Silent);
        space.tell(Fact::Accepted { client, offer, gauges: self.gauges() });
        Credit { client, connection: number, offer, stamp: now.stamp() }
    }

    /// The connection is gone, and its requests are nobody's.
    pub(crate) fn close(&mut self, now: Instant, client: u32, space: &mut Space) {
        let session = self.session(client);
        self.shard(client).on_close(now, session, &mut Silent);
        let connection = self.of(client);
        (connection.up, connection.closing) = (false, false);
        space.tell(Fact::Closed { client });
    }

    /// A new process: every connection is closed, `admission` knows nothing of the past.
    pub(crate) fn restart(
        &mut self,
        now: Instant,
        admission: Arc<dyn Admission>,
        space: &mut Space,
    ) {
        for client in self.clients() {
            if self.of(client).up {
                self.close(now, client, space);
            }
        }
        self.shards = shards_of(&admission, self.shards.len());
        self.admission = admission;
        space.tell(Fact::Died { node: self.node });
    }

    /// Whether this is the client's connection of the moment.
    pub(crate) fn hears(&self, client: u32, connection: u16) -> bool {
        let found = self.connections[self.index(client)];
        found.up && found.number == connection
    }

    /// Their numbers.
    pub(crate) fn clients(&self) -> Range<u32> {
        self.first..self.first + self.connections.len() as u32
    }

    /// The number of the connection that the client has, or had last.
    pub(crate) fn connection(&self, client: u32) -> u16 {
        self.connections[self.index(client)].number
    }

    /// The node said goodbye to the client and will close.
    pub(crate) fn say_goodbye(&mut self, client: u32) {
        self.of(client).closing = true;
    }

    pub(crate) fn is_closing(&self, client: u32) -> bool {
        self.connections[self.index(client)].closing
    }

    pub(crate) fn gauges(&self) -> Gauges {
        self.admission.gauges()
    }

    /// The loop that a connection belongs to. One over which the node itself calls is no client's, and
    /// dealt round like those.
    pub(crate) fn loop_of(&self, connection: u32) -> usize {
        let ours = self.clients().contains(&connection);
        let index = if ours { self.index(connection) } else { connection as usize };
        index % self.announced.len()
    }

    /// A loop tells its shards the delay and hears what they wish.
    pub(crate) fn tick(
        &mut self,
        at: usize,
        now: Instant,
        delay: Duration,
        outbox: &mut VecDeque<(u32, Offer)>,
        space: &mut Space,
    ) {
        if outbox.is_empty() {
            self.announced[at] = 0;
        }
        for index in (at..self.shards.len()).step_by(self.announced.len()) {
            self.shards[index].on_tick(now, delay, &mut Silent);
            while let Some(Wish::Credit(session, offer)) =
                self.shards[index].poll_wish(now, &mut Silent)
            {
                let number = session.0 * self.shards.len() as u32 + index as u32;
                let client = self.clients().start + number;
                self.offered(client, offer, space);
                outbox.push_back((client, offer));
                // One for each session, and one for each announcement of more demand meanwhile. A controller
                // that wishes for more than that may never come to an end.
                let max = self.connections.len() + self.announced[at];
                if outbox.len() > max {
                    return space.tell(Fact::CreditsWait { length: outbox.len(), max });
                }
            }
        }
        space.tell(Fact::Ticked { node: self.node, at, gauges: self.gauges() });
    }

    /// When a loop's shards want to be called.
    pub(crate) fn next_deadline(&self, at: usize, now: Instant) -> Option<Instant> {
        let shards = self.shards.iter().skip(at).step_by(self.announced.len());
        shards.filter_map(|shard| shard.next_deadline(now)).min()
    }

    /// A loop's shards asked for a call at `due`.
    pub(crate) fn on_asked(&self, at: usize, due: Instant, space: &mut Space) {
        space.tell(Fact::Asked { node: self.node, at, due });
    }

    /// The loop cannot call its shards before `until`.
    pub(crate) fn postpone(&self, at: usize, until: Instant, space: &mut Space) {
        space.tell(Fact::Postponed { node: self.node, at, until });
    }

    pub(crate) fn demand(&mut self, now: Instant, client: u32, demand: u32, acked: u32) {
        let at = self.loop_of(client);
        self.announced[at] += 1;
        let session = self.session(client);
        self.shard(client).on_demand(now, session, demand, acked);
    }

    pub(crate) fn deregister(&mut self, now: Instant, client: u32, space: &mut Space) {
        let session = self.session(client);
        self.shard(client).on_deregister(now, session, &mut Silent);
        space.tell(Fact::Deregistered { client });
    }

    pub(crate) fn request(
        &mut self,
        now: Instant,
        client: u32,
        (class, dispatch): (Class, &Dispatch),
        hidden: Duration,
        delay: Duration,
    ) -> Verdict {
        let arrival = Arrival {
            demand: dispatch.demand,
            acked: dispatch.acked,
            register: dispatch.register,
            priority: dispatch.priority,
            time_left: dispatch.time_left,
            echo: dispatch.echo,
            hidden,
            class,
        };
        let session = self.session(client);
        self.shard(client).on_request(now, session, &arrival, delay, &mut Silent)
    }

    pub(crate) fn start(
        &mut self,
        now: Instant,
        client: u32,
        waited: Duration,
        time_left: Option<Duration>,
    ) -> Verdict {
        let session = self.session(client);
        self.shard(client).on_start(now, session, waited, time_left, &mut Silent)
    }

    pub(crate) fn done(
        &mut self,
        now: Instant,
        client: u32,
        done: &RequestEnd,
        space: &mut Space,
    ) -> Offer {
        let session = self.session(client);
        let offer = self.shard(client).on_done(now, session, done);
        self.offered(client, offer, space);
        offer
    }

    /// A message with an offer leaves, stamped with the time.
    pub(crate) fn sent(&mut self, now: Instant, client: u32) {
        let session = self.session(client);
        self.shard(client).on_sent(now, session);
    }

    fn offered(&self, client: u32, offer: Offer, space: &mut Space) {
        space.tell(Fact::Offered { client, offer, gauges: self.gauges() });
    }

    fn of(&mut self, client: u32) -> &mut Connection {
        let index = self.index(client);
        &mut self.connections[index]
    }

    /// Sessions are counted from 0.
    const fn index(&self, client: u32) -> usize {
        (client - self.first) as usize
    }

    fn session(&self, client: u32) -> SessionId {
        SessionId((self.index(client) / self.shards.len()) as u32)
    }

    fn shard(&mut self, client: u32) -> &mut dyn Shard {
        let index = self.index(client) % self.shards.len();
        &mut *self.shards[index]
    }
}

fn shards_of(admission: &Arc<dyn Admission>, count: usize) -> Vec<Box<dyn Shard>> {
    (0..count).map(|index| Arc::clone(admission).shard(index)).collect()
}
