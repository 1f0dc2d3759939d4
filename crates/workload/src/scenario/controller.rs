//! `[[controller]]`: what is compared. Names and overrides stay text here; the catalog checks them.

use super::error::TextPlace;
use super::item::Item;
use super::model;
use super::section::Section;
use crate::limits;
use crate::preset::presets;
use tailwater_core::locks::LockPolicy;
use tailwater_core::threads::Model;
use tailwater_core::words::clip;

/// A controller as the file names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControllerSpec {
    /// Its name in the catalog.
    pub name: String,
    /// Its profile. Default `default`.
    pub profile: String,
    /// A publication's settings, which change the profile before the overrides do.
    pub preset: Option<PresetUse>,
    /// Changes to the profile, in the file's order.
    pub overrides: Vec<Override>,
    /// Tells variants of a controller apart in reports.
    pub label: Option<String>,
    /// What requests of these runs do at locks; `None`: what the server says. Lets one file compare.
    pub locks: Option<LockPolicy>,
    /// The server's threading model in these runs; `None`: what the server says. Lets one file compare.
    pub model: Option<Model>,
    /// Where the name stands.
    pub name_place: TextPlace,
    /// Where the profile stands, or the name when there is none.
    pub profile_place: TextPlace,
}

/// A preset that a controller names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PresetUse {
    /// As in [`presets`].
    pub name: String,
    /// What it says of the controller.
    pub settings: Vec<(String, String)>,
    /// Where it is named.
    pub place: TextPlace,
}

/// A setting that departs from the profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    /// The setting's name.
    pub key: String,
    /// Its value as text: numbers, truth values and texts alike.
    pub value: String,
    /// Where it stands.
    pub place: TextPlace,
}

/// The one that is no publication's.
const DEFAULT_PROFILE: &str = "default";

impl ControllerSpec {
    /// How reports call it: its label, or name, profile, preset and overrides.
    #[must_use]
    pub fn title(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        let said = [vec![self.profile.clone()], self.departures()].concat();
        format!("{} ({})", self.name, said.join(", "))
    }

    /// How results call its profile: its label, or its departures in brackets behind it.
    #[must_use]
    pub fn called(&self) -> String {
        let departures = self.departures();
        match (&self.label, departures.is_empty()) {
            (Some(label), _) => label.clone(),
            (None, true) => self.profile.clone(),
            (None, false) => format!("{} [{}]", self.profile, departures.join(", ")),
        }
    }

    /// How it departs from its profile, as reports say it: `key=value` each.
    #[must_use]
    pub fn departures(&self) -> Vec<String> {
        let locks = self.locks.map(|policy| format!("locks={policy}"));
        let model = self.model.map(|model| format!("model={model}"));
        let preset = self.preset.as_ref().map(|preset| format!("preset={}", preset.name));
        let overrides = self.overrides.iter().map(|o| format!("{}={}", o.key, o.value));
        locks.into_iter().chain(model).chain(preset).chain(overrides).collect()
    }

