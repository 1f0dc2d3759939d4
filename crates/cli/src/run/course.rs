//! What goes wrong or changes in a run on sockets, and when: processes are killed and started anew, stopped, slowed, or
//! told to serve by another threading model.

use super::account::Account;
use super::deployment::{self, Deployment};
use super::member::Member;
use crate::failure::Failure;
use crate::job::Begins;
use std::time::{Duration, Instant};
use tailwater_core::Instant as Time;
use tailwater_program::interrupt::Interrupt;
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
    /// Of the processes that faults take away.
    account: Account,
}

struct Played {
    asked: FaultReading,
    began: Option<Duration>,
    over: Option<Duration>,
}

/// One end of a fault, a change, or a look.
#[derive(Clone, Copy)]
struct Step {
    at: Duration,
    does: Does,
}

/// In the order in which steps of one time are done: where one fault follows on another, it begins behind that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Does {
    /// The processes that faults take away are read.
    Looks,
    /// The fault of this number is over, but for processes that have to start.
    Ends(usize),
    /// These are asked whether they serve.
    Asks(usize),
    /// The fault of this number begins.
    Begins(usize),
    /// The change of this number.
    Changes(usize),
}

/// Between two looks at processes that start.
const ASKED_EVERY: Duration = Duration::from_millis(1);
/// So much of the window a fault or a change may come late, or as late as it lasts where that is longer.
const LATE_MAX: u32 = 100;

impl<'a> Course<'a> {
    /// Nothing goes wrong.
    pub(super) fn calm(deployment: &'a mut Deployment) -> Self {
        let (faults, changes) = (&[], &[]);
        let (steps, played, told) = Default::default();
        let (from, window, account) = (None, Duration::ZERO, Account::default());
        Self { deployment, faults, changes, steps, from, played, window, told, account }
    }

    /// What a scenario asks for in a window: no two of its faults strike a process at one time.
    pub(super) fn new(
        deployment: &'a mut Deployment,
        scenario: &'a Scenario,
        window: Duration,
    ) -> Self {
        let (faults, changes) = (&scenario.faults, &scenario.server.changes);
        let begin = |(number, it): (usize, &Fault)| Step { at: it.at, does: Does::Begins(number) };
        let mut steps: Vec<Step> = faults.iter().enumerate().map(begin).collect();
        let change =
            |(number, it): (usize, &ModelChange)| Step { at: it.at, does: Does::Changes(number) };
        steps.extend(changes.iter().enumerate().map(change));
        if deployment::takes_any(scenario) {
            steps.extend([Duration::ZERO, window].map(|at| Step { at, does: Does::Looks }));
        }
        let played = |asked| Played { asked, began: None, over: None };
        let played = tailwater_experiment::faults(scenario).into_iter().map(played).collect();
        let (from, told, account) = (None, vec![None; changes.len()], Account::default());
        let mut it =
            Self { deployment, faults, changes, steps, from, played, window, told, account };
        it.sort();
        it
    }

    /// The times of a shortened scenario are rounded.
    fn sort(&mut self) {
        self.steps.sort_by_key(|step| std::cmp::Reverse((step.at.as_micros(), step.does)));
    }

