//! What is counted of a thread while it is in a call.

use std::fmt;
use std::str::FromStr;

/// Counters at most that are read of one call.
pub const COUNTERS_MAX: usize = 4;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Counter {
    /// Time on a core, in nanoseconds: what the call took beyond it, its thread was off.
    Cpu = 0,
    /// Page faults that needed no disk.
    Faults = 1,
    /// Page faults that had to wait for a disk.
    MajorFaults = 2,
    /// Times that the thread left its core by itself, to wait.
    Switches = 3,
    /// Times that its core was taken from it.
    Preemptions = 4,
    /// Cycles of the core in the program's own code. Like all below, of the processor's counters.
    Cycles = 5,
    /// Instructions that the core completed there.
    Instructions = 6,
    /// Accesses that missed the last cache.
    CacheMisses = 7,
    /// Branches that the core predicted wrongly.
    BranchMisses = 8,
}

impl Counter {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Cpu,
        Self::Faults,
        Self::MajorFaults,
        Self::Switches,
        Self::Preemptions,
        Self::Cycles,
        Self::Instructions,
        Self::CacheMisses,
        Self::BranchMisses,
    ];

    /// What it is called, as `tailwater profile record --counters` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Faults => "faults",
            Self::MajorFaults => "major-faults",
            Self::Switches => "switches",
            Self::Preemptions => "preemptions",
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::CacheMisses => "cache-misses",
            Self::BranchMisses => "branch-misses",
        }
    }

    /// The counter of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Some counters, as bits by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counters(u16);

impl Counters {
    /// Those of a mask; `None`: one of them is none, or they are more than [`COUNTERS_MAX`].
    #[must_use]
    pub const fn of_mask(mask: u16) -> Option<Self> {
        let is_known = mask >> Counter::ALL.len() == 0;
        if is_known && mask.count_ones() as usize <= COUNTERS_MAX { Some(Self(mask)) } else { None }
    }

    /// As bits.
    #[must_use]
    pub const fn mask(self) -> u16 {
        self.0
    }

    /// None at all.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it is among them.
    #[must_use]
    pub const fn has(self, counter: Counter) -> bool {
        self.0 & 1 << counter as u8 != 0
    }

    /// Those that the processor counts.
    #[must_use]
    pub const fn of_processor(self) -> Self {
        Self(self.0 & (u16::MAX << Counter::Cycles as u8))
    }

    /// Those that are not among `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// These and `others`, of one set that has both.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Each, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Counter> {
        Counter::ALL.into_iter().filter(move |one| self.has(*one))
    }
}

/// What a list of counters should have been.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CountersError {
    /// No counter is called so.
    Unknown(String),
    /// They are more than [`COUNTERS_MAX`].
    TooMany,
}

impl fmt::Display for CountersError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                let known = Counter::ALL.map(Counter::name).join(", ");
                write!(out, "'{name}' found; counters are {known}")
            }
            Self::TooMany => write!(
                out,
                "more than {COUNTERS_MAX} counters found, which are read of a call at most"
            ),
        }
    }
}

impl std::error::Error for CountersError {}

impl FromStr for Counters {
    type Err = CountersError;

    /// Names with commas between.
    fn from_str(list: &str) -> Result<Self, CountersError> {
        let mut mask = 0;
        for name in list.split(',') {
            let counter =
                Counter::named(name).ok_or_else(|| CountersError::Unknown(name.to_owned()))?;
            mask |= 1 << counter as u8;
        }
        Self::of_mask(mask).ok_or(CountersError::TooMany)
    }
}

/// How much each of some counters counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    of: Counters,
    /// In the order of the counters' numbers; zero beyond.
    values: [u64; COUNTERS_MAX],
}

impl Counts {
    /// What `value` says of each.
    #[must_use]
    pub fn new(of: Counters, mut value: impl FnMut(Counter) -> u64) -> Self {
        let mut values = [0; COUNTERS_MAX];
        values.iter_mut().zip(of.iter()).for_each(|(to, counter)| *to = value(counter));
        Self { of, values }
    }

    /// What `value` says of each, without those of which it says nothing.
    #[must_use]
    pub fn of_known(wanted: Counters, value: impl Fn(Counter) -> Option<u64>) -> Self {
        let known = wanted.iter().filter(|one| value(*one).is_some());
        let of = Counters(known.fold(0, |mask, one| mask | 1 << one as u8));
        Self::new(of, |one| value(one).unwrap_or(0))
    }

    /// Which were counted.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.of
    }

    /// By counter, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        self.of.iter().zip(self.values)
    }

    /// How much has come since `before`, of what both have counted. One that counts less than before has begun anew, and is left out.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let at = |counts: &Self, wanted| counts.iter().find(|(one, _)| *one == wanted);
        let value = |counts, wanted| at(counts, wanted).map(|(_, value)| value);
        let of = Counters(self.of.0 & before.of.0);
        Self::of_known(of, |one| value(self, one)?.checked_sub(value(before, one)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_known_by_name_and_number_and_are_four_at_most() {
        for (number, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!((counter as usize, Counter::named(counter.name())), (number, Some(counter)));
        }
        assert_eq!(Counter::named("clouds"), None);
        assert!(Counters::of_mask(0b1111).is_some() && Counters::of_mask(0b1_1111).is_none());
        assert_eq!(Counters::of_mask(1 << 9), None);
        let some = Counters::of_mask(1 << 1 | 1 << 7).expect("two");
        assert_eq!(some.iter().map(Counter::name).collect::<Vec<_>>(), ["faults", "cache-misses"]);
        assert_eq!(some.of_processor().mask(), 1 << 7);
    }

    #[test]
    fn lists_have_names_that_are_known_and_four_at_most() {
        let some: Counters = "cpu,cache-misses,cpu".parse().expect("two");
        assert!(
            some.has(Counter::Cpu) && some.has(Counter::CacheMisses) && some.iter().count() == 2
        );
        let refused = |list: &str| list.parse::<Counters>().expect_err("no list").to_string();
        assert!(refused("cpu,clouds").contains("'clouds' found; counters are cpu, faults"));
        assert!(refused("").contains("'' found"));
        assert!(refused("cpu,faults,switches,preemptions,cycles").contains("more than 4"));
    }

    #[test]
    fn a_difference_is_of_what_both_readings_have() {
        let of = |mask| Counters::of_mask(mask).expect("counters");
        let before = Counts::new(of(0b10_0011), |one| one as u64 + 100);
        let after = Counts::new(of(0b110_0001), |one| one as u64 * 2 + 100);
        let told: Vec<_> = after.since(&before).iter().collect();
        assert_eq!(told, [(Counter::Cpu, 0), (Counter::Cycles, 5)]);
        assert!(after.since(&Counts::default()).counters().is_empty());
        let anew = Counts::new(of(1), |_| 99).since(&before);
        assert!(anew.counters().is_empty(), "less than before");
    }
}
