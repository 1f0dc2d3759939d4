//! The node's side of the controller: its connections, and which shard each belongs to.

use crate::connection::{Connection, Incarnation, all_in, indices};
use crate::facts::Fact;
use crate::space::Space;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::{
    Admission, Arrival, Dispatch, Gauges, Offer, RequestEnd, Shard, Stamps, Verdict, Wish,
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
    /// The first of the connections that lead here.
    first: Connection,
    ends: Vec<ServerEnd>,
    /// What each of them was sent and has not returned.
    stamps: Vec<Stamps>,
}

/// The node's end of a connection.
#[derive(Clone, Copy, Debug)]
struct ServerEnd {
    up: bool,
    /// The node is about to close it.
    closing: bool,
    /// Of the connection that stands, or stood last.
    incarnation: Incarnation,
}

impl Control {
    /// Of a node to which these connections lead, divided in turn over so many loops of so many shards
    /// each.
    pub(crate) fn new(
        admission: Arc<dyn Admission>,
        (node, (loops, shards)): (u16, (u32, u32)),
        connections: Range<Connection>,
        space: &mut Space,
    ) -> Self {
        let unused = ServerEnd { up: false, closing: false, incarnation: Incarnation::FIRST };
        let count = indices(&connections).len();
        let mut control = Self {
            shards: shards_of(&admission, (loops.max(1) * shards.max(1)) as usize),
            admission,
            node,
            announced: vec![0; loops.max(1) as usize],
            first: connections.start,
            ends: vec![unused; count],
            stamps: std::iter::repeat_with(Stamps::default).take(count).collect(),
        };
        for connection in all_in(connections) {
            // Its WELCOME was used up before the run.
            control.open(Instant::ZERO, connection, Incarnation::FIRST, space);
        }
        control
    }

