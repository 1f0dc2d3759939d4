//! `ci`: what CI runs, in order of how fast it fails, ending with a timing table, what was passed over, and one count.
//!
//! Artefacts are shared: clippy and docs use one set of checked crates, tests and examples the dev
//! profile, documents and short benches one release build of the binary.

use crate::process::{self, cargo};
use crate::tally::Tally;
use crate::{Result, bench, cpu, examples, format, pass, readme, test, tidy};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

type Run = fn(&Path) -> Result<Tally>;

struct Step {
    name: &'static str,
    run: Run,
    /// The part of it without which what follows is pointless.
    gate: Option<&'static str>,
}

const SET_UP: &str = "set-up";
const RELEASE: &str = "release build";

const STEPS: &[Step] = &[
    Step { name: "tidy", run: tidy::check, gate: None },
    Step {
        name: "set-up, format, clippy",
        run: |root| beside(root, (SET_UP, set_up), ("format, clippy", lint)),
        gate: Some(SET_UP),
    },
    Step { name: "docs", run: docs, gate: None },
    Step { name: "tests, models", run: test::check, gate: None },
    Step { name: "without features", run: featureless, gate: None },
    Step { name: "examples", run: examples::check, gate: None },
    Step { name: RELEASE, run: release, gate: Some(RELEASE) },
    Step { name: "document commands", run: readme::check, gate: None },
    Step {
        name: "short benches, profiled",
        run: |root| beside(root, ("profiled program", profiled), ("short benches", bench::check)),
        gate: None,
    },
    Step { name: "benches' tests", run: bench::tests, gate: None },
];

/// `cargo xtask ci`. The last line of output is the count.
pub(crate) fn main(root: &Path, _args: &[String]) -> Result {
    readme::refuse_inside()?;
    let mut total = Tally::default();
    let mut table = String::new();
    for step in STEPS {
        println!("\n== {}", step.name);
        let (start, before) = (Instant::now(), cpu::of_children()?);
        let tally = (step.run)(root).unwrap_or_else(|message| Tally::of(step.name, Err(message)));
        let computed = cpu::of_children()?.saturating_sub(before);
        table.push_str(&row(step.name, start.elapsed(), computed, &tally));
        let is_over = step.gate.is_some_and(|part| has_failed(part, &tally));
        total.add(tally);
        if is_over {
            table.push_str("  what needs it was left out\n");
            break;
        }
    }
    println!("\n{table}");
    total.lines().iter().for_each(|line| println!("{line}"));
    if total.failures().is_empty() {
        Ok(())
    } else {
        Err("CI failed; all failures stand above".into())
    }
}

/// Whether this part of a step is among what failed.
fn has_failed(part: &str, tally: &Tally) -> bool {
    let told = |failure: &String| failure.strip_prefix(part).is_some_and(|it| it.starts_with(':'));
    tally.failures().iter().any(told)
}

fn row(name: &str, took: Duration, computed: Duration, tally: &Tally) -> String {
    let [took, computed] = [took, computed].map(|time| time.as_secs_f64());
    format!("{name:<24} {took:>7.1} s {computed:>7.1} s of CPU  {tally}\n")
}

fn one(root: &Path, args: &[&str]) -> Result<Tally> {
    process::run(&mut cargo(root, args)).map(|()| Tally::passed(1))
}

/// Two at once. The first of them has one thread, and would leave a processor to nothing.
fn beside(root: &Path, single: (&str, Run), other: (&str, Run)) -> Result<Tally> {
    let tally = |(name, run): (&str, Run)| {
        run(root).unwrap_or_else(|message| Tally::of(name, Err(message)))
    };
    std::thread::scope(|scope| {
        let single = scope.spawn(move || tally(single));
        let mut both = tally(other);
        both.add(single.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok(both)
    })
}

/// Installs what later steps need: apt has one thread, and mostly waits for the network and the disk. A compiler is there
/// before. What apt says is kept in a file.
fn set_up(root: &Path) -> Result<Tally> {
    let path = process::built(root, "setup.said");
    let said = fs::File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut make = Command::new("make");
    make.args(["--no-print-directory", "setup-ci"]).current_dir(root);
    let done = process::run_into(&mut make, &said);
    done.map(|()| Tally::default()).map_err(|why| {
        let said = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(4)..].join("\n");
        format!("{why}; it said at last:\n{last}")
    })
}

fn lint(root: &Path) -> Result<Tally> {
    beside(root, ("format", format::check), ("clippy", clippy))
}

fn clippy(root: &Path) -> Result<Tally> {
    const ALL: &str = "clippy --all-targets --all-features --locked -- -D warnings";
    one(root, &ALL.split_whitespace().collect::<Vec<_>>())
}

fn docs(root: &Path) -> Result<Tally> {
    // With the features of clippy: examples bring those of tests, so that what our crates stand on is checked once. All
    // programs would be those, too, that are told to have no page, since their library has it.
    let mut command = cargo(root, &["doc", "--no-deps", "--all-features", "--locked"]);
    command.args(["--lib", "--examples"]);
    for name in programs_with_a_page(&metadata(root)?)? {
        command.args(["--bin", &name]);
    }
    process::run(command.env("RUSTDOCFLAGS", "-D warnings")).map(|()| Tally::passed(1))
}

