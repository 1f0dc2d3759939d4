//! The threads of a node: what each has to do, and whether it runs, waits for a core or sleeps.
//!
//! The protocol is the runtime's (docs/threading.md). Requests wait at their loop; as many as there are workers are
//! handed over ahead. What has begun stays with its thread, whatever becomes of the model. A thread whose request
//! completes synchronously is held until the answers are there: it hears those, and does nothing else. Where there is a
//! crew, a request leaves its calls to that, in *legs*. A responder takes a fan in one, makes the calls, hears the answers,
//! and wakes the request's own thread for the last. With fork and join each call is a leg: a thread makes it and waits for
//! its answer alone. The last of these wakes the request's own thread.

use crate::callers::{Asked, Planned};
use crate::slab::Key;
use crate::space::{Packet, Request, Space};
use crate::threads::Threads;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_workload::scenario::{Completion, Model, Reception};

/// All threads: the loops', then workers and crews as models came to need them.
pub(crate) struct Staff {
    pub(super) spec: Threads,
    pub(crate) threads: Vec<Thread>,
    loops: usize,
    /// Those that want a core, in the order in which they get one.
    pub(super) ready: VecDeque<u16>,
    /// Requests for whichever worker is free first; at most as many as there were ever workers.
    pub(crate) handed: VecDeque<Key>,
    /// Requests that loops are about to hand over.
    pub(super) reserved: usize,
    /// Legs for whichever member of the crew is free first, each of a request that waits for it.
    legs: VecDeque<Leg>,
    /// The first so many of these were left for a larger crew than there is now.
    backlog: usize,
}

/// What a request leaves to a member of the crew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) asked: Asked,
    /// One call, for a thread of fork and join; `None`: all of them, for a responder.
    pub(super) call: Option<Planned>,
}

/// What makes the calls of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Maker {
    /// Its own thread.
    Own,
    /// One thread of the crew makes all.
    Responder,
    /// A thread of the crew for each.
    Forked,
}

/// One of them.
pub(crate) struct Thread {
    role: Role,
    pub(crate) rest: Rest,
    /// It was woken from its sleep for the core that it gets.
    pub(super) woken_for_core: bool,
    /// Answers to the calls of its requests, one for each call at most, and credit.
    pub(super) inbox: VecDeque<(Instant, Packet)>,
    /// How many of these are left of its turn: those that were there when it began. Like a loop's packets.
    turn: usize,
    /// Turns that were begun.
    pub(super) turns: u64,
    /// Requests of its own that go on; each is there once.
    pub(super) woken: VecDeque<Key>,
    pub(crate) held: Option<Held>,
    /// What a member of the crew is sending.
    pub(super) sending: Option<Leg>,
    /// The request whose call it waits for, and takes nothing else meanwhile.
    pub(crate) alone: Option<Key>,
}

/// What a thread is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Loop,
    /// By number, and so is the crew: a model has the first of each.
    Worker(usize),
    Crew(usize),
}

/// Whether a thread wants a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// It runs, or waits for a core.
    Awake,
    /// It has had nothing to do since then: it looks for more, or sleeps.
    Idle(Instant),
    /// Its sleep is about to end.
    Waking,
}

/// A request that its thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) key: Key,
    /// It can go on.
    pub(crate) is_over: bool,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Todo {
    /// It hears an answer.
    Hear(Instant, Packet),
    /// One of its requests goes on.
    GoOn(Key),
    /// A worker begins a request.
    Begin(Key),
    /// A member of the crew makes calls: see [`Thread::sending`].
    Call,
    /// A loop looks at its own queues.
    Serve,
    Nothing,
}

impl Staff {
    pub(super) fn new(spec: Threads, loops: usize) -> Self {
        let model = spec.model;
        let mut staff = Self {
            spec,
            threads: (0..loops).map(|_| Thread::idle(Instant::ZERO, Role::Loop)).collect(),
            loops,
            ready: VecDeque::new(),
            handed: VecDeque::new(),
            reserved: 0,
            legs: VecDeque::new(),
            backlog: 0,
        };
        staff.follow(Instant::ZERO, model);
        staff
    }

