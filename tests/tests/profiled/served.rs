//! A program that serves until it is asked to end, and recorders that attach to it.

use super::{folder, text, tools};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Ends a test that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = folder("attach-program");
        tools().compiled("CC", "-pthread", "served.c", &folder.join("served"))
    })
}

/// The program at work.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) asked: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Served {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(program());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).env_remove("LD_LIBRARY_PATH");
        let mut child = command.spawn().expect("it starts");
        let asked = child.stdin.take().expect("it is piped");
        let said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut served = Self { child, asked, said };
        served.goes_on();
        served
    }

    pub(crate) fn ask(&mut self, command: &str) -> String {
        writeln!(self.asked, "{command}").expect("it listens");
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it answers");
        line.trim_end().to_owned()
    }

    pub(crate) fn rounds(&mut self) -> u64 {
        self.ask("rounds").parse().expect("a number")
    }

    /// All its threads get on with their work.
    pub(crate) fn goes_on(&mut self) {
        self.goes_round(4);
    }

    /// Its threads have gone round so many times from now on.
    pub(crate) fn goes_round(&mut self, times: u64) {
        let (before, begun) = (self.rounds(), Instant::now());
        while self.rounds() < before + times {
            assert!(begun.elapsed() < PATIENCE, "no {times} rounds in {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// It is asked until it answers so.
    pub(crate) fn comes_to(&mut self, command: &str, answer: &str) {
        let begun = Instant::now();
        while self.ask(command) != answer {
            assert!(begun.elapsed() < PATIENCE, "{command}: no {answer} in {PATIENCE:?}");
            self.goes_on();
        }
    }

    pub(crate) fn attach(&self, trace: &Path, options: &[&str]) -> Command {
        attach(self.child.id(), trace, options)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `tailwater profile attach`, which is ended should it not end by itself.
pub(crate) fn attach(pid: u32, trace: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(&tools().tailwater);
    command.args(["profile", "attach", &pid.to_string()]).arg("-o").arg(trace).args(options);
    command.env("TAILWATER_PROFILE_HOME", tools().home()).env_remove("LD_LIBRARY_PATH");
    command
}

pub(crate) fn finishes(command: &mut Command) -> Output {
    let done = command.output().expect("it starts");
    assert!(done.status.success(), "{}: {}", done.status, text(&done.stderr));
    done
}
