//! A service with settings of the user's: as the text of a scenario, which every process reads.

use crate::failure::Failure;
use crate::services::{SERVICES, Service, Variant};
use crate::values::key_value;
use crate::{applications, scenarios};
use clap::Args;
use std::path::{Path, PathBuf};
use tailwater_workload::Scenario;
use toml::{Table, Value};

/// Which service, and with which settings, as flags.
#[derive(Args, Debug)]
pub(crate) struct ChoiceOptions {
    /// The service; tailwater suite list names them.
    service: String,
    /// Changes a setting of the service; may be repeated. Those that decide its data are part of their names.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Instead of the scenario's number of leaves.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    leaves: Option<u32>,
}

impl ChoiceOptions {
    pub(crate) fn choice(&self) -> Choice<'_> {
        Choice { service: &self.service, set: &self.set, leaves: self.leaves }
    }
}

/// What was asked for.
pub(crate) struct Choice<'a> {
    pub(crate) service: &'a str,
    /// Settings that replace the scenario's.
    pub(crate) set: &'a [(String, String)],
    /// Nodes of each tier in which the service serves, instead of the scenario's.
    pub(crate) leaves: Option<u32>,
}

impl Choice<'_> {
    /// As messages call it.
    pub(crate) fn file(&self) -> PathBuf {
        let variant = find(self.service).ok().and_then(|service| self.variant(service));
        let name = variant.map_or(self.service, |variant| variant.name);
        PathBuf::from(format!("scenarios/{name}.toml"))
    }

    /// The scenario, whose settings the application takes.
    pub(crate) fn scenario(&self) -> Result<Scenario, Failure> {
        let service = find(self.service)?;
        let text = self.text(self.variant(service).map_or(service.scenario, |it| it.scenario))?;
        let scenario = scenarios::parse(&self.file(), &text)?;
        // Flags have no line in a file.
        let message = |problem: &tailwater_workload::scenario::Problem| problem.message.clone();
        applications::of(&scenario, Path::new("")).map_err(|error| {
            let messages: Vec<String> = error.problems.iter().map(message).collect();
            Failure::usage(messages.join("; "))
        })?;
        Ok(scenario)
    }

    /// What is played instead of the service's scenario, if the settings stand for that. Of a setting the last counts.
    fn variant(&self, service: &Service) -> Option<&'static Variant> {
        service.variants.iter().find(|variant| {
            let (key, value) = variant.setting;
            let said = self.set.iter().rev().find(|(said, _)| said == key);
            said.is_some_and(|(_, said)| said == value)
        })
    }

    fn text(&self, of: &str) -> Result<String, Failure> {
        if self.set.is_empty() && self.leaves.is_none() {
            return Ok(of.to_owned());
        }
        let mut table: Table = of.parse().map_err(Failure::work)?;
        for (key, value) in self.set {
            let settings = inner(&mut table, "server").and_then(|server| inner(server, "settings"));
            let settings =
                settings.ok_or_else(|| Failure::work("[server.settings] is no table"))?;
            settings.insert(key.clone(), Value::String(value.clone()));
        }
        if let (Some(leaves), Some(Value::Array(tiers))) = (self.leaves, table.get_mut("tier")) {
            let served = |tier: &&mut Table| {
                tier.get("application").is_some_and(|it| it.as_bool() == Some(true))
            };
            for tier in tiers.iter_mut().filter_map(Value::as_table_mut).filter(served) {
                tier.insert("nodes".into(), Value::Integer(leaves.into()));
            }
        }
        Ok(table.to_string())
    }
}

/// The table under a key, which is made where it is missing.
fn inner<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Table> {
    table.entry(key).or_insert_with(|| Value::Table(Table::new())).as_table_mut()
}

