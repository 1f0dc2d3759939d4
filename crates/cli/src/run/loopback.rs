//! The driver of real sockets: starts servers and load in processes of their own, and sleeps.

use super::course::Course;
use super::deployment::{self, Deployment, Flags};
use super::flags;
use super::generator::perform;
use super::unchanged;
use crate::failure::Failure;
use crate::job::{Asks, Job, Kind, Loses, OpenJob, Outcome, Waiting, Watching};
use crate::machine::manifest;
use crate::scenarios::Said;
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::{Nanos, Rate};
use tailwater_experiment::{
    ClosedLoop, Cost, Driver, OpenRun, Played, TierCores, capacity, widest,
};
use tailwater_load::Spinner;
use tailwater_program::interrupt::Interrupt;
use tailwater_stats::result::{DataUsed, Manifest, Run};
use tailwater_workload::scenario::{ControllerSpec, FaultKind, Model, Placement, Server};
use tailwater_workload::{Scenario, Work};

/// Plays a scenario's pieces on this machine.
pub(super) struct Loopback<'a> {
    scenario: &'a Scenario,
    /// The same for servers and generators.
    said: Said,
    /// The data that the result names.
    used: &'a [DataUsed],
    interrupt: &'a Interrupt,
    /// The spinning speed, the same for all servers that are compared.
    calibration: f64,
    /// Servers so far: each has a socket of its own.
    servers: u32,
    /// What is watched of what the operating system does in runs.
    watching: Watching,
}

impl<'a> Loopback<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        (said, used): (Said, &'a [DataUsed]),
        interrupt: &'a Interrupt,
    ) -> Self {
        let calibration = Spinner::calibrate().speed();
        Self {
            scenario,
            said,
            used,
            interrupt,
            calibration,
            servers: 0,
            watching: Watching::Nothing,
        }
    }

    /// The same, with what the operating system does in runs where that is asked for.
    pub(super) fn watching(mut self, watching: Watching) -> Self {
        self.watching = watching;
        self
    }

    fn start_server(
        &mut self,
        of: &Of,
        rules: &[&str],
        of_nodes: &[&str],
    ) -> Result<Deployment, Failure> {
        let first = self.servers;
        self.servers += self.scenario.server.replicas;
        let mut what = flags::what(&of.spec, of.slo, self.calibration);
        what.extend(rules.iter().map(|&rule| rule.to_owned()));
        let places = flags::places(self.scenario, of.model, first);
        let of_nodes = of_nodes.iter().map(|&flag| flag.to_owned()).collect();
        let flags = Flags { what, places, of_nodes };
        Deployment::start((self.scenario, &self.said), &flags, self.interrupt)
    }

    /// Does a job on the servers, while their faults take their course, and says which of them ended meanwhile. Where the
    /// job failed too, it was perhaps because of that.
    fn perform(
        &self,
        course: &mut Course<'_>,
        of: Of,
        kind: Kind,
    ) -> Result<(Outcome, Option<String>), Failure> {
        let job = self.job(course.deployment(), of, kind);
        let performed = perform(&job, course, self.interrupt);
        // By now each process has opened its part.
        unchanged::check(self.said.data(), self.used)?;
        match (performed, course.deployment().trouble()) {
            (Ok(outcome), ended) => Ok((outcome, ended)),
            (Err(failure), Some(ended)) => Err(failure.and(&ended)),
            (Err(failure), None) => Err(failure),
        }
    }

    fn job(&self, server: &Deployment, of: Of, kind: Kind) -> Job {
        let clients = &self.scenario.clients;
        let changed = self.scenario.server.changes.iter().map(|change| change.model);
        Job {
            addresses: server.addresses(),
            clients: of.clients,
            threads: clients.threads,
            cores: clients.cores.iter().map(|&core| core as usize).collect(),
            pace: clients.pace,
            scheduling: clients.scheduling,
            controller: of.spec,
            slo_ns: of.slo.nanos(),
            seed: of.seed,
            asks: Asks::Scenario(self.said.clone()),
            server: server.front(),
            tiers: server.tiers(),
            loses: match kind {
                Kind::Open(_) => loses(self.scenario),
                Kind::Closed { .. } => Loses::default(),
            },
            server_waits: Waiting::of(changed.chain([of.model])),
            watching: self.watching,
            kind,
        }
    }
}

