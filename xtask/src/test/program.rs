//! Test programs: what cargo has built, and how each is started.

use super::output::WHOLE;
use super::suite::Suite;
use crate::process::{cargo_program, limited};
use crate::{Result, cpu};
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// What runs for so long hangs: the longest takes some four minutes on two busy cores.
pub(super) const LIMIT: Duration = Duration::from_mins(15);

/// What the documentation's examples are tested with: the tests have the same, so that one build has both.
const ALL: &str = "--all-features";

/// Names the program `tailwater` to tests that start it from another package.
const BINARY: &str = "TAILWATER_BINARY";

/// Test programs that take more than twenty seconds, longest first, and `--doc`, for which cargo compiles. Where several
/// packages have one of this name, the package is named, too.
const LONG: [&str; 15] = [
    "--test profile",
    "-p tailwater-cli --test all",
    "-p tailwater-sim --test all",
    "--test tune",
    "--test golden",
    "-p tailwater-profile --test all",
    "-p tailwater-sim --lib",
    "--test profile_builds",
    "-p tailwater-tests --test all",
    "--test profile_pass",
    "--test churn",
    "-p tailwater-router --test all",
    "-p tailwater-control --test all",
    "-p tailwater-cli --bin tailwater",
    "--doc",
];

/// Test programs whose threads come before all others of the machine, so that tests beside them would be without a core.
const ALONE: [&str; 1] = ["--test profile_causes"];

/// Something that runs tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Program {
    /// One of cargo's test programs.
    Built {
        package: String,
        /// As cargo's flag chooses it: `--lib`, `--test calls`.
        target: String,
        file: PathBuf,
        /// Where cargo would start it.
        folder: PathBuf,
        /// The program `tailwater` that was built with it, where it was.
        binary: Option<PathBuf>,
        suite: Arc<Suite>,
    },
    /// The examples in the documentation of the workspace, which cargo builds and runs.
    Docs(PathBuf),
}

