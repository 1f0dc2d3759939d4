//! A member of the crew: a thread that makes calls for the handlers of loops and workers.

use super::sleep::{Calls, Route, WorkerBell, sleep};
use crate::downstream::{Crew, Errands, Hold};
use crate::server::shared::Shared;
use crate::time::now;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_core::threads::{Completion, Model, Reception};

/// Most legs that a member begins in one turn: as many as a poller tells of sockets at once.
const LEGS: usize = crate::poll::BATCH;

struct Member {
    shared: Arc<Shared>,
    crew: Arc<Crew>,
    index: usize,
    calls: Calls,
    errands: Errands,
    /// Whose model it follows.
    epoch: u64,
    /// It never sleeps while it takes legs.
    polls: bool,
    /// It was woken for a leg: though others have become enough meanwhile, it takes that one.
    was_rung: bool,
}

/// Starts the crew of a server. If one thread cannot be started, those before it are stopped. Without tiers there are no
/// calls to make, and no threads.
pub(in crate::server) fn start(
    count: usize,
    shared: &Arc<Shared>,
) -> std::io::Result<(Arc<Crew>, Vec<JoinHandle<()>>)> {
    let bells =
        (0..count).map(|_| WorkerBell::new(&shared.config)).collect::<Result<Vec<_>, _>>()?;
    let crew = Arc::new(Crew::new(bells.iter().cloned()));
    // Before a member can lie down as one that takes legs.
    crew.staff.resize(shared.models.present().completion.crew().max(1));
    let mut threads = Vec::new();
    for (index, bell) in bells.into_iter().enumerate() {
        match spawn(&crew, index, &bell, shared) {
            Ok(thread) => threads.extend(thread),
            Err(error) => {
                crew.staff.stop();
                threads.into_iter().for_each(|thread: JoinHandle<()>| drop(thread.join()));
                return Err(error);
            }
        }
    }
    Ok((crew, threads))
}

fn spawn(
    crew: &Arc<Crew>,
    index: usize,
    bell: &WorkerBell,
    shared: &Arc<Shared>,
) -> std::io::Result<Option<JoinHandle<()>>> {
    let Some(route) = Route::new(bell, Ok)? else { return Ok(None) };
    let (crew, shared) = (crew.clone(), shared.clone());
    let life = move || {
        let guarded = shared.clone();
        guarded.guard(&format!("crew member {index}"), || {
            Member::new(shared, crew, index, route).run();
        });
    };
    std::thread::Builder::new().name(format!("tailwater-crew-{index}")).spawn(life).map(Some)
}

impl Member {
    fn new(shared: Arc<Shared>, crew: Arc<Crew>, index: usize, route: Route) -> Self {
        // It runs no handlers, which could hold it.
        let hold = Hold { longest: Duration::ZERO, is_called: Box::new(|_| true) };
        let calls = route.open(&shared.config.tiers, hold);
        let (errands, model) = (calls.downstream.errands(), shared.models.present());
        let mut it =
            Self { shared, crew, index, calls, errands, epoch: 0, polls: false, was_rung: false };
        it.follow(model);
        it
    }

    fn follow(&mut self, model: Model) {
        // Responders poll where loops do; fork-join's threads are parked in any case (thesis §3.2.2 and 3.2.3).
        self.polls = model.reception == Reception::Poll
            && matches!(model.completion, Completion::Responders(_));
    }

    fn run(mut self) {
        let every = self.shared.config.drain_every;
        while !self.crew.staff.is_stopped() {
            if let Some((epoch, model)) = self.shared.models.news(self.epoch) {
                self.epoch = epoch;
                self.follow(model);
            }
            let cancelled = self.cancel();
            let taken = self.take();
            if !(self.calls.turn(every) || cancelled || taken) {
                self.rest();
            }
        }
    }

    fn cancel(&self) -> bool {
        let mut worked = false;
        while let Some(leg) = self.crew.staff.next_cancel(self.index) {
            self.errands.give_up(leg);
            worked = true;
        }
        worked
    }

    /// Begins legs. False if there was none for it.
    fn take(&mut self) -> bool {
        let was_rung = std::mem::take(&mut self.was_rung);
        let legs = if self.crew.staff.is_active(self.index) { LEGS } else { usize::from(was_rung) };
        for begun in 0..legs {
            let leg = if self.errands.has_room() { self.crew.pop(self.index) } else { None };
            let Some(leg) = leg else { return begun > 0 };
            self.errands.begin(leg, now());
        }
        legs > 0
    }

    /// Sleeps until there is something to do.
    fn rest(&mut self) {
        let has_room = self.errands.has_room();
        let Self { shared, crew, index, calls, epoch, polls, .. } = self;
        if *polls && crew.staff.is_active(*index) {
            return sleep(Some(calls), Some(Instant::ZERO));
        }
        self.was_rung = crew.staff.rest(
            *index,
            has_room,
            || crew.has_legs(),
            || {
                if shared.models.epoch() == *epoch {
                    sleep(Some(calls), None);
                }
            },
        );
    }
}
