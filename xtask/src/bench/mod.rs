//! `bench`: every scenario file and every program in benches/, by name.
//!
//! A scenario runs with the release binary on loopback, writing to `out/bench/NAME`, and in simulation,
//! writing to `out/bench/NAME-sim`, and the two are compared; one that needs the simulator or real sockets
//! runs there only. The programs are a workspace apart, so that what they compare with stays out of the common build.
//! All that were chosen are built at once: several stand on the same crates, and a core that one leaves idle builds
//! another. Peers that take minutes to build are workspaces of their own, which CI leaves out; `peers` checks them.

mod list;
mod one;
pub(crate) mod peers;

use crate::process;
use crate::slow::Slow;
use crate::tally::Tally;
use crate::tree::Tree;
use crate::{Result, lanes, test};
use list::list;
use one::{Bench, Kind};
use std::path::Path;

/// What all programs but peers belong to.
const COMMON: &str = "benches/Cargo.toml";
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
    let packages = list::tested(&Tree::read(root)?)?;
    test::benches(root, &packages.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The manifests of all workspaces in `benches/`: the common one, and those of the peers.
pub(crate) fn workspaces(root: &Path) -> Result<Vec<String>> {
    let all = list(&Tree::read(root)?)?;
    let peers = all.into_iter().filter(|bench| bench.kind == Kind::Peer).map(|bench| bench.path);
    Ok([COMMON.to_owned()].into_iter().chain(peers).collect())
}

/// Short benches at a time. They show that everything works: each is tried once, its windows have a fixed length, and
/// nothing is judged by the numbers, so that it may be disturbed.
const SHORT_AT_A_TIME: usize = 3;

/// Builds the programs among these, in our target folder: what others wrote and the binary has with the same features is
/// built already. Our crates are built anew, since cargo tells those of one workspace from those of another.
fn build(root: &Path, benches: &[&Bench]) -> Result {
    let programs: Vec<&str> = benches
        .iter()
        .filter(|bench| bench.kind == Kind::Program)
        .flat_map(|bench| ["--package", &*bench.name])
        .collect();
    if programs.is_empty() {
        return Ok(());
    }
    let build = ["build", "--release", "--locked", "--manifest-path", COMMON];
    let mut command = process::cargo(root, &build);
    process::run(command.args(programs).env("CARGO_TARGET_DIR", process::built(root, "")))
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
        tally.pass_over_as_said(&bench.name, &said);
        tally.count(&bench.name, ran);
    });
    slow.print();
    tally
}
