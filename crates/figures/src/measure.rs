//! From runs to the one value that a claim compares.

use crate::over_time::{self, Stretch};
use crate::quantity::{Dimension, Quantity};
use crate::results::Results;
use serde::Deserialize;
use tailwater_stats::result::Run;

/// What is read from the runs of one scenario.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// One of the figure's scenarios.
    pub scenario: String,
    /// What of each run.
    pub read: Reading,
    /// Whose runs: a label, in which `{}` stands for the claim's subject.
    #[serde(default = "the_subject")]
    pub label: String,
    /// Whose runs these are compared with, by [`Form::Times`], [`Form::Gain`] and [`Form::Loss`].
    pub against: Option<String>,
    /// Another of the figure's scenarios, whose runs those are; left out: the same.
    pub against_in: Option<String>,
    /// How the two become one value.
    #[serde(default, rename = "as")]
    pub form: Form,
    /// Which runs of the label.
    #[serde(default)]
    pub at: At,
    /// Which runs of the other label; left out: those at the same demand.
    pub against_at: Option<At>,
}

fn the_subject() -> String {
    "{}".into()
}

/// See [`Measure::read`].
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Something of the whole run.
    Run(Quantity),
    /// From the stretch's beginning until goodput is within 5 % of what it converges to.
    Recovery(Stretch),
    /// Mean goodput of the stretch's last quarter.
    Converged(Stretch),
    /// Smallest goodput of the stretch, of what it converges to.
    Dip(Stretch),
    /// Largest 99th percentile of a bin.
    LargestP99(Stretch),
    /// Largest median reject delay of a bin.
    LargestRejectDelay(Stretch),
}

/// See [`Measure::form`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The value itself.
    #[default]
    Value,
    /// Divided by the other's.
    Times,
    /// Above the other's, in per cent of it.
    Gain,
    /// Below the other's, in per cent of it.
    Loss,
    /// Divided by the objective.
    OfSlo,
    /// The objective divided by it.
    SloOver,
}

/// See [`Measure::at`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// The label's only run.
    #[default]
    Only,
    /// The run at a demand, in capacities.
    DemandRatio(f64),
    /// The run at a demand, in thousand requests per second.
    DemandKrps(f64),
    /// All; the largest value counts.
    Most,
    /// All from a demand on; the largest value counts.
    MostFromKrps(f64),
    /// All; the smallest value counts.
    Least,
}

impl At {
    pub(crate) fn takes(self, run: &Run) -> bool {
        match self {
            Self::Only | Self::Most | Self::Least => true,
            Self::DemandRatio(ratio) => nearly(run.asked.demand_ratio, ratio),
            Self::DemandKrps(krps) => nearly(run.rates.asked_rps / 1e3, krps),
            Self::MostFromKrps(krps) => {
                run.rates.asked_rps / 1e3 > krps || nearly(run.rates.asked_rps / 1e3, krps)
            }
        }
    }
}

/// Demands within 1 % are the same: capacities are measured.
pub(crate) fn nearly(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 0.01
}

impl Measure {
    /// It says something of runs to compare with.
    pub(crate) const fn names_another(&self) -> bool {
        self.against.is_some() || self.against_in.is_some() || self.against_at.is_some()
    }

    /// A label, or the one that a subject makes of it.
    pub(crate) fn named(label: &str, subject: &str) -> String {
        label.replace("{}", subject)
    }

    /// Whether runs of this name are meant by a label: variants of it follow after ` · `.
    pub(crate) fn is_called(name: &str, label: &str) -> bool {
        name.strip_prefix(label).is_some_and(|rest| rest.is_empty() || rest.starts_with(" · "))
    }

