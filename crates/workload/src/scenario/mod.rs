//! Scenario files: one file is one experiment, for the simulator and the runtime alike.
//!
//! [`Scenario::parse`] reads TOML into checked values, once; past that no one re-checks. Every
//! problem in a file is reported in one go, each with its line, what was found and what is needed.
//! `scenarios/` holds examples of every key.

mod application;
mod capacity;
mod change;
mod choices;
mod clients;
mod command;
mod configuration;
mod contention;
mod controller;
mod demand;
mod error;
mod fault;
mod hedge;
mod item;
pub mod keys;
mod lock_order;
mod locks;
mod model;
mod path;
mod pinning;
mod retry;
mod section;
mod server;
mod shorten;
mod sim;
mod sockets;
mod stalls;
mod strikes;
mod tier;
mod times;
mod validity;

#[cfg(test)]
mod tests;

pub use application::{ApplicationSetting, ApplicationUse};
pub use capacity::Capacity;
pub use change::ModelChange;
pub use choices::{Claim, Direction, FirstReplica, Transport, Wake};
pub use clients::Clients;
pub use command::{Command, PORT};
pub use configuration::Configuration;
pub use contention::FreeLock;
pub use controller::{ControllerSpec, Override, PresetUse};
pub use demand::{Amount, Course, Cycle, CycleStep, Demand};
pub use error::{Problem, ReadFile, ScenarioError, TextPlace};
pub use fault::{Chosen, Fault, FaultKind, Struck};
pub use hedge::{Hedge, HedgeAfter};
pub use locks::Locks;
pub use path::{CallStep, Hot, LockStep, Path, PathStep};
pub use retry::Retry;
pub use server::{Server, SocketOptions};
pub use sim::Sim;
pub use stalls::{StallKind, Stalls};
pub use tailwater_core::locks::LockPolicy;
pub use tailwater_core::threads::{Completion, Model, Placement, Reception};
pub use tier::Tier;
pub use validity::{TierValidity, Validity};

use crate::limits;
use error::Report;
use item::Item;
use section::{Section, section_of};
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;
use tailwater_core::duration::format_duration;
use tailwater_core::pace::Pace;
use tailwater_core::words::clip;
use tailwater_core::{Nanos, Rng};
use toml::de::DeTable;

/// Tries of a run that noise sets aside: stalls of a shared machine come in spells, and three outlast most.
const TRIES: u32 = 3;

/// A checked experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The file's name without folders and ending: how reports call it.
    pub name: String,
    /// The file as it was named to [`Scenario::parse`]: how errors call it.
    pub file: String,
    /// A line for people; the name when left out.
    pub title: String,
    /// Decides every draw. Default 1.
    pub seed: u64,
    /// Objectives on the latency from intended time to answer, each a configuration of its own. Too
    /// tight, and the machine's own stalls decide the result; too loose, and every controller passes.
    pub slo: Vec<Duration>,
    /// How long the first demand is offered before measuring begins. Default 500 ms. Too short, and
    /// controllers are measured while they still adapt; the paper waits two seconds (§5.1).
    pub warm_up: Duration,
    /// How long is measured after that. Default 2 s; with steps, the length of all cycles.
    pub duration: Duration,
    /// How often each run is repeated, interleaved with the others. Default 5. With fewer there is no
    /// spread to speak of.
    pub repetitions: u32,
    /// How often a run is tried that noise sets aside; the last try stands, as invalid if it must. Always 3, and 1
    /// where the scenario is [shortened](Scenario::shorten): what only shows that it works needs no quiet.
    pub tries: u32,
    /// What serves.
    pub server: Server,
    /// What asks.
    pub clients: Clients,
    /// How much is asked.
    pub demand: Demand,
    /// How capacity is found.
    pub capacity: Capacity,
    /// Which runs may count.
    pub validity: Validity,
    /// What is compared; at least one.
    pub controllers: Vec<ControllerSpec>,
    /// What the simulator is to assume.
    pub sim: Sim,
    /// What goes wrong, for clients, server and tiers. Sockets play what befalls processes.
    pub faults: Vec<Fault>,
    /// Further nodes, which the server's paths call; those call further ones.
    pub tiers: Vec<Tier>,
    /// The file's text, for processes that are to read the same.
    pub text: String,
    /// Names and texts of the files that it names, for the same.
    pub files: Vec<(String, String)>,
    /// Where something begins that only the simulator can do, and what it is.
    simulator_only: Option<(TextPlace, String)>,
    /// A model is named, so that threads are played in virtual time, too.
    pub has_models: bool,
    /// What only sockets can do with the server's threads: where it stands, and what to type.
    not_simulated: Option<(TextPlace, &'static str)>,
}

