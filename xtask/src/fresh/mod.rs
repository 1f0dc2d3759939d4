//! `fresh`: a command of this checkout in a new Debian root with nothing but make, git and the Rust toolchain.
//!
//! There, no package that was installed by hand hides a missing step of the set-up. The checkout is the one
//! outside. What is built lies in folders of the root's own, kept between runs beside the root itself; what
//! is written to `out/` is kept until the next run. The root is new each time, and removed at the end.

mod root;

use crate::Result;
use root::Fresh;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

/// Answers success where the command cannot run, for those that only want to know where it can.
const OPTIONAL: &str = "--optional";
/// What is started here, and the package that has it.
const NEEDS: [(&str, &str); 3] =
    [("mmdebstrap", "mmdebstrap"), ("unshare", "util-linux"), ("setpriv", "util-linux")];

/// `cargo xtask fresh [--optional] COMMAND…`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let (optional, command) = parse(args)?;
    if let Err(why) = place_for(command) {
        let why = format!("fresh did not run `{}`: {why}", command.join(" "));
        if !optional {
            return Err(why);
        }
        println!("{why}");
        return Ok(());
    }
    let fresh = Fresh::new(root)?;
    fresh.clear()?;
    let outcome = fresh.install().and_then(|()| fresh.enter(command));
    // Mounts were in a namespace that is gone, so that this meets nothing of ours.
    outcome.and(fresh.clear())
}

/// The flag, and the command that follows.
fn parse(args: &[String]) -> Result<(bool, &[String])> {
    let (optional, command) = match args {
        [flag, command @ ..] if flag == OPTIONAL => (true, command),
        command => (false, command),
    };
    match command.first() {
        Some(word) if !word.starts_with('-') => Ok((optional, command)),
        _ => Err(format!(
            "found {args:?}, wanted [{OPTIONAL}] and a command; type: cargo xtask fresh make test"
        )),
    }
}

/// An error with what to type where this machine or this user cannot do it.
fn place_for(command: &[String]) -> Result {
    for (program, package) in NEEDS {
        Command::new(program)
            .arg("--version")
            .output()
            .map_err(|_| format!("found no {program}; type: sudo apt-get install {package}"))?;
    }
    // The folder of this process belongs to the user that it runs as.
    let user = fs::metadata("/proc/self").map_err(|error| format!("/proc/self: {error}"))?.uid();
    match user {
        0 => Ok(()),
        _ => Err(format!(
            "only root may mount; type: sudo -E env \"PATH=$PATH\" cargo xtask fresh {}",
            command.join(" ")
        )),
    }
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
        assert_eq!(parse(&words("--optional make -j2")), Ok((true, &words("make -j2")[..])));
        for wrong in ["", "--optional", "--keep make"] {
            assert!(parse(&words(wrong)).unwrap_err().contains("cargo xtask fresh make test"));
        }
    }
}
