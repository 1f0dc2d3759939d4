//! A thing to measure: the commands that measure it, in full and in short.

use crate::Result;
use crate::process::{self, SHORT};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Those that take more than ten seconds in short, longest first.
const SHORT_LONG: [&str; 8] = [
    "profile",
    "service-1us",
    "clients-10k",
    "controllers",
    "tuning",
    "key-value-var",
    "search-wordnet",
    "hostile",
];

/// Programs whose peers ask for features that nothing else has: what they share with `tailwater` is compiled anew. In a
/// short pass that happens beside the others.
pub(super) const APART: [&str; 2] = ["tls", "transport"];

/// Cargo's profile for a program, and for all that are in a build with it. A short pass has those [`APART`] as tests are
/// built, which takes a third of the time: nothing is made of its numbers.
pub(super) fn profile(name: &str, short: bool) -> &'static str {
    if short && APART.contains(&name) { "dev" } else { "release" }
}

/// One thing to measure.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Bench {
    pub(super) name: String,
    /// A scenario file, or the manifest of a program.
    pub(super) path: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A scenario for both drivers.
    Both,
    /// A scenario that only the simulator can play.
    Sim,
    /// A scenario whose server is a program.
    Loopback,
    /// A program in `benches/`.
    Program,
    /// A program there that is a workspace of its own.
    Peer,
}

impl Kind {
    /// Of a scenario with this text.
    pub(super) fn of_scenario(text: &str) -> Self {
        let says = |wanted: &str| text.lines().any(|line| line.trim().starts_with(wanted));
        // Paths and tiers run on sockets, too, unless they are a model of a machine with many cores.
        let modelled = says("[[server.path]]") && says("[sim]");
        if modelled || text.lines().any(strikes_no_process) {
            Self::Sim
        // The simulator knows no programs. What threads and second tries cost is to be measured.
        } else if says("application =") || says("model =") || says("hedge =") {
            Self::Loopback
        } else {
            Self::Both
        }
    }
}

/// Whether the line names a fault of clients or links, which sockets do not play.
fn strikes_no_process(line: &str) -> bool {
    let kind = line.trim().strip_prefix("kind = ");
    kind.is_some_and(|kind| !PROCESS_FAULTS.contains(&kind.trim_matches('"')))
}

/// See [`strikes_no_process`].
const PROCESS_FAULTS: [&str; 3] = ["server-pause", "server-restart", "server-slow"];

impl Bench {
    /// For a list of all.
    pub(super) fn line(&self) -> String {
        let apart = "   out of CI; `make peers` checks it";
        let apart = if self.kind == Kind::Peer { apart } else { "" };
        format!("{:<20} {}{apart}", self.name, self.path)
    }

    /// In full, its output going where ours goes.
    pub(super) fn run(&self, root: &Path) -> Result {
        self.commands(root, false).iter_mut().try_for_each(process::run)
    }

    /// In short, beside others; and what it said.
    pub(super) fn aside(&self, root: &Path) -> (Result, String) {
        let folder = root.join(out_folder(true));
        // Not by the name alone, which a scenario and a program may share.
        let path = folder.join(format!("{}.said", self.path.replace('/', "-")));
        let made = fs::create_dir_all(&folder).and_then(|()| fs::File::create(&path));
        let ran = made.map_err(|error| format!("{}: {error}", path.display())).and_then(|said| {
            let mut commands = self.commands(root, true);
            commands.iter_mut().try_for_each(|command| process::run_into(command, &said))
        });
        let said = fs::read(&path).unwrap_or_default();
        (ran, String::from_utf8_lossy(&said).into_owned())
    }

    /// Its place among short ones: the long ones come first, so that none is left to run alone, and those [`APART`] last.
    pub(super) fn turn(&self) -> usize {
        let last = usize::from(APART.contains(&&*self.name));
        SHORT_LONG.iter().position(|long| *long == self.name).unwrap_or(SHORT_LONG.len() + last)
    }

