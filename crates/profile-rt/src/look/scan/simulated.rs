//! A thread that calls and returns at random, store by store, under a scanner whose every load comes
//! at a time of its own: whatever the scanner says must be true.

use super::pace::{Costs, Pace, WHOLE};
use super::{Ended, Gaps, Glimpse, Head, Probe, ThreadScan, Watch, Window};
use crate::memory::abi::What;
use proptest::prelude::*;
use std::collections::HashMap;
use tailwater_profile::record::{CallFlags, Ticks};

/// One store of the simulated thread.
#[derive(Clone, Copy, Debug)]
enum Store {
    Counter(u64),
    Desc(usize, u64),
    Generation(usize, u64),
    Depth(u32),
}

/// What really happened.
#[derive(Clone, Copy, Debug)]
struct Truth {
    desc: u64,
    parent: u64,
    depth: u32,
    start: Ticks,
    end: Option<Ticks>,
}

/// A script of calls: how each step goes on, and how long it takes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Call {
        desc: u64,
        work: u16,
    },
    Return {
        work: u16,
    },
    /// A long jump, or an exception without landing pads.
    Unwind {
        frames: u8,
        work: u16,
    },
    /// A long leaf.
    Rest {
        work: u32,
    },
}

/// Each function is called from one place here.
fn what_of(desc: u64) -> What {
    What { desc, site: (desc as u16).wrapping_mul(0x1234), is_clocked: false }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..9u64, 0..40u16).prop_map(|(desc, work)| Step::Call { desc, work }),
        5 => (0..40u16).prop_map(|work| Step::Return { work }),
        1 => (1..6u8, 0..40u16).prop_map(|(frames, work)| Step::Unwind { frames, work }),
        1 => (0..5000u32).prop_map(|work| Step::Rest { work }),
    ]
}

struct World {
    stores: Vec<(Ticks, Store)>,
    truth: HashMap<u64, Truth>,
    end: Ticks,
    /// A store may be seen so much later, in the order of all stores.
    delay: Ticks,
}

impl World {
    fn of(script: &[Step]) -> Self {
        let mut world = Self { stores: Vec::new(), truth: HashMap::new(), end: 1000, delay: 0 };
        let (mut stack, mut counter): (Vec<u64>, u64) = (Vec::new(), 0);
        for step in script {
            match *step {
                Step::Call { desc, work } => {
                    counter += 1;
                    world.push(&mut stack, counter, desc);
                    world.end += u64::from(work);
                }
                Step::Return { work } => {
                    world.pop(&mut stack, 1);
                    world.end += u64::from(work);
                }
                Step::Unwind { frames, work } => {
                    world.pop(&mut stack, usize::from(frames));
                    world.end += u64::from(work);
                }
                Step::Rest { work } => world.end += u64::from(work),
            }
        }
        world
    }

    fn push(&mut self, stack: &mut Vec<u64>, generation: u64, desc: u64) {
        let depth = stack.len();
        let parent = stack.last().map_or(0, |below| self.truth[below].desc);
        let start = self.store(Store::Counter(generation));
        self.store(Store::Desc(depth, desc));
        self.store(Store::Generation(depth, generation));
        self.store(Store::Depth(depth as u32 + 1));
        stack.push(generation);
        let truth = Truth { desc, parent, depth: depth as u32, start, end: None };
        self.truth.insert(generation, truth);
    }

    fn pop(&mut self, stack: &mut Vec<u64>, frames: usize) {
        let left = stack.len().saturating_sub(frames);
        if left == stack.len() {
            return;
        }
        let at = self.store(Store::Depth(left as u32));
        for generation in stack.drain(left..) {
            self.truth.get_mut(&generation).expect("it was pushed").end = Some(at);
        }
    }

    fn store(&mut self, store: Store) -> Ticks {
        self.end += 3;
        self.stores.push((self.end, store));
        self.end
    }

    /// The store of this number, once it may be seen at `time`; those before it were.
    fn seen_at(&self, time: Ticks, number: usize) -> Option<&Store> {
        let (at, store) = self.stores.get(number)?;
        let delay = (number as u64).wrapping_mul(7919) % (self.delay + 1);
        (at + delay <= time).then_some(store)
    }
}

/// Sees the world at its own time.
struct Eye<'a> {
    world: &'a World,
    next: usize,
    time: Ticks,
    head: Head,
    frames: Vec<Glimpse>,
    delays: std::iter::Cycle<std::slice::Iter<'a, u16>>,
}

impl<'a> Eye<'a> {
    fn new(world: &'a World, delays: &'a [u16]) -> Self {
        let frames = vec![Glimpse { what: What::default(), generation: 0 }; 4096];
        let delays = delays.iter().cycle();
        Self { world, next: 0, time: 900, head: Head::default(), frames, delays }
    }