impl Scenario {
    /// Reads and checks `text`; `file` is what errors call it. Performs no I/O: a scenario that names further
    /// files is refused.
    ///
    /// # Errors
    /// Every problem found, up to [`limits::PROBLEMS_MAX`] and in order of place.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let none = |_: &str| Err("no file can be read here; tailwater run and load can".to_owned());
        Self::parse_with(file, text, &none)
    }

    /// The same, where `read` gives the files that it names.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_with(file: &str, text: &str, read: ReadFile<'_>) -> Result<Self, ScenarioError> {
        if text.len() > limits::FILE_BYTES_MAX {
            let message = format!(
                "the file has {} bytes; {} at most are needed",
                text.len(),
                limits::FILE_BYTES_MAX
            );
            return Err(ScenarioError::at(file, TextPlace::START, message));
        }
        let report = Report::new(text, read);
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let span = error.span().unwrap_or_default();
                let found = text.get(span.clone()).filter(|found| !found.trim().is_empty());
                let found = found.map(|found| format!(", found {}", clip(found)));
                let found = found.unwrap_or_default() + &twice(error.message(), text, &span);
                let (why, mend) = (error.message(), another(file));
                report.push(span.start, format!("this is not TOML: {why}{found}{mend}"));
                return Err(report.into_error(file));
            }
        };
        let top = Section::new(&report, "", 0, table.get_ref(), &keys::TOP);
        let scenario = Self::read(file, &top);
        let scenario = Self { text: text.into(), files: report.files(), ..scenario };
        if report.is_empty() { Ok(scenario) } else { Err(report.into_error(file)) }
    }

    /// An error about something that only a later check can know, such as a controller's name.
    #[must_use]
    pub fn error_at(&self, place: TextPlace, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.file, place, message)
    }

    /// The cross product of objectives, client counts, demands and arrivals, in this order of loops from outer
    /// to inner. Drivers run every controller and repetition of each.
    #[must_use]
    pub fn configurations(&self) -> Vec<Configuration> {
        let mut configurations = Vec::new();
        for &slo in &self.slo {
            for &clients in &self.clients.counts {
                for course in &self.demand.courses {
                    configurations.extend(self.demand.arrivals.iter().map(|&arrivals| {
                        Configuration {
                            slo,
                            clients,
                            course: course.clone(),
                            arrivals,
                            warm_up: self.warm_up,
                            duration: self.duration,
                        }
                    }));
                }
            }
        }
        configurations
    }

    /// The seed of every run of a repetition. All controllers and demands share it, so that they are
    /// offered the same requests and differ by nothing else.
    #[must_use]
    pub fn seed_of_repetition(&self, repetition: u32) -> u64 {
        Rng::from_seed(self.seed).split(&format!("repetition {repetition}")).seed()
    }

    /// What each server's controller is built for: the objective, divided by the replicas that a call
    /// may be tried at (Protego §3.3).
    #[must_use]
    pub fn target(&self, slo: Duration) -> Duration {
        if self.server.replicas > 1 { slo / self.clients.retry.tries.max(1) } else { slo }
    }

    /// How many runs there are in all.
    #[must_use]
    pub fn runs(&self) -> u64 {
        let Demand { courses, arrivals } = &self.demand;
        let demands = courses.len() * arrivals.len();
        let configurations = self.slo.len() * self.clients.counts.len() * demands;
        (configurations * self.controllers.len()) as u64 * u64::from(self.repetitions)
    }

    /// How long all runs take together, capacity sweeps and pauses left out.
    #[must_use]
    pub fn length(&self) -> Duration {
        let run = self.warm_up + self.duration;
        Duration::from_nanos(run.nanos().saturating_mul(self.runs()))
    }

    /// One line: what is run, how often, how long it takes.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut line = format!("{}: ", self.title);
        let counts = [
            (self.slo.len(), "SLO", "SLOs"),
            (self.clients.counts.len(), "client count", "client counts"),
            (self.demand.courses.len(), "demand", "demands"),
            (self.demand.arrivals.len(), "", "kinds of arrivals"),
            (self.controllers.len(), "controller", "controllers"),
            (self.repetitions as usize, "repetition", "repetitions"),
        ];
        let told =
            counts.iter().map(|(count, one, many)| (count, if *count == 1 { one } else { many }));
        // One kind of arrivals goes without saying.
        let told: Vec<String> = told
            .filter(|(_, what)| !what.is_empty())
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        line.push_str(&told.join(" × "));
        let _ = write!(
            line,
            " = {} runs of {}, {} in all",
            self.runs(),
            format_duration(self.warm_up + self.duration),
            format_duration(self.length())
        );
        line
    }

    /// Why only the simulator can run this scenario, or nothing where real sockets do.
    #[must_use]
    pub fn needs_simulator(&self) -> Option<ScenarioError> {
        let (place, what) = self.simulator_only.as_ref()?;
        let advice = if self.beyond_simulator().is_none() { "; type --on sim" } else { "" };
        Some(self.error_at(*place, format!("{what}{advice}")))
    }

    /// Why the simulator cannot run this scenario, or nothing where it can.
    #[must_use]
    pub fn needs_sockets(&self) -> Option<ScenarioError> {
        let mut refused = self.beyond_simulator()?;
        if self.simulator_only.is_some() {
            // Sockets refuse it, too: what is left to type is what mends the file.
            for problem in &mut refused.problems {
                problem.message = problem.message.replace(ON_SOCKETS, "");
            }
        }
        Some(refused)
    }

    /// Why the simulator refuses it, whatever sockets do.
    fn beyond_simulator(&self) -> Option<ScenarioError> {
        if let Some((place, message)) = self.not_simulated {
            return Some(self.error_at(place, message.to_owned()));
        }
        let is_unknown = |tier: &Tier| {
            tier.command.clone().filter(|_| tier.paths.is_empty() && !tier.application)
        };
        if let Some(command) = self.tiers.iter().find_map(is_unknown) {
            return Some(self.error_at(command.place, COMMAND));
        }
        let application = self.server.application.as_ref()?;
        let message = format!(
            "the simulator knows no application such as {}; type --on loopback, or describe its requests \
             by [[server.path]]",
            clip(&application.name)
        );
        Some(self.error_at(application.place, message))
    }

    fn read(file: &str, top: &Section<'_>) -> Self {
        let name = stem(file);
        let in_server = section_of(top, "server");
        let replicas = in_server.whole("replicas").unwrap_or(1);
        let clients = Clients::read(&section_of(top, "clients"), replicas);
        let in_demand = section_of(top, "demand");
        let demand = Demand::read(&in_demand);
        let duration = duration(top, &demand);
        demand.refuse_misfits(&in_demand, duration);
        let callees = tier::callees(top);
        let server = Server::read(&in_server, (replicas, duration), &clients, &callees);
        let controllers = controller::read(top);
        let has_models = in_server.item("model").is_some()
            || !server.changes.is_empty()
            || controllers.iter().any(|it| it.model.is_some());
        let faults = fault::read(top, &stage(duration, &clients, replicas, &callees));
        let tiers = tier::read(top, &callees, &server, &spinners(&server, &clients, &controllers));
        let simulator_only = simulator_only(top, &faults, (&server, &tiers));
        Self {
            name: name.into(),
            file: file.into(),
            text: String::new(),
            files: Vec::new(),
            title: top.line("title").unwrap_or_else(|| name.into()),
            seed: top.whole("seed").unwrap_or(1),
            slo: top.needed("slo", |item| item.each_distinct(Item::duration)),
            warm_up: top.duration("warm_up").unwrap_or(Duration::from_millis(500)),
            duration,
            repetitions: top.whole("repetitions").unwrap_or(5),
            tries: TRIES,
            tiers,
            simulator_only,
            has_models,
            not_simulated: not_simulated(&in_server, server.classes && has_models),
            sim: Sim::read(&section_of(top, "sim"), server.loops),
            server,
            faults,
            clients,
            demand,
            capacity: Capacity::read(&section_of(top, "capacity")),
            validity: Validity::read(&section_of(top, "validity")),
            controllers,
        }
    }
}

