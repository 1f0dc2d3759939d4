//! What runs in the program's own threads: it neither allocates nor blocks where instrumented code comes by.

pub(crate) mod register;
pub(crate) mod slow;
pub(crate) mod waits;
pub(crate) mod counting;
pub(crate) mod clocked;
pub(crate) mod stacks;
pub(crate) mod unload;
pub(crate) mod forked;
