//! The server processes of one run: the tiers that requests call, and in front of them the server.

use super::interrupt::Interrupt;
use super::process::ServerProcess;
use crate::failure::Failure;
use crate::scenarios::Said;
use tailwater_workload::Scenario;

/// Ended front first when dropped, so that no node loses what it calls before it has ended itself.
pub(super) struct Deployment {
    front: ServerProcess,
    /// The nodes of each tier share a process; the last tier comes first.
    _tiers: Vec<ServerProcess>,
}

impl Deployment {
    /// Starts the tiers, the last of the file first: a tier calls only such as stand behind it. All do `what`
    /// the flags say, the front in its `place`; nodes wait asleep, as cores are few.
    pub(super) fn start(
        (scenario, said): (&Scenario, &Said),
        (what, place): (&[String], &[String]),
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let (mut tiers, mut reached) = (Vec::new(), Vec::new());
        for tier in scenario.tiers.iter().rev() {
            let own = ["--tier", &tier.name, "--reception", "block"].map(str::to_owned);
            let flags = [what, &own, &reached].concat();
            let process = ServerProcess::start(&flags, said, interrupt)?;
            reached.extend([
                "--downstream".into(),
                format!("{}={}", tier.name, process.nodes.join(",")),
            ]);
            tiers.push(process);
        }
        let flags = [what, place, &reached].concat();
        let front = ServerProcess::start(&flags, said, interrupt)?;
        Ok(Self { front, _tiers: tiers })
    }

    /// Where clients connect.
    pub(super) fn address(&self) -> &str {
        &self.front.address
    }

    /// The front's process.
    pub(super) fn pid(&self) -> u32 {
        self.front.pid()
    }
}
