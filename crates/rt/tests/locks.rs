//! Locks in handlers, over real sockets: budgets follow requests, refusals become answers.

use crate::common::eventually;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tailwater_control::asqm::{Asqm, Policy};
use tailwater_control::catalog::{CONTROLLERS, Controller, Spec};
use tailwater_control::{Reason, Site};
use tailwater_core::MethodId;
use tailwater_rt::client::{CallError, CallFuture, ChannelConfig, Client};
use tailwater_rt::counts::Counts;
use tailwater_rt::time::{now, sleep};
use tailwater_rt::{LockRules, Placement, Reply, Request, Router, Server, ServerConfig};
use tailwater_sync::task::Mutex;
use tailwater_sync::{Refused, budget};

const HOLD: u16 = 1;
const TAKE: u16 = 2;
const NAP: u16 = 3;
const BLOCK: u16 = 4;
const SPAWN: u16 = 5;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);
/// A busy machine keeps it too.
const OBJECTIVE: Duration = Duration::from_secs(60);

/// What handlers and test share.
struct Bench {
    lock: Mutex<()>,
    /// A handler holds the lock, or a thread.
    inside: AtomicBool,
    /// A handler is about to wait for the lock.
    waits: AtomicBool,
    /// The holder may go.
    open: AtomicBool,
}

/// Holds the lock, but no thread, until the test opens and for 20 ms more.
async fn hold(bench: Arc<Bench>, _: Request) -> Reply {
    let _guard = bench.lock.lock().await;
    bench.inside.store(true, SeqCst);
    while !bench.open.load(SeqCst) {
        sleep(MS).await;
    }
    sleep(20 * MS).await;
    Reply::ok("held".into())
}

/// Answers with what was waited and what was deducted meanwhile.
async fn take(bench: Arc<Bench>, _: Request) -> Result<Reply, Refused> {
    let clock = Clock::start();
    bench.waits.store(true, SeqCst);
    let _guard = bench.lock.lock_within_budget().await?;
    Ok(clock.tell())
}

async fn nap(_: Arc<Bench>, _: Request) -> Reply {
    let clock = Clock::start();
    sleep(20 * MS).await;
    clock.tell()
}

/// Holds its thread until the test opens and for 5 ms more.
async fn block(bench: Arc<Bench>, _: Request) -> Reply {
    bench.inside.store(true, SeqCst);
    while !bench.open.load(SeqCst) {
        std::thread::yield_now();
    }
    let opened = now();
    while now().since(opened) < 5 * MS {
        std::hint::spin_loop();
    }
    Reply::ok("blocked".into())
}

/// Tells whether a thread that it starts has a budget, by itself and when it is handed one.
async fn spawn(_: Arc<Bench>, _: Request) -> Reply {
    let mine = budget::current().expect("a request has a budget");
    let mut handed = budget::current_task().expect("a request has a budget");
    let child = std::thread::spawn(move || {
        let of_itself = budget::current();
        let _entered = budget::enter(&mut handed);
        // The server's policy, which is to try, comes with it.
        let lock = tailwater_sync::Mutex::new(());
        let held = lock.lock();
        let refused = std::thread::scope(|scope| {
            let mut handed = budget::current_task().expect("it was handed one");
            let lock = &lock;
            let asks = scope.spawn(move || {
                let _entered = budget::enter(&mut handed);
                lock.lock_within_budget().is_err()
            });
            asks.join().expect("it only asks")
        });
        drop(held);
        [of_itself.is_some(), budget::current() == Some(mine) && refused]
    });
    Reply::ok(child.join().expect("it only looks").map(u8::from).to_vec())
}

struct Clock {
    began: tailwater_core::Instant,
    budget: budget::Budget,
}

impl Clock {
    fn start() -> Self {
        let budget = budget::current().expect("a request has a budget");
        Self { began: now(), budget }
    }

