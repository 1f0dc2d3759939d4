//! Locks that no request can find taken: they are held by what computes, and nothing else runs meanwhile.

use super::{Path, PathStep, Scenario, Tier};
use std::collections::BTreeSet;

/// A lock that no request finds taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FreeLock {
    /// Its name in the file, with the tier behind it: `A`, or `A of tier leaf`.
    pub name: String,
    /// What gives it waiters: words for behind "type".
    pub mend: String,
    /// In simulation no request finds it taken either: as many cores serve there as there are loops.
    pub simulated_too: bool,
}

impl Scenario {
    /// The locks that no request finds taken on sockets: a single loop without workers holds them, and only while it
    /// computes. The server's come first, then the tiers' in the file's order.
    #[must_use]
    pub fn free_locks(&self) -> Vec<FreeLock> {
        let of_tiers = self.tiers.iter().flat_map(|tier| self.of_tier(tier));
        self.of_server().chain(of_tiers).collect()
    }

    fn of_server(&self) -> impl Iterator<Item = FreeLock> {
        let models = self.server.models().chain(self.controllers.iter().filter_map(|it| it.model));
        let is_alone =
            self.server.loops == 1 && models.into_iter().all(|model| model.workers() == 0);
        let paths: &[Path] = if is_alone { &self.server.paths } else { &[] };
        let mend = match self.has_models {
            true => "server.loops = 2, or a model that dispatches such as \"adb:4\"",
            false => "server.loops = 2 or server.placement = \"workers:4\"",
        };
        let simulated_too = self.has_models || self.sim.cores == 1;
        held_by_computing(paths).into_iter().map(move |name| FreeLock {
            name: name.into(),
            mend: mend.into(),
            simulated_too,
        })
    }

    /// On sockets a node has one loop, and with models in simulation one core.
    fn of_tier(&self, tier: &Tier) -> impl Iterator<Item = FreeLock> {
        let simulated_too = self.has_models || tier.cores.unwrap_or(self.sim.cores) == 1;
        let mend = match self.has_models {
            true => "a wait or a call among the steps that hold it",
            false => {
                "a wait or a call among the steps that hold it, or tier.cores = 2 for the simulator"
            }
        };
        held_by_computing(&tier.paths).into_iter().map(move |name| FreeLock {
            name: format!("{name} of tier {}", tier.name),
            mend: mend.into(),
            simulated_too,
        })
    }
}

/// The locks that are held across no wait and no call, and across no wait for another lock.
fn held_by_computing(paths: &[Path]) -> BTreeSet<&str> {
    let mut free = BTreeSet::new();
    for path in paths {
        each(&path.steps, &mut |name, _| {
            free.insert(name);
        });
    }
    // Each round takes at least one name away; a lock that is waited for makes those around it waited for.
    loop {
        let before = free.len();
        let kept = free.clone();
        for path in paths {
            each(&path.steps, &mut |name, steps| {
                if rests(steps, &kept) {
                    free.remove(name);
                }
            });
        }
        if free.len() == before {
            return free;
        }
    }
}

/// Tells every lock among the steps with what is done while it is held.
fn each<'p>(steps: &'p [PathStep], tell: &mut impl FnMut(&'p str, &'p [PathStep])) {
    for step in steps {
        if let PathStep::Lock(lock) = step {
            tell(&lock.name, &lock.steps);
            each(&lock.steps, tell);
        }
    }
}

/// Whether others run before the steps are done.
fn rests(steps: &[PathStep], free: &BTreeSet<&str>) -> bool {
    steps.iter().any(|step| match step {
        PathStep::Compute(_) => false,
        PathStep::Wait(_) | PathStep::Call(_) => true,
        PathStep::Lock(lock) => !free.contains(&*lock.name) || rests(&lock.steps, free),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their names, with a `*` where the simulator's are free, too.
    fn free(server: &str, steps: &str, rest: &str) -> Vec<String> {
        let text = format!(
            "slo = \"400us\"\nclients.count = 10\ndemand.of_capacity = 1.0\n\
             controller = [{{ name = \"none\" }}]\n{rest}\n[server]\n{server}\n\
             [[server.path]]\nprobability = 1.0\nsteps = [{steps}]\n"
        );
        let scenario = Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let told =
            |lock: FreeLock| format!("{}{}", lock.name, ["", "*"][usize::from(lock.simulated_too)]);
        scenario.free_locks().into_iter().map(told).collect()
    }

    const HELD: &str = "{ lock = \"A\", hold = \"1us\" }";

    #[test]
    fn one_loop_without_workers_finds_no_lock_taken_that_it_holds_computing() {
        assert_eq!(free("", HELD, ""), ["A*"]);
        assert_eq!(free("model = \"aib\"", HELD, "sim.cores = 1"), ["A*"]);
        assert_eq!(free("", HELD, "sim.cores = 4"), ["A"]);
        for server in ["loops = 2", "placement = \"workers:4\"", "model = \"adb:2\""] {
            assert_eq!(free(server, HELD, ""), [""; 0], "{server}");
        }
    }

    #[test]
    fn what_waits_under_a_lock_lets_others_find_it_taken() {
        let nested = "{ lock = \"A\", steps = [{ lock = \"B\", hold = \"1us\" }] }";
        assert_eq!(free("", nested, ""), ["A*", "B*"]);
        let waits = "{ lock = \"B\", steps = [{ wait = \"1us\" }] }";
        assert_eq!(free("", waits, ""), [""; 0]);
        // A is held while B is waited for, which another path holds across a wait.
        assert_eq!(free("", &format!("{nested}, {waits}"), ""), [""; 0]);
        let calls = "{ lock = \"A\", steps = [{ call = \"leaf\" }] }";
        let leaf = "tier = [{ name = \"leaf\", path = [{ probability = 1.0, steps = [{ lock = \"C\", hold = \"1us\" }] }] }]";
        assert_eq!(free("", calls, leaf), ["C of tier leaf*"]);
        assert_eq!(free("loops = 2", calls, leaf), ["C of tier leaf"]);
    }
}
