//! `tailwater tune ab` on blocks of real work: with itself, and with more of it.

use crate::found::{Adds, Goal};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::process::Command;
use std::time::Instant;
use tailwater_stats::fewest_right;

/// Work that is planted, and how many comparisons can tell whether its power is what was promised: a small effect is found
/// seldom.
pub(crate) const EFFECTS: [(f64, u32); 3] = [(0.01, 40), (0.02, 20), (0.05, 20)];
/// Power is missed where as few or fewer findings happen less often than that.
const CHANCE: f64 = 0.05;

/// Live comparisons that may find something: more than 3 of 20 happen by chance in 1.6 % at a level of 5 %.
const ALARMS_OF_TWENTY: u32 = 3;
/// Alarms, of which a comparison has some, are no findings about the quantity.
const FOUND: [&str; 2] = ["better", "worse"];

/// Comparisons of the program with itself.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Live {
    comparisons: u32,
    /// How they ended.
    verdicts: Vec<String>,
    found: u32,
    /// What decided the orders of their blocks; of the first ones of older results it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seeds: Vec<u64>,
}

impl Live {
    pub(crate) const fn goal(&self) -> Goal {
        if self.found * 20 <= ALARMS_OF_TWENTY * self.comparisons {
            Goal::Met
        } else {
            Goal::Missed
        }
    }
}

impl Adds for Live {
    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn add(&mut self, more: Self) {
        self.comparisons += more.comparisons;
        self.verdicts.extend(more.verdicts);
        self.found += more.found;
        self.seeds.extend(more.seeds);
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdicts = self.verdicts.join(", ");
        write!(f, "live: {} of {} found a difference: {verdicts}", self.found, self.comparisons)
    }
}

/// Comparisons with more work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Planted {
    pub(crate) effect: f64,
    comparisons: u32,
    right: u32,
    wrong: u32,
    /// Mean power that the pilots promised.
    promised: f64,
    /// Quads until there was a finding, of those that had one, in order.
    quads: Vec<u64>,
    /// Seconds that these comparisons took, their pilots included, in order.
    seconds: Vec<f64>,
    /// Intervals that hold the planted effect, and all intervals.
    covered: (u32, u32),
    /// See [`Live`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seeds: Vec<u64>,
}

impl Planted {
    /// No comparison as yet.
    pub(crate) const fn none(effect: f64) -> Self {
        Self {
            effect,
            comparisons: 0,
            right: 0,
            wrong: 0,
            promised: 0.0,
            quads: Vec::new(),
            seconds: Vec::new(),
            covered: (0, 0),
            seeds: Vec::new(),
        }
    }

    /// As often as promised, and never with the wrong sign.
    pub(crate) fn goal(&self) -> Goal {
        match fewest_right(self.comparisons, self.promised, CHANCE) {
            _ if self.wrong > 0 => Goal::Missed,
            0 => Goal::Untold,
            fewest if self.right < fewest => Goal::Missed,
            _ => Goal::Met,
        }
    }
}

impl Adds for Planted {
    fn is_like(&self, other: &Self) -> bool {
        self.effect == other.effect
    }

    fn add(&mut self, more: Self) {
        let [before, after] = [self.comparisons, more.comparisons].map(f64::from);
        if after > 0.0 {
            self.promised = (self.promised * before + more.promised * after) / (before + after);
        }
        self.comparisons += more.comparisons;
        self.right += more.right;
        self.wrong += more.wrong;
        self.covered.0 += more.covered.0;
        self.covered.1 += more.covered.1;
        self.quads.extend(more.quads);
        self.quads.sort_unstable();
        self.seconds.extend(more.seconds);
        self.seconds.sort_by(f64::total_cmp);
        self.seeds.extend(more.seeds);
    }
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let median = self.quads.get(self.quads.len() / 2).map_or("–".into(), u64::to_string);
        let seconds = self.seconds.get(self.seconds.len() / 2);
        let seconds = seconds.map_or("–".into(), |seconds| format!("{seconds:.0}"));
        write!(
            f,
            "planted {:+.0} %: {} of {} found it, {} with the wrong sign (promised {:.0} %, so {} at least); median of {median} quads, \
             {seconds} s; {} of {} intervals hold it",
            self.effect * 100.0,
            self.right,
            self.comparisons,
            self.wrong,
            self.promised * 100.0,
            fewest_right(self.comparisons, self.promised, CHANCE),
            self.covered.0,
            self.covered.1
        )
    }
}

/// One comparison of the program with itself.
pub(crate) fn live(units: u64, short: bool) -> Result<Live, String> {
    let knob = ["--knob", "arm=b", "--against", "a"].map(String::from);
    let result = ab(&knob, &[units.to_string(), "--arm".into(), "{arm}".into()], 0.01, short)?;
    let verdict = verdict(&result);
    let found = u32::from(FOUND.contains(&verdict.as_str()));
    Ok(Live { comparisons: 1, verdicts: vec![verdict], found, seeds: vec![seed(&result)?] })
}

