//! Events to facts: the state of each followed thread, kept from event to event.

use super::behind::Behind;
use super::cores::Cores;
use super::fact::{After, Fact, Interrupting, Interruption, Interval, State, Waker};
use crate::event::{Event, Left, LocalInterrupt, Name, What};
use std::collections::BTreeMap;

/// Threads followed at a time; further ones are counted.
pub const THREADS_MAX: usize = 65_536;

/// Follows some threads, and all that these make.
///
/// A processor is *blind* until its first event, and from an event [`What::Blind`] to its next. While one is blind, only
/// threads that run on another are known: any other may have been woken, moved or run where nothing is seen. They become
/// [`State::Unknown`], and stay so until an event of their own. Nothing is guessed: with all events at hand a state is
/// right, and with some lost it is right or unknown. Some processors do not tell what they do while they are idle. That is known once it has
/// been found out, and wakings there stay unseen. A processor that nobody told of, as one that comes online later, is blind
/// as soon as a thread goes there.
pub struct Machine {
    cores: Cores,
    threads: BTreeMap<u32, Thread>,
    /// All processors can be seen.
    sees_all: bool,
    totals: Totals,
}

/// What was counted while threads were followed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Threads that were not followed for want of room.
    pub beyond: u64,
    /// Segments that TCP sent again, of all programs: the kernel does so on no thread's account.
    pub retransmissions: u64,
    /// By processor, how often it became idle or busy, and no event told of that, though a followed thread came, went or waited.
    /// Some kernels leave out what a processor does while it is idle.
    pub untold: BTreeMap<u32, u64>,
}

impl Totals {
    /// Events that the kernel left out, of all processors, at least.
    #[must_use]
    pub fn all_untold(&self) -> u64 {
        self.untold.values().sum()
    }
}

/// A followed thread.
struct Thread {
    name: Name,
    since_ns: u64,
    now: Now,
    /// What was about to wake it when it had not left its core.
    waker: Waker,
}

/// What a thread does now.
enum Now {
    Running {
        cpu: u32,
    },
    /// Until it is queued it is about to be, on the processor that it last had or another.
    Runnable {
        cpu: u32,
        after: After,
        is_queued: bool,
        charged_ns: u64,
        behind: Behind,
    },
    Asleep {
        is_uninterruptible: bool,
    },
    Stopped,
    Unknown,
}

impl Machine {
    /// Begins with these processors, all blind, and no thread.
    pub fn new(cpus: impl Iterator<Item = u32>) -> Self {
        Self {
            cores: Cores::blind(cpus),
            threads: BTreeMap::new(),
            sees_all: false,
            totals: Totals::default(),
        }
    }

    /// Follows a thread from that time on; its name is told by its next switch.
    pub fn follow(&mut self, tid: u32, at_ns: u64) {
        self.follow_as(tid, Name::default(), at_ns);
    }

    fn follow_as(&mut self, tid: u32, name: Name, at_ns: u64) {
        if self.threads.len() >= THREADS_MAX {
            self.totals.beyond += 1;
            return;
        }
        let waker = Waker::Unknown;
        let thread = Thread { name, since_ns: at_ns, now: Now::Unknown, waker };
        self.threads.entry(tid).or_insert(thread);
    }