    /// The value of one repetition; nothing where a run is missing or invalid, or its number is. Where the largest
    /// or smallest of several counts, none of them may lack it.
    pub(crate) fn value(&self, results: &Results, subject: &str, repetition: u32) -> Option<f64> {
        let runs = Runs { results, scenario: &self.scenario, repetition };
        let label = Self::named(&self.label, subject);
        let mut chosen = runs.of(&label).filter(|run| self.at.takes(run));
        let value = |run: &Run| {
            let value = self.of_run(run, &runs, subject).filter(|value| value.is_finite());
            value.filter(|_| run.verdict.valid)
        };
        match self.at {
            At::Most | At::MostFromKrps(_) => extreme(chosen.map(value), f64::max),
            At::Least => extreme(chosen.map(value), f64::min),
            At::Only | At::DemandRatio(_) | At::DemandKrps(_) => chosen.next().and_then(value),
        }
    }

    fn of_run(&self, run: &Run, runs: &Runs<'_>, subject: &str) -> Option<f64> {
        let value = self.read.of(run)?;
        let times = || {
            let other = self.read.of(self.partner(run, runs, subject)?)?;
            (other > 0.0).then(|| value / other)
        };
        match self.form {
            Form::Value => Some(value),
            Form::Times => times(),
            Form::Gain => times().map(|times| (times - 1.0) * 100.0),
            Form::Loss => times().map(|times| (1.0 - times) * 100.0),
            Form::OfSlo => Some(value / run.asked.slo_us),
            Form::SloOver => Some(run.asked.slo_us / value),
        }
    }

    /// The run that one is compared with.
    fn partner<'a>(&'a self, run: &Run, runs: &Runs<'a>, subject: &str) -> Option<&'a Run> {
        let label = Self::named(self.against.as_ref()?, subject);
        let at = self.against_at.unwrap_or(At::DemandKrps(run.rates.asked_rps / 1e3));
        let there = Runs { scenario: self.against_in.as_ref().unwrap_or(&self.scenario), ..*runs };
        there.of(&label).find(|other| at.takes(other)).filter(|other| other.verdict.valid)
    }
}

/// The largest or smallest of values that are all there.
fn extreme(
    values: impl Iterator<Item = Option<f64>>,
    of_two: impl Fn(f64, f64) -> f64,
) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    values?.into_iter().reduce(of_two)
}

/// The runs of one scenario and repetition.
#[derive(Clone, Copy)]
struct Runs<'a> {
    results: &'a Results,
    scenario: &'a str,
    repetition: u32,
}

impl<'a> Runs<'a> {
    fn of(&self, label: &str) -> impl Iterator<Item = &'a Run> {
        let repetition = self.repetition;
        let runs = self.results.runs(self.scenario).iter();
        runs.filter(move |run| {
            run.asked.repetition == repetition && Measure::is_called(&run.asked.profile, label)
        })
    }
}

impl Reading {
    pub(crate) const fn dimension(self) -> Dimension {
        match self {
            Self::Run(quantity) => quantity.dimension(),
            Self::Recovery(_) | Self::LargestP99(_) | Self::LargestRejectDelay(_) => {
                Dimension::Time
            }
            Self::Converged(_) => Dimension::Rate,
            Self::Dip(_) => Dimension::Share,
        }
    }

