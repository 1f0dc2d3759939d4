//! `pass`: builds the profiler's compiler plugin and runtime, laid out as they are installed.
//!
//! `target/profile/` then holds the plugin, the runtime as a shared library and as one object file, and what goes
//! into every shared library (`tailwater_profile_library.o`). The scanner is there as a program too
//! (`tailwater-recorder`). Beside them are the headers under `include/` and a CMake toolchain file. `tailwater profile build` finds them beside its own folder; a program of another build is
//! pointed at them by `TAILWATER_PROFILE_HOME`.

use crate::Result;
use crate::process::{self, built, cargo};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::SystemTime;

/// The plugin's interface changes with each major version of LLVM.
const LLVM: u32 = 22;
const PLUGIN: &str = "libtailwater_profile_pass.so";
const RUNTIME: &str = "tailwater_profile_rt";
const RECORDER: &str = "tailwater-recorder";
/// Cargo gives a crate the features that all chosen packages ask for. So the command is among them, of which nothing is built
/// here: what it shares with the runtime is then built once for both.
const PACKAGES: [&str; 4] = ["--package", "tailwater-profile-rt", "--package", COMMAND];
const COMMAND: &str = "tailwater-cli";
const SOURCES: &str = "profile-pass/src";
const HEADERS: &str = "crates/profile-rt/include/tailwater";
const TOOLCHAIN_FILE: &str = "profile-pass/tailwater.cmake";
/// Goes into every shared library that is profiled.
const LIBRARY: &str = "crates/profile-rt/src/shim/library.c";
/// What the runtime offers to a program; all else of it is hidden, so that a Rust program's own
/// standard library does not meet the runtime's.
const EXPORTS: &[&str] =
    &["tw_", "pthread_", "_exit", "_Exit", "sigaction", "signal", "__sysv_signal"];

/// `cargo xtask pass [--plugin]`. With `--plugin`, the plugin alone.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let plugin_only = match args {
        [] => false,
        [flag] if flag == "--plugin" => true,
        _ => return Err(format!("found {args:?}; `pass` knows the flag --plugin")),
    };
    let home = built(root, "profile");
    make_folder(&home)?;
    // Of several at a time one builds, and the others find it done. The file's end unlocks it.
    let turn = home.join("lock");
    let lock = fs::File::create(&turn).map_err(|error| failed(&turn, &error))?;
    lock.lock().map_err(|error| failed(&turn, &error))?;
    plugin(root, &home)?;
    if !plugin_only {
        runtime(root, &home)?;
        headers(root, &home)?;
        copy(&root.join(TOOLCHAIN_FILE), &home.join("tailwater.cmake"))?;
    }
    println!("{}", home.display());
    Ok(())
}

/// Compiles each source by itself, all at a time, unless the plugin is newer than every source.
fn plugin(root: &Path, home: &Path) -> Result {
    let library = home.join(PLUGIN);
    let sources = files(&root.join(SOURCES))?;
    // It is made for what they say of the runtime.
    let headers = files(&root.join(HEADERS))?;
    if is_newer(&library, &[sources.clone(), headers].concat()) {
        return Ok(());
    }
    let (clang, include) = (tool("clang++", "clang-22")?, include_folder()?);
    let objects = home.join("pass.o");
    make_folder(&objects)?;
    let mut compilers = Vec::new();
    let mut linker = Command::new(&clang);
    for source in sources.iter().filter(|path| path.extension().is_some_and(|end| end == "cpp")) {
        let object = objects.join(source.file_name().unwrap_or_default()).with_extension("o");
        let mut compiler = Command::new(&clang);
        compiler.arg("-I").arg(self::include(root));
        compiler.args(["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fno-rtti"]);
        compiler.args(["-fno-exceptions", "-fvisibility=hidden", "-D_GNU_SOURCE", "-isystem"]);
        compiler.arg(&include).arg("-c").arg(source).arg("-o").arg(&object);
        compilers
            .push(compiler.spawn().map_err(|error| format!("could not start clang: {error}"))?);
        linker.arg(object);
    }
    // Waits for all before the first failure is told, so that none is left behind.
    let ends: Vec<_> = compilers.iter_mut().map(Child::wait).collect();
    if !ends.iter().all(|end| end.as_ref().is_ok_and(ExitStatus::success)) {
        return Err(format!("could not compile {SOURCES}; the compiler says above why"));
    }
    // LLVM itself is not linked: whoever loads the plugin has it, and must not have it twice. Written
    // beside and moved, so that a compiler at work keeps the plugin that it has mapped.
    let fresh = home.join("pass.so.new");
    process::run_quietly(linker.args(["-shared", "-o"]).arg(&fresh))?;
    fs::rename(&fresh, &library).map_err(|error| failed(&library, &error))
}

