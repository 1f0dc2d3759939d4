//! `bench`: every scenario file and every program in benches/, by name.
//!
//! A scenario runs with the release binary on loopback, writing to `out/bench/NAME`, and in simulation,
//! writing to `out/bench/NAME-sim`, and the two are compared; one that needs the simulator or real sockets
//! runs there only. The programs are a workspace apart, so that what they compare with stays out of the common build.
//! All that were chosen are built at once: several stand on the same crates, and a core that one leaves idle builds
//! another. Peers that take minutes to build are workspaces of their own, which CI leaves out.

use crate::process::{self, SHORT};
use crate::slow::Slow;
use crate::tally::Tally;
use crate::tree::Tree;
use crate::{Result, lanes};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `cargo xtask bench [--list] [--short] [NAME…]`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let (flags, names): (Vec<&str>, Vec<&str>) =
        args.iter().map(String::as_str).partition(|arg| arg.starts_with("--"));
    if let Some(flag) = flags.iter().find(|flag| !["--list", "--short"].contains(flag)) {
        return Err(format!("found flag {flag}; `bench` knows --list and --short"));
    }
    let all = list(&Tree::read(root)?);
    if flags.contains(&"--list") {
        all.iter().for_each(|bench| println!("{:<20} {}", bench.name, bench.path));
        return Ok(());
    }
    let chosen = choose(&all, &names)?;
    process::build_release(root)?;
    run(root, &chosen, flags.contains(&"--short")).verdict("benches")
}

/// A short pass over every bench but heavy peers, each counted as one. Needs the release binary.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    let all = list(&Tree::read(root)?);
    let light: Vec<&Bench> = all.iter().filter(|bench| bench.kind != Kind::Peer).collect();
    Ok(run(root, &light, true))
}

/// Short benches at a time. They show that everything works: each is tried once, its windows have a fixed length, and
/// nothing is judged by the numbers, so that it may be disturbed.
const SHORT_AT_A_TIME: usize = 3;
/// Those that take more than ten seconds in short, longest first.
const SHORT_LONG: [&str; 5] =
    ["hostile", "search-wordnet", "profile", "controllers", "service-1us"];

