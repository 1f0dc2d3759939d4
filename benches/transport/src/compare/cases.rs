//! What is compared: peers, and the loads they are put under.

use crate::poller::Reception;
use crate::protocol::Name;
use serde::{Deserialize, Serialize};

/// A server to be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Peer {
    /// A bare epoll loop, the unit of all ratios.
    Raw,
    /// `tailwater serve`.
    Tailwater,
    /// gRPC.
    Tonic,
    /// tarpc.
    Tarpc,
}

impl Peer {
    /// In the order of the tables.
    pub(crate) const ALL: [Self; 4] = [Self::Raw, Self::Tailwater, Self::Tonic, Self::Tarpc];

    /// As it is shown and chosen.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Tailwater => "tailwater",
            Self::Tonic => "tonic",
            Self::Tarpc => "tarpc",
        }
    }

    /// What it speaks.
    pub(crate) const fn protocol(self) -> Name {
        match self {
            Self::Raw | Self::Tailwater => Name::Tailwater,
            Self::Tonic => Name::Grpc,
            Self::Tarpc => Name::Tarpc,
        }
    }
}

/// A load and who is put under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Case {
    /// As it is shown and chosen.
    pub(crate) name: &'static str,
    /// Connections.
    pub(crate) connections: u32,
    /// Calls outstanding on each.
    pub(crate) outstanding: u32,
    /// How the server waits, if it lets us choose.
    pub(crate) server: Reception,
    /// How the generator waits.
    pub(crate) client: Reception,
    /// The servers that are compared.
    pub(crate) peers: Vec<Peer>,
    /// Each request goes on to leaves, which run beside the generator.
    pub(crate) fans_out: bool,
    /// Bodies have 8 KiB, and raw copies each once more.
    pub(crate) is_large: bool,
}

impl Case {
    /// What a peer speaks in it.
    pub(crate) fn protocol(&self, peer: Peer) -> Name {
        match peer {
            Peer::Raw | Peer::Tailwater if self.is_large => Name::TailwaterLarge,
            _ => peer.protocol(),
        }
    }
}

/// All cases, or those that `only` names; raw stays in each, since all ratios are to it.
pub(super) fn chosen(short: bool, loaded: Reception, only: &[String]) -> Result<Vec<Case>, String> {
    let mut cases = all(short, loaded);
    let known = |name: &String| {
        let peer = Peer::ALL.iter().any(|peer| peer.name() == name);
        peer || cases.iter().any(|case| case.name == name)
    };
    if let Some(unknown) = only.iter().find(|name| !known(name)) {
        let peers = Peer::ALL.map(Peer::name).join(", ");
        let names: Vec<&str> = cases.iter().map(|case| case.name).collect();
        let names = names.join(", ");
        return Err(format!(
            "found --only {unknown}; there are the peers {peers} and the cases {names}"
        ));
    }
    let named = |name: &str| only.iter().any(|only| only == name);
    if cases.iter().any(|case| named(case.name)) {
        cases.retain(|case| named(case.name));
    }
    if Peer::ALL.iter().any(|peer| named(peer.name())) {
        for case in &mut cases {
            case.peers.retain(|peer| *peer == Peer::Raw || named(peer.name()));
        }
    }
    Ok(cases)
}

fn all(short: bool, loaded: Reception) -> Vec<Case> {
    let loaded = |name, connections, outstanding| Case {
        name,
        connections,
        outstanding,
        server: loaded,
        // A client that sleeps makes the server pay for waking it, and waits for it meanwhile.
        client: Reception::Poll,
        peers: Peer::ALL.to_vec(),
        fans_out: false,
        is_large: false,
    };
    let unloaded = |name, reception, peers: &[Peer]| Case {
        name,
        connections: 1,
        outstanding: 1,
        server: reception,
        client: reception,
        peers: peers.to_vec(),
        fans_out: false,
        is_large: false,
    };
    // All of them sleep: generator and leaves share a core.
    let fan = |name, connections, outstanding| Case {
        name,
        connections,
        outstanding,
        server: Reception::Block,
        client: Reception::Block,
        peers: vec![Peer::Raw, Peer::Tailwater, Peer::Tonic],
        fans_out: true,
        is_large: false,
    };
    let [many, deep] = if short {
        [loaded("1000x1", 10, 1), loaded("50x16", 2, 16)]
    } else {
        [loaded("1000x1", 1_000, 1), loaded("50x16", 50, 16)]
    };
    // tokio cannot spin.
    let spin = unloaded("spin", Reception::Poll, &[Peer::Raw, Peer::Tailwater]);
    let sleep = unloaded("sleep", Reception::Block, &Peer::ALL);
    let fans = [fan("fan", if short { 2 } else { 50 }, 4), fan("fan-alone", 1, 1)];
    // The generator writes gRPC's messages for one length alone.
    let peers = vec![Peer::Raw, Peer::Tailwater];
    let large = Case { peers, is_large: true, ..fan("fan-8k", 1, 1) };
    [many, deep, spin, sleep].into_iter().chain(fans).chain([large]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(names: &[&str]) -> Result<Vec<(&'static str, Vec<Peer>)>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let cases = chosen(true, Reception::Poll, &names)?;
        Ok(cases.into_iter().map(|case| (case.name, case.peers)).collect())
    }

    #[test]
    fn short_leaves_out_nothing() {
        let [long, short] = [false, true].map(|short| all(short, Reception::Poll));
        assert_eq!(long.len(), short.len());
        for (long, short) in long.iter().zip(&short) {
            assert_eq!((long.name, &long.peers), (short.name, &short.peers));
        }
    }

    #[test]
    fn raw_stays_for_the_ratios() {
        let cases = only(&["tarpc", "sleep"]).unwrap();
        assert_eq!(cases, [("sleep", vec![Peer::Raw, Peer::Tarpc])]);
        assert_eq!(only(&["tonic"]).unwrap().len(), 7);
        assert_eq!(only(&["50x16"]).unwrap()[0].1.len(), 4);
        assert!(only(&["grpc"]).unwrap_err().contains("raw, tailwater, tonic, tarpc"));
    }
}