fn cost(server: &Server, controller: &ControllerSpec, capacity: Rate) -> Cost {
    // Loops keep their connections; workers take from one queue.
    let shape = |model: Model| match model.placement {
        Placement::Inline => (server.loops, server.loops),
        Placement::Workers(workers) => (workers as u32, 1),
    };
    let first = controller.model.unwrap_or(server.model);
    let (cores, queues) = widest(first, &server.changes, shape);
    // Capacity was measured with the server's own.
    let measured_cores = shape(server.model).0 * server.replicas;
    let sleeps = server.work == Work::Sleep;
    let computing = if sleeps { Duration::ZERO } else { server.service.mean };
    Cost {
        cores,
        queues,
        replicas: server.replicas,
        sleeps,
        overhead_ns: capacity::overhead_ns(capacity, measured_cores, computing),
        path_overhead_ns: 0.0,
        // Each has one loop.
        tier_cores: TierCores::Pinned,
        base: Duration::ZERO,
    }
}

/// What faults take away in a run, so that it is no trouble.
fn loses(scenario: &Scenario) -> Loses {
    // A process that stands still for long is given up by those that are connected to it.
    let cuts = |kind| matches!(kind, FaultKind::ServerRestart | FaultKind::ServerPause);
    Loses {
        counts: deployment::takes(scenario, None),
        // Clients are connected to the front alone.
        connections: scenario.faults.iter().any(|it| it.nodes.tier.is_none() && cuts(it.kind)),
    }
}

/// The clients of a piece, their controller, and the server's objective and threading model.
struct Of {
    spec: Spec,
    slo: Duration,
    model: Model,
    clients: u32,
    seed: u64,
}

