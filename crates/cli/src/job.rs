//! One piece of load as data: what `tailwater load` and the orchestrator ask the generator to do.

mod distribution;
mod waiting;
mod watch;

use crate::applications;
use crate::failure::{Failure, say};
use crate::reader;
use crate::scenarios::Said;
use distribution::distribution;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::{RetryConfig, Site};
use tailwater_core::duration::format_duration;
use tailwater_core::pace::{Pace, Scheduling};
use tailwater_core::{Instant, Nanos, Rate, Rng};
use tailwater_experiment::retry;
use tailwater_load::application::ReplicaCounts;
use tailwater_load::census::Counted;
use tailwater_load::closed::ClosedPlan;
use tailwater_load::counts::reading;
use tailwater_load::fleet::Retried;
use tailwater_load::meter::Metered;
use tailwater_load::open::Seeds;
use tailwater_load::scheduling::schedule;
use tailwater_load::tiers::{self, TierProcesses};
use tailwater_load::work::ServiceTime;
use tailwater_load::{Application, Fleet, OpenPlan, ThreadClients, closed, open};
use tailwater_rt::Address;
use tailwater_rt::time::now;
use tailwater_stats::result::{ConnectionReading, Run};
use tailwater_stats::traits::Traits;
use tailwater_stats::{AuditSpec, audit};
use tailwater_workload::{Arrivals, DemandPlan, Distribution, Schedule, Service, Step, Work};
pub(crate) use waiting::Waiting;
use watch::{Due, Place, Processes, Watch};
pub(crate) use watch::{Part, Watching};

/// What the generator is to do. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Where each replica of the server listens.
    pub(crate) addresses: Vec<String>,
    pub(crate) clients: u32,
    pub(crate) threads: u32,
    pub(crate) cores: Vec<usize>,
    #[serde(with = "crate::as_word")]
    pub(crate) pace: Pace,
    #[serde(with = "crate::as_word")]
    pub(crate) scheduling: Scheduling,
    pub(crate) controller: Spec,
    pub(crate) slo_ns: u64,
    pub(crate) seed: u64,
    pub(crate) asks: Asks,
    /// The server's processes; none where a fault takes some away.
    pub(crate) server: Metered,
    /// Those of the tiers that are metered beside it.
    pub(crate) tiers: Vec<TierProcesses>,
    /// What goes wrong takes the server's processes away, or their connections.
    pub(crate) loses: Loses,
    pub(crate) server_waits: Waiting,
    /// What is watched of what the operating system does to servers and tiers.
    pub(crate) watching: Watching,
    pub(crate) kind: Kind,
}

/// What goes wrong in a run and is no trouble, since it was asked for.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Loses {
    /// The server's processes are killed: what they counted goes with them.
    pub(crate) counts: bool,
    /// Connections are lost.
    pub(crate) connections: bool,
}

