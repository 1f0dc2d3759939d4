//! Whether a build has called our compilers at all: one that names its own goes by them unnoticed.

use super::wrapper::has_input;
use crate::unforeseen;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The variable that tells our compilers where they are counted.
const VARIABLE: &str = "TAILWATER_PROFILE_TALLY";

/// A file with a byte for each call.
#[derive(Debug)]
pub(super) struct Tally {
    path: PathBuf,
}

impl Tally {
    /// None where it cannot be made: the build goes on all the same.
    pub(super) fn begin() -> Option<Self> {
        let (path, _) = unforeseen::at("tailwater-build", |path| File::create_new(path)).ok()?;
        Some(Self { path })
    }

    pub(super) fn variable(&self) -> (&'static str, &Path) {
        (VARIABLE, &self.path)
    }

    fn is_empty(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == 0)
    }

    /// What to tell of a build that has called none of them.
    pub(super) fn verdict(&self, program: &OsStr) -> Option<String> {
        self.is_empty().then(|| nothing_built(program))
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Counts this call of a compiler, if it compiles or links.
pub(super) fn count(arguments: &[OsString]) {
    if let Some(path) = std::env::var_os(VARIABLE)
        && has_input(arguments)
    {
        // A call that is not counted is compiled all the same.
        let file = OpenOptions::new().append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(b"1"));
    }
}

fn nothing_built(program: &OsStr) -> String {
    let name = Path::new(program).file_name().unwrap_or(program).display();
    let mend = match name.to_string().as_str() {
        "make" | "gmake" => {
            "type: tailwater profile build -- make -B CC=tailwater-cc CXX=tailwater-c++"
        }
        "cmake" | "ninja" | "meson" => {
            "a build folder keeps the compilers that it was made with: make a new one by \
             `tailwater profile build`"
        }
        "cargo" => {
            "Rust is profiled when a program is linked: build one (not --lib, check or doc), after cargo clean"
        }
        _ => "have it use tailwater-cc and tailwater-c++, which are on its PATH",
    };
    format!(
        "tailwater: {name} called none of our compilers. If something was to be built to be profiled: all was up to \
         date, a compiler cache had it, or the build's files name a compiler; {mend}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_build_is_counted_by_itself() {
        let [one, other] = [Tally::begin(), Tally::begin()].map(|one| one.expect("a file"));
        assert_ne!(one.path, other.path);
        std::fs::write(&one.path, "1").expect("it is ours");
        assert_eq!(one.verdict(OsStr::new("make")), None);
        assert!(other.verdict(OsStr::new("make")).is_some());
        let path = one.path.clone();
        drop(one);
        assert!(!path.exists());
    }

    #[test]
    fn what_to_type_depends_on_the_build() {
        for (program, mend) in [
            ("/usr/bin/make", "make -B CC=tailwater-cc"),
            ("ninja", "new one"),
            ("cargo", "not --lib"),
            ("./build.sh", "on its PATH"),
        ] {
            let said = nothing_built(OsStr::new(program));
            assert!(said.contains(mend), "{said}");
        }
    }
}
