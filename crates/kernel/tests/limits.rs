//! A recording takes more files than a shell lets be open. Alone in its process: the limit is the whole process's.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tailwater_kernel::{Probe, Recorder};

#[test]
#[expect(clippy::print_stderr, reason = "it is for readers of the test's output")]
fn a_soft_limit_of_files_ends_no_recording_and_is_as_before() {
    let before = getrlimit(Resource::Nofile);
    // As many as this process has open, and some.
    let low = Rlimit { current: Some(24), ..before };
    setrlimit(Resource::Nofile, low).expect("it may be lowered");
    let recorder = match Recorder::start(Probe::look()) {
        Ok(recorder) => recorder,
        Err(missing) => {
            assert!(!missing.what().contains("files"), "{missing}");
            return eprintln!("passed over: {missing}");
        }
    };
    assert_eq!(getrlimit(Resource::Nofile), low, "a program that is started now has it");
    std::fs::File::open("/dev/null").expect("and this process can open files all the same");
    drop(recorder);
    setrlimit(Resource::Nofile, before).expect("as it was");
}
