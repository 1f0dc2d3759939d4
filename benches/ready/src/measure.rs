//! What is measured: items per second in a closed loop, latency at light load and under load, and the hand-over of a
//! cache line to compare with. Each checks what came out against what went in.

use crate::cores::{Cores, pin};
use crate::handler::Maker;
use crate::mechanism::{Pop, Push, Task};
use crate::report::median;
use std::hint::{black_box, spin_loop};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tailwater_core::Rng;

/// Items, or trips, that are timed together. The median over such slices is that of times in which both ends had
/// their cores: a stall of the machine is in few of them.
const SLICE: u64 = 128;
/// Items that may be outstanding in the closed loop.
const WINDOW: u64 = 32;
/// Items of an open loop, about, or as many as come in a second.
const ITEMS_MIN: f64 = 1_000.0;
/// Items that may be outstanding in an open loop: what a queue has room for.
const OUTSTANDING_MAX: u64 = 64;
/// Pause between two items at light load.
const PAUSE: Duration = Duration::from_micros(3);

#[repr(align(64))]
#[derive(Default)]
struct Line(AtomicU64);

/// What both ends look at besides the mechanism.
#[derive(Default)]
struct Progress {
    done: Line,
    /// How many there are in all, plus one; 0 while that is not known.
    total: Line,
}

/// What was pushed or popped, added up.
#[derive(PartialEq, Eq, Clone, Copy, Default, Debug)]
struct Sums {
    count: u64,
    queues: u64,
    items: u64,
}

impl Sums {
    fn add(&mut self, queue: usize, item: u64) {
        self.count += 1;
        self.queues = self.queues.wrapping_add(queue as u64);
        self.items = self.items.wrapping_add(item);
    }
}

/// Where both ends run, and what both need.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) cores: Cores,
    /// The queues of the items, to be gone through in a circle.
    pub(crate) drawn: &'a [u32],
    pub(crate) window: Duration,
    pub(crate) handler: &'a Maker,
    pub(crate) pollutes: bool,
}

/// Items per second with a fixed number outstanding.
pub(crate) struct Throughput<'a>(pub(crate) Setting<'a>);

impl Task for Throughput<'_> {
    type Output = Result<f64, String>;

    fn run(self, mut push: impl Push, mut pop: impl Pop) -> Self::Output {
        let (Self(setting), progress) = (self, Progress::default());
        let mut handler = setting.handler.handler(setting.pollutes);
        let consume = |sums: &mut Sums, queue, item| {
            handler.handle(sums.count);
            sums.add(queue, item);
        };
        let produce = || {
            let (mut sums, mut known) = (Sums::default(), 0);
            let mut slices = Slices::new();
            for queue in setting.drawn.iter().cycle().map(|queue| *queue as usize) {
                while sums.count - known >= WINDOW {
                    known = progress.done.0.load(Ordering::Acquire);
                    spin_loop();
                }
                if sums.count > 0 && sums.count.is_multiple_of(SLICE) {
                    slices.end();
                    if slices.start.elapsed() >= setting.window {
                        break;
                    }
                }
                push.push(queue, sums.count);
                sums.add(queue, sums.count);
            }
            progress.total.0.store(sums.count + 1, Ordering::SeqCst);
            (sums, slices.median_ns())
        };
        let ((pushed, slice_ns), popped) =
            both(setting.cores, produce, || consumer(&mut pop, &progress, consume))?;
        check(pushed, popped)?;
        Ok(SLICE as f64 * 1e9 / slice_ns)
    }
}

/// Nanoseconds from push to pop, one item at a time, sorted. Each has a read of the clock in it, as [`clock`] measures it.
pub(crate) struct Latency<'a>(pub(crate) Setting<'a>);

