//! A design of an accelerator as a path of a scenario: the simulated host gains what the model's equations say.

use tailwater_stats::result::Run;
use tailwater_tune::accelerator::file::parse;
use tailwater_tune::accelerator::{Case, Outcome};
use tailwater_workload::Scenario;

/// In µs: a request without its kernel, messages in and out included, of which one pair is the request's own.
const WORK: f64 = 30.0;
const MESSAGE: f64 = 1.0;
const RTT: f64 = 10.0;
/// A core turns to another thread.
const SWITCH: f64 = 2.0;
/// What a gain may be off by. A capacity counts whole requests of 300 ms, which is 0.05 %. A median has three digits of a
/// histogram, which is up to 0.1 %. A gain has two of either.
const OFF: f64 = 0.005;

/// Kernels in µs, and how many times as fast the accelerator is.
const KERNELS: [(f64, f64); 4] = [(5.0, 4.0), (20.0, 4.0), (60.0, 4.0), (20.0, 16.0)];
/// Too much for the one thread that a node has where the host has threads, unless the host waits.
const AS_SLOW: (f64, f64) = (60.0, 1.0);

/// What becomes of the kernel.
#[derive(Clone, Copy)]
enum Kernel {
    /// The host computes for so many µs.
    Here(f64),
    /// Another node does, and what the host does meanwhile is its threading model.
    There(f64),
}

/// The threads of the host's one core.
#[derive(Clone, Copy)]
struct Host<'a> {
    /// Empty where nothing sleeps.
    model: &'a str,
    /// In µs, from an end of a sleep until the thread runs, where the core is idle.
    wake_up: f64,
}

/// Its core does what there is to do.
const PLAIN: Host<'_> = Host { model: "", wake_up: 0.0 };

/// Such threads, which are awake at once.
fn awake(model: &str) -> Host<'_> {
    Host { model, wake_up: 0.0 }
}

