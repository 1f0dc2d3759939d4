//! `[[fault]]`: what goes wrong, when, and for whom.
//!
//! Faults strike clients, nodes, and the links that lead to nodes: to the server that clients ask, to its
//! replicas, and to those of the tiers.

use super::choices::{CLAIMS, Claim, Direction, WAYS};
use super::item::Item;
use super::keys::{FAULTS, Variant};
use super::path::Callee;
use super::section::Section;
use std::time::Duration;
use tailwater_core::Ratio;
use tailwater_core::duration::format_duration;
use toml::de::DeValue;

/// One thing that goes wrong for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    /// When it begins: in a scenario from the beginning of the measured window, in a simulated world
    /// from that of the run. A wrong clock is wrong throughout, and this is zero.
    pub at: Duration,
    /// How long it lasts. A wrong clock ignores it.
    pub length: Duration,
    /// The clients that it strikes. Default all. What befalls the server befalls everybody.
    pub clients: Chosen,
    /// Which nodes a fault of the server strikes, or where the links lead that one strikes; means nothing to
    /// the others.
    pub nodes: Struck,
    /// Which messages a fault of links strikes. Default both ways.
    pub way: Option<Direction>,
    /// What goes wrong.
    pub kind: FaultKind,
}

/// Some of the clients.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Chosen {
    /// So many of them, rounded up to whole clients; the seed decides which.
    Share(Ratio),
    /// Those with these numbers, from 0 (in a file from 1); the last one is struck too.
    Numbers {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
    },
}

/// Nodes, or what leads to them. Default: the server that clients ask, with all its replicas.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Struck {
    /// A tier, by its number in the file from 0; `None`: the server that clients ask.
    pub tier: Option<usize>,
    /// One node of it, or one replica, from 0 (in a file from 1); `None`: all. Where nodes have replicas, all of these
    /// are counted, those of the first node first.
    pub node: Option<u32>,
}

/// See [`Fault::kind`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FaultKind {
    /// The client's process dies with all that it knew; its connection is closed by its system, and
    /// what it would have asked meanwhile is lost.
    ClientCrash,
    /// The process of each node that is struck dies with all that it knew and comes back; until then
    /// connections are refused. A client that was connected connects anew with growing pauses in between. On sockets
    /// starting takes its time beside that.
    ServerRestart,
    /// Nodes stand still and so does whatever runs there; messages pile up.
    ServerPause,
    /// The cores of nodes compute at a part of their speed; what a core has begun keeps its pace.
    ServerSlow {
        /// From 0.001 to 1.
        speed: f64,
    },
    /// Nothing gets through. What is sent meanwhile is sent again after `timeout`, then after twice as long
    /// and so on, until it arrives; connections stand.
    Partition {
        /// The transport's first retransmission timeout.
        timeout: Duration,
    },
    /// Every message takes `factor` times its delay and `extra` more.
    SlowLink {
        /// From 1; default 1.
        factor: f64,
        /// Default none.
        extra: Duration,
    },
    /// A message is lost with probability `loss` and sent again after `timeout`, as often as it takes;
    /// what was sent behind it on the same connection waits for it.
    LossyLink {
        /// From 0 to 0.99.
        loss: f64,
        /// The transport's retransmission timeout.
        timeout: Duration,
    },
    /// The client's clock is ahead of or behind the server's by up to `offset`, and gains or loses up
    /// to `drift_ppm`; the seed decides each client's share of both.
    Clock {
        /// Default none.
        offset: Duration,
        /// In millionths; default none.
        drift_ppm: f64,
    },
    /// The client keeps to its window, but claims this demand whatever it really has.
    Lie(Claim),
    /// The client sends at once whatever it is asked for, credit or not.
    Flood,
}

impl FaultKind {
    /// As in a scenario file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientCrash => "client-crash",
            Self::ServerRestart => "server-restart",
            Self::ServerPause => "server-pause",
            Self::ServerSlow { .. } => "server-slow",
            Self::Partition { .. } => "partition",
            Self::SlowLink { .. } => "slow-link",
            Self::LossyLink { .. } => "lossy-link",
            Self::Clock { .. } => "clock",
            Self::Lie(_) => "lie",
            Self::Flood => "flood",
        }
    }
}

