//! What requests do on their paths, compiled: flat lists of operations, with locks by number.

use crate::scenario::{Hot, LockStep, Path, PathStep};
use crate::service::Service;
use tailwater_core::{Rate, Rng};

/// The paths through a server. Both drivers walk these, so that the same request draws the same.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ways {
    /// Each path, in the file's order.
    pub all: Vec<Way>,
    /// Locks by name, in the order in which paths name them.
    pub sets: Vec<LockSet>,
}

/// One path.
#[derive(Clone, PartialEq, Debug)]
pub struct Way {
    /// The share of requests that takes it.
    pub probability: f64,
    /// What such a request does, in this order.
    pub ops: Vec<Op>,
}

/// A set of locks under one name, numbered from `first`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockSet {
    /// As the file spells it.
    pub name: String,
    /// The number of its first lock.
    pub first: u32,
    /// How many there are.
    pub among: u32,
}

/// What a request does next.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// It holds a core for a time that it draws.
    Compute(Service),
    /// It waits for a time that it draws, holding no core.
    Pause(Service),
    /// It takes a lock that it draws.
    Acquire(Acquire),
    /// It releases the lock that was taken last.
    Release {
        /// What must be done again under that lock if the request is refused later.
        undo: Option<Service>,
    },
    /// It makes the messages of the call that follows.
    Prepare {
        /// How many.
        messages: u32,
    },
    /// It asks nodes of a tier and waits for their answers.
    Call {
        /// Index into the scenario's tiers.
        tier: usize,
        /// How many nodes.
        fan_out: u32,
    },
}

/// See [`Op::Acquire`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Acquire {
    /// Index into [`Ways::sets`].
    pub set: usize,
    /// Some of the set are drawn more often.
    pub hot: Option<Hot>,
    /// It may not be refused.
    pub must: bool,
}

impl Ways {
    /// Checked paths of a scenario.
    #[must_use]
    pub fn new(paths: &[Path]) -> Self {
        let mut compiled = Self::default();
        for path in paths {
            let mut ops = Vec::new();
            compiled.compile(&path.steps, &mut ops);
            compiled.all.push(Way { probability: path.probability.0, ops });
        }
        compiled
    }

    /// How many locks there are in all.
    #[must_use]
    pub fn locks(&self) -> u32 {
        self.sets.last().map_or(0, |set| set.first + set.among)
    }

    /// Whether some path calls the tier.
    #[must_use]
    pub fn calls(&self, wanted: usize) -> bool {
        let mut ops = self.all.iter().flat_map(|way| &way.ops);
        ops.any(|op| matches!(op, Op::Call { tier, .. } if *tier == wanted))
    }

    /// Which path a request takes.
    pub fn choose(&self, rng: &mut Rng) -> usize {
        let mut left = rng.unit();
        for (index, way) in self.all.iter().enumerate() {
            left -= way.probability;
            if left < 0.0 {
                return index;
            }
        }
        // Rounding left nothing for the last.
        self.all.len().saturating_sub(1)
    }

