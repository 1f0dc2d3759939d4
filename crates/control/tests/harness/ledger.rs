//! The naive oracle: what one session's credits should be, with the whole history of its offers.
//!
//! `breakwater::session` keeps a staircase of at most sixteen offers and counts incrementally;
//! this keeps every offer and adds up anew each time it is asked.

use super::{Breach, Rules, breach};
use tailwater_control::{Arrival, Offer};

/// What is known of a window. While the guard hides windows only their bounds are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Span {
    pub(crate) low: u32,
    pub(crate) high: u32,
}

impl Span {
    const fn exactly(window: u32) -> Self {
        Self { low: window, high: window }
    }
}

/// What the rule about violations says of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Judgement {
    Proper,
    Violation,
    /// Windows were hidden, or the server forgot old offers to the client's advantage.
    Unclear,
}

/// One open session.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) registered: bool,
    pub(crate) pending: u32,
    window: Span,
    seq: u32,
    /// The number of the newest offer can be told from here; not so after a hidden window.
    seq_is_known: bool,
    offers: Vec<(u32, Span)>,
    acked: u32,
    forgot: bool,
    violations: u32,
    proper: u32,
}

/// What a client without registration may send: the request that registers it.
const FIRST_WINDOW: u32 = 1;
/// The server remembers this many offers that the client has not acknowledged.
const REMEMBERED: usize = 16;
/// A session that keeps violating is closed by the 64th in a row; four proper requests excuse one.
const VIOLATIONS_MAX: u32 = 64;
const PROPER_PER_VIOLATION: u32 = 4;

impl Account {
    pub(crate) fn opened() -> Self {
        let window = Span::exactly(FIRST_WINDOW);
        let offers = vec![(0, window)];
        Self { seq_is_known: true, window, offers, ..Self::default() }
    }

    pub(crate) fn unregister(&mut self) {
        if std::mem::take(&mut self.registered) {
            self.set(FIRST_WINDOW);
        }
    }

    /// A request came in; what may the server say to it?
    pub(crate) fn arrive(&mut self, rules: &Rules, arrival: &Arrival) -> Judgement {
        if arrival.register && !self.registered {
            self.registered = true;
            self.set(FIRST_WINDOW);
        }
        self.pending += 1;
        self.acknowledge(arrival.acked);
        let judgement = self.judge();
        let needed = self.pending + arrival.demand.min(rules.window_max);
        if rules.cuts_on_demand && self.window.low > needed {
            self.set(needed);
        } else if rules.cuts_on_demand && self.window.high > needed {
            // Whether it was cut, and renumbered, cannot be seen from here.
            self.window.high = needed;
            self.seq_is_known = false;
        }
        judgement
    }

    pub(crate) fn acknowledge(&mut self, acked: u32) {
        let newest = if is_later(acked, self.seq) { self.seq } else { acked };
        if is_later(newest, self.acked) {
            self.acked = newest;
        }
    }

    fn judge(&self) -> Judgement {
        let since = self.offers.iter().filter(|o| !is_later(self.acked, o.0));
        let (mut low, mut high) = (self.window.low, self.window.high);
        for (_, span) in since {
            low = low.max(span.low);
            high = high.max(span.high);
        }
        match () {
            () if !self.registered => Judgement::Violation,
            () if self.pending <= low => Judgement::Proper,
            () if self.pending > high && !self.forgot => Judgement::Violation,
            () => Judgement::Unclear,
        }
    }

    /// The server refused a request for want of credit, for the last time if `closed`.
    pub(crate) fn refuse(&mut self, closed: bool) -> Result<(), Breach> {
        self.violations += 1;
        let most = VIOLATIONS_MAX * PROPER_PER_VIOLATION + self.proper;
        if !closed && self.violations * PROPER_PER_VIOLATION >= most {
            return breach(format!("a session is still open after {} violations", self.violations));
        }
        Ok(())
    }

    pub(crate) const fn accept(&mut self) {
        self.proper += 1;
    }

    /// The server sends `offer`; `hidden` while the guard hides what the controller would offer.
    pub(crate) fn offered(
        &mut self,
        rules: &Rules,
        offer: Offer,
        hidden: bool,
    ) -> Result<(), Breach> {
        if hidden {
            if offer.window != u32::MAX {
                return breach(format!("{offer:?} limits clients while nothing is enforced"));
            }
            if !self.seq_is_known || offer.seq != self.seq {
                let (low, high) = (0, rules.window_max);
                self.window = Span { low, high };
                self.remember(offer.seq);
            }
        } else {
            if offer.window > rules.window_max {
                return breach(format!(
                    "{offer:?} exceeds the largest window {}",
                    rules.window_max
                ));
            }
            self.set(offer.window);
            if self.seq_is_known && self.seq != offer.seq {
                return breach(format!(
                    "{offer:?} found where number {} was due: a new window has a new number, an old one keeps its own",
                    self.seq
                ));
            }
            self.seq_is_known = true;
            self.remember(offer.seq);
        }
        self.seq_is_known = true;
        Ok(())
    }

    fn set(&mut self, window: u32) {
        let window = Span::exactly(window);
        if window != self.window {
            self.seq_is_known &= self.window.low == self.window.high;
            self.window = window;
            self.remember(self.seq.wrapping_add(1));
        }
    }

    fn remember(&mut self, seq: u32) {
        self.seq = seq;
        // Under a guessed number it may be remembered for too long: no ground to insist on.
        let low = if self.seq_is_known { self.window.low } else { 0 };
        self.offers.push((seq, Span { low, ..self.window }));
        let acked = self.acked;
        self.offers.dedup();
        self.forgot |= self.offers.iter().filter(|o| !is_later(acked, o.0)).count() > REMEMBERED;
    }

    /// What the pool should count for this session, at least and at most.
    pub(crate) fn held(&self, rules: &Rules) -> Span {
        let counted = |window: u32| match (self.registered, rules.counts_pending) {
            (false, _) => 0,
            (true, true) => window.max(self.pending),
            (true, false) => window.saturating_sub(self.pending),
        };
        Span { low: counted(self.window.low), high: counted(self.window.high) }
    }
}

/// Order of wrapping sequence numbers.
pub(crate) const fn is_later(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}
