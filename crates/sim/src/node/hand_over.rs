//! Requests that pass from thread to thread, threads that wait for theirs, and a change of the model.

use super::staff::{Held, Staff};
use super::{Node, Work};
use crate::callers::Asked;
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
        let connection = space.request(key, "at placing")?.connection;
        let home = self.loop_of(connection) as u16;
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
            let home = self.loop_of(request.connection) as u16;
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
        let connection = request.connection;
        if has_begun(key, space) {
            let home = self.loop_of(connection) as u16;
            if let Some(task) = space.requests.get_mut(key).and_then(|it| it.task.as_mut()) {
                task.thread = home;
            }
            return self.wake(now, key, false, space);
        }
        let Some(staff) = &mut self.staff else { return };
        staff.reserved -= 1;
        staff.handed.push_back(key);
        self.rouse_takers(now, space);
    }

    /// What was left for others may wait for a worker or responder that is free, but for none that has something else
    /// to do.
    pub(super) fn rouse_takers(&mut self, now: Instant, space: &mut Space) {
        let takers = self.staff.as_ref().map_or([None; 2], Staff::free_takers);
        for thread in takers.into_iter().flatten() {
            self.rouse(now, thread, space);
        }
    }

    /// What it costs a thread to leave a fan to a responder; nothing where it makes the calls itself.
    pub(super) fn leaving_cost(&self, now: Instant) -> Option<Duration> {
        let staff = self.staff.as_ref().filter(|staff| staff.responders() > 0)?;
        let sleeper = staff.free_responder().is_some_and(|thread| staff.is_asleep(now, thread));
        let wakes_core = staff.can_wake_core(now, self.idle_cores());
        Some(if sleeper && wakes_core { staff.spec.hand_over } else { Duration::ZERO })
    }

    /// A request makes calls: a responder does it, where there are any, or its own thread, which may then have to wait.
    pub(super) fn ask(&mut self, now: Instant, asked: Asked, space: &mut Space) {
        match &mut self.staff {
            Some(staff) if staff.responders() > 0 => {
                staff.leave(asked);
                self.rouse_takers(now, space);
            }
            _ => {
                self.hold(asked.parent, space);
                self.call(now, asked, space);
            }
        }
    }

    /// What sending the calls of its fan costs a responder.
    pub(super) fn sending_cost(&self, thread: u16) -> Duration {
        let staff = self.staff.as_ref();
        let fan = staff.and_then(|staff| staff.threads[usize::from(thread)].sending);
        fan.map_or(Duration::ZERO, |fan| self.spec.costs.send * fan.fan_out)
    }

    /// What waking a request's thread costs a responder.
    pub(super) fn ringing_cost(&self) -> Duration {
        self.staff.as_ref().map_or(Duration::ZERO, |staff| staff.spec.hand_over)
    }

    /// A responder has sent the calls of a fan.
    pub(super) fn sent(&mut self, now: Instant, thread: u16, space: &mut Space) {
        let threads = self.staff.as_mut().map(|staff| &mut staff.threads);
        let sending = threads.and_then(|threads| threads[usize::from(thread)].sending.take());
        let Some(asked) = sending else { return };
        let request = space.request(asked.parent, "at a responder");
        let Some(task) = request.and_then(|request| request.task.as_mut()) else { return };
        if let Stage::Asking { since } = task.stage {
            task.stage = Stage::Calling { since, left: asked.fan_out };
            task.calls_by = thread;
            self.call(now, asked, space);
        }
    }

    /// Whether the responder that has heard a fan's last answer must end the sleep of the request's own thread.
    pub(super) fn must_ring(&self, now: Instant, key: Key, space: &Space) -> bool {
        let task = space.requests.get(key).and_then(|request| request.task.as_ref());
        let Some((staff, task)) = self.staff.as_ref().zip(task) else { return false };
        let is_other = task.calls_by != task.thread;
        is_other && staff.is_asleep(now, task.thread) && staff.can_wake_core(now, self.idle_cores())
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
