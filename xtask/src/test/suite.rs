//! Test programs of one build: how cargo is asked for them, and what is typed to repeat one.

use crate::process::{self, built, cargo};
use crate::{Result, nightly};
use std::path::Path;
use std::process::{Command, Stdio};

/// What `cargo test` is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Suite {
    /// How all of it is built: profile, features, workspace.
    how: Vec<String>,
    /// Which packages and targets.
    which: Vec<String>,
    /// For cargo, and for the programs when they run.
    env: Vec<(&'static str, String)>,
    /// Whether a nightly compiler builds it, which alone has sanitizers.
    nightly: bool,
    /// The word that chooses among the tests of libraries; the others of them are not for this build.
    of_libraries: Option<&'static str>,
    /// Words, of which the name of a test contains one; without any, all are meant.
    names: Vec<String>,
    /// Threads that compute meanwhile.
    busy: usize,
    /// Whether it runs beside others: it computes and never waits, so that it gives way to them.
    yields: bool,
}

impl Suite {
    /// Every test but those of benches: one build has those with features and those without.
    pub(super) fn all() -> Self {
        Self { how: words("--all-features"), ..Self::default() }
    }

    /// What these flags of cargo choose.
    pub(super) fn of_flags(flags: &[String]) -> Self {
        Self { how: flags.to_vec(), ..Self::default() }
    }

    /// Of its tests those whose names contain one of these words; without any, all.
    pub(super) fn of_names(mut self, names: &[String]) -> Self {
        self.names = names.to_vec();
        self
    }

    /// Beside so many threads that compute: what fails there may pass alone, so that it is repeated there.
    pub(super) fn beside(mut self, busy: usize) -> Self {
        self.busy = busy;
        self
    }

