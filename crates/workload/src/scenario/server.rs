//! `[server]`: what serves.

use super::application::{ApplicationSetting, ApplicationUse};
use super::change::{self, ModelChange};
use super::choices::{TRANSPORTS, Transport};
use super::keys::WORK;
use super::locks::Locks;
use super::path::{self, Callee, Context, Path};
use super::section::{Section, section_of};
use super::{Clients, ControllerSpec, application, model, pinning, times};
use crate::distribution::Distribution;
use crate::service::{Service, Work};
use std::time::Duration;
use tailwater_core::pace::Pace;
use tailwater_core::threads::{Model, Reception};

/// The server's threads, how they wait and place work, and what a request costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Server {
    /// Event loops. Default 1.
    pub loops: u32,
    /// Cores of the loops, then of the workers, replica by replica; empty: not pinned.
    pub cores: Vec<u32>,
    /// How loops wait, where handlers run, and who waits for tiers. Default: `aib`.
    pub model: Model,
    /// How that changes while it serves. Default never.
    pub changes: Vec<ModelChange>,
    /// What carries requests. Default TCP.
    pub transport: Transport,
    /// Options of its TCP sockets.
    pub socket: SocketOptions,
    /// Knobs of its process, in the file's order. Names and values stay text here; whoever sets them checks them.
    pub process: Vec<ApplicationSetting>,
    /// Its memory is there before its first use, and is never taken from it. Default false.
    pub lock_memory: bool,
    /// Longest time that handlers run before sockets are looked at again; `None`: as servers have it.
    pub drain_every: Option<Duration>,
    /// Unread answers of a connection from which on its requests wait; `None`: as servers have it.
    pub output_high: Option<u64>,
    /// Handlers of a thread that wait at once; `None`: as servers have it.
    pub tasks_max: Option<u64>,
    /// How long a handler works; nothing where requests have paths, or an application decides.
    pub service: Service,
    /// How it spends that time. Default spinning.
    pub work: Work,
    /// Each mode of the service's distribution is called by a method of its own, so that controllers can
    /// tell them apart. Default false: all requests call one method.
    pub classes: bool,
    /// What a request does in place of a service; empty where there is one.
    pub paths: Vec<Path>,
    /// What serves in place of a service or paths: a program, which the simulator does not know.
    pub application: Option<ApplicationUse>,
    /// What it does at locks.
    pub locks: Locks,
    /// What is past its deadline is refused when it would start, whatever the controller says. `None`:
    /// it is, unless the controller's profile or preset is a publication's.
    pub enforce_deadlines: Option<bool>,
    /// Servers of this kind, each with a controller of its own, and on sockets a process; every client is connected
    /// to all. Default 1.
    pub replicas: u32,
}

/// Options of a server's TCP sockets; `None`: the machine's own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SocketOptions {
    /// What clients send is acknowledged at once.
    pub quick_ack: bool,
    /// Bytes that a socket holds of what it sends.
    pub send_buffer: Option<u64>,
    /// The same of what it receives.
    pub receive_buffer: Option<u64>,
    /// The law by which it sends, by the kernel's name.
    pub congestion_control: Option<String>,
}

impl SocketOptions {
    fn read(section: &Section<'_>) -> Self {
        Self {
            quick_ack: section.truth("quick_ack").unwrap_or(false),
            send_buffer: section.whole("send_buffer"),
            receive_buffer: section.whole("receive_buffer"),
            congestion_control: section.line("congestion_control"),
        }
    }
}

impl Server {
    pub(super) fn read(
        section: &Section<'_>,
        (replicas, window): (u32, Duration),
        clients: &Clients,
        callees: &[Callee],
    ) -> Self {
        let loops = section.whole("loops").unwrap_or(1);
        let model = model::of_server(section);
        let counts = counts(replicas, loops, model);
        let cores = pinning::cores(section, &counts);
        let changes = change::read(section, window);
        let mut models = changes.iter().map(|change| change.model).chain([model]);
        let polls = models.any(|model| model.reception == Reception::Poll);
        if polls || clients.pace == Pace::Spin {
            refuse_shared(section, &cores, clients);
        }
        let Handling { service, work, classes, paths, application } =
            Handling::read(section, callees);
        Self {
            loops,
            cores,
            model,
            changes,
            transport: section.choice("transport", TRANSPORTS).unwrap_or(Transport::Tcp),
            socket: SocketOptions::read(&section_of(section, "socket")),
            process: section
                .item("process")
                .map_or_else(Vec::new, |item| application::settings(&item)),
            lock_memory: section.truth("lock_memory").unwrap_or(false),
            drain_every: section.duration("drain_every"),
            output_high: section.whole("output_high"),
            tasks_max: section.whole("tasks_max"),
            service,
            work,
            classes,
            paths,
            application,
            locks: Locks::read(&section_of(section, "locks")),
            enforce_deadlines: section.truth("enforce_deadlines"),
            replicas,
        }
    }
}

