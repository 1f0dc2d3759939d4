//! The node's side of the controller: which shard a client belongs to, and whether the controller
//! keeps its promises.

use crate::checks::deadline::Deadline;
use crate::checks::ledger::Ledger;
use crate::checks::signal::Signal;
use crate::checks::windows::Windows;
use crate::checks::{Rule, credits, honest, queues};
use crate::space::Space;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::{
    Admission, Arrival, Completion, Dispatch, Gauges, Offer, Shard, Verdict, Wish,
};
use tailwater_core::{Instant, SessionId, Silent};

/// The shards, and the books beside them that its promises are checked against.
pub(crate) struct Control {
    admission: Arc<dyn Admission>,
    shards: Vec<Box<dyn Shard>>,
    /// What was told and asked of each loop's shards, of which there may be several.
    loops: Vec<Talk>,
    ledger: Ledger,
    windows: Windows,
    /// What a client may do that has just connected.
    first: Offer,
}

/// Between one loop and its shards.
#[derive(Clone, Copy, Debug, Default)]
struct Talk {
    signal: Signal,
    deadline: Deadline,
    /// Announcements of demand since the outbox was empty.
    announced: usize,
}

impl Control {
    /// Connects the clients of these numbers, divided in turn over so many loops of so many shards each.
    pub(crate) fn new(
        admission: Arc<dyn Admission>,
        (loops, shards): (u32, u32),
        clients: Range<u32>,
        space: &mut Space,
    ) -> Self {
        let mut control = Self {
            shards: shards_of(&admission, (loops.max(1) * shards.max(1)) as usize),
            loops: vec![Talk::default(); loops.max(1) as usize],
            admission,
            ledger: Ledger::new(clients.clone()),
            windows: Windows::default(),
            first: Offer::OPEN,
        };
        for client in clients {
            control.open(Instant::ZERO, client, 0, space);
        }
        control
    }

    /// The window of a client that has just connected.
    pub(crate) const fn first_window(&self) -> u32 {
        self.first.window
    }

    /// A client's connection stands.
    pub(crate) fn open(&mut self, now: Instant, client: u32, connection: u16, space: &mut Space) {
        if self.ledger.of(client).connected {
            self.close(now, client);
        }
        self.ledger.connect(client, connection);
        let session = self.session(client);
        self.first = self.shard(client).on_open(now, session, &mut Silent);
        self.offered(client, self.first, space);
    }

    /// The connection is gone, and its requests are nobody's.
    pub(crate) fn close(&mut self, now: Instant, client: u32) {
        let session = self.session(client);
        self.shard(client).on_close(now, session, &mut Silent);
        self.ledger.disconnect(client);
    }

    /// A new process: every connection is closed, `admission` knows nothing of the past.
    pub(crate) fn restart(&mut self, now: Instant, admission: Arc<dyn Admission>) {
        for client in self.ledger.clients() {
            if self.ledger.of(client).connected {
                self.close(now, client);
            }
        }
        self.shards = shards_of(&admission, self.shards.len());
        self.admission = admission;
        self.loops.iter_mut().for_each(|talk| talk.deadline.on_called());
    }

    /// Whether this is the client's connection of the moment.
    pub(crate) fn hears(&self, client: u32, connection: u16) -> bool {
        let told = self.ledger.of(client);
        told.connected && told.connection == connection
    }

    /// Their numbers.
    pub(crate) fn clients(&self) -> Range<u32> {
        self.ledger.clients()
    }

    /// The number of the connection that the client has, or had last.
    pub(crate) fn connection(&self, client: u32) -> u16 {
        self.ledger.of(client).connection
    }

    /// The client is to break the rules and held to them no longer.
    pub(crate) fn distrust(&mut self, client: u32) {
        self.ledger.change(client, |told| told.rogue = true);
    }

    /// The node said goodbye to the client and will close.
    pub(crate) fn say_goodbye(&mut self, client: u32) {
        self.ledger.change(client, |told| told.closing = true);
    }

    pub(crate) fn is_closing(&self, client: u32) -> bool {
        self.ledger.of(client).closing
    }

    pub(crate) fn gauges(&self) -> Gauges {
        self.admission.gauges()
    }

