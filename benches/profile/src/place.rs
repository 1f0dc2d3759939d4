//! Where everything lies: the repository, its own build, the profiler, and a folder for what is made.

use crate::Result;
use machine::command::{output, works};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the folder of the repository's own build, where that is not `target`.
const TARGET: &str = "TAILWATER_TARGET";

/// Names the program behind `cargo xtask`, where that would wait for a build that is under way.
const XTASK: &str = "TAILWATER_XTASK";

/// The folders and programs of one run.
#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
    target: PathBuf,
    home: PathBuf,
    out: PathBuf,
}

impl Place {
    /// Builds the profiler, unless it is there, and the folders.
    pub(crate) fn prepare() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        let target = root.join(std::env::var_os(TARGET).unwrap_or_else(|| "target".into()));
        let out = root.join("out/bench/profile");
        std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let mut place = Self { root, target, home: PathBuf::new(), out };
        place.ours(&["build", "--release", "--locked", "--package", "tailwater-cli"])?;
        place.home = place.xtask(&["pass"])?.into();
        // Makes the compilers.
        output(place.tailwater().args(["profile", "build", "--", "true"]))?;
        Ok(place)
    }

    /// The last line that cargo's command prints in the repository.
    fn ours(&self, words: &[&str]) -> Result<String> {
        self.last_line(cargo().args(words))
    }

    /// The last line that a chore of the repository prints.
    fn xtask(&self, words: &[&str]) -> Result<String> {
        match std::env::var_os(XTASK) {
            Some(program) => self.last_line(Command::new(program).args(words)),
            None => self.ours(&[&["xtask"][..], words].concat()),
        }
    }

    fn last_line(&self, command: &mut Command) -> Result<String> {
        let said = output(command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target))?;
        Ok(said.lines().last().unwrap_or_default().to_owned())
    }

    /// The sources of a Debian package, or why there are none.
    pub(crate) fn source(&self, package: &str) -> Result<PathBuf> {
        self.xtask(&["source", package]).map(PathBuf::from)
    }

    /// A file of ours.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.root.join("benches/profile/programs").join(name)
    }

    /// A file that may be made and overwritten.
    pub(crate) fn made(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    /// `tailwater`, with its home named.
    pub(crate) fn tailwater(&self) -> Command {
        let mut command = Command::new(self.target.join("release/tailwater"));
        if !self.home.as_os_str().is_empty() {
            command.env("TAILWATER_PROFILE_HOME", &self.home);
        }
        command.current_dir(&self.out);
        command
    }

    /// `tailwater-cc` or `tailwater-c++`.
    pub(crate) fn compiler(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }

    /// What an instrumented program is made of beside its own sources: newer ones call for a new one.
    /// The archive is what the object is made of, anew each time.
    pub(crate) fn profiler(&self) -> [PathBuf; 2] {
        let archive = self.target.join("release/libtailwater_profile_rt.a");
        [self.home.join("libtailwater_profile_pass.so"), archive]
    }

    /// Whether clang compiles a line with these words: headers and flags are there, or not.
    pub(crate) fn compiles(&self, compiler: &str, words: &[&str]) -> bool {
        let empty = self.program("empty.cpp");
        let mut command = Command::new(compiler);
        works(command.args(words).arg(empty).arg("-o").arg(self.made("empty")))
    }
}

/// The folder of SQLite's single file and its header, which lie in a crate.
pub(crate) fn sqlite() -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--all-features", "--locked"]);
    command.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    let metadata: serde_json::Value = serde_json::from_str(&output(&mut command)?)
        .map_err(|error| format!("could not read cargo's metadata: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|package| package["name"] == "libsqlite3-sys")
        .find_map(|package| package["manifest_path"].as_str());
    let folder = manifest.and_then(|manifest| Path::new(manifest).parent());
    folder.map(|folder| folder.join("sqlite3")).ok_or_else(|| "found no SQLite".to_owned())
}

/// Cargo without what this program was itself started with.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.env_remove("CARGO_TARGET_DIR");
    command
}