    fn commands(&self, root: &Path, short: bool) -> Vec<Command> {
        let play = |driver| self.play(root, driver, short);
        let mut commands = match self.kind {
            Kind::Program => vec![self.program(root, short)],
            Kind::Peer => vec![self.peer(root, short)],
            Kind::Sim => vec![play("sim")],
            Kind::Loopback => vec![play("loopback")],
            Kind::Both => vec![play("loopback"), play("sim")],
        };
        // A short run has hardly anything to compare.
        if self.kind == Kind::Both && !short {
            let result = |driver| format!("{}/result.json", self.out(driver, short));
            let mut compare = tailwater(root);
            compare.args(["compare", &result("loopback"), &result("sim")]);
            commands.push(compare);
        }
        for command in &mut commands {
            if short {
                command.env(SHORT.0, SHORT.1);
            }
            command.current_dir(root);
        }
        commands
    }

    fn program(&self, root: &Path, short: bool) -> Command {
        let folder = match profile(&self.name, short) {
            "dev" => "debug",
            other => other,
        };
        let mut command = Command::new(process::built(root, folder).join(&self.name));
        // Some run what lies there, by cargo too.
        let target = process::built(root, "");
        command.env("CARGO_TARGET_DIR", &target).env("TAILWATER_TARGET", target);
        command.envs(process::xtask()).args(short.then_some("--short"));
        command
    }

    /// Built by itself, in the folder that it builds in by hand.
    fn peer(&self, root: &Path, short: bool) -> Command {
        let run = ["run", "--release", "--locked", "--manifest-path", &self.path];
        let mut command = process::cargo(root, &run);
        // Of what it measures some would heed this, too: stock Redis has the same allocator.
        command.env_remove(process::HUGE_PAGES.0);
        command.args(short.then_some(["--", "--short"]).into_iter().flatten());
        command
    }

    fn play(&self, root: &Path, driver: &str, short: bool) -> Command {
        let mut command = tailwater(root);
        command.args(["run", &self.path, "--on", driver, "--out", &self.out(driver, short)]);
        command
    }

    fn out(&self, driver: &str, short: bool) -> String {
        let folder = out_folder(short);
        match (self.kind, driver) {
            (Kind::Both, "sim") => format!("{folder}/{}-sim", self.name),
            _ => format!("{folder}/{}", self.name),
        }
    }
}

/// Where results go, from the root: `tailwater run` refuses a short one where a full one lies.
const fn out_folder(short: bool) -> &'static str {
    if short { "out/bench-short" } else { "out/bench" }
}

