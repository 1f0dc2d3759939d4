//! Planted bugs: a shard that does nearly what it should.

use std::time::Duration;
use tailwater_control::{Arrival, Offer, Reason, RequestEnd, Shard, Verdict, Wish};
use tailwater_core::{Instant, Observer, SessionId};

/// What is wrong with the shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bug {
    /// A lost connection takes its credits with it.
    KeepsCreditsOnClose,
    /// Deregistration is not heard.
    KeepsCreditsOnDeregister,
    /// Windows are larger than the controller decided.
    OffersTooMuch,
    /// A new window goes out under the old number.
    ForgetsToNumber,
    /// Violations are served.
    AdmitsViolations,
    /// Violations are refused for ever and never lead to a close.
    NeverCloses,
    /// Every request that is not alone is a violation.
    DistrustsTheHonest,
    /// Explicit credits are decided and not sent.
    LosesExplicitCredits,
    /// No call back is ever asked for.
    SleepsIn,
    /// Requests are shed while nothing is enforced.
    ShedsInADryRun,
}

pub(crate) struct Mutant {
    pub(crate) inner: Box<dyn Shard>,
    pub(crate) bug: Bug,
}

impl Mutant {
    fn spoil(&self, offer: Offer) -> Offer {
        match self.bug {
            Bug::OffersTooMuch => Offer { window: u32::MAX - 1, ..offer },
            Bug::ForgetsToNumber => Offer { seq: 1, ..offer },
            _ => offer,
        }
    }

    fn misjudge(&self, verdict: Verdict) -> Verdict {
        match (self.bug, verdict) {
            (
                Bug::AdmitsViolations,
                Verdict::Shed(Reason::NoCredit) | Verdict::Close(Reason::NoCredit),
            ) => Verdict::Admit,
            (Bug::NeverCloses, Verdict::Close(reason)) => Verdict::Shed(reason),
            (Bug::ShedsInADryRun, Verdict::Admit) => Verdict::Shed(Reason::Deadline),
            _ => verdict,
        }
    }
}

impl Shard for Mutant {
    fn on_open(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) -> Offer {
        self.inner.on_open(now, id, observer)
    }

    fn on_close(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        if self.bug != Bug::KeepsCreditsOnClose {
            self.inner.on_close(now, id, observer);
        }
    }

    fn on_deregister(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        if self.bug != Bug::KeepsCreditsOnDeregister {
            self.inner.on_deregister(now, id, observer);
        }
    }

    fn on_demand(&mut self, now: Instant, id: SessionId, demand: u32, acked: u32) {
        self.inner.on_demand(now, id, demand, acked);
    }

    fn on_request(
        &mut self,
        now: Instant,
        id: SessionId,
        arrival: &Arrival,
        delay: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict {
        let verdict = self.inner.on_request(now, id, arrival, delay, observer);
        if self.bug == Bug::DistrustsTheHonest && !arrival.register {
            return Verdict::Shed(Reason::NoCredit);
        }
        self.misjudge(verdict)
    }

    fn on_start(
        &mut self,
        now: Instant,
        id: SessionId,
        waited: Duration,
        time_left: Option<Duration>,
        observer: &mut dyn Observer,
    ) -> Verdict {
        self.inner.on_start(now, id, waited, time_left, observer)
    }

    fn on_sent(&mut self, now: Instant, id: SessionId) {
        self.inner.on_sent(now, id);
    }

    fn on_done(&mut self, now: Instant, id: SessionId, done: &RequestEnd) -> Offer {
        let offer = self.inner.on_done(now, id, done);
        self.spoil(offer)
    }

    fn on_tick(&mut self, now: Instant, delay: Duration, observer: &mut dyn Observer) {
        self.inner.on_tick(now, delay, observer);
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let deadline = self.inner.next_deadline(now);
        deadline.filter(|_| self.bug != Bug::SleepsIn)
    }

    fn poll_wish(&mut self, now: Instant, observer: &mut dyn Observer) -> Option<Wish> {
        let Wish::Credit(id, offer) = self.inner.poll_wish(now, observer)?;
        let wish = Wish::Credit(id, self.spoil(offer));
        (self.bug != Bug::LosesExplicitCredits).then_some(wish)
    }
}
