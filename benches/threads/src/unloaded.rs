//! What each model costs while there is but one request.

use crate::alone::{Alone, calls};
use crate::catalogue::{KINDS, model};
use crate::counts::{Counts, counted};
use crate::front::{Failure, Front, check, payload};
use crate::hand_over::hand_overs;
use crate::report::{Counted, Difference, Latency, Pair, Report, Unloaded};
use crate::{Verdict, quantile};
use machine::Origin;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeMap;
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
const PART: &str = "unloaded";

/// What a model's requests took, and those of its threads alone.
type Taken = [Vec<u64>; 2];

pub(crate) fn run(report: &mut Report, rounds: usize, requests: usize) -> Verdict {
    println!("unloaded: {rounds} rounds of {requests} requests to each model, one at a time");
    let origin = Origin::now();
    let mut latencies = KINDS.map(|_| Vec::new());
    let front = Front::start(model("aib"), requests)?;
    for _ in 0..rounds {
        for (word, latencies) in KINDS.into_iter().zip(&mut latencies) {
            front.server.set_model(model(word))?;
            latencies.extend(one_at_a_time(&front, requests)?);
        }
    }
    drop(front);
    let models = KINDS.into_iter().zip(&mut latencies).map(|it| latency(it.0, it.1)).collect();
    let pairs = std::thread::scope(|scope| {
        // What it starts inherits its core.
        let on_one_core = || on_one_core(rounds, requests).map_err(|error| error.to_string());
        scope.spawn(on_one_core).join().map_err(|_| "a thread panicked")
    })?;
    let (Bare { wake_us, hand_over_us, call_us }, counts, pairs) = pairs?;
    let found = Unloaded {
        origin,
        rounds,
        requests,
        wake_us,
        hand_over_us,
        call_us,
        counts,
        models,
        pairs,
    };
    judge(report, found);
    Ok(())
}

fn latency(word: &str, latencies: &mut [u64]) -> Latency {
    let [p50_us, p99_us] = [0.5, 0.99].map(|share| quantile(latencies, share) as f64 / 1e3);
    println!("  {word:<8} p50 {p50_us:.1} µs, p99 {p99_us:.1} µs");
    Latency { model: word.into(), p50_us, p99_us }
}

/// What pools are held against.
struct Bare {
    /// Half a ping-pong of two threads that sleep in a read.
    wake_us: f64,
    /// The same with a queue and a poller: see `hand_over.rs`.
    hand_over_us: f64,
    call_us: f64,
}

/// All without a server, and what pools add, in µs. Client, front and leaves have one core, as the ping-pong has: elsewhere the
/// scheduler wakes threads on this core or on another, which cost by the dozen times.
fn on_one_core(rounds: usize, requests: usize) -> Result<(Bare, Vec<Counted>, Vec<Pair>), Failure> {
    let allowed = sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|&core| allowed.is_set(core)).ok_or("no core")?;
    let mut core = CpuSet::new();
    core.set(first);
    sched_setaffinity(None, &core)?;
    let front = Front::start(model("aib"), requests)?;
    let alone = all_alone()?;
    let (mut wakes, mut handed, mut called) = (Vec::new(), Vec::new(), Vec::new());
    let mut taken = PAIRS.map(|_| [Taken::default(), Taken::default()]);
    for _ in 0..rounds {
        wakes.extend(ping_pong(requests)?);
        handed.extend(hand_overs(requests)?);
        called.extend(calls(requests)?);
        for ((with, without), taken) in PAIRS.into_iter().zip(&mut taken) {
            for (word, [ours, theirs]) in [with, without].into_iter().zip(taken) {
                front.server.set_model(model(word))?;
                ours.extend(one_at_a_time(&front, requests)?);
                theirs.extend(alone[word].one_at_a_time(requests)?);
            }
        }
    }
    let counts = alone.iter().map(|(word, alone)| counts_of(word, &front, alone, requests));
    let counts = counts.collect::<Result<Vec<_>, _>>()?;
    let [wake_us, hand_over_us, call_us] = [wakes, handed, called].map(|mut it| median_us(&mut it));
    println!(
        "  on one core: a wake-up {wake_us:.1} µs, a hand-over {hand_over_us:.1} µs, \
         a system call {call_us:.2} µs"
    );
    let pair = |((with, without), [more, less]): ((&str, &str), &mut [Taken; 2])| {
        let differences: Vec<_> = more
            .iter_mut()
            .zip(less)
            .map(|(more, less)| median_us(more) - median_us(less))
            .collect();
        Pair {
            with: with.into(),
            without: without.into(),
            difference_us: differences[0],
            expected_us: WAKES * wake_us,
            alone: difference(differences[1], [with, without].map(|word| alone_in(&counts, word))),
        }
    };
    let pairs = PAIRS.into_iter().zip(&mut taken).map(pair).collect();
    Ok((Bare { wake_us, hand_over_us, call_us }, counts, pairs))
}

