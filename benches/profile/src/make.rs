//! Compiling a program for each contender, unless that was done.

use crate::Result;
use crate::place::Place;
use crate::tool::Build;
use machine::command::output;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of one or more files.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: &'static str,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) includes: Vec<PathBuf>,
}

impl Build {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clang => "clang",
            Self::Pass => "pass",
            Self::Clocked => "clocked",
            Self::Fibers => "fibers",
            Self::Xray => "xray",
            Self::Hooks => "hooks",
            Self::Gcc => "gcc",
            Self::Pg => "pg",
        }
    }

    /// The compiler for C, or else for C++.
    pub(crate) fn compiler(self, place: &Place, is_c: bool) -> PathBuf {
        let of = |c: &str, cxx: &str| if is_c { c.to_owned() } else { cxx.to_owned() };
        match self {
            Self::Pass | Self::Clocked | Self::Fibers => {
                place.compiler(&of("tailwater-cc", "tailwater-c++"))
            }
            Self::Gcc | Self::Pg => of("gcc", "g++").into(),
            _ => of("clang-22", "clang++-22").into(),
        }
    }

    /// For each step. XRay leaves out short functions unless told otherwise; the others do not.
    pub(crate) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Clang | Self::Pass | Self::Clocked | Self::Fibers | Self::Gcc => &[],
            Self::Xray => &["-fxray-instrument", "-fxray-instruction-threshold=1"],
            Self::Hooks => &["-finstrument-functions-after-inlining"],
            Self::Pg => &["-pg"],
        }
    }

    /// For each step, what our compilers ask the environment for.
    pub(crate) fn environment(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Fibers => Some(("TAILWATER_PROFILE_FIBERS", "1")),
            Self::Clocked => Some(("TAILWATER_PROFILE_CLOCK", "+*")),
            _ => None,
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Pass | Self::Clocked | Self::Fibers)
    }

    /// What is linked in beside the program, compiled once.
    pub(crate) fn object(self, place: &Place) -> Result<Option<PathBuf>> {
        let name = match self {
            Self::Xray => "xray_noop",
            Self::Hooks => "rdtsc_hooks",
            _ => return Ok(None),
        };
        let object = place.made(&format!("{name}.o"));
        compile(place, Self::Clang, &[place.program(&format!("{name}.c"))], &["-c"], &object)?;
        Ok(Some(object))
    }
}

impl Source {
    /// The program, compiled for `build`.
    pub(crate) fn make(&self, place: &Place, build: Build) -> Result<PathBuf> {
        let program = place.made(&format!("{}-{}", self.name, build.name()));
        if self.is_made(place, build, &program) {
            return Ok(program);
        }
        let mut files = self.files.clone();
        files.extend(build.object(place)?);
        let includes: Vec<String> =
            self.includes.iter().map(|folder| format!("-I{}", folder.display())).collect();
        let mut words: Vec<&str> = build.flags().to_vec();
        words.extend(includes.iter().map(String::as_str));
        compile(place, build, &files, &words, &program)?;
        Ok(program)
    }

    fn is_made(&self, place: &Place, build: Build, program: &Path) -> bool {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let profiler = if build.is_ours() { place.profiler().to_vec() } else { vec![] };
        let clock = place.program("clock.h");
        let newest =
            self.files.iter().chain(&profiler).chain([&clock]).map(|path| changed(path)).max();
        changed(program) > newest.flatten()
    }
}

/// By one command; programs are told apart from objects by `-c` among the words.
pub(crate) fn compile(
    place: &Place,
    build: Build,
    files: &[PathBuf],
    words: &[&str],
    target: &Path,
) -> Result {
    let is_c = files.iter().all(|file| file.extension().is_none_or(|end| end != "cpp"));
    let mut command = Command::new(build.compiler(place, is_c));
    command.envs(build.environment());
    command.arg("-O2").args(words).args(files).arg("-o").arg(target);
    if !words.contains(&"-c") {
        command.args(["-lpthread", "-lm", "-ldl"]);
    }
    output(&mut command).map(drop)
}
