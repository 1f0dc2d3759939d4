//! Whether most runs so far do not count. That is told early and once, since more of the same may be of no use.
//!
//! Nothing here decides which runs count. It repeats what the rules say, and looks at no result.

use std::collections::BTreeMap;
use tailwater_stats::result::Run;
use tailwater_stats::{Rules, Subject, breaches};

/// So many runs tell, wherever in a round they end.
const RUNS_MIN: u64 = 10;
/// At the end of a round fewer tell; a single one may be chance.
const RUNS_OF_ROUND_MIN: u64 = 2;

/// More than half of the runs so far do not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spoiled {
    /// Runs that do not count; at least two.
    pub runs: u64,
    /// Runs that have ended, those that count among them.
    pub ended: u64,
    /// What the rule looks at that most of `runs` break; `None` where something broke instead.
    pub subject: Option<Subject>,
    /// How many of `runs` do.
    pub alike: u64,
    /// The rule's sentence for the last of these, with its reading and limit.
    pub why: String,
}

/// Runs that have ended, and why some of them do not count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    all: u64,
    spoiled: u64,
    /// How many runs, and the sentence of the last.
    reasons: BTreeMap<Option<Subject>, (u64, String)>,
}

impl Ended {
    /// A run ended, perhaps with trouble, which is no matter of rules.
    pub(crate) fn add(&mut self, run: &Run, rules: &Rules, trouble: Option<&str>) {
        let broken = breaches(run, rules).into_iter().map(|it| (Some(it.subject), it.said));
        // Several tiers may break the same rule: the run counts once for it.
        let each: BTreeMap<Option<Subject>, String> =
            broken.chain(trouble.map(|why| (None, why.to_owned()))).collect();
        self.all += 1;
        self.spoiled += u64::from(!each.is_empty());
        for (subject, said) in each {
            let (count, last) = self.reasons.entry(subject).or_default();
            *count += 1;
            *last = said;
        }
    }

    /// What there is to tell, at the end of a round or within it; `None` where half of them count, or too few have ended.
    pub(crate) fn spoiled(&self, is_round_over: bool) -> Option<Spoiled> {
        let least = if is_round_over { RUNS_OF_ROUND_MIN } else { RUNS_MIN };
        if self.all < least || 2 * self.spoiled <= self.all {
            return None;
        }
        // Of equals the first, and what broke before all rules.
        let all = self.reasons.iter().rev();
        let (subject, (alike, why)) = all.max_by_key(|(_, (count, _))| *count)?;
        Some(Spoiled {
            runs: self.spoiled,
            ended: self.all,
            subject: *subject,
            alike: *alike,
            why: why.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{
        AskedRun, Fates, LatencyReading, Noise, Rates, RefusalReading, Yardstick,
    };

    fn quiet() -> Run {
        let fates = Fates { ok: 100, ..Fates::default() };
        Run { asked: AskedRun { slo_us: 400.0, ..AskedRun::default() }, fates, ..Run::default() }
    }

    fn stolen() -> Run {
        Run { noise: Noise { steal_ratio: 0.5, ..Noise::default() }, ..quiet() }
    }

    fn drifted() -> Run {
        Run { yardstick: Yardstick { capacity_drift: 0.3, ..quiet().yardstick }, ..quiet() }
    }

    fn ended(runs: &[Run]) -> Ended {
        let mut ended = Ended::default();
        runs.iter().for_each(|run| ended.add(run, &Rules::default(), None));
        ended
    }

    /// So many that count and so many that do not.
    fn of(good: usize, bad: usize) -> Ended {
        ended(&[vec![quiet(); good], vec![stolen(); bad]].concat())
    }

    #[test]
    fn more_than_half_of_enough_runs_must_be_spoiled() {
        let told = |good, bad| [false, true].map(|over| of(good, bad).spoiled(over).is_some());
        assert_eq!(told(0, 0), [false, false]);
        assert_eq!(told(0, 1), [false, false], "one is chance");
        assert_eq!(told(0, 2), [false, true]);
        assert_eq!(told(0, 9), [false, true]);
        assert_eq!(told(0, 10), [true, true]);
        assert_eq!(told(5, 5), [false, false], "half of them count");
        assert_eq!(told(5, 6), [true, true]);
        assert_eq!(told(100, 0), [false, false]);
    }

    #[test]
    fn the_most_frequent_reason_is_told_with_its_last_reading() {
        let last =
            Run { yardstick: Yardstick { capacity_drift: 0.4, ..quiet().yardstick }, ..quiet() };
        let found = ended(&[stolen(), drifted(), quiet(), last]).spoiled(true);
        let wanted = Spoiled {
            runs: 3,
            ended: 4,
            subject: Some(Subject::Drift),
            alike: 2,
            why: "capacity changed by 40.0 % around it, above 20.0 %".into(),
        };
        assert_eq!(found, Some(wanted));
    }

    #[test]
    fn trouble_spoils_a_run_that_breaks_no_rule() {
        let mut all = ended(&[stolen()]);
        all.add(&quiet(), &Rules::default(), Some("a tier died"));
        let found = all.spoiled(true).expect("both are spoiled");
        assert_eq!((found.runs, found.alike, found.subject), (2, 1, None));
        assert_eq!(found.why, "a tier died");
    }

    #[test]
    fn results_never_decide() {
        let poor = Run {
            rates: Rates { goodput_rps: 0.0, ..quiet().rates },
            latency: LatencyReading { p99_us: 1e9, ..quiet().latency },
            refusals: RefusalReading { drop_ratio: 1.0, ..quiet().refusals },
            ..quiet()
        };
        assert_eq!(ended(&vec![poor; 20]).spoiled(true), None);
    }
}
