//! The file of `tailwater tune sku`: which knobs, which values, what is measured.

use super::super::ab::QUADS_MAX;
use super::super::dial::{Dial, Setting, stand_together};
use super::super::machine::Root;
use super::super::targets::{LATE_MAX, Target, TargetOptions};
use super::super::{fresh_seed, noise, percent};
use super::recipes::Recipe;
use crate::failure::Failure;
use crate::scenarios;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tailwater_core::duration::parse_duration;
use tailwater_stats::anytime::Level;
use tailwater_tune::ab::{Better, ComparisonRules};
use tailwater_tune::factorial::FACTORS_MAX;

/// What such a file says.
const KEYS: &str = "docs/knobs.md lists the keys of one";
/// Values of one knob beside stock.
const VALUES_MAX: usize = 16;
/// Times that the design is played.
const REPLICATES_MAX: u32 = 100;
/// Settings to hold the found one against, beside stock.
const RIVALS_MAX: usize = 4;

/// The file as it stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default)]
    title: String,
    scenario: Option<PathBuf>,
    #[serde(default)]
    command: Vec<String>,
    metric: Option<String>,
    better: Option<Way>,
    #[serde(default)]
    guards: Vec<String>,
    tolerate: Option<String>,
    effect: Option<String>,
    level: Option<String>,
    steal_max: Option<String>,
    block_limit: Option<String>,
    late_max: Option<String>,
    settle: Option<String>,
    time: Option<String>,
    pilot: Option<u32>,
    quads: Option<u32>,
    replicates: Option<u32>,
    seed: Option<u64>,
    #[serde(default)]
    knob: Vec<KnobText>,
    #[serde(default)]
    rival: Vec<RivalText>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Way {
    Less,
    More,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnobText {
    name: String,
    stock: Option<String>,
    values: Vec<String>,
    /// Left out where it cannot be set here.
    #[serde(default)]
    optional: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RivalText {
    name: String,
    set: BTreeMap<String, String>,
    /// Left out where it cannot be set here.
    #[serde(default)]
    optional: bool,
}

/// A file of rivals alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RivalsText {
    rival: Vec<RivalText>,
}

/// A value that could not be set or measured at all.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LeftOut {
    pub(super) knob: String,
    pub(super) value: String,
    pub(super) because: String,
}

/// What the file comes to on this machine.
pub(super) struct Wanted {
    pub(super) title: String,
    pub(super) target: Target,
    pub(super) dials: Vec<Dial>,
    pub(super) stock: Setting,
    /// Of each knob, the values to try.
    pub(super) values: Vec<Vec<String>>,
    /// Hand-tuned settings by name.
    pub(super) rivals: Vec<(String, Setting)>,
    pub(super) rules: ComparisonRules,
    pub(super) time: Duration,
    pub(super) pilot: u32,
    pub(super) replicates: u32,
    pub(super) seed: u64,
    /// Values of optional knobs, and optional rivals, that cannot be set here.
    pub(super) left_out: Vec<LeftOut>,
}

/// A file that was read.
pub(super) struct Described {
    file: PathBuf,
    text: Text,
    /// Of the scenario that it names, where both come with the program.
    scenario: Option<&'static str>,
}

