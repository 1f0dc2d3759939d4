//! `[[server.change]]`: other threading models while the server serves.

use super::model;
use super::section::Section;
use std::time::Duration;
use tailwater_core::duration::format_duration;
use tailwater_core::threads::Model;

/// The server serves by another model from some time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelChange {
    /// When, from the beginning of the measured window, and within that.
    pub at: Duration,
    /// By what new requests are served from then on.
    pub model: Model,
}

/// All changes of a file, in their order, each later than that before.
pub(super) fn read(section: &Section<'_>, window: Duration) -> Vec<ModelChange> {
    let Some(item) = section.item("change") else {
        return Vec::new();
    };
    let mut changes: Vec<ModelChange> = Vec::new();
    for item in item.one_or_list() {
        let Some(change) = item.section().and_then(|section| change(&section, window)) else {
            continue;
        };
        if changes.last().is_some_and(|last| last.at >= change.at) {
            item.problem(format!(
                "{} of {} does not come behind that before it; a later time is needed",
                item.name,
                format_duration(change.at)
            ));
        }
        changes.push(change);
    }
    changes
}

fn change(section: &Section<'_>, window: Duration) -> Option<ModelChange> {
    let at = section.needed("at", |item| {
        let at = item.duration()?;
        if at < window {
            return Some(at);
        }
        item.wrong(format_args!(
            "a time in the measured window, which lasts {},",
            format_duration(window)
        ))
    });
    let model = section.needed("model", model::read);
    Some(ModelChange { at: at?, model: model? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    const TEXT: &str = r#"
slo = "1s"
duration = "200ms"
clients.count = 1
demand.requests_per_second = 100
controller = { name = "breakwater" }
[server]
service = { distribution = "constant", mean = "5us" }
model = "aib"
"#;

    fn parsed(said: &str) -> Result<Scenario, String> {
        Scenario::parse("x.toml", &format!("{TEXT}{said}")).map_err(|error| error.to_string())
    }

    #[test]
    fn changes_are_read_in_order_and_shortened_with_the_window() {
        assert_eq!(parsed("").unwrap().server.changes, []);
        let said = "[[server.change]]\nat = \"50ms\"\nmodel = \"adb:4\"\n\
                    [[server.change]]\nat = \"100ms\"\nmodel = \"sip\"\n";
        let scenario = parsed(said).unwrap();
        let found: Vec<String> = scenario
            .server
            .changes
            .iter()
            .map(|change| format!("{} {}", format_duration(change.at), change.model))
            .collect();
        assert_eq!(found, ["50ms adb:4", "100ms sip"]);
        assert!(scenario.has_models);
        assert_eq!((scenario.needs_simulator(), scenario.needs_sockets()), (None, None));
        let long = TEXT.replace("200ms", "3s") + &said.replace("50ms", "1s").replace("100ms", "2s");
        let short = Scenario::parse("x.toml", &long).expect("it is sound").shorten();
        assert_eq!(short.server.changes[1].at, Duration::from_millis(200));
    }

    #[test]
    fn a_change_alone_makes_a_scenario_one_of_models_for_both_drivers() {
        let text = TEXT.replace("model = \"aib\"\n", "");
        let change =
            |model| format!("{text}[[server.change]]\nat = \"1ms\"\nmodel = \"{model}\"\n");
        let scenario = |model| Scenario::parse("x.toml", &change(model)).unwrap();
        for model in ["adb:2", "aib+2", "sib+2"] {
            let scenario = scenario(model);
            assert!(scenario.has_models, "{model}");
            assert_eq!((scenario.needs_simulator(), scenario.needs_sockets()), (None, None));
        }
    }

    #[test]
    fn messages_say_what_does_not_go_together() {
        for (said, message) in [
            (
                "[[server.change]]\nat = \"200ms\"\nmodel = \"sip\"\n",
                "x.toml:11:6: server.change.at is \"200ms\"; a time in the measured window, which lasts 200ms, is \
                 needed",
            ),
            (
                "[[server.change]]\nat = \"9ms\"\nmodel = \"sip\"\n[[server.change]]\nat = \"9ms\"\nmodel = \"aib\"\n",
                "x.toml:13:1: server.change of 9ms does not come behind that before it; a later time is needed",
            ),
            (
                "[[server.change]]\nat = \"9ms\"\n",
                "x.toml:10:1: server.change.model is missing; it is needed, for example model = \"adb:4\"",
            ),
        ] {
            assert_eq!(parsed(said).err().unwrap_or_default(), message, "{said}");
        }
    }
}
