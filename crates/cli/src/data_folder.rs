//! The folder of prepared data: where a flag, the environment or the user's cache says.

use crate::failure::Failure;
use crate::quoted::quoted;
use clap::Args;
use std::path::PathBuf;
use tailwater_workload::Scenario;

/// Where prepared data lie.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DataFolder {
    /// Where prepared data lie, and are put. Left out: what TAILWATER_DATA says, else the folder tailwater in the user's
    /// cache (XDG_CACHE_HOME or ~/.cache). It can be removed at any time; the data are made anew when they are needed.
    #[arg(long = "data", value_name = "DIR")]
    data: Option<PathBuf>,
}

/// The environment's word for it.
const VARIABLE: &str = "TAILWATER_DATA";

impl DataFolder {
    /// The folder, which need not exist.
    ///
    /// # Errors
    /// Where nothing says it: a folder for temporary files belongs to everybody.
    pub(crate) fn path(&self) -> Result<PathBuf, Failure> {
        self.data.clone().or_else(|| of_environment(&named)).ok_or_else(|| {
            let why = "found no home (HOME, XDG_CACHE_HOME) in which prepared data could lie; say --data DIR";
            Failure::usage(why)
        })
    }

    /// What is to be typed behind another command, so that it takes the same folder: nothing where no flag named it.
    pub(crate) fn flag(&self) -> String {
        let named = |data: &PathBuf| format!(" --data {}", quoted(&data.display().to_string()));
        self.data.as_ref().map_or_else(String::new, named)
    }

    /// The folder for a scenario; nowhere for one without an application, which has no data.
    pub(crate) fn path_for(&self, scenario: &Scenario) -> Result<PathBuf, Failure> {
        match scenario.server.application {
            Some(_) => self.path(),
            None => Ok(PathBuf::new()),
        }
    }
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn of_environment(named: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let cache = || named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let home = || named("HOME").map(|home| home.join(".cache"));
    named(VARIABLE).or_else(|| Some(cache().or_else(home)?.join("tailwater")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_counts() {
        let of = |said: &[(&str, &str)]| {
            let said: Vec<(String, PathBuf)> =
                said.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
            let named = |variable: &str| {
                said.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone())
            };
            of_environment(&named)
        };
        let (home, cache) = (("HOME", "/h"), ("XDG_CACHE_HOME", "/c"));
        assert_eq!(of(&[home, cache, (VARIABLE, "d")]), Some("d".into()));
        assert_eq!(of(&[home, cache]), Some("/c/tailwater".into()));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "c")]), Some("/h/.cache/tailwater".into()));
        assert_eq!(of(&[]), None);
    }
}