    /// Takes the next event, and says what it makes known. Events must come in order of time.
    pub fn apply(&mut self, event: &Event, tell: &mut impl FnMut(Fact)) {
        let Event { at_ns, cpu, tid, what } = *event;
        if let What::Late { since_ns } = what {
            tell(Fact::Void { from_ns: since_ns, to_ns: at_ns });
        }
        if matches!(what, What::Blind | What::Late { .. }) {
            return self.lose_sight(cpu, at_ns, tell);
        }
        let goes_to = match what {
            What::Wakeup { cpu: queue, .. } | What::Migrate { cpu: queue, .. } => queue,
            _ => cpu,
        };
        for one in [cpu, goes_to] {
            if !self.cores.has(one) {
                self.lose_sight(one, at_ns, tell);
            }
        }
        self.sight(cpu, tid, at_ns, tell);
        match what {
            What::Switch { previous_name, left, next, next_name } => {
                self.charge(cpu, (tid, previous_name), at_ns);
                self.call(tid, previous_name);
                self.call(next, next_name);
                self.leave(tid, cpu, left, at_ns, tell);
                self.set(cpu, next, next_name);
                self.run(next, cpu, at_ns, tell);
            }
            What::Waking { tid: woken, context, cpu: queue } if self.follows(woken) => {
                let core = self.cores.get(cpu);
                let waker = core.map_or(Waker::Unknown, |core| core.waker(tid, context));
                self.wake(woken, queue, waker, at_ns, tell);
            }
            What::Wakeup { tid: woken, cpu: queue, is_new } if self.follows(woken) => {
                let after = if is_new { After::Made } else { After::Woken };
                self.queued(woken, queue, after, at_ns, tell);
            }
            What::Migrate { tid: moved, cpu: queue } => self.move_to(moved, queue, at_ns, tell),
            What::Fork { child } => {
                // It is called as what made it, until it says otherwise.
                if let Some(name) = self.threads.get(&tid).map(|thread| thread.name) {
                    self.follow_as(child, name, at_ns);
                }
            }
            What::Rename { tid, name } => self.call(tid, name),
            What::Fault { address } => {
                self.interrupted(tid, (Interrupting::Fault(address), at_ns), at_ns, tell);
            }
            What::Retransmission => self.totals.retransmissions += 1,
            What::Waking { .. } | What::Wakeup { .. } | What::Blind | What::Late { .. } => {}
            What::InterruptEntry { .. }
            | What::InterruptExit
            | What::SoftirqEntry { .. }
            | What::SoftirqExit
            | What::LocalEntry(_)
            | What::LocalExit(_) => self.interrupt(event, tell),
        }
        if let Some(core) = self.cores.get(cpu) {
            core.last_ns = at_ns;
        }
    }

    /// Concludes: what threads did last lasted until then.
    pub fn finish(mut self, at_ns: u64, tell: &mut impl FnMut(Fact)) -> Totals {
        self.charge_all(at_ns, tell);
        for (tid, thread) in self.threads {
            thread.close(tid, at_ns, Waker::Unknown, tell);
        }
        self.totals
    }

    fn follows(&self, tid: u32) -> bool {
        self.threads.contains_key(&tid)
    }