fn median_us(of: &mut [u64]) -> f64 {
    quantile(of, 0.5) as f64 / 1e3
}

/// The threads of each model that stands in a pair.
fn all_alone() -> Result<BTreeMap<&'static str, Alone>, Failure> {
    let mut all = BTreeMap::new();
    for word in PAIRS.into_iter().flat_map(|(with, without)| [with, without]) {
        if !all.contains_key(word) {
            all.insert(word, Alone::start(model(word))?);
        }
    }
    Ok(all)
}

/// Of a model and of its threads alone.
fn counts_of(
    word: &str,
    front: &Front,
    alone: &Alone,
    requests: usize,
) -> Result<Counted, Failure> {
    front.server.set_model(model(word))?;
    one_at_a_time(front, requests)?;
    let ours = counted(requests, || one_at_a_time(front, requests).map(drop))?;
    let alone = counted(requests, || alone.one_at_a_time(requests).map(drop))?;
    let said = |Counts { calls, by_name, switches }: &Counts| {
        let names = by_name.iter().map(|(name, count)| format!("{name} {count:.1}"));
        let names = names.collect::<Vec<_>>().join(", ");
        format!("{:.1} calls ({names}), {switches:.1} switches", calls.unwrap_or(f64::NAN))
    };
    println!("  {word:<8} {}\n  {:<8} {}", said(&ours), "alone", said(&alone));
    Ok(Counted { model: word.into(), ours, alone })
}

fn alone_in<'a>(counts: &'a [Counted], word: &str) -> Option<&'a Counts> {
    counts.iter().find(|counted| counted.model == word).map(|counted| &counted.alone)
}

fn difference(us: f64, [more, less]: [Option<&Counts>; 2]) -> Difference {
    let Some((more, less)) = more.zip(less) else {
        return Difference { us, ..Difference::default() };
    };
    let calls = more.calls.zip(less.calls).map(|(more, less)| more - less);
    Difference { us, calls, switches: more.switches - less.switches }
}

fn judge(report: &mut Report, found: Unloaded) {
    report.begin(PART);
    for Pair { with, without, difference_us, expected_us, .. } in &found.pairs {
        let ratio = difference_us / expected_us;
        let said = format!("{difference_us:.1} µs, {ratio:.2} × two wake-ups");
        let goal = format!("`{with}` less `{without}` on one core: two wake-ups within 30 %");
        report.judge(PART, &goal, said, (ratio - 1.0).abs() <= 0.3);
    }
    // Not promised beforehand: how much of it is the hand-over itself.
    for Pair { with, without, difference_us, .. } in &found.pairs {
        let ratio = difference_us / (WAKES * found.hand_over_us);
        let goal = format!("`{with}` less `{without}` on one core: two hand-overs within 30 %");
        let said = format!("{difference_us:.1} µs, {ratio:.2} × two hand-overs");
        report.judge(PART, &goal, said, (ratio - 1.0).abs() <= 0.3);
    }
    // As little: what of it is the kernel's.
    for Pair { with, without, difference_us, alone, .. } in &found.pairs {
        let Difference { us, calls, switches } = *alone;
        let ratio = difference_us / us;
        let goal = format!("`{with}` less `{without}` on one core: its threads alone within 30 %");
        let parts = calls.map_or_else(String::new, |calls| {
            let call = found.call_us;
            let switch = (us - calls * call) / switches;
            format!(": {calls:.0} calls of {call:.2}, {switches:.0} switches of {switch:.2}")
        });
        let said = format!("{difference_us:.1} µs, {ratio:.2} × {us:.1} µs{parts}");
        report.judge(PART, &goal, said, (ratio - 1.0).abs() <= 0.3);
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

/// Half the time of each round trip between two threads that sleep in the kernel.
fn ping_pong(trips: usize) -> Result<Vec<u64>, Failure> {
    let [there, back] = [eventfd(0, EventfdFlags::CLOEXEC)?, eventfd(0, EventfdFlags::CLOEXEC)?];
    let mut found = Vec::with_capacity(trips);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..trips).for_each(|_| wait(&there).and_then(|()| ring(&back)).unwrap_or(()));
        });
        for _ in 0..trips {
            let began = Instant::now();
            ring(&there)?;
            wait(&back)?;
            found.push(began.elapsed().as_nanos() as u64 / 2);
        }
        Ok(found)
    })
}

fn ring(bell: &OwnedFd) -> Result<(), Errno> {
    rustix::io::write(bell, &1_u64.to_ne_bytes()).map(|_| ())
}

fn wait(bell: &OwnedFd) -> Result<(), Errno> {
    rustix::io::read(bell, &mut [0_u8; 8]).map(|_| ())
}