    /// The loop that a connection belongs to. One over which the node itself calls is no client's, and
    /// dealt round like those.
    pub(crate) fn loop_of(&self, connection: u32) -> usize {
        let ours = self.clients().contains(&connection);
        let index = if ours { self.ledger.index(connection) } else { connection as usize };
        index % self.loops.len()
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
            self.loops[at].announced = 0;
        }
        for index in (at..self.shards.len()).step_by(self.loops.len()) {
            self.shards[index].on_tick(now, delay, &mut Silent);
            while let Some(Wish::Credit(session, offer)) =
                self.shards[index].poll_wish(now, &mut Silent)
            {
                let number = session.0 * self.shards.len() as u32 + index as u32;
                let client = self.clients().start + number;
                self.offered(client, offer, space);
                outbox.push_back((client, offer));
                // One for each session, and one for each announcement of more demand meanwhile.
                let max = self.clients().len() + self.loops[at].announced;
                let finding = queues::bounded("the outbox", outbox.len(), max);
                if finding.is_some() {
                    return space.judge(Rule::Queues, finding);
                }
            }
        }
        let talk = &mut self.loops[at];
        talk.signal.on_tick(now);
        space.judge(Rule::Deadline, talk.deadline.check(now));
        talk.deadline.on_called();
        let gauges = self.gauges();
        self.windows.on_pool(&gauges);
        space.judge(Rule::Credits, credits::at_tick(&self.ledger, &gauges));
    }

    /// When a loop's shards want to be called.
    pub(crate) fn next_deadline(&self, at: usize, now: Instant) -> Option<Instant> {
        let shards = self.shards.iter().skip(at).step_by(self.loops.len());
        shards.filter_map(|shard| shard.next_deadline(now)).min()
    }

    /// A loop's shards asked for a call at `due`.
    pub(crate) fn on_asked(&mut self, at: usize, due: Instant) {
        self.loops[at].deadline.on_asked(due);
    }

    /// The loop cannot call its shards before `until`.
    pub(crate) fn postpone(&mut self, at: usize, until: Instant) {
        self.loops[at].deadline.postpone(until);
    }

    /// A piece of a loop's work has ended.
    pub(crate) fn check_signal(&self, at: usize, now: Instant, tick: Duration, space: &mut Space) {
        space.judge(Rule::Signal, self.loops[at].signal.check(now, tick));
    }

    pub(crate) fn demand(&mut self, now: Instant, client: u32, demand: u32, acked: u32) {
        let at = self.loop_of(client);
        self.loops[at].announced += 1;
        let session = self.session(client);
        self.shard(client).on_demand(now, session, demand, acked);
    }

    pub(crate) fn deregister(&mut self, now: Instant, client: u32) {
        let session = self.session(client);
        self.shard(client).on_deregister(now, session, &mut Silent);
        // As before it registered: the request that registers it again is its own permission.
        self.ledger.change(client, |told| (told.registered, told.window) = (false, 1));
    }

    pub(crate) fn request(
        &mut self,
        now: Instant,
        client: u32,
        dispatch: &Dispatch,
        hidden: Duration,
        delay: Duration,
        space: &mut Space,
    ) -> Verdict {
        let arrival = Arrival {
            demand: dispatch.demand,
            acked: dispatch.acked,
            register: dispatch.register,
            priority: dispatch.priority,
            budget: dispatch.budget,
            echo: dispatch.echo,
            hidden,
        };
        self.ledger.request(client, dispatch.register);
        let session = self.session(client);
        let verdict = self.shard(client).on_request(now, session, &arrival, delay, &mut Silent);
        self.check_verdict(client, verdict, space);
        verdict
    }

    pub(crate) fn start(
        &mut self,
        now: Instant,
        client: u32,
        waited: Duration,
        budget: Option<Duration>,
    ) -> Verdict {
        let session = self.session(client);
        self.shard(client).on_start(now, session, waited, budget, &mut Silent)
    }

    pub(crate) fn done(
        &mut self,
        now: Instant,
        client: u32,
        done: &Completion,
        space: &mut Space,
    ) -> Offer {
        let session = self.session(client);
        let offer = self.shard(client).on_done(now, session, done);
        if self.ledger.of(client).pending == 0 {
            let what = || format!("client {client}: more answers than requests");
            space.complain(Rule::Fates, what);
        }
        self.ledger.change(client, |told| told.pending = told.pending.saturating_sub(1));
        self.offered(client, offer, space);
        offer
    }

    /// A message with an offer leaves, stamped with the time.
    pub(crate) fn sent(&mut self, now: Instant, client: u32) {
        let session = self.session(client);
        self.shard(client).on_sent(now, session);
    }

    /// At the end of the run.
    pub(crate) fn check_at_rest(&self, now: Instant, space: &mut Space) {
        for talk in &self.loops {
            space.judge(Rule::Deadline, talk.deadline.check(now));
        }
        space.judge(Rule::Credits, credits::at_rest(&self.ledger, &self.gauges()));
    }

    fn check_verdict(&self, client: u32, verdict: Verdict, space: &mut Space) {
        let told = self.ledger.of(client);
        space.judge(Rule::Windows, self.windows.check_verdict(told, verdict));
        if !told.rogue {
            space.judge(Rule::Honest, honest::accused(verdict));
        }
    }

    fn offered(&mut self, client: u32, offer: Offer, space: &mut Space) {
        let (told, gauges) = (self.ledger.of(client), self.admission.gauges());
        space.judge(Rule::Windows, self.windows.check_offer(told, offer, &gauges));
        self.ledger.offer(client, offer);
    }

    fn session(&self, client: u32) -> SessionId {
        SessionId((self.ledger.index(client) / self.shards.len()) as u32)
    }

    fn shard(&mut self, client: u32) -> &mut dyn Shard {
        let index = self.ledger.index(client) % self.shards.len();
        &mut *self.shards[index]
    }
}

fn shards_of(admission: &Arc<dyn Admission>, count: usize) -> Vec<Box<dyn Shard>> {
    (0..count).map(|index| Arc::clone(admission).shard(index)).collect()
}

#[cfg(test)]
mod tests;
