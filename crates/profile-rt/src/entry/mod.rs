//! How programs and the C library come in: recording begins and ends here.

pub(crate) mod exports;
pub(crate) mod session;
pub(crate) mod child;
pub(crate) mod settings;
mod team;
mod request;
pub mod control;
pub mod attach;
