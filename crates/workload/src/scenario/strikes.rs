//! What faults strike, in words: numbers of a file count replicas and nodes alike.

use super::{Fault, FaultKind, Scenario, Struck};

impl Scenario {
    /// A sentence for each fault of nodes and links, in the file's order: its kind, and the nodes that it strikes.
    #[must_use]
    pub fn strikes(&self) -> Vec<String> {
        let of_nodes = self.faults.iter().filter_map(|fault| {
            let links = match fault.kind {
                FaultKind::ServerRestart
                | FaultKind::ServerPause
                | FaultKind::ServerSlow { .. } => "",
                FaultKind::Partition { .. }
                | FaultKind::SlowLink { .. }
                | FaultKind::LossyLink { .. } => "the links to ",
                _ => return None,
            };
            let Fault { kind, nodes, .. } = fault;
            Some(format!("{} strikes {links}{}", kind.name(), self.named(*nodes)))
        });
        of_nodes.collect()
    }

    fn named(&self, Struck { tier, node }: Struck) -> String {
        let (whose, nodes, replicas) = match tier {
            None => ("the server", 1, self.server.replicas),
            Some(tier) => {
                let tier = &self.tiers[tier];
                (&*tier.name, tier.nodes, tier.replicas)
            }
        };
        let Some(node) = node else {
            let each = |count: u32, what| (count > 1).then(|| format!("{count} {what}"));
            let all: Vec<String> =
                each(nodes, "nodes").into_iter().chain(each(replicas, "replicas")).collect();
            return match all[..] {
                [] => whose.to_owned(),
                _ => format!("{whose}, all {}", all.join(" of ")),
            };
        };
        let replica = node % replicas + 1;
        let node = node / replicas + 1;
        match (tier, replicas) {
            (None, 1) => whose.to_owned(),
            (None, _) => format!("replica {replica} of {whose}"),
            (Some(_), 1) => format!("{whose} node {node}"),
            (Some(_), _) => format!("{whose} node {node}, replica {replica}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_told_as_node_and_replica() {
        let strikes = |fault: &str, replicas: u32| {
            let text = format!(
                "slo = \"400us\"\nclients.count = 10\ndemand.of_capacity = 1.0\nduration = \"200ms\"\n\
                 controller = [{{ name = \"none\" }}]\nserver.replicas = {replicas}\n\
                 server.path = [{{ probability = 1.0, steps = [{{ call = \"leaf\" }}] }}]\n\
                 tier = [{{ name = \"leaf\", nodes = 3, replicas = {replicas}, service = \"5us\" }}]\n\
                 fault = [{{ at = \"1ms\", for = \"1ms\", {fault} }}]\n"
            );
            let scenario =
                Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
            scenario.strikes().join("; ")
        };
        for (fault, replicas, told) in [
            ("kind = \"server-pause\"", 1, "server-pause strikes the server"),
            ("kind = \"server-pause\"", 2, "server-pause strikes the server, all 2 replicas"),
            (
                "kind = \"server-pause\", node = 2",
                2,
                "server-pause strikes replica 2 of the server",
            ),
            ("kind = \"server-pause\", node = 1", 1, "server-pause strikes the server"),
            (
                "kind = \"server-pause\", tier = \"leaf\"",
                1,
                "server-pause strikes leaf, all 3 nodes",
            ),
            (
                "kind = \"server-pause\", tier = \"leaf\", node = 2",
                2,
                "server-pause strikes leaf node 1, replica 2",
            ),
            (
                "kind = \"server-restart\", tier = \"leaf\", node = 5",
                2,
                "server-restart strikes leaf node 3, replica 1",
            ),
            (
                "kind = \"slow-link\", factor = 3, tier = \"leaf\", node = 3",
                1,
                "slow-link strikes the links to leaf node 3",
            ),
            ("kind = \"flood\"", 1, ""),
        ] {
            assert_eq!(strikes(fault, replicas), told, "{fault}");
        }
        let all = strikes("kind = \"server-pause\", tier = \"leaf\"", 2);
        assert_eq!(all, "server-pause strikes leaf, all 3 nodes of 2 replicas");
    }
}