    fn add(&mut self, at: Duration, does: Does) {
        self.steps.push(Step { at, does });
        self.sort();
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
            Does::Looks => self.account.look(self.deployment),
            Does::Begins(number) => match self.in_the_way(number) {
                Some(at) => self.add(at, step.does),
                None => self.begins(number),
            },
            Does::Ends(number) => return self.ends(number, interrupt),
            Does::Asks(number) => return self.asks(number, interrupt),
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

    /// When a fault goes on that has processes of this one.
    fn in_the_way(&self, number: usize) -> Option<Duration> {
        let own = self.faults[number].nodes;
        let meets = |other: usize| meet(own, self.faults[other].nodes);
        let ends = self.steps.iter().find(|step| match step.does {
            Does::Ends(other) | Does::Asks(other) => meets(other),
            _ => false,
        });
        ends.map(|step| step.at)
    }

    /// It lasts as long as it was asked for, from when it really begins.
    fn begins(&mut self, number: usize) {
        let Fault { nodes, kind, length, .. } = self.faults[number];
        self.deployment.struck(nodes).iter_mut().for_each(|member| strike(member, kind));
        let time = self.time();
        self.played[number].began = time;
        self.add(time.unwrap_or_default() + length, Does::Ends(number));
    }

    fn ends(&mut self, number: usize, interrupt: &Interrupt) -> Result<(), Failure> {
        let Fault { nodes, kind, .. } = self.faults[number];
        mend(self.deployment.struck(nodes), kind)?;
        self.asks(number, interrupt)
    }

    /// Other faults go on while processes start.
    fn asks(&mut self, number: usize, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut all = true;
        for member in self.deployment.struck(self.faults[number].nodes) {
            all &= member.serves(interrupt)?;
        }
        let time = self.time();
        match all {
            true => self.played[number].over = time,
            false => self.add(time.unwrap_or_default() + ASKED_EVERY, Does::Asks(number)),
        }
        Ok(())
    }

    /// Since the window began.
    fn time(&self) -> Option<Duration> {
        self.from.map(|from| now().since(from))
    }

    /// The run is over: what stands still goes on, so that it can end.
    pub(super) fn finish(&mut self) {
        for step in std::mem::take(&mut self.steps).into_iter().rev() {
            match step.does {
                Does::Looks => self.account.look(self.deployment),
                Does::Ends(number) if self.faults[number].kind == FaultKind::ServerPause => {
                    let struck = self.deployment.struck(self.faults[number].nodes);
                    struck.iter_mut().for_each(Member::go_on);
                }
                _ => {}
            }
        }
    }

    /// What processes used that faults took away.
    pub(super) fn into_account(self) -> Account {
        self.account
    }

    /// What of the plan was not played, or too late for its effect.
    pub(super) fn trouble(&self) -> Option<String> {
        let faults = self.faults.iter().zip(&self.played).filter_map(|(fault, played)| {
            let end = self.latest(fault.at, fault.at + fault.length);
            unplayed(&format!("the fault {}", fault.kind.name()), fault.at, end, played.began)
        });
        let changes = self.changes.iter().enumerate().filter_map(|(number, change)| {
            let end = self.latest(change.at, change_end(self.changes, number, self.window));
            let what = format!("the change to the model {}", change.model);
            unplayed(&what, change.at, end, self.told[number])
        });
        let all: Vec<String> = faults.chain(changes).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// What is to begin at `at` and to be over at `end` has come to nothing when it begins by then.
    fn latest(&self, at: Duration, end: Duration) -> Duration {
        end.max(at + self.window / LATE_MAX).min(self.window)
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

/// Processes are started, and serve some time later.
fn mend(members: &mut [Member], kind: FaultKind) -> Result<(), Failure> {
    match kind {
        FaultKind::ServerRestart => members.iter_mut().try_for_each(Member::start_again)?,
        FaultKind::ServerPause => members.iter_mut().for_each(Member::go_on),
        _ => members.iter_mut().for_each(|member| member.set_speed(1.0)),
    }
    Ok(())
}

/// Whether they have a process in common.
fn meet(one: Struck, other: Struck) -> bool {
    let node = one.node.zip(other.node).is_none_or(|(one, other)| one == other);
    one.tier == other.tier && node
}

/// What was not played, or began no earlier than `end`: the run is not the one that was asked for.
fn unplayed(what: &str, at: Duration, end: Duration, began: Option<Duration>) -> Option<String> {
    let (at, end) = (ms(at), ms(end));
    match began.map(ms) {
        None => Some(format!("{what} at {at:.1} ms was not played: the run was over before")),
        Some(began) if began >= end => Some(format!(
            "{what} at {at:.1} ms came to nothing: it began at {began:.1} ms, and by {end:.1} ms it had to; \
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
        assert!(late.contains("began at 150.0 ms, and by 150.0 ms it had to"), "{late}");
    }

    #[test]
    fn faults_meet_where_they_have_a_process_in_common() {
        let of = |tier, node| Struck { tier, node };
        assert!(meet(of(None, None), of(None, Some(1))));
        assert!(meet(of(Some(2), Some(1)), of(Some(2), Some(1))));
        assert!(!meet(of(Some(2), Some(0)), of(Some(2), Some(1))));
        assert!(!meet(of(Some(2), None), of(None, None)));
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
