//! `test`: every test of the workspace, and at the end which failed and how each is repeated.
//!
//! cargo builds; the test programs are started here, some at a time, since many of them wait more than they
//! compute. The longest come first, so that none is left to run alone. What takes the cores from others
//! runs behind all of them. What a program says is shown when it ends and
//! failed. All programs run, whatever fails; what they pass over is named at the end. Chosen tests may be run many times, and
//! beside threads that compute: a test that reads a clock or starts a process must pass there too.

mod asked;
mod busy;
mod output;
mod program;
mod suite;

use crate::slow::{Slow, of_cpu};
use crate::tally::Tally;
use crate::{Result, lanes};
use asked::Asked;
use output::Outcome;
use program::{LIMIT, Program};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use suite::Suite;

/// Programs at a time: on two cores, as many as tests have to pass beside. The loads that they offer share the cores.
const AT_A_TIME: usize = 3;

/// A program that hangs is ended some day on any machine.
const CROWD_MAX: f64 = 4.0;

/// `cargo xtask test [--busy N] [--times N] [CARGO'S FLAGS…] [-- NAMES…]`: of the whole workspace, or of what flags such as
/// `-p` and words in the names of tests choose.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let asked = Asked::read(args)?;
    let mut slow = Slow::default();
    let suite = match &asked.flags[..] {
        [] => Suite::all(),
        flags => Suite::of_flags(flags),
    };
    let suite = suite.of_names(&asked.names).beside(asked.busy);
    let mut programs = built(root, "(building the tests)", suite, &mut slow)?;
    if asked.is_all() {
        programs.push(Program::Docs(root.to_owned()));
    }
    let limit = limit(asked.busy);
    let tally = busy::beside(asked.busy, || rounds(asked.times, &programs, limit, slow));
    let tally = tally.map_err(|why| with_names(&why, &programs))?;
    counted(tally.lines()).iter().for_each(|line| println!("{line}"));
    if tally.failures().is_empty() { Ok(()) } else { Err("tests failed; see above".into()) }
}

/// Why no test ran. Of a lone program the names are told that choose its tests.
fn with_names(why: &str, programs: &[Program]) -> String {
    match programs {
        [program] => format!("{why}; {program} has: {}", program.names().join(", ")),
        _ => why.to_owned(),
    }
}

/// How long a program may run beside so many threads that compute. Each takes as much of the cores as a program does.
fn limit(busy: usize) -> Duration {
    LIMIT + LIMIT.mul_f64(busy as f64 / AT_A_TIME as f64)
}

/// How many times as long a program takes beside what others run on the machine: by what `/proc/loadavg` says of
/// the last minute. Our own are in it, so that it is generous.
fn crowd(said: &str, cores: f64) -> f64 {
    let load = said.split(' ').next().and_then(|load| load.parse::<f64>().ok());
    load.map_or(1.0, |load| (load / cores).clamp(1.0, CROWD_MAX))
}

fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

/// All of them, so many times, one round after the other, whatever fails.
fn rounds(times: u32, programs: &[Program], limit: Duration, slow: Slow) -> Result<Tally> {
    let mut done = Vec::new();
    for round in 1..=times {
        if times > 1 {
            println!("\n== {round} of {times}");
        }
        let [together, alone] = apart(programs.to_vec());
        done.extend(perform(AT_A_TIME, together, limit));
        done.extend(perform(1, alone, limit));
    }
    summed(done, slow)
}

/// Each line once, with how often it came.
fn counted(lines: Vec<String>) -> Vec<String> {
    let mut all: Vec<(String, u32)> = Vec::new();
    for line in lines {
        match all.iter_mut().find(|(known, _)| *known == line) {
            Some((_, times)) => *times += 1,
            None => all.push((line, 1)),
        }
    }
    let told = all.into_iter().map(|(line, times)| match times {
        1 => line,
        // Ahead of the line, whose end is a command to type.
        _ => format!("{times} times: {line}"),
    });
    told.collect()
}

/// Those that run beside others, and those that run alone when these are done.
fn apart(programs: Vec<Program>) -> [Vec<Program>; 2] {
    let (alone, together) = programs.into_iter().partition(Program::runs_alone);
    [together, alone]
}

