//! The thread that writes what was seen, and what all of it is called.

pub(crate) mod output;
pub(crate) mod clocked;
pub(crate) mod order;
pub(crate) mod names;
pub(crate) mod filter;
pub(crate) mod trace_file;
pub(crate) mod survivors;
