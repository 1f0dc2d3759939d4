//! What `make pass` laid out, where it lies, and whether the compiler for it is there.

use super::LLVM;
use crate::failure::Failure;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the folder, for a program that does not lie beside it.
const HOME: &str = "TAILWATER_PROFILE_HOME";
const PLUGIN: &str = "libtailwater_profile_pass.so";

/// The folder with plugin, runtime and headers.
#[derive(Debug)]
pub(super) struct Installed {
    home: PathBuf,
}

impl Installed {
    /// Looks where the variable says, then beside this program's own folder: `target/profile`
    /// beside `target/release`, `lib/tailwater` beside `bin`.
    pub(super) fn find() -> Result<Self, Failure> {
        if let Some(home) = std::env::var_os(HOME) {
            return Self::at(PathBuf::from(home));
        }
        let program = std::env::current_exe().map_err(Failure::work)?;
        let beside = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let folders = [beside.join("profile"), beside.join("lib/tailwater")];
        let found = folders.iter().find(|folder| folder.join(PLUGIN).exists());
        found.map(|home| Self { home: home.clone() }).ok_or_else(|| {
            Failure::usage(format!(
                "found no {PLUGIN} in {} or {}; type `make pass` in tailwater's sources, or set {HOME}",
                folders[0].display(),
                folders[1].display()
            ))
        })
    }

    fn at(home: PathBuf) -> Result<Self, Failure> {
        if home.join(PLUGIN).exists() {
            return Ok(Self { home });
        }
        let home = home.display();
        Err(Failure::usage(format!("found no {PLUGIN} in {home}, which {HOME} names")))
    }

    pub(super) fn plugin(&self) -> PathBuf {
        self.home.join(PLUGIN)
    }

    /// The runtime as executables take it in: an object, so that its lock functions come before the
    /// C library's.
    pub(super) fn object(&self) -> PathBuf {
        self.home.join("tailwater_profile_rt.o")
    }

    /// The runtime as shared libraries ask for it. Its copy rests where the executable has its own.
    pub(super) fn library(&self) -> PathBuf {
        self.home.join("libtailwater_profile_rt.so")
    }

    /// What tells the runtime that a shared library goes, in every such library.
    pub(super) fn in_libraries(&self) -> PathBuf {
        self.home.join("tailwater_profile_library.o")
    }

    /// The program that scans another process.
    pub(super) fn recorder(&self) -> Result<PathBuf, Failure> {
        let recorder = self.home.join("tailwater-recorder");
        if recorder.exists() {
            return Ok(recorder);
        }
        let home = self.home.display();
        Err(Failure::usage(format!(
            "found no tailwater-recorder in {home}, which `make pass` in tailwater's sources lays out"
        )))
    }

    pub(super) fn include(&self) -> PathBuf {
        self.home.join("include")
    }

    /// That the tools are there, in the plugin's version.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for (tool, package) in [("clang", "clang-22"), ("ld.lld", "lld-22"), ("llvm-ar", "llvm-22")]
        {
            let tool = format!("{tool}-{LLVM}");
            let found = Command::new(&tool).arg("--version").output();
            found.map_err(|error| missing(&tool, package, &error))?;
        }
        Ok(())
    }

    /// Makes the compilers: links to this program in a folder that outlives it, since build systems
    /// remember where their compiler lies.
    pub(super) fn compilers(&self) -> Result<Compilers, Failure> {
        let program = std::env::current_exe().map_err(Failure::work)?;
        let folder = self.home.join("bin");
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::work(format!("{}: {error}", folder.display())))?;
        for name in ["tailwater-cc", "tailwater-c++"] {
            point(&folder.join(name), &program)
                .map_err(|error| Failure::work(format!("{}: {error}", folder.display())))?;
        }
        Ok(Compilers { folder })
    }
}

/// Links `name` to `program`, unless it leads to one that was built no earlier: a build folder that remembers the name
/// keeps its compiler, whichever program is started last. Made aside and moved, so that a build at work always finds one.
fn point(name: &Path, program: &Path) -> std::io::Result<()> {
    let built = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    // Follows the link; none where that leads nowhere.
    if built(name).is_some_and(|there| built(program).is_none_or(|ours| ours <= there)) {
        return Ok(());
    }
    let fresh = name.with_added_extension(std::process::id().to_string());
    std::os::unix::fs::symlink(program, &fresh)?;
    std::fs::rename(&fresh, name)
}

/// Where the links lie.
#[derive(Debug)]
pub(super) struct Compilers {
    folder: PathBuf,
}

impl Compilers {
    pub(super) fn c(&self) -> PathBuf {
        self.folder.join("tailwater-cc")
    }

    fn cxx(&self) -> PathBuf {
        self.folder.join("tailwater-c++")
    }

    /// For builds that are told a compiler by its name alone, as in `make CC=tailwater-cc`.
    fn first_on_path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.folder.clone()].into_iter().chain(std::env::split_paths(&path));
        // A folder with a colon in its name can be on no path.
        std::env::join_paths(folders).unwrap_or(path)
    }

    /// What make, configure, cmake, meson and the `cc` crate read. `ar` and its kin understand the
    /// compiler's intermediate code, which archives of a build with `-flto` are made of.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("CC", self.c().into()),
            ("CXX", self.cxx().into()),
            ("AR", format!("llvm-ar-{LLVM}").into()),
            ("RANLIB", format!("llvm-ranlib-{LLVM}").into()),
            ("NM", format!("llvm-nm-{LLVM}").into()),
            ("PATH", self.first_on_path()),
        ]
    }
}

/// A tool did not start.
pub(super) fn missing(tool: &str, package: &str, error: &impl Display) -> Failure {
    Failure::usage(format!(
        "found no {tool} ({error}); the plugin needs LLVM {LLVM}: type apt-get install {package}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn the_compilers_are_the_program_that_was_built_last() {
        let folder = std::env::temp_dir().join(format!("tailwater-point-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let program = |name: &str, age: u64| {
            let path = folder.join(name);
            let file = std::fs::File::create(&path).expect("a file");
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("its time");
            path
        };
        let (old, new) = (program("old", 100), program("new", 10));
        let name = folder.join("tailwater-cc");
        for (started, leads_to) in [(&old, &old), (&new, &new), (&old, &new), (&new, &new)] {
            point(&name, started).expect("a link");
            assert_eq!(&std::fs::read_link(&name).expect("a link"), leads_to);
        }
        std::fs::remove_file(&new).expect("it was made");
        point(&name, &old).expect("a link that leads somewhere again");
        assert_eq!(std::fs::read_link(&name).expect("a link"), old);
        std::fs::remove_dir_all(&folder).expect("it was made");
    }
}