impl Driver for Loopback<'_> {
    type Failure = Failure;

    fn name(&self) -> &'static str {
        "loopback"
    }

    fn manifest(&self) -> Manifest {
        manifest(&self.scenario.clients)
    }

    fn drifts(&self) -> bool {
        true
    }

    /// What capacity says beside the handler's own time. The network is part of that: it costs cores here.
    fn cost(&self, controller: &ControllerSpec, capacity: Rate) -> Cost {
        cost(&self.scenario.server, controller, capacity)
    }

    fn closed_loop(&mut self, ask: &ClosedLoop) -> Result<Vec<(u32, f64)>, Failure> {
        let (spec, slo) = (Spec::named("none"), self.scenario.slo[0]);
        let model = self.scenario.server.model;
        let of = Of { spec, slo, model, clients: ask.clients, seed: ask.seed };
        let mut server = self.start_server(&of, &["--locks", "plain"], &["--uncontrolled"])?;
        let kind = Kind::Closed {
            in_flight: ask.in_flight.clone(),
            settle_ns: ask.settle.nanos(),
            measure_ns: ask.measure.nanos(),
        };
        match self.perform(&mut Course::calm(&mut server), of, kind)? {
            (_, Some(trouble)) => {
                Err(Failure::work(format!("no capacity was measured: {trouble}")))
            }
            (Outcome::Closed { points }, None) => Ok(points),
            _ => Err(Failure::work("the load generator measured no capacity")),
        }
    }

    fn open_run(&mut self, ask: &OpenRun<'_>) -> Result<Played, Failure> {
        let OpenRun { configuration, controller, .. } = *ask;
        let locks = controller.locks.map(|policy| policy.to_string());
        let mut rules: Vec<&str> = locks.iter().flat_map(|policy| ["--locks", policy]).collect();
        rules.extend((!ask.enforces_deadlines).then_some("--serve-late"));
        let of = Of {
            spec: ask.spec.clone(),
            slo: configuration.slo,
            model: controller.model.unwrap_or(self.scenario.server.model),
            clients: configuration.clients,
            seed: ask.seed,
        };
        let mut server = self.start_server(&of, &rules, &[])?;
        let steps = ask.demand.steps.iter();
        let steps = steps.map(|step| (step.rate.0, step.end.0, step.length.nanos()));
        let kind = Kind::Open(OpenJob {
            steps: steps.collect(),
            arrivals: configuration.arrivals,
            warm_up_ns: configuration.warm_up.nanos(),
            measure_ns: configuration.duration.nanos(),
            drain_ns: ask.drain.nanos(),
            at_unix_s: None,
            bin_ns: configuration.bin().map(Nanos::nanos),
        });
        let mut course = Course::new(&mut server, self.scenario, configuration.duration);
        match self.perform(&mut course, of, kind)? {
            (Outcome::Open(played), ended) => {
                // A tier that ended first: it takes connections with it, by which it was metered.
                let trouble = ended.or_else(|| played.trouble());
                let all: Vec<String> = trouble.into_iter().chain(course.trouble()).collect();
                let trouble = (!all.is_empty()).then(|| all.join("; "));
                let (faults, changes) = (course.readings(), course.changes());
                let mut run = Run { faults, changes, ..played.run };
                course.into_account().complete(&mut run);
                Ok(Played { run, points: played.points, trouble })
            }
            _ => Err(Failure::work("the load generator ran no open loop")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
slo = "400us"
duration = "200ms"
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
server.model = "sdb:2"
"#;
    const SERVICE: &str = "server.service = { distribution = \"constant\", mean = \"10us\" }\n";
    const LEAF: &str = "[[server.path]]\nprobability = 1.0\nsteps = [{ call = \"leaf\" }]\n\
                        [[tier]]\nname = \"leaf\"\nservice = \"5us\"\n";

    fn scenario(more: &str) -> Scenario {
        let text = TEXT.to_owned() + more;
        Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn lost_connections_of_clients_are_excused_by_faults_of_the_front_alone() {
        for kind in ["server-restart", "server-pause"] {
            let fault =
                format!("{LEAF}[[fault]]\nkind = \"{kind}\"\nat = \"10ms\"\nfor = \"5ms\"\n");
            assert!(loses(&scenario(&fault)).connections, "{kind}");
            assert!(!loses(&scenario(&(fault + "tier = \"leaf\"\n"))).connections, "{kind}");
        }
    }

    #[test]
    fn sleeping_requests_cost_cores_all_that_capacity_leaves() {
        let asleep = SERVICE.replace("mean = ", "work = \"sleep\", mean = ");
        let of = |service: &str| {
            let scenario = scenario(service);
            let cost = cost(&scenario.server, &scenario.controllers[0], Rate(100_000.0));
            (cost.sleeps, cost.overhead_ns.round())
        };
        assert_eq!(of(SERVICE), (false, 10_000.0));
        assert_eq!(of(&asleep), (true, 20_000.0));
    }

    #[test]
    fn a_bound_is_of_the_widest_model_and_its_overhead_of_the_one_that_was_measured() {
        let change = "[[server.change]]\nat = \"20ms\"\nmodel = \"sdb:4\"\n";
        let (calm, changing) = (scenario(SERVICE), scenario(&(SERVICE.to_owned() + change)));
        let of = |scenario: &Scenario, model: Option<&str>| {
            let model = model.map(|name| name.parse().unwrap());
            let controller = ControllerSpec { model, ..scenario.controllers[0].clone() };
            let cost = cost(&scenario.server, &controller, Rate(100_000.0));
            assert!((cost.overhead_ns - 10_000.0).abs() < 1.0, "{cost:?}");
            (cost.cores, cost.queues)
        };
        assert_eq!(of(&calm, None), (2, 1));
        assert_eq!(of(&calm, Some("sdb:3")), (3, 1));
        assert_eq!(of(&changing, Some("sdb:3")), (4, 1));
    }
}
