//! Nodes with threads: what a wake-up, a hand-over and a held thread cost, as computed by hand.

use tailwater_sim::run;
use tailwater_stats::result::{Experiment, LatencyReading, Run};
use tailwater_workload::Scenario;

/// One request in a millisecond: each finds everything asleep.
const UNLOADED: &str = r#"
slo = "10ms"
warm_up = "10ms"
duration = "50ms"
repetitions = 1
clients.count = 1
demand = { requests_per_second = 1_000, arrivals = "periodic" }
capacity.fixed_rps = 10_000
server.service = { distribution = "constant", mean = "10us" }
"#;

const LEAVES: &str = r#"
slo = "10ms"
warm_up = "10ms"
duration = "100ms"
repetitions = 1
clients.count = 64
demand.of_capacity = 0.5
capacity = { in_flight = 64, duration = "100ms" }
[[server.path]]
probability = 1.0
steps = [{ compute = "2us" }, { call = "leaf" }]
[[tier]]
name = "leaf"
nodes = 4
service = { distribution = "constant", mean = "200us" }
"#;

fn parsed(text: &str) -> Scenario {
    Scenario::parse("scenarios/test.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn played(text: &str) -> Experiment {
    run(&parsed(text)).unwrap_or_else(|failure| panic!("{failure}"))
}

/// The median of a node with so many cores, in µs.
fn unloaded_us(cores: u32, model: &str) -> f64 {
    let text = format!(
        "sim.cores = {cores}\ncontroller = {{ name = \"none\", model = \"{model}\" }}\n{UNLOADED}"
    );
    only(&played(&text)).latency.p50_us
}

fn only(found: &Experiment) -> &Run {
    let [run] = &found.runs[..] else { panic!("{} runs", found.runs.len()) };
    run
}

fn capacity_rps(model: &str) -> f64 {
    let lines = format!("controller.name = \"none\"\nserver.model = \"{model}\"\nsim.cores = 8\n");
    played(&format!("{lines}{LEAVES}")).capacity_rps
}

/// Histograms keep three digits.
fn is_near(found_us: f64, wanted_us: f64) -> bool {
    (found_us - wanted_us).abs() < 0.5
}

#[test]
fn unloaded_models_differ_by_their_wake_ups_and_hand_overs() {
    let aib_us = unloaded_us(2, "aib");
    // The network, the loop's wake-up, receiving, computing, sending.
    assert!(is_near(aib_us, 25.0 + 26.0 + 1.7 + 10.0 + 2.7), "{aib_us}");
    for (cores, model, more_us) in [
        (1, "aib", 0.0),
        (2, "sib", 0.0),
        (2, "aip", -26.0),
        (2, "sip", -26.0),
        // Every gap is longer than that, and then shorter.
        (2, "aib@spin:100us", 0.0),
        (2, "aib@spin:5ms", -26.0),
        // To the worker, which is woken, and back to the loop, which is woken again.
        (2, "adb:4", 2.0 * (10.0 + 26.0)),
        (2, "sdb:4", 2.0 * (10.0 + 26.0)),
        // The poller has a core and finds what comes back; the worker sleeps all the same.
        (2, "adp:4", -26.0 + 10.0 + 26.0),
        // Of one core each takes its turn.
        (1, "adb:4", 2.0 * 2.5),
        (1, "adp:4", -26.0 + 2.0 * 2.5),
    ] {
        let found_us = unloaded_us(cores, model) - aib_us;
        assert!(is_near(found_us, more_us), "{cores} cores, {model}: {found_us}, not {more_us}");
    }
}

/// The same with so many calls at once between two pieces of work.
fn calling_us(cores: u32, model: &str, fan_out: u32) -> f64 {
    let service = "server.service = { distribution = \"constant\", mean = \"10us\" }";
    let text = format!(
        "controller = {{ name = \"none\", model = \"{model}\" }}\nsim.cores = {cores}\n{}\
         server.path = {{ probability = 1.0, steps = [{{ compute = \"5us\" }}, \
         {{ call = \"leaf\", fan_out = {fan_out} }}, {{ compute = \"5us\" }}] }}\n\
         tier = [{{ name = \"leaf\", nodes = {fan_out}, service = \"1us\" }}]\n",
        UNLOADED.replace(service, "")
    );
    only(&played(&text)).latency.p50_us
}

#[test]
fn a_responder_costs_two_hand_overs_and_two_wake_ups_for_each_fan() {
    for (cores, model, without, more_us) in [
        // The responder is woken for the fan, and the request's own thread once it has the answer.
        (2, "aib+1", "aib", 2.0 * (10.0 + 26.0)),
        (3, "adb:1+1", "adb:1", 2.0 * (10.0 + 26.0)),
        // Both look all the time.
        (2, "aip+1", "aip", 0.0),
        // Of one core each takes its turn.
        (1, "aib+1", "aib", 2.0 * 2.5),
    ] {
        let found_us = calling_us(cores, model, 1) - calling_us(cores, without, 1);
        assert!(is_near(found_us, more_us), "{cores} cores, {model}: {found_us}, not {more_us}");
    }
}

#[test]
fn fork_and_join_costs_a_hand_over_for_each_call_and_two_wake_ups_in_a_row() {
    for (cores, model, without, fan_out, more_us) in [
        // A thread is woken for the call, and the request's own once that has the answer.
        (2, "sib+1", "sib", 1, 2.0 * (10.0 + 26.0)),
        (3, "sdb:1+1", "sdb:1", 1, 2.0 * (10.0 + 26.0)),
        // The loop polls, but not while it is held. Threads of the crew are always parked.
        (2, "sip+1", "sip", 1, 2.0 * (10.0 + 26.0)),
        // Both are woken for their calls, which they send and hear side by side: one after the other without.
        (3, "sib+2", "sib", 2, 3.0 * 10.0 + 2.0 * 26.0 - 2.7 - 1.7),
        // A larger crew is no dearer.
        (3, "sib+8", "sib", 2, 3.0 * 10.0 + 2.0 * 26.0 - 2.7 - 1.7),
        // Of one core each takes its turn.
        (1, "sib+1", "sib", 1, 2.0 * 2.5),
    ] {
        let found_us = calling_us(cores, model, fan_out) - calling_us(cores, without, fan_out);
        assert!(is_near(found_us, more_us), "{cores} cores, {model}: {found_us}, not {more_us}");
    }
}

/// Of two calls the second waits for the one thread, which first waits for the answer to the other.
#[test]
fn a_crew_that_is_smaller_than_the_fan_makes_calls_one_after_the_other() {
    // The network, the leaf's wake-up, receiving, computing, sending.
    let call_us = 25.0 + 26.0 + 1.7 + 1.0 + 2.7;
    let found_us = calling_us(3, "sib+1", 2) - calling_us(3, "sib", 2);
    // One wake-up for the calls, one for the second answer, one for the request's own thread.
    let more_us = call_us + 2.0 * 10.0 + 3.0 * 26.0;
    assert!(is_near(found_us, more_us), "{found_us}, not {more_us}");
}

/// A request each 20 ms, whose calls take 8 ms each. One of four faults at least finds a thread that waits for one: a
/// thread that waited on would serve the request of no later one.
#[test]
fn a_leaf_that_dies_keeps_no_thread_of_the_crew_waiting() {
    for (model, nodes, struck) in
        [("sib+1", 1, "node = 1"), ("sib+2", 2, "node = 1"), ("sib+1", 2, "")]
    {
        let faults = [100, 145, 190, 235].map(|at_ms| {
            let head = "[[fault]]\nkind = \"server-restart\"\ntier = \"leaf\"";
            format!("{head}\n{struck}\nat = \"{at_ms}ms\"\nfor = \"5ms\"\n")
        });
        let text = format!(
            "slo = \"1s\"\nwarm_up = \"10ms\"\nduration = \"1s\"\nrepetitions = 1\n\
             clients.count = 1\n\
             demand = {{ requests_per_second = 50, arrivals = \"periodic\" }}\n\
             capacity.fixed_rps = 10_000\nsim.cores = 2\n\
             controller = {{ name = \"none\", model = \"{model}\" }}\n\
             [[server.path]]\nprobability = 1.0\n\
             steps = [{{ call = \"leaf\", fan_out = {nodes} }}]\n\
             [[tier]]\nname = \"leaf\"\nnodes = {nodes}\nservice = \"8ms\"\n{}",
            faults.concat()
        );
        let found = played(&text);
        let run = only(&found);
        let unavailable = run.shed_by_reason.get("unavailable").copied().unwrap_or(0);
        assert!(unavailable > 0, "{model}, {nodes} leaves: {:?}", run.shed_by_reason);
        let served = run.fates.ok + run.fates.late;
        assert_eq!(run.fates.lost, 0, "{model}, {nodes} leaves: {:?}", run.fates);
        assert!(served > run.fates.total() / 2, "{model}, {nodes} leaves: {:?}", run.fates);
    }
}

/// Of one core: each call takes two turns of its own.
#[test]
fn fork_and_join_is_slower_than_threads_that_make_their_calls_themselves() {
    let text = include_str!("../../../scenarios/threads-forked.toml");
    let text = text.replace("[0.1, 0.4, 0.6]", "0.1").replace("repetitions = 3", "repetitions = 1");
    let scenario = parsed(&text);
    assert_eq!((scenario.needs_simulator(), scenario.needs_sockets()), (None, None));
    let found = run(&scenario).unwrap_or_else(|failure| panic!("{failure}"));
    let at = |model: &str| {
        let profile = format!("model={model}]");
        let is_it = |run: &&Run| run.asked.profile.ends_with(&profile);
        found.runs.iter().find(is_it).unwrap_or_else(|| panic!("no run of {model}"))
    };
    for (forked, without) in [("sib+8", "sib"), ("sdb:4+8", "sdb:4")] {
        let (forked_us, without_us) = (at(forked).latency.p50_us, at(without).latency.p50_us);
        assert!(forked_us > without_us + 2.0 * 2.5, "{forked}: {forked_us}, not {without_us} µs");
    }
}

#[test]
fn a_scenario_says_what_threads_cost() {
    let model = "controller = { name = \"none\", model = \"adb:1\" }\n";
    let costs = "sim = { cores = 2, wake_up = \"3us\", hand_over = \"2us\" }\n";
    let found_us = only(&played(&format!("{costs}{model}{UNLOADED}"))).latency.p50_us;
    assert!(is_near(found_us, 25.0 + 1.7 + 10.0 + 2.7 + 3.0 * 3.0 + 2.0 * 2.0), "{found_us}");
}

/// Each request ends one sleep. A fifth of these lasts 80 µs, the others 5 µs.
#[test]
fn wake_ups_may_vary() {
    let wakes = "sim.wake_up = { distribution = \"bimodal\", mean = \"20us\" }\n";
    let model = "controller = { name = \"none\", model = \"aib\" }\n";
    let found = played(&format!("{wakes}{model}{UNLOADED}"));
    let awake_us = 25.0 + 1.7 + 10.0 + 2.7;
    let LatencyReading { p50_us, p99_us, .. } = only(&found).latency;
    assert!(is_near(p50_us, awake_us + 5.0) && is_near(p99_us, awake_us + 80.0), "{found:?}");
}

/// A held thread has one request at a time, so that there are as many as threads: one under `sib`.
#[test]
fn threads_that_are_held_bound_what_is_under_way() {
    let [inline, four, asynchronous] = ["sib", "sdb:4", "aib"].map(capacity_rps);
    let alone = four / inline;
    assert!((2.5..4.5).contains(&alone), "four workers do {alone} times as much");
    assert!(asynchronous > 1.2 * four, "{asynchronous} and {four} requests/s");
}

/// One thread computes on one core, however many there are.
#[test]
fn cores_without_threads_stay_idle() {
    let text = |model: &str| {
        format!(
            "controller.name = \"none\"\nserver.model = \"{model}\"\nsim.cores = 5\n{}",
            UNLOADED
                .replace("capacity.fixed_rps = 10_000", "capacity.in_flight = 64")
                .replace("10us", "100us")
        )
    };
    let [one, four] = ["aib", "adb:4"].map(|model| played(&text(model)).capacity_rps);
    assert!((0.97..1.03).contains(&(one * 104.4e-6)), "{one} requests/s on one of five cores");
    assert!(four > 3.5 * one && four < 4.1 * one, "{four} requests/s, and {one} on the loop alone");
}

fn assert_undoubted(found: &Experiment) {
    for run in &found.runs {
        let (served, bound) = (run.rates.goodput_rps, run.yardstick.bound_rps);
        assert_eq!(
            run.verdict.in_doubt, None,
            "{}: {served} requests/s of {bound}",
            run.asked.profile
        );
        assert!(served > 0.8 * bound, "{}: {served} requests/s of {bound}", run.asked.profile);
    }
}

/// Capacity is that of the server's model, which a controller's own model may exceed: three times it is asked here, and
/// done by four workers.
#[test]
fn each_runs_bound_is_that_of_its_own_model() {
    let text = UNLOADED
        .replace("demand = { requests_per_second = 1_000, arrivals = \"periodic\" }", "")
        .replace("capacity.fixed_rps = 10_000", "capacity.in_flight = 64")
        .replace("clients.count = 1", "clients.count = 64")
        .replace("mean = \"10us\"", "mean = \"100us\"");
    let text = format!(
        "server.model = \"aib\"\nsim.cores = 5\ndemand.requests_per_second = 28_000\n{text}\
         [[controller]]\nname = \"aqm-only\"\n\
         [[controller]]\nname = \"aqm-only\"\nmodel = \"adb:4\"\n"
    );
    assert_undoubted(&played(&text));
}

/// On sockets four nodes that are pinned to one core share it. Simulated ones have a core each.
#[test]
fn pins_of_a_tier_are_no_bound_on_what_is_simulated() {
    let demand = "demand.of_capacity = 0.5";
    let text = LEAVES
        .replace(demand, "demand.of_capacity = 0.95")
        .replace("nodes = 4", "nodes = 4\npin = 1");
    let lines = "controller.name = \"none\"\nserver.model = \"aib\"\n";
    assert_undoubted(&played(&format!("{lines}{text}")));
}

/// Answers to calls share a packet where they waited for their thread together, whatever its loop does meanwhile. Each
/// of these comes alone.
#[test]
fn answers_that_come_one_by_one_share_nothing() {
    let calls = ["{ call = \"leaf\" }"; 6].join(", ");
    let p50_us = |coalescing: bool| {
        let service = "server.service = { distribution = \"constant\", mean = \"10us\" }";
        let text = format!(
            "controller = {{ name = \"none\", model = \"adb:1\" }}\n\
             sim = {{ cores = 2, coalescing = {coalescing} }}\n{}\
             server.path = {{ probability = 1.0, steps = [{calls}] }}\n\
             tier = [{{ name = \"leaf\", service = \"1us\" }}]\n",
            UNLOADED.replace(service, "")
        );
        only(&played(&text)).latency.p50_us
    };
    let (apart, shared) = (p50_us(false), p50_us(true));
    assert!(is_near(shared, apart), "{shared} µs with shared packets, {apart} without");
}

#[test]
fn without_a_model_nothing_sleeps() {
    let text = format!("controller.name = \"none\"\n{UNLOADED}");
    let found_us = only(&played(&text)).latency.p50_us;
    assert!(is_near(found_us, 25.0 + 1.7 + 10.0 + 2.7), "{found_us}");
}

#[test]
fn polling_is_first_at_low_load_and_in_line_blocking_saturates_first() {
    let mut scenario = parsed(include_str!("../../../scenarios/threads.toml"));
    scenario.repetitions = 1;
    let found = run(&scenario).unwrap_or_else(|failure| panic!("{failure}"));
    let at = |model: &str, ratio: f64| {
        let profile = format!("model={model}]");
        let is_it = |run: &&Run| {
            run.asked.profile.ends_with(&profile) && (run.asked.demand_ratio - ratio).abs() < 0.01
        };
        found.runs.iter().find(is_it).unwrap_or_else(|| panic!("no run of {model}"))
    };
    for polling in ["aip", "sip"] {
        let blocking = polling.replace('p', "b");
        assert!(
            at(polling, 0.1).latency.p50_us + 20.0 < at(&blocking, 0.1).latency.p50_us,
            "{polling}"
        );
    }
    let in_time = |run: &Run| run.rates.goodput_rps / run.rates.offered_rps;
    assert!(in_time(at("sib", 0.4)) < 0.5 && in_time(at("aib", 0.4)) > 0.99);
}

/// One second of each run, and a small pool beside the others.
fn thesis() -> Experiment {
    let text = include_str!("../../../scenarios/paper/mutune.toml");
    let text = text.replace("duration = \"4s\"", "duration = \"1s\"");
    let text = text.replace("repetitions = 3", "repetitions = 1");
    let text = text + "\n[[controller]]\nname = \"none\"\nmodel = \"sdb:4\"\n";
    let wakes = |_: &str| Ok(include_str!("../../../scenarios/paper/mutune-wake-ups.csv").into());
    let scenario = Scenario::parse_with("scenarios/paper/mutune.toml", &text, &wakes);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Chapter III of the thesis, §3.6.1: which model is best at which load. The end says what of it is not found.
#[test]
fn the_thesis_machine_shows_its_crossovers_but_those_of_pollers_at_high_load() {
    let found = thesis();
    let at = |model: &str, rate: f64| {
        let profile = format!("model={model}]");
        let is_it = |run: &&Run| {
            run.asked.profile.ends_with(&profile) && (run.rates.asked_rps - rate).abs() < 1.0
        };
        found.runs.iter().find(is_it).unwrap_or_else(|| panic!("no run of {model} at {rate}"))
    };
    let bears = |model: &str, rate: f64| {
        let run = at(model, rate);
        run.rates.goodput_rps / run.rates.offered_rps > 0.99
    };
    let p50 = |model: &str, rate| at(model, rate).latency.p50_us;
    let p99 = |model: &str, rate| at(model, rate).latency.p99_us;
    // Figure 3.11 at low load, and Figure 3.8 by medians.
    let order = ["aip+1", "adp:4+4", "aib+1", "adb:4+4"].map(|model| p50(model, 256.0));
    assert!(order.is_sorted(), "{order:?}");
    assert!(["sib", "sdb:50", "sdp:50"].iter().all(|it| p50("sip", 256.0) < p50(it, 256.0)));
    // The one in-line thread of SIP is too few from some load on, that of AIP bears more, and pools bear most.
    for (model, most, too_much) in
        [("sip", 1_024.0, 4_096.0), ("sdb:4", 4_096.0, 8_192.0), ("aip+1", 10_000.0, 20_000.0)]
    {
        assert!(bears(model, most) && !bears(model, too_much), "{model}");
    }
    for model in ["sdb:50", "sdp:50", "adb:4+4", "adp:4+4"] {
        assert!(bears(model, 20_000.0), "{model}");
    }
    // SDP at intermediate loads; SIB is never better.
    for rate in [1_024.0, 4_096.0] {
        let best = ["sib", "sip", "sdb:50"].iter().all(|it| p99("sdp:50", rate) < p99(it, rate));
        assert!(best && p50("sdp:50", rate) < p50("sib", rate), "{rate}");
    }
    // At high load dispatching is better than one in-line thread.
    assert!(p99("adb:4+4", 10_000.0) < p99("aip+1", 10_000.0).min(p99("aib+1", 10_000.0)));
    // Not as in the thesis: polling stays better than blocking at the highest load, and SIP's tail is not the best at low load.
    assert!(p99("sdp:50", 10_000.0) < p99("sdb:50", 10_000.0));
    assert!(p99("adp:4+4", 20_000.0) < p99("adb:4+4", 20_000.0));
    assert!(p99("sip", 256.0) > p99("sdp:50", 256.0));
}

#[test]
fn what_threads_do_on_sockets_alone_is_refused() {
    let refused = |text: &str| {
        let error = parsed(text).needs_sockets();
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    let classes = "controller.name = \"none\"\nserver.model = \"aib\"\nserver.classes = true\n";
    let said = refused(&format!("{classes}{UNLOADED}"));
    assert!(said.contains("3:18: the simulator's threads know no methods"), "{said}");
    for played in ["sdp:2", "aib+2", "adp:1+1", "sib+2", "sdb:2+2"] {
        let text = format!("controller.name = \"none\"\nserver.model = \"{played}\"\n{UNLOADED}");
        assert_eq!(refused(&text), "", "{played}");
    }
}
