//! Which thread has which core, where a node has threads: first come, first served, and each keeps its core while it
//! has work.

use super::cores::Core;
use super::staff::{Rest, Staff, Thread, Todo};
use super::{Node, Work};
use crate::slab::Key;
use crate::space::{Event, Packet, Space};
use crate::standing::Waiting;
use crate::threads::Threads;
use std::time::Duration;
use tailwater_core::{Instant, Rng};

impl Node {
    /// Gives idle cores to threads while any wants one.
    pub(super) fn schedule(&mut self, now: Instant, space: &mut Space) {
        while let Some(thread) = self.staff.as_ref().and_then(|staff| staff.ready.front().copied())
            && let Some(core) = self.core_for(now, thread)
        {
            let Some(staff) = &mut self.staff else { return };
            staff.ready.pop_front();
            match self.next_of(now, thread, space) {
                Some(work) => {
                    self.run(now, (core, thread), work, space);
                    self.rouse_takers(now, space);
                }
                None => self.rest(now, thread),
            }
        }
        let idle = self.idle_cores() > 0;
        let spare = idle && self.staff.as_ref().is_some_and(Staff::is_spare);
        self.set_spare(spare, space);
    }

    /// Something has come for a thread.
    pub(super) fn rouse(&mut self, now: Instant, thread: u16, space: &mut Space) {
        if self.staff.is_none() {
            return;
        }
        let idle = self.idle_cores();
        if let Some(staff) = &mut self.staff
            && staff.rouse(now, thread, idle)
        {
            let woken = Event::Woken { node: self.place.node, thread, life: self.life };
            space.calendar.at(now + staff.spec.wake_up.draw(&mut self.wakes), woken);
        }
    }

    /// How long its threads take to wake up is drawn from here.
    pub(crate) fn draw_wakes(&mut self, rng: &Rng) {
        self.wakes = rng.split(&format!("node {}", self.place.node));
    }

    /// A thread's sleep has ended.
    pub(crate) fn on_woken(&mut self, now: Instant, thread: u16, life: u16, space: &mut Space) {
        if life == self.life
            && let Some(staff) = &mut self.staff
        {
            staff.woken(thread);
            self.assign(now, space);
        }
    }