/// What faults befall.
pub(super) struct Stage<'a> {
    /// How long the measured window lasts.
    pub(super) window: Duration,
    /// The least number of clients that any run has.
    pub(super) clients: u32,
    /// Of the server.
    pub(super) replicas: u32,
    pub(super) tiers: &'a [Callee],
}

/// All faults of a file.
pub(super) fn read(top: &Section<'_>, stage: &Stage<'_>) -> Vec<Fault> {
    let faults = top.item("fault").map(|item| {
        let read = |item: &Item<'_>| fault(&item.section()?, stage);
        item.one_or_list().iter().filter_map(read).collect()
    });
    faults.unwrap_or_default()
}

fn fault(section: &Section<'_>, stage: &Stage<'_>) -> Option<Fault> {
    let variant: Option<&Variant> = section.needed("kind", |item| {
        let names: Vec<(&str, &Variant)> = FAULTS.iter().map(|kind| (kind.name, kind)).collect();
        other_word(item).map_or_else(|| item.choice(&names), |meant| refuse_word(item, meant))
    });
    let Variant { name, keys: known, .. } = variant?;
    for key in section.others(&["kind"], known) {
        if let Some(item) = section.item(key) {
            item.problem(format!(
                "{} means nothing to a fault of kind {name}; leave it out",
                item.name
            ));
        }
    }
    let kind = kind(section, name)?;
    let timed = known.contains(&"at");
    let clients = chosen(section, stage);
    Some(Fault {
        at: if timed { at(section, stage.window)? } else { Duration::ZERO },
        length: if timed { needed_span(section, "for")? } else { Duration::ZERO },
        clients: clients?,
        nodes: struck(section, stage)?,
        way: section.choice("way", WAYS),
        kind,
    })
}

/// Words of other tools for kinds that are called differently here.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("crash", "client-crash or server-restart"),
    ("server-crash", "server-restart"),
    ("server-kill", "server-restart"),
];

