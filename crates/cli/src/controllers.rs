//! `tailwater controllers`: what can be named in a scenario or with `--controller`.

use crate::failure::{Failure, say};
use std::fmt::Write as _;
use tailwater_control::catalog::{CONTROLLERS, PROFILES, SETTINGS};

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
    say(text.trim_end())
}
