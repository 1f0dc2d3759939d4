//! One client cannot move the others: what honest clients get beside sessions that claimed a demand which they do not
//! have. These sessions then fell silent (found by a client written from the protocol's page).

use crate::common::{ms, spec, us};
use std::time::Duration;
use tailwater_core::{Instant, Rng};
use tailwater_sim::{
    Chosen, Claim, Costs, Fault, FaultKind, Intended, Link, Struck, Trace, World, simulate,
};
use tailwater_stats::result::Run;

const SERVICE: Duration = us(200);
/// What the core does in a second.
const CAPACITY_RPS: f64 = 5_000.0;
const HONEST: u32 = 10;
/// The hoarders begin one after another, and have so long for themselves.
const BEFORE: Duration = ms(200);
/// Between two requests of one of them: a little more than the core needs for it.
const APART: Duration = us(250);
const BIN: Duration = ms(250);

/// What each of the others does, once, before the honest clients begin.
#[derive(Clone, Copy, Debug)]
struct Hoarders {
    count: u32,
    /// Requests that each sends, one after the other, before it falls silent.
    requests: u32,
    /// What all of these claim, for all of the run.
    claim: Claim,
}

/// So many honest requests a second for so long.
#[derive(Clone, Copy)]
struct Phase {
    rps: f64,
    length: Duration,
}

const OVERLOAD: Phase = Phase { rps: 3.0 * CAPACITY_RPS, length: ms(500) };
const THIRD: Phase = Phase { rps: CAPACITY_RPS / 3.0, length: ms(3_000) };

fn intended(at: Duration, client: u32) -> Intended {
    Intended { at: Instant::ZERO + at, client, service: SERVICE }
}

/// First the hoarders; then come the phases.
fn requests(hoarders: Hoarders, phases: &[Phase]) -> Vec<Intended> {
    let mut all = Vec::new();
    for hoarder in 0..hoarders.count {
        let begins = BEFORE.mul_f64(0.9 * f64::from(hoarder) / f64::from(hoarders.count));
        let request = |number| intended(begins + APART * number, HONEST + hoarder);
        all.extend((0..hoarders.requests).map(request));
    }
    let (mut rng, mut begins) = (Rng::from_seed(11), BEFORE);
    for phase in phases {
        let ends = begins + phase.length;
        let mut at = begins;
        loop {
            at += Duration::from_nanos(rng.exponential(1e9 / phase.rps) as u64);
            if at >= ends {
                break;
            }
            all.push(intended(at, rng.below(HONEST)));
        }
        begins = ends;
    }
    all.sort_by_key(|request| request.at);
    all
}

/// What the honest clients see from the first phase on.
fn play(name: &str, hoarders: Hoarders, phases: &[Phase]) -> (Run, Trace) {
    let measure: Duration = phases.iter().map(|phase| phase.length).sum();
    let lie = Fault {
        at: Duration::ZERO,
        length: BEFORE + measure,
        clients: Chosen::Numbers { first: HONEST, last: HONEST + hoarders.count - 1 },
        nodes: Struck::default(),
        way: None,
        kind: FaultKind::Lie(hoarders.claim),
    };
    let free = Costs { receive: Duration::ZERO, send: Duration::ZERO, shed: Duration::ZERO };
    let mut world = World {
        clients: HONEST + hoarders.count,
        link: Link { delay: us(25), jitter: Duration::ZERO },
        slo: ms(2),
        warm_up: BEFORE,
        measure,
        bin: Some(BIN),
        sample: Some(ms(10)),
        faults: if hoarders.count > 0 { vec![lie] } else { Vec::new() },
        ..World::paper(1)
    };
    (world.node.cores, world.node.costs, world.node.tick) = (1, free, us(50));
    let controller = spec(name, "default", &[]).build(&world.node.site(world.slo, 1)).unwrap();
    let mut requests = requests(hoarders, phases).into_iter();
    simulate(&world, &mut requests, &controller).unwrap_or_else(|broken| panic!("{broken}"))
}

/// Half a second of overload, then a third of what the core can do, of which every bin counts.
fn assert_unmoved(name: &str, hoarders: Hoarders) {
    let (run, _) = play(name, hoarders, &[OVERLOAD, THIRD]);
    let series = run.series.as_ref().expect("bins");
    let skipped = (OVERLOAD.length.as_nanos() / BIN.as_nanos()) as usize;
    let each = series.goodput_rps.iter().zip(&series.offered_rps).skip(skipped);
    let shares: Vec<f64> = each.map(|(good, all)| good / all).collect();
    let worst = shares.iter().copied().fold(1.0, f64::min);
    assert!(worst >= 0.9, "{name}, {hoarders:?}: in time, by bin: {shares:.2?}");
}

#[test]
fn a_claim_made_once_takes_nothing_from_the_others() {
    let hoarders = Hoarders { count: 200, requests: 1, claim: Claim::Everything };
    assert_unmoved("breakwater", hoarders);
    assert_unmoved("efficiency", hoarders);
}

/// They claim nothing; each merely keeps the credit that its one request left it with.
#[test]
fn clients_that_fall_silent_take_nothing_from_the_others() {
    for count in [200, 800] {
        assert_unmoved("breakwater", Hoarders { count, requests: 1, claim: Claim::Nothing });
    }
}

/// They use what they claim, for a while, so that they are believed.
#[test]
fn nor_does_a_claim_that_was_earned() {
    for (count, requests) in [(40, 20), (100, 9)] {
        assert_unmoved("breakwater", Hoarders { count, requests, claim: Claim::Everything });
    }
}

/// A session stranded for want of a credit or two cost all 200 idle ones what they held. The pool went from 444 to
/// 10: what was taken back left the pool instead of making room.
#[test]
fn idle_sessions_are_cut_no_further_than_others_want() {
    let hoarders = Hoarders { count: 200, requests: 1, claim: Claim::Everything };
    let overload = Phase { rps: 1.2 * CAPACITY_RPS, length: OVERLOAD.length + THIRD.length };
    let (run, trace) = play("breakwater", hoarders, &[overload]);
    let series = run.series.as_ref().expect("bins");
    let worst = series.goodput_rps.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(worst >= 0.9 * CAPACITY_RPS, "{:.0?} of {CAPACITY_RPS}", series.goodput_rps);
    let pool = trace.samples.last().expect("samples").pool;
    assert!(pool > 200, "a pool of {pool}");
    let messages = run.server.explicit_credits_rps * overload.length.as_secs_f64();
    assert!(messages < 150.0, "{messages} messages: each idle session was cut");
}

#[test]
fn without_hoarders_all_are_served() {
    assert_unmoved("breakwater", Hoarders { count: 0, requests: 0, claim: Claim::Nothing });
}
