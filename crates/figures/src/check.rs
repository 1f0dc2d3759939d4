//! What the types of a figure's file cannot say: that names exist, that units fit, that a claim can fail
//! and is counted once.

use crate::data::{At, Claim, Figure, Form, Measure, Panel};
use crate::embedded::scenario;
use crate::error::{DataError, Fault};
use crate::quantity::Dimension;
use crate::tolerance;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::ControllerSpec;

pub(crate) fn all(figures: &[Figure]) -> Result<(), DataError> {
    figures.iter().try_for_each(one)?;
    repeats(figures)
}

fn one(figure: &Figure) -> Result<(), DataError> {
    let in_file = |fault| error(figure, "", fault);
    for name in &figure.scenarios {
        read(name).map_err(in_file)?;
    }
    for (index, panel) in figure.panels.iter().enumerate() {
        let in_panel = |fault| error(figure, &format!("panel '{}'", panel.name), fault);
        of_panel(figure, panel, &figure.panels[..index]).map_err(in_panel)?;
    }
    for claim in &figure.claims {
        of_claim(figure, claim).map_err(|fault| error(figure, &part(claim), fault))?;
    }
    Ok(())
}

fn error(figure: &Figure, part: &str, fault: Fault) -> DataError {
    let file = format!("scenarios/paper/figures/{}-{}.toml", figure.paper, figure.number);
    DataError { file, part: part.into(), fault }
}

fn part(claim: &Claim) -> String {
    format!("claim '{}'", claim.what)
}

fn read(name: &str) -> Result<Scenario, Fault> {
    let file = scenario(name).ok_or_else(|| Fault::UnknownScenario(name.into()))?;
    let scenario = Scenario::parse(file.path, file.text);
    scenario.map_err(|error| Fault::Scenario(error.to_string()))
}

fn is_of(figure: &Figure, scenario: &str) -> Result<(), Fault> {
    if figure.scenarios.iter().any(|name| name == scenario) {
        return Ok(());
    }
    Err(Fault::UnknownScenario(scenario.into()))
}

fn of_panel(figure: &Figure, panel: &Panel, before: &[Panel]) -> Result<(), Fault> {
    if before.iter().any(|other| other.name == panel.name) {
        return Err(Fault::PanelTwice);
    }
    panel.from.iter().try_for_each(|name| is_of(figure, name))
}

fn of_claim(figure: &Figure, claim: &Claim) -> Result<(), Fault> {
    let measure = &claim.measure;
    is_of(figure, &measure.scenario)?;
    measure.against_in.iter().try_for_each(|name| is_of(figure, name))?;
    let measured = dimension(measure)?;
    if claim.unit.dimension() != measured {
        return Err(Fault::UnfitUnit { unit: claim.unit, measured });
    }
    if !tolerance::can_fail(claim.unit, claim.bound, claim.theirs) {
        return Err(Fault::CannotFail);
    }
    if claim.subjects().next().is_none() {
        return Err(Fault::Nobody);
    }
    labels(claim)?;
    of_one_run(claim)
}

/// What is read of one run has one that is meant. Of several the first would count, whichever that is.
fn of_one_run(claim: &Claim) -> Result<(), Fault> {
    let measure = &claim.measure;
    let is_one_demand = |at| matches!(at, At::DemandRatio(_) | At::DemandKrps(_));
    claim.subjects().try_for_each(|(subject, _)| {
        if measure.at == At::Only || is_one_demand(measure.at) {
            let label = Measure::named(&measure.label, subject);
            one_run(&measure.scenario, label, is_one_demand(measure.at))?;
        }
        let Some(against) = &measure.against else { return Ok(()) };
        let there = measure.against_in.as_ref().unwrap_or(&measure.scenario);
        // Without a demand of its own it is that of the run.
        let is_at_one = measure.against_at.is_none_or(is_one_demand);
        one_run(there, Measure::named(against, subject), is_at_one)
    })
}

/// A label means one run of a scenario at most, of those at one demand or of all.
fn one_run(scenario: &str, label: String, is_at_one_demand: bool) -> Result<(), Fault> {
    let read = read(scenario)?;
    let demands = if is_at_one_demand { read.demand.courses.len().max(1) } else { 1 };
    let called = read.controllers.iter().map(ControllerSpec::called);
    let named = called.filter(|one| Measure::is_called(one, &label)).count();
    let runs = read.configurations().len() / demands * named;
    match runs {
        0 | 1 => Ok(()),
        _ => Err(Fault::Several { label, scenario: scenario.into(), runs }),
    }
}

/// The kind of number that a measure yields.
fn dimension(measure: &Measure) -> Result<Dimension, Fault> {
    let read = measure.read.dimension();
    let compares = matches!(measure.form, Form::Times | Form::Gain | Form::Loss);
    match measure.form {
        _ if compares && measure.against.is_none() => Err(Fault::NeedsAgainst),
        _ if !compares && measure.names_another() => Err(Fault::NeedlessAgainst),
        Form::OfSlo | Form::SloOver if read != Dimension::Time => Err(Fault::NotATime),
        Form::Value => Ok(read),
        Form::Times | Form::OfSlo | Form::SloOver => Ok(Dimension::Ratio),
        Form::Gain | Form::Loss => Ok(Dimension::Share),
    }
}

