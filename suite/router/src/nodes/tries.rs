//! The tries of gets: which one is answered, and when a second is due beside the first.
//!
//! When that is, and what it may cost, [`Hedges`] and [`Lateness`] say, as for the tiers of the runtime. A get without a
//! chance of a second try is not noted here.

use super::ledger::{Asked, Ticket};
use std::collections::BTreeSet;
use std::time::Duration;
use tailwater_control::retry::{HedgeConfig, HedgeCounts, Hedges, Lateness};
use tailwater_core::Instant;

/// The gets under way of which each may have two tries.
#[derive(Debug)]
pub(super) struct Tries {
    hedges: Hedges,
    /// By numbers that are given again: each is owed by a node at least.
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// Those that have one try, and when it is to be looked at.
    due: BTreeSet<(Instant, u32)>,
    /// How long a first try was waited for, when that was asked last.
    after: Option<Duration>,
}

#[derive(Debug)]
struct Flight {
    began: Instant,
    /// When its one try is late; `None` once a second was due.
    late: Option<Lateness>,
    /// Which get it is, and its tries so far.
    asked: Asked,
    /// Tries that have not ended, as bits by the replicas' places.
    open: u8,
    /// The second try, as such a bit; zero without.
    second: u8,
    is_answered: bool,
}

/// How a try has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// By what the client may hear.
    Answered,
    /// The node has nothing, and may lack what others hold.
    Missed,
    /// The node was lost.
    Lost,
    /// By an error, or by what is no answer.
    Spoilt,
}

/// What follows for the get.
#[derive(Debug)]
pub(super) enum Follows {
    /// That is its end.
    Ends(Ticket),
    /// Another replica is to be asked.
    Again(Asked),
    /// It has ended, or another try of it goes on.
    Nothing,
}

impl Tries {
    pub(super) fn new(hedge: HedgeConfig) -> Self {
        let (flights, free, due) = Default::default();
        Self { hedges: Hedges::new(hedge), flights, free, due, after: None }
    }

    /// A get is asked for the first time: its number.
    pub(super) fn begin(&mut self, now: Instant, asked: &Asked) -> u32 {
        self.after = self.hedges.on_call();
        let late = self.after.map(|after| Lateness::new(now, after));
        let (asked, open) = (asked.clone(), asked.asks);
        let flight = Flight { began: now, late, asked, open, second: 0, is_answered: false };
        let at = self.free.pop().unwrap_or_else(|| {
            self.flights.push(None);
            // 256 nodes owe 2^16 answers each at most.
            (self.flights.len() - 1) as u32
        });
        self.due.extend(late.map(|late| (late.at(), at)));
        self.flights[at as usize] = Some(flight);
        at
    }

    /// For so long a node may be silent without being passed over.
    pub(super) const fn patience(&self) -> Option<Duration> {
        self.after
    }

    /// The next get that is late.
    pub(super) fn next_late(&mut self, now: Instant) -> Option<Asked> {
        while let Some((_, at)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            self.due.pop_first();
            let Some(flight) = self.flights[at as usize].as_mut() else { continue };
            let Some(late) = &mut flight.late else { continue };
            if let Some(again) = late.look(now) {
                self.due.insert((again, at));
            } else {
                flight.late = None;
                return Some(Asked { flight: Some(at), ..flight.asked.clone() });
            }
        }
        None
    }

    /// Whether the budget has a second try, for which there is a replica.
    pub(super) const fn take(&mut self) -> bool {
        self.hedges.take()
    }

    /// A late get is asked of a second replica.
    pub(super) fn hedge(&mut self, asked: &Asked) {
        if let Some(flight) = asked.flight.and_then(|at| self.flights[at as usize].as_mut()) {
            (flight.open, flight.second) = (flight.open | asked.asks, asked.asks);
            flight.asked.tried |= asked.asks;
        }
    }

