//! `tailwater serve`: the synthetic service, or a scenario's application, behind a real server. It ends when a signal
//! drains it or, where that is asked for, when nothing reads what it says.

mod greeting;
mod nodes;
mod served;
mod tiers;
mod told;

use crate::applications::{self, UNCONTROLLED};
use crate::args::{Offered, RoomOptions, ServeOptions};
use crate::failure::{Failure, complain};
use crate::job::allow_many_descriptors;
use crate::prepare::prepare;
use crate::reader;
use crate::scenarios::{self, Said};
use rustix::mm::{MlockAllFlags, mlockall};
use served::Served;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use tailwater_control::Site;
use tailwater_control::asqm::Policy;
use tailwater_load::application::{FrontPlace, Place, ServingFront, Whose};
use tailwater_load::{Spinner, Throttle, work};
use tailwater_rt::{
    LockRules, Model, Placement, Reply, Request, Router, Server, ServerConfig, SocketRules,
};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::Locks;

/// How often the server is asked whether it has failed, while no signal comes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn serve(options: &ServeOptions) -> Result<(), Failure> {
    allow_many_descriptors();
    if options.room.lock_memory {
        lock_memory()?;
    }
    let (tell, end) = ends(options.while_read)?;
    let described = described(options, &end)?;
    if let Some(throttle) = described.as_ref().and_then(|it| it.throttle) {
        told::follow(throttle, tell, complain)?;
    } else if !options.change_to.is_empty() {
        told::follow(Throttle::open(), tell, complain)?;
    }
    let served = match (described, &options.tier) {
        (Some(described), Some(tier)) => Served::Ours(tiers::farm(options, &described, tier)?),
        (described, _) => front(options, described.as_ref())?,
    };
    match greeting::greet(options, &served.addresses()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
        result => result.map_err(|error| Failure::work(format!("standard output: {error}")))?,
    }
    let asked = loop {
        match end.recv_timeout(LOOK_EVERY) {
            Err(RecvTimeoutError::Timeout) if served.is_well() => {}
            Ok(End::Model(model)) => served.set_model(model),
            asked => break asked,
        }
    };
    // Its calls have no client any more.
    let patience =
        if matches!(asked, Ok(End::Unread)) { Duration::ZERO } else { options.drain_for };
    served.drain(patience)
}

/// Of what is mapped now and later, so that it comes before all data.
fn lock_memory() -> Result<(), Failure> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(|errno| {
        Failure::work(format!(
            "the memory cannot be locked: {errno}; root may lock it, and so may a user with the limit that `ulimit -l` \
             shows, or leave --lock-memory out"
        ))
    })
}

/// Why a server ends, or goes on otherwise.
enum End {
    /// It serves by another model.
    Model(Model),
    Signal,
    /// Nothing reads standard output any more.
    Unread,
}

/// Signals that come so close to the first are of the same wish: a terminal tells all of a group, and a parent its child once more.
const ONE_WISH: Duration = Duration::from_millis(500);

/// Tells of the first end that comes.
fn ends(while_read: bool) -> Result<(SyncSender<End>, Receiver<End>), Failure> {
    // Room for one of each: neither waits for the server to be set up.
    let (tell, end) = sync_channel(2);
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::work)?;
    if while_read {
        let tell = tell.clone();
        // The server is gone if it cannot be told.
        reader::when_gone(move || drop(tell.send(End::Unread)))?;
    }
    let signalled = tell.clone();
    let wait = move || {
        let mut came = signals.forever();
        if came.next().is_some() {
            let _ = signalled.send(End::Signal);
        }
        let first = Instant::now();
        // A second signal does not wait for what drains.
        if let Some(number) = came.find(|_| first.elapsed() >= ONE_WISH) {
            std::process::exit(128 + number);
        }
    };
    let thread = std::thread::Builder::new().name("tailwater-signals".into());
    thread.spawn(wait).map_err(Failure::work)?;
    Ok((tell, end))
}

