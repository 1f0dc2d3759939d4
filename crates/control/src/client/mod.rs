//! The client's half: one per connection. Queues calls, asks the gate, expires what waits too long.
//!
//! Like the server's half it only decides; the driver (runtime, load generator, simulator) sends.

mod gate;
mod queue;

pub use gate::{Gate, OpenGate, Permit};

use crate::server::{Echo, Offer, Outcome};
use queue::Queue;
use std::time::Duration;
use tailwater_core::{Instant, RequestId, Stamp};

/// How a client queues. Checked by `catalog`, trusted here.
#[derive(Clone, Copy, Debug)]
pub struct ClientConfig {
    /// Most calls that wait. At the bound the oldest is dropped: it is the least likely to be in
    /// time. Too small drops bursts that credits would have served; too large only delays expiry.
    pub queue_max: usize,
    /// How long a call may wait for permission.
    pub expiry: Expiry,
    /// Send demand in a message of its own whenever it changes (Fig. 8's alternative).
    pub announce_demand: bool,
    /// Give credits back after this long without a call; `None` keeps them for ever.
    pub deregister_after: Option<Duration>,
}

/// How long a call may wait at the client before it is given up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expiry {
    /// For ever.
    Never,
    /// A constant, above zero: the paper's SLO (§3.3), the artifact's 10 µs.
    After(Duration),
    /// A share of the time to its deadline. The rest belongs to the server's queue. A call that has spent its time
    /// here is shed there, which costs the server; one that is given up here leaves its credit to the next.
    Share {
        /// The deadline of calls that name none: this long after submission. The server's own objective
        /// takes its place once it is told ([`Client::on_objective`]).
        slo: Duration,
        /// Above 0 and up to 1: at 0 a call is given up before it can be sent. Low gives up calls that would have been in time,
        /// but only while none waits behind them; high sends calls that will be shed or late.
        share: f64,
    },
}

/// A call that wants to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The caller's number for it; comes back in [`Action`].
    pub id: RequestId,
    /// When its answer is worthless; the driver's clock.
    pub deadline: Option<Instant>,
    /// Smaller is more important; 128 is the middle.
    pub priority: u8,
}

/// What the driver must do. Asked for with [`Client::poll`] until there is nothing left.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    /// Send the request with these header fields.
    Send(Dispatch),
    /// Tell the caller that its call was given up here.
    Drop(RequestId, DropReason),
    /// Send a demand frame: this many calls wait.
    Demand {
        /// Calls waiting.
        demand: u32,
        /// Newest window sequence known.
        acked: u32,
    },
    /// Send a deregister frame.
    Deregister,
}

/// The control fields of a request that may be sent now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dispatch {
    /// Which call.
    pub id: RequestId,
    /// Calls that still wait behind it.
    pub demand: u32,
    /// Newest window sequence known.
    pub acked: u32,
    /// Registration rides on this request.
    pub register: bool,
    /// The newest server stamp, unless an earlier request returned it already.
    pub echo: Option<Echo>,
    /// What is left of the deadline now.
    pub time_left: Option<Duration>,
    /// As [`Gate::priority`] has it: for most controllers the call's own.
    pub priority: u8,
}

/// Why a call ended at the client without an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// Waited longer for permission than it could afford.
    Expired,
    /// The queue was full and this was the oldest in it.
    QueueFull,
    /// The connection was lost while it was outstanding or waiting.
    Disconnected,
    /// Its priority is below the server's threshold.
    Priority,
}

/// What a response or reject said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Served or shed.
    pub outcome: Outcome,
    /// The offer that rode on it.
    pub offer: Offer,
    /// The server's clock when it left.
    pub stamp: Stamp,
    /// From sending to receiving, by the client's clock.
    pub elapsed: Duration,
    /// Its time at the server, waiting included.
    pub sojourn: Duration,
    /// The waiting part of it.
    pub waited: Duration,
}

