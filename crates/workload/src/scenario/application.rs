//! `[server]` `application` and `settings`: a program that serves, by name.

use super::error::TextPlace;
use super::item::Item;
use super::section::Section;
use crate::limits;

/// An application as the file names it. Name and settings stay text here; whoever has the applications
/// checks them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApplicationUse {
    /// Its name.
    pub name: String,
    /// Its settings, in the file's order.
    pub settings: Vec<ApplicationSetting>,
    /// Where the name stands.
    pub place: TextPlace,
}

/// A setting that departs from the application's default, or from what a process has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApplicationSetting {
    /// Its name.
    pub key: String,
    /// Its value as text: numbers, truth values and texts alike.
    pub value: String,
    /// Where it stands.
    pub place: TextPlace,
}

impl ApplicationUse {
    /// Where the setting of this name stands, or else the application's name: for the errors of whoever
    /// knows what settings mean.
    #[must_use]
    pub fn place_of(&self, key: &str) -> TextPlace {
        let found = self.settings.iter().find(|setting| setting.key == key);
        found.map_or(self.place, |setting| setting.place)
    }
}

/// `None` where none is named.
pub(super) fn read(section: &Section<'_>) -> Option<ApplicationUse> {
    let settings = section.item("settings");
    let Some(item) = section.item("application") else {
        if let Some(settings) = settings {
            settings.problem(format!(
                "{} is given without server.application; leave it out, or name whose settings they are",
                settings.name
            ));
        }
        return None;
    };
    Some(ApplicationUse {
        name: item.text().unwrap_or_default().into(),
        settings: settings.map_or_else(Vec::new, |item| self::settings(&item)),
        place: item.place(),
    })
}

/// Of a table whose keys somebody else knows.
pub(super) fn settings(item: &Item<'_>) -> Vec<ApplicationSetting> {
    let pairs = item.pairs();
    if pairs.len() > limits::LIST_MAX {
        let (count, max) = (pairs.len(), limits::LIST_MAX);
        item.problem(format!("{} has {count} settings; {max} at most are needed", item.name));
    }
    let pairs = pairs.into_iter().take(limits::LIST_MAX);
    let settings = pairs.filter_map(|(key, item)| {
        Some(ApplicationSetting { key: key.into(), value: item.scalar()?, place: item.place() })
    });
    settings.collect()
}