    /// Requests begin by this model from now on. Threads beyond it sleep once they have nothing left.
    pub(super) fn follow(&mut self, now: Instant, model: Model) {
        if model.completion.crew() < self.crew() {
            self.backlog = self.legs.len();
        }
        self.spec.model = model;
        let workers = (0..model.workers()).map(Role::Worker);
        for role in workers.chain((0..self.crew()).map(Role::Crew)) {
            if !self.threads.iter().any(|thread| thread.role == role) {
                self.threads.push(Thread::idle(now, role));
            }
        }
    }

    /// How many threads make handlers' calls; none where the handlers' own do.
    const fn crew(&self) -> usize {
        self.spec.model.completion.crew()
    }

    /// What makes the calls of a request that comes to them now.
    pub(super) const fn maker(&self) -> Maker {
        match self.spec.model.completion {
            Completion::Responders(1..) => Maker::Responder,
            Completion::ForkJoin(1..) => Maker::Forked,
            Completion::Async
            | Completion::Sync
            | Completion::Responders(0)
            | Completion::ForkJoin(0) => Maker::Own,
        }
    }

    pub(super) fn is_loop(&self, thread: u16) -> bool {
        usize::from(thread) < self.loops
    }

    /// Places ahead of the workers that are free; below zero where they have become fewer.
    fn places(&self) -> isize {
        let taken = self.handed.len() + self.reserved;
        self.spec.model.workers() as isize - taken as isize
    }

    pub(super) fn dispatches(&self) -> bool {
        self.spec.model.workers() > 0
    }

    /// Whether a loop may begin a request, or hand one over.
    pub(super) fn may_start(&self, at: usize) -> bool {
        self.threads[at].held.is_none() && (!self.dispatches() || self.places() > 0)
    }

    /// Whether the worker takes requests. Where workers have become fewer all take what was handed over for
    /// more.
    fn takes_requests(&self, thread: u16) -> bool {
        match self.threads[usize::from(thread)].role {
            Role::Worker(worker) => worker < self.spec.model.workers() || self.places() < 0,
            Role::Loop | Role::Crew(_) => false,
        }
    }

    /// The same of the crew and legs.
    fn takes_legs(&self, thread: u16) -> bool {
        match self.threads[usize::from(thread)].role {
            Role::Crew(member) => member < self.crew() || self.backlog > 0,
            Role::Loop | Role::Worker(_) => false,
        }
    }

    /// A request's calls are to be made by the crew.
    pub(super) fn leave(&mut self, leg: Leg) {
        self.legs.push_back(leg);
    }

    fn next_leg(&mut self, thread: u16) -> Option<Leg> {
        let leg = if self.takes_legs(thread) { self.legs.pop_front() } else { None };
        self.backlog = self.backlog.saturating_sub(usize::from(leg.is_some()));
        leg
    }

    /// The call has ended for which the thread waited, if it still does: true if so.
    pub(super) fn free(&mut self, thread: u16, parent: Key) -> bool {
        let state = self.threads.get_mut(usize::from(thread));
        state.is_some_and(|state| state.alone.take_if(|alone| *alone == parent).is_some())
    }

    /// The request waits for its calls no more. What was not begun is taken back; returns how many threads waited for the
    /// others. A backlog stays as it is: as many later legs are for all.
    pub(super) fn give_up(&mut self, parent: Key) -> usize {
        self.legs.retain(|leg| leg.asked.parent != parent);
        let threads = self.threads.iter_mut();
        threads.filter_map(|thread| thread.alone.take_if(|alone| *alone == parent)).count()
    }

    pub(super) fn next(&mut self, thread: u16) -> Todo {
        let begins = self.takes_requests(thread);
        let state = &mut self.threads[usize::from(thread)];
        if let Some(Held { key, .. }) = state.held.take_if(|held| held.is_over) {
            return Todo::GoOn(key);
        }
        if let Some((arrived, packet)) = state.hear() {
            return Todo::Hear(arrived, packet);
        }
        if state.held.is_some() || state.alone.is_some() {
            return Todo::Nothing;
        }
        if let Some(key) = state.woken.pop_front() {
            return Todo::GoOn(key);
        }
        if usize::from(thread) < self.loops {
            return Todo::Serve;
        }
        if begins && let Some(key) = self.handed.pop_front() {
            return Todo::Begin(key);
        }
        let leg = self.next_leg(thread);
        self.threads[usize::from(thread)].sending = leg;
        if leg.is_some() { Todo::Call } else { Todo::Nothing }
    }

