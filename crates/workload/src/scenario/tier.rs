//! `[[tier]]`: further nodes, which paths call.

use super::Server;
use super::command::{self, Command};
use super::controller::{self, ControllerSpec};
use super::hedge::{self, Hedge};
use super::item::Item;
use super::locks::Locks;
use super::path::{self, Callee, Context, Path};
use super::section::{Section, section_of};
use super::times;
use super::validity::TierValidity;
use crate::limits;
use std::time::Duration;
use toml::de::DeValue;

/// Nodes that do the same work for whoever calls them, each with a controller of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Tier {
    /// What calls name.
    pub name: String,
    /// How many nodes it has. Default 1.
    pub nodes: u32,
    /// Servers of each node, among which its callers choose, each a process. Default 1.
    pub replicas: u32,
    /// When a call is sent to a second replica, too. Default: never.
    pub hedge: Option<Hedge>,
    /// Cores of each. Default: as many as the front has.
    pub cores: Option<u32>,
    /// Where its nodes run on sockets: they take these cores in turn; empty: not pinned.
    pub pin: Vec<u32>,
    /// Connections from each caller to each node, each with the controller's client half. Default 1.
    /// A controller that limits the window of a connection may need more of them.
    pub connections: u32,
    /// What its controllers are built for. Default: the run's objective. Its callers' own time is not
    /// in it, so a tighter one leaves them room.
    pub slo: Option<Duration>,
    /// Its nodes are the server's application's, which also decides what a command's are asked. Default false.
    pub application: bool,
    /// A program that serves in place of ours. Default: none.
    pub command: Option<Command>,
    /// What requests do there; nothing where the application decides. Of a command, what the simulator plays in its
    /// place; nothing where that is not known.
    pub paths: Vec<Path>,
    /// As for the server.
    pub locks: Locks,
    /// Which runs may count as far as it is concerned.
    pub validity: TierValidity,
    /// Its controller. Default: the same as the front's in each run.
    pub controller: Option<ControllerSpec>,
}

/// Threads that never leave their cores.
pub(super) struct Spinner<'a> {
    /// The key that names the cores.
    pub(super) whose: &'static str,
    pub(super) cores: &'a [u32],
    /// What makes them sleep.
    pub(super) mend: &'static str,
}

/// What can be called, before anything is read that calls it. Problems are noted by [`read`]; what has no name that
/// can be read has an empty one here.
pub(super) fn callees(top: &Section<'_>) -> Vec<Callee> {
    match top.item("tier").map(|item| item.value) {
        None => Vec::new(),
        Some(DeValue::Array(tiers)) => tiers.iter().map(|tier| callee(tier.get_ref())).collect(),
        Some(tier) => vec![callee(tier)],
    }
}

fn callee(tier: &DeValue<'_>) -> Callee {
    let value = |key| match tier {
        DeValue::Table(table) => table.get(key).map(toml::Spanned::get_ref),
        _ => None,
    };
    let name = match value("name") {
        Some(DeValue::String(name)) => name.to_string(),
        _ => String::new(),
    };
    let count = |key| match value(key) {
        Some(DeValue::Integer(count)) => count.as_str().parse().unwrap_or(1),
        _ => 1,
    };
    // What is out of bounds is refused where it is read.
    let [nodes, replicas] = ["nodes", "replicas"].map(|key| count(key).min(limits::CALLEES_MAX));
    Callee { name, nodes, replicas }
}