impl Task for Latency<'_> {
    type Output = Result<Vec<u64>, String>;

    fn run(self, mut push: impl Push, mut pop: impl Pop) -> Self::Output {
        let (Self(setting), progress) = (self, Progress::default());
        let mut handler = setting.handler.handler(setting.pollutes);
        let origin = Instant::now();
        let now = || origin.elapsed().as_nanos() as u64;
        let mut seen = Vec::with_capacity(1 << 20);
        let consume = |sums: &mut Sums, queue, item| {
            seen.push(now().saturating_sub(item));
            handler.handle(sums.count);
            sums.add(queue, item);
        };
        let produce = || {
            let mut sums = Sums::default();
            for queue in setting.drawn.iter().cycle().map(|queue| *queue as usize) {
                let item = now();
                push.push(queue, item);
                sums.add(queue, item);
                while progress.done.0.load(Ordering::Acquire) < sums.count {
                    spin_loop();
                }
                let next = Instant::now() + PAUSE;
                while Instant::now() < next {
                    spin_loop();
                }
                if origin.elapsed() >= setting.window {
                    break;
                }
            }
            progress.total.0.store(sums.count + 1, Ordering::SeqCst);
            sums
        };
        let (pushed, popped) =
            both(setting.cores, produce, || consumer(&mut pop, &progress, consume))?;
        check(pushed, popped)?;
        seen.sort_unstable();
        Ok(seen)
    }
}

/// Nanoseconds from the intended time of an item to its pop, sorted, where items come by chance at this rate (Poisson).
/// An item that finds too many outstanding is pushed late; that counts.
pub(crate) struct Poisson<'a> {
    pub(crate) setting: Setting<'a>,
    pub(crate) rate_rps: f64,
    pub(crate) seed: u64,
}

impl Task for Poisson<'_> {
    type Output = Result<Vec<u64>, String>;

    fn run(self, mut push: impl Push, mut pop: impl Pop) -> Self::Output {
        let Self { setting, rate_rps, seed } = self;
        let progress = Progress::default();
        let mut handler = setting.handler.handler(setting.pollutes);
        let mut seen = Vec::with_capacity(1 << 20);
        let mut rng = Rng::from_seed(seed);
        let gaps: Vec<u64> =
            (0..1 << 16).map(|_| rng.exponential(1e9 / rate_rps).round() as u64).collect();
        let origin = Instant::now();
        let now = || origin.elapsed().as_nanos() as u64;
        let consume = |sums: &mut Sums, queue, item| {
            seen.push(now().saturating_sub(item));
            handler.handle(sums.count);
            sums.add(queue, item);
        };
        let produce = || {
            let (mut sums, mut intended) = (Sums::default(), now());
            // For as many items as tell a mean, at a low rate, too.
            let long_enough = (ITEMS_MIN / rate_rps).min(1.0) * 1e9;
            let end = intended + (setting.window.as_nanos() as u64).max(long_enough as u64);
            for (queue, gap) in setting.drawn.iter().cycle().zip(gaps.iter().cycle()) {
                intended += gap;
                if intended >= end {
                    break;
                }
                let is_free =
                    || sums.count - progress.done.0.load(Ordering::Acquire) < OUTSTANDING_MAX;
                while now() < intended || !is_free() {
                    spin_loop();
                }
                push.push(*queue as usize, intended);
                sums.add(*queue as usize, intended);
            }
            progress.total.0.store(sums.count + 1, Ordering::SeqCst);
            sums
        };
        let (pushed, popped) =
            both(setting.cores, produce, || consumer(&mut pop, &progress, consume))?;
        check(pushed, popped)?;
        if seen.is_empty() {
            return Err("no item came in the window; make it longer".into());
        }
        seen.sort_unstable();
        Ok(seen)
    }
}

fn consumer(
    pop: &mut impl Pop,
    progress: &Progress,
    mut consume: impl FnMut(&mut Sums, usize, u64),
) -> Sums {
    let mut sums = Sums::default();
    loop {
        if let Some((queue, item)) = pop.pop() {
            consume(&mut sums, queue, item);
            // Tells the producer, in either loop.
            progress.done.0.store(sums.count, Ordering::Release);
        } else if progress.total.0.load(Ordering::SeqCst) == sums.count + 1 {
            return sums;
        } else {
            spin_loop();
        }
    }
}