    /// What a thread is called now.
    fn call(&mut self, tid: u32, name: Name) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.name = name;
        }
    }

    /// From here on, nothing is certain but of threads that run elsewhere.
    fn lose_sight(&mut self, cpu: u32, at_ns: u64, tell: &mut impl FnMut(Fact)) {
        self.charge_all(at_ns, tell);
        self.cores.lose_sight(cpu);
        self.sees_all = false;
        let elsewhere = |now: &Now| matches!(now, Now::Running { cpu: other } if *other != cpu);
        for (tid, thread) in &mut self.threads {
            if !elsewhere(&thread.now) && !matches!(thread.now, Now::Unknown) {
                thread.turn(*tid, Now::Unknown, at_ns, Waker::Unknown, tell);
            }
        }
    }

    /// An event says which thread its processor has.
    fn sight(&mut self, cpu: u32, tid: u32, at_ns: u64, tell: &mut impl FnMut(Fact)) {
        let before = self.cores.get(cpu).and_then(|core| core.current);
        match before {
            Some((current, _)) if current == tid => return,
            Some(other) => self.replace(other, tid, cpu, at_ns, tell),
            None => {}
        }
        self.set(cpu, tid, Name::default());
        self.sees_all = self.cores.all_seen();
        self.run(tid, cpu, at_ns, tell);
    }

    /// A processor has another thread than before, and no event told of that.
    fn replace(
        &mut self,
        other: (u32, Name),
        tid: u32,
        cpu: u32,
        at_ns: u64,
        tell: &mut impl FnMut(Fact),
    ) {
        // A thread that starts a program takes the number of its process, in the middle of its time. No idle thread does.
        let is_untold = other.0 == 0 || tid == 0;
        let Some(core) = self.cores.get(cpu) else { return };
        let since_ns = if is_untold { core.last_ns } else { at_ns };
        let has_queue = !core.waiting.is_empty();
        if is_untold && (has_queue || self.follows(other.0) || self.follows(tid)) {
            *self.totals.untold.entry(cpu).or_default() += 1;
        }
        if let Some(thread) = self.threads.get_mut(&other.0)
            && matches!(thread.now, Now::Running { cpu: its } if its == cpu)
        {
            thread.doubt(other.0, since_ns, tell);
        }
        if is_untold {
            self.doubt_queue(cpu, other, since_ns, tell);
        }
        // It was thought to wait elsewhere.
        self.unqueue(tid);
        if let Some(thread) = self.threads.get_mut(&tid)
            && matches!(thread.now, Now::Runnable { .. })
        {
            thread.now = Now::Unknown;
        }
    }

    /// Since then a thread of this queue may have had the processor, which had this one before.
    fn doubt_queue(
        &mut self,
        cpu: u32,
        had: (u32, Name),
        since_ns: u64,
        tell: &mut impl FnMut(Fact),
    ) {
        self.charge(cpu, had, since_ns);
        let waiting = self.cores.get(cpu).map(|core| std::mem::take(&mut core.waiting));
        for tid in waiting.into_iter().flatten() {
            if let Some(thread) = self.threads.get_mut(&tid)
                && let Now::Runnable { charged_ns, .. } = thread.now
            {
                // It may have come from another queue since.
                thread.doubt(tid, charged_ns, tell);
            }
        }
    }

    fn set(&mut self, cpu: u32, tid: u32, name: Name) {
        if let Some(core) = self.cores.get(cpu) {
            core.set(tid, name);
        }
    }

    /// A thread has a core.
    fn run(&mut self, tid: u32, cpu: u32, at_ns: u64, tell: &mut impl FnMut(Fact)) {
        self.unqueue(tid);
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        if let Now::Running { cpu: other } = thread.now
            && other != cpu
            && let Some(core) = self.cores.get(other)
        {
            // That it left the other was not told.
            thread.doubt(tid, core.last_ns, tell);
        }
        if matches!(thread.now, Now::Asleep { .. } | Now::Stopped) {
            // It was woken meanwhile, and nothing says when.
            thread.now = Now::Unknown;
        }
        thread.turn(tid, Now::Running { cpu }, at_ns, Waker::Unknown, tell);
    }

    /// A thread has left its core.
    fn leave(&mut self, tid: u32, cpu: u32, left: Left, at_ns: u64, tell: &mut impl FnMut(Fact)) {
        if left == Left::Ended {
            if let Some(thread) = self.threads.remove(&tid) {
                thread.close(tid, at_ns, Waker::Unknown, tell);
            }
            return;
        }
        let sees_all = self.sees_all;
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let now = match left {
            _ if !sees_all => Now::Unknown,
            Left::Runnable => runnable(cpu, After::Preempted, true, at_ns),
            Left::Stopped => Now::Stopped,
            _ => Now::Asleep { is_uninterruptible: left == Left::Uninterruptible },
        };
        thread.turn(tid, now, at_ns, Waker::Unknown, tell);
        self.enqueue(tid);
    }

    /// A thread is about to be woken.
    fn wake(&mut self, tid: u32, cpu: u32, waker: Waker, at_ns: u64, tell: &mut impl FnMut(Fact)) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        if !matches!(thread.now, Now::Asleep { .. } | Now::Stopped) {
            thread.waker = waker;
            return;
        }
        thread.turn(tid, runnable(cpu, After::Woken, false, at_ns), at_ns, waker, tell);
        self.enqueue(tid);
    }

    /// A thread is in a run queue.
    fn queued(
        &mut self,
        tid: u32,
        cpu: u32,
        after: After,
        at_ns: u64,
        tell: &mut impl FnMut(Fact),
    ) {
        // It may have been woken before it had left its core, and be running.
        let is_certain = self.sees_all && !self.cores.have(tid);
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let waker = std::mem::replace(&mut thread.waker, Waker::Unknown);
        match thread.now {
            Now::Runnable { .. } => {
                self.move_to(tid, cpu, at_ns, tell);
                if let Some(Thread { now: Now::Runnable { is_queued, .. }, .. }) =
                    self.threads.get_mut(&tid)
                {
                    *is_queued = true;
                }
            }
            Now::Asleep { .. } | Now::Stopped | Now::Unknown if is_certain => {
                thread.turn(tid, runnable(cpu, after, true, at_ns), at_ns, waker, tell);
                self.enqueue(tid);
            }
            _ => {}
        }
    }

    /// A thread goes to another queue.
    fn move_to(&mut self, tid: u32, queue: u32, at_ns: u64, tell: &mut impl FnMut(Fact)) {
        let Some(Thread { now: Now::Runnable { cpu, charged_ns, is_queued, .. }, .. }) =
            self.threads.get(&tid)
        else {
            return;
        };
        let (from, charged_ns, is_queued) = (*cpu, *charged_ns, *is_queued);
        if from == queue {
            return;
        }
        self.unqueue(tid);
        let had = self.cores.get(from).and_then(|core| core.current);
        let is_doubtful = is_queued && had.is_some_and(|current| self.may_be_busy(from, current));
        if let Some(thread) = self.threads.get_mut(&tid) {
            if is_doubtful {
                // Which thread it waited for is not known.
                return thread.doubt(tid, charged_ns, tell);
            }
            // The others of that queue are charged by events of their processor: it may turn out to have had another thread.
            if let Some(current) = had {
                thread.charge(current, at_ns);
            }
            if let Now::Runnable { cpu, charged_ns, .. } = &mut thread.now {
                // It may have been last on a processor that is gone.
                (*cpu, *charged_ns) = (queue, at_ns);
            }
        }
        self.enqueue(tid);
    }

    /// The time up to now of all that wait for a core is that of the thread that has it.
    fn charge(&mut self, cpu: u32, had: (u32, Name), at_ns: u64) {
        for waiting in self.cores.get(cpu).iter().flat_map(|core| &core.waiting) {
            if let Some(thread) = self.threads.get_mut(waiting) {
                thread.charge(had, at_ns);
            }
        }
    }

    fn charge_all(&mut self, at_ns: u64, tell: &mut impl FnMut(Fact)) {
        let cpus: Vec<u32> = self.cores.ids().collect();
        for cpu in cpus {
            let Some(core) = self.cores.get(cpu) else { continue };
            let (last_ns, Some(current)) = (core.last_ns, core.current) else { continue };
            if self.may_be_busy(cpu, current) {
                self.doubt_queue(cpu, current, last_ns, tell);
            } else {
                self.charge(cpu, current, at_ns);
            }
        }
    }

    /// Whether a processor may have another thread than this one, as it was found not to tell when it is no longer idle.
    fn may_be_busy(&self, cpu: u32, current: (u32, Name)) -> bool {
        current.0 == 0 && self.totals.untold.contains_key(&cpu)
    }

    fn enqueue(&mut self, tid: u32) {
        if let Some(Thread { now: Now::Runnable { cpu, .. }, .. }) = self.threads.get(&tid)
            && let Some(core) = self.cores.get(*cpu)
            && !core.waiting.contains(&tid)
        {
            core.waiting.push(tid);
        }
    }

    fn unqueue(&mut self, tid: u32) {
        if let Some(Thread { now: Now::Runnable { cpu, .. }, .. }) = self.threads.get(&tid)
            && let Some(core) = self.cores.get(*cpu)
        {
            core.waiting.retain(|one| *one != tid);
        }
    }

    fn interrupt(&mut self, event: &Event, tell: &mut impl FnMut(Fact)) {
        let Event { at_ns, cpu, tid, what } = *event;
        let Some(core) = self.cores.get(cpu) else { return };
        let is_device = |by| matches!(by, Interrupting::Device(_));
        let is_softirq = |by| matches!(by, Interrupting::Softirq(_));
        let is_local = |kind: LocalInterrupt| move |by| by == Interrupting::Local(kind);
        let over = match what {
            What::InterruptEntry { line } => return core.enter(Interrupting::Device(line), at_ns),
            What::SoftirqEntry { vector } => {
                return core.enter(Interrupting::Softirq(vector), at_ns);
            }
            What::LocalEntry(kind) => return core.enter(Interrupting::Local(kind), at_ns),
            What::InterruptExit => core.leave(is_device),
            What::SoftirqExit => core.leave(is_softirq),
            What::LocalExit(kind) => core.leave(is_local(kind)),
            _ => None,
        };
        if let Some(over) = over {
            self.interrupted(tid, over, at_ns, tell);
        }
    }

    fn interrupted(
        &self,
        tid: u32,
        (by, from_ns): (Interrupting, u64),
        to_ns: u64,
        tell: &mut impl FnMut(Fact),
    ) {
        if self.follows(tid) {
            tell(Fact::Interruption(Interruption { tid, from_ns, to_ns, by }));
        }
    }
}