impl Described {
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        Self::parse(file.to_owned(), &scenarios::read_other(file, KEYS)?, None)
    }

    /// One that comes with the program.
    pub(super) fn known(recipe: &Recipe) -> Result<Self, Failure> {
        let file = PathBuf::from(format!("{}.toml", recipe.name));
        Self::parse(file, recipe.text, recipe.scenario)
    }

    fn parse(file: PathBuf, text: &str, scenario: Option<&'static str>) -> Result<Self, Failure> {
        let text = toml::from_str(text).map_err(|error| {
            Failure::usage(format!("{}: {}", file.display(), error.to_string().trim_end()))
        })?;
        Ok(Self { file, text, scenario })
    }

    /// Further rivals: settings as `nice=5,cpus=0-1,3`, or files of `[[rival]]` tables.
    pub(super) fn against(&mut self, rivals: &[String]) -> Result<(), Failure> {
        for said in rivals {
            if said.contains('=') {
                let set = settings(said)?;
                self.text.rival.push(RivalText { name: said.clone(), set, optional: false });
                continue;
            }
            let text = scenarios::read_other(Path::new(said), KEYS)?;
            let found: RivalsText = toml::from_str(&text).map_err(|error| {
                Failure::usage(format!("--rival {said}: {}", error.to_string().trim_end()))
            })?;
            self.text.rival.extend(found.rival);
        }
        Ok(())
    }

    /// What it comes to with the knobs as they are now.
    pub(super) fn on(&self, root: &Root) -> Result<Wanted, Failure> {
        wanted(self, root)
            .map_err(|failure| Failure::usage(format!("{}: {failure}", self.file.display())))
    }
}

fn wanted(described: &Described, root: &Root) -> Result<Wanted, Failure> {
    let text = &described.text;
    let target = Target::new(&target(described)?)?;
    let mut knobs = Knobs::of(&text.knob, &target, root)?;
    let rivals = knobs.rivals(&text.rival, &target, root)?;
    stand_together(&knobs.dials)?;
    let replicates = text.replicates.unwrap_or(2);
    bounded("replicates", replicates as usize, (1, REPLICATES_MAX as usize))?;
    let pilot = text.pilot.unwrap_or(8);
    bounded("pilot", pilot as usize, (4, 1_000))?;
    let rules = rules(text, &target)?;
    let time = duration("time", text.time.as_deref().unwrap_or("60min"))?;
    knobs.check(&target)?;
    for (_, setting) in &rivals {
        target.check(&knobs.dials, setting)?;
    }
    let Knobs { dials, stock, values, left_out } = knobs;
    let (title, seed) = (text.title.clone(), text.seed.unwrap_or_else(fresh_seed));
    Ok(Wanted {
        title,
        target,
        dials,
        stock,
        values,
        rivals,
        rules,
        time,
        pilot,
        replicates,
        seed,
        left_out,
    })
}

/// The knobs of the search as they are found, and what cannot be set here.
#[derive(Default)]
struct Knobs {
    dials: Vec<Dial>,
    /// Of each, the value without us.
    stock: Setting,
    /// Of each, those to try.
    values: Vec<Vec<String>>,
    left_out: Vec<LeftOut>,
}

impl Knobs {
    /// Those that have a table.
    fn of(tables: &[KnobText], target: &Target, root: &Root) -> Result<Self, Failure> {
        bounded("[[knob]] tables", tables.len(), (1, FACTORS_MAX))?;
        let mut knobs = Self::default();
        for knob in tables {
            match turned(knob, target, root) {
                Err(why) if knob.optional => {
                    let (name, value) = (knob.name.clone(), knob.values.join(", "));
                    knobs.left_out.push(LeftOut { knob: name, value, because: why.to_string() });
                }
                Err(why) => return Err(why),
                Ok((dial, _, _)) if knobs.dials.iter().any(|known| known.name == dial.name) => {
                    return Err(Failure::usage(format!(
                        "{} stands in two [[knob]] tables; one is needed",
                        knob.name
                    )));
                }
                Ok((dial, own, tried)) => knobs.add(dial, own, tried),
            }
        }
        if let (true, Some(first)) = (knobs.dials.is_empty(), knobs.left_out.first()) {
            return Err(Failure::usage(format!(
                "none of its knobs can be set here, {} because {}",
                first.knob, first.because
            )));
        }
        Ok(knobs)
    }

    fn add(&mut self, dial: Dial, own: String, tried: Vec<String>) {
        self.dials.push(dial);
        self.stock.push(own);
        self.values.push(tried);
    }

