//! `bench`: every scenario file and every program in benches/, by name.
//!
//! A scenario runs with the release binary on loopback, writing to `out/bench/NAME`, and in simulation,
//! writing to `out/bench/NAME-sim`, and the two are compared; one that needs the simulator or real sockets
//! runs there only. Short ones write to `out/bench-short` instead. No build but theirs has the programs: what they
//! compare with stays out of it. All that were chosen are built with `tailwater`, whose crates they stand on. Peers that
//! take minutes to build are workspaces of their own, which CI leaves out; `peers` checks them.

mod list;
mod one;
pub(crate) mod peers;

use crate::process;
use crate::slow::Slow;
use crate::tally::Tally;
use crate::tree::Tree;
use crate::{Result, lanes, test};
use list::list;
use one::{APART, Bench, Kind, profile};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// With what the programs share most.
const COMMAND: &str = "tailwater-cli";
const FLAGS: [&str; 3] = ["--list", "--short", "--test"];

/// `cargo xtask bench [--list] [--short] [--test] [NAME…]`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let (flags, names): (Vec<&str>, Vec<&str>) =
        args.iter().map(String::as_str).partition(|arg| arg.starts_with("--"));
    if let Some(flag) = flags.iter().find(|flag| !FLAGS.contains(flag)) {
        return Err(format!("found flag {flag}; `bench` knows {}", FLAGS.join(", ")));
    }
    let all = list(&Tree::read(root)?)?;
    if flags.contains(&"--list") {
        all.iter().for_each(|bench| println!("{}", bench.line()));
        return Ok(());
    }
    let chosen = choose(&all, &names)?;
    if flags.contains(&"--test") {
        return tests(root)?.verdict("tests of benches");
    }
    process::build_release(root)?;
    run(root, &chosen, flags.contains(&"--short")).verdict("benches")
}

/// A short pass over every bench but heavy peers, each counted as one. Needs the release binary.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    let all = list(&Tree::read(root)?)?;
    let light: Vec<&Bench> = all.iter().filter(|bench| bench.kind != Kind::Peer).collect();
    Ok(run(root, &light, true))
}

/// The tests inside of the benches' workspace. What short benches have built is used.
pub(crate) fn tests(root: &Path) -> Result<Tally> {
    let tested = list::tested(&Tree::read(root)?)?;
    let mut tally = Tally::default();
    for packages in builds(tested.keys().map(String::as_str)) {
        let mut words = chosen(&packages);
        // The command's own tests are no part of this.
        let targets: BTreeSet<&String> =
            packages.iter().filter_map(|name| tested.get(*name)).flatten().collect();
        words.extend(targets.iter().flat_map(|target| target.split(' ')));
        tally.add(test::benches(root, profile(packages[0], true), &words)?);
    }
    Ok(tally)
}

/// The manifests of the peers, each the only one of its workspace.
pub(crate) fn peer_manifests(root: &Path) -> Result<Vec<String>> {
    let all = list(&Tree::read(root)?)?;
    Ok(all.into_iter().filter(|bench| bench.kind == Kind::Peer).map(|bench| bench.path).collect())
}

/// Short benches at a time, two for each of two cores. They show that everything works: each is tried once, and nothing is
/// judged by the numbers, so that it may be disturbed. What the windows of fixed length take is shared by more of them.
const SHORT_AT_A_TIME: usize = 4;

/// What builds the programs of these packages. What the binary has with the same features is built already.
fn building(root: &Path, packages: &[&str], short: bool) -> Command {
    let profile = profile(packages[0], short);
    let mut command = process::cargo(root, &["build", "--locked", "--profile", profile]);
    command.args(chosen(packages));
    command
}

/// The packages of each build that has these programs. Cargo gives a crate the features that all packages of a build
/// ask for. So the command is among them: what it shares with them is then the same as where it is built alone.
fn builds<'a>(programs: impl Iterator<Item = &'a str>) -> Vec<Vec<&'a str>> {
    let (apart, mut common): (Vec<_>, Vec<_>) = programs.partition(|name| APART.contains(name));
    if !common.is_empty() {
        common.push(COMMAND);
    }
    [common, apart].into_iter().filter(|packages| !packages.is_empty()).collect()
}

/// In cargo's words.
fn chosen<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    packages.iter().flat_map(|name| ["--package", *name]).collect()
}

/// All that have these names: a scenario and a program may share one.
fn choose<'a>(all: &'a [Bench], names: &[&str]) -> Result<Vec<&'a Bench>> {
    if names.is_empty() {
        return Ok(all.iter().collect());
    }
    let mut found = Vec::new();
    for name in names {
        let before = found.len();
        found.extend(all.iter().filter(|bench| bench.name == *name));
        if found.len() == before {
            let known: Vec<&str> = all.iter().map(|bench| bench.name.as_str()).collect();
            return Err(format!("found no bench `{name}`; there are: {}", known.join(", ")));
        }
    }
    Ok(found)
}

