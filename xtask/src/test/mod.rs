//! `test`: every test of the workspace, and at the end which failed and how each is repeated.
//!
//! cargo builds; the test programs are started here, some at a time, since many of them wait more than they
//! compute. The longest come first, so that none is left to run alone. What a program says is shown when it ends and
//! failed. All programs run, whatever fails; what they pass over is named at the end.

mod output;
mod program;

use crate::slow::Slow;
use crate::tally::Tally;
use crate::{Result, lanes};
use output::Outcome;
use program::Program;
use std::path::Path;
use std::time::Duration;

/// Programs at a time: on two cores, as many as tests have to pass beside. The loads that they offer share the cores.
const AT_A_TIME: usize = 3;

/// `cargo xtask test [CARGO'S FLAGS…]`: of the whole workspace, or of what flags such as `-p` choose.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let tally = run(root, args)?;
    tally.lines().iter().for_each(|line| println!("{line}"));
    if tally.failures().is_empty() { Ok(()) } else { Err("tests failed; see above".into()) }
}

/// The same for CI, which has flags of none.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    run(root, &[])
}

fn run(root: &Path, args: &[String]) -> Result<Tally> {
    let mut slow = Slow::default();
    let programs = slow.time("(building the tests)", || program::build(root, args))?;
    let mut tally = Tally::default();
    for done in perform(programs) {
        slow.add(&done.name, done.took);
        tally.add(done.tally);
    }
    slow.print();
    Ok(tally)
}

/// What became of a program.
struct Done {
    name: String,
    took: Duration,
    tally: Tally,
}

/// Runs each program once; how it ended is told as soon as it is known.
fn perform(mut programs: Vec<Program>) -> Vec<Done> {
    programs.sort_by_key(Program::turn);
    let mut done = Vec::new();
    let run = |program: &Program| Outcome::of(&program.run());
    lanes::each(AT_A_TIME, programs, run, |program, outcome, took| {
        done.push(conclude(&program, outcome, took));
    });
    done
}

fn conclude(program: &Program, outcome: Outcome, took: Duration) -> Done {
    let name = program.to_string();
    let mut tally = Tally::passed(outcome.passed);
    for test in &outcome.failed {
        tally.fail(format!("{test}; to repeat it, type: {}", program.repeats(test)));
    }
    outcome.passed_over.iter().for_each(|why| tally.pass_over(&name, why));
    let word = if outcome.failed.is_empty() { "ok" } else { "FAILED" };
    println!("{word:<6} {:>4} passed {:>7.1} s  {name}", outcome.passed, took.as_secs_f64());
    if !outcome.failed.is_empty() {
        println!("{}", outcome.said);
    }
    Done { name, took, tally }
}
