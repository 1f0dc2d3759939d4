//! The machine against a model that keeps, for each moment, what every thread did: with all events, and with some lost.

use super::{Fact, Interval, Machine, State, Waker};
use crate::event::{Context, Event, Left, LocalInterrupt, Name, What};
use proptest::prelude::*;
use std::collections::BTreeMap;

const CPUS: usize = 3;
const THREADS: u32 = 7;
/// Their numbers begin here; those below are of idle threads and of one that nobody follows.
const FIRST: u32 = 10;

/// What a thread does at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Truth {
    Runs(usize),
    Waits(usize),
    Sleeps,
}

/// A machine of which all is known.
struct World {
    now: u64,
    cores: [u32; CPUS],
    threads: BTreeMap<u32, Truth>,
    /// For each moment so far: what threads did, and which each core had.
    past: Vec<(BTreeMap<u32, Truth>, [u32; CPUS])>,
    events: Vec<Event>,
}

/// What may happen next; numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A core's thread goes to sleep, and the next in the queue or none comes.
    Sleep(usize),
    /// A core's thread makes room for another of its queue.
    Preempt(usize),
    /// What runs on a core wakes a thread, in a queue of the other.
    Wake { from: usize, thread: usize, to: usize, by_timer: bool },
    /// A thread that waits goes to another queue.
    Move { thread: usize, to: usize },
    /// An idle core takes a thread of its queue.
    Take(usize),
    /// Time goes by.
    Pass(u64),
}

impl World {
    fn new() -> Self {
        let threads = (FIRST..FIRST + THREADS).map(|tid| (tid, Truth::Sleeps)).collect();
        Self { now: 1, cores: [0; CPUS], threads, past: vec![], events: vec![] }
    }

    /// Something happens at a moment of its own.
    fn tell(&mut self, cpu: usize, what: What) {
        let event = Event { at_ns: self.now, cpu: cpu as u32, tid: self.cores[cpu], what };
        self.events.push(event);
    }

    fn pass(&mut self, ns: u64) {
        self.now += ns;
        // What was so up to now.
        self.past.resize(self.now as usize, (self.threads.clone(), self.cores));
    }

    fn next_in(&self, cpu: usize) -> u32 {
        let waits = |truth: &Truth| *truth == Truth::Waits(cpu);
        self.threads.iter().find(|(_, truth)| waits(truth)).map_or(0, |(tid, _)| *tid)
    }

    fn switch(&mut self, cpu: usize, left: Left, next: u32) {
        let name = |tid: u32| Name::new(format!("t{tid}").as_bytes());
        let (previous_name, next_name) = (name(self.cores[cpu]), name(next));
        self.tell(cpu, What::Switch { previous_name, left, next, next_name });
        let before = std::mem::replace(&mut self.cores[cpu], next);
        let gone = if left == Left::Runnable { Truth::Waits(cpu) } else { Truth::Sleeps };
        if before != 0 {
            self.threads.insert(before, gone);
        }
        if next != 0 {
            self.threads.insert(next, Truth::Runs(cpu));
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Sleep(cpu) if self.cores[cpu] != 0 => {
                self.switch(cpu, Left::Asleep, self.next_in(cpu));
            }
            Step::Preempt(cpu) if self.cores[cpu] != 0 && self.next_in(cpu) != 0 => {
                self.switch(cpu, Left::Runnable, self.next_in(cpu));
            }
            Step::Take(cpu) if self.cores[cpu] == 0 && self.next_in(cpu) != 0 => {
                self.switch(cpu, Left::Runnable, self.next_in(cpu));
            }
            Step::Wake { from, thread, to, by_timer } => self.wake(from, thread, to, by_timer),
            Step::Move { thread, to } => {
                let tid = FIRST + thread as u32;
                if let Truth::Waits(from) = self.threads[&tid]
                    && from != to
                {
                    self.tell(from, What::Migrate { tid, cpu: to as u32 });
                    self.threads.insert(tid, Truth::Waits(to));
                }
            }
            Step::Pass(ns) => self.pass(ns),
            _ => {}
        }
        self.pass(1);
    }

