//! Simulates what figures need, on as many threads as there are cores. A simulation is decided by its
//! seed, so the results do not depend on how they are spread.

use super::figure::{Figure, Source};
use super::results::{Played, Results};
use crate::failure::Failure;
use crate::run::progress::Progress;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tailwater_core::Rate;
use tailwater_sim::Failure as Trouble;
use tailwater_stats::result::Run;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Amount, Course};

/// Plays each scenario of the figures once.
pub(super) fn play(
    figures: &[&Figure],
    short: bool,
    threads: Option<usize>,
) -> Result<Results, Failure> {
    let available = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(available).clamp(1, available);
    let scenarios = scenarios(figures, short)?;
    let crowds: Vec<(usize, u32)> = scenarios
        .iter()
        .enumerate()
        .flat_map(|(at, scenario)| scenario.clients.counts.iter().map(move |&count| (at, count)))
        .collect();
    let capacities = spread(threads, &crowds, |&(at, clients)| {
        tailwater_sim::capacity(&scenarios[at], clients).map_err(failure)
    })?;
    let mut parts: Vec<Part> = Vec::new();
    for (&(at, clients), &capacity) in crowds.iter().zip(&capacities) {
        parts.extend(Part::all(at, &scenarios[at], clients, capacity));
    }
    // The longest first, or the last thread works alone.
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|&one, &other| parts[other].cost.total_cmp(&parts[one].cost));
    let progress = Progress::new(parts.len() as u64);
    let done = spread(threads, &order, |&index| {
        let result = tailwater_sim::run(&parts[index].scenario);
        progress.step();
        result.map(|experiment| (index, experiment.runs)).map_err(failure)
    })?;
    Ok(collect(scenarios, &parts, done))
}

fn scenarios(figures: &[&Figure], short: bool) -> Result<Vec<Scenario>, Failure> {
    let mut sources: Vec<&Source> = Vec::new();
    for source in figures.iter().flat_map(|figure| figure.scenarios) {
        if !sources.iter().any(|known| known.name == source.name) {
            sources.push(source);
        }
    }
    let parse = |source: &&Source| {
        let scenario = Scenario::parse(source.file, source.text).map_err(Failure::usage)?;
        Ok(if short { shorten(scenario) } else { scenario })
    };
    sources.iter().map(parse).collect()
}

/// Shorter than a single scenario's short version: there are dozens of files, some with dozens of
/// controllers.
fn shorten(scenario: Scenario) -> Scenario {
    let mut scenario = scenario.shorten();
    scenario.controllers.truncate(SHORT_CONTROLLERS_MAX);
    scenario.warm_up = scenario.warm_up.min(SHORT_TIME);
    if scenario.demand.cycle().is_none() {
        scenario.duration = scenario.duration.min(SHORT_TIME);
    }
    scenario
}

const SHORT_CONTROLLERS_MAX: usize = 5;
const SHORT_TIME: Duration = Duration::from_millis(20);

/// One controller in one configuration, as a scenario of its own.
struct Part {
    /// Which scenario it is of.
    of: usize,
    scenario: Scenario,
    /// About how many requests it simulates.
    cost: f64,
}

impl Part {
    fn all(of: usize, whole: &Scenario, clients: u32, capacity: Rate) -> Vec<Self> {
        let mut parts = Vec::new();
        for &slo in &whole.slo {
            for course in &whole.demand.courses {
                for controller in &whole.controllers {
                    let mut scenario = whole.clone();
                    scenario.slo = vec![slo];
                    scenario.clients.counts = vec![clients];
                    scenario.demand.courses = vec![course.clone()];
                    scenario.controllers = vec![controller.clone()];
                    scenario.capacity.fixed = Some(capacity);
                    let cost = scenario.length().as_secs_f64() * mean(course, capacity);
                    parts.push(Self { of, scenario, cost });
                }
            }
        }
        parts
    }
}

fn mean(course: &Course, capacity: Rate) -> f64 {
    match course {
        Course::Steady(amount) => amount.rate(capacity).0,
        Course::Cycle(cycle) => {
            let rate = |amount: Amount| amount.rate(capacity).0;
            let requests = cycle.steps.iter().map(|s| rate(s.amount) * s.length.as_secs_f64());
            requests.sum::<f64>() / cycle.period().as_secs_f64()
        }
    }
}

/// Runs of the same scenario together, in its own order.
fn collect(scenarios: Vec<Scenario>, parts: &[Part], mut done: Vec<(usize, Vec<Run>)>) -> Results {
    done.sort_by_key(|(index, _)| *index);
    let mut played: Vec<Played> =
        scenarios.into_iter().map(|scenario| Played { scenario, runs: Vec::new() }).collect();
    for (index, runs) in done {
        played[parts[index].of].runs.extend(runs);
    }
    Results { played }
}

/// `work` of every task on so many threads; the results in the order of the tasks. The first failure
/// ends it.
fn spread<T: Sync, R: Send>(
    threads: usize,
    tasks: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Result<R, Failure>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..threads.min(tasks.len()) {
            scope.spawn(|| {
                while let Some((index, task)) = claim(&next, tasks) {
                    let result = work(task);
                    if result.is_err() {
                        next.store(tasks.len(), Ordering::Relaxed);
                    }
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, result)| result).collect()
}

fn claim<'a, T>(next: &AtomicUsize, tasks: &'a [T]) -> Option<(usize, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, tasks.get(index)?))
}

fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Broken(broken) => Failure::work(broken),
        author => Failure::usage(author),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_tasks_and_the_first_failure_wins() {
        let tasks: Vec<u32> = (0..100).collect();
        let doubled = spread(4, &tasks, |task| Ok(task * 2)).expect("nothing fails");
        assert_eq!(doubled, (0..100).map(|task| task * 2).collect::<Vec<_>>());
        let failed = spread(1, &tasks, |&task| match task {
            7 => Err(Failure::work("seven")),
            8.. => panic!("nothing is begun after a failure"),
            task => Ok(task),
        });
        assert!(matches!(failed, Err(Failure::Work(why)) if why == "seven"));
    }
}
