//! Each controller's law around a server, without what a message costs: what is under test is the law alone.
//!
//! These are scenarios like any other. A controller's own tests script what it is told; how it fares in a closed loop
//! is asked here.

mod codel;
mod dagor;
mod efficiency;
mod gradient;
mod seda;
mod unmoved;
mod window;

use tailwater_sim::run;
use tailwater_stats::result::Run;
use tailwater_workload::Scenario;

/// One core of 10 µs of exponential service, 200 µs to answer in, and a network of 10 µs.
const SERVER: &str = r#"
slo = "200us"
seed = 7
repetitions = 1
[server]
enforce_deadlines = false
service = { distribution = "exponential", mean = "10us" }
[capacity]
fixed_rps = 100_000
[sim]
rtt = "10us"
receive = "0s"
send = "0s"
shed = "0s"
parse_every = "0s"
"#;
/// What the core does in a second.
const CAPACITY_RPS: f64 = 100_000.0;

/// The runs of these lines around the common server, one for each demand and controller.
fn runs(lines: &str) -> Vec<Run> {
    let scenario = Scenario::parse("scenarios/test.toml", &format!("{lines}{SERVER}"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario).unwrap_or_else(|failure| panic!("{failure}")).runs
}

/// The run of one controller, as a table in line has it, with so many clients at so many capacities.
fn steady(controller: &str, clients: u32, demand: f64, times: &str) -> Run {
    let text = format!(
        "{times}\nclients.count = {clients}\ndemand.of_capacity = {demand}\ncontroller = {controller}\n"
    );
    let [run] = <[Run; 1]>::try_from(runs(&text)).expect("one run");
    run
}

/// The same with steps, measured from the first on.
fn stepped(controller: &str, clients: u32, steps: &str, more: &str) -> Run {
    let text = format!(
        "{more}\nclients.count = {clients}\ndemand = {{ bin = \"10ms\", steps = [{steps}] }}\n\
         controller = {controller}\n"
    );
    let [run] = <[Run; 1]>::try_from(runs(&text)).expect("one run");
    run
}

/// Of all that was intended in the window: refused by the server, or given up at the client.
fn refused(run: &Run) -> f64 {
    (run.fates.shed + run.fates.expired) as f64 / run.fates.total() as f64
}

/// Goodput as a share of what was offered, in the bins of a stepped run from one to another.
fn in_time(run: &Run, from: usize, to: usize) -> f64 {
    let series = run.series.as_ref().expect("bins");
    let sum = |values: &[f64]| values[from..to].iter().sum::<f64>();
    sum(&series.goodput_rps) / sum(&series.offered_rps)
}

/// Goodput as a share of the capacity, in the same bins.
fn of_capacity(run: &Run, from: usize, to: usize) -> f64 {
    let series = run.series.as_ref().expect("bins");
    let sum: f64 = series.goodput_rps[from..to].iter().sum();
    sum / (to - from) as f64 / CAPACITY_RPS
}