    /// A connection stands; returns what its WELCOME is to offer.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        space: &mut Space,
    ) -> Offer {
        if self.of(connection).up {
            self.close(now, connection, space);
        }
        *self.of(connection) = ServerEnd { up: true, closing: false, incarnation };
        *self.stamps(connection) = Stamps::default();
        let session = self.session(connection);
        let offer = self.shard(connection).on_open(now, session, &mut Silent);
        space.tell(Fact::Accepted { connection, offer, gauges: self.gauges() });
        offer
    }

    /// The connection is gone, and its requests are nobody's.
    pub(crate) fn close(&mut self, now: Instant, connection: Connection, space: &mut Space) {
        let session = self.session(connection);
        self.shard(connection).on_close(now, session, &mut Silent);
        let end = self.of(connection);
        (end.up, end.closing) = (false, false);
        space.tell(Fact::Closed { connection });
    }

    /// A new process: every connection is closed, `admission` knows nothing of the past.
    pub(crate) fn restart(
        &mut self,
        now: Instant,
        admission: Arc<dyn Admission>,
        space: &mut Space,
    ) {
        for connection in all_in(self.connections()) {
            if self.of(connection).up {
                self.close(now, connection, space);
            }
        }
        self.shards = shards_of(&admission, self.shards.len());
        self.admission = admission;
        space.tell(Fact::Died { node: self.node });
    }

    /// Whether the connection stands in this incarnation.
    pub(crate) fn hears(&self, connection: Connection, incarnation: Incarnation) -> bool {
        let end = self.ends[self.index(connection)];
        end.up && end.incarnation == incarnation
    }

    /// Those that lead here.
    pub(crate) fn connections(&self) -> Range<Connection> {
        self.first..Connection(self.first.0 + self.ends.len() as u32)
    }

    /// In which incarnation the connection stands, or stood last.
    pub(crate) fn incarnation(&self, connection: Connection) -> Incarnation {
        self.ends[self.index(connection)].incarnation
    }

    /// The node said goodbye to the client and will close.
    pub(crate) fn say_goodbye(&mut self, connection: Connection) {
        self.of(connection).closing = true;
    }

    pub(crate) fn is_closing(&self, connection: Connection) -> bool {
        self.ends[self.index(connection)].closing
    }

    pub(crate) fn gauges(&self) -> Gauges {
        self.admission.gauges()
    }

    /// The loop that a connection belongs to. One over which the node itself calls is no client's, and
    /// dealt round like those.
    pub(crate) fn loop_of(&self, connection: Connection) -> usize {
        let ours = self.connections().contains(&connection);
        let index = if ours { self.index(connection) } else { connection.index() };
        index % self.announced.len()
    }

    /// A loop tells its shards the delay and hears what they wish.
    pub(crate) fn tick(
        &mut self,
        at: usize,
        now: Instant,
        delay: Duration,
        outbox: &mut VecDeque<(Connection, Offer)>,
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
                let connection = Connection(self.first.0 + number);
                self.offered(connection, offer, space);
                outbox.push_back((connection, offer));
                // One for each session, and one for each announcement of more demand meanwhile. A controller
                // that wishes for more than that may never come to an end.
                let max = self.ends.len() + self.announced[at];
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

    pub(crate) fn demand(&mut self, now: Instant, connection: Connection, demand: u32, acked: u32) {
        let at = self.loop_of(connection);
        self.announced[at] += 1;
        let session = self.session(connection);
        self.shard(connection).on_demand(now, session, demand, acked);
    }

    pub(crate) fn deregister(&mut self, now: Instant, connection: Connection, space: &mut Space) {
        let session = self.session(connection);
        self.shard(connection).on_deregister(now, session, &mut Silent);
        space.tell(Fact::Deregistered { connection });
    }

    /// A request came, which waited `hidden` to be parsed, while the oldest at its loop waits for `delay`.
    pub(crate) fn request(
        &mut self,
        now: Instant,
        connection: Connection,
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
        let (session, delay) = (self.session(connection), delay.max(hidden));
        self.shard(connection).on_request(now, session, &arrival, delay, &mut Silent)
    }

    pub(crate) fn start(
        &mut self,
        now: Instant,
        connection: Connection,
        waited: Duration,
        time_left: Option<Duration>,
    ) -> Verdict {
        let session = self.session(connection);
        self.shard(connection).on_start(now, session, waited, time_left, &mut Silent)
    }

    pub(crate) fn done(
        &mut self,
        now: Instant,
        connection: Connection,
        done: &RequestEnd,
        space: &mut Space,
    ) -> Offer {
        let session = self.session(connection);
        let offer = self.shard(connection).on_done(now, session, done);
        self.offered(connection, offer, space);
        offer
    }

    /// A message with an offer leaves, stamped with the time.
    pub(crate) fn sent(&mut self, now: Instant, connection: Connection) {
        let session = self.session(connection);
        self.shard(connection).on_sent(now, session);
    }

    /// What the connection was sent and has not returned, where that is kept.
    pub(crate) fn stamps(&mut self, connection: Connection) -> &mut Stamps {
        let index = self.index(connection);
        &mut self.stamps[index]
    }

    fn offered(&self, connection: Connection, offer: Offer, space: &mut Space) {
        space.tell(Fact::Offered { connection, offer, gauges: self.gauges() });
    }

    fn of(&mut self, connection: Connection) -> &mut ServerEnd {
        let index = self.index(connection);
        &mut self.ends[index]
    }

    /// Sessions are counted from 0.
    const fn index(&self, connection: Connection) -> usize {
        (connection.0 - self.first.0) as usize
    }

    /// Its number among all that lead here, of whatever shard.
    pub(crate) const fn number(&self, connection: Connection) -> SessionId {
        SessionId(connection.0 - self.first.0)
    }

    /// Its number among those of its shard.
    fn session(&self, connection: Connection) -> SessionId {
        SessionId((self.index(connection) / self.shards.len()) as u32)
    }

    fn shard(&mut self, connection: Connection) -> &mut dyn Shard {
        let index = self.index(connection) % self.shards.len();
        &mut *self.shards[index]
    }
}

fn shards_of(admission: &Arc<dyn Admission>, count: usize) -> Vec<Box<dyn Shard>> {
    (0..count).map(|index| Arc::clone(admission).shard(index)).collect()
}
