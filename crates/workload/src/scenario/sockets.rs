//! Which faults befall real processes, so that sockets can play them.

use super::fault::{Fault, FaultKind};

/// The first fault that sockets do not play, by its number, and why. `changes`: the server's model does. `is_program`:
/// requests of the server, or of a tier, go to a program, whose speed is its own.
pub(super) fn refused(
    faults: &[Fault],
    changes: bool,
    is_program: impl Fn(Option<usize>) -> bool,
) -> Option<(usize, String)> {
    let refused = |(index, fault): (usize, &Fault)| {
        let name = fault.kind.name();
        let why = match fault.kind {
            FaultKind::ServerSlow { .. } if is_program(fault.nodes.tier) => {
                "a program has its own speed on sockets, so that server-slow strikes it in the simulator only".into()
            }
            FaultKind::ServerRestart if changes && fault.nodes.tier.is_none() => {
                "a server that starts anew has the model that it began with, so that [[server.change]] beside a \
                 server-restart of the server runs in the simulator only"
                    .into()
            }
            FaultKind::ServerRestart | FaultKind::ServerPause | FaultKind::ServerSlow { .. } => {
                if !faults[..index].iter().any(|other| meet(other, fault)) {
                    return None;
                }
                "faults that strike a node at one time run in the simulator only".into()
            }
            _ => format!(
                "faults of kind {name} run in the simulator only, which has the network and the clients in its hands; \
                 sockets play server-restart, server-pause and server-slow"
            ),
        };
        Some((index, why))
    };
    faults.iter().enumerate().find_map(refused)
}

/// Whether both strike some node at some time.
fn meet(one: &Fault, other: &Fault) -> bool {
    let same = match (one.nodes.node, other.nodes.node) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    let overlap = one.at < other.at + other.length && other.at < one.at + one.length;
    same && overlap && one.nodes.tier == other.nodes.tier
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const LEAST: &str = r#"
slo = "400us"
duration = "200ms"
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
server.replicas = 2
[[server.path]]
probability = 1.0
steps = [{ call = "leaf" }, { call = "cache" }]
[[tier]]
name = "leaf"
nodes = 3
service = "5us"
[[tier]]
name = "cache"
command = "memcached -p {port}"
service = "5us"
"#;

    /// Why sockets do not play it.
    fn refusal(faults: &[&str]) -> String {
        let fault = |said: &&str| format!("[[fault]]\nat = \"10ms\"\nfor = \"5ms\"\n{said}\n");
        let text = LEAST.to_owned() + &faults.iter().map(fault).collect::<String>();
        let scenario = Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        scenario.needs_simulator().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn sockets_play_what_befalls_processes() {
        assert_eq!(refusal(&[]), "");
        let slow = "kind = \"server-slow\"\nspeed = 0.5\ntier = \"leaf\"\nnode = 1";
        let restart = "kind = \"server-restart\"\ntier = \"leaf\"\nnode = 2";
        let pause = "kind = \"server-pause\"\nnode = 1";
        let cache = "kind = \"server-restart\"\ntier = \"cache\"";
        assert_eq!(refusal(&[slow, restart, pause, cache]), "");
        assert_eq!(refusal(&[slow, &slow.replace("node = 1", "node = 3")]), "");
    }

    #[test]
    fn what_they_do_not_play_is_named_with_its_place_and_the_reason() {
        let partition =
            refusal(&["kind = \"server-pause\"", "kind = \"partition\"\ntimeout = \"1ms\""]);
        assert!(partition.starts_with("x.toml:23:"), "{partition}");
        assert!(
            partition.contains("faults of kind partition run in the simulator only"),
            "{partition}"
        );
        assert!(partition.ends_with("server-slow; type --on sim"), "{partition}");
        let one_way =
            refusal(&["kind = \"lossy-link\"\nloss = 0.1\ntimeout = \"1ms\"\nway = \"answers\""]);
        assert!(
            one_way.contains("faults of kind lossy-link run in the simulator only"),
            "{one_way}"
        );
        let program = refusal(&["kind = \"server-slow\"\nspeed = 0.5\ntier = \"cache\""]);
        assert!(program.contains("a program has its own speed"), "{program}");
        let change = "kind = \"server-restart\"\n[[server.change]]\nat = \"20ms\"\nmodel = \"sib\"";
        let lost = refusal(&[change]);
        assert!(lost.contains("has the model that it began with"), "{lost}");
        let of_leaf = change.replace("-restart\"", "-restart\"\ntier = \"leaf\"");
        assert_eq!(refusal(&[&of_leaf]), "");
        let both = refusal(&["kind = \"server-pause\"", "kind = \"server-restart\"\nnode = 2"]);
        assert!(both.contains("strike a node at one time"), "{both}");
    }
}
