//! Honest clients: the real `Client` beside a naive gate, and what becomes of each call.

use super::ledger::is_later;
use super::{Breach, breach};
use std::collections::BTreeMap;
use tailwater_control::{Action, Arrival, Call, Client, Dispatch, Offer, Reply};
use tailwater_core::{Class, Instant, RequestId, Stamp};

/// What a client sends.
#[derive(Clone, Debug)]
pub(crate) enum Up {
    Open,
    Request(RequestId, Arrival),
    Demand(u32, u32),
    Deregister,
    Bye,
}

/// What a server sends.
#[derive(Clone, Debug)]
pub(crate) enum Down {
    Reply(RequestId, Reply),
    Credit(Offer, Stamp),
    Goodbye,
}

/// What has become of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Waits,
    Sent(Instant),
    Answered,
    Dropped,
}

/// The rule of a credit gate in its plainest form.
#[derive(Clone, Debug)]
struct Plain {
    registered: bool,
    window: u32,
    seq: u32,
    /// When the pause ends that the newest offer asks for.
    not_before: Instant,
    /// Every offer of this registration, as it was heard.
    heard: Vec<Offer>,
}

impl Plain {
    const fn fresh(seq: u32) -> Self {
        Self { registered: false, window: 1, seq, not_before: Instant::ZERO, heard: Vec::new() }
    }

    fn hear(&mut self, now: Instant, offer: Offer) {
        if self.registered && !is_later(self.seq, offer.seq) {
            (self.window, self.seq) = (offer.window, offer.seq);
            self.not_before = now + offer.pause.duration();
            self.heard.push(offer);
        }
    }

    fn permits(&self, now: Instant, outstanding: u32) -> bool {
        outstanding < self.window && now >= self.not_before
    }
}

pub(crate) struct Honest {
    pub(crate) client: Client,
    pub(crate) link: Option<u64>,
    plain: Plain,
    calls: BTreeMap<RequestId, Fate>,
}

impl Honest {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, link: None, plain: Plain::fresh(0), calls: BTreeMap::new() }
    }

    pub(crate) fn submit(&mut self, now: Instant, call: Call) {
        self.calls.insert(call.id, Fate::Waits);
        self.client.submit(now, call);
    }

    pub(crate) fn connect(&mut self, now: Instant, link: u64) {
        self.link = Some(link);
        self.plain = Plain::fresh(0);
        self.client.on_connected(now);
    }

    /// What was outstanding is lost, and the driver tells its callers so.
    pub(crate) fn disconnect(&mut self) {
        self.link = None;
        self.client.on_disconnected();
        for fate in self.calls.values_mut() {
            if matches!(fate, Fate::Sent(_)) {
                *fate = Fate::Dropped;
            }
        }
    }

    pub(crate) fn take(&mut self, now: Instant, message: Down) -> Result<(), Breach> {
        match message {
            Down::Goodbye => breach("an honest client was turned away".into()),
            Down::Credit(offer, stamp) => {
                self.client.on_credit(now, offer, stamp);
                self.plain.hear(now, offer);
                Ok(())
            }
            Down::Reply(id, mut reply) => {
                let Some(Fate::Sent(at)) = self.calls.insert(id, Fate::Answered) else {
                    return breach(format!("{id:?} was answered and not outstanding"));
                };
                reply.elapsed = now.since(at);
                self.client.on_reply(now, &reply);
                self.plain.hear(now, reply.offer);
                Ok(())
            }
        }
    }

    /// Hears the newest offer, or an older one, once more. The plain gate takes no more of it than a pause,
    /// which begins anew.
    pub(crate) fn repeat(&mut self, now: Instant, which: usize) {
        let Some(&newest) = self.plain.heard.last() else {
            return;
        };
        let again = self.plain.heard[which % self.plain.heard.len()];
        // Switching the guard shows and hides a window under one number; only the latter counts.
        let again = if again.seq == newest.seq { newest } else { again };
        if again.seq == newest.seq {
            self.plain.not_before = now + again.pause.duration();
        }
        self.client.on_credit(now, again, now.stamp());
    }

    /// Does all that the client wants done now, and checks that it is what the plain gate says.
    pub(crate) fn poll(&mut self, now: Instant) -> Result<Vec<Up>, Breach> {
        let mut out = Vec::new();
        let mut before = self.client.outstanding();
        while let Some(action) = self.client.poll(now) {
            match action {
                Action::Send(dispatch) => {
                    self.check_send(now, before, &dispatch)?;
                    self.end(dispatch.id, Fate::Sent(now))?;
                    out.push(Up::Request(dispatch.id, arrival(&dispatch)));
                }
                Action::Drop(id, _) => self.end(id, Fate::Dropped)?,
                Action::Demand { demand, acked } => out.push(Up::Demand(demand, acked)),
                Action::Deregister => {
                    if before > 0 || !self.plain.registered {
                        return breach("a client deregistered while in use".into());
                    }
                    self.plain = Plain::fresh(self.plain.seq);
                    out.push(Up::Deregister);
                }
            }
            before = self.client.outstanding();
        }
        if self.link.is_some() && self.client.queued() > 0 && self.plain.permits(now, before) {
            return breach(format!("{before} outstanding under {:?}", self.plain));
        }
        if self.client.next_deadline().is_some_and(|at| at <= now) {
            return breach("a client polled dry still has something to do".into());
        }
        Ok(out)
    }

    fn check_send(&mut self, now: Instant, before: u32, dispatch: &Dispatch) -> Result<(), Breach> {
        let registers = !std::mem::replace(&mut self.plain.registered, true);
        if !self.plain.permits(now, before)
            || dispatch.acked != self.plain.seq
            || dispatch.register != registers
            || dispatch.demand != self.client.queued()
        {
            return breach(format!(
                "{dispatch:?} with {before} outstanding under {:?}",
                self.plain
            ));
        }
        Ok(())
    }

    /// A waiting call goes its way, once.
    fn end(&mut self, id: RequestId, fate: Fate) -> Result<(), Breach> {
        match self.calls.insert(id, fate) {
            Some(Fate::Waits) => Ok(()),
            other => breach(format!("{id:?} becomes {fate:?}, but was {other:?}")),
        }
    }

    /// Calls that are neither answered nor dropped.
    pub(crate) fn unfinished(&self) -> usize {
        let ended = |fate: &&Fate| matches!(fate, Fate::Waits | Fate::Sent(_));
        self.calls.values().filter(ended).count()
    }

    /// Calls that were answered, served or not.
    pub(crate) fn answered(&self) -> usize {
        let answered = |fate: &&Fate| **fate == Fate::Answered;
        self.calls.values().filter(answered).count()
    }
}

fn arrival(dispatch: &Dispatch) -> Arrival {
    Arrival {
        demand: dispatch.demand,
        acked: dispatch.acked,
        register: dispatch.register,
        priority: dispatch.priority,
        time_left: dispatch.time_left,
        echo: dispatch.echo,
        hidden: std::time::Duration::ZERO,
        class: Class::default(),
    }
}
