//! The contenders: how each has a program compiled and run.

use crate::place::Place;
use machine::command::works;
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// The library of a thread that only sleeps, among what is made.
pub(crate) const SLEEPER: &str = "sleeper.so";

/// A way to look at a program, or not to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tool {
    /// clang without anything.
    Plain,
    /// Instrumented, and nobody looks.
    Unscanned,
    /// The same, with another thread in the program that only sleeps.
    Sleeper,
    /// The same, beside another process that spins.
    Beside,
    /// Recorded with a budget of 0.1 %.
    Little,
    /// Recorded with a budget of 5 %.
    Scanned,
    /// The same with samples of where threads are, 997 a second.
    Lines,
    /// Built so that each call times itself, and recorded without a scanner.
    Clocked,
    /// The same, and each call counts its time on a core.
    CountedCpu,
    /// The same with all four counters that are read without a list.
    Counted,
    /// Built to find fibers, and nobody looks.
    Fibers,
    /// XRay's sleds, not patched.
    Xray,
    /// Patched, with a handler that does nothing.
    XrayNoop,
    /// Patched, XRay's basic mode.
    XrayBasic,
    /// Time stamps into a ring at entry and exit, added after inlining.
    Hooks,
    /// perf's samples of the program as it is, by the clock: this needs no counters.
    Perf,
    /// gcc without anything.
    Gcc,
    /// gcc -pg.
    Pg,
    /// uftrace record, of the program with -pg.
    Uftrace,
}

/// A way to compile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Build {
    Clang,
    Pass,
    Clocked,
    Fibers,
    Xray,
    Hooks,
    Gcc,
    Pg,
}

impl Tool {
    /// All but those that have each call time itself, which suits few functions of a program.
    pub(crate) const ALL: [Self; 13] = [
        Self::Plain,
        Self::Unscanned,
        Self::Scanned,
        Self::Lines,
        Self::Fibers,
        Self::Xray,
        Self::XrayNoop,
        Self::XrayBasic,
        Self::Hooks,
        Self::Perf,
        Self::Gcc,
        Self::Pg,
        Self::Uftrace,
    ];

    /// What is another thread's, another process's and the scanner's of what a scanned program costs.
    pub(crate) const SCANNED: [Self; 5] =
        [Self::Unscanned, Self::Sleeper, Self::Beside, Self::Little, Self::Scanned];

