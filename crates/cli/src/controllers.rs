//! `tailwater controllers`: what can be named in a scenario or with `--controller`.

use crate::failure::{Failure, say};
use crate::terminal::style;
use std::fmt::Write as _;
use tailwater_control::catalog::{CONTROLLERS, PROFILES, SETTINGS};
use tailwater_report::wrap_indented;
use tailwater_workload::preset::{Preset, presets};

/// Characters of most names.
const NAME: usize = 22;

pub(crate) fn list() -> Result<(), Failure> {
    let mut text = String::new();
    let mut section = |title: &str, rows: &mut dyn Iterator<Item = (&str, &str)>| {
        let _ = writeln!(text, "{title}");
        for (name, help) in rows {
            let _ = writeln!(text, "{}", row(name, help, style().width));
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

/// A name and its help, whose further lines stand below the first.
fn row(name: &str, help: &str, width: Option<u16>) -> String {
    let Some(width) = width else {
        return format!("  {name:<NAME$} {help}");
    };
    let help = wrap_indented(help, width.into(), &" ".repeat(2 + NAME + 1));
    match name.len() <= NAME {
        true => format!("  {name:<NAME$} {}", help.trim_start()),
        false => format!("  {name}\n{help}"),
    }
}