    /// The rivals with a value for each knob of the search. A knob that only a rival sets becomes one, with no value to
    /// try.
    fn rivals(
        &mut self,
        tables: &[RivalText],
        target: &Target,
        root: &Root,
    ) -> Result<Vec<(String, Setting)>, Failure> {
        bounded("rivals", tables.len(), (0, RIVALS_MAX))?;
        let mut own = Vec::new();
        for of in tables {
            match rival(of, &self.dials, target, root) {
                Err(why) if of.optional => {
                    let (value, because) = (of.name.clone(), why.to_string());
                    self.left_out.push(LeftOut { knob: "rival".into(), value, because });
                }
                Err(why) => return Err(Failure::usage(format!("rival {}: {why}", of.name))),
                Ok(Rival { set, more }) => {
                    more.into_iter().for_each(|(dial, here)| self.add(dial, here, Vec::new()));
                    own.push((of.name.clone(), set));
                }
            }
        }
        // A later rival may have added a knob, which the earlier ones leave at stock.
        Ok(own.into_iter().map(|(name, set)| (name, self.whole(&set))).collect())
    }

    /// Stock but for what is set.
    fn whole(&self, set: &BTreeMap<String, String>) -> Setting {
        let of = |(dial, stock): (&Dial, &String)| set.get(&dial.name).unwrap_or(stock).clone();
        self.dials.iter().zip(&self.stock).map(of).collect()
    }

    /// Refuses values that the target cannot have, each beside stock.
    fn check(&self, target: &Target) -> Result<(), Failure> {
        for (at, tried) in self.values.iter().enumerate() {
            for value in tried {
                let mut setting = self.stock.clone();
                setting[at].clone_from(value);
                target.check(&self.dials, &setting)?;
            }
        }
        Ok(())
    }
}

/// A knob with its value without us, and those to try.
fn turned(
    knob: &KnobText,
    target: &Target,
    root: &Root,
) -> Result<(Dial, String, Vec<String>), Failure> {
    let dial = Dial::find(&knob.name, target.offer(), root)?;
    let own = match &knob.stock {
        Some(said) => dial.parse(said, root)?,
        None => dial.stock.clone().ok_or_else(|| {
            Failure::usage(format!("{} has no one value now; write stock = \"…\"", knob.name))
        })?,
    };
    bounded(&format!("values of {}", knob.name), knob.values.len(), (1, VALUES_MAX))?;
    let tried = knob.values.iter().map(|said| dial.parse(said, root));
    let tried = tried.collect::<Result<Vec<_>, _>>()?;
    if tried.contains(&own) {
        return Err(Failure::usage(format!(
            "{}: {own} is stock; leave it out of values",
            knob.name
        )));
    }
    Ok((dial, own, tried))
}

