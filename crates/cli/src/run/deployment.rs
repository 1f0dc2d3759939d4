//! The server processes of one run: the tiers that requests call, and in front of them the server.

use super::launched;
use super::member::{Launch, Member};
use crate::failure::Failure;
use crate::scenarios::Said;
use tailwater_load::meter::{Metered, Used};
use tailwater_load::tiers::TierProcesses;
use tailwater_program::interrupt::Interrupt;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{FaultKind, Struck, Tier};

/// Ended front first when dropped, so that no node loses what it calls before it has ended itself.
pub(super) struct Deployment {
    /// One for each replica of the server.
    front: Vec<Member>,
    /// A fault takes processes of it away.
    front_is_taken: bool,
    /// In the file's order.
    tiers: Vec<Nodes>,
}

/// What the front's processes, or a tier's, used since the run's begin: where faults take some away.
pub(super) struct Taken {
    /// Its name; empty for the front.
    pub(super) tier: String,
    pub(super) count: u32,
    pub(super) used: Used,
}

/// A tier's.
struct Nodes {
    tier: String,
    count: u32,
    /// One for each node that has replicas, is a program of others, or is struck alone by a fault; else one for all.
    members: Vec<Member>,
    /// A fault takes its processes away: what they used and counted goes with them.
    is_taken: bool,
}

/// What the processes are told.
pub(super) struct Flags {
    /// All of them: what they do.
    pub(super) what: Vec<String>,
    /// The front: where each replica runs and how it waits.
    pub(super) places: Vec<Vec<String>>,
    /// The tiers.
    pub(super) of_nodes: Vec<String>,
}

impl Deployment {
    /// Starts the tiers, the last of the file first: a tier calls only such as stand behind it. Nodes wait
    /// asleep, as cores are few.
    pub(super) fn start(
        (scenario, said): (&Scenario, &Said),
        Flags { what, places, of_nodes }: &Flags,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let (mut tiers, mut reached) = (Vec::new(), Vec::new());
        for (index, tier) in scenario.tiers.iter().enumerate().rev() {
            let flags = [&what[..], of_nodes, &flags_of(tier), &reached].concat();
            let launches = launches(scenario, index, &flags, said);
            let start = |launch: Launch| Member::start(launch, interrupt);
            let members = launches.into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
            let addresses: Vec<String> = members.iter().flat_map(Member::addresses).collect();
            let (name, count) = (tier.name.clone(), tier.nodes * tier.replicas);
            reached.extend(["--downstream".into(), format!("{name}={}", addresses.join(","))]);
            let is_taken = takes(scenario, Some(index));
            // What calls it ends before it.
            tiers.insert(0, Nodes { tier: name, count, members, is_taken });
        }
        let knobs = launched::knobs(scenario).map_err(Failure::usage)?;
        let front = |place: &Vec<String>| {
            let flags = [&what[..], place, &reached].concat();
            let (knobs, may_stop) = (knobs.clone(), stops(scenario, None));
            Member::start(Launch::Ours { flags, knobs, may_stop, said: said.clone() }, interrupt)
        };
        let front = places.iter().map(front).collect::<Result<_, _>>()?;
        Ok(Self { front, front_is_taken: takes(scenario, None), tiers })
    }

    /// Where clients connect: to each replica.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.front.iter().flat_map(|member| member.addresses().into_iter().take(1)).collect()
    }

    /// Which servers have ended already, though nothing asked them to.
    pub(super) fn trouble(&mut self) -> Option<String> {
        let front = self.front.iter_mut().filter_map(Member::ended);
        let mut ended: Vec<String> = front.map(|how| format!("the server {how}")).collect();
        for Nodes { tier, members, .. } in &mut self.tiers {
            let how = members.iter_mut().filter_map(Member::ended);
            ended.extend(how.map(|how| format!("the server of the tier {tier} {how}")));
        }
        (!ended.is_empty()).then(|| ended.join("; "))
    }

    /// How the front ended, if it did though nothing asked it to.
    pub(super) fn front_ended(&mut self) -> Option<String> {
        self.front.iter_mut().find_map(Member::ended)
    }

    /// The front's processes, as a generator can meter them from a run's begin to its end.
    pub(super) fn front(&self) -> Metered {
        if self.front_is_taken { Metered::default() } else { metered(&self.front) }
    }

    /// The processes that it cannot, the front's first.
    pub(super) fn taken(&self) -> Vec<Taken> {
        let count = |members: &[Member]| u32::try_from(members.len()).unwrap_or(u32::MAX);
        let front = self.front_is_taken.then(|| Taken {
            tier: String::new(),
            count: count(&self.front),
            used: used(&self.front),
        });
        let tiers = self.tiers.iter().filter(|nodes| nodes.is_taken);
        let tiers = tiers.map(|nodes| Taken {
            tier: nodes.tier.clone(),
            count: nodes.count,
            used: used(&nodes.members),
        });
        front.into_iter().chain(tiers).collect()
    }

    /// The tiers' processes, in the file's order.
    pub(super) fn tiers(&self) -> Vec<TierProcesses> {
        self.tiers.iter().map(Nodes::processes).collect()
    }

    /// The processes that a fault strikes.
    pub(super) fn struck(&mut self, Struck { tier, node }: Struck) -> &mut [Member] {
        let members = match tier {
            None => &mut self.front,
            Some(tier) => &mut self.tiers[tier].members,
        };
        match node {
            Some(node) => &mut members[node as usize..=node as usize],
            None => members,
        }
    }
}

