//! A fork's child is recorded too, in a trace of its own, once it has lived for a while. Most children become
//! another program within a millisecond, and two threads and a file for each would be a burden.

use crate::settings::Settings;
use crate::{session, threads};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// What is not recorded of a child, as `tailwater profile` says below its tables.
const UNRECORDED: Duration = Duration::from_millis(20);

/// The process that is about to begin; zero: none is.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// Children of this process that nobody was told of yet.
static BORN: AtomicU64 = AtomicU64::new(0);

/// Has this process, a child, record as its parent did, if it lives on.
pub(crate) fn record_later(path: PathBuf, settings: Settings) {
    let pid = std::process::id();
    WAITING.store(pid, Relaxed);
    let work = move || {
        std::thread::sleep(UNRECORDED);
        if WAITING.swap(0, Relaxed) == pid {
            session::go_on(&path, &settings);
        }
    };
    // Where it gets no thread, the child goes on as it is.
    let _ = threads::own("tw-child", work);
}

/// It records no more, whatever its parent did. Says whether it was to.
pub(crate) fn forget() -> bool {
    WAITING.swap(0, Relaxed) != 0
}

/// This process has a child.
pub(crate) fn is_born() {
    BORN.fetch_add(1, Relaxed);
}

/// Children since this was last asked.
pub(crate) fn take_born() -> u64 {
    BORN.swap(0, Relaxed)
}