fn target(described: &Described) -> Result<TargetOptions, Failure> {
    let (text, file) = (&described.text, &described.file);
    if text.scenario.is_some() && !text.command.is_empty() {
        return Err(Failure::usage("scenario and command both say what is measured; keep one"));
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    Ok(TargetOptions {
        scenario: text.scenario.as_ref().map(|scenario| folder.join(scenario)),
        scenario_text: described.scenario.map(str::to_owned),
        metric: text.metric.clone(),
        better: text.better.map(|way| match way {
            Way::Less => Better::Less,
            Way::More => Better::More,
        }),
        guards: text.guards.clone(),
        tolerate: share("tolerate", text.tolerate.as_deref(), "5%")?,
        block_limit: duration("block_limit", text.block_limit.as_deref().unwrap_or("10min"))?,
        late_max: duration("late_max", text.late_max.as_deref().unwrap_or(LATE_MAX))?,
        settle: text.settle.as_deref().map(|said| duration("settle", said)).transpose()?,
        command: text.command.clone(),
    })
}

fn rules(text: &Text, target: &Target) -> Result<ComparisonRules, Failure> {
    let effect = share("effect", text.effect.as_deref(), "1%")?;
    if effect <= 0.0 {
        return Err(Failure::usage("effect is 0%; an effect above that is needed, as 1%"));
    }
    let quads = text.quads.unwrap_or(40);
    bounded("quads", quads as usize, (4, QUADS_MAX as usize))?;
    Ok(ComparisonRules {
        better: target.better(),
        level: Level::new(share("level", text.level.as_deref(), "5%")?).map_err(Failure::usage)?,
        effect: effect.ln_1p(),
        quads_max: quads,
        has_losses_measured: false,
        guards: target.guards(),
        noise: vec![noise::rule(share("steal_max", text.steal_max.as_deref(), "2%")?)],
    })
}

/// A hand-tuned setting, which is stock but for what it sets.
struct Rival {
    /// Values by knob.
    set: BTreeMap<String, String>,
    /// The knobs among these that no table has, with what they have now.
    more: Vec<(Dial, String)>,
}

fn rival(text: &RivalText, dials: &[Dial], target: &Target, root: &Root) -> Result<Rival, Failure> {
    let (mut set, mut more) = (BTreeMap::new(), Vec::new());
    for (name, said) in &text.set {
        let value = match dials.iter().find(|dial| dial.name == *name) {
            Some(dial) => dial.parse(said, root)?,
            None => {
                let dial = Dial::find(name, target.offer(), root)?;
                let here = dial.stock.clone().ok_or_else(|| {
                    Failure::usage(format!(
                        "{name} has no one value now; write a [[knob]] table with its stock"
                    ))
                })?;
                let value = dial.parse(said, root)?;
                more.push((dial, here));
                value
            }
        };
        set.insert(name.clone(), value);
    }
    Ok(Rival { set, more })
}

/// Pairs with commas between them. What has no sign of equality belongs to the value before: `cpus=0-1,3`.
fn settings(said: &str) -> Result<BTreeMap<String, String>, Failure> {
    let needed = || {
        Failure::usage(format!(
            "--rival {said}: a file, or knobs as nice=5,thp=never with each once, is needed"
        ))
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    for part in said.split(',') {
        match part.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                pairs.push((name.into(), value.into()));
            }
            Some(_) => return Err(needed()),
            None => {
                let (_, value) = pairs.last_mut().ok_or_else(needed)?;
                *value = format!("{value},{part}");
            }
        }
    }
    let count = pairs.len();
    let set: BTreeMap<String, String> = pairs.into_iter().collect();
    if set.len() == count { Ok(set) } else { Err(needed()) }
}

fn share(key: &str, said: Option<&str>, usual: &str) -> Result<f64, Failure> {
    percent(said.unwrap_or(usual)).map_err(|why| Failure::usage(format!("{key}: {why}")))
}

fn duration(key: &str, said: &str) -> Result<Duration, Failure> {
    parse_duration(said).map_err(|why| Failure::usage(format!("{key}: {why}")))
}

fn bounded(what: &str, found: usize, (low, high): (usize, usize)) -> Result<(), Failure> {
    if (low..=high).contains(&found) {
        return Ok(());
    }
    Err(Failure::usage(format!("{what}: {found} found, {low} to {high} are needed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_is_pairs_of_which_values_may_have_commas() {
        let set =
            settings("cpus=0-1,3,server.model=adb:4,tcp-rmem=4096,8192,16384").expect("pairs");
        let found: Vec<(&str, &str)> =
            set.iter().map(|(of, is)| (of.as_str(), is.as_str())).collect();
        let expected =
            [("cpus", "0-1,3"), ("server.model", "adb:4"), ("tcp-rmem", "4096,8192,16384")];
        assert_eq!(found, expected);
        for wrong in ["=5", "nice=", "3,nice=5", "nice=5,nice=6"] {
            let why = settings(wrong).unwrap_err().to_string();
            assert!(why.contains(wrong) && why.contains("nice=5,thp=never"), "{why}");
        }
    }
}
