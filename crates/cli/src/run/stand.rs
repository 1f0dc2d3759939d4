//! A service that stands in its tiers until it is dropped, for verbs that are asked by people.

use super::deployment::{Deployment, Flags};
use super::{flags, prepared, refuse_on_sockets};
use crate::data_folder::DataFolder;
use crate::failure::Failure;
use crate::scenarios::Said;
use std::path::PathBuf;
use std::time::Duration;
use tailwater_control::catalog::{self, Spec};
use tailwater_program::interrupt::Interrupt;
use tailwater_workload::Scenario;

/// The processes.
pub(crate) struct Stand {
    deployment: Deployment,
    /// The folder of prepared data.
    pub(crate) data: PathBuf,
}

/// People wait longer than programs, and one at a time queues nowhere.
const OBJECTIVE: Duration = Duration::from_secs(1);

impl Stand {
    /// Prepares the data, and starts the processes of the `number`th service of this process.
    pub(crate) fn start(
        scenario: &Scenario,
        folder: &DataFolder,
        number: u32,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let data = folder.path_for(scenario)?;
        refuse_on_sockets(scenario, &data)?;
        prepared(scenario, &data, interrupt)?;
        // The speed of spinning, which none of these services does.
        let what = flags::what(&Spec::named(catalog::DEFAULT), OBJECTIVE, 1.0);
        let places = flags::places(scenario, scenario.server.model, number);
        let flags = Flags { what, places, of_nodes: Vec::new() };
        let said = Said::of(scenario, &data);
        let deployment = Deployment::start((scenario, &said), &flags, interrupt)?;
        Ok(Self { deployment, data })
    }

    /// Where clients connect: to the first replica, where there are some.
    pub(crate) fn address(&self) -> String {
        self.deployment.addresses().swap_remove(0)
    }

    /// Each node's name and address, the tiers in the file's order.
    pub(crate) fn nodes(&self) -> Vec<(String, String)> {
        let of = |tier: tailwater_load::tiers::TierProcesses| {
            let name = move |(number, node)| (format!("{} {number}", tier.tier), node);
            (0_u32..).zip(tier.nodes).map(name).collect::<Vec<_>>()
        };
        self.deployment.tiers().into_iter().flat_map(of).collect()
    }

    /// Which of its processes have ended, though nothing asked them to.
    pub(crate) fn trouble(&mut self) -> Option<String> {
        let front = self.deployment.front_ended().map(|how| format!("the mid-tier {how}"));
        front.or_else(|| self.deployment.trouble())
    }
}
