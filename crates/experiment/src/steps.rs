//! Stepped scenarios: the same step out of many cycles and repetitions, laid over one another.

use crate::label::{demand_at, step_ratio};
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_core::Rate;
use tailwater_stats::result::{AskedRun, Series, StepRecovery};
use tailwater_stats::{Overlay, RecoverySpec};
use tailwater_workload::scenario::{Configuration, Course, CycleStep};

/// Overlays by controller, profile, objective, clients and step.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    overlays: BTreeMap<Key, Overlay>,
}

/// Order of the steps first, so that reports compare controllers step by step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    slo_ns: u128,
    clients: u32,
    step: usize,
    controller: String,
    profile: String,
    /// Hundredths of a per cent of capacity, before and after.
    from: u64,
    to: u64,
}

impl Steps {
    /// Adds a run's requests: offset in the measured window and latency, in µs and in order of time. Demands
    /// are called as multiples of `capacity`.
    pub(crate) fn add(
        &mut self,
        configuration: &Configuration,
        capacity: Rate,
        asked: &AskedRun,
        points: &[(f32, f32)],
    ) {
        let Course::Cycle(cycle) = &configuration.course else {
            return;
        };
        let ends = |step: &CycleStep| [step.amount, step.end].map(|it| step_ratio(it, capacity));
        let ratios: Vec<[u64; 2]> = cycle.steps.iter().map(ends).collect();
        let mut begin = Duration::ZERO;
        let mut rest = points;
        for round in 0..cycle.repeat as usize {
            for (index, step) in cycle.steps.iter().enumerate() {
                let end = begin + step.length;
                let count = rest.partition_point(|point| micros(point.0) < end);
                let (of_step, later) = rest.split_at(count);
                rest = later;
                let before = (index + cycle.steps.len() - 1) % cycle.steps.len();
                let (from, to) = (ratios[before][1], ratios[index][0]);
                // The first step of all follows the warm-up at its own demand. There, at the seam of equal
                // steps and where a ramp begins or ends, nothing changes at once.
                // A ramp has no steady state to come back to.
                let is_ramp = ratios[index][0] != ratios[index][1];
                if round + index > 0 && from != to && !is_ramp {
                    let key = Key {
                        slo_ns: configuration.slo.as_nanos(),
                        clients: configuration.clients,
                        step: index,
                        controller: asked.controller.clone(),
                        profile: asked.profile.clone(),
                        from,
                        to,
                    };
                    let spec = RecoverySpec {
                        bin: cycle.bin,
                        ..RecoverySpec::new(configuration.slo, step.length)
                    };
                    self.overlays.entry(key).or_insert_with(|| Overlay::new(spec)).step(
                        of_step.iter().map(|&(at, latency)| {
                            let latency = (latency >= 0.0).then(|| micros(latency));
                            (micros(at).saturating_sub(begin), latency)
                        }),
                    );
                }
                begin = end;
            }
        }
    }

    /// What was found, in the order of the steps.
    pub(crate) fn finish(self) -> Vec<StepRecovery> {
        self.overlays
            .into_iter()
            .map(|(key, overlay)| StepRecovery {
                controller: key.controller,
                profile: key.profile,
                clients: key.clients,
                slo_us: key.slo_ns as f64 / 1e3,
                step: key.step,
                from_ratio: key.from as f64 / 1e4,
                to_ratio: key.to as f64 / 1e4,
                recovery: overlay.finish(),
            })
            .collect()
    }
}

/// Notes beside a series what was asked for in each bin, as a multiple of `capacity`.
pub(crate) fn note_demand(series: &mut Series, configuration: &Configuration, capacity: Rate) {
    let Course::Cycle(cycle) = &configuration.course else {
        return;
    };
    for (bin, ratio) in series.demand_ratio.iter_mut().enumerate() {
        if let Some(demand) = demand_at(cycle, (bin as f64 + 0.5) * series.bin_us, capacity) {
            *ratio = demand.0 / capacity.0.max(1.0);
        }
    }
}

fn micros(micros: f32) -> Duration {
    Duration::from_secs_f64(f64::from(micros.max(0.0)) / 1e6)
}