/// So few requests that none waits for another. The capacity is that of many at once.
fn run(kernel: Kernel, host: Host<'_>) -> Run {
    let (step, tier) = match kernel {
        Kernel::Here(us) => (format!("{{ compute = \"{us}us\" }}"), String::new()),
        Kernel::There(us) => (
            "{ call = \"accelerator\" }".to_owned(),
            format!(
                "[[tier]]\nname = \"accelerator\"\ncores = 8\n\
                 service = {{ distribution = \"constant\", mean = \"{us}us\" }}\n"
            ),
        ),
    };
    let Host { model, wake_up } = host;
    let model =
        if model.is_empty() { String::new() } else { format!("server.model = \"{model}\"") };
    let compute = WORK - 2.0 * MESSAGE;
    let text = format!(
        r#"
slo = "10ms"
warm_up = "50ms"
duration = "500ms"
repetitions = 1
clients.count = 50
demand.requests_per_second = 200
capacity = {{ in_flight = 64, duration = "300ms" }}
controller = {{ name = "none" }}
{model}
[sim]
cores = 1
rtt = "{RTT}us"
receive = "{MESSAGE}us"
send = "{MESSAGE}us"
parse_every = "0s"
switch = "{SWITCH}us"
wake_up = "{wake_up}us"
hand_over = "0s"
[[server.path]]
probability = 1.0
steps = [{{ compute = "{compute}us" }}, {step}]
{tier}"#
    );
    let scenario =
        Scenario::parse("accelerator.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let found = tailwater_sim::run(&scenario).unwrap_or_else(|error| panic!("{error}"));
    found.runs[0].clone()
}

/// The model's answer for a kernel and its accelerator; costs are lines of its file.
fn model(design: &str, (kernel, a): (f64, f64), costs: &str) -> Outcome {
    let whole = WORK + kernel;
    let text = format!(
        "{design}\nclock = \"1GHz\"\nC = \"1e9 cycles\"\nalpha = {}\nn = {}\nA = {a}\n{costs}\n",
        kernel / whole,
        1e6 / whole
    );
    let read = |_: &str| Err("no file".to_owned());
    let described = parse("model.toml", &text, &read).unwrap_or_else(|error| panic!("{error}"));
    let case: &Case = &described.cases[0];
    case.outcome(&case.central()).unwrap_or_else(|error| panic!("{error}"))
}

fn design(threading: &str, strategy: &str) -> String {
    format!("design = \"{threading}\"\nstrategy = \"{strategy}\"")
}

/// Setting up an offload is a message to the accelerator, and one back.
fn set_up() -> String {
    format!("o0 = \"{}us\"\n", 2.0 * MESSAGE)
}

/// To the accelerator and back, with its own two messages, and the end of its thread's sleep.
fn way(wake_up: f64) -> String {
    format!("L = \"{}us\"\n", RTT + 2.0 * MESSAGE + wake_up)
}

/// The network moves the offload: no driver waits for that.
fn unacknowledged(threading: &str) -> String {
    design(threading, "off-chip") + "\nacknowledged = false"
}

fn assert_near(simulated: f64, predicted: f64, what: &str) {
    let off = (simulated / predicted - 1.0).abs();
    assert!(off < OFF, "{what}: {simulated}, predicted {predicted}");
}

/// How many times as much such a host serves as one without an accelerator, which needs no threads.
fn throughput((kernel, a): (f64, f64), host: Host<'_>) -> f64 {
    let without = run(Kernel::Here(kernel), PLAIN).yardstick.capacity_rps;
    run(Kernel::There(kernel / a), host).yardstick.capacity_rps / without
}

/// How many times as long a request takes without an accelerator, where it meets no other. The client's way is not the host's
/// time, and neither is the wake-up for the request itself.
fn latency((kernel, a): (f64, f64), host: Host<'_>) -> f64 {
    let without = run(Kernel::Here(kernel), PLAIN).latency.p50_us - RTT;
    without / (run(Kernel::There(kernel / a), host).latency.p50_us - RTT - host.wake_up)
}

#[test]
fn on_chip_throughput_grows_as_equation_6_1_says() {
    for (kernel, a) in KERNELS.into_iter().chain([AS_SLOW]) {
        let capacity = |kernel| run(Kernel::Here(kernel), PLAIN).yardstick.capacity_rps;
        let simulated = capacity(kernel / a) / capacity(kernel);
        let predicted = model(&design("sync", "on-chip"), (kernel, a), "");
        assert_near(simulated, predicted.speedup, &format!("kernel of {kernel} µs, A = {a}"));
    }
}

/// The one thread is held for as long as its call lasts, and its core does nothing else.
#[test]
fn a_host_that_waits_gains_as_equation_6_1_says() {
    let costs = set_up() + &way(0.0);
    for kernel in KERNELS.into_iter().chain([AS_SLOW]) {
        let predicted = model(&design("sync", "off-chip"), kernel, &costs);
        let what = format!("kernel and A: {kernel:?}");
        assert_near(throughput(kernel, awake("sib")), predicted.speedup, &what);
        let shorter = predicted.latency.expect("A is known");
        assert_near(latency(kernel, awake("sib")), shorter, &what);
    }
}

#[test]
fn a_host_that_goes_on_gains_as_equations_6_6_and_6_8_say() {
    for kernel in KERNELS.into_iter().chain([AS_SLOW]) {
        let what = format!("kernel and A: {kernel:?}");
        // The network moves it, at no cost to the host.
        let moved_free = model(&design("async", "off-chip"), kernel, &set_up());
        assert_near(throughput(kernel, PLAIN), moved_free.speedup, &what);
        let costs = set_up() + &way(0.0);
        let predicted = model(&design("async", "off-chip"), kernel, &costs).latency;
        assert_near(latency(kernel, PLAIN), predicted.expect("A is known"), &what);
    }
}

/// The equation has two switches for each offload, away and back. Where all workers offload, the switch away from one is the
/// switch back to another: one for each offload. The loop has its turn once while all workers but one have theirs.
#[test]
fn a_core_that_runs_others_gains_as_equation_6_3_says_with_the_switches_that_there_are() {
    for (workers, switches) in [(2, 2.0), (3, 3.0 / 2.0), (5, 5.0 / 4.0), (8, 8.0 / 7.0)] {
        for kernel in KERNELS {
            let costs = set_up() + &format!("o1 = \"{:.3}us\"\n", SWITCH * switches / 2.0);
            let predicted = model(&unacknowledged("sync-os"), kernel, &costs).speedup;
            let simulated = throughput(kernel, awake(&format!("sdb:{workers}")));
            let what = format!("{workers} workers, kernel and A: {kernel:?}");
            assert_near(simulated, predicted, &what);
        }
    }
}

/// Where the core is idle, the switch back is the end of a sleep.
#[test]
fn a_thread_that_sleeps_answers_as_equation_6_5_says() {
    let wake_up = 3.0;
    let costs = set_up() + &way(wake_up) + &format!("o1 = \"{wake_up}us\"\n");
    for kernel in KERNELS {
        let predicted = model(&unacknowledged("sync-os"), kernel, &costs).latency;
        let simulated = latency(kernel, Host { model: "sib", wake_up });
        let what = format!("kernel and A: {kernel:?}");
        assert_near(simulated, predicted.expect("A is known"), &what);
    }
}

/// A responder makes the call too. So there is a switch to it beside the equation's one back. Only a request that meets no
/// other pays for both.
#[test]
fn a_distinct_thread_costs_as_equations_6_3_and_6_5_say_with_two_switches() {
    let host = awake("aib+1");
    let o1 = format!("o1 = \"{}us\"\n", 2.0 * SWITCH);
    let distinct = unacknowledged("async-distinct");
    for (kernel, a) in KERNELS {
        let what = format!("kernel of {kernel} µs, A = {a}");
        let alone = |kernel, host| run(kernel, host).server.cpu_ns_per_request;
        let simulated = alone(Kernel::Here(kernel), PLAIN) / alone(Kernel::There(kernel / a), host);
        let predicted = model(&distinct, (kernel, a), &(set_up() + &o1));
        assert_near(simulated, predicted.speedup, &what);
        let slower = model(&distinct, (kernel, a), &(set_up() + &way(0.0) + &o1)).latency;
        assert_near(latency((kernel, a), host), slower.expect("A is known"), &what);
        // Where many are under way, a turn of a thread serves several.
        let goes_on = model(&design("async", "off-chip"), (kernel, a), &set_up()).speedup;
        let crowded = throughput((kernel, a), host);
        assert!(crowded > 0.98 * goes_on, "{what}: {crowded}, {goes_on} without switches");
    }
}