    fn tell(&self) -> Reply {
        let budget = budget::current().expect("a request has a budget");
        let before = self.budget.waited();
        let total = budget.left() + budget.waited();
        let told = [before, budget.waited() - before, now().since(self.began), total];
        let bytes = told.map(|time| u64::try_from(time.as_nanos()).unwrap().to_le_bytes());
        Reply::ok(bytes.concat())
    }
}

/// What [`Clock::tell`] tells: deducted before the handler began and while it ran, its time, and the
/// whole budget.
fn heard(call: CallFuture) -> [Duration; 4] {
    let answer = call.wait().expect("it is served");
    assert_eq!((answer.status, answer.payload.len()), (0, 32), "{answer:?}");
    let mut told = answer.payload.as_chunks::<8>().0.iter();
    [(); 4].map(|()| Duration::from_nanos(u64::from_le_bytes(*told.next().unwrap())))
}

struct Stage {
    bench: Arc<Bench>,
    server: Server,
    client: Client,
    controller: Controller,
}

fn stage(name: &str, placement: Placement, policy: Policy, budget: Option<Duration>) -> Stage {
    let rules = LockRules { policy, target: HOUR, budget };
    controlled(&Spec::named("none"), name, placement, rules)
}

fn controlled(by: &Spec, name: &str, placement: Placement, locks: LockRules) -> Stage {
    let bench = Arc::new(Bench {
        lock: Mutex::named(name, ()),
        inside: AtomicBool::new(false),
        waits: AtomicBool::new(false),
        open: AtomicBool::new(false),
    });
    let (a, b, c, d, e) =
        (bench.clone(), bench.clone(), bench.clone(), bench.clone(), bench.clone());
    let router = Router::new()
        .route(HOLD, move |request| hold(a.clone(), request))
        .route(TAKE, move |request| take(b.clone(), request))
        .route(NAP, move |request| nap(c.clone(), request))
        .route(BLOCK, move |request| block(d.clone(), request))
        .route(SPAWN, move |request| spawn(e.clone(), request));
    let controller = by.build(&Site::one_loop(OBJECTIVE, 2)).unwrap();
    let config =
        ServerConfig { model: placement.into(), locks: Some(locks), ..ServerConfig::default() };
    let server = Server::start(config, controller.admission.clone(), router).unwrap();
    let client = connect(&server, &controller);
    Stage { bench, server, client, controller }
}

fn connect(server: &Server, controller: &Controller) -> Client {
    Client::connect_with(ChannelConfig::new(server.address().clone()), controller).unwrap()
}

impl Stage {
    /// A call that holds the lock.
    fn held(&self) -> CallFuture {
        self.bench.open.store(false, SeqCst);
        self.bench.inside.store(false, SeqCst);
        let call = self.client.call(HOLD, "");
        eventually("it is held", || self.bench.inside.load(SeqCst));
        call
    }

    fn open(&self, holding: CallFuture) {
        self.bench.open.store(true, SeqCst);
        assert_eq!(holding.wait().unwrap().payload, b"held");
    }
}

const REFUSED: Option<CallError> = Some(CallError::Shed(Reason::Lock));

/// Neither the holder nor time helps those who wait: only the alarm makes them give up.
#[test]
fn who_is_refused_or_gives_up_is_answered_at_once_and_the_lock_stays_usable() {
    let cases = [
        ("try", Policy::Try, HOUR),
        ("timed", Policy::Timed(MS), HOUR),
        ("asqm, waiting", Policy::Asqm(Asqm::DEFAULT), 20 * MS),
        ("asqm, spent", Policy::Asqm(Asqm::DEFAULT), Duration::ZERO),
    ];
    for placement in [Placement::Inline, Placement::Workers(2)] {
        for (name, policy, budget) in cases {
            let name = format!("{name}, {placement}");
            let stage = stage(&name, placement, policy, Some(budget));
            let holding = stage.held();
            for _ in 0..3 {
                assert_eq!(stage.client.call(TAKE, "").wait().err(), REFUSED, "{name}");
            }
            stage.open(holding);
            heard(stage.client.call(TAKE, ""));
            eventually("sheds are counted by their reason", || {
                stage.server.totals().shed[Reason::Lock as usize - 1] == 3
            });
            let all = tailwater_sync::report();
            let lock = all.iter().find(|lock| lock.name == name).expect("it has a name");
            assert_eq!(lock.refused + lock.gave_up, 3, "{lock:?}");
        }
    }
}