    /// What it costs that a call times itself, beside a call that does not.
    pub(crate) const TIMED: [Self; 4] =
        [Self::Unscanned, Self::Clocked, Self::CountedCpu, Self::Counted];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Unscanned => "tailwater, unscanned",
            Self::Sleeper => "unscanned, another thread sleeps",
            Self::Beside => "unscanned, another process spins",
            Self::Little => "tailwater, scanned (0.1 %)",
            Self::Scanned => "tailwater, scanned (5 %)",
            Self::Lines => "tailwater, scanned (5 %), --lines",
            Self::Clocked => "tailwater --clock, --scanners 0",
            Self::CountedCpu => "tailwater --clock, --counters=cpu",
            Self::Counted => "tailwater --clock, --counters",
            Self::Fibers => "tailwater --fibers, unscanned",
            Self::Xray => "XRay, unpatched",
            Self::XrayNoop => "XRay, empty handler",
            Self::XrayBasic => "XRay, basic mode",
            Self::Hooks => "rdtsc hooks after inlining",
            Self::Perf => "perf record (cpu-clock)",
            Self::Gcc => "plain, gcc",
            Self::Pg => "gcc -pg",
            Self::Uftrace => "uftrace",
        }
    }

    pub(crate) fn build(self) -> Build {
        match self {
            Self::Plain | Self::Perf => Build::Clang,
            Self::Unscanned
            | Self::Sleeper
            | Self::Beside
            | Self::Little
            | Self::Scanned
            | Self::Lines => Build::Pass,
            Self::Clocked | Self::CountedCpu | Self::Counted => Build::Clocked,
            Self::Fibers => Build::Fibers,
            Self::Xray | Self::XrayNoop | Self::XrayBasic => Build::Xray,
            Self::Hooks => Build::Hooks,
            Self::Gcc => Build::Gcc,
            Self::Pg | Self::Uftrace => Build::Pg,
        }
    }

    /// The same compiler's program without a tool.
    pub(crate) fn base(self) -> Self {
        match self.build() {
            Build::Gcc | Build::Pg => Self::Gcc,
            _ => Self::Plain,
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        self == Self::Plain || self.build().is_ours()
    }

    /// `program` under this tool, in a folder where it may leave files; `scratch` is a name for one.
    pub(crate) fn run(self, place: &Place, program: &Path, scratch: &str) -> Command {
        let mut command = self.command(place, program, scratch);
        match self {
            Self::XrayNoop => {
                command.env("NOOP_HANDLER", "1");
            }
            Self::Sleeper => {
                command.env("LD_PRELOAD", place.made(SLEEPER));
            }
            Self::XrayBasic => {
                let log = place.made(&format!("{scratch}-"));
                let options = "patch_premain=true xray_mode=xray-basic xray_logfile_base=";
                command.env("XRAY_OPTIONS", format!("{options}{}", log.display()));
            }
            _ => {}
        }
        // gcc -pg and perf write where they stand.
        command.current_dir(place.made(""));
        command
    }

    /// The words of it.
    fn command(self, place: &Place, program: &Path, scratch: &str) -> Command {
        let file = place.made(scratch);
        match self {
            Self::Beside => {
                let mut command = Command::new("sh");
                // A core each, or the kernel takes a tenth of a second to part them. What a shell has in the background is not interrupted.
                let beside = r#"taskset -c 0 sh -c "while :; do :; done" & other=$!; trap 'kill $other' EXIT INT TERM; taskset -c 1 "$@""#;
                command.args(["-c", beside, "sh"]).arg(program);
                command
            }
            Self::Little | Self::Scanned | Self::Lines => {
                let mut command = place.tailwater();
                let budget = if self == Self::Little { "0.1%" } else { "5%" };
                command.args(["profile", "record", "--budget", budget]);
                command.args((self == Self::Lines).then_some("--lines"));
                command.arg("-o").arg(file).arg("--");
                command.arg(program);
                command
            }
            Self::Clocked | Self::CountedCpu | Self::Counted => {
                let mut command = place.tailwater();
                command.args(["profile", "record", "--scanners", "0"]);
                command.args(match self {
                    Self::CountedCpu => Some("--counters=cpu"),
                    Self::Counted => Some("--counters"),
                    _ => None,
                });
                command.arg("-o").arg(file).arg("--").arg(program);
                command
            }
            Self::Perf => {
                let mut command = Command::new("perf");
                command.args(["record", "-q", "-e", "cpu-clock", "-o"]).arg(file).arg("--");
                command.arg(program);
                command
            }
            Self::Uftrace => {
                let mut command = Command::new("uftrace");
                command.args(["record", "--no-libcall", "--no-pager", "-d"]).arg(file).arg(program);
                command
            }
            _ => Command::new(program),
        }
    }

    /// What is missing for it here and how to get it; `None` if nothing is.
    pub(crate) fn lacks(self, place: &Place) -> Option<String> {
        let lacking = |what: &str, package: &str| {
            Some(format!("{}: found no {what}; type: apt-get install {package}", self.name()))
        };
        let starts = |program: &str| works(Command::new(program).arg("--version"));
        match self {
            Self::Beside
                if !works(
                    Command::new("taskset").args(["-c", "0", "taskset", "-c", "1", "true"]),
                ) =>
            {
                Some(format!("{}: found no `taskset`, or not the cores 0 and 1", self.name()))
            }
            Self::Gcc | Self::Pg if !starts("g++") => lacking("g++", "g++"),
            Self::Uftrace if !starts("g++") || !starts("uftrace") => {
                lacking("uftrace with g++", "uftrace g++")
            }
            Self::Xray | Self::XrayNoop | Self::XrayBasic
                if !place.compiles("clang++-22", &["-fxray-instrument"]) =>
            {
                lacking("runtime of XRay for clang 22", "libclang-rt-22-dev")
            }
            Self::Perf if !starts("perf") => lacking("perf", "linux-perf"),
            Self::Perf if !works(self.run(place, Path::new("true"), "perf-try").arg("x")) => {
                Some(format!("{}: the kernel does not let it sample here", self.name()))
            }
            _ => None,
        }
    }
}

/// Those that can run here, and what the others lack.
pub(crate) fn present(place: &Place, tools: &[Tool]) -> (Vec<Tool>, Vec<String>) {
    let mut left_out = vec![];
    let found = tools.iter().copied().filter(|tool| {
        let lacks = tool.lacks(place);
        left_out.extend(lacks.clone());
        lacks.is_none()
    });
    (found.collect(), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_their_own_and_of_the_same_compiler() {
        for tool in Tool::ALL {
            assert_eq!(tool.base().base(), tool.base());
        }
        assert_eq!(Tool::Uftrace.base(), Tool::Gcc);
        assert_eq!(Tool::Hooks.base(), Tool::Plain);
    }
}
