//! The machine's knobs: their files below a root folder, and how these are put back whatever happens.
//!
//! `root` reads and writes files, `lock` keeps other processes away, `place` says where this process would turn them, and
//! `store` keeps the journal on disk. A `session` turns
//! knobs: it writes the journal before the first, and puts everything back when it ends.

mod root;
mod lock;
mod place;
mod store;
mod session;

pub(super) use root::Root;
pub(super) use session::{Restored, Session, undo};
pub(super) use store::may_be_turned;
