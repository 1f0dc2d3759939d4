//! One piece of load as data: what `tailwater load` and the orchestrator ask the generator to do.

mod distribution;
mod open_loop;
mod waiting;
mod watch;

pub(crate) use waiting::Waiting;
pub(crate) use watch::{Part, Watching};

use crate::applications::{self, UNCONTROLLED};
use crate::failure::{Failure, say};
use crate::reader;
use crate::scenarios::Said;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::{RetryConfig, Site};
use tailwater_core::duration::format_duration;
use tailwater_core::pace::{Pace, Scheduling};
use tailwater_experiment::retry;
use tailwater_load::closed::ClosedPlan;
use tailwater_load::meter::Metered;
use tailwater_load::scheduling::schedule;
use tailwater_load::tiers::TierProcesses;
use tailwater_load::work::ServiceTime;
use tailwater_load::{Application, EarlyEnd, Fleet, ThreadClients, closed};
use tailwater_rt::Address;
use tailwater_rt::time::now;
use tailwater_stats::result::{ConnectionReading, Run};
use tailwater_workload::{Arrivals, Distribution, Service, Work};

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

impl Loses {
    /// These connections, where what became of them is trouble. It is none where they were to be lost, unless the clients do
    /// not make lost ones again.
    fn trouble_of(
        self,
        connections: ConnectionReading,
        are_remade: bool,
    ) -> Option<ConnectionReading> {
        let is_excused = self.connections && are_remade;
        (!is_excused && connections.trouble().is_some()).then_some(connections)
    }
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
    /// When the warm-up begins, in seconds since 1970; none: at once.
    pub(crate) at_unix_s: Option<u64>,
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
    /// Requests in flight and answers per second of each point; of those before its end where it was cut short.
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
    /// Length of the window: less than asked for where the load was cut short.
    pub(crate) measured_ns: u64,
    /// Offset and latency in µs (negative: none) of each request of a stepped run.
    pub(crate) points: Vec<(f32, f32)>,
    /// As in [`Run::latency_counts_ns`].
    pub(crate) latency_counts_ns: BTreeMap<u64, u64>,
    /// Of replicas that differed after the run: which keys, and how.
    pub(crate) differences: Vec<String>,
    /// Why reads were not shared among replicas as they should be.
    pub(crate) uneven: Option<String>,
}

impl OpenOutcome {
    /// Why the run cannot count, whatever the rules say.
    pub(crate) fn trouble(&self) -> Option<String> {
        let wrong = self.run.answers.wrong;
        let wrong = (wrong > 0).then(|| format!("{wrong} answers of the server were wrong"));
        let lost = self.run.connections.and_then(|connections| connections.trouble());
        let differ = self.differences.first().map(|first| {
            format!("replicas of {} keys differed after the run: {first}", self.differences.len())
        });
        let told = [wrong, differ, self.uneven.clone(), lost];
        let all: Vec<String> = told.into_iter().flatten().collect();
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
    /// What it is, by name. Paths are left out: results tell what lies there.
    pub(crate) fn named(&self) -> Result<BTreeMap<String, String>, Failure> {
        let named: Vec<(String, String)> = match self {
            Self::Service(job) => vec![
                ("distribution".into(), job.distribution.clone()),
                ("mean".into(), format_duration(Duration::from_nanos(job.mean_ns))),
                ("sleep".into(), job.sleeps.to_string()),
            ],
            Self::Scenario(said) => {
                let scenario = said.parse().map_err(Failure::usage)?;
                let server = &scenario.server;
                let mut digest = DefaultHasher::new();
                let rest = (&server.service, server.work, server.classes, &server.paths);
                format!("{rest:?} {:?} {:?}", scenario.tiers, scenario.files).hash(&mut digest);
                let of = server.application.iter();
                let names = of.clone().map(|it| ("application".into(), it.name.clone()));
                let settings = of
                    .flat_map(|it| &it.settings)
                    .filter(|it| !it.value.contains('/'))
                    .map(|it| (format!("setting {}", it.key), it.value.clone()));
                let rest = ("scenario".into(), format!("{:016x}", digest.finish()));
                names.chain(settings).chain([rest]).collect()
            }
        };
        Ok(named.into_iter().collect())
    }

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
    // The orchestrator ends what it cuts short.
    let outcome =
        job.perform(&tell, &|| Ok(EarlyEnd::never())).unwrap_or_else(|failure| match failure {
            Failure::Usage(why) => Outcome::Failed { usage: true, why },
            Failure::Work(why) | Failure::Signal(_, why) => Outcome::Failed { usage: false, why },
        });
    say(&serde_json::to_string(&outcome).map_err(Failure::work)?)
}

/// Hears when the measured window of an open loop begins.
type Tell<'a> = &'a dyn Fn(Begins) -> Result<(), Failure>;

/// Asked once all connections stand: what may end the load early.
type MakeCut<'a> = &'a dyn Fn() -> Result<EarlyEnd, Failure>;

impl Job {
    /// Does it on threads of this process.
    pub(crate) fn perform(&self, tell: Tell<'_>, cut: MakeCut<'_>) -> Result<Outcome, Failure> {
        allow_many_descriptors();
        let slo = Duration::from_nanos(self.slo_ns);
        let controller =
            self.controller.build(&Site::one_loop(slo, self.seed)).map_err(Failure::usage)?;
        match &self.kind {
            Kind::Open(open) => self.open(open, &controller, (tell, cut)),
            Kind::Closed { in_flight, settle_ns, measure_ns } => {
                let lengths = [*settle_ns, *measure_ns].map(Duration::from_nanos);
                self.closed(in_flight.clone(), lengths, (&controller, cut))
            }
        }
    }