/// Builds the runtime and writes it as a shared library and as one object.
fn runtime(root: &Path, home: &Path) -> Result {
    let build = ["build", "--release", "--locked", "--lib", "--bin", RECORDER];
    process::run(cargo(root, &build).args(PACKAGES))?;
    let from = built(root, "release");
    copy(&from.join(format!("lib{RUNTIME}.so")), &home.join(format!("lib{RUNTIME}.so")))?;
    copy(&from.join(RECORDER), &home.join(RECORDER))?;
    let (archive, object) =
        (from.join(format!("lib{RUNTIME}.a")), home.join(format!("{RUNTIME}.o")));
    if !is_newer(&object, std::slice::from_ref(&archive)) {
        one_object(&archive, &object)?;
    }
    library(root, &home.join("tailwater_profile_library.o"))
}

/// Compiles what goes into shared libraries, unless it is newer than its sources.
fn library(root: &Path, object: &Path) -> Result {
    let mut sources = files(&root.join(HEADERS))?;
    sources.push(root.join(LIBRARY));
    if is_newer(object, &sources) {
        return Ok(());
    }
    let mut compiler = Command::new(tool("clang", "clang-22")?);
    compiler.args(["-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I"]).arg(include(root));
    compiler.arg("-c").arg(root.join(LIBRARY)).arg("-o");
    let fresh = object.with_extension("new");
    process::run_quietly(compiler.arg(&fresh))?;
    fs::rename(&fresh, object).map_err(|error| failed(object, &error))
}

fn include(root: &Path) -> PathBuf {
    root.join(HEADERS).join("..")
}

