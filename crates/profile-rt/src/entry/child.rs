//! A fork's child is recorded too, in a trace of its own, once it has lived for a while. Most children become
//! another program within a millisecond, and threads and a file for each would be a burden.

use crate::entry::session;
use crate::entry::settings::Settings;
use crate::system::complaint::complain;
use crate::system::own_threads;
use crate::system::process;
use crate::system::shim::{self, Stage};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is not recorded of a child, as `tailwater profile` says below its tables.
const UNRECORDED: Duration = Duration::from_millis(20);

/// This is a fork's child: its only thread goes on in an arena of its own. It does not record yet.
pub(crate) fn forked() {
    // Its parent may be a child that had not begun.
    let is_recorded = process::forget_parent() | process::begins_no_more();
    let Some(arena) = process::arena() else { return };
    // The memory is still the parent's: what is called from here may not touch it.
    shim::set_own(None);
    shim::switch(None);
    let stage = shim::stage();
    shim::set_stage(Stage::Denied);
    let kept = session::has_forked();
    if !arena.replace() {
        return;
    }
    shim::set_stage(stage);
    if let Some(kept) = kept {
        kept.restore(&arena);
    }
    let asked = session::leave_parents();
    if let (true, Some((path, settings))) = (is_recorded, asked) {
        record_later(path, settings);
    }
}

/// Has this process, a child, record as its parent did, if it lives on.
fn record_later(path: PathBuf, settings: Settings) {
    let pid = std::process::id();
    process::begins_later(pid);
    let work = move || {
        std::thread::sleep(UNRECORDED);
        if process::is_to_begin(pid) {
            go_on(&path, &settings);
        }
    };
    // Where it gets no thread, the child goes on as it is.
    let _ = own_threads::start("tw-child", work);
}

/// A fork's child records from now on.
fn go_on(path: &Path, settings: &Settings) {
    match session::begin(path, settings) {
        // It has begun by itself.
        Err(error) if error.raw_os_error() == Some(session::EALREADY) => {}
        // It has given up the right to within the 20 ms, as servers do that begin as root.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => complain(&format!(
            "cannot record a child beside {}: {error}; record to a folder in which it may write, by -o",
            path.display()
        )),
        Err(error) => {
            complain(&format!("cannot record a child beside {}: {error}", path.display()));
        }
        Ok(()) => {}
    }
}
