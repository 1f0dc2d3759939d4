//! `tailwater profile build -- CMD…`: the program's own build, with compilers that add the plugin.
//!
//! The compilers are this program under other names (`tailwater-cc`, `tailwater-c++`): it adds to the
//! command line what is needed and becomes clang. So no build system has to pass flags on, and what
//! cmake or configure remember stays valid afterwards.

mod installed;
mod rust;
mod wrapper;
mod tally;

use super::running::{exit_code, run};
use crate::failure::{Failure, tell};
use clap::{Args, ValueEnum};
use installed::Installed;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use tally::Tally;

/// What clang's tools are called: the plugin fits one major version only.
const LLVM: u32 = 22;

#[derive(Args, Debug)]
pub(crate) struct BuildOptions {
    /// Which functions are profiled, by the linker's names or their source files: lines of +GLOB, -GLOB,
    /// +file:GLOB or -file:GLOB; the last that matches decides. Without it, all are. After a change of
    /// the file, build all anew; cargo does by itself.
    #[arg(long, value_name = "FILE")]
    filter: Option<PathBuf>,
    /// Have every call push a frame, on paths too that neither call nor loop. They take nanoseconds, and
    /// each costs one more then; without this, they count as their caller's. After a change, build all anew;
    /// cargo does by itself.
    #[arg(long)]
    whole: bool,
    /// For programs that switch between stacks of their own (makecontext, coroutine libraries) and do not
    /// announce it by `tw_fiber_switch`: each function finds out on which stack it runs, and a call costs up
    /// to a nanosecond more. Needs unwind tables, as compilers write them by default. After a change,
    /// build all anew; cargo does by itself.
    #[arg(long)]
    fibers: bool,
    /// Keep a function's frame while what it calls last runs. Without this, a function that ends in a tail call is
    /// gone by then, and in no table if it does nothing else. Calls that are no loops any more take stack: a
    /// program that recurses by them may run out of it. After a change, build all anew; cargo does by itself.
    #[arg(long)]
    keep_tail_callers: bool,
    /// Have functions time their own calls, by the clock on entry and on return: of these every call is told of, however short,
    /// and its time is known to 0.1 µs. GLOB is on a name as in --filter; may be given more than once. They are not inlined (of Rust, write
    /// #[inline(never)]). For a few functions, such as the one that handles a request: each call costs two readings of the
    /// clock, and a place in the trace. After a change, build all anew; cargo does by itself.
    #[arg(long, value_name = "GLOB")]
    clock: Vec<String>,
    /// How the plugin gets at Rust code; without it, by `lto` where CMD is cargo.
    #[arg(long, value_enum)]
    rust_route: Option<RustRoute>,
    /// The build, such as `make`, `cmake -B build`, `./configure` or `cargo build --release`.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// How the plugin gets at Rust code.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RustRoute {
    /// At link time, with any stable rustc whose LLVM is not newer than ours; not std.
    Lto,
    /// Within rustc, by a flag meant for its developers (RUSTC_BOOTSTRAP); covers std too.
    Bootstrap,
}

/// Runs the build, and ends with its exit code.
pub(crate) fn build(options: &BuildOptions) -> Result<(), Failure> {
    let installed = Installed::find()?;
    installed.check()?;
    let (program, arguments) = options
        .command
        .split_first()
        .ok_or_else(|| Failure::usage("found no command; type: tailwater profile build -- make"))?;
    let compilers = installed.compilers()?;
    let mut command = Command::new(program);
    command.args(arguments).envs(compilers.variables());
    let mut decides = DefaultHasher::new();
    for part in [installed.plugin(), installed.object()] {
        read(&part)?.hash(&mut decides);
    }
    (options.whole, options.fibers, options.keep_tail_callers).hash(&mut decides);
    options.clock.hash(&mut decides);
    if let Some(filter) = &options.filter {
        read(filter)?.hash(&mut decides);
        let path = std::path::absolute(filter).map_err(|error| unreadable(filter, &error))?;
        command.env("TAILWATER_PROFILE_FILTER", path);
    }
    if !options.clock.is_empty() {
        // Lines as those of a filter.
        let rules: Vec<String> = options.clock.iter().map(|glob| format!("+{glob}")).collect();
        command.env("TAILWATER_PROFILE_CLOCK", rules.join("\n"));
    }
    for (wanted, name) in [
        (options.whole, "TAILWATER_PROFILE_WHOLE"),
        (options.fibers, "TAILWATER_PROFILE_FIBERS"),
        (options.keep_tail_callers, "TAILWATER_PROFILE_KEEP_TAIL_CALLERS"),
    ] {
        if wanted {
            command.env(name, "1");
        }
    }
    let is_cargo = Path::new(program).file_name().is_some_and(|name| name == "cargo");
    if let Some(route) = options.rust_route.or(is_cargo.then_some(RustRoute::Lto)) {
        command.envs(rust::variables(route, &installed, &compilers, decides.finish())?);
    }
    let tally = Tally::begin();
    command.envs(tally.iter().map(Tally::variable));
    let status = run(&mut command)?;
    let verdict = tally.as_ref().and_then(|tally| tally.verdict(program));
    drop(tally);
    match (exit_code(status), verdict) {
        (0, Some(verdict)) => tell(&verdict),
        (0, None) => {}
        (code, _) => std::process::exit(code),
    }
    Ok(())
}

/// The program that scans another process.
pub(super) fn recorder() -> Result<PathBuf, Failure> {
    Installed::find()?.recorder()
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
}

/// When this program was started under a compiler's name: becomes that compiler.
pub(crate) fn as_compiler() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let name = PathBuf::from(arguments.next()?);
    let language = wrapper::Language::of(name.file_name()?.to_str()?)?;
    Some(match compile(language, &arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => crate::failure::report(&failure),
    })
}

fn compile(language: wrapper::Language, arguments: &[OsString]) -> Result<(), Failure> {
    let installed = Installed::find()?;
    tally::count(arguments);
    let clang = language.clang();
    let error = Command::new(&clang).args(wrapper::extend(arguments, &installed)).exec();
    Err(installed::missing(&clang, "clang-22", &error))
}
