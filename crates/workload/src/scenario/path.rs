//! `[[server.path]]`: what a request does, as steps chosen by probability.

use super::item::Item;
use super::keys::STEPS;
use super::lock_order;
use super::section::Section;
use super::times;
use crate::limits;
use crate::service::Service;
use tailwater_core::Ratio;

/// One way through the server.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// For people; its number, from 1, when left out.
    pub name: String,
    /// The share of requests that takes it; those of all paths add up to 1. Default 1 where it is the only one.
    pub probability: Ratio,
    /// What such a request does, in this order.
    pub steps: Vec<PathStep>,
}

/// One step of a path.
#[derive(Clone, PartialEq, Debug)]
pub enum PathStep {
    /// It computes for a time, holding a core.
    Compute(Service),
    /// It waits for a time, holding no core: for a disk or another machine that is not part of the
    /// scenario. On real sockets the server's timers decide how exactly.
    Wait(Service),
    /// It takes a lock for the length of further steps. Waiting for it holds no core.
    Lock(LockStep),
    /// It asks a further tier and waits for the answers, holding no core.
    Call(CallStep),
}

/// See [`PathStep::Lock`].
#[derive(Clone, PartialEq, Debug)]
pub struct LockStep {
    /// Which lock, or which set of them.
    pub name: String,
    /// How many locks the set has; each step draws one anew. Default 1.
    pub among: u32,
    /// Some of the set are drawn more often. Default: all alike.
    pub hot: Option<Hot>,
    /// What is done with the lock held.
    pub steps: Vec<PathStep>,
    /// It is waited for like a plain lock: such work may not be refused.
    pub must: bool,
    /// What the step must do again under the lock, and may not be refused, when the request is refused
    /// later: memcached frees memory under the lock under which it allocated it (Protego §5.3).
    pub undo: Option<Service>,
}

/// The first part of a set of locks, drawn more often than the others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hot {
    /// Its share of the locks.
    pub locks: Ratio,
    /// Its share of the requests.
    pub requests: Ratio,
}

/// See [`PathStep::Call`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallStep {
    /// Index into the scenario's tiers.
    pub tier: usize,
    /// How many nodes of the tier are asked at once, each one request. Default 1.
    pub fan_out: u32,
}

impl Path {
    /// A path of a single step, which every request takes.
    #[must_use]
    pub fn of_service(service: Service) -> Self {
        let steps = vec![PathStep::Compute(service)];
        Self { name: "1".into(), probability: Ratio(1.0), steps }
    }

    /// Whether some step calls the tier with this index.
    #[must_use]
    pub fn calls(&self, tier: usize) -> bool {
        fn any(steps: &[PathStep], tier: usize) -> bool {
            steps.iter().any(|step| match step {
                PathStep::Compute(_) | PathStep::Wait(_) => false,
                PathStep::Lock(lock) => any(&lock.steps, tier),
                PathStep::Call(call) => call.tier == tier,
            })
        }
        any(&self.steps, tier)
    }
}

/// A tier that may be called.
pub(super) struct Callee {
    pub(super) name: String,
    pub(super) nodes: u32,
    /// Of each node.
    pub(super) replicas: u32,
}

/// What a server's paths may refer to.
pub(super) struct Context<'c> {
    pub(super) tiers: &'c [Callee],
    /// The first tier that this server may call: those before it would make a circle.
    pub(super) first: usize,
}

/// All paths under `path`.
pub(super) fn read(item: &Item<'_>, context: &Context<'_>) -> Vec<Path> {
    let mut order = lock_order::Order::default();
    let mut paths = Vec::new();
    let items = item.one_or_list();
    let is_only = items.len() == 1;
    // What cannot be read is told by itself, and no sum is known.
    let mut sum = Some(0.0);
    for (number, item) in (1..).zip(items) {
        let Some(section) = item.section() else {
            sum = None;
            continue;
        };
        let probability = match section.item("probability") {
            None if is_only => Some(1.0),
            _ => section.needed("probability", Item::number),
        };
        sum = sum.zip(probability).map(|(sum, share)| sum + share);
        let steps = section.needed("steps", |item| {
            let reader = Reader { context, depth: 0 };
            reader.steps(item, &mut order)
        });
        paths.push(Path {
            name: section.line("name").unwrap_or_else(|| number.to_string()),
            probability: Ratio(probability.unwrap_or(0.0)),
            steps,
        });
    }
    if let Some(sum) = sum.filter(|sum: &f64| !paths.is_empty() && (sum - 1.0).abs() > 1e-6) {
        item.problem(format!(
            "the probabilities of {} add up to {}; a sum of 1 is needed",
            item.name,
            // 0.7 and 0.2 add up to 0.8999999999999999.
            (sum * 1e9).round() / 1e9
        ));
    }
    paths
}

