//! The model changes at random while requests come.

use crate::answers::ask as ask_closed;
use crate::catalogue::{KINDS, all, draw, model};
use crate::front::{Failure, Front};
use crate::report::{Latency, Report, Switches};
use crate::waits::Waits;
use crate::{Verdict, open_loop, quantile};
use machine::Origin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tailwater::Model;
use tailwater_core::Rng;

/// Mean time between two changes.
const GAP: Duration = Duration::from_millis(2);
const ADOPTION_MAX: Duration = Duration::from_millis(1);
const P99_RATIO_MAX: f64 = 2.0;
const PART: &str = "switches";

pub(crate) fn run(report: &mut Report, switches: usize, short: bool) -> Verdict {
    let (origin, models) = (Origin::now(), all());
    let slowest = capacity(if short { 20 } else { 300 })?;
    let rate = slowest / 2.0;
    let window = GAP * switches as u32;
    let each = (rate * window.as_secs_f64()) as usize;
    println!(
        "switches: {switches} in {window:?} among {} models, {rate:.0} requests/s: half of what the slowest can",
        models.len()
    );
    let front = Front::start(model("aib"), 3 * each)?;
    let rng = Rng::from_seed(15);
    let mut steady = in_turns(&front, &models, 0..each, rate, &mut rng.split("before"))?;
    let (mut changing, Adoptions { mut all, mut with_core }) =
        while_changing(&front, &models, each..2 * each, rate, switches, &rng)?;
    steady.extend(in_turns(&front, &models, 2 * each..3 * each, rate, &mut rng.split("after"))?);
    let (none, more) = front.miscarried();
    println!("  {} requests: {none} not carried out, {more} twice, all answers right", 3 * each);
    if (none, more) != (0, 0) {
        return Err("a request was not carried out once".into());
    }
    let [followed_p50_us, followed_p95_us, followed_max_us] =
        [0.5, 0.95, 1.0].map(|share| quantile(&mut all, share) as f64 / 1e3);
    let [with_core_p50_us, with_core_p95_us, with_core_max_us] =
        [0.5, 0.95, 1.0].map(|share| quantile(&mut with_core, share) as f64 / 1e3);
    let found = Switches {
        origin,
        switches,
        models: models.len(),
        rate_rps: rate,
        requests: 3 * each,
        not_carried_out: none,
        carried_out_twice: more,
        held: latency("held", &mut steady),
        changing: latency("changing", &mut changing),
        followed_p50_us,
        followed_p95_us,
        followed_max_us,
        with_core_p50_us,
        with_core_p95_us,
        with_core_max_us,
    };
    judge(report, found);
    Ok(())
}

fn latency(name: &str, latencies: &mut [u64]) -> Latency {
    let [p50_us, p99_us] = [0.5, 0.99].map(|share| quantile(latencies, share) as f64 / 1e3);
    println!("  {name:<9} p50 {p50_us:.0} µs, p99 {p99_us:.0} µs");
    Latency { model: name.into(), p50_us, p99_us }
}

fn judge(report: &mut Report, found: Switches) {
    report.begin(PART);
    let Switches { switches, requests, followed_p50_us: p50, followed_p95_us: p95, .. } = &found;
    let most = found.followed_max_us;
    let all = format!("{requests} requests, {switches} changes");
    report.judge(PART, "no request is lost or carried out twice", all, true);
    let said = format!("p50 {p50:.0} µs, p95 {p95:.0} µs, most {most:.0} µs");
    let is_soon = *p95 <= ADOPTION_MAX.as_secs_f64() * 1e6;
    report.judge(PART, "a change is followed within 1 ms (p95)", said, is_soon);
    let Switches { with_core_p50_us: p50, with_core_p95_us: p95, .. } = &found;
    let most = found.with_core_max_us;
    let said = format!("p50 {p50:.0} µs, p95 {p95:.0} µs, most {most:.0} µs");
    let is_soon = *p95 <= ADOPTION_MAX.as_secs_f64() * 1e6;
    let goal = "the same, less what its loop or the changing thread waited for a core";
    report.judge(PART, goal, said, is_soon);
    let ratio = found.changing.p99_us / found.held.p99_us;
    let goal = "p99 while models change at most twice that of held models";
    report.judge(PART, goal, format!("{ratio:.2} ×"), ratio <= P99_RATIO_MAX);
    report.switches = Some(found);
}

