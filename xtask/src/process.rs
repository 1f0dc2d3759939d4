//! Starting other programs: cargo as it is, foreign commands under a time limit.

use crate::Result;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Asks whatever runs under it for a pass of seconds instead of minutes.
pub(crate) const SHORT: (&str, &str) = ("TAILWATER_SHORT", "1");

/// Asks the allocator of rustc, which is jemalloc, for huge pages. Each compiler touches its memory anew, and on a virtual
/// machine a page's first touch is dear. Where the kernel has none to give, this changes nothing.
pub(crate) const HUGE_PAGES: (&str, &str) = ("MALLOC_CONF", "thp:always");

/// A third of the weight of an ordinary process (sched(7)): beside what mostly waits, what that leaves and little more. Beside
/// two processes that are always busy, what computes for half a minute still ends within minutes.
const YIELDING: [&str; 3] = ["nice", "-n", "5"];

/// A cargo command in the repository's root, with the lock file as it is.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(cargo_program());
    command.current_dir(root).args(args).env(HUGE_PAGES.0, HUGE_PAGES.1);
    command
}

/// The cargo that started this program.
pub(crate) fn cargo_program() -> PathBuf {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into()
}

/// The same command at a lower priority: for what computes and never waits, beside others.
pub(crate) fn giving_way(command: &Command) -> Command {
    let [nice, how @ ..] = YIELDING;
    let mut lower = Command::new(nice);
    lower.args(how).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => lower.env(name, value),
            None => lower.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        lower.current_dir(folder);
    }
    lower
}

/// What names this program to those that it starts: `cargo xtask` would wait for a build that is under way.
pub(crate) fn xtask() -> Option<(&'static str, PathBuf)> {
    // Such a build may have put another in its place.
    let program = std::env::current_exe().ok().filter(|program| program.exists())?;
    Some(("TAILWATER_XTASK", program))
}

/// Runs a command to its end, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result {
    let shown = show(command);
    println!("$ {shown}");
    let status = command.status().map_err(|error| format!("could not start `{shown}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` ended with {status}")) }
}

/// Runs a command to its end, its output and its name going to the end of a file: for those that run beside others.
pub(crate) fn run_into(command: &mut Command, said: &fs::File) -> Result {
    let shown = show(command);
    let stream =
        || said.try_clone().map_err(|error| format!("could not share its output: {error}"));
    writeln!(stream()?, "$ {shown}")
        .map_err(|error| format!("could not keep its output: {error}"))?;
    command.stdin(Stdio::null()).stdout(stream()?).stderr(stream()?);
    let status = command.status().map_err(|error| format!("could not start `{shown}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` ended with {status}")) }
}

/// Runs a command to its end without naming it first: for those whose words fill pages.
pub(crate) fn run_quietly(command: &mut Command) -> Result {
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("could not start {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} ended with {status}")) }
}

/// What a short command says on its standard output.
pub(crate) fn said(root: &Path, program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).current_dir(root).output();
    let output = output.map_err(|error| format!("could not start {program}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Builds the release binary, which the documents, the benches and the demo share.
pub(crate) fn build_release(root: &Path) -> Result {
    run(&mut cargo(root, &["build", "--release", "--locked", "--package", "tailwater-cli"]))
}

/// Where cargo puts what it builds in `profile` (`debug` or `release`).
pub(crate) fn built(root: &Path, profile: &str) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join(profile)
}

/// `timeout`, which will end what it is told to start when its time is over, or when the thread that starts it is gone. A signal
/// to us alone would leave that to compute beside whatever is measured next.
pub(crate) fn timeout() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "timeout"]);
    command
}

/// A command that runs in a process group of its own, without input. It is ended with all its children after `limit`,
/// or when the thread that starts it is gone.
pub(crate) fn limited(root: &Path, limit: Duration, program: &Path) -> Command {
    let mut command = timeout();
    command.args(["--kill-after=5", &limit.as_secs().max(1).to_string()]);
    command.arg(program).current_dir(root).stdin(Stdio::null());
    command
}

