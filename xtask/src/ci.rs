//! `ci`: what CI runs, in order of how fast it fails, ending with a timing table, what was passed over, and one count.
//!
//! Artefacts are shared: clippy and docs use one set of checked crates, tests and examples the dev
//! profile, documents and short benches one release build of the binary.

use crate::process::{self, cargo};
use crate::tally::Tally;
use crate::{Result, bench, examples, nightly, pass, readme, test, tidy};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

struct Step {
    name: &'static str,
    run: fn(&Path) -> Result<Tally>,
    /// Whether what follows is pointless without it.
    gate: bool,
}

const STEPS: &[Step] = &[
    Step { name: "format", run: format, gate: false },
    Step { name: "tidy", run: tidy::check, gate: false },
    Step { name: "clippy", run: clippy, gate: false },
    Step { name: "docs", run: docs, gate: false },
    Step { name: "tests", run: test::check, gate: false },
    Step { name: "without features", run: featureless, gate: false },
    Step { name: "loom models", run: models, gate: false },
    Step { name: "thread sanitizer", run: sanitized, gate: false },
    Step { name: "address sanitizer", run: addressed, gate: false },
    Step { name: "examples", run: examples::check, gate: false },
    Step { name: "release build", run: release, gate: true },
    Step { name: "document commands", run: readme::check, gate: false },
    Step { name: "short benches", run: bench::check, gate: false },
    Step { name: "profiled program", run: profiled, gate: false },
    Step { name: "short figures", run: figures, gate: false },
];

/// `cargo xtask ci`. The last line of output is the count.
pub(crate) fn main(root: &Path, _args: &[String]) -> Result {
    readme::refuse_inside()?;
    let mut total = Tally::default();
    let mut table = String::new();
    for step in STEPS {
        println!("\n== {}", step.name);
        let start = Instant::now();
        let tally = (step.run)(root).unwrap_or_else(|message| Tally::of(step.name, Err(message)));
        table.push_str(&row(step.name, start.elapsed(), &tally));
        let is_over = step.gate && !tally.failures().is_empty();
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

fn row(name: &str, took: Duration, tally: &Tally) -> String {
    format!("{name:<18} {:>7.1} s  {tally}\n", took.as_secs_f64())
}

fn one(root: &Path, args: &[&str]) -> Result<Tally> {
    process::run(&mut cargo(root, args)).map(|()| Tally::passed(1))
}

/// Of every workspace.
fn format(root: &Path) -> Result<Tally> {
    let mut tally = Tally::default();
    for manifest in ["Cargo.toml".to_owned()].iter().chain(&bench::workspaces(root)?) {
        let check = ["fmt", "--all", "--check", "--manifest-path", manifest];
        tally.count(manifest, process::run(&mut cargo(root, &check)));
    }
    Ok(tally)
}

fn clippy(root: &Path) -> Result<Tally> {
    const ALL: &str = "clippy --workspace --all-targets --all-features --locked -- -D warnings";
    one(root, &ALL.split_whitespace().collect::<Vec<_>>())
}

fn docs(root: &Path) -> Result<Tally> {
    let mut command = cargo(root, &["doc", "--workspace", "--no-deps", "--locked"]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings")).map(|()| Tally::passed(1))
}

/// Crates with features without them, as most users have them: the other steps have all features, so that nothing
/// is built for tests twice.
fn featureless(root: &Path) -> Result<Tally> {
    const BARE: &str = "clippy --package tailwater --package tailwater-rt --package tailwater-sync \
                        --locked -- -D warnings";
    one(root, &BARE.split_whitespace().collect::<Vec<_>>())
}

/// Interleavings of the locks' protocol, of the ready set's and of the executor's, up to the preemptions that each
/// model names. In a folder of its own, since the flag
/// changes every crate and would otherwise make the other steps build anew.
fn models(root: &Path) -> Result<Tally> {
    let mut tally = Tally::default();
    for what in [
        ["tailwater-sync", "--test", "loom"],
        ["tailwater-sync", "--lib", "models"],
        ["tailwater-rt", "--lib", "models"],
    ] {
        let mut command = cargo(root, &["test", "--locked", "--release", "--package"]);
        command
            .args(what)
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", process::built(root, "loom"));
        tally.count(what[0], process::run(&mut command));
    }
    Ok(tally)
}

/// Every lock under many threads with the thread sanitizer watching.
fn sanitized(root: &Path) -> Result<Tally> {
    let suppressions = root.join("crates/sync/tests/tsan.supp");
    let mut command = nightly_test(root, "tsan", &["-p", "tailwater-sync", "--test", "stress"]);
    command
        .env("RUSTFLAGS", "--cfg tsan -Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer")
        // The suppressions name functions that are inlined: without lines they are not told.
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
    on_nightly(root, "thread sanitizer", &mut command)
}

/// Every kernel of every level that this processor has, with the address sanitizer watching what is loaded and
/// stored.
fn addressed(root: &Path) -> Result<Tally> {
    let mut command = nightly_test(root, "asan", &["-p", "tailwater-kernels", "--tests"]);
    command.env("RUSTFLAGS", "-Zsanitizer=address");
    on_nightly(root, "address sanitizer", &mut command)
}

/// A test of these packages by a nightly compiler, which alone has sanitizers, in a folder of its own.
fn nightly_test(root: &Path, folder: &str, what: &[&str]) -> Command {
    let mut command = nightly::cargo(root);
    // The target is named so that the flags spare build scripts.
    command.args(["test", "--locked", "--target", "x86_64-unknown-linux-gnu"]).args(what);
    command.env("CARGO_TARGET_DIR", process::built(root, folder));
    command
}

/// Passed over where there is no nightly compiler. The set-up installs none: another each day, it is no part of what
/// a change has to pass on every machine.
fn on_nightly(root: &Path, name: &str, command: &mut Command) -> Result<Tally> {
    let mut tally = Tally::default();
    match nightly::needs(root, &["--version"], "nightly Rust", "rustup toolchain install nightly") {
        Ok(()) => tally.count(name, process::run(command)),
        Err(why) => tally.pass_over(name, &why),
    }
    Ok(tally)
}

fn release(root: &Path) -> Result<Tally> {
    process::build_release(root).map(|()| Tally::passed(1))
}

/// memcached from Debian's sources under the profiler, for a second. `make setup-ci` installs what it is built from.
/// Needs the release binary.
fn profiled(root: &Path) -> Result<Tally> {
    pass::main(root, &[])?;
    let mut command = Command::new("sh");
    command.args(["examples/profiling/memcached.sh", "1"]).current_dir(root);
    process::run(command.env("PATH", readme::path(root)?)).map(|()| Tally::passed(1))
}

/// Every figure of every paper, too short to mean anything. Needs the release binary.
fn figures(root: &Path) -> Result<Tally> {
    let mut command = Command::new(process::built(root, "release").join("tailwater"));
    command.args(["figures", "--short", "--out", "out/figures-short"]).current_dir(root);
    process::run(&mut command).map(|()| Tally::passed(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_align() {
        let row = row("tidy", Duration::from_millis(1250), &Tally::passed(1));
        assert_eq!(row, "tidy                   1.2 s  1 passed, 0 failed\n");
    }
}