    /// Time goes by before each load, and the thread goes on meanwhile.
    fn load(&mut self) {
        self.time += u64::from(*self.delays.next().expect("a cycle"));
        while let Some(store) = self.world.seen_at(self.time, self.next) {
            match *store {
                Store::Counter(generation) => self.head.generation = generation,
                Store::Desc(depth, desc) => self.frames[depth].what = what_of(desc),
                Store::Generation(depth, generation) => self.frames[depth].generation = generation,
                Store::Depth(depth) => self.head.depth = depth,
            }
            self.next += 1;
        }
    }
}

impl Probe for Eye<'_> {
    fn now(&mut self) -> Ticks {
        self.load();
        self.time
    }

    fn head(&mut self) -> Head {
        self.load();
        let depth = self.head.depth;
        self.load();
        Head { depth, generation: self.head.generation }
    }

    fn frame(&mut self, index: u32) -> Glimpse {
        self.load();
        let what = self.frames[index as usize].what;
        self.load();
        Glimpse { what, generation: self.frames[index as usize].generation }
    }

    fn generation(&mut self, index: u32) -> u64 {
        self.load();
        self.frames[index as usize].generation
    }
}

const COSTS: Costs = Costs { head: 30, change: 20, line: 15 };
const PACE: Pace = Pace { costs: COSTS, budget: WHOLE, settle: 5, force: 300 };
const GAP: Ticks = 500;
/// Before anything happens in any world.
const DAWN: Ticks = 0;

/// Scans the world from `begin` to its end.
fn scan(world: &World, delays: &[u16], pace: &Pace, begin: Ticks) -> Vec<Ended> {
    let (mut eye, mut gaps, mut out) = (Eye::new(world, delays), Gaps::new(GAP), Vec::new());
    eye.time = begin;
    let mut now = begin;
    let generation = eye.head().generation;
    let began = Window { from: now, to: now };
    let mut watch = Watch::new(generation, began, world.delay, now);
    while now < world.end {
        if watch.is_due(now) {
            now = watch.turn(pace, 0, now, &mut eye, &mut gaps, &mut out);
        } else {
            let after = eye.now();
            gaps.note(now, after);
            now = after;
        }
    }
    watch.scan.stop(now, &mut out);
    assert_eq!(watch.scan.take_mixed(), 0, "there is one machine stack");
    out
}