/// The service of this name.
pub(super) fn find(name: &str) -> Result<&'static Service, Failure> {
    SERVICES.iter().find(|service| service.kind.name == name).ok_or_else(|| {
        let known: Vec<&str> = SERVICES.iter().map(|service| service.kind.name).collect();
        let known = known.join(", ");
        Failure::usage(format!(
            "found no service {name}; one of {known} is needed (tailwater suite list)"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_workload::scenario::ApplicationSetting;

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn every_service_has_a_sound_scenario() {
        for service in SERVICES {
            let name = service.kind.name;
            let choice = Choice { service: name, set: &[], leaves: None };
            let scenario = choice.scenario().unwrap_or_else(|why| panic!("{name}: {why}"));
            let application = scenario.server.application.as_ref();
            assert_eq!(application.map(|it| it.name.as_str()), Some(name));
            assert!(scenario.tiers.iter().any(|tier| tier.application), "{name} has tiers");
        }
    }

    #[test]
    fn settings_and_leaves_replace_those_of_the_scenario() {
        let set = [pair("documents", "300"), pair("text", "generated")];
        let choice = Choice { service: "setalgebra", set: &set, leaves: Some(2) };
        let scenario = choice.scenario().expect("sound");
        assert_eq!(scenario.tiers[0].nodes, 2);
        let settings = scenario.server.application.expect("an application").settings;
        let value = |key: &str| -> Option<String> {
            let is = |it: &&ApplicationSetting| it.key == key;
            settings.iter().find(is).map(|setting| setting.value.clone())
        };
        assert_eq!(value("documents").as_deref(), Some("300"));
        assert_eq!(value("text").as_deref(), Some("generated"));
    }

    #[test]
    fn a_setting_may_stand_for_another_scenario() {
        let played = |set: &[(String, String)]| {
            let choice = Choice { service: "router", set, leaves: Some(3) };
            let scenario = choice.scenario().unwrap_or_else(|why| panic!("{why}"));
            (choice.file(), scenario.tiers[0].command.is_some(), scenario.tiers[0].nodes)
        };
        let stores = (PathBuf::from("scenarios/router.toml"), false, 3);
        let memcacheds = (PathBuf::from("scenarios/router-memcached.toml"), true, 3);
        let [store, memcached] = ["store", "memcached"].map(|value| pair("leaf", value));
        assert_eq!(played(&[]), stores);
        assert_eq!(played(std::slice::from_ref(&memcached)), memcacheds);
        assert_eq!(played(&[store.clone(), memcached.clone()]), memcacheds);
        assert_eq!(played(&[memcached.clone(), store]), stores);
        let (front, rpc) = (pair("front", "memcached"), pair("front", "rpc"));
        let proxy = (PathBuf::from("scenarios/router-front-memcached.toml"), true, 3);
        assert_eq!(played(std::slice::from_ref(&front)), proxy);
        assert_eq!(played(&[memcached.clone(), front]), proxy);
        assert_eq!(played(&[rpc, memcached]), memcacheds);
    }

    #[test]
    fn each_scenario_of_a_service_says_what_it_stands_for() {
        for service in SERVICES {
            for variant in service.variants {
                let (key, value) = variant.setting;
                let file = PathBuf::from(format!("{}.toml", variant.name));
                let scenario = scenarios::parse(&file, variant.scenario)
                    .unwrap_or_else(|why| panic!("{}: {why}", variant.name));
                let application = scenario.server.application.expect("an application");
                assert_eq!(application.name, service.kind.name);
                let says = |it: &ApplicationSetting| (&*it.key, &*it.value) == (key, value);
                assert!(application.settings.iter().any(says), "{}", variant.name);
            }
        }
    }

    #[test]
    fn what_is_not_there_is_named_without_a_line() {
        let why = |service, set: &[(String, String)]| {
            let choice = Choice { service, set, leaves: None };
            choice.scenario().map(drop).expect_err("refused").to_string()
        };
        assert_eq!(
            why("setalgerba", &[]),
            "found no service setalgerba; one of setalgebra, hdsearch, recommend, router is needed (tailwater suite list)"
        );
        let said = why("setalgebra", &[pair("hits", "0")]);
        assert!(said.starts_with("server.settings of setalgebra: hits is \"0\""), "{said}");
    }
}
