//! A server that does nearly what it should.

use std::sync::Arc;
use std::time::Duration;
use tailwater_control::{
    Admission, Arrival, Gauges, Offer, Reason, RequestEnd, Shard, Verdict, Wish,
};
use tailwater_core::{Instant, Observer, SessionId};

/// What is wrong with the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShardBug {
    /// A lost connection takes its credits with it.
    KeepsCreditsOnClose,
    /// Deregistration is not heard.
    KeepsCreditsOnDeregister,
    /// Explicit credits are decided and not sent.
    LosesExplicitCredits,
    /// A credit is issued to nobody.
    CountsOneTooMany,
    /// Windows are larger than the controller decided.
    OffersTooMuch,
    /// A new window goes out under the old number.
    ForgetsToNumber,
    /// Violations are served.
    AdmitsViolations,
    /// Every hundredth request that does not register is a violation.
    DistrustsTheHonest,
    /// No session gets an explicit credit.
    NeverWakes,
    /// No call back is ever asked for.
    SleepsIn,
    /// The same credit is sent again and again.
    WishesWithoutEnd,
    /// The largest delay counts until a request is answered, as where the signal is refreshed by
    /// completions only: with all shed, it stays.
    LatchesShut,
    /// Once one request is shed for its delay, so are the next hundred.
    ShedsOnAfterwards,
}

pub(super) struct Spoilt {
    pub(super) sound: Arc<dyn Admission>,
    pub(super) bug: ShardBug,
}

impl Admission for Spoilt {
    fn name(&self) -> &'static str {
        self.sound.name()
    }

    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard> {
        let inner = Arc::clone(&self.sound).shard(index);
        Box::new(Mutant { inner, bug: self.bug, memory: 0, wish: None })
    }

    fn gauges(&self) -> Gauges {
        let mut gauges = self.sound.gauges();
        gauges.issued += u32::from(self.bug == ShardBug::CountsOneTooMany && gauges.issued > 1);
        gauges
    }
}

struct Mutant {
    inner: Box<dyn Shard>,
    bug: ShardBug,
    /// A count or a time in ns, as the bug needs it.
    memory: u64,
    wish: Option<Wish>,
}

impl Mutant {
    fn spoil(&self, offer: Offer) -> Offer {
        let limited = offer.window != Offer::OPEN.window;
        match self.bug {
            ShardBug::OffersTooMuch if limited => {
                Offer { window: offer.window.saturating_mul(100), ..offer }
            }
            ShardBug::ForgetsToNumber => Offer { seq: offer.seq.min(3), ..offer },
            _ => offer,
        }
    }

    fn misjudge(&mut self, arrival: &Arrival, verdict: Verdict) -> Verdict {
        let no_credit = Reason::NoCredit;
        match (self.bug, verdict) {
            (ShardBug::AdmitsViolations, Verdict::Shed(Reason::NoCredit) | Verdict::Close(_)) => {
                Verdict::Admit
            }
            (ShardBug::DistrustsTheHonest, Verdict::Admit) if !arrival.register => {
                self.memory += 1;
                if self.memory.is_multiple_of(100) { Verdict::Shed(no_credit) } else { verdict }
            }
            (ShardBug::ShedsOnAfterwards, Verdict::Shed(Reason::Delay)) => {
                self.memory = 100;
                verdict
            }
            (ShardBug::ShedsOnAfterwards, Verdict::Admit) if self.memory > 0 => {
                self.memory -= 1;
                Verdict::Shed(Reason::Delay)
            }
            _ => verdict,
        }
    }
}

impl Shard for Mutant {
    fn on_open(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) -> Offer {
        self.inner.on_open(now, id, observer)
    }

    fn on_close(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        if self.bug != ShardBug::KeepsCreditsOnClose {
            self.inner.on_close(now, id, observer);
        }
    }

    fn on_deregister(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        if self.bug != ShardBug::KeepsCreditsOnDeregister {
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
        let mut delay = delay;
        if self.bug == ShardBug::LatchesShut {
            self.memory = self.memory.max(delay.as_nanos() as u64);
            delay = Duration::from_nanos(self.memory);
        }
        let verdict = self.inner.on_request(now, id, arrival, delay, observer);
        self.misjudge(arrival, verdict)
    }

    fn on_start(
        &mut self,
        now: Instant,
        id: SessionId,
        waited: Duration,
        budget: Option<Duration>,
        observer: &mut dyn Observer,
    ) -> Verdict {
        self.inner.on_start(now, id, waited, budget, observer)
    }

    fn on_sent(&mut self, now: Instant, id: SessionId) {
        self.inner.on_sent(now, id);
    }

    fn on_done(&mut self, now: Instant, id: SessionId, done: &RequestEnd) -> Offer {
        if self.bug == ShardBug::LatchesShut && done.outcome == tailwater_control::Outcome::Served {
            self.memory = 0;
        }
        let offer = self.inner.on_done(now, id, done);
        self.spoil(offer)
    }

    fn on_tick(&mut self, now: Instant, delay: Duration, observer: &mut dyn Observer) {
        self.inner.on_tick(now, delay, observer);
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let deadline = self.inner.next_deadline(now);
        deadline.filter(|_| self.bug != ShardBug::SleepsIn)
    }

    fn poll_wish(&mut self, now: Instant, observer: &mut dyn Observer) -> Option<Wish> {
        match self.bug {
            ShardBug::NeverWakes => None,
            ShardBug::LosesExplicitCredits => {
                while self.inner.poll_wish(now, observer).is_some() {}
                None
            }
            ShardBug::WishesWithoutEnd => {
                self.wish = self.inner.poll_wish(now, observer).or(self.wish);
                self.wish
            }
            _ => self.inner.poll_wish(now, observer),
        }
    }
}