/// The same for CI, with what computes and never waits beside it, from the beginning: a build whose last programs are
/// linked one by one, and tests, which mostly wait, leave a part of the processors. What runs alone waits for that, too.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    std::thread::scope(|scope| {
        let aside = scope.spawn(|| aside(root));
        let mut slow = Slow::default();
        let built = built(root, "(building the tests)", Suite::all(), &mut slow);
        let together = built.map(|mut programs| {
            programs.push(Program::Docs(root.to_owned()));
            let [together, alone] = apart(programs);
            (perform(AT_A_TIME, together, LIMIT), alone)
        });
        let aside = aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let tests = together.and_then(|(mut done, alone)| {
            done.extend(perform(1, alone, LIMIT));
            summed(done, slow)
        });
        let mut tally = tests.unwrap_or_else(|why| Tally::of("tests", Err(why)));
        tally.add(aside);
        Ok(tally)
    })
}

/// Models and sanitizers, one after the other, each built in a folder of its own, so that none waits for another's lock.
/// The set-up installs no nightly compiler for sanitizers: another each day, it is no part of what a change has to pass
/// on every machine.
fn aside(root: &Path) -> Tally {
    let mut tally = Tally::default();
    for (name, suite) in Suite::aside(root) {
        match suite.is_possible(root) {
            Ok(()) => tally
                .add(one_by_one(root, name, suite).unwrap_or_else(|why| Tally::of(name, Err(why)))),
            Err(why) => tally.pass_over(name, &why),
        }
    }
    tally
}

/// How many tests passed, as a run of cargo says.
pub(crate) fn passed(said: &str) -> u64 {
    said.lines().filter_map(output::passed).sum()
}

/// What became of one model of loom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Passed,
    /// With what it said.
    Failed(String),
}

/// Builds the program that these words of cargo choose, in the tree at `root`, and plays one of its models alone.
///
/// # Errors
/// When it does not compile, has no such model, or has to be ended for its time.
pub(crate) fn model(root: &Path, which: &str, name: &str) -> Result<Fate> {
    let (programs, _) = program::build(root, Suite::one_model(root, which, name))?;
    let [program] = &programs[..] else {
        return Err(format!("needed one test program for `{which}`, found {}", programs.len()));
    };
    let (output, _) = program.run(LIMIT)?;
    // So `timeout` tells that it has ended what it started.
    if matches!(output.status.code(), Some(124 | 137)) {
        return Err(format!("{name} was ended for its time"));
    }
    let outcome = Outcome::of(&Ok(output));
    match (outcome.passed, outcome.failed.is_empty()) {
        (1, true) => Ok(Fate::Passed),
        (_, false) => Ok(Fate::Failed(outcome.said)),
        (found, true) => Err(format!("needed one model `{name}` in `{which}`, found {found}")),
    }
}

/// Tests of the programs in benches/ that these words of cargo choose, built by a profile. They measure, so that they run one
/// by one.
pub(crate) fn benches(root: &Path, profile: &str, which: &[&str]) -> Result<Tally> {
    one_by_one(root, "tests of benches", Suite::benches(root, profile, which))
}

fn one_by_one(root: &Path, name: &str, suite: Suite) -> Result<Tally> {
    let mut slow = Slow::default();
    let programs = built(root, &format!("(building: {name})"), suite, &mut slow)?;
    summed(perform(1, programs, LIMIT), slow)
}

/// The programs of a suite. How long their build took is noted by this name.
fn built(root: &Path, name: &str, suite: Suite, slow: &mut Slow) -> Result<Vec<Program>> {
    let start = Instant::now();
    let (programs, computed) = program::build(root, suite)?;
    slow.add(name, start.elapsed(), Some(computed));
    Ok(programs)
}

/// The count of all, and the slowest printed.
fn summed(all: Vec<Done>, mut slow: Slow) -> Result<Tally> {
    let mut tally = Tally::default();
    for done in all {
        slow.add(&done.name, done.took, Some(done.computed));
        tally.add(done.tally);
    }
    slow.print();
    tally.some("test")
}

/// What became of a program.
struct Done {
    name: String,
    took: Duration,
    /// With its children.
    computed: Duration,
    tally: Tally,
}

/// Runs each program once; how it ended is told as soon as it is known.
fn perform(at_a_time: usize, mut programs: Vec<Program>, limit: Duration) -> Vec<Done> {
    programs.sort_by_key(Program::turn);
    let mut done = Vec::new();
    let crowded = || fs::read_to_string("/proc/loadavg").map_or(1.0, |said| crowd(&said, cores()));
    // Threads of `--busy` are in either.
    let limit = || limit.max(LIMIT.mul_f64(crowded()));
    let run = |program: &Program| match program.run(limit()) {
        Ok((output, computed)) => (Outcome::of(&Ok(output)), computed),
        Err(why) => (Outcome::of(&Err(why)), Duration::ZERO),
    };
    lanes::each(at_a_time, programs, run, |program, (outcome, computed), took| {
        done.push(conclude(&program, outcome, took, computed));
    });
    done
}

