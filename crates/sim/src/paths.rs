//! What requests do at a node, compiled: flat lists of operations, with locks by number.

use crate::world::NodeSpec;
use std::time::Duration;
use tailwater_control::asqm::{Asqm, Policy};
use tailwater_core::{Rate, Rng};
use tailwater_workload::Service;
use tailwater_workload::scenario::{Hot, LockPolicy, LockStep, Locks, Path, PathStep};

/// The paths through a node and the rules of its locks.
#[derive(Clone, PartialEq, Debug)]
pub struct Paths {
    /// What a request does at a taken lock.
    pub policy: Policy,
    /// Within this the node shall answer or refuse; budgets are measured from it.
    pub target: Duration,
    /// The budget of every request where it is not to be measured.
    pub budget: Option<Duration>,
    /// What waking the next holder of a lock costs it.
    pub hand_off: Duration,
    /// Who is woken with a lock runs before all else.
    pub ahead: bool,
    pub(crate) ways: Vec<Way>,
    pub(crate) sets: Vec<LockSet>,
}

/// One path.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Way {
    pub(crate) probability: f64,
    pub(crate) ops: Vec<Op>,
}

/// A set of locks under one name, numbered from `first`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LockSet {
    pub(crate) name: String,
    pub(crate) first: u32,
    pub(crate) among: u32,
}

