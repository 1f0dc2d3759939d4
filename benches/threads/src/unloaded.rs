//! What each model costs while there is but one request.

use crate::catalogue::{KINDS, model};
use crate::front::{Failure, Front, check, payload};
use crate::report::{Latency, Machine, Pair, Report, Unloaded, Wake};
use crate::{Verdict, quantile};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::time::Instant;

/// A model with a pool, the one without, and the wake-ups between them: to the pool's thread, and back.
const PAIRS: [(&str, &str); 6] = [
    ("adb:1", "aib"),
    ("sdb:1", "sib"),
    ("aib+1", "aib"),
    ("adb:1+1", "adb:1"),
    ("sib+2", "sib"),
    ("sdb:1+2", "sdb:1"),
];
const WAKES: f64 = 2.0;
/// Cores of a ping-pong. The scheduler puts a woken thread on the waker's core or on another, as it likes.
const NEAR: [usize; 2] = [0, 0];
const FAR: [usize; 2] = [0, 1];
const PART: &str = "unloaded";

pub(crate) fn run(report: &mut Report, rounds: usize, requests: usize) -> Verdict {
    println!("unloaded: {rounds} rounds of {requests} requests to each model, one at a time");
    let front = Front::start(model("aib"), requests)?;
    let mut latencies = KINDS.map(|_| Vec::new());
    let mut wakes = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (wakes, cores) in wakes.iter_mut().zip([NEAR, FAR]) {
            wakes.extend(ping_pong(requests, cores)?);
        }
        for (word, latencies) in KINDS.into_iter().zip(&mut latencies) {
            front.server.set_model(model(word))?;
            latencies.extend(one_at_a_time(&front, requests)?);
        }
    }
    let [near_us, far_us] = wakes.map(|mut wakes| quantile(&mut wakes, 0.5) as f64 / 1e3);
    println!("  a wake-up: {near_us:.1} µs on its core, {far_us:.1} µs from another");
    let wake = Wake { near_us, far_us };
    let models = KINDS.into_iter().zip(&mut latencies).map(|it| latency(it.0, it.1)).collect();
    let (machine, pairs) = (Machine::here(), Vec::new());
    judge(report, Unloaded { machine, rounds, requests, wake, models, pairs });
    Ok(())
}

fn latency(word: &str, latencies: &mut [u64]) -> Latency {
    let [p50_us, p99_us] = [0.5, 0.99].map(|share| quantile(latencies, share) as f64 / 1e3);
    println!("  {word:<8} p50 {p50_us:.1} µs, p99 {p99_us:.1} µs");
    Latency { model: word.into(), p50_us, p99_us }
}

fn judge(report: &mut Report, mut found: Unloaded) {
    report.begin(PART);
    let Wake { near_us, far_us } = found.wake;
    let (least_us, most_us) = (WAKES * near_us * 0.7, WAKES * far_us * 1.3);
    for (with, without) in PAIRS {
        let of = |word: &str| {
            found.models.iter().find(|it| it.model == word).map_or(0.0, |it| it.p50_us)
        };
        let difference_us = of(with) - of(without);
        let said = format!("{difference_us:.1} µs, for {least_us:.1} to {most_us:.1}");
        let goal = format!("`{with}` less `{without}`: two wake-ups within 30 %, near or far");
        report.judge(PART, &goal, said, (least_us..=most_us).contains(&difference_us));
        found.pairs.push(Pair { with: with.into(), without: without.into(), difference_us });
    }
    report.unloaded = Some(found);
}

fn one_at_a_time(front: &Front, requests: usize) -> Result<Vec<u64>, Failure> {
    let ask = |number| {
        let began = Instant::now();
        let answer = front.client.call(1, payload(number)).wait();
        let took = began.elapsed().as_nanos() as u64;
        check(number, answer)?;
        Ok(took)
    };
    (0..requests).map(ask).collect()
}

/// Half the time of each round trip between two threads that sleep in the kernel, each on a core.
fn ping_pong(trips: usize, [here, there]: [usize; 2]) -> Result<Vec<u64>, Failure> {
    let [ping, pong] = [eventfd(0, EventfdFlags::CLOEXEC)?, eventfd(0, EventfdFlags::CLOEXEC)?];
    std::thread::scope(|scope| {
        let answers = || {
            pin(there)?;
            (0..trips).try_for_each(|_| wait(&ping).and_then(|()| ring(&pong)))
        };
        scope.spawn(move || answers().unwrap_or(()));
        let asks = || -> Result<Vec<u64>, Errno> {
            // Of both cores: nobody would answer if the other thread had none.
            [there, here].into_iter().try_for_each(pin)?;
            let mut found = Vec::with_capacity(trips);
            for _ in 0..trips {
                let began = Instant::now();
                ring(&ping)?;
                wait(&pong)?;
                found.push(began.elapsed().as_nanos() as u64 / 2);
            }
            Ok(found)
        };
        // A thread of its own: the caller keeps its cores.
        Ok(scope.spawn(asks).join().map_err(|_| "the ping-pong panicked")??)
    })
}

fn pin(core: usize) -> Result<(), Errno> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores)
}

fn ring(bell: &OwnedFd) -> Result<(), Errno> {
    rustix::io::write(bell, &1_u64.to_ne_bytes()).map(|_| ())
}

fn wait(bell: &OwnedFd) -> Result<(), Errno> {
    rustix::io::read(bell, &mut [0_u8; 8]).map(|_| ())
}
