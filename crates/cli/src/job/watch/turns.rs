//! What is watched, and when in the window.

use serde::{Deserialize, Serialize};
use tailwater_core::Instant;

/// A part of the watch: the servers pay for each event of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum Part {
    /// Softirqs.
    Softirqs,
    /// Switches and wakings, from which waits for a core come.
    Waits,
    /// System calls, counted.
    Calls,
}

/// What of the operating system is watched in a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Watching {
    #[default]
    Nothing,
    /// No event of the kernel: how latency is distributed is told, which costs the servers nothing.
    Latency,
    /// One part all the time: what that takes is told by runs with it and without it.
    One(Part),
    /// Each part for an eighth of the window, one behind the other; nothing in the rest.
    InTurn,
}

/// The time of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    pub(super) part: Part,
    pub(super) from: Instant,
    pub(super) to: Instant,
}

impl Part {
    /// Counters close slowly, by tens of milliseconds each: they come last.
    pub(crate) const ALL: [Self; 3] = [Self::Softirqs, Self::Waits, Self::Calls];

    /// What it tells, in a sentence that says that it is missing for a tier.
    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Softirqs => "softirqs",
            Self::Waits => "waits for a core",
            Self::Calls => "system calls",
        }
    }

    /// What it tells, in a sentence that says that it is missing.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Softirqs => "softirqs of each tier",
            Self::Waits => "waits for a core",
            Self::Calls => "system calls",
        }
    }
}

impl Watching {
    /// Whether it opens events of the kernel.
    pub(crate) const fn opens_events(self) -> bool {
        matches!(self, Self::One(_) | Self::InTurn)
    }

    /// The parts in their order, each in its time.
    pub(super) fn turns(self, from: Instant, to: Instant) -> Vec<Turn> {
        let (parts, shares): (&[Part], u32) = match &self {
            Self::Nothing | Self::Latency => (&[], 1),
            Self::One(part) => (std::slice::from_ref(part), 1),
            // With fifths two services paid 4.8 and 5.0 % (20 pairs each), and 5 % is all that the watch may cost.
            Self::InTurn => (&Part::ALL, 8),
        };
        let edge = |nth: u32| from + to.since(from) * nth / shares;
        let turn =
            |(nth, part): (u32, &Part)| Turn { part: *part, from: edge(nth), to: edge(nth + 1) };
        (0..).zip(parts).map(turn).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn parts_take_turns_of_an_eighth_and_alone_have_all() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let turns = Watching::InTurn.turns(at(10), at(90));
        let spans: Vec<_> = turns.iter().map(|it| (it.from, it.to)).collect();
        assert_eq!(spans, [(at(10), at(20)), (at(20), at(30)), (at(30), at(40))]);
        assert_eq!(turns.iter().map(|it| it.part).collect::<Vec<_>>(), Part::ALL);
        let alone = Watching::One(Part::Waits).turns(at(10), at(40));
        assert_eq!(alone, [Turn { part: Part::Waits, from: at(10), to: at(40) }]);
        for without in [Watching::Nothing, Watching::Latency] {
            let none = without.turns(at(0), at(0) + Duration::from_secs(1));
            assert!(none.is_empty() && !without.opens_events());
        }
    }
}
