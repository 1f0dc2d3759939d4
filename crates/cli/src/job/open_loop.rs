//! An open loop on threads of this process: its schedule shared out, run, watched, and made one run.

use super::distribution::distribution;
use super::watch::{Due, Place, Processes, Watch, Watching};
use super::{Begins, Job, MakeCut, OpenJob, OpenOutcome, Outcome, Tell};
use crate::failure::Failure;
use crate::machine;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_core::{Instant, Nanos, Rate, Rng};
use tailwater_load::application::{ReplicaCounts, check_count};
use tailwater_load::census::Counted;
use tailwater_load::compare::compare;
use tailwater_load::counts::reading;
use tailwater_load::fleet::{Fleet, Retried};
use tailwater_load::meter::Window;
use tailwater_load::open::Seeds;
use tailwater_load::tiers;
use tailwater_load::{Application, EarlyEnd, OpenPlan, ThreadClients, open};
use tailwater_rt::Address;
use tailwater_rt::counts::Counts;
use tailwater_rt::time::now;
use tailwater_stats::result::{
    AskedRun, ConnectionReading, GeneratorReading, ReplicaReading, ReplicasCompared, Run,
    ServerReading,
};
use tailwater_stats::traits::{TierTraits, Traits};
use tailwater_stats::{AuditSpec, audit};
use tailwater_workload::{Arrivals, DemandPlan, Schedule, Service, Step};

/// Until a load that is to begin at a time: one in milliseconds would be waited for without an end.
const LONGEST_REST: Duration = Duration::from_hours(24);

impl OpenJob {
    /// How long until the warm-up, now that connections are made.
    fn rest(&self) -> Result<Duration, Failure> {
        // A moment for the connections to come to rest and the threads to start.
        let least = Duration::from_millis(30);
        let Some(at) = self.at_unix_s else { return Ok(least) };
        let wrong = |why: &str| {
            Failure::usage(format!("--at is {at}, {why} is needed, in seconds since 1970"))
        };
        let left = machine::until(at).filter(|left| *left >= least);
        let left = left.ok_or_else(|| {
            wrong("which was past when data and connections were ready; a later time")
        })?;
        if left > LONGEST_REST {
            return Err(wrong("more than a day from now; a nearer time"));
        }
        Ok(left)
    }

    /// The same with the window that was measured, where the load ended at `cut`.
    fn until(&self, cut: Option<Instant>, from: Instant) -> Self {
        let most_ns = cut.map_or(u64::MAX, |end| end.nanos_since(from));
        Self { measure_ns: self.measure_ns.min(most_ns), ..self.clone() }
    }
}

impl Job {
    pub(super) fn open(
        &self,
        job: &OpenJob,
        controller: &Controller,
        (tell, cut): (Tell<'_>, MakeCut<'_>),
    ) -> Result<Outcome, Failure> {
        let (application, service) = self.asks.application()?;
        // Before the schedule, which takes memory for each of them.
        check_count(&*application, self.demand(job).requests()).map_err(Failure::usage)?;
        let schedule = self.schedule(job, &service)?;
        check_count(&*application, schedule.entries.len() as f64).map_err(Failure::usage)?;
        let parts = split(&schedule, self.clients, self.threads);
        let mut fleets = self.fleets(&*application, controller, &parts)?;
        let cut = Arc::new(cut()?);
        let start = now() + job.rest()?;
        let from = start + Duration::from_nanos(job.warm_up_ns);
        tell(Begins { measured_from_ns: from.as_nanos() })?;
        let watch =
            self.watching.opens_events().then(|| Watch::begin(self.watched(job, start, &schedule)));
        let mut findings = self.ask(job, start, &mut fleets, parts, (&application, &cut))?;
        let job = &job.until(cut.at(), from);
        let to = from + Duration::from_nanos(job.measure_ns);
        findings.iter_mut().for_each(|part| part.tally.end_at(to));
        let connections = findings
            .iter()
            .map(|part| part.connections)
            .fold(ConnectionReading::default(), ConnectionReading::plus);
        let wrong_answers = findings.iter().map(|part| part.wrong_answers).sum();
        let seen = (self.watching != Watching::Nothing).then(|| distribution(&findings));
        let mut outcome = self.conclude(job, findings)?;
        let run = &mut outcome.run;
        run.answers.wrong = wrong_answers;
        // Clients of a protocol of others do not connect again: a lost one asks nothing to the end of the run.
        let are_remade = application.foreign_front().is_none();
        run.connections = self.loses.trouble_of(connections, are_remade);
        self.tell_replicas(fleets.first_mut(), &*application, &mut outcome);
        outcome.run.traits = traits(seen, watch, outcome.run.tiers.len())?;
        Ok(Outcome::Open(Box::new(outcome)))
    }

