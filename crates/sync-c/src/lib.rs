//! `libtailwater_sync_c`: the locks and the ready set of [`tailwater_sync`] for C and C++. The functions are those of
//! `crates/sync/include/tailwater/sync.h` and `ready.h`, which say what each does; `docs/locks.md` has an example.

#![forbid(unsafe_code)]

pub use tailwater_sync;