    /// What computes and never waits, with its name.
    pub(super) fn aside(root: &Path) -> [(&'static str, Self); 3] {
        [
            ("loom models", Self::models(root)),
            ("thread sanitizer", Self::thread_sanitizer(root)),
            ("address sanitizer", Self::address_sanitizer(root)),
        ]
    }

    /// Interleavings of the locks' protocol, of the ready set's and of the executor's, up to the preemptions that each
    /// model names. In a folder of its own, since the flag changes every crate and would otherwise make others build
    /// anew. Both crates in one build: what they stand on is compiled once.
    fn models(root: &Path) -> Self {
        Self {
            how: words("--profile models"),
            which: words("-p tailwater-sync -p tailwater-rt --lib --test loom"),
            env: apart(root, "loom", "--cfg loom"),
            of_libraries: Some("models"),
            yields: true,
            ..Self::default()
        }
    }

    /// One of the models, in the program that these words of cargo choose.
    pub(super) fn one_model(root: &Path, which: &str, name: &str) -> Self {
        let names = vec!["--exact".to_owned(), name.to_owned()];
        Self { which: words(which), names, ..Self::models(root) }
    }

    /// What these words choose of the programs in benches/, by the profile of short benches, so that nothing of it is
    /// built anew.
    pub(super) fn benches(root: &Path, profile: &str, which: &[&str]) -> Self {
        let target = built(root, "").display().to_string();
        Self {
            how: words(&format!("--profile {profile}")),
            which: which.iter().map(|word| (*word).to_owned()).collect(),
            // Some run what lies there.
            env: vec![("CARGO_TARGET_DIR", target.clone()), ("TAILWATER_TARGET", target)],
            ..Self::default()
        }
    }

    /// Every lock under many threads with the thread sanitizer watching.
    fn thread_sanitizer(root: &Path) -> Self {
        let flags = "--cfg tsan -Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer";
        let suppressions = root.join("crates/sync/tests/tsan.supp");
        let which = "-p tailwater-sync --test stress";
        let mut suite = Self::sanitized(root, "tsan", flags, which, "tailwater-control");
        suite.env.extend([
            // The suppressions name functions that are inlined: without lines they are not told.
            ("CARGO_PROFILE_DEV_DEBUG", "line-tables-only".to_owned()),
            ("TSAN_OPTIONS", format!("suppressions={}", suppressions.display())),
        ]);
        suite
    }

    /// Every kernel of every level that this processor has, with the address sanitizer watching what is loaded and
    /// stored.
    fn address_sanitizer(root: &Path) -> Self {
        let which = "-p tailwater-kernels --tests";
        Self::sanitized(root, "asan", "-Zsanitizer=address", which, "proptest")
    }

    /// One package that it stands on takes a third of the build where it is optimised, and computes little in these tests.
    fn sanitized(root: &Path, folder: &str, flags: &str, which: &str, plain: &str) -> Self {
        Self {
            // The target is named so that the flags spare build scripts.
            how: words(&format!(
                "--target x86_64-unknown-linux-gnu --config profile.dev.package.{plain}.opt-level=0"
            )),
            which: words(which),
            env: apart(root, folder, flags),
            nightly: true,
            yields: true,
            ..Self::default()
        }
    }

    /// Builds all of it, and tells what was built in lines of JSON.
    pub(super) fn build(&self, root: &Path) -> Command {
        let cargo = if self.nightly { nightly::cargo(root) } else { cargo(root, &[]) };
        let mut command = self.giving_way(cargo);
        command.args(["test", "--no-run", "--locked"]).args(&self.how).args(&self.which);
        command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
        // Its progress would stand between what others say.
        command.args(self.yields.then_some("--quiet"));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// An error where the compiler that it needs is not there.
    pub(super) fn is_possible(&self, root: &Path) -> Result {
        if !self.nightly {
            return Ok(());
        }
        nightly::needs(root, &["--version"], "nightly Rust", "rustup toolchain install nightly")
    }

    /// Prepares a program of it, which will be started by `timeout` with these words.
    pub(super) fn start(&self) -> Command {
        let mut command = self.giving_way(process::timeout());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The same command, at a lower priority if it yields.
    fn giving_way(&self, command: Command) -> Command {
        if self.yields { process::giving_way(&command) } else { command }
    }

    /// Whether a program with this target was chosen for its tests. A library comes with its package, unless some of
    /// its tests are chosen by a word.
    pub(super) fn is_choice(&self, target: &str) -> bool {
        self.yields && (target != "--lib" || self.of_libraries.is_some())
    }

    /// The words that choose among the tests of a program with this target.
    pub(super) fn filter(&self, target: &str) -> Vec<&str> {
        let of_library = self.of_libraries.filter(|_| target == "--lib");
        of_library.into_iter().chain(self.names.iter().map(String::as_str)).collect()
    }

    /// What to type for a program of it, up to the flags that choose the program.
    pub(super) fn typed(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
        let cargo = match self.busy {
            0 if self.nightly => "cargo +nightly test".to_owned(),
            0 => "cargo test".to_owned(),
            busy => format!("cargo xtask test --busy {busy}"),
        };
        let how = self.how.iter().map(|word| format!(" {word}"));
        env.chain([cargo]).chain(how).collect()
    }
}

/// A build with these flags of rustc, in a folder of its own.
fn apart(root: &Path, folder: &str, flags: &str) -> Vec<(&'static str, String)> {
    let folder = built(root, folder).display().to_string();
    vec![("RUSTFLAGS", flags.to_owned()), ("CARGO_TARGET_DIR", folder)]
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// For a shell.
fn quoted(value: &str) -> String {
    if value.contains(' ') { format!("\"{value}\"") } else { value.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_typed_builds_what_was_built() {
        assert_eq!(Suite::all().typed(), "cargo test --all-features");
        assert_eq!(Suite::of_flags(&words("-p x --lib")).typed(), "cargo test -p x --lib");
        let busy = Suite::of_flags(&words("-p x --lib")).beside(2);
        assert_eq!(busy.typed(), "cargo xtask test --busy 2 -p x --lib");
        let models = Suite::models(Path::new("x")).typed();
        assert!(models.starts_with("RUSTFLAGS=\"--cfg loom\" CARGO_TARGET_DIR="), "{models}");
        assert!(models.ends_with("loom cargo test --profile models"), "{models}");
        let tsan = Suite::thread_sanitizer(Path::new("x")).typed();
        assert!(tsan.contains("cargo +nightly test --target x86_64"), "{tsan}");
        assert!(tsan.contains("TSAN_OPTIONS=suppressions=x/crates/sync/tests/tsan.supp"), "{tsan}");
        let manifest = fs::read_to_string(crate::root().unwrap().join("Cargo.toml")).unwrap();
        let sanitized = [Suite::thread_sanitizer as fn(&Path) -> Suite, Suite::address_sanitizer];
        for suite in sanitized {
            let typed = suite(Path::new("x")).typed();
            let plain = typed.split_once("--config profile.dev.package.").unwrap().1;
            let table = format!("[profile.dev.package.{}]\n", plain.split_once('.').unwrap().0);
            assert!(manifest.contains(&table), "{table} is not optimised anyway");
        }
    }

    #[test]
    fn only_libraries_have_tests_that_are_not_for_this_build() {
        let models = Suite::models(Path::new("x"));
        assert_eq!(models.filter("--lib"), ["models"]);
        assert!(models.filter("--test loom").is_empty());
        assert!(Suite::all().filter("--lib").is_empty());
        // As a whole name no test is called `models`.
        let one = Suite::one_model(Path::new("x"), "-p x --lib", "a::models::b");
        assert_eq!(one.filter("--lib"), ["models", "--exact", "a::models::b"]);
    }

    #[test]
    fn names_choose_among_the_tests_of_every_program() {
        let chosen = Suite::all().of_names(&words("one two"));
        assert_eq!(chosen.filter("--lib"), ["one", "two"]);
        assert_eq!(chosen.filter("--test x"), ["one", "two"]);
    }

    #[test]
    fn what_yields_gives_way_and_is_otherwise_the_same() {
        let number = |output: std::process::Output| -> i32 {
            String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
        };
        let started = |suite: &Suite| {
            number(suite.start().args(["10", "sh", "-c", "nice"]).output().unwrap())
        };
        let ours = number(Command::new("nice").output().unwrap());
        assert_eq!(started(&Suite::all()), ours);
        let models = Suite::models(Path::new("x"));
        assert!(started(&models) > ours || ours == 19);
        let build = models.build(Path::new("x"));
        assert_eq!(build.get_current_dir(), Some(Path::new("x")));
        let said = |build: &Command| format!("{build:?}");
        assert!(said(&build).contains("test") && said(&build).contains("--cfg loom"), "{build:?}");
        // Nightly's cargo must not be told of ours.
        let nightly = Suite::thread_sanitizer(Path::new("x")).build(Path::new("x"));
        let hidden = nightly.get_envs().any(|(name, value)| name == "CARGO" && value.is_none());
        assert!(hidden, "{nightly:?}");
    }
}
