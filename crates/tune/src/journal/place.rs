//! Where knobs were turned.

use serde::{Deserialize, Serialize};

/// Folders whose files are another network namespace's when they are opened from there (network_namespaces(7)).
const OF_NETWORK: [&str; 2] = ["/proc/sys/net/", "/sys/class/net/"];

/// The start of the machine and the network namespace in which knobs were turned.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// What the kernel says in `/proc/sys/kernel/random/boot_id`, another after each start; `None` where it says nothing.
    pub boot: Option<String>,
    /// What `/proc/self/ns/net` points to; `None` where it is missing. The kernel may give the number of a namespace that
    /// has ended to a new one. Its files then say values of its own, which are told from ours as those of others are.
    pub network: Option<String>,
}

/// How an entry stands to the place from which it is to be put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Its file is the one that was turned.
    Here,
    /// The machine has started anew, with values that were never turned.
    Restarted,
    /// Its file is that of another network namespace.
    Elsewhere,
}

impl Place {
    /// How an entry for the file at `path` that was noted here stands to `now`.
    #[must_use]
    pub fn standing(&self, now: &Self, path: &str) -> Standing {
        let boots = self.boot.as_ref().zip(now.boot.as_ref());
        if boots.is_some_and(|(then, now)| then != now) {
            return Standing::Restarted;
        }
        let is_of_network = OF_NETWORK.iter().any(|folder| path.starts_with(folder));
        if is_of_network && self.network != now.network {
            Standing::Elsewhere
        } else {
            Standing::Here
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(boot: &str, network: &str) -> Place {
        Place { boot: Some(boot.into()), network: Some(network.into()) }
    }

    #[test]
    fn a_start_voids_everything_and_a_namespace_its_own_files() {
        let (then, memory) = (place("one", "net:[1]"), "/proc/sys/vm/swappiness");
        let network = "/proc/sys/net/core/netdev_budget";
        for (now, of_memory, of_network) in [
            (place("one", "net:[1]"), Standing::Here, Standing::Here),
            (place("one", "net:[2]"), Standing::Here, Standing::Elsewhere),
            (place("two", "net:[1]"), Standing::Restarted, Standing::Restarted),
            (Place { network: None, ..then.clone() }, Standing::Here, Standing::Elsewhere),
            (Place { boot: None, ..then.clone() }, Standing::Here, Standing::Here),
        ] {
            assert_eq!(then.standing(&now, memory), of_memory, "{now:?}");
            assert_eq!(then.standing(&now, network), of_network, "{now:?}");
        }
    }
}
