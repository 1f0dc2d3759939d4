//! A design of an accelerator as a path of a scenario: the simulated host gains what the model's equations say.

use tailwater_stats::result::Run;
use tailwater_tune::accelerator::file::parse;
use tailwater_tune::accelerator::{Case, Outcome};
use tailwater_workload::Scenario;

/// In µs: a request without its kernel, messages in and out included, of which one pair is the request's own.
const WORK: f64 = 30.0;
const MESSAGE: f64 = 1.0;
const RTT: f64 = 10.0;

/// What becomes of the kernel.
#[derive(Clone, Copy)]
enum Kernel {
    /// The host computes for so many µs.
    Here(f64),
    /// A node with many cores does, and the host goes on with other requests.
    There(f64),
}

/// One core that serves requests with such a kernel.
fn run(kernel: Kernel, demand: &str) -> Run {
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
    let compute = WORK - 2.0 * MESSAGE;
    let text = format!(
        r#"
slo = "10ms"
warm_up = "50ms"
duration = "500ms"
repetitions = 1
clients.count = 50
demand.requests_per_second = {demand}
capacity.fixed_rps = 20000
controller = {{ name = "none" }}
sim = {{ cores = 1, rtt = "{RTT}us", receive = "{MESSAGE}us", send = "{MESSAGE}us", parse_every = "0s" }}
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

/// The model's answer for a kernel of so many µs and an accelerator that is so many times as fast.
fn model(design: &str, kernel: f64, a: f64, costs: &str) -> Outcome {
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

/// Simulated and predicted gains: of instructions of the host's own, and of another node.
fn gains(kernel: f64, a: f64) -> [(f64, f64); 2] {
    let time = |kernel| run(kernel, "2000").server_cpu_ns_per_request;
    let before = time(Kernel::Here(kernel));
    let on_chip = model("design = \"sync\"\nstrategy = \"on-chip\"", kernel, a, "");
    // Setting up an offload is a message to the accelerator, and one back.
    let costs = format!("o0 = \"{}us\"", 2.0 * MESSAGE);
    let off_chip = model("design = \"async\"\nstrategy = \"off-chip\"", kernel, a, &costs);
    [
        (before / time(Kernel::Here(kernel / a)), on_chip.speedup),
        (before / time(Kernel::There(kernel / a)), off_chip.speedup),
    ]
}

#[test]
fn throughput_grows_as_equations_6_1_and_6_6_say() {
    for (kernel, a) in [(5.0, 4.0), (20.0, 4.0), (60.0, 4.0), (20.0, 16.0), (60.0, 1.0)] {
        for (simulated, predicted) in gains(kernel, a) {
            let off = (simulated / predicted - 1.0).abs();
            assert!(
                off < 0.01,
                "kernel of {kernel} µs, A = {a}: {simulated}, predicted {predicted}"
            );
        }
    }
}

#[test]
fn latency_shrinks_as_equation_6_8_says() {
    let (kernel, a) = (60.0, 4.0);
    // So few that none waits for another. The client's way is not the host's time.
    let latency = |kernel| run(kernel, "200").p50_us - RTT;
    let simulated = latency(Kernel::Here(kernel)) / latency(Kernel::There(kernel / a));
    // To the accelerator and back, and its own two messages.
    let costs = format!("o0 = \"{}us\"\nL = \"{}us\"", 2.0 * MESSAGE, RTT + 2.0 * MESSAGE);
    let outcome = model("design = \"async\"\nstrategy = \"off-chip\"", kernel, a, &costs);
    let predicted = outcome.latency.expect("A is known");
    assert!((simulated / predicted - 1.0).abs() < 0.02, "{simulated}, predicted {predicted}");
}