struct Reader<'c> {
    context: &'c Context<'c>,
    depth: usize,
}

impl Reader<'_> {
    fn steps(&self, item: &Item<'_>, order: &mut lock_order::Order) -> Vec<PathStep> {
        if self.depth > limits::NESTING_MAX {
            item.problem(format!(
                "{} lies within {} locks; {} at most are needed",
                item.name,
                self.depth,
                limits::NESTING_MAX
            ));
            return Vec::new();
        }
        item.list().iter().filter_map(|item| self.step(item, order)).collect()
    }

    fn step(&self, item: &Item<'_>, order: &mut lock_order::Order) -> Option<PathStep> {
        let section = item.section()?;
        let kinds: Vec<&str> = STEPS.iter().map(|kind| kind.name).collect();
        let (kind, said) = section.only_one(&kinds)?;
        let stray = section.others(&kinds, STEPS[kind].keys);
        for stray in stray.filter_map(|key| section.item(key)) {
            stray.problem(format!(
                "{} does not belong to a step of the kind {}; leave it out",
                stray.name, kinds[kind]
            ));
        }
        match kinds[kind] {
            "compute" => times::read(&said).map(PathStep::Compute),
            "wait" => times::read(&said).map(PathStep::Wait),
            "lock" => self.lock(&section, &said, order).map(PathStep::Lock),
            _ => self.call(&section, &said).map(PathStep::Call),
        }
    }

    fn lock(
        &self,
        section: &Section<'_>,
        said: &Item<'_>,
        order: &mut lock_order::Order,
    ) -> Option<LockStep> {
        let name = said.line()?.to_owned();
        let among = section.whole("among").unwrap_or(1);
        order.enter(said, &name, among);
        let within = Self { context: self.context, depth: self.depth + 1 };
        let steps = match section.only_one(&["hold", "steps"]) {
            Some((0, item)) => times::read(&item).map(PathStep::Compute).into_iter().collect(),
            Some((_, item)) => within.steps(&item, order),
            None => Vec::new(),
        };
        order.leave();
        Some(LockStep {
            name,
            among,
            hot: section.item("hot").and_then(|item| hot(&item)),
            steps,
            must: section.truth("must").unwrap_or(false),
            undo: section.item("undo").and_then(|item| times::read(&item)),
        })
    }

    fn call(&self, section: &Section<'_>, said: &Item<'_>) -> Option<CallStep> {
        let name = said.text()?;
        let tiers = self.context.tiers;
        let Some(tier) = tiers.iter().position(|known| known.name == name) else {
            let names: Vec<&str> = tiers.iter().map(|tier| tier.name.as_str()).collect();
            if names.contains(&"") {
                // A tier could not be read, and may be what is meant.
                return None;
            }
            return if names.is_empty() {
                said.wrong("the name of a [[tier]], of which there is none,")
            } else {
                said.unknown(name, &names)
            };
        };
        if tier < self.context.first {
            said.problem(format!(
                "{} is \"{name}\", which does not stand behind its caller; a tier further down is \
                 needed, so that calls cannot run in a circle",
                said.name
            ));
        }
        let fan_out = section.whole("fan_out").unwrap_or(1);
        let nodes = tiers[tier].nodes;
        if let Some(item) = section.item("fan_out")
            && fan_out > nodes
        {
            item.problem(format!(
                "{} is {fan_out}, but tier {name} has {nodes} nodes; at most one request for each is \
                 needed",
                item.name
            ));
        }
        Some(CallStep { tier, fan_out })
    }
}

fn hot(item: &Item<'_>) -> Option<Hot> {
    let needed =
        "a list of two numbers such as [0.1, 0.9]: share of the locks, share of the requests,";
    let shares: Vec<f64> = item.list().iter().filter_map(Item::number).collect();
    match shares[..] {
        [locks, requests] if locks > 0.0 && locks < 1.0 => {
            Some(Hot { locks: Ratio(locks), requests: Ratio(requests) })
        }
        _ => item.wrong(needed),
    }
}
