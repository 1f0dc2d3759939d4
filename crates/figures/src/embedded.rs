//! The files of `scenarios/paper/`, embedded: the command redraws figures wherever it runs.

/// A file.
pub(crate) struct File {
    /// Without folder and ending.
    pub(crate) name: &'static str,
    /// From the repository's root.
    pub(crate) path: &'static str,
    /// What is in it.
    pub(crate) text: &'static str,
}

macro_rules! files {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(File {
            name: $name,
            path: concat!($folder, "/", $name, ".toml"),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $folder, "/", $name, ".toml")),
        }),+]
    };
}

/// The figures, in the order in which they are shown.
pub(crate) const FIGURES: &[File] = files!(
    "scenarios/paper/figures":
    "breakwater-1",
    "breakwater-3",
    "breakwater-4",
    "breakwater-5",
    "breakwater-6",
    "breakwater-7",
    "breakwater-8",
    "breakwater-9",
    "breakwater-10",
    "breakwater-11",
    "breakwater-12",
    "protego-3",
    "protego-5",
    "protego-6",
    "protego-7",
    "protego-8",
    "protego-9",
    "protego-10",
    "protego-11",
    "protego-12",
    "protego-13",
);

/// The scenarios that they name.
pub(crate) const SCENARIOS: &[File] = files!(
    "scenarios/paper":
    "fig1-demand",
    "fig1-clients",
    "fig3",
    "fig4-constant",
    "fig4-bimodal",
    "fig5-1us",
    "fig5-100us",
    "fig5-100us-stretched",
    "fig6-100",
    "fig6-10000",
    "fig7",
    "fig8",
    "fig9",
    "fig10",
    "fig11-breakwater",
    "fig11-dagor",
    "fig11-seda",
    "fig12",
    "ablation-100us",
    "protego-fig3",
    "protego-fig5",
    "protego-fig6",
    "protego-fig7",
    "protego-fig8",
    "protego-fig8-budget",
    "protego-fig8-revoked",
    "protego-fig9",
    "protego-fig10",
    "protego-fig10-back",
    "protego-fig11",
    "protego-fig12",
    "protego-fig13",
    "protego-fig13-slow",
    "protego-fig13-costs",
);

/// A scenario by its name.
pub(crate) fn scenario(name: &str) -> Option<&'static File> {
    SCENARIOS.iter().find(|file| file.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/paper/figures");
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let there: BTreeSet<String> =
            entries.filter_map(|entry| stem(&entry.ok()?.path())).collect();
        let embedded: BTreeSet<String> = FIGURES.iter().map(|file| file.name.into()).collect();
        assert_eq!(there, embedded);
    }
}
