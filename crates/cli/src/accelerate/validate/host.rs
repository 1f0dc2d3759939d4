//! The host: one core, and the threads of a service that works in one of the designs.

use super::accelerator::{Accelerator, Body, Ends, LANES, Offloaded, Offloads, Stamp, Work};
use super::kernels::{Hand, Input, Kernel, Pool, Side};
use super::used::{Used, early, switches};
use crate::failure::Failure;
use crate::hand_over::{Table, cpu_time};
use crate::tune::Steal;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use tailwater_core::caught;
use tailwater_load::Spinner;
use tailwater_tune::accelerator::Threading;
use tailwater_tune::accelerator::validation::{BlockNoise, TrialBlock};

/// What becomes of a request's kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    /// There is none.
    Nothing,
    /// The host's thread does it, in its own way or by the accelerator's instructions.
    Here(Side),
    /// It is offloaded.
    There(Threading, Offloaded),
    /// An empty offload is described, and its answer taken, for which nothing is waited.
    Described,
}

/// A block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) doing: Doing,
    /// Whether requests have anything beside their kernel.
    pub(super) has_work: bool,
    /// Which size of the pool.
    pub(super) size: usize,
    /// All threads together.
    pub(super) requests: usize,
    /// Host threads: more than one only where they wait and let others run.
    pub(super) threads: usize,
    /// What others take of the accelerator, in percent.
    pub(super) others_percent: u32,
}

/// Where blocks run.
pub(super) struct Host<'h> {
    pub(super) kernel: &'h dyn Kernel,
    pub(super) pool: &'h Pool,
    pub(super) accelerator: &'h dyn Accelerator,
    pub(super) spinner: Spinner,
    pub(super) work: Duration,
    pub(super) core: u32,
    /// Offloads that each lane has had in earlier blocks: the accelerator counts them, too.
    posted: [AtomicUsize; LANES],
}

/// A block, and what the accelerator did for it.
pub(super) struct Ran {
    pub(super) block: TrialBlock,
    /// Mean time of an offload once its data was there, where any was made.
    pub(super) service_ns: Option<f64>,
}

/// One thread's share of a block.
#[derive(Clone, Copy)]
struct Share {
    lane: usize,
    /// Of the lane's offloads, the number of the first.
    first: usize,
    requests: usize,
}

impl<'h> Host<'h> {
    pub(super) fn new(
        (kernel, pool): (&'h dyn Kernel, &'h Pool),
        accelerator: &'h dyn Accelerator,
        (spinner, work): (Spinner, Duration),
        core: u32,
    ) -> Self {
        let posted = std::array::from_fn(|_| AtomicUsize::new(0));
        Self { kernel, pool, accelerator, spinner, work, core, posted }
    }

    /// Runs one block.
    pub(super) fn run(&self, plan: &Plan) -> Result<Ran, Failure> {
        self.accelerator.share_with_others(plan.others_percent);
        self.watched(plan.requests, || self.threads(plan))
    }

    /// Runs a block in which two threads hand the core to each other so many times, and do nothing else.
    pub(super) fn run_switches(&self, switches: usize) -> Result<Ran, Failure> {
        self.accelerator.share_with_others(0);
        self.watched(switches, || self.hand_overs(switches))
    }

    /// What `threads` used, with what disturbed them and what the accelerator did meanwhile.
    fn watched(
        &self,
        count: usize,
        threads: impl FnOnce() -> Result<Used, Failure>,
    ) -> Result<Ran, Failure> {
        if self.accelerator.is_over() {
            return Err(Failure::work("the accelerator has ended early; its core may be gone"));
        }
        let before = self.accelerator.stamp()?;
        let steal = Steal::begin();
        let used = threads()?;
        let steal = steal.until_now();
        let after = self.accelerator.stamp()?;
        let wrong = used.wrong + after.wrong - before.wrong;
        if wrong > 0 {
            return Err(Failure::work(format!(
                "{wrong} of {count} answers are wrong; the kernel's two ways do not agree"
            )));
        }
        let noise = BlockNoise {
            steal,
            host_away: 1.0 - used.cpu.as_secs_f64() / (used.ended - used.began).as_secs_f64(),
            device_away: away(&before, &after),
        };
        let ns_per_request = used.cpu.as_nanos() as f64 / count as f64;
        let switches_per_request = used.switches as f64 / count as f64;
        let served = after.served - before.served;
        let service = (after.service - before.service).as_nanos() as f64;
        Ok(Ran {
            block: TrialBlock { ns_per_request, switches_per_request, noise },
            service_ns: (served > 0).then(|| service / served as f64),
        })
    }

