//! What the tests of recorded programs share: the tools, built once, and a trace, taken apart.

// Each test program uses a part of it.
#![allow(dead_code)]

pub(crate) mod neighbours;
pub(crate) mod served;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tailwater_profile::record::{Call, Gap, Loss, LossKind, Mark, Record};
use tailwater_profile::trace::{Ending, Reader, TraceError, Trouble};

/// The compilers, the runtime and the command, built once for all tests. `cargo xtask test` names the command that it
/// has built: cargo would build all of it again, for the features of one package alone.
pub(crate) struct Tools {
    root: PathBuf,
    home: PathBuf,
    pub(crate) tailwater: PathBuf,
}

pub(crate) fn tools() -> &'static Tools {
    static TOOLS: OnceLock<Tools> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let root = root.canonicalize().expect("the repository");
        let cargo = |line: &str| {
            let mut cargo = Command::new(env!("CARGO"));
            text(&succeeds(cargo.current_dir(&root).args(line.split(' '))).stdout)
        };
        let said = cargo("run --quiet --locked --package xtask -- pass");
        let home = root.join(said.lines().next_back().expect("the last line names the folder"));
        let tailwater = std::env::var_os("TAILWATER_BINARY").map_or_else(
            || {
                cargo("build --quiet --locked --package tailwater-cli");
                home.with_file_name("debug").join("tailwater")
            },
            PathBuf::from,
        );
        Tools { root, home, tailwater }
    })
}

impl Tools {
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where plugin and runtime lie.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The sources of the programs, in C and C++.
    pub(crate) fn sources(&self) -> PathBuf {
        self.root.join("crates/profile-rt/tests/programs")
    }

    /// `tailwater profile build OPTIONS -- COMMAND`.
    pub(crate) fn build(&self, options: &[&str], command: &[&str]) -> Command {
        let mut build = Command::new(&self.tailwater);
        build.args(["profile", "build"]).args(options).arg("--").args(command);
        build.env("TAILWATER_PROFILE_HOME", &self.home);
        build
    }

    /// A source compiled and linked: `flags` go to the compiler that the variable names.
    pub(crate) fn compiled(&self, variable: &str, flags: &str, source: &str, to: &Path) -> PathBuf {
        let line = format!("${variable} -O2 -Wall -Werror -o $0 $1 {flags}");
        let mut build = self.build(&[], &["sh", "-c", &line]);
        succeeds(build.arg(to).arg(self.sources().join(source)));
        to.to_owned()
    }
}

/// An empty folder.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-record-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

pub(crate) fn succeeds(command: &mut Command) -> Output {
    let done = command.output().expect("it starts; `make setup-test` installs what is needed");
    let (said, complained) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{command:?} ended with {}\n{said}{complained}", done.status);
    done
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Only one test records at a time, of all programs of tests: the scanner wants a core beside the program's. The lock is gone
/// with the file, however the test ends.
pub(crate) fn alone() -> File {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording.lock");
    let file = File::options().create(true).append(true).open(place).expect("a file for the lock");
    file.lock().expect("a lock");
    file
}

/// `tailwater profile record` on a program, in a folder of its own.
pub(crate) fn record_program(folder: &Path, program: &Path) -> Command {
    record_with(folder, &[], program)
}

pub(crate) fn record_with(folder: &Path, options: &[&str], program: &Path) -> Command {
    let mut command = Command::new(&tools().tailwater);
    command.args(["profile", "record"]).args(options);
    command.arg("-o").arg(folder.join("x.trace")).arg("--").arg(program);
    // Cargo's leads libraries to another build of the runtime.
    command.env_remove("LD_LIBRARY_PATH");
    command
}

/// Does `work` in a thread that may run on one core only, as may all that it starts.
pub(crate) fn on_one_core<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let pinned = || {
        let allowed = sched_getaffinity(None).expect("the cores of this process");
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let mut one = CpuSet::new();
        one.set(cores.next().expect("a core"));
        sched_setaffinity(None, &one).expect("a core that is allowed");
        work()
    };
    std::thread::scope(|scope| scope.spawn(pinned).join()).expect("the work is done")
}

