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
    /// A constant: the paper's SLO (§3.3), the artifact's 10 µs.
    After(Duration),
    /// A share of the time to its deadline. The rest belongs to the server's queue. A call that has spent its time
    /// here is shed there, which costs the server; one that is given up here leaves its credit to the next.
    Share {
        /// The deadline of calls that name none: this long after submission. The server's own objective
        /// takes its place once it is told ([`Client::on_objective`]).
        slo: Duration,
        /// From 0 to 1. Low gives up calls that would have been in time, but only while none waits
        /// behind them; high sends calls that will be shed or late.
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
    pub budget: Option<Duration>,
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
        self.gate.on_disconnected();
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
        self.registered &= !dispatch.register;
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
                let register = !std::mem::replace(&mut self.registered, true);
                Some(Action::Send(Dispatch {
                    id: call.id,
                    demand: self.queue.len(),
                    acked: self.gate.acked(),
                    register,
                    echo: self.take_echo(now),
                    budget: call.deadline.map(|deadline| deadline.since(now)),
                    priority: call.priority,
                }))
            }
        }
    }

    fn poll_control(&mut self, now: Instant) -> Option<Action> {
        if self.config.announce_demand && self.registered && self.announced != self.queue.len() {
            self.announced = self.queue.len();
            return Some(Action::Demand { demand: self.announced, acked: self.gate.acked() });
        }
        if self.deregistration().is_some_and(|at| at <= now) {
            self.registered = false;
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
mod tests {
    use super::*;
    use crate::breakwater::CreditGate;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    fn client(expiry: Expiry, queue_max: usize) -> Client {
        let config =
            ClientConfig { queue_max, expiry, announce_demand: false, deregister_after: None };
        Client::new(config, Box::new(OpenGate))
    }

    fn call(id: u64) -> Call {
        Call { id: RequestId(id), deadline: None, priority: 128 }
    }

    #[test]
    fn a_full_queue_drops_its_oldest_and_says_so() {
        let mut client = client(Expiry::Never, 2);
        for id in 0..2 {
            client.submit(at(0), call(id));
            assert_eq!(client.poll(at(0)), None, "not connected: it waits");
        }
        client.submit(at(1), call(2));
        assert_eq!(client.poll(at(1)), Some(Action::Drop(RequestId(0), DropReason::QueueFull)));
        assert_eq!(client.queued(), 2);
    }

    #[test]
    fn what_ends_here_ends_although_nothing_can_be_sent() {
        let mut client = client(Expiry::After(Duration::from_micros(10)), 1);
        client.on_connected(at(0));
        client.submit(at(0), call(0));
        assert_eq!(client.poll_drop(at(0)), None);
        client.submit(at(1), call(1));
        let pushed_out = Action::Drop(RequestId(0), DropReason::QueueFull);
        assert_eq!(client.poll_drop(at(1)), Some(pushed_out));
        assert_eq!(client.next_drop(), Some(at(11)));
        let expired = Action::Drop(RequestId(1), DropReason::Expired);
        assert_eq!(client.poll_drop(at(11)), Some(expired));
        assert_eq!((client.next_drop(), client.queued()), (None, 0));
    }

    #[test]
    fn a_call_expires_at_its_limit_and_not_before() {
        let mut client = client(Expiry::After(Duration::from_micros(10)), 8);
        client.submit(at(5), call(1));
        assert_eq!(client.next_deadline(), Some(at(15)));
        assert_eq!(client.poll(at(14)), None);
        assert_eq!(client.poll(at(15)), Some(Action::Drop(RequestId(1), DropReason::Expired)));
        assert_eq!(client.next_deadline(), None);
    }

    #[test]
    fn a_share_is_of_what_was_left_at_submission() {
        let slo = Duration::from_micros(400);
        let mut client = client(Expiry::Share { slo, share: 0.25 }, 8);
        client.submit(at(0), call(1));
        assert_eq!(client.next_deadline(), Some(at(100)), "no deadline: the objective counts");
        assert_eq!(client.poll(at(100)), Some(Action::Drop(RequestId(1), DropReason::Expired)));
        client.submit(at(200), Call { deadline: Some(at(400)), ..call(2) });
        assert_eq!(client.next_deadline(), Some(at(250)));
        assert!(client.poll(at(250)).is_some());
        client.submit(at(500), Call { deadline: Some(at(400)), ..call(3) });
        assert!(client.poll(at(500)).is_some(), "too late already");
    }

    #[test]
    fn only_the_first_request_registers_and_a_lost_connection_registers_anew() {
        let mut client = client(Expiry::Never, 8);
        client.on_connected(at(0));
        let registers = |client: &mut Client, id| {
            client.submit(at(1), call(id));
            match client.poll(at(1)) {
                Some(Action::Send(dispatch)) => dispatch.register,
                other => panic!("a send was needed, {other:?} found"),
            }
        };
        assert!(registers(&mut client, 1));
        assert!(!registers(&mut client, 2));
        client.on_disconnected();
        assert_eq!(client.outstanding(), 0);
        client.on_connected(at(2));
        assert!(registers(&mut client, 3));
    }

    #[test]
    fn an_idle_client_gives_its_registration_back() {
        let config = ClientConfig {
            queue_max: 4,
            expiry: Expiry::Never,
            announce_demand: false,
            deregister_after: Some(Duration::from_micros(100)),
        };
        let mut client = Client::new(config, Box::new(OpenGate));
        client.on_connected(at(0));
        client.submit(at(0), call(1));
        assert!(matches!(client.poll(at(0)), Some(Action::Send(_))));
        assert_eq!(client.poll(at(500)), None, "a request is outstanding");
        client.on_reply(at(510), &served());
        assert_eq!(client.poll(at(510)), Some(Action::Deregister));
        assert_eq!(client.poll(at(511)), None);
    }

    #[test]
    fn a_call_that_was_given_up_holds_its_credit_until_it_is_answered() {
        let mut client =
            Client::new(client(Expiry::Never, 8).config, Box::new(CreditGate::default()));
        client.on_connected(at(0));
        client.submit(at(0), call(1));
        assert!(matches!(client.poll(at(0)), Some(Action::Send(_))));
        assert!(!client.cancel(RequestId(1)), "it was sent");
        client.submit(at(1), call(2));
        assert_eq!(client.poll(at(1)), None);
        let offer = Offer { window: 1, seq: 1, ..Offer::OPEN };
        client.on_returned(at(2), offer, Stamp(1));
        assert_eq!(client.outstanding(), 0);
        assert!(matches!(client.poll(at(2)), Some(Action::Send(_))));
    }

    #[test]
    fn the_objective_that_the_server_tells_takes_the_place_of_the_guess() {
        let slo = Duration::from_micros(400);
        let mut client = client(Expiry::Share { slo, share: 0.25 }, 8);
        client.on_objective(Duration::from_micros(200));
        client.submit(at(0), call(1));
        assert_eq!(client.next_deadline(), Some(at(50)));
        client.submit(at(0), Call { deadline: Some(at(4_000)), ..call(2) });
        assert!(matches!(client.poll(at(50)), Some(Action::Drop(..))));
        assert_eq!(client.next_deadline(), Some(at(1_000)), "a deadline of its own counts");
    }

    fn served() -> Reply {
        Reply {
            outcome: Outcome::Served,
            offer: Offer::OPEN,
            stamp: Stamp(1),
            elapsed: Duration::from_micros(10),
            sojourn: Duration::from_micros(5),
            waited: Duration::ZERO,
        }
    }

    #[test]
    fn a_stamp_goes_back_once_with_the_time_it_was_held() {
        let mut client = client(Expiry::Never, 8);
        client.on_connected(at(0));
        client.on_credit(at(10), Offer::OPEN, Stamp(77));
        let mut echo = |now| {
            client.submit(now, call(1));
            match client.poll(now) {
                Some(Action::Send(dispatch)) => dispatch.echo,
                other => panic!("a send was needed, {other:?} found"),
            }
        };
        let held = Echo { stamp: Stamp(77), hold: Duration::from_micros(15) };
        assert_eq!(echo(at(25)), Some(held));
        assert_eq!(echo(at(26)), None);
    }
}