    fn wake(&mut self, from: usize, thread: usize, to: usize, by_timer: bool) {
        let tid = FIRST + thread as u32;
        let context = if by_timer { Context::Interrupt } else { Context::Thread };
        if by_timer {
            self.tell(from, What::LocalEntry(LocalInterrupt::Timer));
        }
        self.tell(from, What::Waking { tid, cpu: to as u32, context });
        if self.threads[&tid] == Truth::Sleeps {
            self.threads.insert(tid, Truth::Waits(to));
            self.pass(2);
        }
        // One that runs is woken in vain, before it slept.
        self.tell(to, What::Wakeup { tid, cpu: to as u32, is_new: false });
        if let Truth::Waits(_) = self.threads[&tid] {
            self.threads.insert(tid, Truth::Waits(to));
        }
        if by_timer {
            self.tell(from, What::LocalExit(LocalInterrupt::Timer));
        }
    }

    /// The events that are left when spans of each core's are lost, as a ring tells it.
    fn with_losses(&self, lost: &[(usize, u64, u64)]) -> Vec<Event> {
        let mut told = Vec::new();
        let mut last = [0; CPUS];
        for event in &self.events {
            let (cpu, at) = (event.cpu as usize, event.at_ns);
            let is_lost =
                lost.iter().any(|(of, from, to)| *of == cpu && (*from..*to).contains(&at));
            if is_lost {
                told.push(Event { at_ns: last[cpu], what: What::Blind, ..*event });
            } else {
                told.push(*event);
                last[cpu] = at;
            }
        }
        told.sort_by_key(|event| event.at_ns);
        told
    }
}

/// What the machine says of these events, of all threads up to the end.
fn said(events: &[Event], end: u64) -> Vec<Interval> {
    let mut facts = Vec::new();
    let mut machine = Machine::new(0..CPUS as u32);
    (FIRST..FIRST + THREADS).for_each(|tid| machine.follow(tid, 0));
    events.iter().for_each(|event| machine.apply(event, &mut |fact| facts.push(fact)));
    machine.finish(end, &mut |fact| facts.push(fact));
    let intervals = facts.into_iter().filter_map(|fact| match fact {
        Fact::Interval(interval) => Some(interval),
        Fact::Interruption(_) | Fact::Void { .. } => None,
    });
    intervals.collect()
}

/// Every interval is right at each of its moments or unknown, and those of a thread leave no hole.
fn hold(world: &World, intervals: &[Interval]) -> Result<(), TestCaseError> {
    let mut until = BTreeMap::new();
    for one in intervals {
        prop_assert_eq!(until.insert(one.tid, one.to_ns).unwrap_or(0), one.from_ns, "{:?}", one);
        for at in one.from_ns..one.to_ns {
            let truth = world.past[at as usize].0[&one.tid];
            let is_right = match (&one.state, truth) {
                (State::Unknown, _) => true,
                (State::Running { cpu }, Truth::Runs(core)) => *cpu == core as u32,
                (State::Runnable { .. }, Truth::Waits(_)) => true,
                (State::Asleep { .. }, Truth::Sleeps) => true,
                _ => false,
            };
            prop_assert!(is_right, "at {}: {:?}, in truth {:?}", at, one, truth);
        }
    }
    prop_assert!(until.values().all(|to| *to == world.now) && until.len() == THREADS as usize);
    Ok(())
}

/// Each that waited did so behind the threads that had its core.
fn hold_behind(world: &World, intervals: &[Interval]) -> Result<(), TestCaseError> {
    for one in intervals {
        let State::Runnable { behind: told, .. } = &one.state else { continue };
        let mut behind: BTreeMap<u32, u64> = BTreeMap::new();
        for at in one.from_ns..one.to_ns {
            let (threads, cores) = &world.past[at as usize];
            let Truth::Waits(core) = threads[&one.tid] else { continue };
            *behind.entry(cores[core]).or_default() += 1;
        }
        prop_assert_eq!(told.idle_ns, behind.remove(&0).unwrap_or(0), "{:?}", one);
        for occupant in &told.occupants {
            prop_assert_eq!(behind.remove(&occupant.tid), Some(occupant.ns), "{:?}", one);
        }
        prop_assert_eq!(told.others_ns, behind.values().sum::<u64>());
    }
    Ok(())
}

