//! A leaf: a part of the users, or a slice of the lines.

use crate::average::Slice;
use crate::profiles::Probe;
use crate::shard::Shard;
use crate::wire::{self, BAD_REQUEST, NEIGHBOURS, SLICE, WireError};
use std::cell::RefCell;
use std::future::ready;
use std::sync::Arc;
use tailwater_rt::{Reply, Request, Router};

/// What a leaf answers from.
#[derive(Debug)]
pub enum Leaf {
    /// A part of the users: it answers its nearest neighbours.
    Users(Shard),
    /// A slice of the lines: it answers a prediction of its own.
    Lines(Slice),
}

thread_local! {
    static ROW: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

impl Leaf {
    /// Answers the bytes of a request.
    ///
    /// # Errors
    /// When it is none.
    pub fn answer(&self, request: &[u8]) -> Result<Vec<u8>, WireError> {
        match self {
            Self::Users(shard) => ROW.with_borrow_mut(|row| {
                let query = wire::read_neighbours_request(request, shard.rank(), row)?;
                Ok(wire::neighbours_answer(&shard.nearest(Probe { query, row })))
            }),
            Self::Lines(slice) => {
                let query = wire::read_slice_request(request)?;
                Ok(wire::slice_answer(slice.predict(query)))
            }
        }
    }

    /// Its method.
    #[must_use]
    pub fn router(self) -> Router {
        let method = match self {
            Self::Users(_) => NEIGHBOURS,
            Self::Lines(_) => SLICE,
        };
        let leaf = Arc::new(self);
        Router::new().route(method.0, move |request: Request| ready(leaf.reply(&request)))
    }

    fn reply(&self, request: &Request) -> Reply {
        match self.answer(&request.payload) {
            Ok(answer) => Reply::ok(answer),
            Err(why) => Reply::failure(BAD_REQUEST, &why.to_string()),
        }
    }
}