#[test]
fn who_may_wait_is_served_when_the_lock_is_free() {
    for placement in [Placement::Inline, Placement::Workers(1)] {
        for policy in [Policy::Plain, Policy::Asqm(Asqm::PAPER), Policy::Asqm(Asqm::DEFAULT)] {
            let stage = stage("served", placement, policy, Some(HOUR));
            let holding = stage.held();
            let taking = stage.client.call(TAKE, "");
            eventually("it waits", || stage.bench.waits.load(SeqCst));
            stage.open(holding);
            // Both run on one thread, so the holder went on for 20 ms after the other had queued.
            let [_, deducted, passed, total] = heard(taking);
            assert!(deducted >= 20 * MS, "{deducted:?} of the wait for the lock are deducted");
            assert!(deducted <= passed, "{deducted:?} are deducted for {passed:?}");
            assert_eq!(total, HOUR);
        }
    }
}

#[test]
fn lock_rules_beyond_an_hour_do_not_start() {
    let fine = LockRules { policy: Policy::Timed(HOUR), target: HOUR, budget: Some(HOUR) };
    let check =
        |rules| ServerConfig { locks: Some(rules), ..ServerConfig::default() }.check().is_ok();
    assert!(check(fine));
    assert!(!check(LockRules { policy: Policy::Timed(HOUR + MS), ..fine }));
    assert!(!check(LockRules { target: HOUR + MS, ..fine }));
    assert!(!check(LockRules { budget: Some(HOUR + MS), ..fine }));
}

#[test]
fn plain_locks_never_refuse() {
    let stage = stage("plain", Placement::Inline, Policy::Plain, Some(Duration::ZERO));
    let holding = stage.held();
    let taking: Vec<_> = (0..20).map(|_| stage.client.call(TAKE, "")).collect();
    eventually("one waits", || stage.bench.waits.load(SeqCst));
    stage.open(holding);
    taking.into_iter().for_each(|call| {
        heard(call);
    });
}

#[test]
fn waiting_for_something_else_is_not_deducted() {
    for placement in [Placement::Inline, Placement::Workers(1)] {
        let stage = stage("unused", placement, Policy::Plain, Some(HOUR));
        for call in [(); 20].map(|()| stage.client.call(NAP, "")) {
            let [_, deducted, passed, _] = heard(call);
            // What came after the timer is the wait for a turn.
            assert!(deducted + 20 * MS <= passed, "{deducted:?} are deducted of {passed:?}");
        }
    }
}

#[test]
fn waiting_in_the_run_queue_is_deducted() {
    let stage = stage("unused", Placement::Workers(1), Policy::Plain, Some(HOUR));
    let blocking = stage.client.call(BLOCK, "");
    eventually("the only worker is taken", || stage.bench.inside.load(SeqCst));
    let behind = stage.client.call(NAP, "");
    eventually("it has arrived", || stage.server.totals().received == 2);
    stage.bench.open.store(true, SeqCst);
    let [before, ..] = heard(behind);
    assert!(before >= 5 * MS, "{before:?} are deducted when the handler begins");
    blocking.wait().unwrap();
}

#[test]
fn what_a_handler_starts_has_a_budget_only_if_it_is_handed_one() {
    let stage = stage("unused", Placement::Inline, Policy::Try, Some(HOUR));
    assert_eq!(stage.client.call(SPAWN, "").wait().unwrap().payload, [0, 1]);
}

