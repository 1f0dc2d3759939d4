//! Everything that there is to say of a case.

use super::case::{Case, NoOutcome, Outcome, Stated};
use super::need::{Needs, needs};
use super::uncertainty::{Bar, FactorPercentiles, spread, tornado};
use serde::Serialize;

/// The answers, as programs read them. Factors are on throughput: 1.05 is 5 % more.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Study {
    /// As in the file.
    pub name: String,
    /// As in the file.
    pub threading: &'static str,
    /// As in the file.
    pub strategy: &'static str,
    /// For the middle of what is known.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Over what is not known; `None` where everything is.
    pub spread: Option<FactorPercentiles>,
    /// What decides, the most important input first.
    pub tornado: Vec<Bar>,
    /// What a wanted gain takes; `None` where none is asked for.
    pub needs: Option<Needs>,
    /// What a publication prints.
    pub stated: Option<Stated>,
}

impl Study {
    /// Answers what there is to ask; `need` is a factor above 1, and `seed` decides the draws.
    ///
    /// # Errors
    /// When the middle of what is known has no outcome.
    pub fn of(case: &Case, need: Option<f64>, seed: u64) -> Result<Self, NoOutcome> {
        Ok(Self {
            name: case.name.clone(),
            threading: case.design.threading.name(),
            strategy: case.design.strategy.name(),
            outcome: case.outcome(&case.central())?,
            spread: spread(case, seed),
            tornado: tornado(case),
            needs: need.map(|speedup| needs(case, speedup)),
            stated: case.stated.clone(),
        })
    }
}