/// The kinds that are meant by a word of other tools.
fn other_word(item: &Item<'_>) -> Option<&'static str> {
    let DeValue::String(said) = item.value else {
        return None;
    };
    OTHER_WORDS.iter().find(|(word, _)| word == said).map(|(_, meant)| *meant)
}

fn refuse_word<T>(item: &Item<'_>, meant: &str) -> Option<T> {
    let names: Vec<&str> = FAULTS.iter().map(|kind| kind.name).collect();
    let (found, known) = (item.text()?, names.join(", "));
    item.problem(format!("{} is \"{found}\"; did you mean {meant}? Known are: {known}", item.name));
    None
}

fn chosen(section: &Section<'_>, stage: &Stage<'_>) -> Option<Chosen> {
    let (share, client) = (section.item("share"), section.item("client"));
    for item in share.iter().chain(&client) {
        if section.item("tier").is_some() {
            item.problem(format!(
                "{} contradicts {}.tier, whose links lead from other nodes; leave one of them out",
                item.name,
                section.name()
            ));
        }
    }
    let Some(client) = client else {
        let share = share.map_or(Some(1.0), |item| item.number())?;
        return Some(Chosen::Share(Ratio(share)));
    };
    if let Some(share) = share {
        share.problem(format!(
            "{} contradicts {}; one of them is needed, leave the other out",
            share.name, client.name
        ));
    }
    let said = client.one_or_list();
    let numbers: Option<Vec<u32>> =
        said.iter().map(|item| item.whole_in(1..=stage.clients.max(1).into())).collect();
    match numbers?[..] {
        [only] => Some(Chosen::Numbers { first: only - 1, last: only - 1 }),
        [first, last] if first <= last => {
            Some(Chosen::Numbers { first: first - 1, last: last - 1 })
        }
        _ => {
            client.wrong("a client's number, or the first and the last of several such as [1, 10],")
        }
    }
}

fn struck(section: &Section<'_>, stage: &Stage<'_>) -> Option<Struck> {
    let names: Vec<(&str, usize)> =
        stage.tiers.iter().enumerate().map(|(number, tier)| (&*tier.name, number)).collect();
    let tier = match section.item("tier") {
        Some(item) if names.is_empty() => {
            item.problem(format!(
                "{} is given, but there is no [[tier]]; leave it out: the server is meant",
                item.name
            ));
            return None;
        }
        Some(item) => Some(tier(&item, &names)?),
        None => None,
    };
    let servers = |tier: usize| stage.tiers[tier].nodes * stage.tiers[tier].replicas;
    let count = tier.map_or(stage.replicas, servers).max(1);
    let node = match section.item("node") {
        Some(item) => Some(item.whole_in::<u32>(1..=count.into())? - 1),
        None => None,
    };
    Some(Struck { tier, node })
}

fn tier(item: &Item<'_>, names: &[(&str, usize)]) -> Option<usize> {
    let is_tier = |said: &str| names.iter().any(|(name, _)| *name == said);
    match item.value {
        DeValue::String(said) if is_tier(said) => {}
        DeValue::String(said) if said == "server" => {
            item.problem(format!(
                "{} is \"server\", which is no tier; leave it out: the server is meant",
                item.name
            ));
            return None;
        }
        // A tier could not be read, and may be what is meant.
        DeValue::String(_) if is_tier("") => return None,
        _ => {}
    }
    item.choice(names)
}

/// A slow link that is as fast as ever would be no fault.
fn refuse_unslowed(section: &Section<'_>) {
    if section.item("factor").is_none() && section.item("extra").is_none() {
        section.problem(format!(
            "{} has none of factor, extra; one of them is needed, for example extra = \"1ms\"",
            section.name()
        ));
    }
}

fn kind(section: &Section<'_>, name: &str) -> Option<FaultKind> {
    if name == "slow-link" {
        refuse_unslowed(section);
    }
    Some(match name {
        "client-crash" => FaultKind::ClientCrash,
        "server-restart" => FaultKind::ServerRestart,
        "server-pause" => FaultKind::ServerPause,
        "server-slow" => FaultKind::ServerSlow { speed: section.needed("speed", Item::number)? },
        "partition" => FaultKind::Partition { timeout: needed_span(section, "timeout")? },
        "slow-link" => FaultKind::SlowLink {
            factor: section.number("factor").unwrap_or(1.0),
            extra: section.duration("extra").unwrap_or_default(),
        },
        "lossy-link" => FaultKind::LossyLink {
            loss: section.needed("loss", Item::number)?,
            timeout: needed_span(section, "timeout")?,
        },
        "clock" => FaultKind::Clock {
            offset: section.duration("offset").unwrap_or_default(),
            drift_ppm: section.number("drift_ppm").unwrap_or(0.0),
        },
        "lie" => FaultKind::Lie(section.needed("demand", |item| item.choice(CLAIMS))?),
        _ => FaultKind::Flood,
    })
}

fn at(section: &Section<'_>, window: Duration) -> Option<Duration> {
    section.needed("at", |item| {
        let at = item.duration()?;
        if at < window {
            return Some(at);
        }
        item.wrong(format_args!(
            "a time in the measured window, which lasts {},",
            format_duration(window)
        ))
    })
}

fn needed_span(section: &Section<'_>, key: &str) -> Option<Duration> {
    section.needed(key, Item::duration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    const LEAST: &str = r#"
slo = "400us"
duration = "200ms"
server.service = { distribution = "exponential", mean = "10us" }
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
"#;

    fn faults(said: &str) -> Vec<Fault> {
        let text = format!("{LEAST}{said}");
        Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}")).faults
    }

    fn complaints(said: &str) -> String {
        let text = format!("{LEAST}[[fault]]\n{said}");
        Scenario::parse("x.toml", &text).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_kind_is_read_with_its_defaults() {
        let said = FAULTS.iter().map(|Variant { name, keys, .. }| {
            let timed = if keys.contains(&"at") { "at = \"10ms\"\nfor = \"5ms\"\n" } else { "" };
            let own = match *name {
                "lossy-link" => "loss = 0.1\ntimeout = \"2ms\"\nway = \"answers\"\n",
                "partition" => "timeout = \"2ms\"\nclient = [3, 7]\n",
                "server-slow" => "speed = 0.5\n",
                "lie" => "demand = \"nothing\"\n",
                "slow-link" => "factor = 3\nshare = 0.5\n",
                _ => "",
            };
            format!("[[fault]]\nkind = \"{name}\"\n{timed}{own}")
        });
        let found = faults(&said.collect::<String>());
        let names: Vec<&str> = found.iter().map(|fault| fault.kind.name()).collect();
        assert_eq!(names, FAULTS.iter().map(|kind| kind.name).collect::<Vec<_>>());
        assert_eq!(found[3].kind, FaultKind::ServerSlow { speed: 0.5 });
        let slow = found[4];
        assert_eq!(slow.kind, FaultKind::SlowLink { factor: 3.0, extra: Duration::ZERO });
        assert_eq!((slow.clients, slow.at), (Chosen::Share(Ratio(0.5)), Duration::from_millis(10)));
        assert_eq!((found[5].way, found[4].way), (Some(Direction::Answers), None));
        assert_eq!(found[6].clients, Chosen::Numbers { first: 2, last: 6 });
        assert_eq!(
            (found[0].clients, found[7].length),
            (Chosen::Share(Ratio(1.0)), Duration::ZERO)
        );
    }

    #[test]
    fn no_fault_is_no_fault() {
        assert_eq!(faults(""), []);
    }

    #[test]
    fn only_the_simulator_plays_what_befalls_clients() {
        let text = format!("{LEAST}[[fault]]\nkind = \"clock\"\n");
        let needed = |text: &str| Scenario::parse("x.toml", text).unwrap().needs_simulator();
        assert_eq!(needed(LEAST), None);
        let message = needed(&text).map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains("x.toml:8:") && message.contains("--on sim"), "{message}");
    }

    #[test]
    fn messages_say_where_what_was_found_and_what_is_needed() {
        for (said, message) in [
            (
                "at = \"1ms\"",
                "x.toml:8:1: fault.kind is missing; it is needed, for example kind = \"client-crash\"",
            ),
            (
                "kind = \"client-crush\"",
                "x.toml:9:8: fault.kind is \"client-crush\"; did you mean client-crash? Known are: \
                 client-crash, server-restart, server-pause, server-slow, slow-link, lossy-link, \
                 partition, clock, lie, flood",
            ),
            (
                "kind = \"server-crash\"",
                "x.toml:9:8: fault.kind is \"server-crash\"; did you mean server-restart? Known are: \
                 client-crash, server-restart, server-pause, server-slow, slow-link, lossy-link, \
                 partition, clock, lie, flood",
            ),
            (
                "kind = \"slow\"",
                "x.toml:9:8: fault.kind is \"slow\"; did you mean server-slow or slow-link? Known are: \
                 client-crash, server-restart, server-pause, server-slow, slow-link, lossy-link, \
                 partition, clock, lie, flood",
            ),
            (
                "kind = \"slow-link\"\nat = \"1ms\"\nfor = \"1ms\"",
                "x.toml:8:1: fault has none of factor, extra; one of them is needed, for example extra = \"1ms\"",
            ),
            (
                "kind = \"server-pause\"\nat = \"200ms\"\nfor = \"1ms\"",
                "x.toml:10:6: fault.at is \"200ms\"; a time in the measured window, which lasts 200ms, is needed",
            ),
            (
                "kind = \"server-pause\"\nat = \"1ms\"\nfor = \"1ms\"\nshare = 0.5",
                "x.toml:12:9: fault.share means nothing to a fault of kind server-pause; leave it out",
            ),
            (
                "kind = \"clock\"\nat = \"1ms\"",
                "x.toml:10:6: fault.at means nothing to a fault of kind clock; leave it out",
            ),
            (
                "kind = \"lossy-link\"\nat = \"1ms\"\nfor = \"1ms\"\ntimeout = \"1ms\"",
                "x.toml:8:1: fault.loss is missing; it is needed, for example loss = 0.01",
            ),
            (
                "kind = \"server-slow\"\nat = \"1ms\"\nfor = \"1ms\"\nspeed = 0",
                "x.toml:12:9: fault.speed is 0; a number from 0.001 to 1 is needed",
            ),
            (
                "kind = \"partition\"\nat = \"1ms\"\nfor = \"1ms\"\nway = \"both\"",
                "x.toml:8:1: fault.timeout is missing; it is needed, for example timeout = \"5ms\"",
            ),
            (
                "kind = \"flood\"\nat = \"1ms\"\nfor = \"1ms\"\nclient = 101",
                "x.toml:12:10: fault.client is 101; a whole number from 1 to 100 is needed",
            ),
            (
                "kind = \"flood\"\nat = \"1ms\"\nfor = \"1ms\"\nclient = [7, 3]\nshare = 0.5",
                "x.toml:12:10: fault.client is a list; a client's number, or the first and the last of several \
                 such as [1, 10], is needed\n\
                 x.toml:13:9: fault.share contradicts fault.client; one of them is needed, leave the other out",
            ),
            (
                "kind = \"flood\"\nat = \"1ms\"\nfor = \"2min\"\nshare = 1.5",
                "x.toml:11:7: fault.for is \"2min\"; a duration from 1ns to 60s is needed\n\
                 x.toml:12:9: fault.share is 1.5; a number from 0 to 1 is needed",
            ),
        ] {
            assert_eq!(complaints(said), message, "{said}");
        }
    }

    /// A server of two replicas, with a tier of three.
    fn tiered(said: &str) -> Result<Vec<Fault>, String> {
        let path =
            "path = [{ probability = 1.0, steps = [{ call = \"leaf\" }] }]\nserver.replicas = 2";
        let service = "service = { distribution = \"exponential\", mean = \"10us\" }";
        let text = format!(
            "{}[[tier]]\nname = \"leaf\"\nnodes = 3\nservice = \"5us\"\n\
             [[fault]]\nkind = \"server-restart\"\nat = \"1ms\"\nfor = \"1ms\"\n{said}\n",
            LEAST.replace(service, path)
        );
        let parsed = Scenario::parse("x.toml", &text).map_err(|error| error.to_string());
        parsed.map(|scenario| scenario.faults)
    }

    #[test]
    fn a_restart_strikes_the_server_or_what_it_names() {
        for (said, tier, node) in [
            ("", None, None),
            ("node = 2", None, Some(1)),
            ("tier = \"leaf\"", Some(0), None),
            ("tier = \"leaf\"\nnode = 3", Some(0), Some(2)),
        ] {
            assert_eq!(tiered(said).unwrap()[0].nodes, Struck { tier, node }, "{said}");
        }
    }

    #[test]
    fn a_node_that_is_not_there_cannot_be_struck() {
        for (said, message) in [
            ("node = 3", "x.toml:17:8: fault.node is 3; a whole number from 1 to 2 is needed"),
            (
                "tier = \"leaf\"\nnode = 0",
                "x.toml:18:8: fault.node is 0; a whole number from 1 to 3 is needed",
            ),
            ("tier = \"leaves\"", "x.toml:17:8: fault.tier is \"leaves\"; known are: leaf"),
            (
                "tier = \"server\"",
                "x.toml:17:8: fault.tier is \"server\", which is no tier; leave it out: the server is meant",
            ),
        ] {
            assert_eq!(tiered(said).err().unwrap_or_default(), message, "{said}");
        }
        let said = "kind = \"server-pause\"\nat = \"1ms\"\nfor = \"1ms\"\ntier = \"leaf\"";
        let message = "x.toml:12:8: fault.tier is given, but there is no [[tier]]; leave it out: the \
                       server is meant";
        assert_eq!(complaints(said), message);
    }

    #[test]
    fn the_short_version_keeps_faults_in_their_place() {
        let text = format!(
            "{}[[fault]]\nkind = \"server-pause\"\nat = \"1s\"\nfor = \"100ms\"\n",
            LEAST.replace("200ms", "2s")
        );
        let short = Scenario::parse("x.toml", &text).expect("it is sound").shorten();
        let fault = short.faults[0];
        assert_eq!(fault.at, Duration::from_millis(150));
        assert_eq!(fault.length, Duration::from_millis(15));
    }
}