/// What the first try finds that finds anything, each with twice the effort of the last: where other work
/// has the cores, a scanner may not get to see a short program at all.
pub(crate) fn in_time<T>(effort: u64, mut attempt: impl FnMut(&str) -> Option<T>) -> T {
    let efforts = (0..8).map(|doubled| (effort << doubled).to_string());
    efforts.into_iter().find_map(|effort| attempt(&effort)).expect("found in one of eight tries")
}

/// What the first of three tries finds that finds anything, where a program ends otherwise than by `exit`. Such a program
/// waits for its trace for a second or so. Where other work has the cores or the disk for longer, the trace has no end, and
/// the try shows nothing.
pub(crate) fn in_three_tries<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    (0..3).find_map(|_| attempt()).expect("the trace has its end in one of three tries")
}

/// A trace, taken apart.
pub(crate) struct Recorded {
    pub(crate) names: HashMap<u32, String>,
    pub(crate) records: Vec<Record>,
    pub(crate) ending: Ending,
}

impl Recorded {
    pub(crate) fn read(path: &Path) -> Self {
        Self::take_apart(path).expect("no damage")
    }

    /// The same; `None` where what wrote it did not come to the end.
    pub(crate) fn whole(path: &Path) -> Option<Self> {
        match Self::take_apart(path) {
            Ok(recorded) => Some(recorded).filter(Self::is_finished),
            Err(error) if matches!(error.trouble, Trouble::Cut { .. }) => None,
            Err(error) => panic!("damage: {error}"),
        }
    }

    fn take_apart(path: &Path) -> Result<Self, TraceError> {
        let mut reader = Reader::new(File::open(path).expect("a trace")).expect("a header");
        let mut recorded = Self { names: HashMap::new(), records: Vec::new(), ending: Ending::Cut };
        for item in reader.by_ref() {
            let record = item?;
            if let Record::Function(function) = &record {
                recorded.names.insert(function.id.0, function.name.clone());
            }
            recorded.records.push(record);
        }
        recorded.ending = reader.ending();
        Ok(recorded)
    }

    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.ending, Ending::Finished(_))
    }

    pub(crate) fn calls<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Call> {
        self.records.iter().filter_map(move |record| match record {
            Record::Call(call) if self.names[&call.function.0] == name => Some(call),
            _ => None,
        })
    }

    pub(crate) fn lost(&self, kind: LossKind) -> u64 {
        let losses = self.records.iter().filter_map(|record| match record {
            Record::Loss(loss) if loss.kind == kind => Some(loss.count),
            _ => None,
        });
        losses.sum()
    }

    /// Calls that the scanner knew, and threw away since the output was behind.
    pub(crate) fn dropped(&self) -> u64 {
        let losses = self.records.iter().filter_map(|record| match record {
            Record::Loss(Loss { thread: None, kind: LossKind::Calls, count }) => Some(*count),
            _ => None,
        });
        losses.sum()
    }

    /// Ticks between looks that found out all frames of a thread, where these were so many apart or more.
    pub(crate) fn between_looks(&self, apart: u64) -> u64 {
        // A trace says no more than this of how far.
        let apart = apart.min(u64::from(u32::MAX));
        let looks = self.records.iter().filter_map(|record| match record {
            Record::Looks(looks) if u64::from(looks.within) >= apart => Some(looks.ticks),
            _ => None,
        });
        looks.sum()
    }

    /// The scanner's absences, by time.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        let gaps = self.records.iter().filter_map(|record| match record {
            Record::Gap(gap) => Some(*gap),
            _ => None,
        });
        let mut gaps: Vec<Gap> = gaps.collect();
        gaps.sort_unstable_by_key(|gap| gap.start);
        gaps
    }

    pub(crate) fn marks(&self) -> Vec<Mark> {
        let marks = self.records.iter().filter_map(|record| match record {
            Record::Mark(mark) => Some(*mark),
            _ => None,
        });
        marks.collect()
    }

    pub(crate) fn threads(&self) -> usize {
        self.records.iter().filter(|record| matches!(record, Record::Thread(_))).count()
    }
}

/// Runs it to its end, or for so long that it has none.
pub(crate) fn bounded(command: &Command) -> Output {
    let mut bounded = Command::new("timeout");
    bounded
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .args(["-k", "1", "100"])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    bounded.output().expect("timeout is there")
}
