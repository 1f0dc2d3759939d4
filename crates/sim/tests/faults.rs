//! What each fault does to a run, and that the run is as before when it is over.

use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::{Instant, Rate, Ratio};
use tailwater_sim::{
    Chosen, Claim, Direction, Fault, FaultKind, Intended, Link, Struck, Trace, World, simulate,
    simulate_with,
};
use tailwater_stats::result::Run;
use tailwater_workload::{Arrivals, DemandPlan, Stream};

use crate::common::{SERVICE, SMALL_RPS, ms, small, us};

fn fault(at: Duration, length: Duration, share: f64, kind: FaultKind) -> Fault {
    let clients = Chosen::Share(Ratio(share));
    Fault { at, length, clients, nodes: Struck::default(), way: None, kind }
}

/// Half a second at a share of the capacity with these faults, measured from the beginning.
fn play(share: f64, profile: &str, faults: &[Fault]) -> (Run, Trace) {
    let world = World {
        faults: faults.to_vec(),
        sample: Some(us(100)),
        warm_up: Duration::ZERO,
        measure: ms(500),
        ..small()
    };
    let plan = DemandPlan::constant(Rate(share * SMALL_RPS), world.measure, Arrivals::Poisson);
    let stream = Stream::new(&plan, world.clients, &SERVICE, world.seed).unwrap();
    let breakwater = Spec { profile: profile.into(), ..Spec::named("breakwater") };
    let mut build = |_| breakwater.build(&world.node.site(world.slo, world.seed)).unwrap();
    simulate_with(&world, &mut stream.map(Intended::from), &mut build)
        .unwrap_or_else(|broken| panic!("{broken}"))
}

fn sessions_at(trace: &Trace, at: Duration) -> u32 {
    let at = Instant::ZERO + at;
    trace.samples.iter().find(|sample| sample.at >= at).expect("it was sampled").sessions
}

fn share_in_time(run: &Run) -> f64 {
    run.fates.ok as f64 / run.fates.total() as f64
}

#[test]
fn crashed_clients_lose_what_they_ask_and_come_back_as_strangers() {
    let crash = fault(ms(200), ms(100), 0.3, FaultKind::ClientCrash);
    let (run, trace) = play(0.5, "default", &[crash]);
    // A third of a fifth of all requests, and the few that were under way.
    let lost = run.fates.lost as f64 / run.fates.total() as f64;
    assert!((0.055..0.065).contains(&lost), "{lost}");
    assert_eq!(sessions_at(&trace, ms(190)), 100);
    assert_eq!(sessions_at(&trace, ms(250)), 70);
    assert_eq!(sessions_at(&trace, ms(400)), 100);
    assert!(share_in_time(&run) > 0.92);
}

/// The first ends while the second lasts, whichever comes first in the list.
#[test]
fn faults_of_a_kind_that_overlap_are_as_one_that_is_as_long_as_both() {
    for kind in [
        FaultKind::ClientCrash,
        FaultKind::ServerRestart,
        FaultKind::ServerPause,
        FaultKind::Lie(Claim::Everything),
        FaultKind::Flood,
    ] {
        let of = |at, length| Fault {
            clients: Chosen::Numbers { first: 0, last: 39 },
            ..fault(ms(at), ms(length), 1.0, kind)
        };
        let (whole, _) = play(1.0, "default", &[of(100, 300)]);
        let (first, second) = (of(100, 100), of(150, 250));
        for both in [[first, second], [second, first]] {
            let (run, _) = play(1.0, "default", &both);
            assert_eq!(run.fates, whole.fates, "{both:?}");
            assert_eq!(run.shed_by_reason, whole.shed_by_reason, "{both:?}");
        }
    }
}

