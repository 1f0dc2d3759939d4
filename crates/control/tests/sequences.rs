//! Random operation sequences against the control core, its invariants checked after every step.
//!
//! A failure prints the smallest sequence that shows it and keeps its seed in
//! `tests/sequences.regressions`, which is committed and replayed first.

use crate::harness::mutant::{Bug, Mutant};
use crate::harness::setup::{Lie, Mischief, Op, Setup, TARGET, sequences, setups};
use crate::harness::{Breach, World};
use proptest::prelude::*;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestError, TestRng, TestRunner,
};
use std::time::Duration;
use tailwater_control::Shard;

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/sequences.regressions",
        ))),
        ..Config::default()
    }
}

fn sound(shard: Box<dyn Shard>) -> Box<dyn Shard> {
    shard
}

/// The whole sequence, then a drain in which every loop measures `delay`, then everybody leaves.
fn live(
    setup: &Setup,
    ops: &[Op],
    delay: Duration,
    wrap: impl Fn(Box<dyn Shard>) -> Box<dyn Shard>,
) -> Result<(), Breach> {
    let mut world = World::new(setup, wrap);
    for (step, op) in ops.iter().enumerate() {
        world.step(op).map_err(|what| format!("step {step}, {op:?}: {what}"))?;
    }
    world.drain(delay).map_err(|what| format!("drain: {what}"))?;
    world.leave().map_err(|what| format!("leave: {what}"))
}

/// The whole sequence without a drain.
fn live_and_leave(setup: &Setup, ops: &[Op]) -> Result<(), Breach> {
    let mut world = World::new(setup, sound);
    for (step, op) in ops.iter().enumerate() {
        world.step(op).map_err(|what| format!("step {step}, {op:?}: {what}"))?;
    }
    world.step(&Op::Rogue(Mischief::Vanish))?;
    world.leave().map_err(|what| format!("leave: {what}"))
}

fn judge(outcome: Result<(), Breach>) -> Result<(), TestCaseError> {
    outcome.map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(config(1_500))]

    #[test]
    fn paper_keeps_its_promises(setup in setups("breakwater", "paper"), ops in sequences()) {
        judge(live(&setup, &ops, Duration::ZERO, sound))?;
    }

    #[test]
    fn artifact_keeps_its_promises(setup in setups("breakwater", "artifact"), ops in sequences()) {
        judge(live(&setup, &ops, Duration::ZERO, sound))?;
    }

    #[test]
    fn default_keeps_its_promises(setup in setups("breakwater", "default"), ops in sequences()) {
        judge(live(&setup, &ops, Duration::ZERO, sound))?;
    }

    /// Algorithm 1 as it stands gives no promise that anybody is served: with nothing coming in, the
    /// pool only shrinks. All else holds.
    #[test]
    fn efficiency_paper_keeps_all_but_one(
        setup in setups("efficiency", "paper"),
        ops in sequences(),
    ) {
        judge(live_and_leave(&setup, &ops))?;
    }

    #[test]
    fn efficiency_artifact_keeps_its_promises(
        setup in setups("efficiency", "artifact"),
        ops in sequences(),
    ) {
        judge(live(&setup, &ops, Duration::ZERO, sound))?;
    }

    #[test]
    fn efficiency_default_keeps_its_promises(
        setup in setups("efficiency", "default"),
        ops in sequences(),
        delay in prop_oneof![Just(Duration::ZERO), Just(TARGET)],
    ) {
        judge(live(&setup, &ops, delay, sound))?;
    }

    /// At the target the pool never grows, above it shrinks to its minimum: there may never be room
    /// for a session without credit, and yet it gets one.
    #[test]
    fn default_starves_nobody_while_the_delay_stays_high(
        setup in setups("breakwater", "default"),
        ops in sequences(),
        over_us in prop_oneof![Just(0), 1..79_u64],
    ) {
        judge(live(&setup, &ops, TARGET + Duration::from_micros(over_us), sound))?;
    }
}

/// Steps that must all keep the invariants.
fn play(world: &mut World, ops: &[Op]) {
    for op in ops {
        world.step(op).unwrap_or_else(|what| panic!("{op:?}: {what}"));
    }
}

/// It may come back as often as it likes; each time it has 64 violations, and nobody else goes
/// without for it.
#[test]
fn a_flood_without_credit_is_closed() {
    for profile in ["paper", "artifact", "default"] {
        let mut world = World::new(&Setup::plain(profile, 3), sound);
        for round in 1..=5 {
            let flood = Op::Rogue(Mischief::Flood {
                count: 64,
                acked: Lie::Future(9),
                demand: u32::MAX,
                register: false,
            });
            play(&mut world, &[Op::Rogue(Mischief::Connect), flood]);
            (0..3).for_each(|who| play(&mut world, &[Op::Submit(who, 2, None)]));
            world.settle().expect("all messages arrive");
            assert!(!world.has_rogue(), "{profile}: the flood goes on");
            world.drain(Duration::ZERO).expect("the others are served");
            assert_eq!(world.answered(), 6 * round, "{profile}");
        }
    }
}

/// A request without registration is refused. The offer that it acknowledges is known to its client all the same, so that no
/// older and larger window covers what comes next.
#[test]
fn a_refused_request_acknowledges_as_others_do() {
    let setup = Setup { shards: 3, seed: 0, ..Setup::plain("paper", 1) };
    let flood =
        |count, acked, register| Op::Rogue(Mischief::Flood { count, acked, demand: 0, register });
    let submit = || Op::Submit(0, 1, None);
    let ops = [
        vec![Op::Rogue(Mischief::Connect), Op::Up(1), flood(2, Lie::Truth, true), Op::Up(1)],
        vec![Op::Start(0), Op::Finish(0, 0), Op::Rogue(Mischief::Deregister), submit()],
        vec![Op::Up(0), Op::Up(0), Op::Up(0), Op::Up(0), flood(1, Lie::Future(2), false)],
        vec![flood(1, Lie::Truth, true), submit()],
    ];
    live(&setup, &ops.concat(), Duration::ZERO, sound).expect("no larger window covers it");
}