/// One thing to measure.
#[derive(PartialEq, Eq, Debug)]
struct Bench {
    name: String,
    /// A scenario file, or the manifest of a program.
    path: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
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
    fn of_scenario(text: &str) -> Self {
        let says = |wanted: &str| text.lines().any(|line| line.trim().starts_with(wanted));
        // Paths and tiers run on sockets, too, unless they are a model of a machine with many cores.
        let modelled = says("[[server.path]]") && says("[sim]");
        if modelled || text.lines().any(strikes_no_process) {
            Self::Sim
        // The simulator knows no programs, and no replicas of tiers; of threading models some.
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
    /// In full, its output going where ours goes.
    fn run(&self, root: &Path) -> Result {
        self.commands(root, false).iter_mut().try_for_each(process::run)
    }

    /// In short, beside others; and what it said.
    fn aside(&self, root: &Path) -> (Result, String) {
        let folder = root.join("out/bench");
        let path = folder.join(format!("{}.said", self.name));
        let made = fs::create_dir_all(&folder).and_then(|()| fs::File::create(&path));
        let ran = made.map_err(|error| format!("{}: {error}", path.display())).and_then(|said| {
            let mut commands = self.commands(root, true);
            commands.iter_mut().try_for_each(|command| process::run_into(command, &said))
        });
        let said = fs::read(&path).unwrap_or_default();
        (ran, String::from_utf8_lossy(&said).into_owned())
    }

    /// Its place among short ones: the long ones come first, so that none is left to run alone.
    fn turn(&self) -> usize {
        SHORT_LONG.iter().position(|long| *long == self.name).unwrap_or(SHORT_LONG.len())
    }

    fn commands(&self, root: &Path, short: bool) -> Vec<Command> {
        let mut commands = match self.kind {
            Kind::Program => vec![self.program(root, short)],
            Kind::Peer => vec![self.peer(root, short)],
            Kind::Sim => vec![self.play(root, "sim")],
            Kind::Loopback => vec![self.play(root, "loopback")],
            Kind::Both => vec![self.play(root, "loopback"), self.play(root, "sim")],
        };
        // A short run has hardly anything to compare.
        if self.kind == Kind::Both && !short {
            let result = |driver| format!("{}/result.json", self.out(driver));
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
        let mut command = Command::new(binary(root, &self.name));
        // Some run what lies there, by cargo too.
        let target = process::built(root, "");
        command.env("CARGO_TARGET_DIR", &target).env("TAILWATER_TARGET", target);
        command.args(short.then_some("--short"));
        command
    }

    /// Built by itself, in the folder that it builds in by hand.
    fn peer(&self, root: &Path, short: bool) -> Command {
        let run = ["run", "--release", "--locked", "--manifest-path", &self.path];
        let mut command = process::cargo(root, &run);
        command.args(short.then_some(["--", "--short"]).into_iter().flatten());
        command
    }

    fn play(&self, root: &Path, driver: &str) -> Command {
        let mut command = tailwater(root);
        command.args(["run", &self.path, "--on", driver, "--out", &self.out(driver)]);
        command
    }

    fn out(&self, driver: &str) -> String {
        match (self.kind, driver) {
            (Kind::Both, "sim") => format!("out/bench/{}-sim", self.name),
            _ => format!("out/bench/{}", self.name),
        }
    }
}

fn tailwater(root: &Path) -> Command {
    Command::new(binary(root, "tailwater"))
}

fn binary(root: &Path, name: &str) -> PathBuf {
    process::built(root, "release").join(name)
}

/// Builds the programs among these, in our target folder: what they share with the binary is built already.
fn build(root: &Path, benches: &[&Bench]) -> Result {
    let programs: Vec<&str> = benches
        .iter()
        .filter(|bench| bench.kind == Kind::Program)
        .flat_map(|bench| ["--package", &*bench.name])
        .collect();
    if programs.is_empty() {
        return Ok(());
    }
    let build = ["build", "--release", "--locked", "--manifest-path", "benches/Cargo.toml"];
    let mut command = process::cargo(root, &build);
    process::run(command.args(programs).env("CARGO_TARGET_DIR", process::built(root, "")))
}

fn list(tree: &Tree) -> Vec<Bench> {
    let named =
        |path: &str, name: &str, kind| Bench { name: name.to_owned(), path: path.to_owned(), kind };
    let scenarios = tree.matching("scenarios/", ".toml").filter_map(|(path, text)| {
        let kind = Kind::of_scenario(text);
        Some(named(path, path.strip_prefix("scenarios/")?.strip_suffix(".toml")?, kind))
    });
    let programs = tree.matching("benches/", "/Cargo.toml").filter_map(|(path, text)| {
        let name = path.strip_prefix("benches/")?.strip_suffix("/Cargo.toml")?;
        // What several of them share is no program.
        tree.text(&format!("benches/{name}/src/main.rs"))?;
        let is_apart = text.lines().any(|line| line == "[workspace]");
        Some(named(path, name, if is_apart { Kind::Peer } else { Kind::Program }))
    });
    scenarios.chain(programs).filter(|bench| !bench.name.contains('/')).collect()
}

fn choose<'a>(all: &'a [Bench], names: &[&str]) -> Result<Vec<&'a Bench>> {
    if names.is_empty() {
        return Ok(all.iter().collect());
    }
    let found = names.iter().map(|name| {
        all.iter().find(|bench| bench.name == *name).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|bench| bench.name.as_str()).collect();
            format!("found no bench `{name}`; there are: {}", known.join(", "))
        })
    });
    found.collect()
}

fn run(root: &Path, benches: &[&Bench], short: bool) -> Tally {
    let mut tally = Tally::default();
    let mut slow = Slow::default();
    let built = slow.time("(building the programs)", || build(root, benches));
    let mut benches = benches.to_vec();
    // One by one where times count.
    let at_a_time = if short { SHORT_AT_A_TIME } else { 1 };
    if short {
        benches.sort_by_key(|bench| bench.turn());
    }
    let perform = |bench: &&Bench| match (bench.kind, &built) {
        // What an earlier build left may be another program.
        (Kind::Program, Err(why)) => (Err(format!("was not built: {why}")), String::new()),
        _ if short => bench.aside(root),
        _ => (bench.run(root), String::new()),
    };
    lanes::each(at_a_time, benches, perform, |bench, (ran, said), took| {
        print!("{said}");
        slow.add(&bench.name, took);
        tally.count(&bench.name, ran);
    });
    slow.print();
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("benches/shared/Cargo.toml", ""),
            ("benches/shared/src/lib.rs", ""),
            ("benches/transport/Cargo.toml", ""),
            ("benches/transport/src/main.rs", ""),
            ("benches/transport/inner/Cargo.toml", ""),
            ("benches/vectors/Cargo.toml", "[workspace]\n"),
            ("benches/vectors/src/main.rs", ""),
            ("presets/x.toml", ""),
        ])
    }

    #[test]
    fn scenarios_and_programs_are_benches() {
        let all = list(&tree());
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
        assert!(choose(&all, &["none"]).unwrap_err().contains("twice, transport, vectors"));
    }

    #[test]
    fn the_longest_of_the_short_come_first_and_there_is_one_of_each_name() {
        let all = list(&Tree::read(&crate::root().unwrap()).unwrap());
        let mut turns: Vec<usize> = all.iter().map(Bench::turn).collect();
        turns.sort_unstable();
        assert_eq!(turns[..=SHORT_LONG.len()], [0, 1, 2, 3, 4, 5], "see SHORT_LONG");
    }

    #[test]
    fn short_reaches_both_kinds() {
        for bench in list(&tree()) {
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
}