#[test]
fn a_restarted_server_knows_nobody_until_all_have_connected_again() {
    let restart = fault(ms(200), ms(20), 1.0, FaultKind::ServerRestart);
    let (run, trace) = play(0.5, "default", &[restart]);
    assert_eq!(sessions_at(&trace, ms(199)), 100);
    assert_eq!(sessions_at(&trace, ms(210)), 0);
    assert_eq!(sessions_at(&trace, ms(400)), 100);
    assert!(run.fates.lost > 0, "what was under way got no answer");
    assert!(trace.longest_unserved > ms(20));
    assert!((0.85..0.96).contains(&share_in_time(&run)), "{}", share_in_time(&run));
}

#[test]
fn a_paused_server_answers_nobody_and_goes_on_where_it_was() {
    let pause = fault(ms(200), ms(50), 1.0, FaultKind::ServerPause);
    let (run, trace) = play(0.5, "default", &[pause]);
    assert!(trace.longest_unserved >= ms(50));
    assert_eq!(run.fates.lost, 0);
    // A tenth of the time is lost, and little more.
    assert!((0.85..0.91).contains(&share_in_time(&run)), "{}", share_in_time(&run));
    assert_eq!(sessions_at(&trace, ms(490)), 100);
}

#[test]
fn slow_links_delay_those_they_strike_for_a_while() {
    let slow = FaultKind::SlowLink { factor: 2.0, extra: ms(1) };
    let (run, _) = play(0.5, "default", &[fault(ms(200), ms(100), 0.2, slow)]);
    let (calm, _) = play(0.5, "default", &[]);
    let late = share_in_time(&calm) - share_in_time(&run);
    assert!((0.035..0.045).contains(&late), "a fifth of a fifth is late: {late}");
    assert_eq!(run.fates.lost, 0);
}

#[test]
fn lossy_links_hold_messages_up_and_lose_none() {
    let lossy = FaultKind::LossyLink { loss: 0.01, timeout: ms(5) };
    let (run, _) = play(0.5, "default", &[fault(ms(100), ms(300), 1.0, lossy)]);
    assert_eq!(run.fates.lost, 0);
    let missed = 1.0 - share_in_time(&run);
    // 2 % of the round trips of three fifths of the time, and what stands behind them.
    assert!((0.010..0.05).contains(&missed), "{missed}");
}

/// Stamps come back to the clock that made them, budgets are spans, so nothing depends on what the
/// clocks show.
#[test]
fn clocks_that_are_seconds_off_and_drift_change_nothing_to_speak_of() {
    for profile in ["paper", "artifact", "default"] {
        let (right, _) = play(1.2, profile, &[]);
        let kind = FaultKind::Clock { offset: Duration::from_secs(2_000), drift_ppm: 500.0 };
        let (wrong, _) = play(1.2, profile, &[fault(Duration::ZERO, Duration::ZERO, 1.0, kind)]);
        let ratio = wrong.rates.goodput_rps / right.rates.goodput_rps;
        assert!((0.99..1.01).contains(&ratio), "{profile}: {ratio}");
    }
}

#[test]
fn who_lies_about_his_demand_takes_little_from_the_others() {
    let (honest, _) = play(1.2, "default", &[]);
    for claim in [Claim::Nothing, Claim::Everything] {
        let lie = fault(Duration::ZERO, ms(500), 0.2, FaultKind::Lie(claim));
        let (run, _) = play(1.2, "default", &[lie]);
        let ratio = run.rates.goodput_rps / honest.rates.goodput_rps;
        assert!(ratio > 0.9, "{claim:?}: {ratio} of the goodput");
    }
}

#[test]
fn a_flood_is_refused_and_does_not_stop_the_others() {
    let (calm, _) = play(1.0, "default", &[]);
    let (run, _) = play(1.0, "default", &[fault(ms(100), ms(300), 0.1, FaultKind::Flood)]);
    let refused = run.shed_by_reason.get("no-credit").copied().unwrap_or(0);
    assert!(refused > 0 && !calm.shed_by_reason.contains_key("no-credit"));
    let ratio = run.rates.goodput_rps / calm.rates.goodput_rps;
    assert!(ratio > 0.85, "{ratio} of the goodput");
}

