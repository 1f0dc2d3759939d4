//! Other programs: run to their end, with what they said.

use std::process::{Command, Stdio};

/// Standard output of a command that must end well.
///
/// # Errors
/// Where it does not; what it said goes into the error.
pub fn output(command: &mut Command) -> Result<String, String> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("could not start {}: {error}", shown(command)))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let last: Vec<&str> = said.lines().rev().take(8).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!("{} ended with {}:\n{}", shown(command), done.status, last.join("\n")))
}

/// Whether it starts and ends well. What it says goes nowhere.
pub fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A program of others, without which a bench measures nothing.
#[derive(Clone, Copy, Debug)]
pub struct Needed {
    /// What people call it.
    pub name: &'static str,
    /// A command that ends well where it is there.
    pub probe: &'static [&'static str],
    /// The package of Debian that has it.
    pub package: &'static str,
}

/// What the profiler's pass is built of, and programs by it. `make pass` installs it.
pub const OF_PASS: [Needed; 4] = [
    Needed { name: "clang++-22", probe: &["clang++-22", "--version"], package: "clang-22" },
    Needed { name: "ld.lld-22", probe: &["ld.lld-22", "--version"], package: "lld-22" },
    Needed {
        name: "llvm-config-22",
        probe: &["llvm-config-22", "--version"],
        package: "llvm-22-dev",
    },
    Needed {
        name: "llvm-objcopy-22",
        probe: &["llvm-objcopy-22", "--version"],
        package: "llvm-22",
    },
];

/// What memcached is made of, from the sources of its package.
pub const OF_MEMCACHED: [Needed; 2] = [
    Needed { name: "dpkg-source", probe: &["dpkg-source", "--version"], package: "dpkg-dev" },
    Needed {
        name: "event.h",
        probe: &["sh", "-c", "echo '#include <event.h>' | cc -E -"],
        package: "libevent-dev",
    },
];

/// Looks for all of them, so that none is found missing after minutes of work.
///
/// # Errors
/// Names those that are missing, with what to type.
pub fn look_for(needed: &[Needed]) -> Result<(), String> {
    let is_missing = |it: &&Needed| !works(Command::new(it.probe[0]).args(&it.probe[1..]));
    let missing: Vec<&Needed> = needed.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let joined = |of: fn(&Needed) -> &'static str, by: &str| {
        missing.iter().map(|it| of(it)).collect::<Vec<_>>().join(by)
    };
    let (names, packages) = (joined(|it| it.name, ", "), joined(|it| it.package, " "));
    Err(format!("found no {names}; type: apt-get install {packages}"))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_command_and_the_end_of_what_it_said() {
        let shell = |script: &str| output(Command::new("sh").args(["-c", script]));
        assert_eq!(shell("echo a; echo b >&2").as_deref(), Ok("a\n"));
        let error = shell("seq 20 >&2; exit 3").unwrap_err();
        assert!(error.starts_with("sh -c seq 20") && error.contains('3'), "{error}");
        assert!(error.ends_with("\n13\n14\n15\n16\n17\n18\n19\n20"), "{error}");
        let missing = output(&mut Command::new("/nowhere/x")).unwrap_err();
        assert!(missing.starts_with("could not start /nowhere/x: "), "{missing}");
        assert!(works(&mut Command::new("true")) && !works(&mut Command::new("false")));
    }

    #[test]
    fn the_makefile_installs_what_is_needed() {
        let makefile = include_str!("../../../Makefile");
        for it in OF_PASS.iter().chain(&OF_MEMCACHED) {
            assert!(makefile.contains(&format!("={}", it.package)), "{it:?}");
        }
    }

    /// Each was found missing when it was its turn, the last after a recording of minutes.
    #[test]
    fn all_that_is_missing_is_named_at_once_with_what_to_type() {
        let program = |name, probe, package| Needed { name, probe, package };
        let there = program("a shell", &["sh", "-c", "exit 0"], "dash");
        let none = program("npm", &["/nowhere/npm", "--version"], "npm");
        let part = program("Python's venv", &["sh", "-c", "exit 1"], "python3-venv");
        assert_eq!(look_for(&[there]), Ok(()));
        assert_eq!(
            look_for(&[none, there, part]).unwrap_err(),
            "found no npm, Python's venv; type: apt-get install npm python3-venv"
        );
    }
}
