//! The driver of virtual time on several threads. A simulation is decided by its seed, so the same comes out
//! however many there are.

use tailwater_core::Rate;
use tailwater_experiment::{ClosedLoop, Cost, Driver, OpenRun, Played};
use tailwater_figures::spread;
use tailwater_sim::{Failure, Simulator};
use tailwater_stats::result::Manifest;

/// Plays so many runs at a time.
pub(super) struct Simulation<'a> {
    pub(super) simulator: Simulator<'a>,
    /// From 1.
    pub(super) threads: usize,
}

impl Driver for Simulation<'_> {
    type Failure = Failure;

    fn name(&self) -> &'static str {
        self.simulator.name()
    }

    fn manifest(&self) -> Manifest {
        self.simulator.manifest()
    }

    fn drifts(&self) -> bool {
        self.simulator.drifts()
    }

    fn cost(&self, capacity: Rate) -> Cost {
        self.simulator.cost(capacity)
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
        let simulator = self.simulator;
        spread(self.threads, asks, |ask| { simulator }.open_run(ask))
    }
}
