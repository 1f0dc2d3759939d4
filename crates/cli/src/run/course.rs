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
    /// How long the measured window is.
    window: Duration,
    /// By change: when it was told.
    told: Vec<Option<Duration>>,
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
        let (steps, played, told) = Default::default();
        let (from, window) = (None, Duration::ZERO);
        Self { deployment, faults, changes, steps, from, played, window, told }
    }

    /// What a scenario asks for in a window: no two of its faults strike a process at one time.
    pub(super) fn new(
        deployment: &'a mut Deployment,
        scenario: &'a Scenario,
        window: Duration,
    ) -> Self {
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
        let (from, told) = (None, vec![None; changes.len()]);
        Self { deployment, faults, changes, steps, from, played, window, told }
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
                mend(self.deployment.struck(fault.nodes), fault.kind, interrupt)?;
                self.played[number].over = self.time();
            }
            Does::Changes(number) => {
                let model = self.changes[number].model;
                for member in self.deployment.struck(Struck::default()) {
                    member.set_model(model);
                }
                self.told[number] = self.time();
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

    /// What of the plan was not played, or too late for its effect.
    pub(super) fn trouble(&self) -> Option<String> {
        let faults = self.faults.iter().zip(&self.played).filter_map(|(fault, played)| {
            let end = (fault.at + fault.length).min(self.window);
            unplayed(&format!("the fault {}", fault.kind.name()), fault.at, end, played.began)
        });
        let changes = self.changes.iter().enumerate().filter_map(|(number, change)| {
            let end = change_end(self.changes, number, self.window);
            let what = format!("the change to the model {}", change.model);
            unplayed(&what, change.at, end, self.told[number])
        });
        let all: Vec<String> = faults.chain(changes).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The changes that were made.
    pub(super) fn changes(&self) -> Vec<ChangeReading> {
        let reading = |(change, told): (&ModelChange, &Option<Duration>)| {
            Some(ChangeReading { model: change.model.to_string(), at_ms: ms((*told)?) })
        };
        self.changes.iter().zip(&self.told).filter_map(reading).collect()
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

/// When a change gives way to the next one.
fn change_end(changes: &[ModelChange], number: usize, window: Duration) -> Duration {
    changes.get(number + 1).map_or(window, |next| next.at)
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

/// All start before one is waited for, or the last would be away for as long as all take together.
fn mend(members: &mut [Member], kind: FaultKind, interrupt: &Interrupt) -> Result<(), Failure> {
    match kind {
        FaultKind::ServerRestart => {
            members.iter_mut().try_for_each(Member::start_again)?;
            members.iter_mut().try_for_each(|member| member.hear(interrupt))?;
        }
        FaultKind::ServerPause => members.iter_mut().for_each(Member::go_on),
        _ => members.iter_mut().for_each(|member| member.set_speed(1.0)),
    }
    Ok(())
}

/// What was not played, or began no earlier than it was to be over: the run is not the one that was asked for.
fn unplayed(what: &str, at: Duration, end: Duration, began: Option<Duration>) -> Option<String> {
    let (at, end) = (ms(at), ms(end));
    match began.map(ms) {
        None => Some(format!("{what} at {at:.1} ms was not played: the run was over before")),
        Some(began) if began >= end => Some(format!(
            "{what} at {at:.1} ms came to nothing: it began at {began:.1} ms and was to be over at {end:.1} ms; \
             have it last longer, or follow later on what the processes were told before"
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_played_or_came_to_nothing_is_trouble() {
        let ms = Duration::from_millis;
        let of = |began| unplayed("the fault server-pause", ms(100), ms(150), began);
        assert_eq!(of(Some(ms(100))), None);
        assert_eq!(of(Some(ms(149))), None);
        let never = of(None).unwrap();
        assert!(never.starts_with("the fault server-pause at 100.0 ms was not played"), "{never}");
        let late = of(Some(ms(150))).unwrap();
        assert!(late.contains("began at 150.0 ms and was to be over at 150.0 ms"), "{late}");
    }

    #[test]
    fn a_change_lasts_until_the_next_one_or_the_windows_end() {
        let change =
            |at| ModelChange { at: Duration::from_millis(at), model: "sib".parse().unwrap() };
        let (changes, window) = ([change(100), change(200)], Duration::from_millis(300));
        assert_eq!(change_end(&changes, 0, window), Duration::from_millis(200));
        assert_eq!(change_end(&changes, 1, window), window);
    }
}
