//! Servers of several loops, each with queues, cores and connections of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_control::{Admission, Arrival, Gauges, Shard, Verdict};
use tailwater_core::{Instant, Observer, Rate, SessionId};
use tailwater_sim::{Intended, Trace, World, simulate};
use tailwater_stats::result::Run;
use tailwater_workload::{Arrivals, DemandPlan, Schedule, Step};

use crate::common::{SEED, SERVICE, SMALL_RPS, ms, play_schedule, small, spec, steady};

fn loops(count: u32, each: u32) -> World {
    let mut world = World { clients: count * each, ..small() };
    (world.node.loops, world.node.cores) = (count, count);
    world
}

/// Every request comes from the connection that `choose` finds for its number and its client.
fn routed(
    world: &World,
    rps: f64,
    spec: &Spec,
    choose: impl Fn(usize, u32) -> u32,
) -> (Run, Trace) {
    let length = world.warm_up + world.measure;
    let plan =
        DemandPlan { steps: vec![Step::steady(Rate(rps), length)], arrivals: Arrivals::Poisson };
    let schedule = Schedule::build(&plan, world.clients, &SERVICE, SEED).unwrap();
    let mut entries = schedule.entries.iter().enumerate().map(|(number, entry)| {
        let intended = Intended::from(*entry);
        Intended { client: choose(number, intended.client), ..intended }
    });
    let controller = spec.build(&world.node.site(world.slo, SEED)).unwrap();
    simulate(world, &mut entries, &controller).unwrap()
}

/// All of the load goes to the connections of one loop.
fn uneven(world: &World, rps: f64, spec: &Spec) -> Run {
    let loops = world.node.loops;
    routed(world, rps, spec, |_, client| client / loops * loops).0
}

/// Requests wait at the loop of their connection, whatever the others do; a central queue, and cores that
/// steal, leave no core idle.
#[test]
fn a_loop_serves_its_own_connections_unless_cores_steal() {
    let own = loops(4, 25);
    let mut stealing = own.clone();
    stealing.node.stealing = true;
    let mut central = own.clone();
    central.node.loops = 1;
    let shedding = spec("aqm-only", "default", &[]);
    let served =
        |world: &World| uneven(world, 2.0 * SMALL_RPS, &shedding).rates.goodput_rps / SMALL_RPS;
    let (own, stealing, central) = (served(&own), served(&stealing), served(&central));
    assert!((0.3..1.0).contains(&own), "at most one loop's worth: {own}");
    assert!((1.9..2.1).contains(&stealing), "{stealing}");
    assert!((1.9..2.1).contains(&central), "{central}");
}

/// Below capacity a queue of one's own costs latency, which stealing saves.
#[test]
fn stealing_cuts_the_tail_that_queues_of_their_own_have() {
    let own = loops(4, 25);
    let mut stealing = own.clone();
    stealing.node.stealing = true;
    let none = spec("none", "default", &[]);
    let p99_us = |world: &World| steady(world, 0.8 * 4.0 * SMALL_RPS, &none).0.latency.p99_us;
    let (own_us, stolen_us) = (p99_us(&own), p99_us(&stealing));
    assert!(stolen_us < 0.7 * own_us, "{stolen_us} µs with stealing, {own_us} µs without");
}

/// Of two loops that share a pool one has all the load, and the other no delay at all: by that one the pool would
/// grow without end, and the loaded one would shed what credits let through.
#[test]
fn a_loop_without_load_does_not_open_the_pool_of_a_loaded_one() {
    let world = World { measure: ms(500), ..loops(2, 100) };
    let run = uneven(&world, 1.5 * SMALL_RPS, &spec("breakwater", "default", &["pools=shared"]));
    let found = format!(
        "drops {:.3}, goodput {:.3}",
        run.refusals.drop_ratio,
        run.rates.goodput_rps / SMALL_RPS
    );
    assert!(run.refusals.drop_ratio < 0.03 && run.rates.goodput_rps > 0.94 * SMALL_RPS, "{found}");
}

