//! A window at the client that grows by addition and shrinks by multiplication, as the OSDI '20
//! paper (§2) takes it from ORCA: the common client-side limit, and its common limit.
//!
//! `config` holds what can be chosen, `law` how the window moves and `gate` the client. A window is
//! never below one request, so clients beyond the server's capacity for standing requests overload
//! it all together, however small each makes itself.

mod config;
mod family;
mod gate;
mod law;

pub use config::{Config, Cut, Growth};
pub(crate) use family::FAMILY;
pub use gate::WindowGate;

#[cfg(test)]
mod tests;
