//! `fresh`: a command of this checkout in a new Debian root with nothing but make, git and the Rust toolchain.
//!
//! There, no package that was installed by hand hides a missing step of the set-up. The checkout is the one
//! outside. What is built lies in folders of the root's own, kept between runs beside the root itself; what
//! is written to `out/` is kept until the next run. The root is new each time, and removed at the end.
//! CI runs so, too, and goes on without such a root where none can be had.

mod root;

use crate::process::built;
use crate::{Result, process};
use root::Fresh;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Runs the command in this root where a new one cannot be had: CI has to tell of the checkout in any case.
const OR_HERE: &str = "--or-here";
/// What is started here, and the package that has it.
const NEEDS: [&str; 3] = ["mmdebstrap=mmdebstrap", "unshare=util-linux", "setpriv=util-linux"];

/// `cargo xtask fresh [--or-here] COMMAND…`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let (or_here, command) = parse(args)?;
    // To the end: the root is one folder, which the next run clears.
    let _lock = lock(&built(root, "fresh"))?;
    let fresh = match prepare(root, command) {
        Ok(fresh) => fresh,
        Err(why) if or_here => return here(root, command, &why),
        Err(why) => return Err(format!("fresh did not run `{}`: {why}", command.join(" "))),
    };
    let outcome = fresh.enter(command);
    // Mounts were in a namespace that is gone, so that this meets nothing of ours.
    outcome.and(fresh.clear())
}

/// The flag, and the command that follows.
fn parse(args: &[String]) -> Result<(bool, &[String])> {
    let (or_here, command) = match args {
        [flag, command @ ..] if flag == OR_HERE => (true, command),
        command => (false, command),
    };
    match command.first() {
        Some(word) if !word.starts_with('-') => Ok((or_here, command)),
        _ => Err(format!(
            "found {args:?}, wanted [{OR_HERE}] and a command; type: cargo xtask fresh make test"
        )),
    }
}

/// Held while the file is open; the kernel frees it when a run is killed.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let file = File::create(&path).map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(format!(
            "another fresh run is under way, which holds {}; wait for its end",
            path.display()
        )),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

/// A new root in which a command ran already: then this machine lets us mount, and the command's own failure is its
/// own.
fn prepare(root: &Path, command: &[String]) -> Result<Fresh> {
    place_for(root, command)?;
    let fresh = Fresh::new(root)?;
    fresh.clear()?;
    let start = Instant::now();
    let installed = fresh.install().and_then(|()| fresh.enter(&["true".to_owned()]));
    if let Err(why) = installed {
        fresh.clear()?;
        return Err(why);
    }
    println!("fresh: the root stands after {:.0} s", start.elapsed().as_secs_f64());
    Ok(fresh)
}

fn here(root: &Path, command: &[String], why: &str) -> Result {
    let shown = command.join(" ");
    println!("fresh: `{shown}` runs in no fresh root but here, with what is installed here: {why}");
    let (program, words) = command.split_first().ok_or("found no command")?;
    process::run_quietly(Command::new(program).args(words).current_dir(root))
}

/// An error with what to type where this machine or this user cannot do it.
fn place_for(root: &Path, command: &[String]) -> Result {
    // The folder of this process belongs to the user that it runs as.
    let user = fs::metadata("/proc/self").map_err(|error| format!("/proc/self: {error}"))?.uid();
    if user != 0 {
        return Err(format!(
            "only root may mount; type: sudo -E env \"PATH=$PATH\" cargo xtask fresh {}",
            command.join(" ")
        ));
    }
    let mut setup = Command::new("sh");
    process::run_quietly(setup.arg("xtask/setup.sh").args(NEEDS).current_dir(root))
        .map_err(|why| format!("what makes the root could not be installed: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_command_may_follow_the_flag() {
        assert_eq!(parse(&words("make test")), Ok((false, &words("make test")[..])));
        assert_eq!(parse(&words("--or-here make -j2")), Ok((true, &words("make -j2")[..])));
        for wrong in ["", "--or-here", "--keep make"] {
            assert!(parse(&words(wrong)).unwrap_err().contains("cargo xtask fresh make test"));
        }
    }

    #[test]
    fn two_fresh_runs_do_not_share_a_root() {
        let folder = std::env::temp_dir().join(format!("tailwater-fresh-{}", std::process::id()));
        let first = lock(&folder).unwrap();
        assert!(lock(&folder).unwrap_err().contains("another fresh run is under way"));
        drop(first);
        assert!(lock(&folder).is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn where_no_root_can_be_had_the_command_runs_here_and_its_failure_counts() {
        let root = crate::root().unwrap();
        assert_eq!(here(&root, &words("test -e xtask/setup.sh"), "no rights"), Ok(()));
        assert!(here(&root, &words("test -e nothing"), "no rights").is_err());
    }
}