impl Nodes {
    fn processes(&self) -> TierProcesses {
        let ours = self.members.iter().filter(|member| !member.is_foreign());
        let nodes = ours.flat_map(Member::addresses).filter(|_| !self.is_taken);
        TierProcesses {
            tier: self.tier.clone(),
            count: self.count,
            nodes: nodes.collect(),
            metered: (!self.is_taken).then(|| metered(&self.members)),
        }
    }
}

/// Of all of them together.
fn used(members: &[Member]) -> Used {
    let and = |sum: Used, one: Used| Used {
        usage: sum.usage.zip(one.usage).map(|(sum, one)| sum.and(&one)),
        memory: sum.memory + one.memory,
        commands: None,
    };
    members.iter().map(Member::used).reduce(and).unwrap_or_default()
}

fn metered(members: &[Member]) -> Metered {
    let foreign = members.iter().filter(|member| member.is_foreign());
    Metered {
        pids: members.iter().map(Member::pid).collect(),
        foreign: foreign.flat_map(Member::addresses).filter_map(|at| at.parse().ok()).collect(),
    }
}

fn flags_of(tier: &Tier) -> Vec<String> {
    let own = ["--tier", &tier.name, "--reception", "block"].map(str::to_owned);
    let pin = tier.pin.iter().flat_map(|core| ["--core".into(), core.to_string()]);
    own.into_iter().chain(pin).collect()
}

/// What is to be started for a tier.
fn launches(scenario: &Scenario, index: usize, flags: &[String], said: &Said) -> Vec<Launch> {
    let tier = &scenario.tiers[index];
    let core_of = |node: u32| {
        let at = (node as usize).checked_rem(tier.pin.len())?;
        tier.pin.get(at).copied()
    };
    let may_stop = stops(scenario, Some(index));
    let ours = |flags| Launch::Ours { flags, knobs: Vec::new(), may_stop, said: said.clone() };
    let one = |node: u32| match &tier.command {
        Some(command) => Launch::Foreign { command: command.clone(), core: core_of(node) },
        None => ours([flags, &["--node".into(), node.to_string()]].concat()),
    };
    let is_struck_alone = scenario.faults.iter().any(|fault| {
        fault.nodes.tier == Some(index) && (fault.nodes.node.is_some() || restarts(fault.kind))
    });
    // A node whose replica stands still must go on.
    match tier.command.is_some() || is_struck_alone || tier.replicas > 1 {
        true => (0..tier.nodes * tier.replicas).map(one).collect(),
        false => vec![ours(flags.to_vec())],
    }
}

/// Whether a fault takes processes away.
pub(super) fn takes_any(scenario: &Scenario) -> bool {
    scenario.faults.iter().any(|fault| restarts(fault.kind))
}

/// Whether a fault takes processes of a tier away, or of the front.
pub(super) fn takes(scenario: &Scenario, tier: Option<usize>) -> bool {
    scenario.faults.iter().any(|fault| fault.nodes.tier == tier && restarts(fault.kind))
}

/// Whether a fault stops processes of a tier, or of the front.
fn stops(scenario: &Scenario, tier: Option<usize>) -> bool {
    let stops = |kind| kind == FaultKind::ServerPause;
    scenario.faults.iter().any(|fault| fault.nodes.tier == tier && stops(fault.kind))
}

fn restarts(kind: FaultKind) -> bool {
    kind == FaultKind::ServerRestart
}
