//! The handler of the method [`wire::SEARCH`].

use crate::index::{Index, Store};
use crate::wire;
use std::sync::Arc;
use std::time::Duration;
use tailwater_rt::time::sleep;
use tailwater_rt::{Reply, Request, Router};
use tailwater_sync::Refused;

/// The status of an answer to what is no request; the answer says why.
pub const BAD_REQUEST: u16 = 400;

/// Documents of a list that one read of the [`Disk`] brings, as many as engines like Lucene compress
/// into a block.
pub const BLOCK_DOCUMENTS: usize = 128;

/// The method, answered from `index`. A request is shed when its wait for a lock does not fit its
/// budget.
#[must_use]
pub fn router(index: Arc<Index>, disk: Disk) -> Router {
    let handler = move |request: Request| answer(Arc::clone(&index), disk, request.payload);
    Router::new().route(wire::SEARCH.0, handler)
}

async fn answer(index: Arc<Index>, disk: Disk, request: Vec<u8>) -> Result<Reply, Refused> {
    let (tag, query) = match wire::read_request(&request) {
        Ok(read) => read,
        Err(error) => return Ok(Reply::failure(BAD_REQUEST, &error.to_string())),
    };
    let hits = index.search(&query, &disk).await?;
    Ok(Reply::ok(wire::answer(tag, &hits)))
}

/// A disk that lists of documents are read from while their segment is locked, [`BLOCK_DOCUMENTS`] at a
/// time: it waits for the loop's timer and computes nothing. It stands for an index larger than memory,
/// and makes the segments' locks the bottleneck where the processors are too few to make them one.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// How long a block takes; nothing is waited for if it is zero. The loop's timer is no finer
    /// than its turns, some microseconds and more under load.
    pub read: Duration,
}

impl Store for Disk {
    async fn read(&self, documents: usize) {
        let blocks = documents.div_ceil(BLOCK_DOCUMENTS) as u32;
        let time = self.read.saturating_mul(blocks);
        if !time.is_zero() {
            sleep(time).await;
        }
    }
}
