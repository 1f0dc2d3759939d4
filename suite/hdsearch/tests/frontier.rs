//! What the program does with a file that it cannot write.

use std::path::PathBuf;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailwater-hdsearch");

/// Few points, and next to no settings that are measured.
const SMALL: &str = "frontier --points 2000 --queries 10 --share-max 0 --out";

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = format!("tailwater-hdsearch-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn names(&self) -> usize {
        std::fs::read_dir(&self.0).expect("a folder").count()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The exit code, and what it prints to standard output and to standard error.
fn run(command: &mut Command, out: &str) -> (Option<i32>, String, String) {
    let output = command.args(SMALL.split(' ')).arg(out).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_work() {
    let scratch = Scratch::new("refused");
    let folder = scratch.0.display();
    for (out, why) in [
        (format!("{folder}"), "found a folder"),
        ("/dev/null".into(), "found a device"),
        (format!("{folder}/none/frontier.json"), "found no such folder"),
        // There no file can be made, whoever asks.
        ("/proc/frontier.json".into(), "nothing can be written there"),
    ] {
        let (code, printed, error) = run(&mut Command::new(PROGRAM), &out);
        assert_eq!((code, &printed[..]), (Some(2), ""), "{error}");
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(scratch.names(), 0);
}

#[test]
fn what_was_measured_is_printed_though_its_file_fails() {
    let scratch = Scratch::new("full");
    let out = scratch.0.join("frontier.json").display().to_string();
    let mut limited = Command::new("sh");
    // Files may be made, and hold nothing. The signal that says so is ignored: the write fails instead.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"", PROGRAM]);
    let (code, printed, error) = run(&mut limited, &out);
    assert_eq!(code, Some(2), "{error}");
    assert!(printed.contains("looking at every point"), "{printed}");
    assert!(error.contains("frontier.json: "), "{error}");
    assert_eq!(scratch.names(), 0);
    let (code, printed, error) = run(&mut Command::new(PROGRAM), &out);
    assert_eq!((code, printed.is_empty()), (Some(0), false), "{error}");
    assert_eq!(scratch.names(), 1);
}
