//! How programs and the C library come in: recording begins and ends here.

pub(crate) mod exports;
pub(crate) mod session;
pub(crate) mod child;
pub(crate) mod settings;
pub mod request;
pub mod attach;
