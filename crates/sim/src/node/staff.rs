//! The threads of a node: what each has to do, and whether it runs, waits for a core or sleeps.
//!
//! The protocol is the runtime's (docs/threading.md). Requests wait at their loop; as many as there are workers are
//! handed over ahead. What has begun stays with its thread, whatever becomes of the model. A thread whose request
//! completes synchronously is held until the answers are there: it hears those, and does nothing else.

use crate::slab::Key;
use crate::space::{Packet, Space};
use crate::threads::Threads;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_workload::scenario::{Model, Reception};

/// All threads: the loops', then the workers'.
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
}

/// One of them.
pub(crate) struct Thread {
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
    /// A loop looks at its own queues.
    Serve,
    Nothing,
}

impl Staff {
    pub(super) fn new(spec: Threads, loops: usize) -> Self {
        let mut staff = Self {
            spec,
            threads: Vec::new(),
            loops,
            ready: VecDeque::new(),
            handed: VecDeque::new(),
            reserved: 0,
        };
        staff.follow(Instant::ZERO, spec.model);
        staff
    }

    /// Requests begin by this model from now on. Workers beyond it sleep once they have nothing left.
    pub(super) fn follow(&mut self, now: Instant, model: Model) {
        self.spec.model = model;
        let wanted = self.loops + model.workers();
        self.threads.resize_with(wanted.max(self.threads.len()), || Thread::idle(now));
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
        let worker = usize::from(thread) - self.loops;
        worker < self.spec.model.workers() || self.places() < 0
    }

    pub(super) fn next(&mut self, thread: u16) -> Todo {
        let begins = !self.is_loop(thread) && self.takes_requests(thread);
        let state = &mut self.threads[usize::from(thread)];
        if let Some(Held { key, .. }) = state.held.take_if(|held| held.is_over) {
            return Todo::GoOn(key);
        }
        if let Some((arrived, packet)) = state.hear() {
            return Todo::Hear(arrived, packet);
        }
        if state.held.is_some() {
            return Todo::Nothing;
        }
        if let Some(key) = state.woken.pop_front() {
            return Todo::GoOn(key);
        }
        if usize::from(thread) < self.loops {
            return Todo::Serve;
        }
        let handed = if begins { self.handed.pop_front() } else { None };
        handed.map_or(Todo::Nothing, Todo::Begin)
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

    /// Something has come for a thread: it wants a core, or will at the instant that this returns. `idle` cores have
    /// nothing to do.
    pub(super) fn rouse(&mut self, now: Instant, thread: u16, idle: usize) -> Option<Instant> {
        let state = &self.threads[usize::from(thread)];
        let Rest::Idle(since) = state.rest else { return None };
        if state.held.is_some_and(|held| !held.is_over) && state.inbox.is_empty() {
            return None;
        }
        let on_idle_core = !self.looks(thread, now.since(since)) && self.can_wake_core(now, idle);
        let state = &mut self.threads[usize::from(thread)];
        if on_idle_core {
            state.rest = Rest::Waking;
            return Some(now + self.spec.wake_up);
        }
        state.rest = Rest::Awake;
        self.ready.push_back(thread);
        None
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
    pub(super) fn lacks_takers(&self) -> bool {
        let takes = |thread: &usize| {
            let Thread { rest, held, .. } = &self.threads[*thread];
            let is_coming = *rest == Rest::Waking || self.ready.contains(&(*thread as u16));
            is_coming && held.is_none() && self.takes_requests(*thread as u16)
        };
        let takers = (self.loops..self.threads.len()).filter(takes);
        !self.handed.is_empty() && self.handed.len() > takers.count()
    }

    /// The first worker that has nothing to do and takes requests.
    pub(super) fn free_worker(&self) -> Option<u16> {
        let workers = (self.loops..self.threads.len()).map(|thread| thread as u16);
        let is_free = |thread: &u16| {
            let Thread { rest, held, .. } = &self.threads[usize::from(*thread)];
            matches!(rest, Rest::Idle(_)) && held.is_none()
        };
        workers.filter(|thread| self.takes_requests(*thread)).find(is_free)
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

    /// The thread that hears an answer: the one whose request waits for it, or else `home`.
    pub(super) fn hears(&self, packet: &Packet, home: u16, space: &Space) -> u16 {
        let task = |key: Key| space.requests.get(key).and_then(|request| request.task.as_ref());
        let parent = packet.key().and_then(task).and_then(|task| task.parent);
        let thread = parent.and_then(task).map_or(home, |task| task.thread);
        if usize::from(thread) < self.threads.len() { thread } else { home }
    }

    /// It has something to do, beside what waits at its loop.
    pub(super) fn has_work(&self, thread: u16) -> bool {
        let state = &self.threads[usize::from(thread)];
        match state.held {
            Some(held) => held.is_over || !state.inbox.is_empty(),
            None => {
                let begins = !self.is_loop(thread) && self.takes_requests(thread);
                state.has_more() || (begins && self.lacks_takers())
            }
        }
    }

    /// After so long without work it still looks for some. Workers never do, and neither does what is held.
    fn looks(&self, thread: u16, idle: Duration) -> bool {
        let is_held = self.threads[usize::from(thread)].held.is_some();
        self.is_loop(thread)
            && !is_held
            && match self.spec.model.reception {
                Reception::Block => false,
                Reception::SpinThenBlock(longest) => idle <= longest,
                Reception::Poll => true,
            }
    }

    fn looking(&self, now: Instant) -> usize {
        (0..self.loops).filter(|at| self.is_looking(now, *at as u16)).count()
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

    fn idle(now: Instant) -> Self {
        Self {
            rest: Rest::Idle(now),
            woken_for_core: false,
            inbox: VecDeque::new(),
            turn: 0,
            turns: 0,
            woken: VecDeque::new(),
            held: None,
        }
    }
}