/// What requests ask for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Asks {
    /// A service time, as flags say.
    Service(ServiceJob),
    /// What the application of this scenario is asked.
    Scenario(Said),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ServiceJob {
    /// As a word.
    pub(crate) distribution: String,
    pub(crate) mean_ns: u64,
    pub(crate) sleeps: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Kind {
    Open(OpenJob),
    Closed { in_flight: Vec<u32>, settle_ns: u64, measure_ns: u64 },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OpenJob {
    /// Requests per second at the beginning and at the end, and length; warm-up included.
    pub(crate) steps: Vec<(f64, f64, u64)>,
    #[serde(with = "crate::as_word")]
    pub(crate) arrivals: Arrivals,
    pub(crate) warm_up_ns: u64,
    pub(crate) measure_ns: u64,
    pub(crate) drain_ns: u64,
    pub(crate) bin_ns: Option<u64>,
}

/// Told when the measured window of an open loop begins, ahead of that: nanoseconds of the machine's monotonic clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Begins {
    pub(crate) measured_from_ns: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Open(Box<OpenOutcome>),
    /// Requests in flight and answers per second of each point.
    Closed {
        points: Vec<(u32, f64)>,
    },
    Failed {
        usage: bool,
        why: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OpenOutcome {
    /// Filled but for what only the orchestrator knows: names, capacity, bound, ratios, validity.
    pub(crate) run: Run,
    /// Offset and latency in µs (negative: none) of each request of a stepped run.
    pub(crate) points: Vec<(f32, f32)>,
    /// As in [`Run::latency_counts_ns`].
    pub(crate) latency_counts_ns: BTreeMap<u64, u64>,
}

impl OpenOutcome {
    /// Why the run cannot count, whatever the rules say.
    pub(crate) fn trouble(&self) -> Option<String> {
        let wrong = self.run.wrong_answers;
        let wrong = (wrong > 0).then(|| format!("{wrong} answers of the server were wrong"));
        let lost = self.run.connections.and_then(|connections| connections.trouble());
        let all: Vec<String> = wrong.into_iter().chain(lost).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

impl ServiceJob {
    /// No mean may be so long that requests are cut off.
    fn service(&self) -> Result<Service, Failure> {
        let distribution: Distribution = self.distribution.parse().map_err(Failure::usage)?;
        let (mean, most) = (Duration::from_nanos(self.mean_ns), distribution.mean_max());
        if mean > most {
            return Err(Failure::usage(format!(
                "--mean is {}; at most {} is needed with --distribution {distribution}, or too much of the work \
                 would lie in requests that none may be",
                format_duration(mean),
                format_duration(most)
            )));
        }
        Ok(Service { distribution, mean })
    }

    const fn application(&self) -> ServiceTime {
        ServiceTime { work: if self.sleeps { Work::Sleep } else { Work::Spin }, modes: None }
    }
}

impl Asks {
    /// How clients choose among replicas.
    fn retry(&self) -> Result<RetryConfig, Failure> {
        match self {
            Self::Service(_) => Ok(RetryConfig::default()),
            Self::Scenario(said) => said.parse().map(|it| retry(&it)).map_err(Failure::usage),
        }
    }

    /// Whose requests they are, and how long these take if nothing else decides.
    fn application(&self) -> Result<(Arc<dyn Application>, Service), Failure> {
        match self {
            Self::Service(service) => Ok((Arc::new(service.application()), service.service()?)),
            Self::Scenario(said) => {
                let scenario = said.parse().map_err(Failure::usage)?;
                let application =
                    applications::of(&scenario, said.data()).map_err(Failure::usage)?;
                application.load_questions().map_err(Failure::work)?;
                Ok((application, scenario.server.service))
            }
        }
    }
}

/// Reads a job, does it, prints the outcome. Ends at once when the orchestrator is gone.
pub(crate) fn from_standard_input() -> Result<(), Failure> {
    reader::when_gone(|| std::process::exit(1))?;
    let job: Job = serde_json::from_reader(std::io::stdin())
        .map_err(|error| Failure::usage(format!("the job on standard input: {error}")))?;
    let tell = |begins: Begins| say(&serde_json::to_string(&begins).map_err(Failure::work)?);
    let outcome = job.perform(&tell).unwrap_or_else(|failure| match failure {
        Failure::Usage(why) => Outcome::Failed { usage: true, why },
        Failure::Work(why) | Failure::Signal(_, why) => Outcome::Failed { usage: false, why },
    });
    say(&serde_json::to_string(&outcome).map_err(Failure::work)?)
}

/// Hears when the measured window of an open loop begins.
type Tell<'a> = &'a dyn Fn(Begins) -> Result<(), Failure>;

impl Job {
    /// Does it on threads of this process.
    pub(crate) fn perform(&self, tell: Tell<'_>) -> Result<Outcome, Failure> {
        allow_many_descriptors();
        let slo = Duration::from_nanos(self.slo_ns);
        let controller =
            self.controller.build(&Site::one_loop(slo, self.seed)).map_err(Failure::usage)?;
        match &self.kind {
            Kind::Open(open) => self.open(open, &controller, tell),
            Kind::Closed { in_flight, settle_ns, measure_ns } => {
                let lengths = [*settle_ns, *measure_ns].map(Duration::from_nanos);
                self.closed(in_flight.clone(), lengths, &controller)
            }
        }
    }

    /// Where the replicas are, and how to choose among them.
    fn servers(&self) -> Result<Vec<Address>, Failure> {
        self.addresses.iter().map(|address| address.parse().map_err(Failure::usage)).collect()
    }

    /// Where the calling thread runs, and before which others.
    fn take_place(&self, thread: u32) -> Result<(), Failure> {
        if let Some(&core) = self.cores.get(thread as usize) {
            tailwater_rt::cpu::pin(core).map_err(Failure::usage)?;
        }
        schedule(self.scheduling).map_err(Failure::usage)
    }

    fn closed(
        &self,
        in_flight: Vec<u32>,
        [settle, measure]: [Duration; 2],
        controller: &Controller,
    ) -> Result<Outcome, Failure> {
        self.take_place(0)?;
        // What all replicas do together, whichever clients ask first under control.
        let servers = (&self.servers()?[..], RetryConfig::default());
        let mut fleet =
            Fleet::connect_to(servers, ThreadClients::all(self.clients), controller, &[])
                .map_err(Failure::work)?;
        let (application, service) = self.asks.application()?;
        let (pace, seed) = (self.pace, self.seed);
        let plan = ClosedPlan { application, service, in_flight, settle, measure, pace, seed };
        let start = now();
        let points = closed::run(&mut fleet, &plan).map_err(|error| {
            // Missing answers of a server that has gone are its end, not its answers.
            let trouble = fleet.connections(start).trouble();
            Failure::work(trouble.map_or(error.to_string(), |why| format!("{error}; {why}")))
        })?;
        Ok(Outcome::Closed { points })
    }

    fn open(
        &self,
        job: &OpenJob,
        controller: &Controller,
        tell: Tell<'_>,
    ) -> Result<Outcome, Failure> {
        let (application, service) = self.asks.application()?;
        let schedule = self.schedule(job, &service)?;
        let parts = split(&schedule, self.clients, self.threads);
        let (servers, retry) = (self.servers()?, self.asks.retry()?);
        let mut fleets = Vec::new();
        // One thread watches the nodes for all.
        let mut watched = self.nodes()?;
        let threads = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        for (thread, (clients, _)) in (0..).zip(&parts) {
            let nodes = std::mem::take(&mut watched);
            let whose = ThreadClients { clients: *clients, threads, thread };
            let fleet = Fleet::connect_to((&servers, retry), whose, controller, &nodes);
            fleets.push(fleet.map_err(Failure::work)?);
        }
        // A moment for the connections to come to rest and the threads to start.
        let start = now() + Duration::from_millis(30);
        tell(Begins { measured_from_ns: start.as_nanos() + job.warm_up_ns })?;
        let watch = (self.watching != Watching::Nothing)
            .then(|| Watch::begin(self.watched(job, start, &schedule)));
        let mut findings = Vec::new();
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..)
                .zip(fleets.iter_mut().zip(parts))
                .map(|(index, (fleet, (_, schedule)))| {
                    let seeds = Seeds { run: self.request_seed(), threads, thread: index };
                    let plan = self.open_plan(job, schedule, application.clone(), seeds);
                    scope.spawn(move || {
                        self.take_place(index)?;
                        Ok(open::run(fleet, &plan, start))
                    })
                })
                .collect();
            for thread in running {
                let result = thread.join().map_err(|_| Failure::work("the generator panicked"));
                findings.push(result.and_then(|result| result));
            }
        });
        let findings: Vec<open::Findings> = findings.into_iter().collect::<Result<_, _>>()?;
        let connections = findings
            .iter()
            .map(|part| part.connections)
            .fold(ConnectionReading::default(), ConnectionReading::plus);
        let wrong_answers = findings.iter().map(|part| part.wrong_answers).sum();
        let seen = watch.is_some().then(|| distribution(&findings));
        let mut outcome = self.conclude(job, findings)?;
        let run = &mut outcome.run;
        run.wrong_answers = wrong_answers;
        // Connections that are lost as it was asked for are no trouble.
        let is_trouble = !self.loses.connections && connections.trouble().is_some();
        run.connections = is_trouble.then_some(connections);
        let ReplicaCounts { lost, returned } = application.replicas();
        (run.replicas_lost, run.replicas_returned) = (lost, returned);
        run.traits = match (watch, seen) {
            (Some(watch), Some((mean_us, latency))) => {
                let told = watch.finish().ok_or_else(|| Failure::work("the watch panicked"))?;
                Some(Traits { mean_us, latency, ..told })
            }
            _ => None,
        };
        Ok(Outcome::Open(Box::new(outcome)))
    }

    /// The servers in the measured window.
    fn watched(&self, job: &OpenJob, start: Instant, schedule: &Schedule) -> Place {
        // Nodes of tiers wait asleep, whatever the server does.
        let (tier, pids) = (String::new(), self.server.pids.clone());
        let spins = self.server_waits.is_by_time();
        let tiers = self.tiers.iter().map(|tier| {
            let pids = tier.metered.as_ref().map(|metered| metered.pids.clone());
            Processes { tier: tier.tier.clone(), pids: pids.unwrap_or_default(), spins: false }
        });
        let from = start + Duration::from_nanos(job.warm_up_ns);
        Place {
            processes: std::iter::once(Processes { tier, pids, spins }).chain(tiers).collect(),
            from,
            to: from + Duration::from_nanos(job.measure_ns),
            core: self.cores.first().copied(),
            watching: self.watching,
            due: Due::of(start, schedule),
        }
    }

    /// Every node of every tier.
    fn nodes(&self) -> Result<Vec<Address>, Failure> {
        let nodes = self.tiers.iter().flat_map(|tier| &tier.nodes);
        nodes.map(|node| node.parse().map_err(Failure::usage)).collect()
    }

    /// As the simulator's front has it.
    fn request_seed(&self) -> u64 {
        Rng::from_seed(self.seed).split("paths").split("node 0").seed()
    }

    fn schedule(&self, job: &OpenJob, service: &Service) -> Result<Schedule, Failure> {
        let step = |&(rate, end, length)| Step {
            rate: Rate(rate),
            end: Rate(end),
            length: Duration::from_nanos(length),
        };
        let steps = job.steps.iter().map(step);
        let plan = DemandPlan { steps: steps.collect(), arrivals: job.arrivals };
        Schedule::build(&plan, self.clients, service, self.seed).map_err(Failure::usage)
    }

    fn open_plan(
        &self,
        job: &OpenJob,
        schedule: Schedule,
        application: Arc<dyn Application>,
        seeds: Seeds,
    ) -> OpenPlan {
        OpenPlan {
            schedule,
            application,
            seeds,
            slo: Duration::from_nanos(self.slo_ns),
            warm_up: Duration::from_nanos(job.warm_up_ns),
            measure: Duration::from_nanos(job.measure_ns),
            drain: Duration::from_nanos(job.drain_ns),
            bin: job.bin_ns.map(Duration::from_nanos),
            pace: self.pace,
            slips: job.arrivals == Arrivals::Metronome,
            server: self.server.clone(),
            // Of the thread that watches the nodes.
            tiers: match seeds.thread {
                0 => self.tiers.iter().map(|it| it.metered.clone().unwrap_or_default()).collect(),
                _ => Vec::new(),
            },
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    fn conclude(
        &self,
        job: &OpenJob,
        findings: Vec<open::Findings>,
    ) -> Result<OpenOutcome, Failure> {
        let mut sent: Vec<u64> =
            findings.iter().flat_map(|part| part.sent_ns.iter().copied()).collect();
        sent.sort_unstable();
        let mut parts = findings.into_iter();
        let mut first = parts.next().ok_or_else(|| Failure::usage("threads is 0"))?;
        for part in parts {
            first.tally.merge(&part.tally);
            first.intended += part.intended;
            first.slipped = first.slipped.max(part.slipped);
            first.retried = first.retried.zip(part.retried).map(|(one, other)| one.and(&other));
        }
        let counted = self.of_front(&mut first.counted);
        let counts = counted.first().and_then(|front| front.counts.clone());
        let mut run = Run {
            clients: self.clients,
            slo_us: self.slo_ns as f64 / 1e3,
            noise: first.window.noise,
            tiers: tiers::readings(
                &self.tiers,
                &first.window,
                &counted,
                self.server_waits.spends_cpu(),
            ),
            retry: first.retried.as_ref().map(Retried::report),
            slipped_us: first.slipped.nanos() as f64 / 1e3,
            ..Run::default()
        };
        let mut found = first.tally.finish();
        let points = std::mem::take(&mut found.points);
        let latency_counts_ns = found.latency.counts();
        found.fill(&mut run, counts.as_ref().map(|counts| counts.totals.received));
        let seconds = first.window.length.as_secs_f64().max(1e-9);
        if let Some(counts) = &counts {
            let per_served = |count: u64| count as f64 / counts.totals.served.max(1) as f64;
            run.rx_per_request = per_served(counts.totals.frames_in);
            run.tx_per_request = per_served(counts.totals.frames_out);
            run.explicit_credits_rps = counts.totals.credit_frames as f64 / seconds;
            run.locks = counts.locks.iter().map(reading).collect();
            let cpu = first.window.server.usage.unwrap_or_default().cpu.nanos();
            let spent = if self.server_waits.spends_cpu() { counts.totals.busy_ns } else { cpu };
            run.server_cpu_ns_per_request = spent as f64 / counts.totals.received.max(1) as f64;
        }
        // Steps are no single process, and other arrivals have other gaps.
        run.audit = (job.bin_ns.is_none() && job.arrivals == Arrivals::Poisson).then(|| {
            let asked = Rate(first.intended as f64 * 1e9 / job.measure_ns as f64);
            audit(&sent, &self.audit_spec(job, asked))
        });
        Ok(OpenOutcome { run, points, latency_counts_ns })
    }

    /// What was counted, all replicas of the server as one in front of all nodes.
    fn of_front(&self, counted: &mut Vec<Counted>) -> Vec<Counted> {
        let replicas: Vec<Counted> =
            counted.drain(..self.addresses.len().min(counted.len())).collect();
        let together = replicas.into_iter().reduce(|one, other| one.and(&other));
        let front = together.filter(|_| !self.loses.counts).unwrap_or_default();
        std::iter::once(front).chain(counted.drain(..)).collect()
    }

    fn audit_spec(&self, job: &OpenJob, asked: Rate) -> AuditSpec {
        AuditSpec {
            asked,
            window: Duration::from_nanos(job.measure_ns),
            // A turn of the generator's loop: it sends what fell due meanwhile.
            granularity: Duration::from_micros(2),
            offered_min: 0.98,
        }
    }
}

/// Shares clients and their requests out to threads: client `c` goes to thread `c % threads`.
fn split(schedule: &Schedule, clients: u32, threads: u32) -> Vec<(u32, Schedule)> {
    let threads = threads.clamp(1, clients.max(1));
    (0..threads)
        .map(|thread| {
            let entries = schedule
                .entries
                .iter()
                .filter(|entry| entry.client % threads == thread)
                .map(|entry| tailwater_workload::Entry { client: entry.client / threads, ..*entry })
                .collect();
            let own = clients / threads + u32::from(thread < clients % threads);
            (own, Schedule { entries })
        })
        .collect()
}

/// Ten thousand connections need as many descriptors; the soft limit is often a thousand.
pub(crate) fn allow_many_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it is not allowed, connecting will fail and say so.
    let _ = setrlimit(Resource::Nofile, limit);
}