impl Server {
    /// Every model by which it serves, the first one first; a controller's own replaces that.
    pub fn models(&self) -> impl Iterator<Item = Model> {
        std::iter::once(self.model).chain(self.changes.iter().map(|change| change.model))
    }

    /// Whether what is past its deadline is refused when it would start under this controller.
    #[must_use]
    pub fn enforces_deadlines(&self, controller: &ControllerSpec) -> bool {
        self.enforce_deadlines.unwrap_or_else(|| !controller.is_published())
    }
}

/// What a request does there.
struct Handling {
    service: Service,
    work: Work,
    classes: bool,
    paths: Vec<Path>,
    application: Option<ApplicationUse>,
}

impl Handling {
    fn read(section: &Section<'_>, callees: &[Callee]) -> Self {
        let paths = paths(section, callees);
        let application = application::read(section);
        refuse_replicas(section, application.as_ref());
        let service = if paths.is_some() || application.is_some() {
            refuse_service(section);
            None
        } else {
            refuse_locks(section);
            needed_service(section)
        };
        let (service, work) = service.unwrap_or((STAND_IN, Work::Spin));
        let classes = section.truth("classes").unwrap_or(false);
        Self { service, work, classes, paths: paths.unwrap_or_default(), application }
    }
}

/// Threads that spin on one core would take it from one another.
fn refuse_shared(section: &Section<'_>, cores: &[u32], clients: &Clients) {
    let shared = cores.iter().find(|core| clients.cores.contains(core));
    if let (Some(core), Some(item)) = (shared, section.item("cores")) {
        item.problem(format!(
            "core {core} is in server.cores and in clients.cores; separate cores are needed where one \
             of them spins, or leave both out"
        ));
    }
}

/// Paths and applications have no service, nor what belongs to one.
fn refuse_service(section: &Section<'_>) {
    let ways: Vec<&str> = WORK.iter().map(|way| way.name).collect();
    section.only_one(&ways);
    if let Some(classes) = section.item("classes") {
        classes.problem(format!(
            "{} is given without server.service; leave it out: it is the modes of service times that \
             become methods",
            classes.name
        ));
    }
}

/// Applications keep what they are given: replicas of one would not know what the others have.
fn refuse_replicas(section: &Section<'_>, application: Option<&ApplicationUse>) {
    if let Some((item, _)) = section.item("replicas").zip(application) {
        item.problem(format!(
            "{} is given beside server.application, whose replicas would not know of each other; leave it out",
            item.name
        ));
    }
}

/// How many cores fit, and whose they are.
fn counts(replicas: u32, loops: u32, model: Model) -> Vec<(u32, &'static str)> {
    let all = loops + model.workers() as u32;
    let has_workers = model.workers() > 0;
    let (loops, all) = (loops * replicas, all * replicas);
    let mut counts = match replicas {
        1 => vec![(loops, "one for each loop"), (all, "one for each loop and worker")],
        _ => vec![
            (loops, "one for each loop of each replica"),
            (all, "one for each loop and worker of each replica"),
        ],
    };
    counts.truncate(if has_workers { 2 } else { 1 });
    counts
}

/// `None` where requests have none.
fn paths(section: &Section<'_>, callees: &[Callee]) -> Option<Vec<Path>> {
    let item = section.item("path")?;
    Some(path::read(&item, &Context { tiers: callees, first: 0 }))
}

/// The service of a given time takes no locks.
fn refuse_locks(section: &Section<'_>) {
    if let Some(locks) = section.item("locks") {
        locks.problem(format!(
            "{} is given without server.path or server.application; leave it out, or say what takes locks",
            locks.name
        ));
    }
}

fn needed_service(section: &Section<'_>) -> Option<(Service, Work)> {
    section.needed("service", |item| match item.table() {
        Some(section) => Some(service(&section)),
        // A text is a constant, as everywhere.
        None => times::read(item).map(|service| (service, Work::Spin)),
    })
}

/// Takes the place of a service that could not be read, or that paths replace.
const STAND_IN: Service = Service { distribution: Distribution::Constant, mean: Duration::ZERO };

fn service(section: &Section<'_>) -> (Service, Work) {
    let work = section.choice("work", Work::NAMES).unwrap_or(Work::Spin);
    (times::of(section).unwrap_or(STAND_IN), work)
}