    /// The connected clients of each thread. That of the first watches the nodes for all.
    fn fleets(
        &self,
        application: &dyn Application,
        controller: &Controller,
        parts: &[(u32, Schedule)],
    ) -> Result<Vec<Fleet>, Failure> {
        let (servers, retry) = (self.servers()?, self.asks.retry()?);
        let mut fleets = Vec::new();
        let mut watched = self.nodes()?;
        let threads = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        for (thread, (clients, _)) in (0..).zip(parts) {
            let nodes = std::mem::take(&mut watched);
            let of = (application, ThreadClients { clients: *clients, threads, thread });
            fleets.push(self.connect(of, (&servers, retry), controller, &nodes)?);
        }
        Ok(fleets)
    }

    /// Each fleet asks its part of the schedule, on a thread of its own.
    fn ask(
        &self,
        job: &OpenJob,
        start: Instant,
        fleets: &mut [Fleet],
        parts: Vec<(u32, Schedule)>,
        (application, cut): (&Arc<dyn Application>, &Arc<EarlyEnd>),
    ) -> Result<Vec<open::Findings>, Failure> {
        let threads = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let mut findings = Vec::new();
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..)
                .zip(fleets.iter_mut().zip(parts))
                .map(|(index, (fleet, (_, schedule)))| {
                    let seeds = Seeds { run: self.request_seed(), threads, thread: index };
                    let with = (Arc::clone(application), Arc::clone(cut));
                    let plan = self.open_plan(job, schedule, with, seeds);
                    scope.spawn(move || {
                        self.take_place(index)?;
                        open::run(fleet, &plan, start)
                            .ok_or_else(|| Failure::work("its measured window had not begun"))
                    })
                })
                .collect();
            for thread in running {
                let result = thread.join().map_err(|_| Failure::work("the generator panicked"));
                findings.push(result.and_then(|result| result));
            }
        });
        findings.into_iter().collect()
    }

    /// Tells what became of replicas, and compares what they hold now.
    fn tell_replicas(
        &self,
        fleet: Option<&mut Fleet>,
        application: &dyn Application,
        outcome: &mut OpenOutcome,
    ) {
        let run = &mut outcome.run;
        let ReplicaCounts { lost, returned, gets } = application.replicas();
        run.replicas = ReplicaReading { lost, returned, compared: None };
        let Some(fleet) = fleet else { return };
        let compared = compare(fleet, self.pace, application);
        let [keys, untold, differ] =
            [compared.keys, compared.untold, compared.differ.len()].map(|count| count as u64);
        run.answers.wrong += differ;
        let told = keys > 0 || !gets.is_empty();
        run.replicas.compared = told.then_some(ReplicasCompared { keys, untold, differ, gets });
        outcome.uneven = application.uneven_replicas();
        outcome.differences = compared.differ;
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

    fn demand(&self, job: &OpenJob) -> DemandPlan {
        let step = |&(rate, end, length)| Step {
            rate: Rate(rate),
            end: Rate(end),
            length: Duration::from_nanos(length),
        };
        DemandPlan { steps: job.steps.iter().map(step).collect(), arrivals: job.arrivals }
    }

    fn schedule(&self, job: &OpenJob, service: &Service) -> Result<Schedule, Failure> {
        let built = Schedule::build(&self.demand(job), self.clients, service, self.seed);
        built.map_err(Failure::usage)
    }

    fn open_plan(
        &self,
        job: &OpenJob,
        schedule: Schedule,
        (application, cut): (Arc<dyn Application>, Arc<EarlyEnd>),
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
            cut,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    fn conclude(
        &self,
        job: &OpenJob,
        findings: Vec<open::Findings>,
    ) -> Result<OpenOutcome, Failure> {
        let mut all = merged(findings)?;
        let counted = self.of_front(&mut all.counted);
        let counts = counted.first().and_then(|front| front.counts.as_ref());
        let mut run = Run {
            asked: AskedRun {
                clients: self.clients,
                slo_us: self.slo_ns as f64 / 1e3,
                ..AskedRun::default()
            },
            noise: all.window.noise,
            tiers: tiers::readings(
                &self.tiers,
                &all.window,
                &counted,
                self.server_waits.spends_cpu(),
            ),
            retry: all.retried.as_ref().map(Retried::report),
            generator: GeneratorReading {
                slipped_us: all.slipped.nanos() as f64 / 1e3,
                ..GeneratorReading::default()
            },
            ..Run::default()
        };
        let mut found = all.tally.finish();
        let points = std::mem::take(&mut found.points);
        let latency_counts_ns = found.latency.counts();
        found.fill(&mut run, counts.map(|counts| counts.totals.received));
        let answered = run.fates.ok + run.fates.late;
        run.server = self.server_reading(&all.window, counts, answered);
        if let Some(counts) = counts {
            run.locks = counts.locks.iter().map(reading).collect();
        }
        // Steps are no single process, and other arrivals have other gaps.
        run.audit = (job.bin_ns.is_none() && job.arrivals == Arrivals::Poisson).then(|| {
            let asked = Rate(all.intended as f64 * 1e9 / job.measure_ns as f64);
            audit(&all.sent_ns, &self.audit_spec(job, asked))
        });
        Ok(OpenOutcome {
            run,
            measured_ns: job.measure_ns,
            points,
            latency_counts_ns,
            differences: Vec::new(),
            uneven: None,
        })
    }

    /// What requests cost the server in the window, by its own `counts`. Where it told none: by what its processes used, and by
    /// how many were answered.
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    fn server_reading(
        &self,
        window: &Window,
        counts: Option<&Counts>,
        answered: u64,
    ) -> ServerReading {
        let memory_bytes = window.server.memory;
        let spends_cpu = self.server_waits.spends_cpu();
        let Some(Counts { totals, .. }) = counts else {
            let used_ns = window.server.usage.map_or(0, |usage| usage.cpu.nanos());
            let spent_ns = if spends_cpu { 0 } else { used_ns };
            let cpu_ns_per_request = spent_ns as f64 / answered.max(1) as f64;
            return ServerReading { cpu_ns_per_request, memory_bytes, ..ServerReading::default() };
        };
        let per_served = |count: u64| count as f64 / totals.served.max(1) as f64;
        let used_ns = window.server.usage.unwrap_or_default().cpu.nanos();
        let spent_ns = if spends_cpu { totals.busy_ns } else { used_ns };
        ServerReading {
            cpu_ns_per_request: spent_ns as f64 / totals.received.max(1) as f64,
            memory_bytes,
            rx_per_request: per_served(totals.frames_in),
            tx_per_request: per_served(totals.frames_out),
            explicit_credits_rps: totals.credit_frames as f64
                / window.length.as_secs_f64().max(1e-9),
        }
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

/// What all threads found; window and counts are the first one's.
fn merged(findings: Vec<open::Findings>) -> Result<open::Findings, Failure> {
    let mut parts = findings.into_iter();
    let mut first = parts.next().ok_or_else(|| Failure::usage("threads is 0"))?;
    for part in parts {
        first.tally.merge(&part.tally);
        first.sent_ns.extend(part.sent_ns);
        first.intended += part.intended;
        first.slipped = first.slipped.max(part.slipped);
        first.retried = first.retried.zip(part.retried).map(|(one, other)| one.and(&other));
    }
    first.sent_ns.sort_unstable();
    Ok(first)
}

/// How the service behaved: what was `seen` of its answers, and what the watch saw of its processes; `None` where nothing was watched.
fn traits(
    seen: Option<(f64, Vec<(f64, f64)>)>,
    watch: Option<Watch>,
    tiers: usize,
) -> Result<Option<Traits>, Failure> {
    let Some((mean_us, latency)) = seen else { return Ok(None) };
    let told = match watch {
        Some(watch) => watch.finish().ok_or_else(|| Failure::work("the watch panicked"))?,
        None => unwatched(tiers),
    };
    Ok(Some(Traits { mean_us, latency, ..told }))
}

/// Of a run whose front and tiers, so many together, were not watched.
fn unwatched(tiers: usize) -> Traits {
    Traits { tiers: vec![TierTraits::default(); tiers], ..Traits::default() }
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
