//! Knobs that a program is started with.

use tailwater_core::Nanos as _;
use tailwater_core::duration::parse_duration;
use tailwater_core::pace::Scheduling;
use tailwater_core::words::clip;

/// The value of such a knob that leaves it as the program would have it anyway.
pub const INHERITED: &str = "inherited";

/// CPUs that a list may name.
const CPUS_MAX: usize = 1_024;

/// What is done to the process before the program runs in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launch {
    /// Its nice value.
    Nice,
    /// The scheduling class of its threads, with a priority where it has one: [`Scheduling`].
    Scheduling,
    /// The CPUs that it may run on, as `0-1,3`.
    Cpus,
    /// How late its timers may be, as a duration.
    TimerSlack,
    /// No huge pages, whatever the kernel's setting.
    NoHugePages,
    /// An allocator that is loaded before all other libraries: names, and names of the library's file.
    Preload(&'static [(&'static str, &'static [&'static str])]),
    /// An environment variable that holds a number.
    Variable {
        /// Its name.
        name: &'static str,
        /// The smallest value.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// A tunable of the C library, which share the variable `GLIBC_TUNABLES`.
    Tunable {
        /// Its name.
        name: &'static str,
        /// The smallest value.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// An environment variable that is there or not.
    Flag {
        /// Its name.
        name: &'static str,
        /// The knob's word for it.
        word: &'static str,
    },
}

impl Launch {
    /// The value that is meant by what a person says, where it is allowed.
    ///
    /// # Errors
    /// Says what was found and what is needed.
    pub fn parse(self, said: &str) -> Result<String, String> {
        let said = said.trim();
        if said == INHERITED {
            return Ok(INHERITED.into());
        }
        let within = |(low, high): (u64, u64)| {
            said.parse().ok().filter(|n: &u64| (low..=high).contains(n)).map(|n| n.to_string())
        };
        let word = |word: &str| (said == word).then(|| word.to_owned());
        let value = match self {
            Self::Nice => {
                said.parse().ok().filter(|n| (-20..=19).contains(n)).map(|n: i32| n.to_string())
            }
            Self::Scheduling => {
                // What has the usual class has it anyway: no words are needed for that.
                let class = said.parse::<Scheduling>().ok();
                let class = class.filter(|class| *class != Scheduling::Normal);
                class.map(|class| class.to_string())
            }
            Self::Cpus => cpus(said).map(|_| said.to_owned()),
            Self::TimerSlack => {
                let time = parse_duration(said)
                    .ok()
                    .filter(|time| (1..=1_000_000_000).contains(&time.nanos()));
                time.map(|_| said.to_owned())
            }
            Self::NoHugePages => word("never"),
            Self::Preload(known) => known.iter().find_map(|(name, _)| word(name)),
            Self::Variable { low, high, .. } | Self::Tunable { low, high, .. } => {
                within((low, high))
            }
            Self::Flag { word: name, .. } => word(name),
        };
        value.ok_or_else(|| format!("'{}' found, {} is needed", clip(said), self.allowed()))
    }

    /// What may be given, for people.
    #[must_use]
    pub fn allowed(self) -> String {
        let rest = match self {
            Self::Nice => "-20–19".into(),
            Self::Scheduling => "batch|idle|fifo:1–99|rr:1–99".into(),
            Self::Cpus => "CPUs such as 0-1,3".into(),
            Self::TimerSlack => "1ns–1s".into(),
            Self::NoHugePages => "never".into(),
            Self::Preload(known) => {
                known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("|")
            }
            Self::Variable { low, high, .. } | Self::Tunable { low, high, .. } => {
                format!("{low}–{high}")
            }
            Self::Flag { word, .. } => word.into(),
        };
        format!("{INHERITED}|{rest}")
    }

    /// The environment variable that a value comes to, with its text; several knobs may share one variable, whose texts
    /// are then joined by `:`. `None` for what is no variable.
    #[must_use]
    pub fn variable(self, value: &str) -> Option<(&'static str, String)> {
        match self {
            Self::Variable { name, .. } => Some((name, value.to_owned())),
            Self::Tunable { name, .. } => Some(("GLIBC_TUNABLES", format!("{name}={value}"))),
            Self::Flag { name, .. } => Some((name, "1".into())),
            _ => None,
        }
    }
}

/// The CPUs of a list such as `0-1,3`, at least one.
#[must_use]
pub fn cpus(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= CPUS_MAX {
            return None;
        }
        all.extend(first..=last);
    }
    (all.len() <= CPUS_MAX).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_to_their_limits_and_say_them() {
        assert_eq!(Launch::Nice.parse(" -5"), Ok("-5".into()));
        assert!(Launch::Nice.parse("20").unwrap_err().contains("-20–19"));
        for class in ["batch", "idle", "fifo:1", "rr:99"] {
            assert_eq!(Launch::Scheduling.parse(class), Ok(class.into()));
        }
        for wrong in ["normal", "fifo", "rr:0", "deadline"] {
            let error = Launch::Scheduling.parse(wrong).unwrap_err();
            assert!(error.contains("batch|idle|fifo:1–99|rr:1–99 is needed"), "{error}");
        }
        let arenas = Launch::Variable { name: "MALLOC_ARENA_MAX", low: 1, high: 1_024 };
        assert_eq!(arenas.parse("2"), Ok("2".into()));
        assert!(arenas.parse("0").is_err());
        assert_eq!(Launch::TimerSlack.parse("1us"), Ok("1us".into()));
        assert!(Launch::TimerSlack.parse("2s").is_err() && Launch::TimerSlack.parse("5").is_err());
        for launch in [Launch::Nice, Launch::Cpus, Launch::NoHugePages, arenas] {
            assert_eq!(launch.parse(INHERITED), Ok(INHERITED.into()));
        }
    }

    #[test]
    fn lists_of_cpus_are_bounded() {
        assert_eq!(cpus("0-1,3"), Some(vec![0, 1, 3]));
        for wrong in ["", "1-0", "0-", "a", "0-99999", "4096"] {
            assert_eq!(cpus(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn tunables_name_themselves_within_their_variable() {
        let tunable = Launch::Tunable { name: "glibc.malloc.hugetlb", low: 0, high: 2 };
        let expected = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1".to_owned());
        assert_eq!(tunable.variable("1"), Some(expected));
        assert_eq!(Launch::Nice.variable("1"), None);
    }
}