    /// A request of the thread can go on.
    pub(super) fn wake(&mut self, thread: u16, key: Key, to_front: bool) {
        let Thread { held, woken, .. } = &mut self.threads[usize::from(thread)];
        match held {
            Some(held) if held.key == key => held.is_over = true,
            _ if to_front => woken.push_front(key),
            _ => woken.push_back(key),
        }
    }

    /// Something has come for a thread: it wants a core, or will once it has woken up, where this is true. `idle` cores
    /// have nothing to do.
    pub(super) fn rouse(&mut self, now: Instant, thread: u16, idle: usize) -> bool {
        let state = &self.threads[usize::from(thread)];
        let Rest::Idle(since) = state.rest else { return false };
        let waits = state.alone.is_some() || state.held.is_some_and(|held| !held.is_over);
        if waits && state.inbox.is_empty() {
            return false;
        }
        let on_idle_core = !self.looks(thread, now.since(since)) && self.can_wake_core(now, idle);
        let state = &mut self.threads[usize::from(thread)];
        if on_idle_core {
            state.rest = Rest::Waking;
        } else {
            state.rest = Rest::Awake;
            self.ready.push_back(thread);
        }
        on_idle_core
    }

    /// Its sleep has ended. A thread of an earlier life has nothing to do with it.
    pub(super) fn woken(&mut self, thread: u16) {
        let state = &mut self.threads[usize::from(thread)];
        if state.rest == Rest::Waking {
            (state.rest, state.woken_for_core) = (Rest::Awake, true);
            self.ready.push_back(thread);
        }
    }

    /// Whether some core sleeps: those from which pollers look do not.
    pub(super) fn can_wake_core(&self, now: Instant, idle: usize) -> bool {
        idle > self.looking(now)
    }

    /// Whether waking the thread means to end its sleep.
    pub(super) fn is_asleep(&self, now: Instant, thread: u16) -> bool {
        match self.threads[usize::from(thread)].rest {
            Rest::Idle(since) => !self.looks(thread, now.since(since)),
            Rest::Awake | Rest::Waking => false,
        }
    }

    /// More was handed over than workers are about to wake, or wait for a core, to take it.
    fn lacks_workers(&self) -> bool {
        self.handed.len() > self.coming(Self::takes_requests, self.handed.len())
    }

    /// The same of legs and the crew.
    fn lacks_crew(&self) -> bool {
        self.legs.len() > self.coming(Self::takes_legs, self.legs.len())
    }

    /// How many threads that take this are about to wake, or wait for a core; zero where nothing waits for them.
    fn coming(&self, takes: impl Fn(&Self, u16) -> bool, waiting: usize) -> usize {
        let comes = |thread: &u16| {
            let Thread { rest, held, alone, .. } = &self.threads[usize::from(*thread)];
            let is_coming = *rest == Rest::Waking || self.ready.contains(thread);
            is_coming && held.is_none() && alone.is_none() && takes(self, *thread)
        };
        if waiting == 0 { 0 } else { self.others().filter(comes).count() }
    }

    /// The first worker that has nothing to do and takes requests.
    pub(super) fn free_worker(&self) -> Option<u16> {
        self.others().find(|thread| self.is_free(*thread) && self.takes_requests(*thread))
    }

    /// Members of the crew that have nothing to do and take legs.
    pub(super) fn free_crew(&self) -> impl Iterator<Item = u16> {
        self.others().filter(move |thread| self.is_free(*thread) && self.takes_legs(*thread))
    }

    /// Those to be roused for what was left for whichever is free first.
    pub(super) fn free_takers(&self) -> [Option<u16>; 2] {
        [
            if self.lacks_workers() { self.free_worker() } else { None },
            if self.lacks_crew() { self.free_crew().next() } else { None },
        ]
    }