/// A reject carries an offer as every answer does; one for want of credit must bring none, or a
/// flood pays for the next proper requests with a violation each.
#[test]
fn a_violation_earns_no_credit() {
    for profile in ["paper", "artifact", "default"] {
        let mut world = World::new(&Setup::plain(profile, 3), sound);
        for _ in 0..200 {
            (0..3).for_each(|who| play(&mut world, &[Op::Submit(who, 3, None)]));
            play(&mut world, &[Op::Pass(200_000), Op::Tick(0, 0)]);
            world.settle().expect("all is answered");
        }
        let flood = Op::Rogue(Mischief::Flood {
            count: 2,
            acked: Lie::Truth,
            demand: u32::MAX,
            register: true,
        });
        play(&mut world, &[Op::Rogue(Mischief::Connect), flood]);
        (0..3).for_each(|_| play(&mut world, &[Op::Up(0)]));
        (0..2).for_each(|_| play(&mut world, &[Op::Down(0)]));
        let window = world.rogue_window();
        assert!(window <= 1, "{profile}: a violation raised the window from 1 to {window}");
    }
}

/// The rogue grows the pool alone, claims all demand there is and keeps its window full. A response of its own is
/// always to come; above the target there is room for no other client. An honest client still gets its turn. (Under
/// `paper` two calls in all get through.)
#[test]
fn a_greedy_client_cannot_starve_the_others_for_ever() {
    let mut world = World::new(&Setup::plain("default", 2), sound);
    play(&mut world, &[Op::Rogue(Mischief::Connect)]);
    greed(&mut world, 500, 0);
    for _ in 0..200 {
        play(&mut world, &[Op::Submit(0, 1, None), Op::Submit(1, 1, None)]);
        greed(&mut world, 40, 120);
    }
    // 80 ms are 80 starvation limits, each good for a call of either client.
    let answered = world.answered();
    assert!(answered >= 150, "{answered} honest calls answered in 80 ms");
    assert!(world.rogue_served() > 4_000, "the rogue was not greedy");
}

/// Steps of 10 µs in which the rogue has whatever it can in the server.
fn greed(world: &mut World, steps: usize, delay_us: u64) {
    for _ in 0..steps {
        play(world, &[Op::Rogue(Mischief::Greed)]);
        (0..4).for_each(|pick| play(world, &[Op::Up(pick)]));
        play(world, &[Op::Start(0), Op::Start(0), Op::Finish(0, 0)]);
        play(world, &[Op::Tick(0, delay_us), Op::Pass(10_000)]);
        (0..4).for_each(|pick| play(world, &[Op::Down(pick)]));
    }
}

/// The pool is at most what all sessions together could hold, also after some have left.
#[test]
fn the_pool_follows_the_crowd() {
    for profile in ["paper", "artifact", "default"] {
        let mut setup = Setup::plain(profile, 4);
        setup.window_max = Some(2);
        let mut world = World::new(&setup, sound);
        for _ in 0..400 {
            (0..4).for_each(|who| play(&mut world, &[Op::Submit(who, 3, None)]));
            play(&mut world, &[Op::Pass(200_000), Op::Tick(0, 0)]);
            world.settle().expect("all is answered");
        }
        assert!(world.pool() > 2, "{profile}: the pool has not grown");
        play(&mut world, &[Op::Disconnect(1), Op::Disconnect(2), Op::Disconnect(3)]);
        world.settle().expect("three leave");
        play(&mut world, &[Op::Pass(200_000_000), Op::Tick(0, 0)]);
        let pool = world.pool();
        assert!(pool <= 2, "{profile}: a pool of {pool} for one session of at most 2");
    }
}

/// Each planted bug, and a word of the breach that must give it away.
const BUGS: &[(Bug, &[&str])] = &[
    (Bug::KeepsCreditsOnClose, &["issued is", "sessions counted"]),
    (Bug::KeepsCreditsOnDeregister, &["issued is", "sessions counted"]),
    (Bug::OffersTooMuch, &["exceeds the largest window"]),
    (Bug::ForgetsToNumber, &["a new window has a new number", "to an honest client"]),
    (Bug::AdmitsViolations, &["Admit to a violation"]),
    (Bug::NeverCloses, &["still open after"]),
    (Bug::DistrustsTheHonest, &["to a request with credit"]),
    (Bug::LosesExplicitCredits, &["issued is", "starved"]),
    (Bug::SleepsIn, &["nobody asks to be called"]),
    (Bug::ShedsInADryRun, &["while nothing is enforced"]),
];

#[test]
fn the_harness_catches_planted_bugs() {
    for &(bug, words) in BUGS {
        let plant = |inner| Box::new(Mutant { inner, bug }) as Box<dyn Shard>;
        let config = Config {
            cases: 512,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let found = runner.run(&(setups("breakwater", "default"), sequences()), |(setup, ops)| {
            judge(live(&setup, &ops, Duration::ZERO, plant))
        });
        let Err(TestError::Fail(breach, _)) = found else {
            panic!("{bug:?} was not caught: {found:?}");
        };
        let breach = breach.to_string();
        assert!(
            words.iter().any(|word| breach.contains(word)),
            "{bug:?} was caught for another reason: {breach}"
        );
    }
}