/// From one pool for all, a loop that is idle for a moment takes the credits of the others, and these have
/// nothing to do: half of the capacity is left.
#[test]
fn several_loops_serve_as_much_each_as_one_does() {
    let good = |loop_count: u32, each: u32, settings: &[&str]| {
        let world = World { measure: ms(300), ..loops(loop_count, each) };
        let spec = spec("breakwater", "default", settings);
        let capacity = f64::from(loop_count) * SMALL_RPS;
        steady(&world, 2.0 * capacity, &spec).0.rates.goodput_rps / capacity
    };
    for each in [25, 100, 1_000] {
        let one = good(1, each, &[]);
        for loop_count in [4, 10] {
            let all = good(loop_count, each, &[]);
            let found = format!("{each} clients: one loop {one:.3}, {loop_count} loops {all:.3}");
            assert!((one - all).abs() < 0.02 && one > 0.92, "{found}");
        }
    }
    let (one, shared) = (good(1, 100, &[]), good(4, 100, &["pools=shared"]));
    assert!(shared < 0.7 * one, "a pool for all: {shared:.3}, one loop {one:.3}");
}

/// An eighth of the load, which is a fifth of what a loop can do, comes to the second loop; the first has 1.4
/// times what it can do, and takes what it can of the pool. Nothing but their own loop's next look wakes the
/// stranded sessions of the second.
#[test]
fn clients_of_a_calm_loop_are_served_beside_one_that_takes_the_pool() {
    let world = World { warm_up: Duration::ZERO, measure: Duration::from_secs(1), ..loops(2, 100) };
    let shared = [
        spec("breakwater", "default", &["pools=shared"]),
        spec("breakwater", "paper", &[]),
        spec("breakwater", "artifact", &[]),
    ];
    for spec in shared {
        let to = |number, client| client / 2 * 2 + u32::from(number % 8 == 0);
        let (run, trace) = routed(&world, 1.6 * SMALL_RPS, &spec, to);
        let longest = trace.longest_unserved;
        assert!(longest < ms(120), "{}: {longest:?}, {:?}", spec.profile, run.fates);
    }
}

/// Remembers what each loop was told last.
struct Listening(Arc<Mutex<Vec<Duration>>>);

struct Ear {
    loop_of: usize,
    told: Arc<Mutex<Vec<Duration>>>,
}

impl Admission for Listening {
    fn name(&self) -> &'static str {
        "listening"
    }
    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard> {
        Box::new(Ear { loop_of: index, told: Arc::clone(&self.0) })
    }
    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}

impl Shard for Ear {
    fn on_request(
        &mut self,
        _: Instant,
        _: SessionId,
        _: &Arrival,
        _: Duration,
        _: &mut dyn Observer,
    ) -> Verdict {
        Verdict::Admit
    }
    fn on_tick(&mut self, _: Instant, delay: Duration, _: &mut dyn Observer) {
        self.told.lock().unwrap()[self.loop_of] = delay;
    }
}

/// A loop tells a delay of nothing before it sleeps. A regulator that goes by the slowest would go by
/// what an idle one said last.
#[test]
fn a_loop_that_falls_idle_says_so() {
    let world = World { warm_up: Duration::ZERO, measure: ms(1), drain: ms(50), ..loops(10, 10) };
    for seed in 1..=20 {
        let told = Arc::new(Mutex::new(vec![Duration::MAX; 10]));
        let mut controller =
            spec("none", "default", &[]).build(&world.node.site(world.slo, seed)).unwrap();
        controller.admission = Arc::new(Listening(Arc::clone(&told)));
        let plan = DemandPlan {
            steps: vec![Step::steady(Rate(12.0 * SMALL_RPS), world.measure)],
            arrivals: Arrivals::Poisson,
        };
        let schedule = Schedule::build(&plan, world.clients, &SERVICE, seed).unwrap();
        play_schedule(&world, &schedule, &controller);
        assert_eq!(*told.lock().unwrap(), [Duration::ZERO; 10], "seed {seed}");
    }
}