/// What a request does next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Op {
    Compute(Service),
    Acquire(Acquire),
    /// Of the lock that was taken last.
    Release {
        undo: Option<Service>,
    },
    /// Makes the messages of the call that follows.
    Prepare {
        messages: u32,
    },
    Call {
        tier: usize,
        fan_out: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Acquire {
    pub(crate) set: usize,
    pub(crate) hot: Option<Hot>,
    pub(crate) must: bool,
}

impl Paths {
    /// Checked paths of a scenario, for a node that shall answer within `target` where `locks` says
    /// nothing else.
    #[must_use]
    pub fn new(paths: &[Path], locks: &Locks, target: Duration) -> Self {
        let mut compiled = Self {
            policy: policy_of(locks.policy),
            target: locks.target.unwrap_or(target),
            budget: locks.budget,
            hand_off: locks.hand_off,
            ahead: locks.ahead,
            ways: Vec::new(),
            sets: Vec::new(),
        };
        for path in paths {
            let mut ops = Vec::new();
            compiled.compile(&path.steps, &mut ops);
            compiled.ways.push(Way { probability: path.probability.0, ops });
        }
        compiled
    }

    /// How many locks there are in all.
    pub(crate) fn locks(&self) -> u32 {
        self.sets.last().map_or(0, |set| set.first + set.among)
    }

    /// Whether some path calls the tier.
    pub(crate) fn calls(&self, wanted: usize) -> bool {
        let mut ops = self.ways.iter().flat_map(|way| &way.ops);
        ops.any(|op| matches!(op, Op::Call { tier, .. } if *tier == wanted))
    }

    /// Which path a request takes.
    pub(crate) fn choose(&self, rng: &mut Rng) -> usize {
        let mut left = rng.unit();
        for (index, way) in self.ways.iter().enumerate() {
            left -= way.probability;
            if left < 0.0 {
                return index;
            }
        }
        // Rounding left nothing for the last.
        self.ways.len().saturating_sub(1)
    }

    /// Which lock of a set a request takes.
    pub(crate) fn draw(&self, acquire: &Acquire, rng: &mut Rng) -> u32 {
        let LockSet { first, among, .. } = self.sets[acquire.set];
        if among == 1 {
            return first;
        }
        let Some(hot) = acquire.hot else {
            return first + rng.below(among);
        };
        let few = ((f64::from(among) * hot.locks.0).round() as u32).clamp(1, among - 1);
        if rng.chance(hot.requests.0) {
            first + rng.below(few)
        } else {
            first + few + rng.below(among - few)
        }
    }

    /// What no control can beat at this demand: it would know each request's path beforehand, refuse
    /// for nothing, and lose nothing to chance. Each lock, and all cores together, is a resource of
    /// which paths need different amounts; whoever prefers those that need least serves most, and the
    /// scarcest resource decides. Sets of locks and further tiers are left out: the bound may be high.
    pub(crate) fn bound(&self, node: &NodeSpec, demand: Rate) -> Rate {
        let per_request = node.costs.per_request().as_secs_f64();
        let cores: Vec<f64> = self.ways.iter().map(|way| per_request + way.computing()).collect();
        let mut least = self.most(&cores, f64::from(node.cores), demand.0);
        let single = |set: &usize| self.sets[*set].among == 1;
        for set in (0..self.sets.len()).filter(single) {
            let held: Vec<f64> = self.ways.iter().map(|way| way.holding(set)).collect();
            least = least.min(self.most(&held, 1.0, demand.0));
        }
        Rate(least)
    }

    /// Requests per second within `capacity` seconds per second, of which each path needs `seconds`.
    fn most(&self, seconds: &[f64], capacity: f64, demand: f64) -> f64 {
        let mut order: Vec<usize> = (0..seconds.len()).collect();
        order.sort_by(|a, b| seconds[*a].total_cmp(&seconds[*b]));
        let (mut left, mut served) = (capacity, 0.0);
        for way in order {
            let asked = demand * self.ways[way].probability;
            let fits = if seconds[way] > 0.0 { asked.min(left / seconds[way]) } else { asked };
            left -= fits * seconds[way];
            served += fits;
        }
        served
    }

    fn compile(&mut self, steps: &[PathStep], ops: &mut Vec<Op>) {
        for step in steps {
            match step {
                PathStep::Compute(service) => ops.push(Op::Compute(*service)),
                PathStep::Lock(lock) => self.compile_lock(lock, ops),
                PathStep::Call(call) => {
                    ops.push(Op::Prepare { messages: call.fan_out });
                    ops.push(Op::Call { tier: call.tier, fan_out: call.fan_out });
                }
            }
        }
    }

    fn compile_lock(&mut self, lock: &LockStep, ops: &mut Vec<Op>) {
        let known = self.sets.iter().position(|set| set.name == lock.name);
        let set = known.unwrap_or_else(|| {
            let (first, among) = (self.locks(), lock.among);
            self.sets.push(LockSet { name: lock.name.clone(), first, among });
            self.sets.len() - 1
        });
        let LockStep { hot, must, undo, .. } = *lock;
        ops.push(Op::Acquire(Acquire { set, hot, must }));
        self.compile(&lock.steps, ops);
        ops.push(Op::Release { undo });
    }
}

impl Way {
    /// Mean seconds of computing.
    fn computing(&self) -> f64 {
        let mean = |op: &Op| match op {
            Op::Compute(service) => service.mean.as_secs_f64(),
            _ => 0.0,
        };
        self.ops.iter().map(mean).sum()
    }

    /// Mean seconds of computing with a lock of the set held.
    fn holding(&self, wanted: usize) -> f64 {
        let (mut held, mut seconds) = (Vec::new(), 0.0);
        for op in &self.ops {
            match op {
                Op::Acquire(acquire) => held.push(acquire.set),
                Op::Release { .. } => drop(held.pop()),
                Op::Compute(service) if held.contains(&wanted) => {
                    seconds += service.mean.as_secs_f64();
                }
                _ => {}
            }
        }
        seconds
    }
}

/// The rule that a scenario names.
pub(crate) const fn policy_of(said: LockPolicy) -> Policy {
    match said {
        LockPolicy::Plain => Policy::Plain,
        LockPolicy::Try => Policy::Try,
        LockPolicy::Timed(after) => Policy::Timed(after),
        LockPolicy::Asqm => Policy::Asqm(Asqm::DEFAULT),
        LockPolicy::AsqmPaper => Policy::Asqm(Asqm::PAPER),
        LockPolicy::AsqmArtifact => Policy::Asqm(Asqm::ARTIFACT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_workload::Scenario;

    const TEXT: &str = r#"
slo = "200us"
clients.count = 1
demand.of_capacity = 1.0
controller = { name = "none" }
[[server.path]]
probability = 0.25
steps = [{ lock = "A", steps = [{ compute = "1us" }, { lock = "B", hold = "2us", among = 10,
           hot = [0.1, 0.9] }] }, { call = "leaf", fan_out = 2 }]
[[server.path]]
probability = 0.75
steps = [{ lock = "A", hold = "3us" }]
[[tier]]
name = "leaf"
nodes = 2
service = "5us"
"#;

    #[test]
    fn steps_become_operations_and_names_become_numbers() {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        let server = &scenario.server;
        let paths = Paths::new(&server.paths, &server.locks, scenario.slo[0]);
        let names: Vec<_> = paths.ways[0].ops.iter().map(|op| format!("{op:?}")).collect();
        let heads: Vec<_> =
            names.iter().map(|name| name.split([' ', '(']).next().unwrap()).collect();
        let expected =
            ["Acquire", "Compute", "Acquire", "Compute", "Release", "Release", "Prepare", "Call"];
        assert_eq!(heads, expected);
        assert_eq!((paths.sets.len(), paths.locks()), (2, 11));
        assert_eq!(paths.ways[1].ops.len(), 3);
    }

    #[test]
    fn paths_and_hot_locks_are_drawn_as_often_as_they_are_said_to() {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        let paths = Paths::new(&scenario.server.paths, &scenario.server.locks, scenario.slo[0]);
        let mut rng = Rng::from_seed(1);
        let first = (0..100_000).filter(|_| paths.choose(&mut rng) == 0).count();
        assert!((24_500..25_500).contains(&first), "{first}");
        let Op::Acquire(acquire) = paths.ways[0].ops[2] else { panic!("B is taken third") };
        let hot = (0..100_000).filter(|_| paths.draw(&acquire, &mut rng) == 1).count();
        assert!((89_500..90_500).contains(&hot), "{hot} of the first of ten");
    }
}
