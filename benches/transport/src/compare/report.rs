//! All runs, and what they say together.

use super::cases::Peer;
use crate::drive::Outcome;
use machine::Origin;
use serde::{Deserialize, Serialize};
use tailwater_stats::result::Spread;

/// Everything that was measured, and where.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Whether the sizes were too small to mean anything.
    pub(crate) short: bool,
    /// Decided the order of the runs.
    pub(crate) seed: u64,
    /// Of raw and tailwater in the loaded cases.
    pub(crate) reception: String,
    /// Where, when and of what state of the checkout it was measured.
    #[serde(flatten)]
    pub(crate) origin: Origin,
    /// Why not all runs were made; `None` when they were.
    pub(crate) stopped: Option<String>,
    /// Every run in the order in which they were made, discarded ones included.
    pub(crate) rows: Vec<Row>,
}

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Name of the case.
    pub(crate) case: String,
    /// What served.
    pub(crate) peer: Peer,
    /// From 1.
    pub(crate) repetition: u32,
    /// The rule that set it aside and its reading; `None` for a run that stands.
    pub(crate) discarded: Option<String>,
    /// What the generator found.
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// A number of one run.
pub(super) type Of = fn(&Outcome) -> f64;

impl Report {
    /// Names of the cases, sorted: the runs come in an order of chance.
    pub(super) fn cases(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.case.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The runs that stand.
    pub(super) fn standing(&self, case: &str, peer: Peer) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(move |row| row.case == case && row.peer == peer && row.discarded.is_none())
    }

    /// A number over the repetitions; `None` without a run that stands.
    pub(super) fn spread(&self, case: &str, peer: Peer, of: Of) -> Option<Spread> {
        let values: Vec<f64> = self.standing(case, peer).map(|row| of(&row.outcome)).collect();
        (!values.is_empty()).then(|| Spread::of(&values))
    }

    /// The same number of `peer` over that of `unit`, repetition by repetition: what drifts in
    /// between does not count. `None` when no repetition has both.
    pub(super) fn ratio(&self, case: &str, peer: Peer, unit: Peer, of: Of) -> Option<Spread> {
        let units: Vec<&Row> = self.standing(case, unit).collect();
        let pairs = self.standing(case, peer).filter_map(|row| {
            let unit = units.iter().find(|unit| unit.repetition == row.repetition)?;
            Some(of(&row.outcome) / of(&unit.outcome))
        });
        let ratios: Vec<f64> = pairs.collect();
        (!ratios.is_empty()).then(|| Spread::of(&ratios))
    }

    /// # Errors
    /// When runs are missing, so that a script notices.
    pub(super) fn complete(&self) -> Result<(), String> {
        if let Some(why) = &self.stopped {
            return Err(format!("{why}; the report lacks what would have followed"));
        }
        let lacking =
            self.rows.iter().find(|row| self.standing(&row.case, row.peer).next().is_none());
        match lacking {
            Some(row) => Err(format!(
                "every run of {} in {} was discarded; repeat on an idle machine",
                row.peer.name(),
                row.case
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Rows of 1,000 answers in a second: case, peer, repetition, server CPU in µs, discarded.
    pub(crate) fn report(rows: &[(&str, Peer, u32, u64, bool)]) -> Report {
        let row =
            |&(case, peer, repetition, cpu_us, discarded): &(&str, Peer, u32, u64, bool)| Row {
                case: case.to_owned(),
                peer,
                repetition,
                discarded: discarded.then(|| "noise".to_owned()),
                outcome: Outcome {
                    answers: 1_000,
                    window_ns: 1_000_000_000,
                    server_cpu_ns: cpu_us * 1_000,
                    client_cpu_ns: 0,
                    foreign_cpu_ns: 0,
                    p50_ns: cpu_us,
                    p99_ns: 2 * cpu_us,
                },
            };
        Report { rows: rows.iter().map(row).collect(), ..Report::default() }
    }

    #[test]
    fn ratios_pair_runs_of_the_same_repetition() {
        let report = report(&[
            ("a", Peer::Raw, 1, 100, false),
            ("a", Peer::Raw, 2, 200, false),
            ("a", Peer::Tonic, 2, 800, false),
            ("a", Peer::Tonic, 1, 300, false),
            ("a", Peer::Tonic, 3, 9_000, false),
            ("b", Peer::Raw, 3, 1, false),
        ]);
        let ratio = report.ratio("a", Peer::Tonic, Peer::Raw, Outcome::cpu_ns_per_request);
        let ratio = ratio.unwrap();
        assert_eq!((ratio.min, ratio.median, ratio.max), (3.0, 3.5, 4.0));
        assert_eq!(report.cases(), ["a", "b"]);
    }

    #[test]
    fn discarded_runs_count_for_nothing_and_are_missed() {
        let mut report = report(&[
            ("a", Peer::Raw, 1, 500, true),
            ("a", Peer::Raw, 1, 100, false),
            ("a", Peer::Tonic, 1, 300, true),
        ]);
        let of = Outcome::cpu_ns_per_request;
        assert_eq!(report.spread("a", Peer::Raw, of).unwrap().max, 100.0);
        assert!(report.spread("a", Peer::Tonic, of).is_none());
        assert!(report.complete().unwrap_err().contains("tonic in a"));
        report.rows.pop();
        assert_eq!(report.complete(), Ok(()));
        report.stopped = Some("stopped".to_owned());
        assert!(report.complete().is_err());
    }
}
