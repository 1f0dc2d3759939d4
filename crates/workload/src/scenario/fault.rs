//! `[[fault]]`: what goes wrong, when, and for whom. The simulator alone can play it.
//!
//! Faults strike clients, the links to them, and the server that they ask. Further tiers, and the
//! links between nodes, are spared.

use super::item::Item;
use super::limits;
use super::section::Section;
use crate::duration::format_duration;
use std::time::Duration;
use tailwater_core::Ratio;

/// One thing that goes wrong for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    /// When it begins: in a scenario from the beginning of the measured window, in a simulated world
    /// from that of the run. A wrong clock is wrong throughout, and this is zero.
    pub at: Duration,
    /// How long it lasts. A wrong clock ignores it.
    pub length: Duration,
    /// The share of the clients that it strikes, rounded up to whole clients; the seed decides which.
    /// Default all. What befalls the server befalls everybody.
    pub share: Ratio,
    /// What goes wrong.
    pub kind: FaultKind,
}

/// See [`Fault::kind`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FaultKind {
    /// The client's process dies with all that it knew; its connection is closed by its system, and
    /// what it would have asked meanwhile is lost.
    ClientCrash,
    /// The server's process dies with all that it knew and comes back; until then connections are
    /// refused. Clients connect anew with growing pauses in between. Not where the server calls
    /// tiers, as yet.
    ServerRestart,
    /// The server stands still and so does whatever runs there; messages pile up.
    ServerPause,
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

/// What a lying client claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// That nothing waits.
    Nothing,
    /// That more waits than anybody could serve.
    Everything,
}

const KEYS: &[&str] = &[
    "at",
    "for",
    "kind",
    "share",
    "factor",
    "extra",
    "loss",
    "timeout",
    "offset",
    "drift_ppm",
    "demand",
];
/// Every kind with the keys that mean something to it, beside `kind`.
const KINDS: &[(&str, &[&str])] = &[
    ("client-crash", &["at", "for", "share"]),
    ("server-restart", &["at", "for"]),
    ("server-pause", &["at", "for"]),
    ("slow-link", &["at", "for", "share", "factor", "extra"]),
    ("lossy-link", &["at", "for", "share", "loss", "timeout"]),
    ("clock", &["share", "offset", "drift_ppm"]),
    ("lie", &["at", "for", "share", "demand"]),
    ("flood", &["at", "for", "share"]),
];
const CLAIMS: &[(&str, Claim)] = &[("nothing", Claim::Nothing), ("everything", Claim::Everything)];

impl FaultKind {
    /// As in a scenario file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientCrash => "client-crash",
            Self::ServerRestart => "server-restart",
            Self::ServerPause => "server-pause",
            Self::SlowLink { .. } => "slow-link",
            Self::LossyLink { .. } => "lossy-link",
            Self::Clock { .. } => "clock",
            Self::Lie(_) => "lie",
            Self::Flood => "flood",
        }
    }
}

/// All faults of a file, whose measured window lasts `window`.
pub(super) fn read(top: &Section<'_>, window: Duration) -> Vec<Fault> {
    let faults = top.item("fault").map(|item| {
        let tiers = top.item("tier").is_some();
        let read = |item: &Item<'_>| fault(&item.section(KEYS)?, window, tiers);
        item.one_or_list().iter().filter_map(read).collect()
    });
    faults.unwrap_or_default()
}

fn fault(section: &Section<'_>, window: Duration, tiers: bool) -> Option<Fault> {
    let (name, known) = section.needed("kind", "kind = \"client-crash\"", |item| {
        let names: Vec<(&str, usize)> =
            KINDS.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
        item.choice(&names).map(|index| KINDS[index])
    })?;
    for key in KEYS.iter().filter(|key| **key != "kind" && !known.contains(*key)) {
        if let Some(item) = section.item(key) {
            item.problem(format!(
                "{} means nothing to a fault of kind {name}; leave it out",
                item.name
            ));
        }
    }
    let kind = kind(section, name)?;
    if tiers
        && kind == FaultKind::ServerRestart
        && let Some(item) = section.item("kind")
    {
        item.problem(format!(
            "{} is \"{name}\", but a server that calls a [[tier]] cannot restart, as yet; another kind \
             is needed, or no tier",
            item.name
        ));
    }
    let timed = known.contains(&"at");
    let share = section.item("share").and_then(|item| item.number(0.0..=1.0));
    Some(Fault {
        at: if timed { at(section, window)? } else { Duration::ZERO },
        length: if timed { needed_span(section, "for", "for = \"20ms\"")? } else { Duration::ZERO },
        share: Ratio(share.unwrap_or(1.0)),
        kind,
    })
}

