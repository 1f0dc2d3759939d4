//! Requests that pass from thread to thread, threads that wait for theirs, and a change of the model.

use super::staff::{Held, Leg, Maker, Staff};
use super::{Node, Work};
use crate::callers::{Asked, Planned};
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

    /// What was left for others may wait for a worker or member of the crew that is free. None of them may have something
    /// else to do.
    pub(super) fn rouse_takers(&mut self, now: Instant, space: &mut Space) {
        let takers = self.staff.as_ref().map_or([None; 2], Staff::free_takers);
        for thread in takers.into_iter().flatten() {
            self.rouse(now, thread, space);
        }
    }

    /// What makes the calls of a request that comes to them now.
    pub(super) fn maker(&self) -> Maker {
        self.staff.as_ref().map_or(Maker::Own, Staff::maker)
    }

    /// What it costs a thread to leave so many calls of a fan to the crew; nothing where it makes them itself. It wakes a
    /// responder, or one after the other for each call.
    pub(super) fn leaving_cost(&self, now: Instant, calls: u32) -> Option<Duration> {
        let wanted = match self.maker() {
            Maker::Own => return None,
            Maker::Responder => 1,
            Maker::Forked => calls as usize,
        };
        let staff = self.staff.as_ref()?;
        let first = staff.free_crew().take(wanted);
        let sleepers = first.filter(|thread| staff.is_asleep(now, *thread)).count() as u32;
        let wakes_core = staff.can_wake_core(now, self.idle_cores());
        Some(if wakes_core { staff.spec.hand_over * sleepers } else { Duration::ZERO })
    }

    /// A request makes calls: the crew does it, where there is one, or its own thread. That may then have to wait.
    pub(super) fn ask(&mut self, now: Instant, asked: Asked, space: &mut Space) {
        match self.maker() {
            Maker::Own => {
                self.hold(asked.parent, space);
                self.call(now, asked, space);
            }
            Maker::Responder => self.leave(now, Leg { asked, call: None }, space),
            Maker::Forked => {
                self.hold(asked.parent, space);
                for planned in self.walk.callers.plan(&asked) {
                    self.leave(now, Leg { asked, call: Some(planned) }, space);
                }
            }
        }
    }

    fn leave(&mut self, now: Instant, leg: Leg, space: &mut Space) {
        if let Some(staff) = &mut self.staff {
            staff.leave(leg);
        }
        self.rouse_takers(now, space);
    }

    /// What sending the calls that it took costs a member of the crew.
    pub(super) fn sending_cost(&self, thread: u16) -> Duration {
        let staff = self.staff.as_ref();
        let leg = staff.and_then(|staff| staff.threads[usize::from(thread)].sending);
        let calls = leg.map_or(0, |leg| if leg.call.is_some() { 1 } else { leg.asked.fan_out });
        self.spec.costs.send * calls
    }

    /// What waking a request's thread costs a member of the crew.
    pub(super) fn ringing_cost(&self) -> Duration {
        self.staff.as_ref().map_or(Duration::ZERO, |staff| staff.spec.hand_over)
    }

    /// A member of the crew has sent the calls that it took.
    pub(super) fn sent(&mut self, now: Instant, thread: u16, space: &mut Space) {
        let threads = self.staff.as_mut().map(|staff| &mut staff.threads);
        let sending = threads.and_then(|threads| threads[usize::from(thread)].sending.take());
        let Some(Leg { asked, call }) = sending else { return };
        if let Some(planned) = call {
            return self.sent_one(now, thread, (asked, planned), space);
        }
        let request = space.request(asked.parent, "at a responder");
        let Some(task) = request.and_then(|request| request.task.as_mut()) else { return };
        if let Stage::Asking { since } = task.stage {
            task.stage = Stage::Calling { since, left: asked.fan_out, unmade: 0 };
            task.calls_by = thread;
            self.call(now, asked, space);
        }
    }

    /// A thread of fork and join has sent its call, and waits for that alone. The request may have been refused for another
    /// of its calls meanwhile.
    fn sent_one(
        &mut self,
        now: Instant,
        thread: u16,
        (asked, planned): (Asked, Planned),
        space: &mut Space,
    ) {
        let request = space.requests.get_mut(asked.parent);
        let Some(task) = request.and_then(|request| request.task.as_mut()) else { return };
        let Stage::Calling { unmade, .. } = &mut task.stage else { return };
        *unmade -= 1;
        task.calls_by = thread;
        if let Some(staff) = &mut self.staff {
            // Before the call, which may end at once.
            staff.threads[usize::from(thread)].alone = Some(asked.parent);
        }
        self.call_alone(now, (asked, planned), thread, space);
    }

    /// Threads whose own calls have ended take what was left for the crew.
    pub(super) fn free_threads(&mut self, now: Instant, space: &mut Space) {
        while let Some((thread, parent)) = self.walk.callers.next_freed() {
            if self.staff.as_mut().is_some_and(|staff| staff.free(thread, parent)) {
                self.rouse_takers(now, space);
            }
        }
    }

    /// A request was refused for one of its calls: the crew makes no others for it, and waits for none.
    pub(super) fn give_up_calls(&mut self, now: Instant, key: Key, space: &mut Space) {
        let freed = self.staff.as_mut().map_or(0, |staff| staff.give_up(key));
        for _ in 0..freed {
            self.rouse_takers(now, space);
        }
    }

    /// Whether the member of the crew that has heard a fan's last answer must end the sleep of the request's own thread.
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
