//! What several of these programs do.

#![allow(
    unused_imports,
    unreachable_pub,
    dead_code,
    reason = "each program uses its own part of this"
)]

#[path = "../../../../tests/src/port.rs"]
mod port;
#[path = "../../../../tests/src/eventually.rs"]
mod waiting;

pub(crate) use port::Port;
pub(crate) use waiting::{eventually, found};

use std::pin::Pin;
use tailwater_rt::{Reply, Request, Service};

pub(crate) type Boxed = Box<dyn Fn(Request) -> Pin<Box<dyn Future<Output = Reply>>> + Send + Sync>;

/// Any service as one type. A server of another type is compiled anew, which takes a second: with a type for each test they
/// took fifty.
pub(crate) fn boxed<S: Service>(service: S) -> Boxed {
    Box::new(move |request| {
        let handler = service.call(request);
        Box::pin(async move { handler.await.into() })
    })
}
