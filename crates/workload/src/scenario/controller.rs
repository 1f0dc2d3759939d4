//! `[[controller]]`: what is compared. Names and overrides stay text here; the catalog checks them.

use super::error::Place;
use super::item::Item;
use super::limits;
use super::locks::{self, LockPolicy};
use super::section::Section;

/// A controller as the file names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControllerSpec {
    /// Its name in the catalog.
    pub name: String,
    /// Its profile. Default `default`.
    pub profile: String,
    /// Changes to the profile, in the file's order.
    pub overrides: Vec<Override>,
    /// Tells variants of a controller apart in reports.
    pub label: Option<String>,
    /// What requests of these runs do at locks; `None`: what the server says. Lets one file compare.
    pub locks: Option<LockPolicy>,
    /// Where the name stands.
    pub name_place: Place,
    /// Where the profile stands, or the name when there is none.
    pub profile_place: Place,
}

/// A setting that departs from the profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    /// The setting's name.
    pub key: String,
    /// Its value as text: numbers, truth values and texts alike.
    pub value: String,
    /// Where it stands.
    pub place: Place,
}

const KEYS: &[&str] = &["name", "profile", "override", "label", "locks"];

impl ControllerSpec {
    /// How reports call it: its label, or name, profile and overrides.
    #[must_use]
    pub fn title(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        let mut said = vec![self.profile.clone()];
        said.extend(self.locks.map(|policy| format!("locks={policy}")));
        said.extend(self.overrides.iter().map(|o| format!("{}={}", o.key, o.value)));
        format!("{} ({})", self.name, said.join(", "))
    }

    /// Where an override, the profile or the name of this spelling stands, for the errors of whoever
    /// knows the catalog; the name when it is none of them.
    #[must_use]
    pub fn place_of(&self, culprit: &str) -> Place {
        if let Some(found) = self.overrides.iter().find(|o| o.key == culprit) {
            found.place
        } else if self.profile == culprit {
            self.profile_place
        } else {
            self.name_place
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let same_labels = self.label == other.label;
        let settings = |spec: &Self| -> Vec<(String, String)> {
            let pairs = spec.overrides.iter();
            pairs.map(|o| (o.key.clone(), o.value.clone())).collect()
        };
        same_labels
            && (self.label.is_some()
                || (self.name == other.name
                    && self.profile == other.profile
                    && self.locks == other.locks
                    && settings(self) == settings(other)))
    }
}

/// All controllers of a file.
pub(super) fn read(top: &Section<'_>) -> Vec<ControllerSpec> {
    let example = "[[controller]] with name = \"breakwater\"";
    top.needed("controller", example, |item| {
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
    item.section(KEYS).and_then(|section| spec(&section))
}

fn spec(section: &Section<'_>) -> Option<ControllerSpec> {
    let (name, name_place) = section.needed("name", "name = \"breakwater\"", |item| {
        Some((item.text()?.to_owned(), item.place()))
    })?;
    let profile = section.item("profile");
    let profile = profile.and_then(|item| Some((item.text()?.to_owned(), item.place())));
    let (profile, profile_place) = profile.unwrap_or_else(|| ("default".into(), name_place));
    let overrides = section.item("override").map(|item| overrides(&item));
    Some(ControllerSpec {
        name,
        profile,
        overrides: overrides.unwrap_or_default(),
        label: section.text("label"),
        locks: section.item("locks").and_then(|item| locks::policy(&item)),
        name_place,
        profile_place,
    })
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