    /// All threads of a block, on the host's core.
    fn threads(&self, plan: &Plan) -> Result<Used, Failure> {
        let (responds, offloads) = match plan.doing {
            Doing::There(threading, _) => (threading == Threading::AsyncDistinct, true),
            _ => (false, false),
        };
        let share = |lane: usize| Share {
            lane,
            first: self.posted[lane].load(Ordering::Relaxed),
            requests: (plan.requests + lane) / plan.threads,
        };
        let shares: Vec<Share> = (0..plan.threads).map(share).collect();
        let start = &Barrier::new(plan.threads + usize::from(responds));
        let ran = std::thread::scope(|scope| {
            let hosts = shares.iter().map(|&share| {
                scope.spawn(move || self.on_core(start, || self.requests(plan, share)))
            });
            let mut threads: Vec<_> = hosts.collect();
            threads.extend(responds.then(|| {
                let share = shares[0];
                scope.spawn(move || self.on_core(start, || self.respond(plan, share)))
            }));
            threads.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        for share in shares.iter().filter(|_| offloads) {
            self.posted[share.lane].fetch_add(share.requests, Ordering::Relaxed);
        }
        let used = ran.into_iter().map(|used| used.map_err(|_| early())?);
        let used = used.collect::<Result<Vec<Used>, Failure>>()?;
        used.into_iter().reduce(Used::and).ok_or_else(early)
    }

    /// Has two threads switch so many times, or once more.
    fn hand_overs(&self, switches: usize) -> Result<Used, Failure> {
        let (table, start) = (&Table::default(), &Barrier::new(2));
        let turns = switches.div_ceil(2);
        let ran = std::thread::scope(|scope| {
            let one = |side: usize| {
                scope.spawn(move || {
                    self.on_core(start, || {
                        // Before the barrier, so that each knows the other.
                        table.sit(side);
                        Box::new(move || {
                            table.play(side, turns, &|| self.accelerator.is_over());
                            0
                        })
                    })
                })
            };
            [one(0), one(1)].map(ScopedJoinHandle::join)
        });
        let used = ran.into_iter().map(|used| used.map_err(|_| early())?);
        let used = used.collect::<Result<Vec<Used>, Failure>>()?;
        used.into_iter().reduce(Used::and).ok_or_else(early)
    }

    /// What `prepare` makes is timed; making it is not.
    pub(super) fn on_core<'b>(
        &self,
        start: &Barrier,
        prepare: impl FnOnce() -> Body<'b>,
    ) -> Result<Used, Failure> {
        let pinned = tailwater_rt::cpu::pin(self.core as usize).map_err(Failure::work);
        let body = pinned.and_then(|()| caught(prepare).map_err(|_| early()));
        // The others wait for this thread, also where it cannot go on.
        start.wait();
        // Then, and where it panics, they are not to wait for its offloads or answers either.
        let gone = Ends(self.accelerator);
        let body = body?;
        // Outside of what is timed: reading it takes longer than a request.
        let switched = switches();
        let (began, before) = (Instant::now(), cpu_time());
        let wrong = body();
        let (cpu, ended) = (cpu_time().saturating_sub(before), Instant::now());
        let switches = switches().saturating_sub(switched);
        std::mem::forget(gone);
        Ok(Used { began, ended, cpu, switches, wrong })
    }

    /// One thread's requests; they tell how many answers were wrong.
    fn requests<'b>(&'b self, plan: &'b Plan, share: Share) -> Body<'b> {
        let work: Work<'b> = match plan.has_work {
            true => Box::new(|| self.spinner.spin(self.work)),
            false => Box::new(|| ()),
        };
        match plan.doing {
            Doing::Nothing => Box::new(move || {
                (0..share.requests).for_each(|_| work());
                0
            }),
            Doing::Here(side) => {
                let input = move |number: usize| self.pool.get(plan.size, number);
                let mut hand = self.kernel.hand(side);
                // The accelerator's has worked before, too: its memory is there.
                hand(&input(0).bytes);
                Box::new(move || here(&mut hand, share.requests, (&*work, &input)))
            }
            Doing::Described => {
                let empty = Offloaded { is_empty: true, hold: Duration::ZERO };
                let offloads = self.offloads(plan, share, (Threading::Async, empty));
                self.accelerator.described(offloads, work)
            }
            Doing::There(threading, offloaded) => {
                let offloads = self.offloads(plan, share, (threading, offloaded));
                self.accelerator.requests(offloads, work)
            }
        }
    }

