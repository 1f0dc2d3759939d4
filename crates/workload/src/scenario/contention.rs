//! Locks that no request can find taken: they are held by what computes, and nothing else runs meanwhile.

use super::{Path, PathStep, Scenario, Tier};
use std::collections::BTreeSet;

/// A lock that no request finds taken, on sockets, in simulation or in both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FreeLock {
    /// Its name in the file, with the tier behind it: `A`, or `A of tier leaf`.
    pub name: String,
    /// What gives it waiters on sockets: words for behind "type". `None` where it has some.
    pub on_sockets: Option<String>,
    /// The same in simulation.
    pub simulated: Option<String>,
}

impl Scenario {
    /// The locks that no request finds taken in some place: one loop without workers holds them, or one core, and only while
    /// it computes. The server's come first, then the tiers' in the file's order.
    #[must_use]
    pub fn free_locks(&self) -> Vec<FreeLock> {
        let of_tiers = self.tiers.iter().flat_map(|tier| self.of_tier(tier));
        self.of_server().into_iter().chain(of_tiers).collect()
    }

    fn of_server(&self) -> Vec<FreeLock> {
        let models = self.server.models().chain(self.controllers.iter().filter_map(|it| it.model));
        let is_alone =
            self.server.loops == 1 && models.into_iter().all(|model| model.workers() == 0);
        let is_one_core = self.sim.cores == 1;
        let (on_sockets, simulated) = if self.has_models {
            let mend = "server.loops = 2, or a model that dispatches such as \"adb:4\"";
            // Threads of a single core run one after another, however many there are.
            let simulated =
                if is_one_core { format!("sim.cores = 2 with {mend}") } else { mend.into() };
            (mend, is_alone.then_some(simulated))
        } else {
            // The simulator has no workers: cores take their place.
            let simulated = is_one_core.then(|| "sim.cores = 2".into());
            ("server.loops = 2 or server.placement = \"workers:4\"", simulated)
        };
        let on_sockets = is_alone.then(|| on_sockets.into());
        free(&self.server.paths, "", (on_sockets, simulated))
    }

    /// On sockets a node has one loop, and with models in simulation one core.
    fn of_tier(&self, tier: &Tier) -> Vec<FreeLock> {
        const MEND: &str = "a wait or a call among the steps that hold it";
        let is_one_core = tier.cores.unwrap_or(self.sim.cores) == 1;
        let simulated = match self.has_models {
            true => Some(MEND.into()),
            false => is_one_core.then(|| "tier.cores = 2".into()),
        };
        free(&tier.paths, &format!(" of tier {}", tier.name), (Some(MEND.into()), simulated))
    }
}

/// Those of these paths, with the mends of both places.
fn free(
    paths: &[Path],
    whose: &str,
    (on_sockets, simulated): (Option<String>, Option<String>),
) -> Vec<FreeLock> {
    if on_sockets.is_none() && simulated.is_none() {
        return Vec::new();
    }
    let lock = |name: &str| FreeLock {
        name: format!("{name}{whose}"),
        on_sockets: on_sockets.clone(),
        simulated: simulated.clone(),
    };
    held_by_computing(paths).into_iter().map(lock).collect()
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

    fn locks(server: &str, steps: &str, rest: &str) -> Vec<FreeLock> {
        let text = format!(
            "slo = \"400us\"\nclients.count = 10\ndemand.of_capacity = 1.0\n\
             controller = [{{ name = \"none\" }}]\n{rest}\n[server]\n{server}\n\
             [[server.path]]\nprobability = 1.0\nsteps = [{steps}]\n"
        );
        Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}")).free_locks()
    }

    /// Their names, with an `s` where they are free on sockets, and a `*` in simulation.
    fn free(server: &str, steps: &str, rest: &str) -> Vec<String> {
        let mark = |is_free: bool, mark: &'static str| if is_free { mark } else { "" };
        let told = |FreeLock { name, on_sockets, simulated }: FreeLock| {
            let (sockets, simulation) = (on_sockets.is_some(), simulated.is_some());
            format!("{name}: {}{}", mark(sockets, "s"), mark(simulation, "*"))
        };
        locks(server, steps, rest).into_iter().map(told).collect()
    }

    const HELD: &str = "{ lock = \"A\", hold = \"1us\" }";

    #[test]
    fn one_loop_without_workers_finds_no_lock_taken_that_it_holds_computing() {
        assert_eq!(free("", HELD, ""), ["A: s*"]);
        assert_eq!(free("model = \"aib\"", HELD, "sim.cores = 1"), ["A: s*"]);
        assert_eq!(free("", HELD, "sim.cores = 4"), ["A: s"]);
        for server in ["loops = 2", "model = \"adb:2\""] {
            assert_eq!(free(server, HELD, ""), [""; 0], "{server}");
        }
    }

    /// They were recommended for both places.
    #[test]
    fn workers_are_none_in_simulation_where_cores_are_the_mend() {
        let workers = "placement = \"workers:4\"";
        assert_eq!(free(workers, HELD, ""), ["A: *"]);
        assert_eq!(free(workers, HELD, "sim.cores = 2"), [""; 0]);
        let simulated = |server: &str, rest: &str| {
            locks(server, HELD, rest).swap_remove(0).simulated.expect("it is free there")
        };
        assert_eq!(simulated("", ""), "sim.cores = 2");
        let of_model = simulated("model = \"aib\"", "sim.cores = 1");
        assert!(of_model.starts_with("sim.cores = 2 with server.loops = 2"), "{of_model}");
        let of_model = simulated("model = \"aib\"", "sim.cores = 2");
        assert!(of_model.starts_with("server.loops = 2"), "{of_model}");
    }

    #[test]
    fn what_waits_under_a_lock_lets_others_find_it_taken() {
        let nested = "{ lock = \"A\", steps = [{ lock = \"B\", hold = \"1us\" }] }";
        assert_eq!(free("", nested, ""), ["A: s*", "B: s*"]);
        let waits = "{ lock = \"B\", steps = [{ wait = \"1us\" }] }";
        assert_eq!(free("", waits, ""), [""; 0]);
        // A is held while B is waited for, which another path holds across a wait.
        assert_eq!(free("", &format!("{nested}, {waits}"), ""), [""; 0]);
        let calls = "{ lock = \"A\", steps = [{ call = \"leaf\" }] }";
        let leaf = "tier = [{ name = \"leaf\", path = [{ probability = 1.0, steps = [{ lock = \"C\", hold = \"1us\" }] }] }]";
        assert_eq!(free("", calls, leaf), ["C of tier leaf: s*"]);
        assert_eq!(free("loops = 2", calls, leaf), ["C of tier leaf: s"]);
    }
}
