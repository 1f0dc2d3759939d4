//! The node's side of the controller: which shard a client belongs to, and whether the controller
//! keeps its promises.

use crate::space::Space;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::{
    Admission, Arrival, Completion, Dispatch, Gauges, Offer, Reason, Shard, Verdict, Wish,
};
use tailwater_core::{Instant, SessionId, Silent};

/// The shards, and what every session was told.
pub(crate) struct Control {
    admission: Arc<dyn Admission>,
    shards: Vec<Box<dyn Shard>>,
    told: Vec<Told>,
    /// Σ over registered sessions of max(window, pending): no accounting may count more as issued.
    held: u64,
    /// Some session may send at will, so that nothing is counted.
    open: bool,
}

/// One session, seen from outside of the controller.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    registered: bool,
    window: u32,
    largest: u32,
    pending: u32,
}

impl Told {
    fn held(&self) -> u64 {
        if self.registered { u64::from(self.window.max(self.pending)) } else { 0 }
    }
}

impl Control {
    /// Connects `clients` clients, divided over `shards` shards in turn.
    pub(crate) fn new(admission: Arc<dyn Admission>, shards: u32, clients: u32) -> Self {
        let count = shards.max(1) as usize;
        let mut control = Self {
            shards: (0..count).map(|index| Arc::clone(&admission).shard(index)).collect(),
            admission,
            told: vec![Told::default(); clients as usize],
            held: 0,
            open: false,
        };
        for client in 0..clients {
            let session = control.session(client);
            let offer = control.shard(client).on_open(Instant::ZERO, session, &mut Silent);
            control.offered(client, offer);
        }
        control
    }

    pub(crate) fn gauges(&self) -> Gauges {
        self.admission.gauges()
    }

    pub(crate) fn tick(
        &mut self,
        now: Instant,
        delay: Duration,
        outbox: &mut VecDeque<(u32, Offer)>,
        space: &mut Space,
    ) {
        for index in 0..self.shards.len() {
            self.shards[index].on_tick(now, delay, &mut Silent);
            while let Some(Wish::Credit(session, offer)) =
                self.shards[index].poll_wish(now, &mut Silent)
            {
                let client = session.0 * self.shards.len() as u32 + index as u32;
                self.offered(client, offer);
                outbox.push_back((client, offer));
            }
        }
        self.check_issued(space);
    }

    pub(crate) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let deadlines = self.shards.iter().map(|shard| shard.next_deadline(now));
        deadlines.flatten().min()
    }

    pub(crate) fn demand(&mut self, now: Instant, client: u32, demand: u32, acked: u32) {
        let session = self.session(client);
        self.shard(client).on_demand(now, session, demand, acked);
    }

    pub(crate) fn deregister(&mut self, now: Instant, client: u32) {
        let session = self.session(client);
        self.shard(client).on_deregister(now, session, &mut Silent);
        self.tell(client, |told| {
            told.registered = false;
            told.window = 0;
        });
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
        self.tell(client, |told| {
            if dispatch.register && !told.registered {
                // The request that registers is its own permission.
                (told.registered, told.window) = (true, 1);
                told.largest = told.largest.max(1);
            }
            told.pending += 1;
        });
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
        if self.told[client as usize].pending == 0 {
            space.complain(|| format!("client {client}: more answers than requests"));
        }
        self.tell(client, |told| told.pending = told.pending.saturating_sub(1));
        self.offered(client, offer);
        offer
    }

    /// With nothing pending, what is issued must be exactly the windows that the sessions know,
    /// however a profile counts requests that are being served.
    pub(crate) fn check_at_rest(&self, space: &mut Space) {
        let gauges = self.gauges();
        let pending: u64 = self.told.iter().map(|told| u64::from(told.pending)).sum();
        let registered = self.told.iter().filter(|told| told.registered).count();
        if self.open || pending > 0 || gauges.pool == 0 {
            return;
        }
        if u64::from(gauges.issued) != self.held || gauges.sessions as usize != registered {
            space.complain(|| {
                format!(
                    "at rest {} credits are issued to {} sessions, \
                     but {registered} sessions were told of {}",
                    gauges.issued, gauges.sessions, self.held
                )
            });
        }
    }

    fn check_issued(&self, space: &mut Space) {
        let issued = u64::from(self.gauges().issued);
        if !self.open && issued > self.held {
            space.complain(|| {
                format!("{issued} credits count as issued, but sessions hold {} at most", self.held)
            });
        }
    }

    /// The simulated clients are honest, so none may be found to have sent without credit.
    fn check_verdict(&self, client: u32, verdict: Verdict, space: &mut Space) {
        let told = self.told[client as usize];
        if matches!(verdict, Verdict::Shed(Reason::NoCredit) | Verdict::Close(_)) {
            space.complain(|| format!("client {client} kept to its window, but got {verdict:?}"));
        }
        if told.pending > told.largest {
            space.complain(|| {
                format!(
                    "client {client} has {} requests at the node; its windows never exceeded {}",
                    told.pending, told.largest
                )
            });
        }
    }

    fn offered(&mut self, client: u32, offer: Offer) {
        self.open |= offer.window == Offer::OPEN.window;
        self.tell(client, |told| {
            told.window = offer.window;
            told.largest = told.largest.max(offer.window);
        });
    }

    fn tell(&mut self, client: u32, change: impl FnOnce(&mut Told)) {
        let told = &mut self.told[client as usize];
        self.held -= told.held();
        change(told);
        self.held += told.held();
    }

    fn session(&self, client: u32) -> SessionId {
        SessionId(client / self.shards.len() as u32)
    }

    fn shard(&mut self, client: u32) -> &mut dyn Shard {
        let index = client as usize % self.shards.len();
        &mut *self.shards[index]
    }
}

#[cfg(test)]
mod tests;
