//! Programs that take a core from another, and tests that show nothing here.

use super::tools;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Says why a test shows nothing here, past the harness, which hides what tests that pass have printed.
pub(crate) fn passed_over(why: &str) {
    // What a program says may have several lines.
    let line = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(std::io::stderr(), "PASSED OVER: {line}");
}

/// End with their test.
pub(crate) struct Neighbours(Vec<Child>);

impl Neighbours {
    pub(crate) fn of(hog: &Path, count: usize) -> Self {
        let hogs = (0..count).map(|_| Command::new(hog).arg("hog").spawn().expect("it starts"));
        Self(hogs.collect())
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            hog.kill().expect("it is ours");
            hog.wait().expect("it has ended");
        }
    }
}

/// The program of a source file, and a second one under the neighbours' name.
pub(crate) fn built(folder: &Path, flags: &str, source: &str) -> [PathBuf; 2] {
    ["program", "hog"].map(|name| {
        let program = folder.join(name);
        tools().compiled("CC", flags, source, &program)
    })
}