fn step() -> impl Strategy<Value = Step> {
    let (cpu, thread) = (0..CPUS, 0..THREADS as usize);
    prop_oneof![
        1 => cpu.clone().prop_map(Step::Sleep),
        1 => cpu.clone().prop_map(Step::Preempt),
        3 => (cpu.clone(), thread.clone(), cpu.clone(), any::<bool>())
            .prop_map(|(from, thread, to, by_timer)| Step::Wake { from, thread, to, by_timer }),
        1 => (thread, cpu.clone()).prop_map(|(thread, to)| Step::Move { thread, to }),
        2 => cpu.prop_map(Step::Take),
        1 => (1u64..30).prop_map(Step::Pass),
    ]
}

fn world(steps: &[Step]) -> World {
    let mut world = World::new();
    world.pass(1);
    // Each processor is visited, as the recorder does.
    for cpu in 0..CPUS {
        world.tell(cpu, What::SoftirqExit);
    }
    world.pass(1);
    steps.iter().for_each(|step| world.step(*step));
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn with_all_events_the_machine_is_right(steps in prop::collection::vec(step(), 1..120)) {
        let world = world(&steps);
        let intervals = said(&world.events, world.now);
        hold(&world, &intervals)?;
        hold_behind(&world, &intervals)?;
        // Threads are unknown until their first event, and never again.
        for tid in FIRST..FIRST + THREADS {
            let of = intervals.iter().filter(|one| one.tid == tid);
            let known = of.skip(1).all(|one| one.state != State::Unknown);
            prop_assert!(known, "{:?}", intervals);
        }
    }

    #[test]
    fn with_events_lost_it_is_right_or_does_not_know(
        steps in prop::collection::vec(step(), 1..120),
        lost in prop::collection::vec((0..CPUS, 1u64..600, 1u64..80), 0..4),
    ) {
        let world = world(&steps);
        let lost: Vec<_> = lost.into_iter().map(|(cpu, at, ns)| (cpu, at, at + ns)).collect();
        let intervals = said(&world.with_losses(&lost), world.now);
        hold(&world, &intervals)?;
        hold_behind(&world, &intervals)?;
    }
}

/// Some kernels tell nothing of a processor that goes from its idle thread to another.
fn without_ends_of_idling(world: &World, mute: usize) -> Vec<Event> {
    let is_told = |event: &&Event| {
        !(event.cpu as usize == mute && event.tid == 0 && matches!(event.what, What::Switch { .. }))
    };
    world.events.iter().filter(is_told).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn where_ends_of_idling_are_not_told_it_is_right_or_does_not_know(
        steps in prop::collection::vec(step(), 1..120),
        mute in 0..CPUS,
    ) {
        let mut world = world(&steps);
        // Up to the last event of a processor, one that is idle may have been busy.
        (0..CPUS).for_each(|cpu| world.tell(cpu, What::SoftirqExit));
        world.pass(1);
        // Behind whom one waited that went to another queue since is not known.
        hold(&world, &said(&without_ends_of_idling(&world, mute), world.now))?;
    }
}

#[test]
fn a_thread_that_came_from_nowhere_ran_since_the_processor_was_idle_at_most() {
    let waking = What::Waking { tid: FIRST, cpu: 1, context: Context::Thread };
    let events = [
        switched(5, 0, (0, Left::Runnable), 9),
        switched(10, 1, (0, Left::Runnable), FIRST),
        switched(20, 1, (FIRST, Left::Asleep), 0),
        Event { at_ns: 30, cpu: 0, tid: 9, what: waking },
        Event { at_ns: 34, cpu: 1, tid: 0, what: What::SoftirqExit },
        // Processor 1 has gone to the thread; nothing said so.
        switched(50, 1, (FIRST, Left::Asleep), 0),
    ];
    let mut facts = Vec::new();
    let mut machine = Machine::new(0..2);
    machine.follow(FIRST, 0);
    events.iter().for_each(|event| machine.apply(event, &mut |fact| facts.push(fact)));
    let totals = machine.finish(60, &mut |fact| facts.push(fact));
    assert_eq!(totals.untold, BTreeMap::from([(1, 1)]));
    let spans = facts.iter().filter_map(|fact| match fact {
        Fact::Interval(one) => Some((one.from_ns, one.to_ns, one.state == State::Unknown)),
        _ => None,
    });
    let expected = [
        (0, 10, true),
        (10, 20, false),
        (20, 30, false),
        (30, 34, false),
        (34, 50, true),
        (50, 60, false),
    ];
    assert_eq!(spans.collect::<Vec<_>>(), expected);
}