/// Waits for a [`limited`] command, then ends what it left in the background.
pub(crate) fn finish(mut child: Child, limit: Duration) -> Result {
    let status = child.wait().map_err(|error| format!("could not wait for it: {error}"))?;
    end_group(&child);
    match status.code() {
        Some(0) => Ok(()),
        Some(124 | 137) => Err(format!("was still running after its limit of {limit:?}")),
        _ => Err(format!("ended with {status}")),
    }
}

/// Ends a [`limited`] command and whatever it started. `timeout` leads the group, so the child's id
/// names it; a group that is empty already is no error.
pub(crate) fn end_group(child: &Child) {
    let script = format!("kill -KILL -{} 2>/dev/null", child.id());
    // The shell's own `kill` is used because the program of that name is not everywhere; a failure
    // means that nothing was left to end.
    let _ = Command::new("sh").args(["-c", &script]).status();
}

/// The command as one would type it, the program without its folder.
fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let args = command.get_args().map(std::ffi::OsStr::to_string_lossy);
    let words = std::iter::once(program.to_string_lossy()).chain(args);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result {
        let mut command = limited(Path::new("."), limit, Path::new("sh"));
        finish(command.args(["-c", script]).spawn().unwrap(), limit)
    }

    #[test]
    fn failures_and_overruns_are_told_apart() {
        assert_eq!(shell("exit 0", Duration::from_secs(60)), Ok(()));
        assert!(shell("exit 3", Duration::from_secs(60)).unwrap_err().contains('3'));
        let endless = shell("while :; do :; done", Duration::from_secs(1)).unwrap_err();
        assert!(endless.contains("limit of 1s"), "{endless}");
    }

    #[test]
    fn what_is_started_ends_with_what_started_it() {
        let limit = Duration::from_secs(60);
        let start = move || {
            let mut command = limited(Path::new("."), limit, Path::new("sh"));
            command.args(["-c", "echo; exec sleep 30"]).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            // It has begun.
            let mut line = [0];
            std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut line).unwrap();
            child
        };
        let child = std::thread::spawn(start).join().unwrap();
        assert!(finish(child, limit).is_err(), "it slept to its end");
    }

    #[test]
    fn what_is_started_is_told_of_this_program() {
        let (_, program) = xtask().expect("it runs");
        assert!(program.is_absolute() && program.is_file(), "{}", program.display());
    }

    /// Or rustc would ignore what is set for it. A distribution's own may have another allocator, which loses nothing.
    #[test]
    fn a_rustc_with_jemalloc_reads_how_that_is_set() {
        let sysroot = said(Path::new("."), "rustc", &["--print", "sysroot"]).unwrap();
        let program = fs::read(Path::new(&sysroot).join("bin/rustc")).unwrap();
        let has = |words: &str| program.windows(words.len()).any(|part| part == words.as_bytes());
        if has("<jemalloc>") {
            assert!(has(&format!("\0{}\0", HUGE_PAGES.0)));
        }
    }

    #[test]
    fn both_streams_are_kept_in_order_below_the_command() {
        let path = std::env::temp_dir().join(format!("xtask-said-{}", std::process::id()));
        let said = fs::File::create(&path).unwrap();
        let ran = run_into(Command::new("sh").args(["-c", "echo a; echo b >&2; exit 4"]), &said);
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(ran.unwrap_err().contains('4'));
        assert_eq!(text, "$ sh -c echo a; echo b >&2; exit 4\na\nb\n");
    }

    #[test]
    fn what_is_left_in_the_background_is_ended() {
        let limit = Duration::from_secs(60);
        let mut command = limited(Path::new("."), limit, Path::new("sh"));
        command.args(["-c", "(sleep 5; echo left) &"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        finish(child, limit).unwrap();
        // A process that still lives holds the pipe open, and would write to it.
        let mut said = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut said).unwrap();
        assert_eq!(said, "");
    }
}
