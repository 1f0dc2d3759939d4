//! The honest client: ten of tailwater's own, each with its own Poisson schedule.
//!
//! Its threads have real-time priority on the attacker's core. What they measure is the server's delay, and
//! not their wait for the attacker's time slice to end.

use crate::machine;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tailwater_core::Rng;
use tailwater_rt::Address;
use tailwater_rt::client::{CallFuture, CallOptions, Client};

const CLIENTS: u32 = 10;
/// Requests per second of all together: with `MEAN`, a quarter of what core 0 can do.
const RATE: f64 = 5_000.0;
/// Mean of the exponential service times.
const MEAN: Duration = Duration::from_micros(50);
/// The server's objective; an answer counts when it comes within it.
const SLO: Duration = Duration::from_millis(20);
/// Computes for as long as its first four bytes say, in nanoseconds.
const SPIN: u16 = 2;
/// The p99 is taken in slices of some 500 calls. The host takes a core away for milliseconds now and then. This
/// decides about the p99 of a whole window, and hits a minority of slices.
const SLICE: Duration = Duration::from_millis(100);
/// Beside the attacker; the server has core 0 alone.
const CORE: usize = 1;

/// How long it calls.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// Before anything counts. The first half is for connections.
    pub(crate) warm_up: Duration,
    pub(crate) window: Duration,
}

/// When it begins to call, when calls begin to count, and when it ends.
#[derive(Clone, Copy)]
struct Course {
    first: Instant,
    begin: Instant,
    end: Instant,
}

impl Course {
    fn from_now(span: Span) -> Self {
        let begin = Instant::now() + span.warm_up;
        Self { first: begin - span.warm_up / 2, begin, end: begin + span.window }
    }
}

/// What the honest client saw.
pub(crate) struct Honest {
    pub(crate) goodput_rps: f64,
    pub(crate) offered_rps: f64,
    /// The median of the slices' p99.
    pub(crate) p99_us: f64,
    /// The p99 of the whole window.
    pub(crate) whole_p99_us: f64,
}

/// The latency of each call of the window by its place in the window; `None` where it failed.
type Latencies = Vec<(Duration, Option<Duration>)>;

/// One call: when it was to be made, its argument, and what will come of it.
type Made = (Instant, [u8; 8], CallFuture);

/// Calls for the warm-up and then for the window.
pub(crate) fn run(server: SocketAddr, span: Span) -> Result<Honest, String> {
    let course = Course::from_now(span);
    let threads: Result<Vec<_>, String> =
        (0..CLIENTS).map(|number| start(server, number, course)).collect();
    let mut latencies = Vec::new();
    for thread in threads? {
        let mut found = thread.join().map_err(|_| "an honest client panicked".to_owned())??;
        latencies.append(&mut found);
    }
    Ok(summary(latencies, span.window))
}

/// A client's thread.
fn start(
    server: SocketAddr,
    number: u32,
    course: Course,
) -> Result<JoinHandle<Result<Latencies, String>>, String> {
    std::thread::Builder::new()
        .name("honest".into())
        .spawn(move || {
            machine::pin(CORE)?;
            // The client's own threads inherit both.
            machine::put_first()?;
            call(server, number, course)
        })
        .map_err(|error| error.to_string())
}

fn call(server: SocketAddr, number: u32, course: Course) -> Result<Latencies, String> {
    let client = Client::connect(Address::Tcp(server)).map_err(|error| error.to_string())?;
    let (made, making) = channel();
    let waiter = std::thread::Builder::new()
        .spawn(move || wait(&making, course.begin))
        .map_err(|error| error.to_string())?;
    keep_schedule(&client, number, course, &made);
    drop(made);
    waiter.join().map_err(|_| "an honest client's waiter panicked".to_owned())?
}

/// Makes each call at its time, or as soon after as it can.
fn keep_schedule(client: &Client, number: u32, course: Course, made: &Sender<Made>) {
    let mut rng = Rng::from_seed(u64::from(number));
    let gap = f64::from(CLIENTS) / RATE;
    // So that its first answer is there before the schedule begins to count.
    let mut at = course.first;
    while at < course.end {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        let service = Duration::from_secs_f64(rng.exponential(MEAN.as_secs_f64()));
        let argument = argument(service, rng.below(u32::MAX));
        let options = CallOptions { deadline: SLO, ..CallOptions::default() };
        let call = client.call_with(SPIN, argument, options);
        if made.send((at, argument, call)).is_err() {
            // The waiter has failed, and says why.
            return;
        }
        at += Duration::from_secs_f64(rng.exponential(gap));
    }
}

/// Waits for each call in its turn: a server answers one client in the order of its calls.
fn wait(making: &Receiver<Made>, begin: Instant) -> Result<Latencies, String> {
    let mut latencies = Vec::new();
    for (at, argument, call) in making {
        let answered = match call.wait() {
            Ok(answer) if answer.payload == argument => Some(at.elapsed()),
            Ok(answer) => return Err(format!("{argument:?} was answered by {answer:?}")),
            Err(_) => None,
        };
        if at >= begin {
            latencies.push((at - begin, answered));
        }
    }
    Ok(latencies)
}

/// The service time and a tag; the answer repeats both.
fn argument(service: Duration, tag: u32) -> [u8; 8] {
    let service_ns = u32::try_from(service.as_nanos()).unwrap_or(u32::MAX);
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&service_ns.to_le_bytes());
    bytes[4..].copy_from_slice(&tag.to_le_bytes());
    bytes
}

/// A call that failed has a latency of the whole objective, at which it was given up.
fn summary(latencies: Latencies, window: Duration) -> Honest {
    let offered = latencies.len();
    let all: Vec<(Duration, Duration)> =
        latencies.into_iter().map(|(at, latency)| (at, latency.unwrap_or(SLO).min(SLO))).collect();
    let good = all.iter().filter(|(_, latency)| *latency < SLO).count();
    let mut slices: Vec<Vec<Duration>> = Vec::new();
    for &(at, latency) in &all {
        let number = (at.as_nanos() / SLICE.as_nanos()) as usize;
        slices.resize_with(slices.len().max(number + 1), Vec::new);
        slices[number].push(latency);
    }
    let typical = slices.into_iter().map(|slice| quantile(slice, 0.99)).collect();
    Honest {
        goodput_rps: good as f64 / window.as_secs_f64(),
        offered_rps: offered as f64 / window.as_secs_f64(),
        p99_us: quantile(typical, 0.5).as_secs_f64() * 1e6,
        whole_p99_us: quantile(all.into_iter().map(|(_, latency)| latency).collect(), 0.99)
            .as_secs_f64()
            * 1e6,
    }
}

fn quantile(mut latencies: Vec<Duration>, share: f64) -> Duration {
    latencies.sort_unstable();
    let index = (latencies.len() as f64 * share) as usize;
    latencies.get(index).copied().unwrap_or(SLO)
}