/// Handlers run on the loops, or on the workers where there are any.
pub(crate) fn site(options: &ServeOptions) -> Site {
    let cores = match options.threads.model().placement {
        Placement::Inline => options.loops,
        Placement::Workers(count) => count,
    };
    Site { slo: options.controller.slo, loops: options.loops, cores, seed: 1 }
}

fn config(options: &ServeOptions) -> ServerConfig {
    let models = || options.change_to.iter().copied().chain([options.threads.model()]);
    let most = |of: fn(Model) -> usize| {
        (!options.change_to.is_empty()).then(|| models().map(of).max().unwrap_or(0))
    };
    ServerConfig {
        listen: options.listen.clone(),
        loops: options.loops,
        cores: options.cores.clone(),
        model: options.threads.model(),
        workers_max: most(|model| model.workers()),
        crew_max: most(|model| model.completion.crew()),
        connections_max: options.connections_max,
        slo: options.controller.slo,
        enforce_deadlines: !options.serve_late,
        introspection: options.introspection,
        drain_every: options.room.drain_every,
        output_high: options.room.output_high,
        tasks_max: options.room.tasks_max,
        sockets: SocketRules {
            quick_ack: options.room.quick_ack,
            send_buffer: options.room.send_buffer,
            receive_buffer: options.room.receive_buffer,
            congestion_control: options.room.congestion_control.clone(),
        },
        ..ServerConfig::default()
    }
}

/// For handlers, as fast as `said` says.
fn throttled(options: &ServeOptions, said: &Described) -> Result<Spinner, Failure> {
    let spinner = spinner(options)?;
    Ok(said.throttle.map_or(spinner, |throttle| spinner.throttled(throttle)))
}

fn spinner(options: &ServeOptions) -> Result<Spinner, Failure> {
    match options.calibration {
        None => Ok(Spinner::calibrate()),
        Some(rounds) if rounds > 0.0 && rounds.is_finite() => Ok(Spinner::of_speed(rounds)),
        Some(rounds) => {
            Err(Failure::usage(format!("--calibration is {rounds}; above 0 is needed")))
        }
    }
}

/// What is served, where a scenario says it.
struct Described {
    scenario: Scenario,
    /// The folder of prepared data.
    data: PathBuf,
    /// How fast handlers compute, where what starts this process may say.
    throttle: Option<&'static Throttle>,
}

fn described(options: &ServeOptions, end: &Receiver<End>) -> Result<Option<Described>, Failure> {
    let described = match &options.scenario {
        Some(file) => {
            let scenario = scenarios::parse(file, &scenarios::read(file)?)?;
            let data = options.data.path_for(&scenario)?;
            // By `run` they were prepared before it started this process.
            let whose = options.tier.as_deref().map_or(Whose::Front, Whose::Tier);
            let goes_on = || match end.try_recv() {
                Err(TryRecvError::Empty) => Ok(()),
                _ => Err("asked to end before its data were prepared".to_owned()),
            };
            prepare(&scenario, &data, whose, &goes_on)?;
            Described { scenario, data, throttle: None }
        }
        None if options.said => {
            let said = heard()?;
            let scenario = said.parse().map_err(Failure::usage)?;
            let throttle = Some(Throttle::open());
            Described { scenario, data: said.data().to_owned(), throttle }
        }
        None => return Ok(None),
    };
    let simulated = described.scenario.needs_simulator();
    simulated.map_or(Ok(Some(described)), |why| Err(Failure::usage(why)))
}

/// What `run` says on standard input. More may follow, so that its end is not waited for.
fn heard() -> Result<Said, Failure> {
    let trouble = |why: &str| Failure::usage(format!("the scenario on standard input: {why}"));
    let input = serde_json::Deserializer::from_reader(std::io::stdin().lock());
    let said = input.into_iter().next().ok_or_else(|| trouble("nothing was said"))?;
    said.map_err(|error| trouble(&error.to_string()))
}

