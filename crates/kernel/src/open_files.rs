//! More files open than the soft limit lets be: a recording takes some twenty for each processor.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;

/// Low descriptors that are kept free: once the limit is back, this process gets no higher ones.
const SPARE: usize = 64;

/// Does `open` under the hard limit of open files, and puts the soft one back: a program that is started next has what its
/// user wanted, and `select(2)` of it goes no wrong way.
pub(crate) fn under_hard_limit<T>(open: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::Nofile);
    let spare: Vec<File> = (0..SPARE).map_while(|_| File::open("/dev/null").ok()).collect();
    // Where it may not be raised, `open` says that files are short.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
    let done = open();
    let _ = setrlimit(Resource::Nofile, before);
    drop(spare);
    done
}

/// The hard limit, in words.
pub(crate) fn hard_limit() -> String {
    getrlimit(Resource::Nofile).maximum.map_or("unlimited".into(), |most| most.to_string())
}