/// Half of a round trip between the two cores over one cache line, in nanoseconds.
pub(crate) fn hand_over(cores: Cores, rounds: u64) -> Result<f64, String> {
    let line = Line::default();
    let answer = || {
        for round in 0..rounds {
            while line.0.load(Ordering::Acquire) != 2 * round + 1 {
                spin_loop();
            }
            line.0.store(2 * round + 2, Ordering::Release);
        }
    };
    let ask = || {
        let mut slices = Slices::new();
        for round in 0..rounds {
            line.0.store(2 * round + 1, Ordering::Release);
            while line.0.load(Ordering::Acquire) != 2 * round + 2 {
                spin_loop();
            }
            if (round + 1).is_multiple_of(SLICE) {
                slices.end();
            }
        }
        slices.median_ns() / (2 * SLICE) as f64
    };
    both(cores, ask, answer).map(|(ns, ())| ns)
}

/// Nanoseconds that a read of the clock takes on the consumer's core.
pub(crate) fn clock(cores: Cores, reads: u64) -> Result<f64, String> {
    let read = || {
        let mut slices = Slices::new();
        for count in 1..=reads {
            black_box(Instant::now());
            if count.is_multiple_of(SLICE) {
                slices.end();
            }
        }
        slices.median_ns() / SLICE as f64
    };
    both(cores, || (), read).map(|((), ns)| ns)
}

/// How long each slice took.
struct Slices {
    start: Instant,
    last: Instant,
    ns: Vec<f64>,
}

impl Slices {
    fn new() -> Self {
        let now = Instant::now();
        Self { start: now, last: now, ns: Vec::new() }
    }

    fn end(&mut self) {
        let now = Instant::now();
        self.ns.push((now - self.last).as_secs_f64() * 1e9);
        self.last = now;
    }

    fn median_ns(&self) -> f64 {
        median(&self.ns)
    }
}

/// Runs both at once, each on its core. Neither begins unless both are there: it would wait for the other for ever.
fn both<A: Send, B: Send>(
    cores: Cores,
    producer: impl FnOnce() -> A + Send,
    consumer: impl FnOnce() -> B + Send,
) -> Result<(A, B), String> {
    let (met, pinned) = (Barrier::new(2), AtomicU64::new(0));
    let (met, pinned) = (&met, &pinned);
    std::thread::scope(|scope| {
        let producer = scope.spawn(|| begin(cores.producer, met, pinned).map(|()| producer()));
        let consumer = scope.spawn(|| begin(cores.consumer, met, pinned).map(|()| consumer()));
        let producer = producer.join().map_err(|_| "the producer panicked")?;
        let consumer = consumer.join().map_err(|_| "the consumer panicked")?;
        Ok((producer?, consumer?))
    })
}

/// Pins this thread, and waits until the other one has tried as well.
fn begin(core: usize, met: &Barrier, pinned: &AtomicU64) -> Result<(), String> {
    let here = pin(core);
    // The barrier orders it.
    pinned.fetch_add(u64::from(here.is_ok()), Ordering::Relaxed);
    met.wait();
    here?;
    match pinned.load(Ordering::Relaxed) {
        2 => Ok(()),
        _ => Err("the other end has no core".into()),
    }
}

fn check(pushed: Sums, popped: Sums) -> Result<(), String> {
    if pushed == popped {
        return Ok(());
    }
    Err(format!("found {popped:?} popped of {pushed:?} pushed; items were lost or made up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before, the other end spun for ever.
    #[test]
    fn an_end_without_a_core_ends_both() {
        let here = Cores::first_two().map_or(0, |cores| cores.producer);
        let nowhere = rustix::thread::CpuSet::MAX_CPU - 1;
        for cores in [
            Cores { producer: here, consumer: nowhere },
            Cores { producer: nowhere, consumer: here },
        ] {
            let told = hand_over(cores, 1_000).expect_err("there is no such core");
            assert!(told.contains("no core") || told.contains("cannot pin"), "{told}");
        }
    }
}
