//! The efficiency law where delay is a poor guide: one of two locks is contended (Protego's Fig. 1 in small).
//!
//! Each lock serves 100,000 requests a second, and four of five take the same one: it is full at 125,000 in all, the
//! other at 500,000. From then on 200,000 are served at most, and all that comes more is dropped. The core takes a million.
//! Once it is full, who is handed a lock waits for what it is at: a tenth of the locks' time is lost then.

use tailwater_sim::run;
use tailwater_stats::result::Run;
use tailwater_workload::Scenario;

const TWO_LOCKS: &str = include_str!("../../../../scenarios/ablations/two-locks.toml");

/// This controller, as a table in line has it, at so many requests per second, for 0.3 s.
fn at(rps: f64, controller: &str) -> Run {
    let (scene, _) = TWO_LOCKS.split_once("[[controller]]").expect("controllers stand last");
    let demand = rps.to_string();
    let changes = [
        ("warm_up = \"8s\"", "warm_up = \"150ms\""),
        ("duration = \"1s\"", "duration = \"150ms\""),
        ("repetitions = 2", "repetitions = 1"),
        ("[100_000, 300_000, 600_000, 1_200_000]", &demand),
    ];
    let scene = changes.iter().fold(scene.to_owned(), |scene, (from, to)| {
        assert!(scene.contains(from), "the file has {from} no more");
        scene.replace(from, to)
    });
    let text = format!("controller = {controller}\n{scene}");
    let scenario = Scenario::parse("two-locks.toml", &text);
    let found = run(&scenario.unwrap_or_else(|error| panic!("{error}")));
    let mut found = found.unwrap_or_else(|failure| panic!("{failure}"));
    let of = (found.runs.len(), found.runs[0].asked.demand_ratio);
    assert_eq!(of, (1, rps / 200_000.0), "one run, at what was asked for");
    found.runs.remove(0)
}

const DELAY: &str = "{ name = \"breakwater\" }";
const EFFICIENCY: &str = "{ name = \"efficiency\" }";

fn shown(run: &Run) -> String {
    format!(
        "{}: {:.0} served, {:.3} dropped",
        run.asked.controller, run.rates.throughput_rps, run.refusals.drop_ratio
    )
}

/// Delay says nothing until the core is full, and by then four of five requests are dropped.
#[test]
fn the_pool_stops_where_more_load_buys_nothing() {
    let (delay, efficiency) = (at(1.2e6, DELAY), at(1.2e6, EFFICIENCY));
    let found = format!("{}, {}", shown(&efficiency), shown(&delay));
    assert!(efficiency.rates.throughput_rps > 0.85 * 200_000.0, "{found}");
    assert!(efficiency.rates.throughput_rps > 1.05 * delay.rates.throughput_rps, "{found}");
    assert!(efficiency.refusals.drop_ratio < delay.refusals.drop_ratio - 0.05, "{found}");
}

/// Of each request more, a fifth is served while only one lock is full. A threshold above a fifth stops there, with
/// half of the drops and most of the throughput.
#[test]
fn a_higher_threshold_trades_throughput_for_fewer_drops() {
    let strict = "{ name = \"efficiency\", override = { efficiency_threshold = 0.3 } }";
    let strict = at(1.2e6, strict);
    assert!((125_000.0..170_000.0).contains(&strict.rates.throughput_rps), "{}", shown(&strict));
    assert!(strict.refusals.drop_ratio < 0.45, "{}", shown(&strict));
}

#[test]
fn a_cap_on_drops_holds_the_pool_back_whatever_it_costs() {
    let capped = at(1.2e6, "{ name = \"efficiency\", override = { drop_cap = 0.2 } }");
    assert!(
        capped.refusals.drop_ratio < 0.3 && capped.rates.throughput_rps > 100_000.0,
        "{}",
        shown(&capped)
    );
}

#[test]
fn while_next_to_nothing_is_dropped_it_is_breakwater() {
    let (delay, efficiency) = (at(60_000.0, DELAY), at(60_000.0, EFFICIENCY));
    assert_eq!((efficiency.fates, efficiency.latency.p99_us), (delay.fates, delay.latency.p99_us));
    assert!(efficiency.rates.throughput_rps > 58_000.0, "{}", shown(&efficiency));
}

/// Also a record of what text and code of the authors do here. By the text an iteration lasts as long as a credit lies
/// at a client, and adds one: after 0.15 s the pool has only begun to grow.
#[test]
fn the_default_is_at_least_as_good_as_text_and_code() {
    let table = [
        (80_000.0, [0.1, 0.95, 0.98], [0.02, 0.02, 0.02]),
        (300_000.0, [0.55, 0.75, 0.75], [0.5, 0.5, 0.5]),
        (1_200_000.0, [0.7, 0.8, 0.85], [0.85, 0.82, 0.74]),
    ];
    for (offered, served_min, drops_max) in table {
        let reachable = f64::min(offered, 200_000.0);
        for (index, profile) in ["paper", "artifact", "default"].into_iter().enumerate() {
            let found =
                at(offered, &format!("{{ name = \"efficiency\", profile = \"{profile}\" }}"));
            let served = found.rates.throughput_rps / reachable;
            let well = served > served_min[index] && found.refusals.drop_ratio < drops_max[index];
            assert!(well, "{profile} at {offered}: {served:.3} of what can be, {}", shown(&found));
        }
    }
}