fn kind(section: &Section<'_>, name: &str) -> Option<FaultKind> {
    let number = |key, range| section.item(key).and_then(|item| item.number(range));
    let span = |key| section.duration(key, Duration::ZERO..=limits::FAULT_TIME_MAX);
    Some(match name {
        "client-crash" => FaultKind::ClientCrash,
        "server-restart" => FaultKind::ServerRestart,
        "server-pause" => FaultKind::ServerPause,
        "slow-link" => FaultKind::SlowLink {
            factor: number("factor", 1.0..=limits::FAULT_FACTOR_MAX).unwrap_or(1.0),
            extra: span("extra").unwrap_or_default(),
        },
        "lossy-link" => FaultKind::LossyLink {
            loss: section.needed("loss", "loss = 0.01", |item| item.number(0.0..=0.99))?,
            timeout: needed_span(section, "timeout", "timeout = \"5ms\"")?,
        },
        "clock" => FaultKind::Clock {
            offset: span("offset").unwrap_or_default(),
            drift_ppm: number("drift_ppm", 0.0..=limits::DRIFT_PPM_MAX).unwrap_or(0.0),
        },
        "lie" => FaultKind::Lie(
            section.needed("demand", "demand = \"everything\"", |item| item.choice(CLAIMS))?,
        ),
        _ => FaultKind::Flood,
    })
}

fn at(section: &Section<'_>, window: Duration) -> Option<Duration> {
    section.needed("at", "at = \"100ms\"", |item| {
        let at = item.duration(Duration::ZERO..=limits::DURATION_MAX)?;
        if at < window {
            return Some(at);
        }
        item.wrong(format_args!(
            "a time in the measured window, which lasts {},",
            format_duration(window)
        ))
    })
}

fn needed_span(section: &Section<'_>, key: &str, example: &str) -> Option<Duration> {
    section.needed(key, example, |item| {
        item.duration(Duration::from_nanos(1)..=limits::FAULT_TIME_MAX)
    })
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
        let said = KINDS.iter().map(|(name, keys)| {
            let timed = if keys.contains(&"at") { "at = \"10ms\"\nfor = \"5ms\"\n" } else { "" };
            let own = match *name {
                "lossy-link" => "loss = 0.1\ntimeout = \"2ms\"\n",
                "lie" => "demand = \"nothing\"\n",
                "slow-link" => "factor = 3\nshare = 0.5\n",
                _ => "",
            };
            format!("[[fault]]\nkind = \"{name}\"\n{timed}{own}")
        });
        let found = faults(&said.collect::<String>());
        let names: Vec<&str> = found.iter().map(|fault| fault.kind.name()).collect();
        assert_eq!(names, KINDS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let slow = found[3];
        assert_eq!(slow.kind, FaultKind::SlowLink { factor: 3.0, extra: Duration::ZERO });
        assert_eq!((slow.share, slow.at), (Ratio(0.5), Duration::from_millis(10)));
        assert_eq!((found[0].share, found[5].length), (Ratio(1.0), Duration::ZERO));
    }

    #[test]
    fn no_fault_is_no_fault() {
        assert_eq!(faults(""), []);
    }

    #[test]
    fn only_the_simulator_plays_faults() {
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
                 client-crash, server-restart, server-pause, slow-link, lossy-link, clock, lie, flood",
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
                "kind = \"flood\"\nat = \"1ms\"\nfor = \"2min\"\nshare = 1.5",
                "x.toml:11:7: fault.for is \"2min\"; a duration from 1ns to 60s is needed\n\
                 x.toml:12:9: fault.share is 1.5; a number from 0 to 1 is needed",
            ),
        ] {
            assert_eq!(complaints(said), message, "{said}");
        }
    }

    #[test]
    fn a_server_that_calls_tiers_may_pause_but_not_restart() {
        let with_tier = |kind: &str| {
            let path = "path = [{ probability = 1.0, steps = [{ call = \"leaf\" }] }]";
            let service = "service = { distribution = \"exponential\", mean = \"10us\" }";
            let text = format!(
                "{}[[tier]]\nname = \"leaf\"\nservice = \"5us\"\n\
                 [[fault]]\nkind = \"{kind}\"\nat = \"1ms\"\nfor = \"1ms\"\n",
                LEAST.replace(service, path)
            );
            Scenario::parse("x.toml", &text).err().map(|error| error.to_string())
        };
        assert_eq!(with_tier("server-pause"), None);
        let message = "x.toml:12:8: fault.kind is \"server-restart\", but a server that calls a [[tier]] \
                       cannot restart, as yet; another kind is needed, or no tier";
        assert_eq!(with_tier("server-restart").as_deref(), Some(message));
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