/// One client's state for one server.
pub struct Client {
    config: ClientConfig,
    gate: Box<dyn Gate>,
    queue: Queue,
    /// The newest server stamp, and when it came.
    stamp: Option<(Stamp, Instant)>,
    evicted: Option<RequestId>,
    announced: u32,
    outstanding: u32,
    connected: bool,
    registered: bool,
    /// What the connection began with, and when it came. Until it is registered under, nothing of it applies.
    welcome: Option<(Instant, Offer)>,
    last_use: Instant,
}

impl Client {
    /// A client that is not connected yet; calls wait.
    #[must_use]
    pub fn new(config: ClientConfig, gate: Box<dyn Gate>) -> Self {
        Self {
            config,
            gate,
            queue: Queue::new(config.queue_max),
            stamp: None,
            evicted: None,
            announced: 0,
            outstanding: 0,
            connected: false,
            registered: false,
            welcome: None,
            last_use: Instant::ZERO,
        }
    }

    /// Queues a call. Poll afterwards: it may go at once, or push the oldest out.
    pub fn submit(&mut self, now: Instant, call: Call) {
        debug_assert!(self.evicted.is_none(), "poll after each submit");
        self.last_use = now;
        let call = Call { priority: self.gate.priority(now, &call), ..call };
        self.evicted = self.queue.push(now, call).map(|call| call.id);
    }

    /// The caller does not want the answer any more. True if the call had not been sent.
    pub fn cancel(&mut self, id: RequestId) -> bool {
        self.queue.remove(id)
    }

    /// The calls that wait for permission, oldest first. For drivers that have somewhere else to send
    /// them; see [`Client::cancel`].
    pub fn waiting(&self) -> impl Iterator<Item = RequestId> {
        self.queue.iter().map(|waiting| waiting.call.id)
    }

    /// The connection stands; calls may go.
    pub fn on_connected(&mut self, now: Instant) {
        self.connected = true;
        self.last_use = now;
    }

    /// The connection is gone, and with it everything outstanding: the driver knows which requests
    /// those were. Waiting calls stay and may still expire.
    pub fn on_disconnected(&mut self) {
        self.connected = false;
        self.registered = false;
        self.outstanding = 0;
        self.announced = 0;
        self.stamp = None;
        self.welcome = None;
        self.gate.on_disconnected();
    }

    /// The server's first word on this connection. Its offer applies at once to a client that has registered
    /// meanwhile; to another as soon as it does.
    pub fn on_welcome(&mut self, now: Instant, offer: Offer, stamp: Stamp) {
        self.welcome = Some((now, offer));
        self.on_credit(now, offer, stamp);
    }

