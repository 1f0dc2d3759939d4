//! A leaf: intersects the posting lists of its shard.

use crate::index::Shard;
use crate::intersect::{Method, Scratch};
use crate::wire::{Answer, BAD_REQUEST, INTERSECT, WireError, read_request};
use std::cell::RefCell;
use std::future::ready;
use std::sync::Arc;
use tailwater_rt::{Reply, Request, Router};

/// What a leaf answers from.
#[derive(Debug)]
pub struct Leaf {
    /// Its documents.
    pub shard: Shard,
    /// How it intersects.
    pub method: Method,
    /// Most documents of an answer.
    pub hits: u32,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Leaf {
    /// Answers a request.
    ///
    /// # Errors
    /// When it is none.
    pub fn answer(&self, request: &[u8]) -> Result<Answer, WireError> {
        let (tag, words) = read_request(request)?;
        let (found, documents) = SCRATCH.with_borrow_mut(|scratch| {
            self.shard.find(words, (self.method, scratch), self.hits as usize)
        });
        // Documents are numbered in 32 bits.
        Ok(Answer { tag, missing: 0, found: found as u32, documents })
    }

    /// Its method.
    #[must_use]
    pub fn router(self) -> Router {
        let leaf = Arc::new(self);
        Router::new().route(INTERSECT.0, move |request: Request| ready(leaf.reply(&request)))
    }

    fn reply(&self, request: &Request) -> Reply {
        match self.answer(&request.payload) {
            Ok(answer) => Reply::ok(answer.to_bytes()),
            Err(why) => Reply::failure(BAD_REQUEST, &why.to_string()),
        }
    }
}
