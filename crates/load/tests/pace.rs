//! How the generator waits for the next intended time, on real sockets.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_core::pace::Pace;
use tailwater_core::{Instant, Rate};
use tailwater_load::Spinner;
use tailwater_load::meter::Metered;
use tailwater_load::open::{Findings, Seeds};
use tailwater_load::work::{self, ServiceTime};
use tailwater_load::{EarlyEnd, Fleet, OpenPlan, open};
use tailwater_rt::time::now;
use tailwater_rt::{Server, ServerConfig};
use tailwater_workload::{Arrivals, DemandPlan, Distribution, Schedule, Service, Work};

const MS: Duration = Duration::from_millis(1);
/// Never reached where something else wakes the generator.
const LONG: Duration = Duration::from_secs(3_600);

fn none() -> Controller {
    Spec::named("none").build(&Site::one_loop(Duration::from_secs(60), 1)).unwrap()
}

fn server() -> Server {
    let service = work::service(Spinner::of_speed(1.0));
    Server::start(ServerConfig::default(), none().admission, service).unwrap()
}

/// Sixty requests in 300 ms, all of which are measured.
fn plan(pace: Pace, slips: bool) -> OpenPlan {
    plan_for(300 * MS, pace, slips)
}

/// Two hundred requests a second for so long.
fn plan_for(length: Duration, pace: Pace, slips: bool) -> OpenPlan {
    let service = Service { distribution: Distribution::Constant, mean: Duration::from_micros(1) };
    let demand = DemandPlan::constant(Rate(200.0), length, Arrivals::Periodic);
    OpenPlan {
        schedule: Schedule::build(&demand, 4, &service, 1).unwrap(),
        application: Arc::new(ServiceTime { work: Work::Spin, modes: None }),
        seeds: Seeds { run: 1, threads: 1, thread: 0 },
        slo: Duration::from_secs(30),
        warm_up: Duration::ZERO,
        measure: length,
        drain: Duration::from_secs(60),
        bin: None,
        pace,
        slips,
        server: Metered { pids: vec![std::process::id()], ..Metered::default() },
        tiers: Vec::new(),
        cut: Arc::new(EarlyEnd::never()),
    }
}

fn run(plan: &OpenPlan, start: impl Fn() -> Instant) -> Findings {
    begun(plan, start).expect("nothing cuts it short")
}

/// `None` where nothing was measured.
fn begun(plan: &OpenPlan, start: impl Fn() -> Instant) -> Option<Findings> {
    let server = server();
    let mut fleet = Fleet::connect(server.address(), 4, &none(), &[]).unwrap();
    open::run(&mut fleet, plan, start())
}

#[test]
fn a_generator_that_sleeps_sends_all_and_hears_all() {
    for pace in [Pace::Sleep, Pace::Spin] {
        let found = run(&plan(pace, false), now);
        let fates = found.tally.finish().fates;
        // The last falls due at the window's very end.
        assert!(fates.ok >= 59 && fates.total() == fates.ok, "{pace}: {fates:?}");
        assert_eq!((found.wrong_answers, found.slipped), (0, Duration::ZERO), "{pace}");
        assert!(found.counted[0].counts.is_some(), "{pace}: the server told its counts");
    }
}

#[test]
fn a_sleeper_is_woken_by_its_time_and_by_what_arrives() {
    let server = server();
    let mut fleet = Fleet::connect(server.address(), 1, &none(), &[]).unwrap();
    let soon = now() + 3 * MS;
    while now() < soon {
        fleet.wait(Pace::Sleep, soon);
    }
    let far = now() + LONG;
    fleet.ask_for_counts(now(), 7);
    let event = loop {
        fleet.wait(Pace::Sleep, far);
        if let Some((_, event)) = fleet.poll_event() {
            break event;
        }
    };
    assert_eq!(event.token, 7);
    assert!(now() < far, "the answer woke it");
}

/// Times that the calling thread gave up its core of its own accord.
fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("this thread");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).expect("a count")
}

/// Whatever else runs: a thread that waits is switched out, and one that looks without pause has no reason to be.
#[test]
fn a_generator_sleeps_between_requests_only_where_it_shall() {
    let of = |pace| {
        let before = sleeps();
        let found = run(&plan(pace, false), now);
        assert!(found.tally.finish().fates.ok > 0);
        sleeps() - before
    };
    let (spinning, sleeping) = (of(Pace::Spin), of(Pace::Sleep));
    // Both start a server and connect, which waits too; then there are sixty requests.
    assert!(sleeping >= spinning + 20, "{sleeping} against {spinning}");
}

/// A generator that begins a tenth of a second late: by the schedule all of that is latency.
#[test]
fn a_schedule_that_slips_hides_what_a_late_generator_did() {
    let late = 100 * MS;
    let begun = || Instant::from_nanos(now().as_nanos() - 100_000_000);
    let honest = run(&plan(Pace::Sleep, false), begun);
    assert_eq!(honest.slipped, Duration::ZERO);
    let first = honest.tally.finish().latency.quantile(1.0);
    assert!(first >= 90 * MS, "{first:?} from the intended time");
    let hiding = run(&plan(Pace::Sleep, true), begun);
    assert!(hiding.slipped >= late - 5 * MS, "{:?}", hiding.slipped);
    let fates = hiding.tally.finish().fates;
    // Nothing is caught up: what slipped beyond the window was never sent, and nothing is missing.
    assert!(fates.total() <= 41 && fates.ok == fates.total(), "{fates:?}");
}

#[test]
fn a_load_that_is_cut_short_has_what_was_due_before_its_end() {
    for pace in [Pace::Sleep, Pace::Spin] {
        let cut = Arc::new(EarlyEnd::when(|| true));
        let plan = OpenPlan { cut, ..plan_for(Duration::from_secs(60), pace, false) };
        let start = Cell::new(Instant::ZERO);
        let begin = || {
            start.set(now());
            start.get()
        };
        let found = begun(&plan, begin).expect("it has begun");
        let end_ns = plan.cut.at().expect("it was cut short").nanos_since(start.get());
        let due = plan.schedule.entries.iter().filter(|entry| entry.at < end_ns).count();
        let fates = found.tally.finish().fates;
        assert!(due > 0 && due < plan.schedule.entries.len(), "{pace}: {due}");
        assert_eq!((fates.ok, fates.total()), (due as u64, due as u64), "{pace}: {fates:?}");
        assert_eq!(found.intended, due as u64, "{pace}");
        assert!(found.counted[0].counts.is_some(), "{pace}: the server told its counts");
    }
}

#[test]
fn a_load_that_is_cut_short_before_its_window_has_measured_nothing() {
    let cut = Arc::new(EarlyEnd::when(|| true));
    let plan = OpenPlan { cut, ..plan(Pace::Sleep, false) };
    assert!(begun(&plan, || now() + LONG).is_none());
}
