//! `tailwater controllers`: what can be named in a scenario or with `--controller`.

use crate::failure::{Failure, say};
use std::fmt::Write as _;
use tailwater_control::catalog::{CONTROLLERS, PROFILES, SETTINGS};

pub(crate) fn list() -> Result<(), Failure> {
    let mut text = String::new();
    let mut section = |title: &str, rows: &mut dyn Iterator<Item = (&str, &str)>| {
        let _ = writeln!(text, "{title}");
        for (name, help) in rows {
            let _ = writeln!(text, "  {name:<18} {help}");
        }
        text.push('\n');
    };
    section("Controllers (--controller)", &mut CONTROLLERS.iter().copied());
    section("Profiles (--profile)", &mut PROFILES.iter().copied());
    section("Settings (--set KEY=VALUE)", &mut SETTINGS.iter().map(|s| (s.name, s.help)));
    say(text.trim_end())
}