/// Processor 1 is found to hide the end of its idling. Then the thread that it had last is about to be woken at 60.
fn found_out() -> Vec<Event> {
    let waking = |at_ns| Event {
        at_ns,
        cpu: 0,
        tid: 9,
        what: What::Waking { tid: FIRST, cpu: 1, context: Context::Thread },
    };
    vec![
        switched(5, 0, (0, Left::Runnable), 9),
        switched(10, 1, (0, Left::Runnable), FIRST),
        switched(20, 1, (FIRST, Left::Asleep), 0),
        waking(30),
        switched(50, 1, (FIRST, Left::Asleep), 0),
        waking(60),
    ]
}

fn queued(at_ns: u64, (cpu, tid): (u32, u32)) -> Event {
    Event { at_ns, cpu, tid, what: What::Wakeup { tid: FIRST, cpu, is_new: false } }
}

/// Processor 1 may have run its queue's thread at any time since.
#[test]
fn where_idling_may_have_ended_untold_its_queue_is_unknown() {
    let migrate = What::Migrate { tid: FIRST, cpu: 0 };
    let ends = [
        (Event { at_ns: 100, cpu: 0, tid: 0, what: What::Blind }, 62),
        // Its time in the queue of 1 counts up to its own events alone, and so from its beginning.
        (Event { at_ns: 100, cpu: 0, tid: 9, what: migrate }, 60),
        (Event { at_ns: 100, cpu: 0, tid: 9, what: What::SoftirqExit }, 62),
    ];
    for (end, from_ns) in ends {
        let events = [found_out(), vec![queued(62, (1, 0)), end]].concat();
        let last = told(&events, 110).pop().expect("one");
        assert_eq!(
            (last.from_ns, last.to_ns, last.state),
            (from_ns, 110, State::Unknown),
            "{end:?}"
        );
    }
}

/// A thread that is woken elsewhere was never in that queue.
#[test]
fn a_thread_that_is_woken_away_from_such_a_processor_is_known() {
    let migrate = Event { at_ns: 61, cpu: 0, tid: 9, what: What::Migrate { tid: FIRST, cpu: 0 } };
    let events = [found_out(), vec![migrate, queued(62, (0, 9))]].concat();
    let last = told(&events, 110).pop().expect("one");
    assert_eq!((last.from_ns, last.to_ns), (60, 110));
    assert!(matches!(last.state, State::Runnable { cpu: 0, .. }), "{last:?}");
}

#[test]
fn what_woke_a_thread_is_told_and_an_interrupt_is_not_its_victim() {
    let name = |name: &str| Name::new(name.as_bytes());
    let (hog, sleeper) = (99, FIRST);
    let event = |at_ns, tid, what| Event { at_ns, cpu: 0, tid, what };
    let switch = |at_ns, (from, from_name): (u32, &str), left, (next, next_name): (u32, &str)| {
        let (previous_name, next_name) = (name(from_name), name(next_name));
        event(at_ns, from, What::Switch { previous_name, left, next, next_name })
    };
    let waking = |context| What::Waking { tid: sleeper, cpu: 0, context };
    let events = [
        switch(10, (0, "swapper"), Left::Runnable, (sleeper, "s")),
        switch(20, (sleeper, "s"), Left::Asleep, (hog, "hog")),
        // Its time is over while the other runs: the timer wakes it, and it waits for its core.
        event(100, hog, What::LocalEntry(LocalInterrupt::Timer)),
        event(101, hog, waking(Context::Interrupt)),
        event(102, hog, What::LocalExit(LocalInterrupt::Timer)),
        switch(150, (hog, "hog"), Left::Runnable, (sleeper, "s")),
        switch(160, (sleeper, "s"), Left::Uninterruptible, (hog, "hog")),
        event(200, hog, waking(Context::Thread)),
        switch(210, (hog, "hog"), Left::Asleep, (sleeper, "s")),
    ];
    let mut facts = Vec::new();
    let mut machine = Machine::new(0..1);
    machine.follow(sleeper, 0);
    events.iter().for_each(|event| machine.apply(event, &mut |fact| facts.push(fact)));
    machine.finish(220, &mut |fact| facts.push(fact));
    let intervals = facts.into_iter().filter_map(|fact| match fact {
        Fact::Interval(one) => Some(one),
        Fact::Interruption(_) | Fact::Void { .. } => None,
    });
    let intervals: Vec<Interval> = intervals.collect();
    let spans: Vec<(u64, u64)> = intervals.iter().map(|one| (one.from_ns, one.to_ns)).collect();
    let expected =
        [(0, 10), (10, 20), (20, 101), (101, 150), (150, 160), (160, 200), (200, 210), (210, 220)];
    assert_eq!(spans, expected);
    let asleep = |is_uninterruptible, woken| State::Asleep { is_uninterruptible, woken };
    assert_eq!(intervals[2].state, asleep(false, Waker::Timer));
    let waker = Waker::Thread { tid: hog, name: name("hog") };
    assert_eq!(intervals[5].state, asleep(true, waker));
    let State::Runnable { behind, .. } = &intervals[3].state else { panic!("it waited") };
    assert_eq!((behind.occupants[0].tid, behind.occupants[0].ns), (hog, 49));
    assert_eq!(behind.occupants[0].name, name("hog"));
}