#[test]
fn a_partition_cuts_named_clients_off_and_loses_none_of_their_requests() {
    let kind = FaultKind::Partition { timeout: ms(5) };
    let cut = Fault {
        clients: Chosen::Numbers { first: 0, last: 19 },
        ..fault(ms(200), ms(50), 1.0, kind)
    };
    let (run, trace) = play(0.5, "default", &[cut]);
    assert_eq!(run.fates.lost, 0, "what was sent is sent again");
    // A fifth of the clients for a tenth of the time, until the retransmission after 75 ms finds the link back.
    assert!((0.955..0.985).contains(&share_in_time(&run)), "{}", share_in_time(&run));
    assert!((ms(75)..ms(110)).contains(&trace.longest_unserved), "{:?}", trace.longest_unserved);
}

#[test]
fn one_way_is_enough_to_be_cut_off() {
    for way in [Direction::Requests, Direction::Answers] {
        let kind = FaultKind::Partition { timeout: ms(5) };
        let cut = Fault { way: Some(way), ..fault(ms(200), ms(50), 1.0, kind) };
        let (run, _) = play(0.5, "default", &[cut]);
        assert_eq!(run.fates.lost, 0, "{way:?}");
        assert!((0.75..0.91).contains(&share_in_time(&run)), "{way:?}: {}", share_in_time(&run));
    }
}

#[test]
fn answers_that_are_lost_hold_up_no_requests() {
    let kind = FaultKind::LossyLink { loss: 0.05, timeout: ms(2) };
    let lossy = |way| Fault { way, ..fault(ms(100), ms(300), 1.0, kind) };
    let in_time = |way| share_in_time(&play(0.5, "default", &[lossy(way)]).0);
    let (both, answers) = (in_time(None), in_time(Some(Direction::Answers)));
    assert!(both < answers && answers < 0.99, "{both} with both lossy, {answers} with one");
}

#[test]
fn a_slow_server_serves_what_its_speed_allows_and_is_as_fast_as_before_afterwards() {
    let slow = fault(ms(100), ms(200), 1.0, FaultKind::ServerSlow { speed: 0.5 });
    let (run, _) = play(0.8, "default", &[slow]);
    // Of 500 ms, 200 serve five eighths of what is asked for.
    let most = 1.0 - 0.4 * 3.0 / 8.0;
    let found = share_in_time(&run);
    assert!((most - 0.06..most + 0.01).contains(&found), "{found} of {most}");
    assert_eq!(run.fates.lost, 0);
    let (half, _) = play(0.4, "default", &[slow]);
    assert!(share_in_time(&half) > 0.97, "half the speed is enough: {}", share_in_time(&half));
}

/// The round trip that the server knows after one request at this time.
fn round_trip(at: Duration, faults: &[Fault]) -> Duration {
    let world = World {
        clients: 1,
        faults: faults.to_vec(),
        warm_up: Duration::ZERO,
        measure: ms(30),
        link: Link { delay: us(15), jitter: Duration::ZERO },
        ..small()
    };
    let spec = Spec::named("breakwater");
    let controller = spec.build(&world.node.site(world.slo, world.seed)).unwrap();
    let request = Intended { at: Instant::ZERO + at, client: 0, service: us(10) };
    let played = simulate(&world, &mut std::iter::once(request), &controller);
    let (run, _) = played.unwrap_or_else(|broken| panic!("{broken}"));
    assert_eq!(run.fates.total(), 1);
    controller.admission.gauges().rtt
}

/// WELCOME has a stamp, which the first request behind it returns. Connections that stand when a run begins have used theirs up.
#[test]
fn the_first_request_of_a_connection_that_is_made_again_tells_the_round_trip() {
    let restart = fault(us(200), us(100), 1.0, FaultKind::ServerRestart);
    let rtt = round_trip(ms(20), &[restart]);
    assert!((us(30)..us(40)).contains(&rtt), "{rtt:?}");
    assert_eq!(round_trip(ms(20), &[]), Duration::ZERO);
}