fn conclude(program: &Program, outcome: Outcome, took: Duration, computed: Duration) -> Done {
    let name = program.to_string();
    let mut tally = Tally::passed(outcome.passed);
    for test in &outcome.failed {
        tally.fail(format!("{test}; to repeat it, type: {}", program.repeats(test)));
    }
    if outcome.is_empty() && program.has_tests() {
        let words = program.filter().join("` or `");
        let named =
            if words.is_empty() { words } else { format!(" whose name contains `{words}`") };
        tally.fail(format!("{name}: found no test{named}"));
    }
    outcome.passed_over.iter().for_each(|why| tally.pass_over(&name, why));
    let word = if tally.failures().is_empty() { "ok" } else { "FAILED" };
    let (passed, seconds, of_cpu) = (outcome.passed, took.as_secs_f64(), of_cpu(computed));
    println!("{word:<6} {passed:>4} passed {seconds:>7.1} s{of_cpu}  {name}");
    if !tally.failures().is_empty() {
        println!("{}", outcome.said);
    }
    Done { name, took, computed, tally }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(suite: &Suite, target: &str, passed: u32) -> Vec<String> {
        let said = format!("test result: ok. {passed} passed; 0 failed; 0 ignored");
        let output = std::process::Command::new("echo").arg(said).output();
        let outcome = Outcome::of(&output.map_err(|error| error.to_string()));
        let program = Program::of(suite.clone(), target);
        conclude(&program, outcome, Duration::ZERO, Duration::ZERO).tally.failures().to_vec()
    }

    #[test]
    fn what_takes_the_cores_from_others_runs_behind_them() {
        let program = |target: &str| Program::of(Suite::default(), target);
        let all = ["--test x", "--test profile_causes", "--lib"].map(program);
        let [together, alone] = apart(all.into());
        let names =
            |programs: &[Program]| programs.iter().map(Program::to_string).collect::<Vec<_>>();
        assert_eq!(names(&together), ["-p x --test x", "-p x --lib"]);
        assert_eq!(names(&alone), ["-p x --test profile_causes"]);
    }

    #[test]
    fn programs_have_more_time_beside_threads_that_compute() {
        assert_eq!((limit(0), limit(AT_A_TIME)), (LIMIT, 2 * LIMIT));
    }

    /// Beside builds at a load of 15, two programs on two cores were ended that had computed for a third of their limit.
    #[test]
    fn programs_have_more_time_beside_what_others_run() {
        assert_eq!(crowd("5.50 13.00 10.05 9/412 29811\n", 2.0), 2.75);
        assert_eq!(crowd("0.50 1.00 1.00 1/400 7\n", 2.0), 1.0);
        assert_eq!(crowd("900.0 1.0 1.0 1/1 7\n", 2.0), CROWD_MAX);
        assert_eq!(crowd("", 2.0), 1.0);
    }

    #[test]
    fn a_line_of_many_rounds_is_told_once() {
        let lines = ["a", "b", "a", "c"].map(str::to_owned).to_vec();
        assert_eq!(counted(lines), ["2 times: a", "b", "c"]);
    }

    #[test]
    fn where_no_test_ran_a_lone_program_is_named() {
        let program = |target: &str| Program::of(Suite::default(), target);
        let lone = with_names("found no test at all", &[program("--test x")]);
        assert!(lone.starts_with("found no test at all; -p x --test x has: "), "{lone}");
        let two = [program("--test x"), program("--lib")];
        assert_eq!(with_names("none", &two), "none");
    }

    #[test]
    fn what_was_chosen_for_its_tests_has_some() {
        let [models, _, addresses] = Suite::aside(Path::new("x")).map(|(_, suite)| suite);
        let told = failures(&models, "--lib", 0);
        assert_eq!(told, ["-p x --lib: found no test whose name contains `models`"]);
        assert_eq!(failures(&models, "--test loom", 0), ["-p x --test loom: found no test"]);
        assert!(failures(&models, "--lib", 1).is_empty());
        assert_eq!(failures(&addresses, "--test twins", 0).len(), 1);
        assert!(failures(&addresses, "--lib", 0).is_empty(), "it comes with its package");
        assert!(failures(&Suite::all(), "--test x", 0).is_empty(), "of all, some have none");
    }
}