/// Requests a second that the slowest kind of model can answer.
fn capacity(millis: u64) -> Result<f64, Failure> {
    let front = Front::start(model("aib"), 0)?;
    let mut slowest = f64::INFINITY;
    for word in KINDS.into_iter().chain(["sib+1", "sdb:1+1"]) {
        front.server.set_model(model(word))?;
        let began = Instant::now();
        let asked = ask_closed(&front, usize::MAX, Duration::from_millis(millis))?;
        slowest = slowest.min(asked as f64 / began.elapsed().as_secs_f64());
    }
    Ok(slowest)
}

/// Each model is held for an equal number of requests.
fn in_turns(
    front: &Front,
    models: &[Model],
    numbers: std::ops::Range<usize>,
    rate: f64,
    rng: &mut Rng,
) -> Result<Vec<u64>, Failure> {
    let (first, count) = (numbers.start, numbers.len());
    let of = |number: usize| (number - first) * models.len() / count;
    let mut present = None;
    open_loop::ask(front, numbers, rate, rng, |number| {
        if present.replace(of(number)) != Some(of(number)) {
            front.server.set_model(models[of(number)])?;
        }
        Ok(())
    })
}

/// How long it took until each change was followed, in nanoseconds.
#[derive(Default)]
struct Adoptions {
    all: Vec<u64>,
    /// Less the time for which the front's loop, or the changing thread, had no core: the longer of the two.
    with_core: Vec<u64>,
}

/// Latencies, and how long it took until each change was followed.
fn while_changing(
    front: &Front,
    models: &[Model],
    numbers: std::ops::Range<usize>,
    rate: f64,
    switches: usize,
    rng: &Rng,
) -> Result<(Vec<u64>, Adoptions), Failure> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changer = scope.spawn(|| {
            let mut rng = rng.split("models");
            change(front, models, switches, &mut rng, &ended)
        });
        let mut rng = rng.split("arrivals");
        let latencies = open_loop::ask(front, numbers, rate, &mut rng, |_| Ok(()));
        if latencies.is_err() {
            ended.store(true, Relaxed);
        }
        let adoptions = changer.join().map_err(|_| "the changing thread has panicked")??;
        Ok((latencies?, adoptions))
    })
}

fn change(
    front: &Front,
    models: &[Model],
    switches: usize,
    rng: &mut Rng,
    ended: &AtomicBool,
) -> Result<Adoptions, String> {
    let (server, all) = (&front.server, [&front.waits, &Waits::of_this_thread()]);
    let mut adoptions = Adoptions::default();
    while adoptions.all.len() < switches && !ended.load(Relaxed) {
        let (model, before) = (draw(rng, models), all.map(Waits::total));
        let began = Instant::now();
        server.set_model(model).map_err(|error| error.to_string())?;
        while !server.is_model_followed() {
            std::thread::yield_now();
        }
        let took = began.elapsed();
        // Both may have waited at once: the longer of the two is taken off, and what is left is no less than it was.
        let waits = all.iter().zip(before).map(|(waits, before)| waits.total() - before);
        let waited = waits.max().unwrap_or_default();
        adoptions.all.push(took.as_nanos() as u64);
        adoptions.with_core.push(took.saturating_sub(waited).as_nanos() as u64);
        std::thread::sleep(GAP.mul_f64(rng.exponential(1.0)));
    }
    Ok(adoptions)
}
