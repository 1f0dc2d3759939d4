//! Settings that publications state, by name: data files under `presets/`, embedded.
//!
//! A preset is called `FILE/WORKLOAD` and has settings for several controllers; a scenario's
//! controller takes those of its own name. Each value's source stands beside it in the file. What the
//! settings mean is the catalog's affair, as with overrides.

use toml::{Table, Value};

/// Name and text of every file of `presets/`.
const FILES: &[(&str, &str)] =
    &[("breakwater-osdi20", include_str!("../../../presets/breakwater-osdi20.toml"))];

/// Settings for one workload of one publication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preset {
    /// `FILE/WORKLOAD`.
    pub name: String,
    /// Controllers that it has settings for, each with setting and value in order of their names.
    pub controllers: Vec<(String, Vec<(String, String)>)>,
}

impl Preset {
    /// What it says of a controller, or nothing where it has no section for it.
    #[must_use]
    pub fn settings_of(&self, controller: &str) -> Option<&[(String, String)]> {
        let found = self.controllers.iter().find(|(name, _)| name == controller);
        found.map(|(_, settings)| settings.as_slice())
    }
}

/// Every preset there is, file by file and in order of their names.
#[must_use]
pub fn presets() -> Vec<Preset> {
    FILES.iter().flat_map(|(file, text)| of_file(file, text)).collect()
}

fn of_file(file: &str, text: &str) -> Vec<Preset> {
    let table: Table = text.parse().expect("a test parses every embedded file");
    let workload = |(name, value): (&String, &Value)| Preset {
        name: format!("{file}/{name}"),
        controllers: sections(value),
    };
    table.iter().map(workload).collect()
}

fn sections(workload: &Value) -> Vec<(String, Vec<(String, String)>)> {
    let section = |(name, value): (&String, &Value)| {
        let pairs = value.as_table().into_iter().flatten();
        (name.clone(), pairs.map(|(key, value)| (key.clone(), scalar(value))).collect())
    };
    workload.as_table().into_iter().flatten().map(section).collect()
}

/// As an override's value is written.
fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_workloads_with_controllers_with_scalars() {
        for (file, text) in FILES {
            let found = of_file(file, text);
            assert!(!found.is_empty(), "{file}");
            for preset in &found {
                assert!(!preset.controllers.is_empty(), "{}", preset.name);
                for (name, settings) in &preset.controllers {
                    assert!(!settings.is_empty(), "{} {name}", preset.name);
                    let nested = |value: &str| value.contains(['{', '[']);
                    assert!(settings.iter().all(|(_, value)| !nested(value)), "{name}");
                }
            }
        }
    }

    #[test]
    fn the_papers_values_are_there() {
        let all = presets();
        let preset = all.iter().find(|preset| preset.name == "breakwater-osdi20/10us");
        let seda = preset.and_then(|preset| preset.settings_of("seda")).expect("it is there");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert!(seda.contains(&pair("adj_i", "40")) && seda.contains(&pair("adj_d", "1.04")));
    }

    #[test]
    fn each_value_has_its_source_beside_it() {
        for (file, text) in FILES {
            for line in text.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')) {
                let source = line.split_once('#').map_or("", |(_, comment)| comment);
                let known = ["§", "configs", "ours", "code"];
                assert!(known.iter().any(|word| source.contains(word)), "{file}: {line}");
            }
        }
    }
}