    /// Setting and value in the order in which they apply: the preset's, then the overrides.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, String)> {
        let preset = self.preset.iter().flat_map(|preset| preset.settings.iter().cloned());
        let overrides = self.overrides.iter().map(|o| (o.key.clone(), o.value.clone()));
        preset.chain(overrides).collect()
    }

    /// Where an override, the preset that has it, the profile or the name of this spelling stands, for
    /// the errors of whoever knows the catalog; the name when it is none of them.
    #[must_use]
    pub fn place_of(&self, culprit: &str) -> TextPlace {
        if let Some(found) = self.overrides.iter().find(|o| o.key == culprit) {
            found.place
        } else if self.profile == culprit {
            self.profile_place
        } else {
            let holds = |preset: &&PresetUse| preset.settings.iter().any(|(key, _)| key == culprit);
            self.preset.as_ref().filter(holds).map_or(self.name_place, |preset| preset.place)
        }
    }

    /// No control, as if it were named there.
    pub(super) fn uncontrolled(place: TextPlace) -> Self {
        Self {
            name: "none".into(),
            profile: DEFAULT_PROFILE.into(),
            preset: None,
            overrides: Vec::new(),
            label: None,
            locks: None,
            model: None,
            name_place: place,
            profile_place: place,
        }
    }

    /// Its profile or its preset is a publication's.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.profile != DEFAULT_PROFILE || self.preset.is_some()
    }

    fn is_like(&self, other: &Self) -> bool {
        // A label may be what results call another one that has none: their runs would be repetitions of one.
        let same_results = self.name == other.name && self.called() == other.called();
        let same_labels = self.label.is_some() && self.label == other.label;
        let same_settings = self.label == other.label
            && self.name == other.name
            && self.profile == other.profile
            && self.locks == other.locks
            && self.model == other.model
            && self.settings() == other.settings();
        same_results || same_labels || same_settings
    }
}

/// All controllers of a file.
pub(super) fn read(top: &Section<'_>) -> Vec<ControllerSpec> {
    top.needed("controller", |item| {
        let mut specs: Vec<ControllerSpec> = Vec::new();
        for item in item.one_or_list() {
            let Some(spec) = one(&item) else {
                continue;
            };
            if let Some(twin) = specs.iter().find(|twin| twin.is_like(&spec)) {
                item.problem(format!(
                    "{} is called like the controller of line {}; a label of its own is needed",
                    spec.title(),
                    twin.name_place.line
                ));
            }
            specs.push(spec);
        }
        specs
    })
}

/// A single controller.
pub(super) fn one(item: &Item<'_>) -> Option<ControllerSpec> {
    item.section().and_then(|section| spec(&section))
}

fn spec(section: &Section<'_>) -> Option<ControllerSpec> {
    let (name, name_place) =
        section.needed("name", |item| Some((item.text()?.to_owned(), item.place())))?;
    let profile = section.item("profile");
    let profile = profile.and_then(|item| Some((item.text()?.to_owned(), item.place())));
    let (profile, profile_place) = profile.unwrap_or_else(|| (DEFAULT_PROFILE.into(), name_place));
    let overrides = section.item("override").map(|item| overrides(&item));
    let preset = section.item("preset").and_then(|item| preset(&item, &name));
    Some(ControllerSpec {
        name,
        profile,
        preset,
        overrides: overrides.unwrap_or_default(),
        label: section.line("label"),
        locks: section.item("locks").and_then(|item| item.word()),
        model: section.item("model").and_then(|item| model::read(&item)),
        name_place,
        profile_place,
    })
}

fn preset(item: &Item<'_>, controller: &str) -> Option<PresetUse> {
    let name = item.text()?;
    let all = presets();
    let Some(preset) = all.iter().find(|preset| preset.name == name) else {
        let names: Vec<&str> = all.iter().map(|preset| preset.name.as_str()).collect();
        return item.unknown(name, &names);
    };
    let Some(settings) = preset.settings_of(controller) else {
        let known: Vec<&str> = preset.controllers.iter().map(|(name, _)| name.as_str()).collect();
        item.problem(format!(
            "{} is \"{name}\", which says nothing of {}; it has settings for {}",
            item.name,
            clip(controller),
            known.join(", ")
        ));
        return None;
    };
    Some(PresetUse { name: name.into(), settings: settings.to_vec(), place: item.place() })
}

fn overrides(item: &Item<'_>) -> Vec<Override> {
    let pairs = item.pairs();
    let (count, max) = (pairs.len(), limits::LIST_MAX);
    if count > max {
        item.problem(format!("{} has {count} settings; {max} at most are needed", item.name));
        return Vec::new();
    }
    let change = |(key, item): (&str, Item<'_>)| {
        Some(Override { key: key.into(), value: item.scalar()?, place: item.place() })
    };
    pairs.into_iter().filter_map(change).collect()
}
