//! What lies in shared memory, and how it is reached. Uses no other room.

pub(crate) mod state;
pub(crate) mod abi;
pub(crate) mod stack;
pub(crate) mod event;
pub(crate) mod ring;
pub(crate) mod notes;
pub(crate) mod unawaited;
pub(crate) mod mailbox;
pub(crate) mod born;
pub(crate) mod lease;
pub(crate) mod said;
pub(crate) mod arena;
pub(crate) mod foreign;
