//! A fork's child is recorded too, in a trace of its own, once it has lived for a while. Most children become
//! another program within a millisecond, and two threads and a file for each would be a burden.

use crate::entry::session;
use crate::entry::settings::Settings;
use crate::system::own_threads;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What is not recorded of a child, as `tailwater profile` says below its tables.
const UNRECORDED: Duration = Duration::from_millis(20);

/// The process that is about to begin; zero: none is.
static WAITING: AtomicU32 = AtomicU32::new(0);

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
    let _ = own_threads::start("tw-child", work);
}

/// It records no more, whatever its parent did. Says whether it was to.
pub(crate) fn forget() -> bool {
    WAITING.swap(0, Relaxed) != 0
}
