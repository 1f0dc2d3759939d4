//! Requests that pass from thread to thread, threads that wait for theirs, and a change of the model.

use super::staff::Held;
use super::{Node, Work};
use crate::slab::Key;
use crate::space::Space;
use crate::task::Stage;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_workload::scenario::Model;

impl Node {
    /// A request was admitted by its loop: it begins there, or goes to a worker.
    pub(super) fn begin_or_hand_over(
        &mut self,
        now: Instant,
        key: Key,
        space: &mut Space,
    ) -> Option<Work> {
        let client = space.request(key, "at placing")?.client;
        let home = self.loop_of(client) as u16;
        match &mut self.staff {
            Some(staff) if staff.dispatches() => {
                staff.reserved += 1;
                Some(Work::HandOver(key))
            }
            _ => self.begin(now, key, home, space),
        }
    }

    /// What handing it over costs: nothing where a thread that is awake will find it, or one that waits for this core.
    pub(super) fn hand_over_cost(&self, now: Instant, key: Key, space: &Space) -> Duration {
        let Some((staff, request)) = self.staff.as_ref().zip(space.requests.get(key)) else {
            return Duration::ZERO;
        };
        let sleeper = if has_begun(key, space) {
            let home = self.loop_of(request.client) as u16;
            staff.is_asleep(now, home)
        } else {
            staff.free_worker().is_some()
        };
        let wakes_core = staff.can_wake_core(now, self.idle_cores());
        if sleeper && wakes_core { staff.spec.hand_over } else { Duration::ZERO }
    }

    /// It lies where the other thread finds it: a worker that is to begin it, or its loop, which answers.
    pub(super) fn handed_over(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(request) = space.request(key, "at handing over") else { return };
        let client = request.client;
        if has_begun(key, space) {
            let home = self.loop_of(client) as u16;
            if let Some(task) = space.requests.get_mut(key).and_then(|it| it.task.as_mut()) {
                task.thread = home;
            }
            return self.wake(now, key, false, space);
        }
        let Some(staff) = &mut self.staff else { return };
        staff.reserved -= 1;
        staff.handed.push_back(key);
        self.rouse_for_handed(now, space);
    }

    /// What was handed over may wait for a worker that is free, but for none that has something else to do.
    pub(super) fn rouse_for_handed(&mut self, now: Instant, space: &mut Space) {
        let Some(staff) = self.staff.as_ref().filter(|staff| staff.lacks_takers()) else { return };
        if let Some(worker) = staff.free_worker() {
            self.rouse(now, worker, space);
        }
    }

    /// A thread of a synchronous model waits for what its request asks of others.
    pub(super) fn hold(&mut self, key: Key, space: &Space) {
        let task = space.requests.get(key).and_then(|request| request.task.as_ref());
        if let Some((staff, task)) = self.staff.as_mut().zip(task)
            && staff.spec.model.completion.is_sync()
        {
            staff.threads[usize::from(task.thread)].held = Some(Held { key, is_over: false });
        }
    }

    /// A worker has taken a request: loops may hand over another.
    pub(super) fn rouse_hungry(&mut self, now: Instant, space: &mut Space) {
        for at in 0..self.loops.len() {
            if !self.loops[at].runnable.is_empty() {
                self.rouse(now, at as u16, space);
            }
        }
    }

    /// New requests are served by this model from now on; every thread is rung, as in the runtime.
    pub(crate) fn set_model(&mut self, now: Instant, model: Model, space: &mut Space) {
        let Some(staff) = &mut self.staff else { return };
        staff.follow(now, model);
        let threads = staff.threads.len() as u16;
        if !self.down {
            (0..threads).for_each(|thread| self.rouse(now, thread, space));
            self.assign(now, space);
        }
    }
}

fn has_begun(key: Key, space: &Space) -> bool {
    let task = space.requests.get(key).and_then(|request| request.task.as_ref());
    task.is_some_and(|task| task.stage != Stage::Fresh)
}