    /// One of its tries has ended: that at the replica of this bit.
    pub(super) fn end(&mut self, now: Instant, at: u32, replica: u8, end: End) -> Follows {
        let place = &mut self.flights[at as usize];
        let Some(flight) = place else { return Follows::Nothing };
        flight.open &= !replica;
        if end == End::Missed {
            flight.asked.missed |= replica;
        }
        let (is_last, is_over, ticket) =
            (flight.open == 0, flight.is_answered, flight.asked.ticket);
        let ends = !is_over && (end == End::Answered || end == End::Spoilt && is_last);
        flight.is_answered |= ends;
        if ends && end == End::Answered {
            if replica == flight.second && !is_last {
                self.hedges.on_won();
            }
            self.hedges.on_end(now.since(flight.began));
        }
        if let Some(late) = flight.late.take_if(|_| ends || is_last) {
            self.due.remove(&(late.at(), at));
        }
        let left = if is_last { place.take() } else { None };
        if is_last {
            self.free.push(at);
        }
        match left {
            _ if ends => Follows::Ends(ticket),
            Some(flight) if !is_over => Follows::Again(flight.asked),
            _ => Follows::Nothing,
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    pub(super) const fn counts(&self) -> HedgeCounts {
        self.hedges.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tailwater_control::retry::HedgeAfter;

    const TICKET: Ticket = Ticket { client: 1, command: 2 };

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    fn tries() -> Tries {
        let after = HedgeAfter::Delay(Duration::from_micros(5));
        Tries::new(HedgeConfig { after, ..HedgeConfig::default() })
    }

    /// Asked of the first replica at time zero.
    fn begun(tries: &mut Tries) -> u32 {
        let key = Arc::from(&b"key"[..]);
        let asked = Asked {
            ticket: TICKET,
            key,
            with_cas: false,
            asks: 1,
            tried: 1,
            missed: 0,
            flight: None,
        };
        tries.begin(at(0), &asked)
    }

    /// The same, and of the second when it is late.
    fn hedged(tries: &mut Tries) -> u32 {
        let number = begun(tries);
        assert!(tries.next_late(at(4)).is_none());
        let late = tries.next_late(at(5)).expect("it is late");
        assert_eq!((late.flight, late.tried, &*late.key), (Some(number), 1, &b"key"[..]));
        assert!(tries.next_late(at(9)).is_none() && tries.take());
        tries.hedge(&Asked { asks: 2, ..late });
        number
    }

    fn word(follows: Follows) -> &'static str {
        match follows {
            Follows::Ends(TICKET) => "ends",
            Follows::Again(asked) if asked.flight.is_none() => "again",
            Follows::Nothing => "",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn of_one_try_what_it_brings_counts() {
        for (end, follows) in [
            (End::Answered, "ends"),
            (End::Missed, "again"),
            (End::Lost, "again"),
            (End::Spoilt, "ends"),
        ] {
            let mut tries = tries();
            let number = begun(&mut tries);
            assert_eq!(tries.next_due(), Some(at(5)));
            assert_eq!(word(tries.end(at(1), number, 1, end)), follows, "{end:?}");
            assert_eq!((tries.next_due(), tries.counts()), (None, HedgeCounts::default()));
            assert_eq!(begun(&mut tries), number, "its number is free");
        }
    }

    /// Each get has one end, whatever its tries bring, and another replica is asked only when both have nothing.
    #[test]
    fn of_two_tries_the_first_answer_counts_and_the_other_says_nothing() {
        use End::{Answered, Lost, Missed, Spoilt};
        for (ends, follows, won) in [
            ([(2, Answered), (1, Answered)], ["ends", ""], 1),
            ([(1, Answered), (2, Answered)], ["ends", ""], 0),
            ([(1, Lost), (2, Answered)], ["", "ends"], 0),
            ([(2, Missed), (1, Answered)], ["", "ends"], 0),
            ([(2, Answered), (1, Lost)], ["ends", ""], 1),
            ([(2, Answered), (1, Spoilt)], ["ends", ""], 1),
            ([(1, Spoilt), (2, Answered)], ["", "ends"], 0),
            ([(1, Spoilt), (2, Spoilt)], ["", "ends"], 0),
            ([(1, Lost), (2, Missed)], ["", "again"], 0),
        ] {
            let mut tries = tries();
            let number = hedged(&mut tries);
            let found = ends.map(|(replica, end)| word(tries.end(at(9), number, replica, end)));
            assert_eq!(found, follows, "{ends:?}");
            let counts = HedgeCounts { sent: 1, won, over_budget: 0 };
            assert_eq!(tries.counts(), counts, "{ends:?}");
            assert_eq!(begun(&mut tries), number, "its number is free");
        }
    }

    /// The router stood still, and answers may be there unread.
    #[test]
    fn a_get_that_is_looked_at_too_late_is_waited_for_anew_once() {
        let mut tries = tries();
        let number = begun(&mut tries);
        assert!(tries.next_late(at(11)).is_none(), "six microseconds behind, and five is its wait");
        assert_eq!(tries.next_due(), Some(at(16)));
        let late = tries.next_late(at(900)).expect("it is late");
        assert_eq!((late.flight, tries.next_due()), (Some(number), None));
        // What is answered meanwhile has no second try.
        let number = begun(&mut tries);
        assert!(tries.next_late(at(900)).is_none());
        assert_eq!(word(tries.end(at(901), number, 1, End::Answered)), "ends");
        assert_eq!(tries.next_due(), None);
        assert!(tries.next_late(at(9_000)).is_none());
    }

    #[test]
    fn what_goes_on_knows_all_that_was_tried() {
        let mut tries = tries();
        let number = hedged(&mut tries);
        assert_eq!(word(tries.end(at(9), number, 2, End::Missed)), "");
        let Follows::Again(asked) = tries.end(at(9), number, 1, End::Lost) else { panic!("again") };
        assert_eq!((asked.tried, asked.missed), (3, 2));
    }
}