/// What leaves nothing of its cores to others.
fn spinners<'a>(
    server: &'a Server,
    clients: &'a Clients,
    controllers: &[ControllerSpec],
) -> Vec<tier::Spinner<'a>> {
    let models = controllers.iter().map(|controller| controller.model.unwrap_or(server.model));
    let polls = models.chain(server.models()).any(|model| model.reception == Reception::Poll);
    let front = tier::Spinner {
        whose: "server.cores",
        cores: &server.cores,
        mend: "server.reception = \"block\"",
    };
    let generator = tier::Spinner {
        whose: "clients.cores",
        cores: &clients.cores,
        mend: "clients.pace = \"sleep\"",
    };
    let spins = [(polls, front), (clients.pace == Pace::Spin, generator)];
    spins.into_iter().filter(|(spins, _)| *spins).map(|(_, spinner)| spinner).collect()
}

/// What faults may befall.
fn stage<'a>(
    window: Duration,
    clients: &Clients,
    replicas: u32,
    tiers: &'a [path::Callee],
) -> fault::Stage<'a> {
    let clients = clients.counts.iter().copied().min().unwrap_or(1);
    fault::Stage { window, clients, replicas, tiers }
}

/// The advice in what the simulator refuses that is void where sockets refuse the scenario, too.
const ON_SOCKETS: &str = "type --on loopback, or ";