/// Each label, filled in for each subject, is one of a controller of the scenario.
fn labels(claim: &Claim) -> Result<(), Fault> {
    claim.labels().into_iter().try_for_each(|(scenario, label)| is_labelled(scenario, &label))
}

fn is_labelled(scenario: &str, label: &str) -> Result<(), Fault> {
    let controllers = read(scenario)?.controllers;
    let mut named = controllers.iter().map(ControllerSpec::called);
    if named.any(|name| Measure::is_called(&name, label)) {
        return Ok(());
    }
    Err(Fault::UnknownLabel { label: label.into(), scenario: scenario.into() })
}

fn repeats(figures: &[Figure]) -> Result<(), DataError> {
    let mut seen: Vec<(&Claim, &str)> = Vec::new();
    for figure in figures {
        for claim in &figure.claims {
            let Some(of) = &claim.of else { continue };
            let same = |other: &&(&Claim, &str)| other.0.measure == claim.measure && other.1 == of;
            if let Some((other, _)) = seen.iter().find(same) {
                return Err(error(figure, &part(claim), Fault::Repeats(other.what.clone())));
            }
            seen.push((claim, of.as_str()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "paper = \"p\"\nnumber = 1\ntitle = \"t\"\nscenarios = [\"fig3\"]\n";
    const CLAIM: &str = "[[claim]]\nwhat = \"w\"\nplace = \"§1\"\n";

    fn fault(rest: &str) -> Fault {
        let figure: Figure = toml::from_str(&format!("{HEAD}{rest}")).expect("it is a figure");
        all(&[figure]).expect_err("something is wrong with it").fault
    }

    fn of_claim(rest: &str) -> Fault {
        fault(&format!("{CLAIM}{rest}"))
    }

    #[test]
    fn names_that_do_not_exist_are_found() {
        let panel = "[[panel]]\nname = \"a\"\ntitle = \"t\"\nfrom = [\"fig7\"]\n\
                     drawn = { over_time = \"p99\" }\n";
        assert_eq!(fault(panel), Fault::UnknownScenario("fig7".into()));
        let claim = "theirs = 9\nunit = \"%\"\nof = \"hope\"\nmeasure = { scenario = \"fig3\", read = { run = \"drops\" } }\n";
        let unknown = Fault::UnknownLabel { label: "hope".into(), scenario: "fig3".into() };
        assert_eq!(of_claim(claim), unknown);
    }

    #[test]
    fn units_and_forms_must_fit_what_is_read() {
        let with = |unit: &str, measure: &str| {
            let claim = "theirs = 9\nof = \"seda\"\n";
            of_claim(&format!(
                "{claim}unit = \"{unit}\"\nmeasure = {{ scenario = \"fig3\", {measure} }}\n"
            ))
        };
        let unfit = Fault::UnfitUnit { unit: crate::data::Unit::Millis, measured: Dimension::Rate };
        assert_eq!(with("ms", "read = { run = \"goodput\" }"), unfit);
        assert_eq!(with("%", "read = { run = \"goodput\" }, as = \"gain\""), Fault::NeedsAgainst);
        let needless = "read = { run = \"goodput\" }, against = \"dagor\"";
        assert_eq!(with("k/s", needless), Fault::NeedlessAgainst);
        assert_eq!(with("×", "read = { run = \"goodput\" }, as = \"of_slo\""), Fault::NotATime);
    }

    /// The first of these demands was read, and nothing said so.
    #[test]
    fn a_value_of_one_run_that_may_be_of_several_is_refused() {
        let claim = "theirs = 9\nunit = \"%\"\nof = \"seda\"\nmeasure = { scenario = \"fig3\", read = { run = \"drops\" } }\n";
        let found = of_claim(claim);
        let (label, scenario) = ("seda".into(), "fig3".into());
        assert_eq!(found, Fault::Several { label, scenario, runs: 11 });
        assert!(found.to_string().contains("say `at`"), "{found}");
        let beside = "theirs = 9\nunit = \"%\"\nof = \"seda\"\nmeasure = { scenario = \"fig3\", read = { run = \"goodput\" }, \
                      as = \"gain\", at = { demand_ratio = 2.0 }, against = \"dagor\", against_at = \"only\" }\n";
        let (label, scenario) = ("dagor".into(), "fig3".into());
        assert_eq!(of_claim(beside), Fault::Several { label, scenario, runs: 11 });
    }

    #[test]
    fn a_claim_that_cannot_fail_or_repeats_another_is_refused() {
        let drops = "unit = \"%\"\nof = \"seda\"\n\
                     measure = { scenario = \"fig3\", read = { run = \"drops\" }, at = { demand_ratio = 2.0 } }\n";
        assert_eq!(of_claim(&format!("theirs = 1.5\n{drops}")), Fault::CannotFail);
        let twice = format!("theirs = 9\n{drops}{CLAIM}theirs = 8\n{drops}");
        assert_eq!(of_claim(&twice), Fault::Repeats("w".into()));
        let nobody = "theirs = 9\nunit = \"%\"\nmeasure = { scenario = \"fig3\", read = { run = \"drops\" } }\n";
        assert_eq!(of_claim(nobody), Fault::Nobody);
    }
}