/// What clients ask: the server section of a scenario, or the synthetic service.
fn front(options: &ServeOptions, described: Option<&Described>) -> Result<Served, Failure> {
    if let Some(described) = described
        && let Some(front) = foreign_front(options, described)?
    {
        return Ok(Served::Foreign(front));
    }
    let built = options.controller.spec().build(&site(options)).map_err(Failure::usage)?;
    let (config, admission) = (config(options), built.admission);
    let started = match (described, options.service) {
        (Some(described), _) => {
            let server = &described.scenario.server;
            let takes_locks = server.application.is_some() || !server.paths.is_empty();
            let locks = rules(options, &server.locks, takes_locks, options.controller.slo);
            let router = router(options, described, locks)?;
            let tiers = tiers::called_by_front(options, &described.scenario)?;
            Server::start(ServerConfig { locks, tiers, ..config }, admission, router)
        }
        (None, Offered::All) => Server::start(config, admission, work::service(spinner(options)?)),
        (None, Offered::Echo) => {
            let echo = |request: Request| async { Reply::ok(request.payload) };
            Server::start(config, admission, echo)
        }
    };
    started.map(|server| Served::Ours(vec![server])).map_err(Failure::usage)
}

/// The server of an application whose clients speak a protocol of others; nothing where they speak tailwater's.
fn foreign_front(
    options: &ServeOptions,
    described: &Described,
) -> Result<Option<Box<dyn ServingFront>>, Failure> {
    let Described { scenario, data, .. } = described;
    let application = applications::of(scenario, data).map_err(Failure::usage)?;
    let Some(front) = application.foreign_front() else { return Ok(None) };
    let (controller, model) = (options.controller.spec().name, options.threads.model());
    let one_sleeps = options.loops == 1
        && options.cores.len() <= 1
        && model == Model::default()
        && options.change_to.is_empty();
    if controller != UNCONTROLLED || !one_sleeps || !has_plain_sockets(&options.room) {
        return Err(Failure::usage(format!(
            "found --controller {controller}, --loops {} and --model {model}, and this scenario's server has no control, one \
             thread, which sleeps, and the kernel's own sockets; --controller {UNCONTROLLED} and one --core at most are needed, \
             without --loops, --model, --change-to, --quick-ack, --send-buffer, --receive-buffer and --congestion-control",
            options.loops
        )));
    }
    // The threads that it starts run where this one does.
    if let Some(&core) = options.cores.first() {
        tailwater_rt::cpu::pin(core).map_err(Failure::usage)?;
    }
    let at = FrontPlace {
        listen: &options.listen,
        nodes: tiers::commanded(options, scenario)?.unwrap_or_default(),
        connections_max: options.connections_max,
    };
    front.start(&at).map(Some).map_err(Failure::usage)
}

fn has_plain_sockets(room: &RoomOptions) -> bool {
    !room.quick_ack
        && room.send_buffer.is_none()
        && room.receive_buffer.is_none()
        && room.congestion_control.is_none()
}

/// Nothing for a service that takes no locks, and where budgets are off.
fn rules(
    options: &ServeOptions,
    locks: &Locks,
    takes_locks: bool,
    slo: Duration,
) -> Option<LockRules> {
    let policy = Policy::of(options.locks.unwrap_or(locks.policy))?;
    let target = locks.target.unwrap_or(slo);
    takes_locks.then_some(LockRules { policy, target, budget: locks.budget })
}

fn router(
    options: &ServeOptions,
    described: &Described,
    locks: Option<LockRules>,
) -> Result<Router, Failure> {
    let Described { scenario, data, .. } = described;
    let (loops, model) = (options.loops, options.threads.model());
    let (workers, crew) = (model.workers(), model.completion.crew());
    let spinner = throttled(options, described)?;
    let place = Place { loops, workers, crew, locks, spinner };
    let application = applications::of(scenario, data).map_err(Failure::usage)?;
    let router = match tiers::commanded(options, scenario)? {
        Some(nodes) => application.router_over(&place, nodes),
        None => {
            let foreign = tiers::foreign(options, scenario, &scenario.server.paths)?;
            application.router_before(&place, &foreign)
        }
    };
    router.map_err(Failure::usage)
}
