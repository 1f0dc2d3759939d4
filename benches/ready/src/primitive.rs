//! What the runtime's bell is made of, in place of the runtime's own module of this name.

pub(crate) use std::sync::atomic::AtomicBool;
