//! Marks of requests for `tailwater profile requests`, without a dependency on the profiler.
//!
//! [`Mark`] is one request, from its arrival to its answer. [`Marked`] is a future of which each poll is work for a
//! request. With the feature `tower`, `MarkLayer` makes one of every call of a service. [`Caller`] tells of calls to other
//! processes, whose requests these are there. [`size`] is of no request.
//!
//! A program that `tailwater profile build` has built holds the profiler's runtime, to which marks go by weak
//! references. In any other program a mark is a call and a few tests: nothing is numbered, stored or sent.
//!
//! ```
//! use tailwater_marks::Marked;
//!
//! async fn handle(name: &str) -> String {
//!     format!("hello, {name}")
//! }
//!
//! async fn serve() -> String {
//!     Marked::new(handle("world")).await
//! }
//! ```

mod mark;
mod caller;
mod working;
mod future;
#[cfg(feature = "tower")]
mod tower;
mod runtime;

pub use caller::Caller;
pub use future::Marked;
pub use mark::{Mark, size};
#[cfg(feature = "tower")]
pub use tower::{MarkLayer, MarkService};