/// Builds the programs among these, and runs all. Of a short pass those [`APART`] are built beside the others, which mostly
/// wait; they come last.
fn run(root: &Path, benches: &[&Bench], short: bool) -> Tally {
    let mut tally = Tally::default();
    let mut slow = Slow::default();
    let programs = benches.iter().filter(|bench| bench.kind == Kind::Program);
    let all = builds(programs.map(|bench| &*bench.name));
    let (later, first): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|packages| short && APART.contains(&packages[0]));
    let built = slow.time("(building the programs)", || -> Result {
        first.iter().try_for_each(|packages| process::run(&mut building(root, packages, short)))
    });
    let built_later: OnceLock<(Result, Duration)> = OnceLock::new();
    std::thread::scope(|scope| {
        scope.spawn(|| build_beside(root, &later, &built_later));
        let perform = |bench: &&Bench| {
            let is_later = later.iter().flatten().any(|package| *package == bench.name);
            let built = if is_later { &built_later.wait().0 } else { &built };
            match (bench.kind, built) {
                // What an earlier build left may be another program.
                (Kind::Program, Err(why)) => (Err(format!("was not built: {why}")), String::new()),
                _ if short => bench.aside(root),
                _ => (bench.run(root), String::new()),
            }
        };
        let (at_a_time, benches) = in_order(benches, short);
        lanes::each(at_a_time, benches, perform, |bench, (ran, said), took| {
            print!("{said}");
            slow.add(&bench.name, took, None);
            tally.pass_over_as_said(&bench.name, &said);
            tally.count(&bench.name, ran);
        });
    });
    if let Some((_, took)) = built_later.into_inner().filter(|_| !later.is_empty()) {
        slow.add("(building those apart)", took, None);
    }
    slow.print();
    tally
}

/// How many at a time, and which first. One by one where times count.
fn in_order<'a>(benches: &[&'a Bench], short: bool) -> (usize, Vec<&'a Bench>) {
    let mut benches = benches.to_vec();
    if !short {
        return (1, benches);
    }
    benches.sort_by_key(|bench| bench.turn());
    (SHORT_AT_A_TIME, benches)
}

/// Builds these beside short benches that run. Sets how that ended, and how long it took.
fn build_beside(root: &Path, all: &[Vec<&str>], built: &OnceLock<(Result, Duration)>) {
    let build = |packages: &Vec<&str>| {
        let mut command = building(root, packages, true);
        // Its progress would stand between what others say.
        process::run(&mut process::giving_way(command.arg("--quiet")))
    };
    set_at_the_end(built, || all.iter().try_for_each(build));
}

/// Sets how this work ended, and how long it took. A panic is an end, too: others wait for it, and would wait for ever.
fn set_at_the_end(ended: &OnceLock<(Result, Duration)>, work: impl FnOnce() -> Result) {
    let start = Instant::now();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    let outcome = outcome.unwrap_or_else(|_| Err("it panicked, as is told above".to_owned()));
    // Nothing else sets it.
    let _ = ended.set((outcome, start.elapsed()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_whose_peers_want_other_features_are_built_apart() {
        let both = builds(["hostile", "tls", "ready"].into_iter());
        assert_eq!(both, [vec!["hostile", "ready", COMMAND], vec!["tls"]]);
        assert_eq!(builds(["transport"].into_iter()), [["transport"]]);
        assert!(builds(std::iter::empty()).is_empty());
        assert_eq!(chosen(&both[1]), ["--package", "tls"]);
        let short = |packages: &Vec<&str>| profile(packages[0], true);
        assert!(both.iter().map(short).eq(["release", "dev"]));
        assert_eq!(profile("tls", false), "release");
    }

    #[test]
    fn those_that_wait_for_a_build_are_told_that_it_panicked() {
        let built = OnceLock::new();
        set_at_the_end(&built, || panic!("planted"));
        let (ended, _) = built.get().expect("it is set");
        assert!(ended.as_ref().unwrap_err().contains("panicked"), "{ended:?}");
    }

    #[test]
    fn a_scenario_and_a_program_of_one_name_are_both_chosen() {
        let tree = Tree::from([
            ("Cargo.toml", ""),
            ("scenarios/x.toml", ""),
            ("benches/x/Cargo.toml", ""),
            ("benches/x/src/main.rs", ""),
        ]);
        let all = list(&tree).unwrap();
        let kinds: Vec<Kind> = choose(&all, &["x"]).unwrap().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [Kind::Both, Kind::Program]);
    }

    #[test]
    fn what_is_built_apart_is_a_bench() {
        let all = list(&Tree::read(&crate::root().unwrap()).unwrap()).unwrap();
        for name in APART {
            assert!(choose(&all, &[name]).unwrap()[0].kind == Kind::Program, "{name}");
        }
    }
}
