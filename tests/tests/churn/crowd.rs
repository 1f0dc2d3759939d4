//! Two thousand clients, and what befalls them.

use crate::peer::{Life, Peer};
use crate::service::{ECHO, HANG, Handlers, NAP};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tailwater_core::Rng;

/// Clients of the crowd.
pub(crate) const PLACES: u32 = 2_000;
/// Clients that are looked after at each event, in turn.
const TOUCHED: u32 = 12;

/// The clients, and the count of what befell them.
pub(crate) struct Crowd {
    address: SocketAddr,
    handlers: Handlers,
    places: Vec<Option<Peer>>,
    rng: Rng,
    number: u64,
    turn: u32,
    /// What happened, how often.
    pub(crate) events: BTreeMap<&'static str, u64>,
}

impl Crowd {
    pub(crate) fn new(address: SocketAddr, handlers: Handlers, rng: Rng) -> Self {
        let places = (0..PLACES).map(|_| None).collect();
        Self { address, handlers, places, rng, number: 0, turn: 0, events: BTreeMap::new() }
    }

    /// Fills every place.
    pub(crate) fn gather(&mut self) {
        for place in 0..PLACES {
            if self.places[place as usize].is_none() {
                self.connect(place);
                self.look_after(1, false);
            }
        }
    }

    /// One event at some place.
    ///
    /// # Panics
    /// When the server has wronged a client.
    pub(crate) fn event(&mut self) {
        let place = self.rng.below(PLACES);
        if self.places[place as usize].is_none() {
            self.connect(place);
        } else {
            self.befall(place);
        }
        self.look_after(TOUCHED, false);
    }

    /// Answers that are awaited, of all.
    pub(crate) fn awaits(&self) -> usize {
        self.places.iter().flatten().map(Peer::awaits).sum()
    }

    /// Clients that are there.
    pub(crate) fn present(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// Everybody reads, sends what was begun, gives up what would hang, and awaits the rest.
    pub(crate) fn settle(&mut self, drains: bool) {
        for peer in self.places.iter_mut().flatten() {
            peer.resume();
            peer.cancel(false);
        }
        self.look_after(PLACES, drains);
    }

    /// All leave.
    pub(crate) fn disperse(&mut self) {
        self.places.fill_with(|| None);
    }

    fn connect(&mut self, place: u32) {
        self.count("connect");
        let drips = self.rng.chance(0.02);
        self.places[place as usize] = Peer::connect(self.address, drips);
    }

    fn befall(&mut self, place: u32) {
        let (chance, coin) = (self.rng.below(100), self.rng.chance(0.5));
        let method = [ECHO, ECHO, NAP, NAP, HANG][self.rng.below(5) as usize];
        let (number, handlers) = (&mut self.number, &self.handlers);
        let mut next = || {
            *number += 1;
            handlers.forget(*number);
            *number
        };
        let place = &mut self.places[place as usize];
        let Some(peer) = place else { return };
        let what = match chance {
            0..45 if peer.may_call() => "call",
            0..55 => "cancel",
            55..65 if peer.may_call() && coin => "trickle",
            65..70 => "deregister",
            70..75 => "stall",
            75..90 => "resume",
            _ => "vanish",
        };
        match what {
            "call" => peer.call(next(), method, false),
            "trickle" => peer.call(next(), ECHO, true),
            "cancel" => peer.cancel(coin),
            "deregister" => peer.deregister(),
            "stall" => peer.stall(next),
            "resume" => peer.resume(),
            _ => *place = None,
        }
        self.count(what);
    }

    fn count(&mut self, what: &'static str) {
        *self.events.entry(what).or_default() += 1;
    }

    fn look_after(&mut self, some: u32, drains: bool) {
        for _ in 0..some {
            self.turn = (self.turn + 1) % PLACES;
            let place = &mut self.places[self.turn as usize];
            let Some(peer) = place else { continue };
            match peer.touch(&self.handlers, drains) {
                Ok(Life::Goes) => {}
                Ok(Life::Over) => *place = None,
                Err(why) => panic!("seed {}: {why}", self.rng.seed()),
            }
        }
    }
}