const CLASSES: &str =
    "the simulator's threads know no methods; type --on loopback, or leave out classes or model";

const COMMAND: &str = "the simulator runs no commands; type --on loopback, or say by service how long a request takes \
                       there";

/// What simulated threads do not do.
fn not_simulated(
    in_server: &Section<'_>,
    has_classed_threads: bool,
) -> Option<(TextPlace, &'static str)> {
    let classes = in_server.item("classes").filter(|_| has_classed_threads);
    classes.map(|item| (item.place(), CLASSES))
}

/// The first fault that sockets do not play, and why.
fn simulator_only(
    top: &Section<'_>,
    faults: &[Fault],
    (server, tiers): (&Server, &[Tier]),
) -> Option<(TextPlace, String)> {
    let is_program = |tier: Option<usize>| match tier {
        None => server.application.is_some(),
        Some(tier) => {
            tiers.get(tier).is_some_and(|tier| tier.application || tier.command.is_some())
        }
    };
    let (index, why) = sockets::refused(faults, !server.changes.is_empty(), is_program)?;
    // In the file's order, unless it has problems, which come first.
    let items = top.item("fault")?.one_or_list();
    Some((items.get(index)?.place(), why))
}

fn duration(top: &Section<'_>, demand: &Demand) -> Duration {
    let Some(cycle) = demand.cycle() else {
        return top.duration("duration").unwrap_or(Duration::from_secs(2));
    };
    let length = cycle.length();
    if let Some(said) = top.item("duration") {
        said.problem(format!(
            "duration is given, but the steps of [demand] last {} in all; leave duration out",
            format_duration(length)
        ));
    }
    length
}

/// What mends a key that stands several times, or a table that is written like a single one and does.
fn twice(why: &str, text: &str, span: &Range<usize>) -> String {
    if why != "duplicate key" {
        return String::new();
    }
    let found = text.get(span.clone()).unwrap_or_default();
    let head = |table: &'static keys::Table| match &table.key(found)?.kind {
        keys::ValueKind::Tables(inner) if inner.head.starts_with("[[") => Some(inner.head),
        _ => None,
    };
    match keys::tables().into_iter().find_map(head) {
        Some(head) => {
            format!("; two brackets are needed around what may stand several times, as in {head}")
        }
        None => "; leave one of the two out".into(),
    }
}

/// What is needed in place of a file that is not even named like one of ours, such as a page of text.
fn another(file: &str) -> &'static str {
    let is_ours = file == "-" || file.strip_suffix(".toml").is_some();
    if is_ours { "" } else { "; a scenario file is needed, and tailwater new NAME writes one" }
}

/// `scenarios/overload.toml` → `overload`.
fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}