/// Links what the exports need out of `archive` into one object, and hides everything else.
fn one_object(archive: &Path, object: &Path) -> Result {
    let listed = output(Command::new(tool("llvm-nm", "llvm-22")?).args(["-jUg"]).arg(archive))?;
    let exported: Vec<&str> = listed
        .lines()
        .filter(|name| EXPORTS.iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    if !exported.contains(&"tw_profile_slow") {
        return Err(format!("found no tw_profile_slow in {}", archive.display()));
    }
    let mut linker = Command::new(tool("ld.lld", "lld-22")?);
    linker.arg("-r").args(exported.iter().flat_map(|name| ["-u", name]));
    // Moved when it is whole: others may link what is there, and a half made one would count as newer.
    let fresh = object.with_extension("new");
    process::run_quietly(linker.arg(archive).arg("-o").arg(&fresh))?;
    let mut hider = Command::new(tool("llvm-objcopy", "llvm-22")?);
    // Rust's own library comes with debug information and with its intermediate code.
    hider.args(["-w", "--strip-debug", "--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    hider.args(EXPORTS.iter().map(|prefix| format!("--keep-global-symbol={prefix}*")));
    // Shared with the program's own: the linker keeps one of each.
    process::run_quietly(hider.arg("--keep-global-symbol=DW.ref.*").arg(&fresh))?;
    fs::rename(&fresh, object).map_err(|error| failed(object, &error))
}

fn headers(root: &Path, home: &Path) -> Result {
    let target = home.join("include/tailwater");
    make_folder(&target)?;
    for header in files(&root.join(HEADERS))? {
        copy(&header, &target.join(header.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// `NAME-22`, if it is there and of that version.
fn tool(name: &str, package: &str) -> Result<PathBuf> {
    let program = PathBuf::from(format!("{name}-{LLVM}"));
    let found = Command::new(&program).arg("--version").output();
    let text = found.map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
    check_version(name, package, text.ok().as_deref()).map(|()| program)
}

/// `text`: what it says of its version; `None` where it did not start.
fn check_version(name: &str, package: &str, text: Option<&str>) -> Result {
    let Some(text) = text else {
        return Err(format!(
            "found no {name}-{LLVM}, wanted LLVM {LLVM}'s; type: apt-get install {package}"
        ));
    };
    if major(text) == Some(LLVM) {
        return Ok(());
    }
    let first = text.lines().next().unwrap_or_default();
    Err(format!("found `{first}`, wanted {name} of LLVM {LLVM}; type: apt-get install {package}"))
}

/// The first number of the first word that looks like a version.
fn major(text: &str) -> Option<u32> {
    let mut words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    words.find_map(|word| word.split_once('.')?.0.parse().ok())
}

fn include_folder() -> Result<String> {
    let config = tool("llvm-config", "llvm-22-dev")?;
    let folder = output(Command::new(config).arg("--includedir"))?;
    let folder = folder.trim().to_owned();
    if Path::new(&folder).join("llvm/Plugins/PassPlugin.h").exists() {
        return Ok(folder);
    }
    Err(format!("found no LLVM headers in {folder}; type: apt-get install llvm-22-dev"))
}

fn output(command: &mut Command) -> Result<String> {
    let done = command.output().map_err(|error| format!("could not run {command:?}: {error}"))?;
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(format!("{command:?} ended with {}: {why}", done.status));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    Ok(found)
}

fn is_newer(made: &Path, sources: &[PathBuf]) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    let when = changed(made).unwrap_or(SystemTime::UNIX_EPOCH);
    sources.iter().all(|source| changed(source).is_ok_and(|source| source < when))
}

fn make_folder(folder: &Path) -> Result {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

/// Copies what has changed, and moves it in place: a program may be running what is there.
fn copy(from: &Path, to: &Path) -> Result {
    let wanted = fs::read(from).map_err(|error| failed(from, &error))?;
    if fs::read(to).is_ok_and(|present| present == wanted) {
        return Ok(());
    }
    let fresh = to.with_extension("new");
    // With its mode: one of these is a program.
    fs::copy(from, &fresh).and_then(|_| fs::rename(&fresh, to)).map_err(|error| failed(to, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_the_runtime_shares_with_the_command_is_built_once() {
        let root = crate::root().unwrap();
        let parts = |packages: &[&str]| -> BTreeSet<String> {
            let mut tree = cargo(&root, &["tree", "--locked", "--offline", "--edges", "no-dev"]);
            tree.args(["--prefix", "none", "--format", "{p} {f}"]).args(packages);
            let said = output(&mut tree).unwrap();
            let lines = said.lines().map(|line| line.trim_end_matches(" (*)").to_owned());
            lines.filter(|line| !line.is_empty() && !line.contains("-profile-rt ")).collect()
        };
        let with_runtime = parts(&PACKAGES);
        assert!(with_runtime.iter().any(|part| part.starts_with("rustix ")), "{with_runtime:?}");
        assert_eq!(with_runtime, parts(&["--package", COMMAND]));
    }

    #[test]
    fn versions_are_read_from_what_the_tools_print() {
        assert_eq!(major("Debian clang version 22.1.8 (1~deb12u1)"), Some(22));
        assert_eq!(major("Debian LLD 22.1.8 (compatible with GNU linkers)"), Some(22));
        assert_eq!(major("Debian LLVM version 22.1.8\n  Optimized build."), Some(22));
        assert_eq!(major("22.1.8"), Some(22));
        assert_eq!(major("clang"), None);
    }

    #[test]
    fn a_missing_or_other_tool_is_named_with_what_to_type() {
        let missing = check_version("clang++", "clang-22", None).unwrap_err();
        assert!(missing.contains("no clang++-22") && missing.contains("install clang-22"));
        let other = check_version("clang++", "clang-22", Some("clang version 19.1.7")).unwrap_err();
        assert!(other.contains("19.1.7") && other.contains("LLVM 22"), "{other}");
        assert_eq!(check_version("clang++", "clang-22", Some("clang version 22.1.0")), Ok(()));
    }
}