    /// Where the replicas are, and how to choose among them.
    fn servers(&self) -> Result<Vec<Address>, Failure> {
        self.addresses.iter().map(|address| address.parse().map_err(Failure::usage)).collect()
    }

    /// Connects clients to the servers, in the protocol that these speak, and to each of the `watched` nodes.
    fn connect(
        &self,
        (application, whose): (&dyn Application, ThreadClients),
        (servers, retry): (&[Address], RetryConfig),
        controller: &Controller,
        watched: &[Address],
    ) -> Result<Fleet, Failure> {
        let fleet = match (application.foreign_front(), servers) {
            (None, _) => Fleet::connect_to((servers, retry), whose, controller, watched),
            (Some(front), [server]) if self.controller.name == UNCONTROLLED => {
                Fleet::connect_foreign((server, &front), whose.clients, watched)
            }
            (Some(_), _) => {
                return Err(Failure::usage(format!(
                    "found --controller {} and {} servers, and clients speak a protocol that has no control here; \
                     --controller {UNCONTROLLED} and one server are needed",
                    self.controller.name,
                    servers.len()
                )));
            }
        };
        fleet.map_err(Failure::work)
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
        (controller, cut): (&Controller, MakeCut<'_>),
    ) -> Result<Outcome, Failure> {
        self.take_place(0)?;
        let (application, service) = self.asks.application()?;
        // What all replicas do together, whichever clients ask first under control.
        let servers = (&self.servers()?[..], RetryConfig::default());
        let whose = ThreadClients::all(self.clients);
        let mut fleet = self.connect((&*application, whose), servers, controller, &[])?;
        let (pace, seed, cut) = (self.pace, self.seed, Arc::new(cut()?));
        let plan = ClosedPlan { application, service, in_flight, settle, measure, pace, seed, cut };
        let start = now();
        let points = closed::run(&mut fleet, &plan).map_err(|error| {
            // Missing answers of a server that has gone are its end, not its answers.
            let trouble = fleet.connections(start).trouble();
            Failure::work(trouble.map_or(error.to_string(), |why| format!("{error}; {why}")))
        })?;
        Ok(Outcome::Closed { points })
    }
}

/// Ten thousand connections need as many descriptors; the soft limit is often a thousand.
pub(crate) fn allow_many_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it is not allowed, connecting will fail and say so.
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_connections_are_excused_where_faults_take_them_and_clients_make_them_again() {
        let stayed = ConnectionReading { all: 2, up: 2, ..ConnectionReading::default() };
        let lost = ConnectionReading { up: 1, lost: 1, ..stayed };
        let [calm, cut] = [false, true].map(|connections| Loses { counts: false, connections });
        for (loses, are_remade, told) in [
            (calm, true, Some(lost)),
            (calm, false, Some(lost)),
            (cut, true, None),
            (cut, false, Some(lost)),
        ] {
            assert_eq!(loses.trouble_of(lost, are_remade), told, "{loses:?}, {are_remade}");
            assert_eq!(loses.trouble_of(stayed, are_remade), None, "{loses:?}, {are_remade}");
        }
    }
}