fn tailwater(root: &Path) -> Command {
    Command::new(process::built(root, "release").join("tailwater"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{choose, list};
    use crate::tree::Tree;
    use std::collections::BTreeSet;

    fn tree() -> Tree {
        Tree::from([
            ("scenarios/overload.toml", "seed = 1"),
            ("scenarios/chain.toml", "[[server.path]]\n[[tier]]\n"),
            ("scenarios/locks.toml", "[[server.path]]\n"),
            ("scenarios/model.toml", "[[server.path]]\n[sim]\n"),
            ("scenarios/models.toml", "[[tier]]\nmodel = \"aib\"\n"),
            ("scenarios/pause.toml", "[[fault]]\nkind = \"server-pause\"\n"),
            ("scenarios/split.toml", "[[fault]]\nkind = \"partition\"\n"),
            ("scenarios/store.toml", "[server]\napplication = \"store\"\n"),
            ("scenarios/twice.toml", "[[tier]]\nhedge = {}\n"),
            ("Cargo.toml", ""),
            ("benches/shared/Cargo.toml", ""),
            ("benches/shared/src/lib.rs", ""),
            ("benches/transport/Cargo.toml", "shared = { path = \"../shared\" }"),
            ("benches/transport/src/main.rs", ""),
            ("benches/transport/inner/Cargo.toml", ""),
            ("benches/vectors/Cargo.toml", "[workspace]\n"),
            ("benches/vectors/src/main.rs", ""),
            ("presets/x.toml", ""),
        ])
    }

    #[test]
    fn scenarios_and_programs_are_benches() {
        let all = list(&tree()).unwrap();
        let names: Vec<&str> = all.iter().map(|bench| bench.name.as_str()).collect();
        let scenarios =
            ["chain", "locks", "model", "models", "overload", "pause", "split", "store", "twice"];
        assert_eq!(names, [&scenarios[..], &["transport", "vectors"]].concat());
        let kinds = [
            Kind::Both,
            Kind::Both,
            Kind::Sim,
            Kind::Loopback,
            Kind::Both,
            Kind::Both,
            Kind::Sim,
            Kind::Loopback,
            Kind::Loopback,
            Kind::Program,
            Kind::Peer,
        ];
        assert!(all.iter().map(|bench| bench.kind).eq(kinds));
        assert_eq!(all[2].commands(Path::new("."), false).len(), 1, "in simulation only");
        assert_eq!(all[4].commands(Path::new("."), false).len(), 3, "both, and compared");
        assert_eq!(choose(&all, &[]).unwrap().len(), 11);
        assert_eq!(choose(&all, &["transport"]).unwrap(), [&all[9]]);
        assert!(all[10].line().contains("make peers") && !all[9].line().contains("make peers"));
        assert!(choose(&all, &["none"]).unwrap_err().contains("twice, transport, vectors"));
    }

    #[test]
    fn the_longest_of_the_short_come_first_and_there_is_one_of_each_name() {
        let all = list(&Tree::read(&crate::root().unwrap()).unwrap()).unwrap();
        let mut turns: Vec<usize> = all.iter().map(Bench::turn).collect();
        turns.sort_unstable();
        let first: Vec<usize> = (0..=SHORT_LONG.len()).collect();
        assert_eq!(turns[..first.len()], first, "see SHORT_LONG");
        let last = all.iter().filter(|bench| bench.turn() > SHORT_LONG.len());
        assert!(last.map(|bench| &*bench.name).eq(APART), "they are built beside the others");
    }

    /// After `make bench`, `make ci` failed by each scenario.
    #[test]
    fn a_short_result_lies_in_no_folder_of_a_full_one() {
        let all = list(&tree()).unwrap();
        let out = |command: &Command| {
            let mut words = command.get_args().skip_while(|word| *word != "--out");
            words.nth(1).map(std::ffi::OsStr::to_owned)
        };
        let outs = |short| -> BTreeSet<_> {
            let commands = all.iter().flat_map(|bench| bench.commands(Path::new("."), short));
            commands.filter_map(|command| out(&command)).collect()
        };
        let (short, full) = (outs(true), outs(false));
        assert_eq!((short.len(), full.len()), (13, 13), "those in simulation, too");
        assert!(short.is_disjoint(&full), "{short:?}");
    }

    #[test]
    fn short_reaches_both_kinds() {
        for bench in list(&tree()).unwrap() {
            for short in bench.commands(Path::new("."), true) {
                assert!(short.get_envs().any(|(name, value)| name == SHORT.0 && value.is_some()));
                let flag = short.get_args().any(|arg| arg == "--short");
                assert_eq!(flag, matches!(bench.kind, Kind::Program | Kind::Peer));
            }
            for full in bench.commands(Path::new("."), false) {
                assert!(!full.get_envs().any(|(name, _)| name == SHORT.0));
            }
        }
    }

    #[test]
    fn what_is_meant_for_the_compiler_reaches_nothing_that_is_measured() {
        for bench in list(&tree()).unwrap() {
            for command in bench.commands(Path::new("."), false) {
                let pages = |(name, value): (&std::ffi::OsStr, Option<&std::ffi::OsStr>)| {
                    name == process::HUGE_PAGES.0 && value.is_some()
                };
                assert!(!command.get_envs().any(pages), "{command:?}");
            }
        }
    }
}