    /// Which lock of a set a request takes.
    pub fn draw(&self, acquire: &Acquire, rng: &mut Rng) -> u32 {
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

    /// What no control can beat at this demand, on cores that spend `per_request` seconds beside a
    /// request's computing: it would know each request's path beforehand, refuse
    /// for nothing, and lose nothing to chance. Each lock, all cores together, and the cores of each tier
    /// that is called, is a resource of which paths need different amounts. Serving first those that need least
    /// serves most, and the scarcest resource decides. Sets of locks, locks of tiers and what messages cost there
    /// are left out: the bound may be high.
    #[must_use]
    pub fn bound(&self, cores: u32, per_request: f64, tiers: &[Pool], demand: Rate) -> Rate {
        let computing: Vec<f64> =
            self.all.iter().map(|way| per_request + way.computing()).collect();
        let mut least = self.most(&computing, f64::from(cores), demand.0);
        let single = |set: &usize| self.sets[*set].among == 1;
        for set in (0..self.sets.len()).filter(single) {
            let held: Vec<f64> = self.all.iter().map(|way| way.holding(set)).collect();
            least = least.min(self.most(&held, 1.0, demand.0));
        }
        for (tier, pool) in tiers.iter().enumerate() {
            let needs = needs(tiers, tier);
            let there: Vec<f64> = self.all.iter().map(|way| way.calling(&needs)).collect();
            least = least.min(self.most(&there, pool.cores, demand.0));
        }
        Rate(least)
    }

    fn most(&self, seconds: &[f64], capacity: f64, demand: f64) -> f64 {
        let shares = self.all.iter().map(|way| way.probability);
        let mut needs: Vec<(f64, f64)> = shares.zip(seconds.iter().copied()).collect();
        most_served(&mut needs, capacity, Rate(demand)).0
    }

    fn compile(&mut self, steps: &[PathStep], ops: &mut Vec<Op>) {
        for step in steps {
            match step {
                PathStep::Compute(service) => ops.push(Op::Compute(service.clone())),
                PathStep::Wait(time) => ops.push(Op::Pause(time.clone())),
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
        let LockStep { hot, must, ref undo, .. } = *lock;
        ops.push(Op::Acquire(Acquire { set, hot, must }));
        self.compile(&lock.steps, ops);
        ops.push(Op::Release { undo: undo.clone() });
    }
}

/// The most requests that are served within `capacity` seconds per second: the cheapest first. Of each kind
/// the share of the demand and the seconds that one needs; sorted by these.
#[must_use]
pub fn most_served(needs: &mut [(f64, f64)], capacity: f64, demand: Rate) -> Rate {
    needs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (mut left, mut served) = (capacity, 0.0);
    for &mut (share, seconds) in needs {
        let asked = demand.0 * share;
        let fits = if seconds > 0.0 { asked.min(left / seconds) } else { asked };
        left -= fits * seconds;
        served += fits;
    }
    Rate(served)
}

/// The nodes of a tier, for [`Ways::bound`].
#[derive(Clone, PartialEq, Debug)]
pub struct Pool {
    /// What requests do there.
    pub ways: Ways,
    /// Cores of all its nodes together.
    pub cores: f64,
}

/// Seconds of computing in tier `at` that a visit to each tier brings about, on the path that needs least. Tiers
/// call only those behind them.
fn needs(tiers: &[Pool], at: usize) -> Vec<f64> {
    let mut needs = vec![0.0; tiers.len()];
    for tier in (0..=at).rev() {
        let of_way = |way: &Way| if tier == at { way.computing() } else { way.calling(&needs) };
        let least = tiers[tier].ways.all.iter().map(of_way).fold(f64::INFINITY, f64::min);
        needs[tier] = if least.is_finite() { least } else { 0.0 };
    }
    needs
}

impl Way {
    /// What its calls need, where a visit to each tier needs so much.
    fn calling(&self, needs: &[f64]) -> f64 {
        let need = |op: &Op| match *op {
            Op::Call { tier, fan_out } => needs[tier] * f64::from(fan_out),
            _ => 0.0,
        };
        self.ops.iter().map(need).sum()
    }

    /// Mean seconds of computing.
    fn computing(&self) -> f64 {
        let mean = |op: &Op| match op {
            Op::Compute(service) => service.mean.as_secs_f64(),
            _ => 0.0,
        };
        self.ops.iter().map(mean).sum()
    }

    /// Mean seconds with a lock of the set held, waiting for other locks left out.
    fn holding(&self, wanted: usize) -> f64 {
        let (mut held, mut seconds) = (Vec::new(), 0.0);
        for op in &self.ops {
            match op {
                Op::Acquire(acquire) => held.push(acquire.set),
                Op::Release { .. } => drop(held.pop()),
                Op::Compute(service) | Op::Pause(service) if held.contains(&wanted) => {
                    seconds += service.mean.as_secs_f64();
                }
                _ => {}
            }
        }
        seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

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
        let paths = Ways::new(&server.paths);
        let names: Vec<_> = paths.all[0].ops.iter().map(|op| format!("{op:?}")).collect();
        let heads: Vec<_> =
            names.iter().map(|name| name.split([' ', '(']).next().unwrap()).collect();
        let expected =
            ["Acquire", "Compute", "Acquire", "Compute", "Release", "Release", "Prepare", "Call"];
        assert_eq!(heads, expected);
        assert_eq!((paths.sets.len(), paths.locks()), (2, 11));
        assert_eq!(paths.all[1].ops.len(), 3);
    }

    /// A quarter of the requests ask two of the leaves, each of which asks the store.
    #[test]
    fn the_cores_of_tiers_are_part_of_the_bound() {
        let text = TEXT.replace(
            "service = \"5us\"",
            "[[tier.path]]\nprobability = 1.0\nsteps = [{ compute = \"5us\" }, { call = \"store\" }]\n\
             [[tier]]\nname = \"store\"\nservice = \"4us\"",
        );
        let scenario = Scenario::parse("x.toml", &text).unwrap();
        let ways = Ways::new(&scenario.server.paths);
        let pool = |at: usize, cores| Pool { ways: Ways::new(&scenario.tiers[at].paths), cores };
        let pools = [pool(0, 2.0), pool(1, 1.0)];
        assert_eq!(needs(&pools, 0), [5e-6, 0.0]);
        assert_eq!(needs(&pools, 1), [4e-6, 4e-6]);
        // A is held for 3 µs by all: 333,333 per second without tiers.
        let of = |tiers: &[Pool], demand| ways.bound(4, 0.0, tiers, Rate(demand)).0;
        assert!((of(&[], 1e6) - 1e6 / 3.0).abs() < 1.0);
        // The store does 250,000 visits, two for each request of the first path.
        assert!((of(&pools, 200e3) - 200e3).abs() < 1.0, "it is not short of anything");
        let narrow = [pool(0, 2.0), pool(1, 0.1)];
        assert!((of(&narrow, 200e3) - (150e3 + 12.5e3)).abs() < 1.0, "{}", of(&narrow, 200e3));
    }

    #[test]
    fn paths_and_hot_locks_are_drawn_as_often_as_they_are_said_to() {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        let paths = Ways::new(&scenario.server.paths);
        let mut rng = Rng::from_seed(1);
        let first = (0..100_000).filter(|_| paths.choose(&mut rng) == 0).count();
        assert!((24_500..25_500).contains(&first), "{first}");
        let Op::Acquire(acquire) = paths.all[0].ops[2] else { panic!("B is taken third") };
        let hot = (0..100_000).filter(|_| paths.draw(&acquire, &mut rng) == 1).count();
        assert!((89_500..90_500).contains(&hot), "{hot} of the first of ten");
    }
}
