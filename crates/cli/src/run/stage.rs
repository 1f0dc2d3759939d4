//! Sockets for verbs that play several experiments of a service: its data are prepared once.

use super::loopback::Loopback;
use super::others;
use super::watch::Watcher;
use super::{prepared, refuse_on_sockets};
use crate::data_folder::DataFolder;
use crate::failure::Failure;
use crate::job::Watching;
use crate::progress::Progress;
use crate::scenarios::Said;
use std::path::PathBuf;
use tailwater_core::Rate;
use tailwater_experiment::{Driver as _, Shard, capacity, check, pieces};
use tailwater_program::interrupt::Interrupt;
use tailwater_stats::result::{CapacityReading, DataUsed, Experiment};
use tailwater_workload::Scenario;

/// A scenario's data, and a hand on Ctrl-C.
pub(crate) struct Stage<'a> {
    data: PathBuf,
    used: Vec<DataUsed>,
    interrupt: &'a Interrupt,
}

impl<'a> Stage<'a> {
    /// Refuses what cannot be played, and prepares the data of the rest.
    pub(crate) fn prepare(
        scenario: &Scenario,
        folder: &DataFolder,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Failure> {
        let data = folder.path_for(scenario)?;
        check(scenario).map_err(Failure::usage)?;
        refuse_on_sockets(scenario, &data)?;
        let used = prepared(scenario, &data, interrupt)?;
        others::tell();
        Ok(Self { data, used, interrupt })
    }

    /// Answers per second with so many requests in flight, and the height of the plateau. A sweep whose last step still rises
    /// goes on.
    pub(crate) fn capacity(&self, scenario: &Scenario) -> Result<CapacityReading, Failure> {
        let clients = scenario.clients.counts[0];
        let mut ask = capacity::of_scenario(scenario, clients);
        let mut points = self.driver(scenario).closed_loop(&ask)?;
        while let Some(in_flight) = capacity::next_in_flight(&points) {
            ask.in_flight = vec![in_flight];
            points.extend(self.driver(scenario).closed_loop(&ask)?);
        }
        let plateau_rps = capacity::plateau(&points);
        Ok(CapacityReading { clients, repetition: 0, points, plateau_rps })
    }

    /// Plays a scenario whose demand is a share of this capacity or none, watched so.
    pub(crate) fn play(
        &self,
        mut scenario: Scenario,
        capacity: Rate,
        watching: Watching,
    ) -> Result<Experiment, Failure> {
        scenario.capacity.fixed = Some(capacity);
        let progress = Progress::new(pieces(&scenario, Shard::WHOLE, true));
        let mut driver = self.driver(&scenario).watching(watching);
        let mut watcher = Watcher::new(&progress, self.interrupt);
        let played = tailwater_experiment::run(&scenario, &mut driver, &mut watcher);
        if let Some(signal) = self.interrupt.signal() {
            return Err(Failure::signal(signal));
        }
        let mut experiment = played.map_err(|unfinished| unfinished.failure)?;
        experiment.data.clone_from(&self.used);
        Ok(experiment)
    }

    fn driver<'s>(&'s self, scenario: &'s Scenario) -> Loopback<'s> {
        Loopback::new(scenario, (Said::of(scenario, &self.data), &self.used), self.interrupt)
    }
}
