//! The server processes of one run: the tiers that requests call, and in front of them the server.

use super::process::ServerProcess;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::scenarios::Said;
use tailwater_load::tiers::TierProcess;
use tailwater_workload::Scenario;

/// Ended front first when dropped, so that no node loses what it calls before it has ended itself.
pub(super) struct Deployment {
    front: ServerProcess,
    /// In the file's order. The nodes of each tier share a process.
    tiers: Vec<(String, ServerProcess)>,
}

/// What the processes are told.
pub(super) struct Flags {
    /// All of them: what they do.
    pub(super) what: Vec<String>,
    /// The front: where it runs and how it waits.
    pub(super) place: Vec<String>,
    /// The tiers.
    pub(super) of_nodes: Vec<String>,
}

impl Deployment {
    /// Starts the tiers, the last of the file first: a tier calls only such as stand behind it. Nodes wait
    /// asleep, as cores are few.
    pub(super) fn start(
        (scenario, said): (&Scenario, &Said),
        Flags { what, place, of_nodes }: &Flags,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let (mut tiers, mut reached) = (Vec::new(), Vec::new());
        for tier in scenario.tiers.iter().rev() {
            let own = ["--tier", &tier.name, "--reception", "block"].map(str::to_owned);
            let pin = tier.pin.iter().flat_map(|core| ["--core".into(), core.to_string()]);
            let flags = [&what[..], of_nodes, &own, &pin.collect::<Vec<_>>(), &reached].concat();
            let process = ServerProcess::start(&flags, said, interrupt)?;
            reached.extend([
                "--downstream".into(),
                format!("{}={}", tier.name, process.nodes.join(",")),
            ]);
            // What calls it ends before it.
            tiers.insert(0, (tier.name.clone(), process));
        }
        let flags = [&what[..], place, &reached].concat();
        let front = ServerProcess::start(&flags, said, interrupt)?;
        Ok(Self { front, tiers })
    }

    /// Where clients connect.
    pub(super) fn address(&self) -> &str {
        &self.front.address
    }

    /// Which tiers have ended already, though nothing asked them to.
    pub(super) fn trouble(&mut self) -> Option<String> {
        let ended = |(name, process): &mut (String, ServerProcess)| {
            Some(format!("the server of the tier {name} {}", process.ended()?))
        };
        let ended: Vec<String> = self.tiers.iter_mut().filter_map(ended).collect();
        (!ended.is_empty()).then(|| ended.join("; "))
    }

    /// How the front ended, if it did though nothing asked it to.
    pub(super) fn front_ended(&mut self) -> Option<String> {
        self.front.ended()
    }

    /// The front's process.
    pub(super) fn pid(&self) -> u32 {
        self.front.pid()
    }

    /// The tiers' processes, in the file's order.
    pub(super) fn tiers(&self) -> Vec<TierProcess> {
        let of = |(tier, process): &(String, ServerProcess)| TierProcess {
            tier: tier.clone(),
            pid: process.pid(),
            nodes: process.nodes.clone(),
        };
        self.tiers.iter().map(of).collect()
    }
}