    /// A response or reject came.
    pub fn on_reply(&mut self, now: Instant, reply: &Reply) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.stamp = Some((reply.stamp, now));
        if self.registered {
            self.gate.on_offer(now, reply.offer);
        }
        self.gate.on_reply(now, reply);
    }

    /// A call that was sent and given up is refused as such: its credit is free again, and nothing is told of
    /// how long answers take.
    pub fn on_returned(&mut self, now: Instant, offer: Offer, stamp: Stamp) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.on_credit(now, offer, stamp);
    }

    /// The server states its objective: calls without a deadline wait for a share of it from now on.
    pub const fn on_objective(&mut self, told: Duration) {
        if let Expiry::Share { slo, .. } = &mut self.config.expiry {
            *slo = told;
        }
    }

    /// The request could not be sent after all (it does not fit a frame): its credit is unused.
    pub fn on_unsent(&mut self, dispatch: &Dispatch) {
        self.outstanding = self.outstanding.saturating_sub(1);
        if dispatch.register {
            self.registered = false;
            // What the connection began with may allow nothing, and the next call is to register.
            self.gate.on_deregistered();
        }
    }

    /// A credit frame came. Ignored while unregistered: the credits were given back meanwhile.
    pub fn on_credit(&mut self, now: Instant, offer: Offer, stamp: Stamp) {
        self.stamp = Some((stamp, now));
        if self.registered {
            self.gate.on_offer(now, offer);
        }
    }

    /// What to do now; call until `None`. Changed by every other method and by time.
    pub fn poll(&mut self, now: Instant) -> Option<Action> {
        let drop = self.poll_drop(now);
        if drop.is_some() || !self.connected {
            return drop;
        }
        self.poll_send(now).or_else(|| self.poll_control(now))
    }

    /// As [`Client::poll`], but only what ends here: for drivers that cannot send just now. To be called
    /// after each submit all the same, since a call that was pushed out is kept in one place only.
    pub fn poll_drop(&mut self, now: Instant) -> Option<Action> {
        if let Some(id) = self.evicted.take() {
            return Some(Action::Drop(id, DropReason::QueueFull));
        }
        if self.next_drop().is_some_and(|at| at <= now) {
            return self.queue.pop().map(|head| Action::Drop(head.call.id, DropReason::Expired));
        }
        None
    }

    /// When [`Client::poll`] must be called at the latest although nothing happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let sends = self.connected && !self.queue.is_empty();
        let gate = if sends { self.gate.next_deadline() } else { None };
        [self.next_drop(), gate, self.deregistration()].into_iter().flatten().min()
    }

    /// Requests sent and not answered.
    #[must_use]
    pub const fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Whether the server has asked for silence, so that a call would wait here now.
    #[must_use]
    pub fn is_paused(&self, now: Instant) -> bool {
        self.gate.is_paused(now)
    }

    /// Calls waiting for permission.
    #[must_use]
    pub fn queued(&self) -> u32 {
        self.queue.len()
    }

    fn poll_send(&mut self, now: Instant) -> Option<Action> {
        let call = self.queue.front()?.call;
        match self.gate.permit(now, &call, self.outstanding) {
            Permit::Wait => None,
            Permit::Drop(reason) => {
                self.queue.pop();
                Some(Action::Drop(call.id, reason))
            }
            Permit::Send => {
                self.queue.pop();
                self.gate.on_sent(now, &call);
                self.outstanding += 1;
                self.announced = self.queue.len();
                let dispatch = Dispatch {
                    id: call.id,
                    demand: self.queue.len(),
                    acked: self.gate.acked(),
                    register: !self.registered,
                    echo: self.take_echo(now),
                    time_left: call.deadline.map(|deadline| deadline.since(now)),
                    priority: call.priority,
                };
                if dispatch.register {
                    self.register();
                }
                Some(Action::Send(dispatch))
            }
        }
    }

    /// From here on what the connection began with applies; its pause is counted from when it came.
    fn register(&mut self) {
        self.registered = true;
        if let Some((came, offer)) = self.welcome {
            self.gate.on_offer(came, offer);
        }
    }

    fn poll_control(&mut self, now: Instant) -> Option<Action> {
        if self.config.announce_demand && self.registered && self.announced != self.queue.len() {
            self.announced = self.queue.len();
            return Some(Action::Demand { demand: self.announced, acked: self.gate.acked() });
        }
        if self.deregistration().is_some_and(|at| at <= now) {
            self.registered = false;
            self.welcome = None;
            self.gate.on_deregistered();
            return Some(Action::Deregister);
        }
        None
    }

    /// As [`Client::next_deadline`], for [`Client::poll_drop`]. Only the head is looked at: calls of one
    /// client mostly share an objective, and a call with a tighter deadline behind it is found when it
    /// becomes the head.
    #[must_use]
    pub fn next_drop(&self) -> Option<Instant> {
        let head = self.queue.front()?;
        match self.config.expiry {
            Expiry::Never => None,
            Expiry::After(limit) => Some(head.since + limit),
            Expiry::Share { slo, share } => {
                let left = head.call.deadline.map_or(slo, |deadline| deadline.since(head.since));
                Some(head.since + left.mul_f64(share))
            }
        }
    }

    fn deregistration(&self) -> Option<Instant> {
        let idle =
            self.connected && self.registered && self.outstanding == 0 && self.queue.is_empty();
        self.config.deregister_after.filter(|_| idle).map(|after| self.last_use + after)
    }

    /// Each stamp goes back once: a second echo of it would measure the client's own gap.
    fn take_echo(&mut self, now: Instant) -> Option<Echo> {
        let (stamp, came) = self.stamp.take()?;
        Some(Echo { stamp, hold: now.since(came) })
    }
}

#[cfg(test)]
mod tests;