    fn of(self, run: &Run) -> Option<f64> {
        match self {
            Self::Run(quantity) => quantity.of(run),
            Self::Recovery(stretch) => over_time::recovery_us(run, stretch),
            Self::Converged(stretch) => over_time::converged_krps(run, stretch),
            Self::Dip(stretch) => over_time::dip_percent(run, stretch),
            Self::LargestP99(stretch) => over_time::largest_p99_us(run, stretch),
            Self::LargestRejectDelay(stretch) => over_time::largest_reject_delay_us(run, stretch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{AskedRun, LatencyReading, Rates, RunVerdict};

    fn run(profile: &str, repetition: u32, krps: f64, goodput_krps: f64) -> Run {
        Run {
            asked: AskedRun {
                profile: profile.into(),
                repetition,
                slo_us: 200.0,
                ..AskedRun::default()
            },
            rates: Rates {
                asked_rps: krps * 1e3,
                goodput_rps: goodput_krps * 1e3,
                ..Rates::default()
            },
            latency: LatencyReading { p99_us: 300.0, ..LatencyReading::default() },
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            ..Run::default()
        }
    }

    fn results() -> Results {
        let runs = vec![
            run("ours", 0, 100.0, 90.0),
            run("ours", 0, 200.0, 150.0),
            run("theirs", 0, 100.0, 90.0),
            run("theirs", 0, 200.0, 100.0),
            run("ours", 1, 200.0, 120.0),
            run("theirs", 1, 200.0, 0.0),
            run("ours · tuned", 1, 400.0, 500.0),
            run("ours", 2, 100.0, 90.0),
            run("ours", 2, 200.0, 120.0),
            run("theirs", 2, 100.0, 45.0),
            run("theirs", 2, 200.0, 0.0),
            Run {
                verdict: RunVerdict { valid: false, ..run("ours", 3, 100.0, 90.0).verdict },
                ..run("ours", 3, 100.0, 90.0)
            },
        ];
        Results::of("s", runs)
    }

    fn value(rest: &str, repetition: u32) -> Option<f64> {
        let text = format!("scenario = \"s\"\nread = {{ run = \"goodput\" }}\n{rest}");
        let measure: Measure = toml::from_str(&text).expect("it is a measure");
        measure.value(&results(), "ours", repetition)
    }

    #[test]
    fn runs_are_found_by_label_demand_and_repetition() {
        assert_eq!(value("at = { demand_krps = 200 }", 0), Some(150.0));
        assert_eq!(value("at = { demand_krps = 200 }", 1), Some(120.0));
        assert_eq!(value("at = { demand_krps = 300 }", 0), None);
        assert_eq!(value("at = \"least\"", 0), Some(90.0));
        assert_eq!(value("at = { most_from_krps = 150 }", 0), Some(150.0));
        assert_eq!(value("at = \"most\"", 1), Some(500.0), "variants are of the label too");
        assert_eq!(value("at = \"most\"", 3), None, "an invalid run is no result");
    }

    #[test]
    fn two_labels_are_compared_at_the_same_demand() {
        let most = |form: &str, repetition| {
            value(&format!("against = \"theirs\"\nas = \"{form}\"\nat = \"most\""), repetition)
        };
        assert_eq!(most("times", 0), Some(1.5));
        assert_eq!(most("gain", 0), Some(50.0));
        assert_eq!(most("times", 1), None, "nothing is left to compare with");
        assert_eq!(most("times", 2), None, "nor at one demand of two");
        let loss = "against = \"ours\"\nas = \"loss\"\nat = { demand_krps = 100 }";
        assert_eq!(value(&format!("{loss}\nagainst_at = {{ demand_krps = 200 }}"), 0), Some(40.0));
    }

    #[test]
    fn nothing_is_compared_with_an_invalid_run() {
        let theirs = |valid| Run {
            verdict: RunVerdict { valid, ..run("theirs", 0, 200.0, 50.0).verdict },
            ..run("theirs", 0, 200.0, 50.0)
        };
        let text = "scenario = \"s\"\nread = { run = \"goodput\" }\nagainst = \"theirs\"\nas = \"times\"\n";
        let measure: Measure = toml::from_str(text).expect("it is a measure");
        let value = |valid| {
            let all = Results::of("s", vec![run("ours", 0, 200.0, 150.0), theirs(valid)]);
            measure.value(&all, "ours", 0)
        };
        assert_eq!((value(true), value(false)), (Some(3.0), None));
    }

    #[test]
    fn what_is_compared_with_may_be_of_another_scenario() {
        let mut all = results();
        let elsewhere = Results::of("t", vec![run("theirs", 0, 200.0, 50.0)]);
        all.played.extend(elsewhere.played);
        let text = "scenario = \"s\"\nread = { run = \"goodput\" }\nagainst = \"theirs\"\nas = \"times\"\n\
                    at = { demand_krps = 200 }\n";
        let value = |rest: &str| {
            let measure: Measure = toml::from_str(&format!("{text}{rest}")).expect("a measure");
            measure.value(&all, "ours", 0)
        };
        assert_eq!(value(""), Some(1.5));
        assert_eq!(value("against_in = \"t\""), Some(3.0));
    }

    #[test]
    fn a_label_may_be_made_of_the_subject() {
        assert_eq!(value("label = \"{} · tuned\"", 1), Some(500.0));
    }
}