    fn is_free(&self, thread: u16) -> bool {
        let Thread { rest, held, alone, .. } = &self.threads[usize::from(thread)];
        matches!(rest, Rest::Idle(_)) && held.is_none() && alone.is_none()
    }

    /// All but the loops.
    fn others(&self) -> impl Iterator<Item = u16> + use<> {
        (self.loops..self.threads.len()).map(|thread| thread as u16)
    }

    /// All loops look at their sockets or sleep until something comes.
    pub(super) fn is_spare(&self) -> bool {
        let mut loops = self.threads[..self.loops].iter();
        loops.all(|it| matches!(it.rest, Rest::Idle(_)) && it.held.is_none())
    }

    /// The requests and answers that threads have, but for those that cores are busy with.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        let of = |it: &'_ Thread| {
            let over = it.held.filter(|held| held.is_over).map(|held| held.key);
            let heard = it.inbox.iter().filter_map(|(_, packet)| packet.key());
            heard.chain(it.woken.iter().copied()).chain(over).collect::<Vec<Key>>()
        };
        self.threads.iter().flat_map(of).chain(self.handed.iter().copied())
    }

    /// The thread that hears an answer: the one that made the call, or else `home`.
    pub(super) fn hears(&self, packet: &Packet, home: u16, space: &Space) -> u16 {
        let call = packet.key().and_then(|key| space.requests.get(key));
        let parent = call.and_then(Request::parent).and_then(|key| space.requests.get(key));
        let task = parent.and_then(|request| request.task.as_ref());
        let by = call.and_then(|call| call.errand.as_ref()).and_then(|errand| errand.by);
        let thread = task.map_or(home, |task| by.unwrap_or(task.calls_by));
        if usize::from(thread) < self.threads.len() { thread } else { home }
    }

    /// It has something to do, beside what waits at its loop.
    pub(super) fn has_work(&self, thread: u16) -> bool {
        let state = &self.threads[usize::from(thread)];
        match state.held {
            Some(held) => held.is_over || !state.inbox.is_empty(),
            None if state.alone.is_some() => !state.inbox.is_empty(),
            None => {
                let begins = self.takes_requests(thread) && self.lacks_workers();
                let calls = self.takes_legs(thread) && self.lacks_crew();
                state.has_more() || begins || calls
            }
        }
    }

    /// After so long without work it still looks for some. Workers and threads of fork and join never do, and neither does
    /// what waits for calls.
    fn looks(&self, thread: u16, idle: Duration) -> bool {
        let Thread { role, held, alone, .. } = &self.threads[usize::from(thread)];
        let may_look = match *role {
            Role::Loop => true,
            Role::Crew(member) => self.maker() == Maker::Responder && member < self.crew(),
            Role::Worker(_) => false,
        };
        may_look
            && held.is_none()
            && alone.is_none()
            && match self.spec.model.reception {
                Reception::Block => false,
                Reception::SpinThenBlock(longest) => idle <= longest,
                Reception::Poll => true,
            }
    }

    fn looking(&self, now: Instant) -> usize {
        (0..self.threads.len()).filter(|thread| self.is_looking(now, *thread as u16)).count()
    }

    /// It has nothing to do and keeps a core from sleeping.
    pub(super) fn is_looking(&self, now: Instant, thread: u16) -> bool {
        match self.threads[usize::from(thread)].rest {
            Rest::Idle(since) => self.looks(thread, now.since(since)),
            Rest::Awake | Rest::Waking => false,
        }
    }
}

impl Thread {
    fn hear(&mut self) -> Option<(Instant, Packet)> {
        if self.turn == 0 && !self.inbox.is_empty() {
            self.turn = self.inbox.len();
            self.turns += 1;
        }
        let heard = self.inbox.pop_front()?;
        self.turn -= 1;
        Some(heard)
    }

    pub(super) fn has_more(&self) -> bool {
        self.held.is_some() || !self.woken.is_empty() || !self.inbox.is_empty()
    }

    fn idle(now: Instant, role: Role) -> Self {
        Self {
            role,
            rest: Rest::Idle(now),
            woken_for_core: false,
            inbox: VecDeque::new(),
            turn: 0,
            turns: 0,
            woken: VecDeque::new(),
            held: None,
            sending: None,
            alone: None,
        }
    }
}
