//! The knobs that tuning may turn: what each means, which values it takes, and where it is set.
//!
//! Start with [`find`]. [`KERNEL`] are files below `/sys` and `/proc`, [`PROCESS`] what a program is started with.
//! [`REFUSED`] are those of the literature that are not set, each with a reason. Nothing but what is listed here is
//! ever written. Values of knobs are texts in the form that [`Form::parse`] and [`Launch::parse`] return.

mod form;
mod launch;

mod kernel;
mod process;
mod refused;

pub use form::Form;
pub use kernel::KERNEL;
pub use launch::{INHERITED, Launch, cpus};
pub use process::PROCESS;
pub use refused::{REFUSED, Refused};

use std::time::Duration;

/// One knob.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knob {
    /// How commands call it.
    pub name: &'static str,
    /// What it decides, for people.
    pub meaning: &'static str,
    /// How it is set.
    pub lever: Lever,
    /// What a new value holds for.
    pub holds_for: &'static str,
    /// What setting it takes.
    pub needs: &'static str,
    /// How long to wait after setting it, before anything is measured.
    pub settle: Duration,
}

/// How a knob is set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lever {
    /// A value in files, the same in each.
    Files {
        /// The path, in which `*` stands for a part of a name.
        pattern: &'static str,
        /// What the files say.
        form: Form,
        /// Why there may be no such file.
        absent: &'static str,
    },
    /// What a program is started with; it ends with the program.
    Launch(Launch),
}

/// Every knob that is set.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    KERNEL.iter().chain(&PROCESS)
}

/// The knob of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Knob> {
    all().find(|knob| knob.name == name)
}

/// Why a knob of this name is not set, where it is known.
#[must_use]
pub fn refused(name: &str) -> Option<&'static Refused> {
    REFUSED.iter().find(|refused| refused.name == name)
}

/// Whether a path is one of a pattern, in which `*` stands for letters, digits and signs but `/`.
#[must_use]
pub fn fits(pattern: &str, path: &str) -> bool {
    let (patterns, parts) = (pattern.split('/'), path.split('/'));
    patterns.clone().count() == parts.clone().count()
        && patterns.zip(parts).all(|(pattern, part)| part_fits(pattern, part))
}

/// The same for one name of a path.
#[must_use]
pub fn part_fits(pattern: &str, part: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == part,
        Some((before, after)) => {
            let inner = part.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            inner.is_some_and(|inner| !inner.is_empty() && inner != "." && inner != "..")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_differ_and_read_as_commands_need_them() {
        let names = || all().map(|knob| knob.name).chain(REFUSED.iter().map(|knob| knob.name));
        let distinct: BTreeSet<&str> = names().collect();
        assert_eq!(distinct.len(), names().count());
        for name in names() {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.chars().all(is_plain) && name.len() <= 24, "{name}");
        }
    }

    #[test]
    fn files_lie_below_sys_or_proc_and_settle_within_a_minute() {
        for knob in &KERNEL {
            let Lever::Files { pattern, absent, .. } = knob.lever else { panic!("{}", knob.name) };
            assert!(pattern.starts_with("/sys/") || pattern.starts_with("/proc/sys/"), "{pattern}");
            assert!(!pattern.contains("..") && absent.len() > 10, "{}", knob.name);
            assert!(knob.settle <= Duration::from_secs(60));
        }
    }

    #[test]
    fn a_pattern_takes_one_name_and_nothing_beyond() {
        let pattern = "/sys/policy*/governor";
        assert!(fits(pattern, "/sys/policy0/governor"));
        for path in ["/sys/policy/governor", "/sys/policy0/x/governor", "/sys/other0/governor"] {
            assert!(!fits(pattern, path), "{path}");
        }
        assert!(!fits("/sys/*/governor", "/sys/../governor"));
    }

    #[test]
    fn a_knob_is_found_by_its_name_or_refused_with_a_reason() {
        assert!(find("thp").is_some() && refused("thp").is_none());
        assert!(find("prefetchers").is_none());
        assert!(refused("prefetchers").is_some_and(|refused| refused.reason.contains("MSR")));
    }
}
