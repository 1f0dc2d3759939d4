//! What was found: lines of one sitting after another, and what the goals come to with all of them.

use crate::compare::{EFFECTS, Live, Planted};
use crate::killed::Killed;
use crate::redraw::Redrawn;
use machine::Origin;
use machine::result::{read, write};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// What one sitting found of one thing.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line<T> {
    /// Where, when and of what commit; the first ones name none.
    sitting: Origin,
    #[serde(flatten)]
    found: T,
}

/// All lines. Blocks that are redrawn are of one sitting each; all else adds up over sittings.
#[derive(Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Found {
    redrawn: Vec<Line<Redrawn>>,
    live: Vec<Line<Live>>,
    planted: Vec<Line<Planted>>,
    /// Of a knob of the kernel; none where it was not tried.
    killed: Vec<Line<Killed>>,
}

/// Findings of one kind, which add up where they are of the same thing.
pub(crate) trait Adds: Clone {
    fn is_like(&self, other: &Self) -> bool;
    fn add(&mut self, more: Self);
}

/// What a goal comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    Met,
    Missed,
    /// Too little was tried for it to be missed, or to be met.
    Untold,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::Untold => "not told, since this is too little",
        })
    }
}

/// A result while this sitting adds to it.
pub(crate) struct Growing {
    to: Option<PathBuf>,
    sitting: Origin,
    found: Found,
}

impl Growing {
    /// A result with what the file has already.
    pub(crate) fn open(to: Option<PathBuf>) -> Result<Self, String> {
        let found = to.as_deref().map(read).transpose()?.unwrap_or_default();
        Ok(Self { to, sitting: Origin::now(), found })
    }

    /// What this sitting's chance begins from, where nothing else says its seed.
    pub(crate) fn seed(&self) -> u64 {
        self.sitting.started_unix()
    }

    pub(crate) fn redrawn(&mut self, found: Redrawn) -> Result<(), String> {
        self.found.redrawn.push(Line { sitting: self.sitting.clone(), found });
        self.save()
    }

    pub(crate) fn live(&mut self, more: Live) -> Result<(), String> {
        take(&mut self.found.live, &self.sitting, more);
        self.save()
    }

    pub(crate) fn planted(&mut self, more: Planted) -> Result<(), String> {
        take(&mut self.found.planted, &self.sitting, more);
        self.save()
    }

    pub(crate) fn killed(&mut self, more: Killed) -> Result<(), String> {
        take(&mut self.found.killed, &self.sitting, more);
        self.save()
    }

    /// At once: a sitting that is cut short keeps what it has.
    fn save(&self) -> Result<(), String> {
        self.to.as_deref().map_or(Ok(()), |path| write(path, &self.found))
    }

    /// Prints everything.
    pub(crate) fn shown(&self) {
        self.found.goals().iter().for_each(|(what, _)| println!("{what}"));
    }

    /// Prints everything, each with its goal; whether no goal is missed.
    pub(crate) fn judged(&self) -> bool {
        let goals = self.found.goals();
        for (what, goal) in &goals {
            println!("{what}: {goal}");
        }
        let count = |wanted| goals.iter().filter(|(_, goal)| *goal == wanted).count();
        let is_good = count(Goal::Missed) == 0;
        match (is_good, count(Goal::Untold)) {
            (false, _) => println!("a goal is missed"),
            (true, 0) => println!("every goal is met"),
            (true, untold) => println!("every goal that is told is met; {untold} are not told"),
        }
        is_good
    }
}

impl Found {
    fn goals(&self) -> Vec<(String, Goal)> {
        let mut goals: Vec<(String, Goal)> =
            self.redrawn.iter().map(|line| (line.found.to_string(), line.found.goal())).collect();
        let (live, killed) = (together(&self.live), together(&self.killed));
        goals.extend(live.iter().map(|live| (live.to_string(), live.goal())));
        let planted = together(&self.planted);
        goals.extend(planted.iter().map(|planted| (planted.to_string(), planted.goal())));
        goals.extend(killed.iter().map(|killed| (killed.to_string(), killed.goal())));
        let lacks = [
            ("redrawn", self.redrawn.is_empty()),
            ("live", live.is_empty()),
            ("planted", planted.len() < EFFECTS.len()),
            ("killed", killed.is_empty()),
        ];
        let lacks = lacks.into_iter().filter(|(_, is_missing)| *is_missing);
        goals
            .extend(lacks.map(|(part, _)| (format!("{part}: not all is there yet"), Goal::Untold)));
        goals
    }
}

/// Adds to the line of this sitting, or begins it.
fn take<T: Adds>(lines: &mut Vec<Line<T>>, sitting: &Origin, more: T) {
    let is_its = |line: &&mut Line<T>| line.sitting == *sitting && line.found.is_like(&more);
    match lines.iter_mut().find(is_its) {
        Some(line) => line.found.add(more),
        None => lines.push(Line { sitting: sitting.clone(), found: more }),
    }
}

/// What all sittings found of each thing.
fn together<T: Adds>(lines: &[Line<T>]) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for Line { found, .. } in lines {
        match all.iter_mut().find(|one| one.is_like(found)) {
            Some(one) => one.add(found.clone()),
            None => all.push(found.clone()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sitting(started_unix: u64) -> Origin {
        let machine = machine::Machine::default();
        let told = serde_json::json!({ "machine": machine, "started_unix": started_unix });
        serde_json::from_value(told).unwrap()
    }

    #[test]
    fn a_sitting_has_a_line_for_each_effect_and_all_sittings_add_up() {
        let mut lines = Vec::new();
        for (at, effect) in [(1, 0.01), (1, 0.02), (1, 0.01), (2, 0.01)] {
            take(&mut lines, &sitting(at), Planted::none(effect));
        }
        let found: Vec<(u64, f64)> =
            lines.iter().map(|line| (line.sitting.started_unix(), line.found.effect)).collect();
        assert_eq!(found, [(1, 0.01), (1, 0.02), (2, 0.01)]);
        let effects: Vec<f64> = together(&lines).iter().map(|planted| planted.effect).collect();
        assert_eq!(effects, [0.01, 0.02]);
    }

    #[test]
    fn the_committed_result_is_read_and_written_as_it_is() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/tuning.json");
        let found: Found = read(path.as_ref()).unwrap();
        assert!(!found.redrawn.is_empty() && !found.planted.is_empty(), "{found:?}");
        let kept: serde_json::Value = read(path.as_ref()).unwrap();
        assert_eq!(serde_json::to_value(&found).unwrap(), kept);
    }
}
