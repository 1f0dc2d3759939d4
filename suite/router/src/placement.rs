//! Which nodes hold a key: from its hash to so many different nodes, in the order in which they are preferred.

use crate::spooky::{hash64, hash128};
use std::fmt;

/// Most nodes of a router.
pub const NODES_MAX: usize = 256;
/// Most nodes that hold a key.
pub const REPLICAS_MAX: usize = 8;

/// How a key finds its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The hash modulo the number of nodes, and the nodes behind that one: as published (`(hash + i) mod N`).
    /// Nearly every key moves when a node comes.
    Modulo,
    /// Jump consistent hash (Lamping and Veach, "A fast, minimal memory, consistent hash algorithm", 2014). Nodes
    /// are numbered: only the last may leave. Further replicas jump from further hashes of the key.
    Jump,
    /// The nodes that weigh most for the key (Thaler and Ravishankar, "Using name-based mappings to increase hit
    /// rates", 1998). Time grows with the number of nodes; any may come and leave.
    Rendezvous,
    /// The next nodes on a ring on which each has [`RING_POINTS`] places (Karger et al., "Consistent hashing and
    /// random trees", 1997). Any may come and leave.
    Ring,
}

impl Rule {
    /// Every one, with the word for it.
    pub const ALL: [(&str, Self); 4] = [
        ("modulo", Self::Modulo),
        ("jump", Self::Jump),
        ("rendezvous", Self::Rendezvous),
        ("ring", Self::Ring),
    ];
}

/// Places of a node on the ring, as ketama has them. More even the shares, and make the ring slower.
pub const RING_POINTS: usize = 160;

/// The nodes of a key, different ones, the preferred first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replicas {
    nodes: [u16; REPLICAS_MAX],
    len: usize,
}

impl Replicas {
    const NONE: Self = Self { nodes: [0; REPLICAS_MAX], len: 0 };

    fn add(&mut self, node: usize) {
        // At most 256 nodes.
        self.nodes[self.len] = node as u16;
        self.len += 1;
    }

    /// Nodes by number.
    #[must_use]
    pub fn nodes(&self) -> &[u16] {
        &self.nodes[..self.len]
    }

    fn has(&self, node: usize) -> bool {
        self.nodes().iter().any(|&held| usize::from(held) == node)
    }
}

/// A placement that cannot be: what was found and what is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlacementError {
    /// So many nodes.
    Nodes(usize),
    /// So many replicas of so many nodes.
    Replicas(usize, usize),
    /// Two nodes have this name.
    Twice(String),
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(found) => write!(f, "there are {found} nodes; 1 to {NODES_MAX} are needed"),
            Self::Replicas(found, nodes) => {
                let most = nodes.min(&REPLICAS_MAX);
                write!(f, "{found} replicas on {nodes} nodes; 1 to {most} are needed")
            }
            Self::Twice(name) => write!(f, "node {name} is named twice; different ones are needed"),
        }
    }
}

impl std::error::Error for PlacementError {}

/// A rule with its nodes.
#[derive(Clone, Debug)]
pub struct Placement {
    rule: Rule,
    replicas: usize,
    /// What each node's name hashes to.
    names: Vec<u64>,
    /// Of [`Rule::Ring`]: where on the ring which node is, in order.
    ring: Vec<(u64, u16)>,
}

impl Placement {
    /// Of nodes by name, such as `HOST:PORT`. [`Rule::Modulo`] and [`Rule::Jump`] go by the nodes' order, the others
    /// by their names.
    ///
    /// # Errors
    /// When nodes or replicas are too few or too many, or two nodes have one name.
    pub fn new(rule: Rule, nodes: &[String], replicas: usize) -> Result<Self, PlacementError> {
        if !(1..=NODES_MAX).contains(&nodes.len()) {
            return Err(PlacementError::Nodes(nodes.len()));
        }
        if !(1..=nodes.len().min(REPLICAS_MAX)).contains(&replicas) {
            return Err(PlacementError::Replicas(replicas, nodes.len()));
        }
        let is_twice = |(at, name): &(usize, &String)| nodes[..*at].contains(name);
        if let Some((_, name)) = nodes.iter().enumerate().find(is_twice) {
            return Err(PlacementError::Twice(name.clone()));
        }
        let names: Vec<u64> = nodes.iter().map(|name| hash64(name.as_bytes(), 0)).collect();
        let ring = if rule == Rule::Ring { ring(&names) } else { Vec::new() };
        Ok(Self { rule, replicas, names, ring })
    }