/// What cargo knows of the workspace.
fn metadata(root: &Path) -> Result<Value> {
    let mut command = cargo(root, &["metadata", "--no-deps", "--format-version=1", "--locked"]);
    let output = command.output().map_err(|error| format!("could not start cargo: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`cargo metadata` ended with {}: {}", output.status, said.trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// The programs of all packages but the benches that have documentation of their own.
fn programs_with_a_page(metadata: &Value) -> Result<Vec<String>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let ours = list(&metadata["workspace_default_members"]);
    let packages = list(&metadata["packages"]).into_iter();
    let targets = packages
        .filter(|package| ours.contains(&package["id"]))
        .flat_map(|package| list(&package["targets"]));
    let programs: Vec<String> = targets
        .filter(|target| target["kind"][0] == "bin" && target["doc"] == true)
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect();
    if programs.is_empty() {
        Err("found no program in `cargo metadata`".into())
    } else {
        Ok(programs)
    }
}

/// Crates with features without them, as most users have them: the other steps have all features, so that nothing
/// is built for tests twice.
fn featureless(root: &Path) -> Result<Tally> {
    const BARE: &str = "clippy --package tailwater --package tailwater-rt --package tailwater-sync \
                        --locked -- -D warnings";
    one(root, &BARE.split_whitespace().collect::<Vec<_>>())
}

fn release(root: &Path) -> Result<Tally> {
    process::build_release(root).map(|()| Tally::passed(1))
}

/// memcached from Debian's sources under the profiler, for a second. `make setup-ci` installs what it is built from.
/// Needs the release binary. It fetches, configures and compiles one file after the other, so that it leaves a processor.
fn profiled(root: &Path) -> Result<Tally> {
    pass::main(root, &[])?;
    let mut command = Command::new("sh");
    command.args(["examples/profiling/memcached.sh", "1"]).current_dir(root);
    process::run(command.env("PATH", readme::path(root)?).envs(process::xtask()))
        .map(|()| Tally::passed(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use std::collections::BTreeSet;

    #[test]
    fn rows_align() {
        let [took, computed] = [1_250, 12_340].map(Duration::from_millis);
        let row = row("tidy", took, computed, &Tally::passed(1));
        assert_eq!(
            row,
            "tidy                         1.2 s    12.3 s of CPU  1 passed, 0 failed\n"
        );
    }

    #[test]
    fn only_the_part_that_others_need_ends_all() {
        let failed = |name: &str| Tally::of(name, Err("planted".into()));
        assert!(has_failed(SET_UP, &failed(SET_UP)));
        assert!(!has_failed(SET_UP, &failed("clippy")) && !has_failed(SET_UP, &Tally::passed(1)));
        let gates: Vec<&str> = STEPS.iter().filter_map(|step| step.gate).collect();
        assert_eq!(gates, [SET_UP, RELEASE]);
    }

    #[test]
    fn a_set_up_that_fails_tells_what_was_said_at_last() {
        let root = std::env::temp_dir().join(format!("tailwater-set-up-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(process::built(&root, "")).unwrap();
        let recipe = "setup-ci:\n\t@echo missing apt packages; exit 1\n";
        fs::write(root.join("Makefile"), recipe).unwrap();
        let why = set_up(&root).expect_err("planted");
        fs::remove_dir_all(&root).unwrap();
        assert!(why.contains("missing apt packages"), "{why}");
    }

    #[test]
    fn programs_without_a_page_and_those_of_benches_are_left_out() {
        let metadata = serde_json::json!({
            "workspace_default_members": ["one", "two"],
            "packages": [
                { "id": "one", "targets": [
                    { "kind": ["lib"], "name": "one", "doc": true },
                    { "kind": ["bin"], "name": "one", "doc": false },
                ] },
                { "id": "two", "targets": [{ "kind": ["bin"], "name": "two", "doc": true }] },
                { "id": "bench", "targets": [{ "kind": ["bin"], "name": "bench", "doc": true }] },
            ],
        });
        assert_eq!(programs_with_a_page(&metadata), Ok(vec!["two".to_owned()]));
        assert!(programs_with_a_page(&Value::Null).is_err());
    }

    #[test]
    fn what_cargo_says_against_a_workspace_is_told() {
        let why = metadata(Path::new("/")).expect_err("no workspace");
        assert!(why.contains("could not find `Cargo.toml`"), "{why}");
    }

    /// By a document's command, too short to mean anything.
    #[test]
    fn each_papers_figures_are_drawn_once() {
        let tree = Tree::read(&crate::root().unwrap()).unwrap();
        let files = tree.matching("scenarios/paper/figures/", ".toml");
        let papers: BTreeSet<&str> =
            files.filter_map(|(path, _)| path.rsplit('/').next()?.split('-').next()).collect();
        assert!(papers.len() > 1, "{papers:?}");
        for paper in papers {
            let command = format!("```sh long\ntailwater figures {paper} --out ");
            let texts = tree.matching("docs/", ".md").map(|(_, text)| text);
            let drawn: usize = texts.map(|text| text.matches(&command).count()).sum();
            assert_eq!(drawn, 1, "{paper}");
        }
    }
}