/// One comparison with so much more work.
pub(crate) fn planted(units: u64, effect: f64, short: bool) -> Result<Planted, String> {
    let more = (units as f64 * (1.0 + effect)).round() as u64;
    let knob = ["--knob".into(), format!("units={more}"), "--against".into(), units.to_string()];
    let began = Instant::now();
    let result = ab(&knob, &["{units}".into()], effect, short)?;
    let verdict = verdict(&result);
    let (is_right, is_wrong) = (verdict == "worse", verdict == "better");
    let last = result["looks"].as_array().and_then(|looks| looks.last());
    let promised = result["forecast"]["power"].as_f64();
    let mut found = Planted {
        comparisons: 1,
        right: is_right.into(),
        wrong: is_wrong.into(),
        promised: promised.ok_or("tailwater tune ab: no power in its result")?,
        seeds: vec![seed(&result)?],
        ..Planted::none(effect)
    };
    if is_right {
        found.seconds.push(began.elapsed().as_secs_f64());
        found.quads.extend(last.and_then(|look| look["quads"].as_u64()));
    }
    let ends = last.map(|look| (look["interval"][0].as_f64(), look["interval"][1].as_f64()));
    if let Some((Some(low), Some(high))) = ends {
        let planted = (more as f64 / units as f64).ln();
        found.covered = (u32::from((low..=high).contains(&planted)), 1);
    }
    Ok(found)
}

/// What decided the order of its blocks: another in each comparison.
fn seed(result: &Value) -> Result<u64, String> {
    result["seed"].as_u64().ok_or_else(|| "tailwater tune ab: no seed in its result".into())
}

/// The word of a verdict, and `alarm` where a guard ended it.
fn verdict(result: &Value) -> String {
    result["verdict"].as_str().unwrap_or("alarm").to_owned()
}

/// The result of one comparison of this program's blocks.
fn ab(knob: &[String], block: &[String], effect: f64, short: bool) -> Result<Value, String> {
    let tailwater = machine::tailwater()?;
    let myself = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(&tailwater);
    command.args(["tune", "ab", "--metric", "/cpu_ns", "--json", "--accept-weak"]);
    command.args(["--effect", &format!("{}%", effect * 100.0)]);
    let (pilot, quads) = if short { ("4", "12") } else { ("8", "60") };
    command.args(["--pilot", pilot, "--quads", quads]).args(knob);
    command.arg("--").arg(myself).arg("--block").args(block);
    let output = command.output().map_err(|error| format!("{}: {error}", tailwater.display()))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        format!("tailwater tune ab: {}", String::from_utf8_lossy(&output.stderr).trim_end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_add_up_and_nothing_of_an_older_result_is_lost() {
        let old = r#"{ "comparisons": 2, "verdicts": ["open", "worse"], "found": 1 }"#;
        let mut live: Live = serde_json::from_str(old).unwrap();
        let verdicts = vec!["open".to_owned()];
        live.add(Live { comparisons: 1, verdicts, found: 0, seeds: vec![7] });
        assert_eq!((live.comparisons, live.found, &live.seeds[..]), (3, 1, &[7][..]));
        assert_eq!(live.verdicts, ["open", "worse", "open"]);
    }

    #[test]
    fn power_is_missed_where_so_few_happen_seldom_and_few_comparisons_tell_nothing() {
        let goal = |right: u32, comparisons: u32, promised: f64| {
            Planted { comparisons, right, promised, ..Planted::none(0.02) }.goal()
        };
        // None of eight at 30 % happens in 5.8 %.
        assert_eq!((goal(0, 8, 0.3), goal(8, 8, 0.3)), (Goal::Untold, Goal::Untold));
        assert_eq!((goal(0, 9, 0.3), goal(1, 9, 0.3)), (Goal::Missed, Goal::Met));
        // Eleven of twenty or fewer at 75 % do in 4.1 %.
        assert_eq!((goal(11, 20, 0.75), goal(12, 20, 0.75)), (Goal::Missed, Goal::Met));
        let wrong = Planted { comparisons: 1, wrong: 1, ..Planted::none(0.02) };
        assert_eq!(wrong.goal(), Goal::Missed);
    }

    #[test]
    fn what_is_to_be_tried_can_miss() {
        // By the powers that pilots promised in the first result.
        for ((effect, comparisons), promised) in EFFECTS.into_iter().zip([0.3, 0.75, 0.96]) {
            let none = Planted { comparisons, promised, ..Planted::none(effect) };
            assert_eq!(none.goal(), Goal::Missed);
        }
    }

    #[test]
    fn what_was_promised_is_a_mean_over_all_comparisons() {
        let old = r#"{ "effect": 0.02, "comparisons": 3, "right": 2, "wrong": 0, "promised": 0.8, "quads": [20, 50],
            "seconds": [10.0, 30.0], "covered": [2, 3] }"#;
        let mut planted: Planted = serde_json::from_str(old).unwrap();
        planted.add(Planted::none(0.02));
        planted.add(Planted {
            comparisons: 1,
            right: 1,
            promised: 0.4,
            quads: vec![30],
            seconds: vec![20.0],
            covered: (1, 1),
            seeds: vec![9],
            ..Planted::none(0.02)
        });
        assert!((planted.promised - 0.7).abs() < 1e-12, "{planted}");
        assert_eq!((planted.comparisons, planted.right, planted.covered), (4, 3, (3, 4)));
        assert_eq!((&planted.quads[..], planted.seconds[1]), (&[20, 30, 50][..], 20.0));
    }
}