    /// How many nodes hold a key.
    #[must_use]
    pub const fn replicas(&self) -> usize {
        self.replicas
    }

    /// The nodes of a key.
    #[must_use]
    pub fn of(&self, key: &[u8]) -> Replicas {
        let hash = hash64(key, 0);
        match self.rule {
            Rule::Modulo => self.modulo(hash),
            Rule::Jump => self.jump(hash),
            Rule::Rendezvous => self.rendezvous(hash),
            Rule::Ring => self.next_on_ring(hash),
        }
    }

    fn modulo(&self, hash: u64) -> Replicas {
        // The published code takes 32 bits of the hash.
        let first = hash as u32 as usize;
        let mut found = Replicas::NONE;
        (0..self.replicas).for_each(|step| found.add((first + step) % self.names.len()));
        found
    }

    fn jump(&self, hash: u64) -> Replicas {
        /// With as many replicas as nodes the last is found by chance in some tries; of 256 tries hardly ever none
        /// finds it.
        const TRIES: u64 = 256;
        let mut found = Replicas::NONE;
        let tries = (0..TRIES).map(|again| jump(mixed(hash, again), self.names.len()));
        for node in tries.chain(0..self.names.len()) {
            if !found.has(node) {
                found.add(node);
            }
            if found.len == self.replicas {
                break;
            }
        }
        found
    }

    fn rendezvous(&self, hash: u64) -> Replicas {
        // The best, by weight; few, so that sorting in is quick.
        let mut best = [(0, 0); REPLICAS_MAX];
        let mut len = 0;
        for (node, name) in self.names.iter().enumerate() {
            let weighed = (mixed(hash, *name), node);
            let place = best[..len].iter().position(|held| weighed > *held).unwrap_or(len);
            if place < self.replicas {
                len = (len + 1).min(self.replicas);
                best.copy_within(place..len - 1, place + 1);
                best[place] = weighed;
            }
        }
        let mut found = Replicas::NONE;
        best[..len].iter().for_each(|(_, node)| found.add(*node));
        found
    }

    fn next_on_ring(&self, hash: u64) -> Replicas {
        let start = self.ring.partition_point(|(place, _)| *place < hash);
        let mut found = Replicas::NONE;
        for (_, node) in self.ring[start..].iter().chain(&self.ring[..start]) {
            if !found.has(usize::from(*node)) {
                found.add(usize::from(*node));
            }
            if found.len == self.replicas {
                break;
            }
        }
        found
    }
}

fn ring(names: &[u64]) -> Vec<(u64, u16)> {
    let of_node = |(node, name): (u16, &u64)| {
        let name = *name;
        (0..RING_POINTS as u64).map(move |point| (mixed(name, point), node))
    };
    let mut ring: Vec<_> = (0..).zip(names).flat_map(of_node).collect();
    ring.sort_unstable();
    ring
}

/// A hash of two numbers.
fn mixed(one: u64, other: u64) -> u64 {
    hash128(&one.to_le_bytes(), [other, one])[0]
}

