//! A member of the crew: a thread that makes calls for the handlers of loops and workers.

use super::sleep::{Calls, Route, sleep};
use super::start::{Names, bells, start};
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

/// Starts the crew of a server. Without tiers there are no calls to make, and no threads.
pub(in crate::server) fn start_crew(
    count: usize,
    shared: &Arc<Shared>,
) -> std::io::Result<(Arc<Crew>, Vec<JoinHandle<()>>)> {
    let bells = bells(count, shared)?;
    let crew = Arc::new(Crew::new(bells.iter().cloned()));
    // Before a member can lie down as one that takes legs.
    crew.resize(shared.models.present().completion.crew().max(1));
    let names = Names { system: "tailwater-crew", people: "crew member" };
    let bells: &[_] = if shared.config.tiers.is_empty() { &[] } else { &bells };
    let threads = start(&names, bells, &crew.staff, shared, |index, bell| {
        let route = Route::new(bell, Ok)?;
        let (crew, shared) = (crew.clone(), shared.clone());
        Ok(move || {
            if let Some(route) = route {
                Member::new(shared, crew, index, route).run();
            }
        })
    })?;
    Ok((crew, threads))
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
        for begun in 0..LEGS {
            if !self.errands.has_room() {
                return begun > 0;
            }
            let was_rung = std::mem::take(&mut self.was_rung);
            let Some((key, cargo)) = self.crew.next(self.index, was_rung) else { return begun > 0 };
            self.errands.begin(key, cargo, now());
        }
        true
    }

    /// Sleeps until there is something to do.
    fn rest(&mut self) {
        let has_room = self.errands.has_room();
        let Self { shared, crew, index, calls, epoch, polls, .. } = self;
        if *polls && crew.staff.is_active(*index) {
            return sleep(Some(calls), Some(Instant::ZERO));
        }
        self.was_rung = crew.rest(*index, has_room, || {
            if shared.models.epoch() == *epoch {
                sleep(Some(calls), None);
            }
        });
    }
}
