//! What goes wrong or changes in a run on sockets, and when: processes are killed and started anew, stopped, slowed, or
//! told to serve by another threading model.

use super::deployment::Deployment;
use super::member::Member;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::job::Begins;
use std::time::{Duration, Instant};
use tailwater_core::Instant as Time;
use tailwater_rt::time::now;
use tailwater_stats::result::{ChangeReading, FaultReading};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Fault, FaultKind, ModelChange, Struck};

/// The faults of one run, on its processes.
pub(super) struct Course<'a> {
    deployment: &'a mut Deployment,
    faults: &'a [Fault],
    changes: &'a [ModelChange],
    /// What is still to be done, the next last.
    steps: Vec<Step>,
    /// When the measured window begins; `None` until the generator has said.
    from: Option<Time>,
    /// By fault: as it was asked for, and when it began, from the window's begin, and was over.
    played: Vec<Played>,
    /// Those that were made.
    changed: Vec<ChangeReading>,
}

struct Played {
    asked: FaultReading,
    began: Option<Duration>,
    over: Option<Duration>,
}

/// One end of a fault, or a change.
#[derive(Clone, Copy)]
struct Step {
    at: Duration,
    does: Does,
}

/// In the order in which steps of one time are done: where one fault follows on another, it begins behind that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Does {
    /// The fault of this number is over.
    Ends(usize),
    /// It begins.
    Begins(usize),
    /// The change of this number.
    Changes(usize),
}

impl<'a> Course<'a> {
    /// Nothing goes wrong.
    pub(super) fn calm(deployment: &'a mut Deployment) -> Self {
        let (faults, changes) = (&[], &[]);
        let (steps, played, changed) = Default::default();
        Self { deployment, faults, changes, steps, from: None, played, changed }
    }

    /// What a scenario asks for: no two of its faults strike a process at one time.
    pub(super) fn new(deployment: &'a mut Deployment, scenario: &'a Scenario) -> Self {
        let (faults, changes) = (&scenario.faults, &scenario.server.changes);
        let ends = |(number, it): (usize, &Fault)| {
            let begins = Step { at: it.at, does: Does::Begins(number) };
            [begins, Step { at: it.at + it.length, does: Does::Ends(number) }]
        };
        let mut steps: Vec<Step> = faults.iter().enumerate().flat_map(ends).collect();
        let change =
            |(number, it): (usize, &ModelChange)| Step { at: it.at, does: Does::Changes(number) };
        steps.extend(changes.iter().enumerate().map(change));
        // The times of a shortened scenario are rounded.
        steps.sort_by_key(|step| std::cmp::Reverse((step.at.as_micros(), step.does)));
        let played = |asked| Played { asked, began: None, over: None };
        let played = tailwater_experiment::faults(scenario).into_iter().map(played).collect();
        Self { deployment, faults, changes, steps, from: None, played, changed: Vec::new() }
    }

    pub(super) fn deployment(&mut self) -> &mut Deployment {
        self.deployment
    }

    /// The generator has said when its window begins.
    pub(super) fn begin(&mut self, Begins { measured_from_ns }: Begins) {
        self.from.get_or_insert(Time::from_nanos(measured_from_ns));
    }

    /// When something is to be done.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let (from, step) = (self.from?, self.steps.last()?);
        Some(Instant::now() + (from + step.at).since(now()))
    }

    /// Does the next step.
    pub(super) fn act(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let Some(step) = self.steps.pop() else { return Ok(()) };
        match step.does {
            Does::Begins(number) => {
                let fault = &self.faults[number];
                let struck = self.deployment.struck(fault.nodes);
                struck.iter_mut().for_each(|member| strike(member, fault.kind));
                self.played[number].began = self.time();
            }
            Does::Ends(number) => {
                let fault = &self.faults[number];
                for member in self.deployment.struck(fault.nodes) {
                    mend(member, fault.kind, interrupt)?;
                }
                self.played[number].over = self.time();
            }
            Does::Changes(number) => {
                let model = self.changes[number].model;
                for member in self.deployment.struck(Struck::default()) {
                    member.set_model(model);
                }
                let at_ms = self.time().map(ms).unwrap_or_default();
                self.changed.push(ChangeReading { model: model.to_string(), at_ms });
            }
        }
        Ok(())
    }

    /// Since the window began.
    fn time(&self) -> Option<Duration> {
        self.from.map(|from| now().since(from))
    }

    /// The run is over: what stands still goes on, so that it can end.
    pub(super) fn finish(&mut self) {
        for step in std::mem::take(&mut self.steps) {
            let Does::Ends(number) = step.does else { continue };
            let fault = &self.faults[number];
            if fault.kind == FaultKind::ServerPause {
                self.deployment.struck(fault.nodes).iter_mut().for_each(Member::go_on);
            }
        }
    }

    /// The changes that were made.
    pub(super) fn changes(&mut self) -> Vec<ChangeReading> {
        std::mem::take(&mut self.changed)
    }

    /// What was played, as results tell it. What was not over when the run was has no length.
    pub(super) fn readings(&self) -> Vec<FaultReading> {
        let reading = |Played { asked, began, over }: &Played| {
            let began = (*began)?;
            let for_ms = over.map(|over| ms(over.saturating_sub(began)));
            Some(FaultReading { at_ms: ms(began), for_ms, ..asked.clone() })
        };
        self.played.iter().filter_map(reading).collect()
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn strike(member: &mut Member, kind: FaultKind) {
    match kind {
        FaultKind::ServerRestart => member.kill(),
        FaultKind::ServerPause => member.stop(),
        FaultKind::ServerSlow { speed } => member.set_speed(speed),
        _ => unreachable!("{} is refused on sockets", kind.name()),
    }
}

fn mend(member: &mut Member, kind: FaultKind, interrupt: &Interrupt) -> Result<(), Failure> {
    match kind {
        FaultKind::ServerRestart => member.start_again(interrupt)?,
        FaultKind::ServerPause => member.go_on(),
        _ => member.set_speed(1.0),
    }
    Ok(())
}
