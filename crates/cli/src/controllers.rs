//! `tailwater controllers`: what can be named in a scenario or with `--controller`.

use crate::failure::{Failure, say};
use std::fmt::Write as _;
use tailwater_control::catalog::{CONTROLLERS, PROFILES, SETTINGS};
use tailwater_workload::preset::{Preset, presets};

pub(crate) fn list() -> Result<(), Failure> {
    let mut text = String::new();
    let mut section = |title: &str, rows: &mut dyn Iterator<Item = (&str, &str)>| {
        let _ = writeln!(text, "{title}");
        for (name, help) in rows {
            let _ = writeln!(text, "  {name:<22} {help}");
        }
        text.push('\n');
    };
    section("Controllers (--controller)", &mut CONTROLLERS.iter().copied());
    section("Profiles (--profile)", &mut PROFILES.iter().copied());
    let settings = SETTINGS.iter().map(|setting| {
        let all = setting.controllers.len() == CONTROLLERS.len();
        let whose = if all { "all".into() } else { setting.controllers.join(", ") };
        (setting.name, format!("{} [{whose}]", setting.help))
    });
    let settings: Vec<_> = settings.collect();
    let mut rows = settings.iter().map(|(name, help)| (*name, help.as_str()));
    section("Settings (--set KEY=VALUE) [of these controllers]", &mut rows);
    let presets: Vec<(String, String)> =
        presets().into_iter().map(|preset| (whose(&preset), preset.name)).collect();
    let mut rows = presets.iter().map(|(whose, name)| (name.as_str(), whose.as_str()));
    section("Presets (preset = \"…\" of a scenario's controller)", &mut rows);
    say(text.trim_end())
}

fn whose(preset: &Preset) -> String {
    let names: Vec<&str> = preset.controllers.iter().map(|(name, _)| name.as_str()).collect();
    format!("a publication's settings [{}]", names.join(", "))
}