fn runnable(cpu: u32, after: After, is_queued: bool, at_ns: u64) -> Now {
    Now::Runnable { cpu, after, is_queued, charged_ns: at_ns, behind: Behind::default() }
}

impl Thread {
    /// Goes over to something else, which `woken` began where it slept.
    fn turn(&mut self, tid: u32, now: Now, at_ns: u64, woken: Waker, tell: &mut impl FnMut(Fact)) {
        let before = std::mem::replace(&mut self.now, now);
        let from_ns = std::mem::replace(&mut self.since_ns, at_ns);
        before.told((tid, self.name), (from_ns, at_ns), woken, tell);
    }

    /// Where it waits: up to now, it did so behind that thread.
    fn charge(&mut self, (tid, name): (u32, Name), at_ns: u64) {
        if let Now::Runnable { charged_ns, behind, .. } = &mut self.now {
            behind.add(tid, name, at_ns.saturating_sub(*charged_ns));
            *charged_ns = at_ns.max(*charged_ns);
        }
    }

    /// Nothing is known of it since then, or since its present state began.
    fn doubt(&mut self, tid: u32, since_ns: u64, tell: &mut impl FnMut(Fact)) {
        self.turn(tid, Now::Unknown, since_ns.max(self.since_ns), Waker::Unknown, tell);
    }

    fn close(self, tid: u32, at_ns: u64, woken: Waker, tell: &mut impl FnMut(Fact)) {
        self.now.told((tid, self.name), (self.since_ns, at_ns), woken, tell);
    }
}

impl Now {
    fn told(
        self,
        (tid, name): (u32, Name),
        (from_ns, to_ns): (u64, u64),
        woken: Waker,
        tell: &mut impl FnMut(Fact),
    ) {
        if to_ns <= from_ns {
            return;
        }
        let state = match self {
            Self::Running { cpu } => State::Running { cpu },
            Self::Runnable { cpu, after, behind, .. } => {
                State::Runnable { cpu, after, behind: behind.concluded() }
            }
            Self::Asleep { is_uninterruptible } => State::Asleep { is_uninterruptible, woken },
            Self::Stopped => State::Stopped { woken },
            Self::Unknown => State::Unknown,
        };
        tell(Fact::Interval(Interval { tid, name, from_ns, to_ns, state }));
    }
}
