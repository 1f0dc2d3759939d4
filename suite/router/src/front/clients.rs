//! The connections of all clients.

use super::client::Client;
use std::sync::Arc;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::buffers::Pool;
use tailwater_rt::net::Stream;
use tailwater_rt::poll::{Interest, Poller};

/// Connections in places, which are taken again; a key has the place, and how often it was taken.
#[derive(Debug)]
pub(super) struct Clients {
    places: Vec<Place>,
    free: Vec<u32>,
    most: usize,
    /// Those with something to do in this turn.
    touched: Vec<u32>,
    /// Those that had their share of this turn, and have more to do: once each.
    later: Vec<u32>,
}

#[derive(Debug, Default)]
struct Place {
    taken: u32,
    client: Option<Client>,
    is_touched: bool,
    /// It is among those of [`Clients::later`].
    goes_on: bool,
}

impl Clients {
    /// For at most so many.
    pub(super) const fn new(most: usize) -> Self {
        Self { places: Vec::new(), free: Vec::new(), most, touched: Vec::new(), later: Vec::new() }
    }

    pub(super) const fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// A connection takes a place; gives it back if there is none, or it cannot be watched.
    pub(super) fn add(
        &mut self,
        stream: Stream,
        poller: &Poller,
        pool: &Arc<Pool>,
        now: Instant,
    ) -> Result<(), Stream> {
        if self.len() >= self.most {
            return Err(stream);
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            // At most `most`, which is less than 2^32.
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[at as usize];
        place.taken = place.taken.wrapping_add(1);
        let key = u64::from(place.taken) << 32 | u64::from(at);
        if poller.add(&stream, key, Interest::READ).is_err() {
            self.free.push(at);
            return Err(stream);
        }
        place.client = Some(Client::new(stream, key, pool, now));
        Ok(())
    }

    /// The client of this key, if it is still there. It will have its go in this turn.
    pub(super) fn touch(&mut self, key: u64) -> Option<&mut Client> {
        let place = self.places.get_mut(key as u32 as usize)?;
        let client = place.client.as_mut().filter(|client| client.key() == key)?;
        if !place.is_touched {
            place.is_touched = true;
            self.touched.push(key as u32);
        }
        Some(client)
    }

    /// Gives each that was touched its go, which tells whether it goes on in the next turn; ends those that are over.
    pub(super) fn each_touched(&mut self, mut go: impl FnMut(&mut Client) -> bool) {
        for at in std::mem::take(&mut self.touched) {
            let place = &mut self.places[at as usize];
            place.is_touched = false;
            if let Some(client) = &mut place.client {
                let goes_on = go(client);
                if client.is_over() {
                    self.drop_at(at);
                } else if goes_on && !std::mem::replace(&mut place.goes_on, true) {
                    self.later.push(at);
                }
            }
        }
    }

    /// A turn begins: those that go on have their go in it. A place that was taken anew meanwhile has one for nothing.
    pub(super) fn touch_again(&mut self) {
        for at in std::mem::take(&mut self.later) {
            let place = &mut self.places[at as usize];
            place.goes_on = false;
            if place.client.is_some() && !std::mem::replace(&mut place.is_touched, true) {
                self.touched.push(at);
            }
        }
    }

    /// Whether some have more to do in the next turn.
    pub(super) const fn go_on(&self) -> bool {
        !self.later.is_empty()
    }

    /// Ends those for which this holds.
    pub(super) fn end_where(&mut self, mut ends: impl FnMut(&Client) -> bool) -> u64 {
        let mut ended = 0;
        for at in 0..self.places.len() as u32 {
            if self.places[at as usize].client.as_ref().is_some_and(&mut ends) {
                self.drop_at(at);
                ended += 1;
            }
        }
        ended
    }

    /// No more is read of any.
    pub(super) fn leave(&mut self) {
        self.places.iter_mut().filter_map(|place| place.client.as_mut()).for_each(Client::leave);
    }

    /// Whether commands or answers are under way.
    pub(super) fn are_busy(&self) -> bool {
        self.places.iter().filter_map(|place| place.client.as_ref()).any(Client::is_busy)
    }

    pub(super) const fn has_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Closes the socket, which the poller then forgets.
    fn drop_at(&mut self, at: u32) {
        self.places[at as usize].client = None;
        self.free.push(at);
    }
}
