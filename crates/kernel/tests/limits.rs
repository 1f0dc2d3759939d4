//! A recording takes more files than a shell lets be open. Alone in its process: the limit is the whole process's.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Write as _;
use tailwater_kernel::{Probe, Recorder};

#[test]
fn a_soft_limit_of_files_ends_no_recording_and_is_as_before() {
    let before = getrlimit(Resource::Nofile);
    // As many as this process has open, and some.
    let low = Rlimit { current: Some(24), ..before };
    setrlimit(Resource::Nofile, low).expect("it may be lowered");
    let recorder = match Recorder::start(Probe::look()) {
        Ok(recorder) => recorder,
        Err(missing) => {
            assert!(!missing.what().contains("files"), "{missing}");
            // Past the harness, which hides what tests that pass have printed.
            let _ = writeln!(std::io::stderr(), "PASSED OVER: {missing}");
            return;
        }
    };
    assert_eq!(getrlimit(Resource::Nofile), low, "a program that is started now has it");
    std::fs::File::open("/dev/null").expect("and this process can open files all the same");
    drop(recorder);
    setrlimit(Resource::Nofile, before).expect("as it was");
}
