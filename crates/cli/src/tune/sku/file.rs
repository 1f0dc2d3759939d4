//! The file of `tailwater tune sku`: which knobs, which values, what is measured.

use super::super::ab::QUADS_MAX;
use super::super::dial::{Dial, Setting};
use super::super::machine::Root;
use super::super::targets::{Target, TargetOptions};
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
    /// Values of optional knobs that cannot be set here.
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
        Self::parse(file.to_owned(), &scenarios::read(file)?, None)
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

    /// What it comes to with the knobs as they are now.
    pub(super) fn on(&self, root: &Root) -> Result<Wanted, Failure> {
        wanted(self, root)
            .map_err(|failure| Failure::usage(format!("{}: {failure}", self.file.display())))
    }
}

fn wanted(described: &Described, root: &Root) -> Result<Wanted, Failure> {
    let text = &described.text;
    let target = Target::new(&target(described)?)?;
    let (mut dials, mut stock, mut values) = (Vec::<Dial>::new(), Vec::new(), Vec::new());
    let mut left_out = Vec::new();
    bounded("[[knob]] tables", text.knob.len(), (1, FACTORS_MAX))?;
    for knob in &text.knob {
        let found = turned(knob, &target, root);
        let (dial, own, tried) = match found {
            Err(why) if knob.optional => {
                let (name, value) = (knob.name.clone(), knob.values.join(", "));
                left_out.push(LeftOut { knob: name, value, because: why.to_string() });
                continue;
            }
            found => found?,
        };
        if dials.iter().any(|known| known.name == dial.name) {
            return Err(Failure::usage(format!(
                "{} stands in two [[knob]] tables; one is needed",
                knob.name
            )));
        }
        stock.push(own);
        values.push(tried);
        dials.push(dial);
    }
    if let (true, Some(first)) = (dials.is_empty(), left_out.first()) {
        return Err(Failure::usage(format!(
            "none of its knobs can be set here, {} because {}",
            first.knob, first.because
        )));
    }
    bounded("[[rival]] tables", text.rival.len(), (0, RIVALS_MAX))?;
    let rivals = text.rival.iter().map(|of| rival(of, &dials, &stock, root));
    let rivals = rivals.collect::<Result<Vec<_>, _>>()?;
    let replicates = text.replicates.unwrap_or(2);
    bounded("replicates", replicates as usize, (1, REPLICATES_MAX as usize))?;
    let pilot = text.pilot.unwrap_or(8);
    bounded("pilot", pilot as usize, (4, 1_000))?;
    let rules = rules(text, &target)?;
    let time = duration("time", text.time.as_deref(), "60min")?;
    for (at, tried) in values.iter().enumerate() {
        for value in tried {
            let mut setting: Setting = stock.clone();
            setting[at].clone_from(value);
            target.check(&dials, &setting)?;
        }
    }
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
        block_limit: duration("block_limit", text.block_limit.as_deref(), "10min")?,
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
        guards: target.guards(),
        noise: vec![noise::rule(share("steal_max", text.steal_max.as_deref(), "2%")?)],
    })
}

/// A hand-tuned setting: stock but for what it sets.
fn rival(
    text: &RivalText,
    dials: &[Dial],
    stock: &Setting,
    root: &Root,
) -> Result<(String, Setting), Failure> {
    let mut setting = stock.clone();
    for (name, said) in &text.set {
        let at = dials.iter().position(|dial| dial.name == *name).ok_or_else(|| {
            Failure::usage(format!(
                "rival {} sets {name}, which stands in no [[knob]] table",
                text.name
            ))
        })?;
        setting[at] = dials[at].parse(said, root)?;
    }
    Ok((text.name.clone(), setting))
}

fn share(key: &str, said: Option<&str>, usual: &str) -> Result<f64, Failure> {
    percent(said.unwrap_or(usual)).map_err(|why| Failure::usage(format!("{key}: {why}")))
}

fn duration(key: &str, said: Option<&str>, usual: &str) -> Result<Duration, Failure> {
    parse_duration(said.unwrap_or(usual)).map_err(|why| Failure::usage(format!("{key}: {why}")))
}

fn bounded(what: &str, found: usize, (low, high): (usize, usize)) -> Result<(), Failure> {
    if (low..=high).contains(&found) {
        return Ok(());
    }
    Err(Failure::usage(format!("{what}: {found} found, {low} to {high} are needed")))
}