#[test]
fn budgets_are_measured_from_what_service_and_network_take() {
    for placement in [Placement::Inline, Placement::Workers(2)] {
        let stage = stage("unused", placement, Policy::Plain, None);
        let total = |call| heard(call)[3];
        assert_eq!(total(stage.client.call(NAP, "")), HOUR, "nothing is known yet");
        let naps: Vec<_> = (0..200).map(|_| stage.client.call(NAP, "")).collect();
        naps.into_iter().for_each(|call| {
            heard(call);
        });
        let measured = total(stage.client.call(NAP, ""));
        assert!(measured <= HOUR - 20 * MS, "{measured:?} of an hour");
        assert!(measured > HOUR / 2, "{measured:?} of an hour");
    }
}

/// A client of ours returns the stamps that it was sent, also where no controller looks at them.
#[test]
fn round_trips_are_measured_with_and_without_a_controller_that_wants_them() {
    for name in ["none", "breakwater"] {
        let rules = LockRules { policy: Policy::Plain, target: HOUR, budget: None };
        let stage = controlled(&Spec::named(name), "unused", Placement::Inline, rules);
        let is_known = (0..10).any(|_| {
            (0..200).for_each(|_| {
                heard(stage.client.call(TAKE, ""));
            });
            let answer = stage.client.call(MethodId::INTROSPECT.0, "").wait().unwrap();
            let budgets = Counts::parse(&answer.payload).unwrap().budgets.unwrap();
            budgets.network_p99_ns > 0
        });
        assert!(is_known, "{name}: no stamp was believed");
    }
}

/// Refusals are drops to every controller, and none of them stops the lock from being used.
#[test]
fn every_controller_serves_handlers_that_refuse() {
    for (name, _) in &*CONTROLLERS {
        let rules = LockRules { policy: Policy::Try, target: HOUR, budget: None };
        let stage = controlled(&Spec::named(name), "any", Placement::Inline, rules);
        let second = connect(&stage.server, &stage.controller);
        let holding = stage.held();
        for _ in 0..10 {
            assert_eq!(second.call(TAKE, "").wait().err(), REFUSED, "{name}");
        }
        stage.open(holding);
        heard(second.call(TAKE, ""));
    }
}

/// Protego's regulator counts who is refused at a lock as dropped (§3.1): a server that refuses all at one
/// takes back the credits that brought them, while one that serves as many calls keeps them out. By the
/// cap on drops, since it looks at nothing but these counts, and with iterations that no stall of the
/// machine can make long.
#[test]
fn the_efficiency_regulator_takes_credits_back_for_refusals_at_locks() {
    const MANY: u32 = 32;
    let mut spec = Spec::named("efficiency");
    spec.overrides = [("drop_cap", "0.2"), ("interval", "200us")]
        .map(|(key, value)| (key.into(), value.into()))
        .into();
    let rules = LockRules { policy: Policy::Try, target: HOUR, budget: None };
    for placement in [Placement::Inline, Placement::Workers(1)] {
        let [refuses, serves] = [(); 2].map(|()| {
            let stage = controlled(&spec, "regulated", placement, rules);
            let second = connect(&stage.server, &stage.controller);
            let grown = (0..10_000).find(|_| pool_after_calls(&stage, &second, false) >= MANY);
            assert!(grown.is_some(), "{placement}: who serves all gives credits");
            (stage, second)
        });
        let holding = refuses.0.held();
        let shrunk =
            (1..10_000).find(|_| pool_after_calls(&refuses.0, &refuses.1, true) <= MANY / 4);
        let rounds = shrunk.unwrap_or_else(|| panic!("{placement}: refusals take no credit"));
        refuses.0.open(holding);
        for _ in 0..rounds {
            assert!(pool_after_calls(&serves.0, &serves.1, false) > MANY / 4, "{placement}");
        }
    }
}

fn pool_after_calls(stage: &Stage, client: &Client, refused: bool) -> u32 {
    for call in [(); 64].map(|()| client.call(TAKE, "")) {
        assert_eq!(call.wait().err(), REFUSED.filter(|_| refused));
    }
    stage.server.gauges().pool
}
