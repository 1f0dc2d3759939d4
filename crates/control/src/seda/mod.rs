//! SEDA (Welsh & Culler, USITS '03) as the OSDI '20 evaluation runs it: each client limits its own
//! rate by the tail of the response times it sees. The server admits everything.
//!
//! `config` holds what can be chosen, `law` how the rate follows response times, `bucket` how the
//! rate becomes permission and `gate` the client. Its limits are those of any client that measures
//! alone: news is as old as its last response, and clients raise their rates together (§5.2).

mod bucket;
mod config;
mod family;
mod gate;
mod law;

pub use config::{Config, Growth, TailEstimator};
pub(crate) use family::FAMILY;
pub use gate::SedaGate;

#[cfg(test)]
mod tests;