    /// Takes the answers of all offloads of a lane, on a thread that is woken for them.
    fn respond<'b>(&'b self, plan: &Plan, share: Share) -> Body<'b> {
        match plan.doing {
            Doing::There(threading, offloaded) => {
                self.accelerator.respond(self.offloads(plan, share, (threading, offloaded)))
            }
            _ => Box::new(|| 0),
        }
    }

    fn offloads(
        &self,
        plan: &Plan,
        share: Share,
        (threading, offloaded): (Threading, Offloaded),
    ) -> Offloads<'_> {
        let Share { lane, first, requests } = share;
        let (pool, size) = (self.pool, plan.size);
        Offloads { pool, size, lane, first, count: requests, threading, offloaded }
    }
}

/// The share of time between two stamps that the accelerator's thread did not run.
fn away(before: &Stamp, after: &Stamp) -> f64 {
    let wall = (after.wall - before.wall).as_secs_f64();
    1.0 - (after.cpu.saturating_sub(before.cpu)).as_secs_f64() / wall
}

fn here<'p>(
    hand: &mut Hand<'_>,
    requests: usize,
    (work, input): (&dyn Fn(), &dyn Fn(usize) -> &'p Input),
) -> u64 {
    let one = |number| {
        work();
        let input = input(number);
        u64::from(hand(&input.bytes) != input.answer)
    };
    (0..requests).map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::super::device::Device;
    use super::super::kernels::{Checksum, Flawed};
    use super::*;
    use crate::two_cores;
    use tailwater_tune::accelerator::design::THREADINGS;

    /// More than a lane has slots.
    const REQUESTS: usize = 600;

    fn blocks(kernel: &dyn Kernel, pool: &Pool, others_percent: u32) -> Vec<Result<Ran, Failure>> {
        let (host_core, device_core) = two_cores::two().expect("an affinity").unwrap_or((0, 0));
        let device = &Device::new(Duration::from_nanos(500));
        std::thread::scope(|scope| {
            let _ends = Ends(device);
            scope.spawn(move || {
                let _ = tailwater_rt::cpu::pin(device_core as usize);
                device.serve(kernel.hand(Side::Device), pool);
            });
            let work = (Spinner::of_speed(1.0), Duration::from_micros(2));
            let host = Host::new((kernel, pool), device, work, host_core);
            let run = |(_, threading)| {
                let offloaded = Offloaded { is_empty: false, hold: Duration::from_micros(1) };
                host.run(&Plan {
                    doing: Doing::There(threading, offloaded),
                    has_work: true,
                    size: 0,
                    requests: REQUESTS,
                    threads: if threading == Threading::SyncOs { LANES } else { 1 },
                    others_percent,
                })
            };
            // Twice: slots go on where the last block ended.
            THREADINGS.into_iter().chain(THREADINGS).map(run).collect()
        })
    }

    #[test]
    fn every_design_answers_every_offload_rightly() {
        let kernel = Checksum::new();
        let pool = Pool::new(&kernel, &[512], 5);
        for others_percent in [0, 30] {
            for ran in blocks(&kernel, &pool, others_percent) {
                let ran = ran.expect("right answers");
                let TrialBlock { ns_per_request, .. } = ran.block;
                assert!(ns_per_request > 0.0 && ran.service_ns.is_some_and(|ns| ns >= 1_000.0));
            }
        }
    }

    #[test]
    fn a_wrong_answer_ends_a_block_of_every_design() {
        let sound = Checksum::new();
        let pool = Pool::new(&sound, &[512], 5);
        let flawed = Flawed(Checksum::new(), pool.get(0, 3).answer);
        for ran in blocks(&flawed, &pool, 0) {
            let why = ran.err().expect("noticed").to_string();
            assert!(why.contains("answers are wrong"), "{why}");
        }
    }
}
