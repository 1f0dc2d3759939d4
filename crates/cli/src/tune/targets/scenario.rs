//! A scenario as what is measured: one run of it is a block, and its keys are knobs.

use super::super::dial::{Dial, Setting};
use crate::failure::Failure;
use crate::run::launched;
use crate::scenarios;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use tailwater_workload::Scenario;
use toml::{Table, Value};

/// A scenario that is one run.
pub(super) struct ScenarioTarget {
    file: PathBuf,
    table: Table,
    parsed: Scenario,
}

impl ScenarioTarget {
    /// Of this text, or of what the file says.
    pub(super) fn new(file: &Path, text: Option<String>) -> Result<Self, Failure> {
        if file == Path::new("-") {
            return Err(Failure::usage("--scenario needs a file: it is read for each block"));
        }
        let text = text.map_or_else(|| scenarios::read(file), Ok)?;
        let parsed = scenarios::parse(file, &text)?;
        let table =
            text.parse().map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
        let target = Self { file: file.to_owned(), table, parsed };
        target.is_one_run(&target.parsed)?;
        Ok(target)
    }

    fn is_one_run(&self, scenario: &Scenario) -> Result<(), Failure> {
        let name = self.file.display();
        let runs = scenario.runs() / u64::from(scenario.repetitions.max(1));
        if runs != 1 {
            return Err(Failure::usage(format!(
                "{name}: a block is one run, and this has {runs}; keep one controller, one demand, one number of clients \
                 and one SLO"
            )));
        }
        if scenario.capacity.fixed.is_none() {
            return Err(Failure::usage(format!(
                "{name}: without [capacity] fixed_rps each block would measure its own capacity, and arms be asked for \
                 different loads; run it once and write down what it finds"
            )));
        }
        scenario.needs_simulator().map_or(Ok(()), Err).map_err(Failure::usage)
    }

    pub(super) fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// Where the files lie that it names.
    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }

    /// Its text with the values of a setting, which was found to be one run.
    pub(super) fn with(&self, dials: &[Dial], setting: &Setting) -> Result<String, Failure> {
        let mut table = self.table.clone();
        for (key, value) in dials.iter().zip(setting).filter_map(|(dial, value)| dial.key(value)) {
            put(&mut table, key, value).map_err(|why| Failure::usage(format!("{key}: {why}")))?;
        }
        let text = toml::to_string(&table).map_err(Failure::work)?;
        let scenario = scenarios::parse(&self.file, &text).map_err(|failure| {
            let values = setting.join(", ");
            failure.and(&format!("so it cannot be played with the values {values}"))
        })?;
        self.is_one_run(&scenario)?;
        launched::knobs(&scenario).map_err(Failure::usage)?;
        Ok(text)
    }

    /// The words that play it from standard input.
    pub(super) fn words(&self, seed: u64) -> Result<Vec<String>, Failure> {
        let myself = std::env::current_exe().map_err(Failure::work)?;
        let mut words = vec![myself.display().to_string()];
        words.extend(flags("-", seed));
        Ok(words)
    }

    /// What a person would type for a block.
    pub(super) fn words_for_people(
        &self,
        dials: &[Dial],
        setting: &Setting,
        seed: u64,
    ) -> Vec<String> {
        let mut words = vec!["tailwater".to_owned()];
        words.extend(flags(&self.file.display().to_string(), seed));
        let keys = dials.iter().zip(setting).filter_map(|(dial, value)| dial.key(value));
        words.extend(keys.map(|(key, value)| format!("[{key} = {value}]")));
        words
    }
}

fn flags(file: &str, seed: u64) -> Vec<String> {
    let seed = seed.to_string();
    ["run", file, "--json", "--repetitions", "1", "--seed", &seed].map(String::from).into()
}

/// Puts a value under a key with dots. A list of one table is taken for that table.
fn put(table: &mut Table, key: &str, value: &str) -> Result<(), String> {
    let Some((first, rest)) = key.split_once('.') else {
        table.insert(key.into(), typed(value));
        return Ok(());
    };
    let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
    match inner {
        Value::Table(inner) => put(inner, rest, value),
        Value::Array(list) => match list.as_mut_slice() {
            [Value::Table(inner)] => put(inner, rest, value),
            _ => Err(format!("{first} is a list of several; one is needed")),
        },
        _ => Err(format!("{first} is a value and no table")),
    }
}

/// A value as TOML has it; a text where it is none.
fn typed(text: &str) -> Value {
    let parsed =
        format!("v = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
    parsed.unwrap_or_else(|| Value::String(text.into()))
}

/// Why the run does not count by its own rules, if it does not.
pub(super) fn invalid(json: &Json) -> Result<Option<String>, String> {
    let run = json.pointer("/runs/0").ok_or("it says nothing of a run")?;
    if run.get("valid").and_then(Json::as_bool) == Some(true) {
        return Ok(None);
    }
    let because = run.get("invalid_because").and_then(Json::as_array);
    let because = because.into_iter().flatten().filter_map(Json::as_str);
    let because: Vec<&str> = because.collect();
    Ok(Some(if because.is_empty() { "the run is not valid".into() } else { because.join("; ") }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_put_where_they_belong_with_their_type() {
        let mut table: Table =
            "slo = '1ms'\n[[controller]]\nname = 'none'\n".parse().expect("TOML");
        put(&mut table, "server.loops", "2").expect("a new table");
        put(&mut table, "server.model", "adb:4").expect("a text");
        put(&mut table, "controller.name", "seda").expect("the only one");
        let text = toml::to_string(&table).expect("TOML");
        for line in ["loops = 2", "model = \"adb:4\"", "name = \"seda\"", "slo = \"1ms\""] {
            assert!(text.contains(line), "{text}");
        }
        assert!(put(&mut table, "slo.x", "1").unwrap_err().contains("no table"));
    }

    #[test]
    fn a_run_that_does_not_count_says_why() {
        let json = |text: &str| serde_json::from_str::<Json>(text).expect("JSON");
        assert_eq!(invalid(&json(r#"{"runs":[{"valid":true}]}"#)), Ok(None));
        let late = json(r#"{"runs":[{"valid":false,"invalid_because":["late","slow"]}]}"#);
        assert_eq!(invalid(&late), Ok(Some("late; slow".into())));
        assert!(invalid(&json("{}")).is_err());
    }
}