/// Every call that is told of has taken place as told.
fn check(world: &World, told: &[Ended]) {
    let mut seen = std::collections::HashSet::new();
    for call in told {
        let truth = world.truth.get(&call.generation).expect("a call that took place");
        assert!(seen.insert(call.generation), "told twice: {call:?}");
        let fact = (truth.desc, truth.parent, truth.depth);
        assert_eq!((call.what.desc, call.parent, call.depth), fact, "{call:?} was {truth:?}");
        assert_eq!(call.what, what_of(truth.desc), "the place goes with the function");
        let Window { from, to } = call.start;
        let before = call.flags & CallFlags::STARTED_BEFORE != 0;
        let right = before || (from <= truth.start && truth.start <= to);
        assert!(right, "start of {call:?} was {truth:?}");
        if call.flags & CallFlags::UNFINISHED == 0 {
            let end = truth.end.expect("told as ended");
            let Window { from, to } = call.end;
            assert!(from <= end && end <= to, "end of {call:?} was {truth:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_told_is_true(
        script in prop::collection::vec(step(), 1..400),
        delays in prop::collection::vec(prop_oneof![20 => 1..8u16, 4 => 8..60u16, 1 => 60..2000u16], 1..200),
        begin in prop_oneof![Just(DAWN), 1000..9000u64],
        delay in prop_oneof![Just(0u64), 1..500u64],
    ) {
        let world = World { delay, ..World::of(&script) };
        check(&world, &scan(&world, &delays, &PACE, begin));
    }

    #[test]
    fn a_small_budget_tells_less_and_no_untruth(
        script in prop::collection::vec(step(), 1..400),
        delays in prop::collection::vec(1..20u16, 1..50),
    ) {
        let world = World::of(&script);
        check(&world, &scan(&world, &delays, &Pace { budget: WHOLE / 20, ..PACE }, DAWN));
    }

    #[test]
    fn long_calls_are_found_with_an_eye_that_never_blinks(
        script in prop::collection::vec(step(), 1..400),
    ) {
        let world = World::of(&script);
        let told = scan(&world, &[1, 2, 1], &PACE, DAWN);
        check(&world, &told);
        let found: std::collections::HashSet<u64> = told.iter().map(|c| c.generation).collect();
        for (generation, truth) in &world.truth {
            let end = truth.end.unwrap_or(world.end);
            let long = end - truth.start > 20 * PACE.force;
            prop_assert!(!long || found.contains(generation), "{generation} was lost: {truth:?}");
        }
    }
}

#[test]
fn a_scanner_that_sleeps_flags_what_it_missed() {
    // One call ends, and another begins, while nobody looks for 60,000 ticks; a third spans it.
    let script = [
        Step::Call { desc: 1, work: 2000 },
        Step::Call { desc: 2, work: 3000 },
        Step::Return { work: 0 },
        Step::Call { desc: 3, work: 0 },
        Step::Rest { work: 60_000 },
        Step::Return { work: 2000 },
        Step::Return { work: 2000 },
    ];
    let world = World::of(&script);
    let delays: Vec<u16> = std::iter::repeat_n(5, 800)
        .chain([20_000])
        .chain(std::iter::repeat_n(5, 100_000))
        .collect();
    let told = scan(&world, &delays, &PACE, DAWN);
    check(&world, &told);
    let flags: HashMap<u64, bool> =
        told.iter().map(|call| (call.what.desc, call.flags & CallFlags::GAP != 0)).collect();
    assert_eq!(flags, HashMap::from([(1, false), (2, true), (3, true)]));
}

#[test]
fn a_frame_that_is_half_written_when_it_is_read_has_not_the_function_of_the_one_before() {
    let script = [
        Step::Call { desc: 3, work: 100 },
        Step::Return { work: 0 },
        Step::Call { desc: 8, work: 0 },
        Step::Rest { work: 1000 },
    ];
    let world = World::of(&script);
    // The second head has the first call's position and the second call's counter. Of the entry, the function is read
    // before the second call stores it and the generation after that.
    let (glimpse, head, entry) = ([50, 0, 0], [64, 5, 1], [0, 5]);
    let (middle, last, again) = ([0], [5, 0, 0], [0]);
    let delays = [&glimpse[..], &head, &entry, &middle, &last, &again].concat();
    let mut eye = Eye { time: 1000, ..Eye::new(&world, &delays) };
    let (mut gaps, mut told) = (Gaps::new(GAP), Vec::new());
    let mut scan = ThreadScan::new(0, Window { from: DAWN, to: DAWN }, world.delay);
    let (now, _) = scan.glimpse(1000, &mut eye, &mut gaps, &mut told);
    let (now, _) = scan.walk(now, &mut eye, &mut gaps, &mut told);
    assert_eq!(eye.head, Head { depth: 1, generation: 2 }, "the second call is under way");
    scan.stop(now, &mut told);
    check(&world, &told);
}

/// Windows that overlap had their middles in the wrong order, and the end was told where it had not been.
#[test]
fn what_a_thread_leaves_behind_has_begun_before_it_went() {
    let world = World::of(&[Step::Call { desc: 1, work: 0 }]);
    let (went, began) = (world.end + 3, world.truth[&1].start);
    // The only look comes long after.
    let mut eye = Eye { time: 6000, ..Eye::new(&world, &[1]) };
    let (mut gaps, mut told) = (Gaps::new(GAP), Vec::new());
    let mut scan = ThreadScan::new(0, Window { from: DAWN, to: DAWN }, world.delay);
    let (now, _) = scan.glimpse(1000, &mut eye, &mut gaps, &mut told);
    scan.walk(now, &mut eye, &mut gaps, &mut told);
    scan.end(went, eye.head(), &gaps, &mut told);
    let [Ended { start, end, .. }] = told[..] else { panic!("one call: {told:?}") };
    assert!(start.from <= began && began <= start.to && start.to <= went, "{start:?}");
    assert_eq!(end.to, went);
    let ([start, _], [end, _]) = ([start, end].map(|window| window.middle().0), [went; 2]);
    assert!(start <= end);
}

#[test]
fn exact_times_of_a_quiet_program() {
    let script = [
        Step::Call { desc: 1, work: 1000 },
        Step::Call { desc: 2, work: 1000 },
        Step::Return { work: 1000 },
        Step::Return { work: 1000 },
    ];
    let world = World::of(&script);
    let told = scan(&world, &[1], &PACE, DAWN);
    check(&world, &told);
    let calls: Vec<_> = told.iter().map(|c| (c.what.desc, c.parent, c.depth, c.flags)).collect();
    assert_eq!(calls, [(2, 1, 1, 0), (1, 0, 0, 0)]);
    assert!(told.iter().all(|c| c.start.to - c.start.from < 40 && c.end.to - c.end.from < 40));
}

#[test]
fn looks_that_found_a_call_after_its_end_do_not_bound_it() {
    let script = [
        Step::Call { desc: 1, work: 1000 },
        Step::Call { desc: 2, work: 1000 },
        Step::Return { work: 1000 },
        Step::Return { work: 1000 },
    ];
    let world = World { delay: 300, ..World::of(&script) };
    let told = scan(&world, &[1], &PACE, DAWN);
    check(&world, &told);
    assert_eq!(told.len(), 2);
    for call in told {
        let last_found = call.end.from + world.delay;
        let end = world.truth[&call.generation].end.expect("it has ended");
        assert!(last_found > end, "{call:?} was gone at {end}");
    }
}