/// Builds the test programs of a suite. Tells what that has computed, too.
pub(super) fn build(root: &Path, suite: Suite) -> Result<(Vec<Program>, Duration)> {
    let output = cpu::output(suite.build(root).stdin(Stdio::null()).stdout(Stdio::piped()));
    let (output, computed) = output.map_err(|error| format!("could not start cargo: {error}"))?;
    if !output.status.success() {
        let typed = suite.typed();
        return Err(format!("could not build the tests of `{typed}`; cargo says above why"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let suite = Arc::new(suite);
    let mut programs: Vec<Program> = text.lines().filter_map(|line| built(line, &suite)).collect();
    if programs.is_empty() {
        return Err(format!("found no test program at all in `{}`", suite.typed()));
    }
    let tailwater = text.lines().find_map(the_command);
    for program in &mut programs {
        if let Program::Built { binary, .. } = program {
            binary.clone_from(&tailwater);
        }
    }
    Ok((programs, computed))
}

/// A message of cargo about a test program.
fn built(line: &str, suite: &Arc<Suite>) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let file = message["executable"].as_str().filter(|_| is_test)?;
    let (kind, name) =
        (message["target"]["kind"][0].as_str()?, message["target"]["name"].as_str()?);
    let target = match kind {
        "test" | "bin" | "example" | "bench" => format!("--{kind} {name}"),
        _ => "--lib".to_owned(),
    };
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = package_name(message["package_id"].as_str()?)?;
    let (file, folder) = (file.into(), folder.into());
    Some(Program::Built { package, target, file, folder, binary: None, suite: suite.clone() })
}

/// A message of cargo about the program `tailwater`, which tests start.
fn the_command(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_it = message["target"]["name"] == "tailwater" && message["profile"]["test"] == false;
    message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
}

/// `NAME` of `path+file:///FOLDER#NAME@VERSION`; of `path+file:///FOLDER/NAME#VERSION` where they are the same.
fn package_name(id: &str) -> Option<String> {
    let (place, end) = id.rsplit_once('#')?;
    let name = match end.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next()?,
    };
    Some(name.to_owned())
}

/// The tests of a list as libtest prints it: `NAME: test`, a line for each.
fn listed(said: &str) -> Vec<String> {
    said.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

impl Program {
    /// Runs it to its end, or ends it after so long. Tells what it and its children have computed, too.
    pub(super) fn run(&self, limit: Duration) -> Result<(Output, Duration)> {
        let mut command = match self {
            Self::Built { file, folder, binary, suite, .. } => {
                let mut command = suite.start();
                // In our process group, so that Ctrl-C ends it.
                command.args(["--foreground", "--kill-after=5", &limit.as_secs().to_string()]);
                command.arg(file).args(self.filter());
                command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
                command.envs(binary.as_ref().map(|path| (BINARY, path)));
                command
            }
            Self::Docs(root) => {
                // Its examples are children of cargo's child, and end with it.
                let mut command = limited(root, limit, &cargo_program());
                command.args(["test", "--locked", "--doc", "--no-fail-fast"]).arg(ALL);
                command
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        cpu::output(&mut command).map_err(|error| format!("could not start {self}: {error}\n"))
    }

    /// The names of its tests, as it lists them itself. None where it does not start.
    pub(super) fn names(&self) -> Vec<String> {
        let Self::Built { file, folder, suite, .. } = self else { return Vec::new() };
        let mut command = suite.start();
        command.args(["--kill-after=5", &LIMIT.as_secs().to_string()]).arg(file).arg("--list");
        command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder).stdin(Stdio::null());
        let said = command.output().map_or_else(|_| Vec::new(), |output| output.stdout);
        listed(&String::from_utf8_lossy(&said))
    }

    /// Its place among others: the long ones come first, and those of which nothing is known keep their order.
    pub(super) fn turn(&self) -> usize {
        LONG.iter().position(|long| self.is(long)).unwrap_or(LONG.len())
    }

    /// Whether it may run only when no other does.
    pub(super) fn runs_alone(&self) -> bool {
        ALONE.iter().any(|alone| self.is(alone))
    }

    /// Whether these words of cargo choose it, with its package or without.
    fn is(&self, words: &str) -> bool {
        self.target() == words || self.to_string() == words
    }

    fn target(&self) -> &str {
        match self {
            Self::Built { target, .. } => target,
            Self::Docs(_) => "--doc",
        }
    }

    /// The words that choose among its tests; without any, all are meant.
    pub(super) fn filter(&self) -> Vec<&str> {
        match self {
            Self::Built { target, suite, .. } => suite.filter(target),
            Self::Docs(_) => Vec::new(),
        }
    }

    /// Whether it must have some: it is one of a few that were chosen, not one of all that there are.
    pub(super) fn has_tests(&self) -> bool {
        matches!(self, Self::Built { suite, target, .. } if suite.is_choice(target))
    }

    /// What to type for one test of it.
    pub(super) fn repeats(&self, test: &str) -> String {
        match self {
            Self::Built { suite, .. } if test == WHOLE => format!("{} {self}", suite.typed()),
            Self::Built { suite, .. } => format!("{} {self} -- --exact {test}", suite.typed()),
            Self::Docs(_) => format!("cargo test {ALL} --doc"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Built { package, target, .. } => write!(f, "-p {package} {target}"),
            Self::Docs(_) => f.write_str("documentation"),
        }
    }
}

#[cfg(test)]
impl Program {
    /// Of a package `x`.
    pub(super) fn of(suite: Suite, target: &str) -> Self {
        let (package, target) = ("x".into(), target.into());
        let (file, folder, suite) = ("x".into(), "x".into(), Arc::new(suite));
        Self::Built { package, target, file, folder, binary: None, suite }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_known_by_cargos_message() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///x/crates/rt#tailwater-rt@0.1.0",
            "manifest_path":"/x/crates/rt/Cargo.toml","target":{"kind":["test"],"name":"calls"},
            "profile":{"test":true},"executable":"/x/target/debug/deps/calls-1"}"#;
        let suite = Arc::new(Suite::all());
        let built = |line: &str| built(line, &suite);
        let program = built(line).expect("it is one");
        assert_eq!(program.to_string(), "-p tailwater-rt --test calls");
        assert_eq!(
            program.repeats("a::b"),
            "cargo test --all-features -p tailwater-rt --test calls -- --exact a::b"
        );
        let library = line.replace(r#"["test"]"#, r#"["lib"]"#);
        assert_eq!(
            built(&library).map(|program| program.to_string()),
            Some("-p tailwater-rt --lib".into())
        );
        let ordinary = line.replace(r#""test":true"#, r#""test":false"#);
        assert_eq!(built(&ordinary), None);
        assert_eq!(the_command(&ordinary), None, "of another name");
        let named = ordinary.replace(r#""name":"calls""#, r#""name":"tailwater""#);
        assert_eq!(the_command(&named), Some("/x/target/debug/deps/calls-1".into()));
        assert_eq!(built(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn the_names_of_tests_are_read_from_a_programs_list() {
        let said = "a::b: test\nc: test\nd: benchmark\n\n2 tests, 1 benchmark\n";
        assert_eq!(listed(said), ["a::b", "c"]);
    }

    #[test]
    fn the_longest_come_first_and_the_rest_as_they_were_built() {
        let program = |target: &str| Program::of(Suite::default(), target);
        assert!(program("--test all").is("-p x --test all"));
        assert!(!program("--test all").is("-p y --test all"));
        let mut all = vec![program("--lib"), program("--test churn"), program("--bin x")];
        all.extend([Program::Docs("x".into()), program("--test profile_builds")]);
        all.sort_by_key(Program::turn);
        let order: Vec<String> = all.iter().map(Program::to_string).collect();
        let expected =
            ["-p x --test profile_builds", "-p x --test churn", "documentation", "-p x --lib"];
        assert_eq!(order[..4], expected);
        assert_eq!(order[4], "-p x --bin x");
    }

    #[test]
    fn programs_that_are_named_are_files_of_this_name() {
        let root = crate::root().unwrap();
        for (package, name) in LONG.iter().chain(&ALONE).filter_map(|it| it.split_once("--test ")) {
            let places = match package.trim_end().strip_prefix("-p tailwater-") {
                None => vec!["tests/tests".to_owned(), "crates/cli/tests".to_owned()],
                Some("tests") => vec!["tests/tests".to_owned()],
                Some(name) => ["crates", "suite"].map(|it| format!("{it}/{name}/tests")).into(),
            };
            let there = |place: &String| {
                let place = root.join(place);
                place.join(format!("{name}.rs")).exists() || place.join(name).exists()
            };
            assert!(
                places.iter().any(there),
                "no test program is called {package}{name}: see LONG and ALONE"
            );
        }
        for words in LONG.iter().filter(|it| !it.contains("--test ") && **it != "--doc") {
            let (package, target) = words.split_once(" --").unwrap();
            let name = package.strip_prefix("-p tailwater-").unwrap();
            let file = if target == "lib" { "src/lib.rs" } else { "src/main.rs" };
            let there = ["crates", "suite"].map(|it| root.join(it).join(name).join(file).exists());
            assert!(there.contains(&true), "nothing has the tests of {words}: see LONG");
        }
    }

    #[test]
    fn a_package_is_named_by_its_folder_where_both_are_the_same() {
        assert_eq!(package_name("path+file:///x/xtask#0.1.0").as_deref(), Some("xtask"));
        assert_eq!(
            package_name("path+file:///x/tests#tailwater-tests@0.1.0").as_deref(),
            Some("tailwater-tests")
        );
    }
}
