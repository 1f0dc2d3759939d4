//! `tailwater tune ab` on blocks of real work: with itself, and with more of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::process::Command;
use std::time::Instant;

/// Live comparisons that may find something: more than 3 of 20 happen by chance in 1.6 % at a level of 5 %.
const ALARMS_OF_TWENTY: u32 = 3;
/// Alarms, of which a comparison has some, are no findings about the quantity.
const FOUND: [&str; 2] = ["better", "worse"];

/// Comparisons of the program with itself.
#[derive(Serialize, Deserialize)]
pub(crate) struct Live {
    comparisons: u32,
    /// How they ended.
    verdicts: Vec<String>,
    found: u32,
}

impl Live {
    /// Those of two runs.
    pub(crate) fn both(mut before: Self, more: Self) -> Self {
        before.comparisons += more.comparisons;
        before.verdicts.extend(more.verdicts);
        before.found += more.found;
        before
    }

    pub(crate) const fn is_good(&self) -> bool {
        self.found * 20 <= ALARMS_OF_TWENTY * self.comparisons
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdicts = self.verdicts.join(", ");
        write!(f, "live: {} of {} found a difference: {verdicts}", self.found, self.comparisons)
    }
}

/// Comparisons with more work.
#[derive(Serialize)]
pub(crate) struct Planted {
    effect: f64,
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
}

impl Planted {
    /// As often as promised, within three standard errors.
    pub(crate) fn is_good(&self) -> bool {
        let count = f64::from(self.comparisons);
        let error = (self.promised * (1.0 - self.promised) / count).sqrt().max(0.5 / count);
        self.wrong == 0 && f64::from(self.right) / count >= self.promised - 3.0 * error
    }
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let median = self.quads.get(self.quads.len() / 2).map_or("–".into(), u64::to_string);
        let seconds = self.seconds.get(self.seconds.len() / 2);
        let seconds = seconds.map_or("–".into(), |seconds| format!("{seconds:.0}"));
        write!(
            f,
            "planted {:+.0} %: {} of {} found it, {} with the wrong sign (promised {:.0} %); median of {median} quads, {seconds} s; {} of {} \
             intervals hold it",
            self.effect * 100.0,
            self.right,
            self.comparisons,
            self.wrong,
            self.promised * 100.0,
            self.covered.0,
            self.covered.1
        )
    }
}

pub(crate) fn live(units: u64, comparisons: u32, short: bool) -> Result<Live, String> {
    let mut verdicts = Vec::new();
    for _ in 0..comparisons {
        let knob = ["--knob", "arm=b", "--against", "a"].map(String::from);
        let result = ab(&knob, &[units.to_string(), "--arm".into(), "{arm}".into()], 0.01, short)?;
        verdicts.push(verdict(&result));
    }
    let found = verdicts.iter().filter(|verdict| FOUND.contains(&verdict.as_str())).count();
    Ok(Live { comparisons, verdicts, found: u32::try_from(found).unwrap_or(u32::MAX) })
}

pub(crate) fn planted(
    units: u64,
    effect: f64,
    comparisons: u32,
    short: bool,
) -> Result<Planted, String> {
    let more = (units as f64 * (1.0 + effect)).round() as u64;
    let mut found = Planted {
        effect,
        comparisons,
        right: 0,
        wrong: 0,
        promised: 0.0,
        quads: Vec::new(),
        seconds: Vec::new(),
        covered: (0, 0),
    };
    for _ in 0..comparisons {
        let knob =
            ["--knob".into(), format!("units={more}"), "--against".into(), units.to_string()];
        let began = Instant::now();
        let result = ab(&knob, &["{units}".into()], effect, short)?;
        let power = result["forecast"]["power"].as_f64().unwrap_or(f64::NAN);
        found.promised += power / f64::from(comparisons);
        let verdict = verdict(&result);
        found.right += u32::from(verdict == "worse");
        found.wrong += u32::from(verdict == "better");
        let last = result["looks"].as_array().and_then(|looks| looks.last());
        if verdict == "worse" {
            found.seconds.push(began.elapsed().as_secs_f64());
            found.quads.extend(last.and_then(|look| look["quads"].as_u64()));
        }
        let ends = last.map(|look| (look["interval"][0].as_f64(), look["interval"][1].as_f64()));
        if let Some((Some(low), Some(high))) = ends {
            let planted = (more as f64 / units as f64).ln();
            found.covered.0 += u32::from((low..=high).contains(&planted));
            found.covered.1 += 1;
        }
    }
    found.quads.sort_unstable();
    found.seconds.sort_by(f64::total_cmp);
    Ok(found)
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
