//! `tier.command`: a program that is not ours, as the nodes of a tier.

use super::controller::ControllerSpec;
use super::error::TextPlace;
use super::path::Path;
use super::section::Section;
use super::times;

/// A program that serves in memcached's protocol. Each node of its tier is a process of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The program and its arguments; [`PORT`] in them stands for the port to listen on.
    pub words: Vec<String>,
    /// How many keys it is asked for, each as often as the others. Default 1,000. With more than it has room for, it
    /// forgets some, which are set again. Means nothing where the application decides what it is asked.
    pub keys: u32,
    /// Where it stands.
    pub place: TextPlace,
}

/// Stands in a command for the port to listen on.
pub const PORT: &str = "{port}";

/// What a program of others has not.
const OURS: [&str; 7] = ["path", "locks", "connections", "slo", "controller", "replicas", "hedge"];

/// `None` where the tier has none. Of an `application` that one decides what is asked.
pub(super) fn read(section: &Section<'_>, application: bool) -> Option<Command> {
    let keys = section.item("keys");
    let Some(item) = section.item("command") else {
        if let Some(keys) = keys {
            keys.problem(format!(
                "{} is given without command; leave it out, or name the program that has them",
                keys.name
            ));
        }
        return None;
    };
    for other in OURS.iter().filter_map(|key| section.item(key)) {
        other.problem(format!(
            "{} means nothing to {}, which runs a program that is not ours; leave one out",
            other.name, item.name
        ));
    }
    let text = item.text()?;
    let words: Vec<String> = text.split_whitespace().map(Into::into).collect();
    if !words.iter().skip(1).any(|word| word.contains(PORT)) {
        return item.wrong(format_args!(
            "a program and its arguments with {PORT} where the port stands, such as \"memcached -l 127.0.0.1 -p \
             {PORT}\","
        ));
    }
    if let Some(keys) = keys.as_ref().filter(|_| application) {
        keys.problem(format!(
            "{} is given beside application, which says what is asked; leave it out",
            keys.name
        ));
    }
    let keys = keys.and_then(|item| item.whole()).unwrap_or(1_000);
    Some(Command { words, keys, place: item.place() })
}

/// What the simulator plays in its place: a path of one step; nothing where no service is given.
pub(super) fn stand_in(section: &Section<'_>) -> Vec<Path> {
    let service = section.item("service").and_then(|item| times::read(&item));
    service.map(Path::of_service).into_iter().collect()
}

impl Command {
    /// The words with this port.
    #[must_use]
    pub fn at(&self, port: u16) -> Vec<String> {
        let port = port.to_string();
        self.words.iter().map(|word| word.replace(PORT, &port)).collect()
    }

    /// It has no control of ours, in virtual time neither.
    pub(super) fn controller(&self) -> ControllerSpec {
        ControllerSpec::uncontrolled(self.place)
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const TEXT: &str = r#"
slo = "1s"
clients.count = 1
demand.requests_per_second = 100
controller = { name = "breakwater" }
[[server.path]]
probability = 1.0
steps = [{ call = "cache" }]
[[tier]]
name = "cache"
"#;

    fn parsed(said: &str) -> Result<Scenario, String> {
        Scenario::parse("x.toml", &format!("{TEXT}{said}")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_is_words_with_a_port_and_has_no_control() {
        let scenario = parsed("command = \"memcached -t 1  -p {port}\"\nkeys = 7").unwrap();
        let tier = &scenario.tiers[0];
        let command = tier.command.as_ref().unwrap();
        assert_eq!(command.at(8_080), ["memcached", "-t", "1", "-p", "8080"]);
        assert_eq!((command.keys, tier.paths.len()), (7, 0));
        assert_eq!(tier.controller.as_ref().map(|own| &*own.name), Some("none"));
    }

    #[test]
    fn the_simulator_needs_to_know_how_long_it_takes() {
        let command = "command = \"memcached -p {port}\"";
        let scenario = parsed(command).unwrap();
        assert_eq!(scenario.needs_simulator(), None);
        let said = scenario.needs_sockets().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.starts_with("x.toml:11:11: ") && said.contains("say by service"), "{said}");
        let scenario = parsed(&format!("{command}\nservice = \"5us\"")).unwrap();
        assert_eq!((scenario.needs_sockets(), scenario.tiers[0].paths.len()), (None, 1));
    }

    const OF_APPLICATION: &str = r#"
slo = "1s"
clients.count = 1
demand.requests_per_second = 100
controller = { name = "none" }
server.application = "router"
tier = [{ name = "leaf", application = true, command = "memcached -p {port}"MORE }]
"#;

    #[test]
    fn an_application_may_have_nodes_that_a_command_starts() {
        let parsed = |more: &str| {
            let text = OF_APPLICATION.replace("MORE", more);
            Scenario::parse("x.toml", &text).map_err(|error| error.to_string())
        };
        let scenario = parsed("").unwrap();
        let tier = &scenario.tiers[0];
        assert!(tier.application && tier.command.is_some() && tier.paths.is_empty());
        assert_eq!(scenario.needs_simulator(), None);
        let said = scenario.needs_sockets().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains("knows no application such as router"), "{said}");
        let keys = parsed(", keys = 5").err().unwrap_or_default();
        assert!(keys.contains("tier.keys is given beside application, which says"), "{keys}");
        let service = parsed(", service = \"5us\"").err().unwrap_or_default();
        assert!(service.contains("tier.service is given beside application"), "{service}");
    }

    #[test]
    fn messages_say_what_does_not_go_together() {
        for (said, message) in [
            (
                "command = \"memcached\"",
                "x.toml:11:11: tier.command is \"memcached\"; a program and its arguments with {port} where the \
                 port stands, such as \"memcached -l 127.0.0.1 -p {port}\", is needed",
            ),
            (
                "command = \"memcached -p {port}\"\nslo = \"1ms\"",
                "x.toml:12:7: tier.slo means nothing to tier.command, which runs a program that is not ours; leave \
                 one out",
            ),
            (
                "service = \"5us\"\nkeys = 3",
                "x.toml:12:8: tier.keys is given without command; leave it out, or name the program that has them",
            ),
        ] {
            assert_eq!(parsed(said).err().unwrap_or_default(), message, "{said}");
        }
    }
}