    /// A message has come in for the loop, or an answer for the thread whose request asked. What other nodes send is heard
    /// also by a thread that is held: it may wait for a credit.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        packet: Packet,
        at: usize,
        space: &mut Space,
    ) -> u16 {
        let home = at as u16;
        match &mut self.staff {
            Some(staff) if packet.is_answer() => {
                let thread = staff.hears(&packet, home, space);
                staff.threads[usize::from(thread)].inbox.push_back((now, packet));
                thread
            }
            _ => {
                self.loops[at].packets.push_back((now, packet));
                home
            }
        }
    }

    /// A core has done what it was given, and nothing follows from that.
    pub(super) fn let_go(&mut self, now: Instant, core: u16) {
        let own = self.loop_of_core(core);
        self.loops[own].idle.push(core);
        let state = &mut self.cores[usize::from(core)];
        let Some((staff, thread)) = self.staff.as_mut().zip(state.thread) else { return };
        // Its turn is over only where another waits for it.
        if now.since(state.since) < Threads::SLICE {
            staff.ready.push_front(thread);
        } else {
            staff.ready.push_back(thread);
            state.since = now;
        }
    }

    /// What the core owes before the work that it is given: turning to another thread.
    pub(super) fn turn_to(&mut self, core: u16, work: Work, space: &mut Space) -> Duration {
        let owed = std::mem::take(&mut self.cores[usize::from(core)].owed);
        if let Some(task) = work.key().and_then(|key| space.requests.get_mut(key)?.task.as_mut()) {
            task.worked(owed);
        }
        owed
    }

    /// Those that neither run nor want a core; none of a node that is down.
    pub(crate) fn waiting_threads(&self) -> Vec<Waiting> {
        let Some(staff) = self.staff.as_ref().filter(|_| !self.down) else { return Vec::new() };
        let (node, life) = (self.place.node, self.life);
        let waiting = |thread: u16| {
            let Thread { rest, held, alone, .. } = &staff.threads[usize::from(thread)];
            let is_awake = *rest == Rest::Awake;
            if is_awake && (staff.ready.contains(&thread) || self.is_running(thread)) {
                return None;
            }
            let serves = staff.is_loop(thread) && self.has_own_work(usize::from(thread));
            let (is_waking, has_work) =
                (*rest == Rest::Waking, is_awake || serves || staff.has_work(thread));
            // A member of the crew may be about to wake it.
            let is_rung = |key: Key| self.cores.iter().flat_map(Core::keys).any(|it| it == key);
            let held = held.filter(|held| !held.is_over && !is_rung(held.key)).map(|held| held.key);
            Some(Waiting { node, life, thread, is_waking, has_work, held, alone: *alone })
        };
        (0..staff.threads.len() as u16).filter_map(waiting).collect()
    }

    fn is_running(&self, thread: u16) -> bool {
        self.cores.iter().any(|core| core.work.is_some() && core.thread == Some(thread))
    }

    /// Something waits in the loop's queues that its thread could do now.
    fn has_own_work(&self, at: usize) -> bool {
        let run_loop = &self.loops[at];
        let is_held = self.staff.as_ref().is_some_and(|staff| staff.threads[at].held.is_some());
        let can_start = self.may_start(at) && !run_loop.runnable.is_empty();
        !is_held && (can_start || !run_loop.packets.is_empty() || !run_loop.outbox.is_empty())
    }

    fn run(&mut self, now: Instant, (core, thread): (u16, u16), work: Work, space: &mut Space) {
        let own = self.loop_of_core(core);
        self.loops[own].idle.retain(|idle| *idle != core);
        let Some(staff) = &mut self.staff else { return };
        let state = &mut staff.threads[usize::from(thread)];
        let was_woken = std::mem::take(&mut state.woken_for_core);
        let turns = self.cores[usize::from(core)].thread != Some(thread);
        let owed = if turns && !was_woken { staff.spec.switch } else { Duration::ZERO };
        let works_for = if staff.is_loop(thread) { usize::from(thread) } else { 0 };
        let busy = &mut self.cores[usize::from(core)];
        busy.owed = owed;
        if turns {
            (busy.thread, busy.since) = (Some(thread), now);
        }
        self.give(now, (core, works_for), work, space);
    }

    /// What a thread does next, until a core is busy with it.
    fn next_of(&mut self, now: Instant, thread: u16, space: &mut Space) -> Option<Work> {
        loop {
            let work = match self.staff.as_mut()?.next(thread) {
                Todo::Hear(arrived, packet) => Some(Work::Parse(arrived, packet)),
                Todo::GoOn(key) => self.carry_on(now, key, space),
                Todo::Begin(key) => {
                    self.rouse_hungry(now, space);
                    self.begin(now, key, thread, space)
                }
                Todo::Call => Some(Work::Call(thread)),
                Todo::Serve => {
                    let work = self.next_work(usize::from(thread), now, space);
                    if work.is_none() && !self.has_more(thread) {
                        return None;
                    }
                    work
                }
                Todo::Nothing => return None,
            };
            if work.is_some() {
                return work;
            }
        }
    }

    /// What a loop has begun may have woken another of its requests, or hold its thread.
    fn has_more(&self, thread: u16) -> bool {
        let staff = self.staff.as_ref();
        staff.is_some_and(|staff| staff.threads[usize::from(thread)].has_more())
    }

    fn rest(&mut self, now: Instant, thread: u16) {
        if let Some(staff) = &mut self.staff {
            let state = &mut staff.threads[usize::from(thread)];
            (state.rest, state.woken_for_core) = (Rest::Idle(now), false);
        }
    }

    pub(super) fn idle_cores(&self) -> usize {
        self.loops.iter().map(|it| it.idle.len()).sum()
    }

    /// An idle core: that on which the thread ran last, or one from which no other looks for work, or any.
    fn core_for(&self, now: Instant, thread: u16) -> Option<u16> {
        let staff = self.staff.as_ref()?;
        let idle = || self.loops.iter().flat_map(|it| it.idle.iter().rev().copied());
        let own = idle().find(|core| self.cores[usize::from(*core)].thread == Some(thread));
        let asleep = |core: &u16| {
            self.cores[usize::from(*core)].thread.is_none_or(|last| !staff.is_looking(now, last))
        };
        own.or_else(|| idle().find(asleep)).or_else(|| idle().next())
    }
}
