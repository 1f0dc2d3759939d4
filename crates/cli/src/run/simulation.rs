//! The driver of virtual time on several threads. A simulation is decided by its seed, so the same comes out
//! however many there are.

use crate::machine::built;
use tailwater_core::Rate;
use tailwater_experiment::{ClosedLoop, Cost, Driver, OpenRun, Played};
use tailwater_figures::spread;
use tailwater_sim::{Failure, Simulator};
use tailwater_stats::result::Manifest;
use tailwater_workload::scenario::ControllerSpec;

/// Plays so many runs at a time.
pub(super) struct Simulation<'a> {
    pub(super) simulator: Simulator<'a>,
    /// From 1.
    pub(super) threads: usize,
    /// Whether no further run shall begin.
    pub(super) stops: &'a (dyn Fn() -> bool + Sync),
}

impl Driver for Simulation<'_> {
    type Failure = Failure;

    fn name(&self) -> &'static str {
        self.simulator.name()
    }

    fn manifest(&self) -> Manifest {
        built(self.simulator.manifest())
    }

    fn drifts(&self) -> bool {
        self.simulator.drifts()
    }

    fn cost(&self, controller: &ControllerSpec, capacity: Rate) -> Cost {
        self.simulator.cost(controller, capacity)
    }

    fn closed_loop(&mut self, ask: &ClosedLoop) -> Result<Vec<(u32, f64)>, Failure> {
        let simulator = self.simulator;
        let points = spread(self.threads, &ask.in_flight, |&in_flight| {
            let point = ClosedLoop { in_flight: vec![in_flight], ..ask.clone() };
            { simulator }.closed_loop(&point)
        })?;
        Ok(points.concat())
    }

    fn open_run(&mut self, ask: &OpenRun<'_>) -> Result<Played, Failure> {
        self.simulator.open_run(ask)
    }

    fn at_a_time(&self) -> usize {
        self.threads
    }

    fn open_runs(&mut self, asks: &[OpenRun<'_>]) -> Result<Vec<Played>, Failure> {
        let (simulator, stops) = (self.simulator, self.stops);
        let play = |ask: &OpenRun<'_>| match stops() {
            true => Ok(None),
            false => { simulator }.open_run(ask).map(Some),
        };
        // They begin in their order: behind one that did not, none did.
        Ok(spread(self.threads, asks, play)?.into_iter().map_while(|played| played).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;
    use tailwater_experiment::label;
    use tailwater_workload::Scenario;

    const TEXT: &str = r#"
slo = "1ms"
warm_up = "1ms"
duration = "2ms"
clients.count = 2
demand.requests_per_second = 10_000
controller = { name = "none" }
server.service = { distribution = "constant", mean = "10us" }
"#;

    #[test]
    fn no_run_begins_once_it_shall_stop_and_those_before_are_kept() {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        let configuration = &scenario.configurations()[0];
        let controller = &scenario.controllers[0];
        let ask = OpenRun {
            configuration,
            controller,
            spec: label::spec(controller),
            demand: configuration.demand_plan(Rate(50e3)),
            drain: Duration::from_millis(1),
            enforces_deadlines: false,
            seed: 1,
        };
        let asks = vec![ask; 6];
        for (threads, begun) in [(1, 0), (1, 4), (3, 4)] {
            let looks = AtomicU32::new(0);
            let stops = || looks.fetch_add(1, Ordering::Relaxed) >= begun;
            let simulator = Simulator::new(&scenario);
            let played = Simulation { simulator, threads, stops: &stops }.open_runs(&asks).unwrap();
            assert!(played.len() <= begun as usize, "{} of {begun}", played.len());
            assert!(threads > 1 || played.len() == begun as usize, "{} of {begun}", played.len());
        }
    }
}