#[test]
fn interrupts_belong_to_the_thread_that_they_interrupted() {
    let event = |at_ns, tid, what| Event { at_ns, cpu: 0, tid, what };
    let events = [
        event(10, FIRST, What::SoftirqEntry { vector: 3 }),
        event(12, FIRST, What::InterruptEntry { line: 24 }),
        event(15, FIRST, What::InterruptExit),
        event(19, FIRST, What::SoftirqExit),
        event(20, FIRST, What::SoftirqExit),
        event(21, FIRST, What::Fault { address: 0x7000 }),
        event(30, 4, What::SoftirqEntry { vector: 3 }),
        event(35, 4, What::SoftirqExit),
    ];
    let mut told = Vec::new();
    let mut machine = Machine::new(0..1);
    machine.follow(FIRST, 0);
    for event in &events {
        machine.apply(event, &mut |fact| {
            if let Fact::Interruption(one) = fact {
                told.push((one.from_ns, one.to_ns));
            }
        });
    }
    assert_eq!(told, [(12, 15), (10, 19), (21, 21)]);
}

#[test]
fn a_thread_that_is_made_is_followed_and_one_that_ended_is_not() {
    let event = |at_ns, tid, what| Event { at_ns, cpu: 0, tid, what };
    let ended = What::Switch {
        previous_name: Name::new(b"child"),
        left: Left::Ended,
        next: 0,
        next_name: Name::new(b"swapper"),
    };
    let events = [
        event(5, FIRST, What::Fork { child: 77 }),
        event(6, FIRST, What::Wakeup { tid: 77, cpu: 0, is_new: true }),
        event(8, 77, What::Fault { address: 1 }),
        event(9, 77, ended),
        event(12, 77, What::Fault { address: 1 }),
    ];
    let mut facts = Vec::new();
    let mut machine = Machine::new(0..1);
    machine.follow(FIRST, 0);
    events.iter().for_each(|event| machine.apply(event, &mut |fact| facts.push(fact)));
    let of_child = facts.iter().filter_map(|fact| match fact {
        Fact::Interval(one) if one.tid == 77 => Some((one.from_ns, one.to_ns)),
        Fact::Interruption(one) => Some((one.from_ns, one.from_ns)),
        Fact::Interval(_) | Fact::Void { .. } => None,
    });
    assert_eq!(of_child.collect::<Vec<_>>(), [(5, 6), (6, 8), (8, 8), (8, 9)]);
}

/// What a machine with processors 0 and 1 says of thread `FIRST`, followed from the beginning.
fn told(events: &[Event], end: u64) -> Vec<Interval> {
    let mut facts = Vec::new();
    let mut machine = Machine::new(0..2);
    machine.follow(FIRST, 0);
    events.iter().for_each(|event| machine.apply(event, &mut |fact| facts.push(fact)));
    machine.finish(end, &mut |fact| facts.push(fact));
    let intervals = facts.into_iter().filter_map(|fact| match fact {
        Fact::Interval(one) => Some(one),
        Fact::Interruption(_) | Fact::Void { .. } => None,
    });
    intervals.collect()
}

fn switched(at_ns: u64, cpu: u32, (from, left): (u32, Left), to: u32) -> Event {
    let name = |tid: u32| Name::new(format!("t{tid}").as_bytes());
    let (previous_name, next, next_name) = (name(from), to, name(to));
    Event { at_ns, cpu, tid: from, what: What::Switch { previous_name, left, next, next_name } }
}