/// All tiers of a file. Nothing may call itself, and something must call each.
pub(super) fn read(
    top: &Section<'_>,
    callees: &[Callee],
    server: &Server,
    spinners: &[Spinner<'_>],
) -> Vec<Tier> {
    let Some(item) = top.item("tier") else {
        return Vec::new();
    };
    let mut tiers: Vec<Tier> = Vec::new();
    let mut items = Vec::new();
    for item in item.one_or_list() {
        let Some(section) = item.section() else {
            continue;
        };
        let context = Context { tiers: callees, first: tiers.len() + 1 };
        let tier = tier(&section, &context);
        refuse_spinners(&section, &tier, spinners);
        if tiers.iter().any(|other| other.name == tier.name) {
            item.problem(format!(
                "tier {} is there already; a name of its own is needed",
                tier.name
            ));
        }
        tiers.push(tier);
        items.push(item);
    }
    for (index, item) in items.iter().enumerate() {
        refuse_uncalled(&tiers, index, item, server);
    }
    tiers
}

/// Refuses a tier that nothing calls.
fn refuse_uncalled(tiers: &[Tier], index: usize, item: &Item<'_>, server: &Server) {
    let Tier { name, application, .. } = &tiers[index];
    if name.is_empty() {
        // That is told already, and no call could name it.
        return;
    }
    let mut callers = tiers.iter().map(|tier| &tier.paths).chain([&server.paths]);
    match (&server.application, application) {
        (Some(_), true) => {}
        (None, true) => item.problem(format!(
            "tier {name} serves an application, and server.application is missing; it is needed, for example \
             application = \"setalgebra\""
        )),
        (Some(_), false) => item.problem(format!(
            "nothing calls tier {name}, as requests go to server.application; application = true is needed, or \
             leave the tier out"
        )),
        (None, false) if callers.any(|paths| paths.iter().any(|path| path.calls(index))) => {}
        (None, false) => item.problem(format!(
            "nothing calls tier {name}; a step such as {{ call = \"{name}\" }} is needed, or leave it out"
        )),
    }
}

fn tier(section: &Section<'_>, context: &Context<'_>) -> Tier {
    let name = section.needed("name", |item| item.line().map(ToOwned::to_owned));
    let application = section.truth("application").unwrap_or(false);
    let has_command = section.item("command").is_some();
    let command = command::read(section, application);
    let controller = section.item("controller").and_then(|item| controller::one(&item));
    let replicas = section.whole("replicas").unwrap_or(1);
    if application {
        refuse_replicas(section);
    }
    Tier {
        name: name.unwrap_or_default(),
        nodes: section.whole("nodes").unwrap_or(1),
        replicas,
        hedge: hedge::read(section, replicas),
        cores: cores(section),
        pin: pin(section),
        connections: section.whole("connections").unwrap_or(1),
        slo: section.duration("slo"),
        application,
        paths: match (has_command, application) {
            (_, true) => refuse_paths(section),
            (true, false) => command::stand_in(section),
            (false, false) => paths(section, context),
        },
        locks: Locks::read(&section_of(section, "locks")),
        validity: TierValidity::read(&section_of(section, "validity")),
        controller: command.as_ref().map(Command::controller).or(controller),
        command,
    }
}

/// How many; which ones they are is another key.
fn cores(section: &Section<'_>) -> Option<u32> {
    let item = section.item("cores")?;
    if let DeValue::Array(_) = item.value {
        return item.wrong(format_args!(
            "how many cores each node has is said here, and their numbers go to {}.pin; a whole number",
            section.name()
        ));
    }
    item.whole()
}

/// The cores under `pin`; no more than there are nodes.
fn pin(section: &Section<'_>) -> Vec<u32> {
    let Some(item) = section.item("pin") else {
        return Vec::new();
    };
    let cores = item.each_distinct(Item::whole::<u32>);
    let nodes: u32 = section.whole("nodes").unwrap_or(1);
    if cores.len() > nodes as usize {
        item.problem(format!(
            "{} names {} cores for a tier of {nodes} nodes; at most one for each node is needed",
            item.name,
            cores.len()
        ));
    }
    cores
}

/// Refuses nodes on a core that something spins on.
fn refuse_spinners(section: &Section<'_>, tier: &Tier, spinners: &[Spinner<'_>]) {
    let Some(item) = section.item("pin") else {
        return;
    };
    for Spinner { whose, cores, mend } in spinners {
        if let Some(core) = tier.pin.iter().find(|core| cores.contains(core)) {
            item.problem(format!(
                "core {core} is in {} and in {whose}, which spin; {mend} is needed, or another core",
                item.name
            ));
        }
    }
}

/// An application asks its nodes itself, and knows what each holds.
fn refuse_replicas(section: &Section<'_>) {
    if let Some(item) = section.item("replicas") {
        item.problem(format!(
            "{} is given beside application, whose nodes are told apart by what they hold; leave it out",
            item.name
        ));
    }
}

/// The application says what requests do.
fn refuse_paths(section: &Section<'_>) -> Vec<Path> {
    for item in ["service", "path"].into_iter().filter_map(|key| section.item(key)) {
        item.problem(format!(
            "{} is given beside application, which says what requests do; leave one out",
            item.name
        ));
    }
    Vec::new()
}

/// Paths, or a service, which is a path of one step.
fn paths(section: &Section<'_>, context: &Context<'_>) -> Vec<Path> {
    match section.only_one(&["service", "path"]) {
        Some((0, item)) => times::read(&item).map(Path::of_service).into_iter().collect(),
        Some((_, item)) => path::read(&item, context),
        None => Vec::new(),
    }
}