/// The algorithm of the paper's figure 1.
fn jump(mut key: u64, nodes: usize) -> usize {
    let (mut at, mut next) = (0, 0_f64);
    while next < nodes as f64 {
        at = next as usize;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = (at as f64 + 1.0) * ((1_u64 << 31) as f64 / ((key >> 33) as f64 + 1.0));
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const KEYS: u32 = 60_000;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|node| format!("10.0.0.{node}:11211")).collect()
    }

    fn keys() -> impl Iterator<Item = String> {
        (0..KEYS).map(|number| format!("key-{number}"))
    }

    fn placement(rule: Rule, nodes: usize, replicas: usize) -> Placement {
        Placement::new(rule, &names(nodes), replicas).expect("sound")
    }

    #[test]
    fn replicas_are_different_nodes_and_as_many_as_asked_for() {
        for (_, rule) in Rule::ALL {
            for (nodes, replicas) in [(1, 1), (3, 3), (8, 8), (16, 3), (256, 8)] {
                let placement = placement(rule, nodes, replicas);
                for key in keys().take(2_000) {
                    let found = placement.of(key.as_bytes());
                    let different: BTreeSet<_> = found.nodes().iter().collect();
                    assert_eq!(different.len(), replicas, "{rule:?} {nodes}");
                    assert!(found.nodes().iter().all(|node| usize::from(*node) < nodes));
                    assert_eq!(found, placement.of(key.as_bytes()));
                }
            }
        }
    }

    /// χ² over the nodes' shares. Of 15 degrees of freedom, 37.7 is exceeded once in a thousand by chance. A ring's
    /// shares differ by where its points are.
    #[test]
    fn shares_are_even() {
        for (_, rule) in Rule::ALL {
            let placement = placement(rule, 16, 1);
            let mut counts = [0_u32; 16];
            for key in keys() {
                counts[usize::from(placement.of(key.as_bytes()).nodes()[0])] += 1;
            }
            let expected = f64::from(KEYS) / 16.0;
            let square = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
            let chi_squared: f64 = counts.iter().map(square).sum();
            if rule == Rule::Ring {
                let off = |count: &u32| (f64::from(*count) / expected - 1.0).abs();
                assert!(counts.iter().map(off).fold(0.0, f64::max) < 0.25, "{counts:?}");
            } else {
                assert!(chi_squared < 37.7, "{rule:?}: {chi_squared}");
            }
        }
    }

    /// The share of a key's places that change when the 17th node comes; of the best, a seventeenth.
    fn moved(rule: Rule, replicas: usize) -> f64 {
        let [before, after] = [16, 17].map(|nodes| placement(rule, nodes, replicas));
        let changes = |key: &String| {
            let [before, after] = [&before, &after].map(|it| it.of(key.as_bytes()));
            before.nodes().iter().filter(|node| !after.nodes().contains(node)).count()
        };
        let all: usize = keys().map(|key| changes(&key)).sum();
        all as f64 / f64::from(KEYS) / replicas as f64
    }

    #[test]
    fn few_keys_move_when_a_node_comes_but_by_modulo_nearly_all() {
        for rule in [Rule::Jump, Rule::Rendezvous, Rule::Ring] {
            let one = moved(rule, 1) * 17.0;
            // A node's share of a ring is not even.
            let most = if rule == Rule::Ring { 1.25 } else { 1.1 };
            assert!((0.75..most).contains(&one), "{rule:?}: {one} of what must move");
            let three = moved(rule, 3) * 17.0;
            assert!((0.75..1.35).contains(&three), "{rule:?}: {three} of what must move");
        }
        assert!(moved(Rule::Modulo, 1) > 0.9);
    }

    /// By names, any node may leave: the keys of the others stay.
    #[test]
    fn a_node_that_leaves_moves_its_own_keys_only() {
        for rule in [Rule::Rendezvous, Rule::Ring] {
            let all = names(16);
            let without: Vec<_> = all.iter().filter(|name| **name != all[5]).cloned().collect();
            let before = Placement::new(rule, &all, 1).expect("sound");
            let after = Placement::new(rule, &without, 1).expect("sound");
            for key in keys() {
                let [before, after] = [(&before, &all), (&after, &without)].map(|(it, names)| {
                    names[usize::from(it.of(key.as_bytes()).nodes()[0])].clone()
                });
                assert!(before == after || before == all[5], "{rule:?} {key}");
            }
        }
    }

    /// Of the paper's figure 1 written down anew in Python. The first four stand in the tests of other libraries, too.
    #[test]
    fn jump_is_the_papers() {
        let vectors = [
            (256, 1_024, 520),
            (42, 57, 43),
            (0xdead_10cc, 1, 0),
            (0xdead_10cc, 666, 361),
            (10_863_919_174_838_991, 11, 6),
            (1_673_758_223_894_951_030, 11, 5),
            (2, 100_001, 80_343),
            (2_202, 100_001, 15_018),
        ];
        for (key, nodes, expected) in vectors {
            assert_eq!(jump(key, nodes), expected, "{key} {nodes}");
        }
    }

    #[test]
    fn what_cannot_be_is_told() {
        let error = |nodes, replicas| {
            Placement::new(Rule::Jump, &names(nodes), replicas).expect_err("wrong").to_string()
        };
        assert_eq!(error(0, 1), "there are 0 nodes; 1 to 256 are needed");
        assert_eq!(error(257, 1), "there are 257 nodes; 1 to 256 are needed");
        assert_eq!(error(3, 0), "0 replicas on 3 nodes; 1 to 3 are needed");
        assert_eq!(error(16, 9), "9 replicas on 16 nodes; 1 to 8 are needed");
        let twice = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        let error = Placement::new(Rule::Ring, &twice, 1).expect_err("twice").to_string();
        assert_eq!(error, "node a is named twice; different ones are needed");
    }
}