#[test]
fn on_a_processor_that_nobody_watches_nothing_is_known() {
    let (sleeper, other) = (FIRST, FIRST + 1);
    let events = [
        Event { at_ns: 5, cpu: 1, tid: 0, what: What::SoftirqExit },
        switched(10, 0, (0, Left::Runnable), sleeper),
        switched(20, 0, (sleeper, Left::Asleep), other),
        // Processor 7 has come online meanwhile, and this thread, which nobody follows, runs there: so may ours.
        Event { at_ns: 50, cpu: 0, tid: other, what: What::Migrate { tid: 99, cpu: 7 } },
        switched(60, 0, (other, Left::Asleep), 0),
        // It is back; that it had slept in between, woken by processor 7 once or more, nobody can tell.
        switched(90, 0, (0, Left::Runnable), sleeper),
        switched(95, 0, (sleeper, Left::Asleep), 0),
    ];
    let states: Vec<_> =
        told(&events, 100).into_iter().map(|one| (one.from_ns, one.to_ns, one.state)).collect();
    let asleep = State::Asleep { is_uninterruptible: false, woken: Waker::Unknown };
    let expected = [
        (0, 10, State::Unknown),
        (10, 20, State::Running { cpu: 0 }),
        (20, 50, asleep),
        (50, 90, State::Unknown),
        (90, 95, State::Running { cpu: 0 }),
        (95, 100, State::Unknown),
    ];
    assert_eq!(states, expected);
}

#[test]
fn a_processor_that_is_gone_has_no_queue() {
    let events = [
        Event { at_ns: 5, cpu: 1, tid: 0, what: What::SoftirqExit },
        switched(10, 0, (0, Left::Runnable), FIRST),
        switched(20, 0, (FIRST, Left::Asleep), 0),
        // It slept since it had been on processor 7, which has gone; it is put elsewhere.
        Event {
            at_ns: 30,
            cpu: 0,
            tid: 0,
            what: What::Waking { tid: FIRST, cpu: 7, context: Context::Thread },
        },
        Event {
            at_ns: 32,
            cpu: 0,
            tid: 0,
            what: What::Wakeup { tid: FIRST, cpu: 1, is_new: false },
        },
        switched(40, 1, (0, Left::Runnable), FIRST),
        switched(50, 1, (FIRST, Left::Asleep), 0),
    ];
    let told = told(&events, 60);
    assert!(matches!(told[3].state, State::Runnable { cpu: 1, .. }), "{told:?}");
    assert_eq!((told[3].from_ns, told[3].to_ns), (30, 40));
    assert!(told[1..].iter().all(|one| one.state != State::Unknown), "{told:?}");
}

#[test]
fn names_come_without_a_switch() {
    let event = |at_ns, what| Event { at_ns, cpu: 0, tid: FIRST, what };
    let name = |name: &str| Name::new(name.as_bytes());
    let events = [
        event(5, What::Rename { tid: FIRST, name: name("server") }),
        event(6, What::Fork { child: 77 }),
        event(7, What::Wakeup { tid: 77, cpu: 1, is_new: true }),
        Event { at_ns: 8, cpu: 1, tid: 77, what: What::SoftirqExit },
    ];
    let told = told(&events, 20);
    let names: Vec<_> = told.iter().map(|one| (one.tid, one.name)).collect();
    assert!(names.contains(&(FIRST, name("server"))), "{names:?}");
    assert!(names.contains(&(77, name("server"))), "called as what made it: {names:?}");
}

#[test]
fn a_stopped_thread_did_not_sleep() {
    let events = [
        Event { at_ns: 5, cpu: 1, tid: 0, what: What::SoftirqExit },
        switched(10, 0, (0, Left::Runnable), FIRST),
        switched(20, 0, (FIRST, Left::Stopped), 0),
        Event {
            at_ns: 30,
            cpu: 1,
            tid: 9,
            what: What::Waking { tid: FIRST, cpu: 0, context: Context::Thread },
        },
    ];
    let told = told(&events, 40);
    let woken = Waker::Thread { tid: 9, name: Name::default() };
    assert_eq!(told[2].state, State::Stopped { woken });
    assert!(matches!(told[3].state, State::Runnable { .. }), "{told:?}");
}
