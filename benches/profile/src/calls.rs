//! Extra time per call of an empty function: `programs/calls.c` compiled with the tool and without, both
//! in one program, which runs them by turns.

use crate::make::compile;
use crate::place::Place;
use crate::table::{Line, Section};
use crate::tool::{Build, Tool, present};
use crate::turns::by_turns;
use crate::{Effort, Result};
use machine::command;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tailwater_stats::result::Spread;

/// Nanoseconds that a call may cost more, where a program is instrumented and not scanned.
const GOAL_NS: f64 = 1.0;
const COLUMNS: [(&str, usize); 3] = [("ns plain", 2), ("ns with", 2), ("extra ns", 2)];

/// perf is left out: it does nothing to a call.
pub(crate) fn measure(place: &Place, effort: Effort) -> Result<Section> {
    let wanted = Tool::ALL.into_iter().filter(|tool| {
        !matches!(tool, Tool::Plain | Tool::Gcc | Tool::Perf) && (!effort.short || tool.is_ours())
    });
    section("calls", &wanted.collect::<Vec<_>>(), place, effort)
}

/// Calls that time themselves.
pub(crate) fn measure_timed(place: &Place, effort: Effort) -> Result<Section> {
    section("timed-calls", &Tool::TIMED, place, effort)
}

fn section(name: &'static str, wanted: &[Tool], place: &Place, effort: Effort) -> Result<Section> {
    let about = "ns of the thread's CPU time per call, median [range] of the programs' own medians";
    let mut section = Section::new(name, about, &COLUMNS);
    let (tools, left_out) = present(place, wanted);
    section.left_out = left_out;
    let made = tools.iter().map(|tool| make(place, tool.build()));
    let programs = made.collect::<Result<Vec<PathBuf>>>()?;
    if effort.build_only {
        return Ok(section);
    }
    let found = by_turns(tools.len(), effort.repetitions(7), |at| {
        run(place, tools[at], &programs[at], effort.short)
    })?;
    for (at, shape) in found[0][0].iter().enumerate() {
        for (tool, runs) in tools.iter().zip(&found) {
            section.lines.push(line(&shape.0, at, *tool, runs));
        }
    }
    Ok(section)
}

/// Name, ns per call plain, with the tool, and the difference.
type Shape = (String, [f64; 3]);

fn line(work: &str, at: usize, tool: Tool, runs: &[Vec<Shape>]) -> Line {
    let of = |number: usize| {
        Spread::of(&runs.iter().map(|shapes| shapes[at].1[number]).collect::<Vec<_>>())
    };
    let names = COLUMNS.iter().enumerate();
    let is_judged = work == "empty" && tool == Tool::Unscanned;
    Line {
        work: work.to_owned(),
        tool: tool.name().to_owned(),
        runs: runs.len(),
        of: names.map(|(number, (name, _))| (*name, of(number))).collect::<BTreeMap<_, _>>(),
        goals: if is_judged { vec![(COLUMNS[2].0, GOAL_NS)] } else { vec![] },
    }
}

/// The plain half by the same compiler, the loops' driver always by clang.
fn make(place: &Place, build: Build) -> Result<PathBuf> {
    let object = |name: &str| place.made(&format!("calls-{}-{name}.o", build.name()));
    let half = |build: Build, variant: &str, flags: &[&str]| {
        let define = format!("-DVARIANT=_{variant}");
        let mut words = vec!["-c", define.as_str()];
        words.extend_from_slice(flags);
        let target = object(variant);
        compile(place, build, &[place.program("calls.c")], &words, &target).map(|()| target)
    };
    let plain = if build == Build::Pg { Build::Gcc } else { Build::Clang };
    let mut objects = vec![half(plain, "plain", &[])?, half(build, "tool", build.flags())?];
    let main = object("main");
    compile(place, plain, &[place.program("calls_main.c")], &["-c"], &main)?;
    objects.push(main);
    objects.extend(build.object(place)?);
    let program = place.made(&format!("calls-{}", build.name()));
    compile(place, build, &objects, build.flags(), &program)?;
    Ok(program)
}

fn run(place: &Place, tool: Tool, program: &std::path::Path, short: bool) -> Result<Vec<Shape>> {
    let (rounds, calls) = match tool {
        _ if short => ("3", "100000"),
        // Dear ones, and those that keep a record of each call.
        Tool::Uftrace => ("5", "100000"),
        Tool::XrayBasic => ("5", "100000"),
        // Its ring holds some 80,000 of them, and is emptied every 4 ms.
        Tool::Clocked | Tool::CountedCpu | Tool::Counted => ("11", "200000"),
        Tool::XrayNoop | Tool::Hooks | Tool::Pg => ("11", "1000000"),
        _ => ("51", "2000000"),
    };
    let scratch = format!("calls-{}.data", tool.build().name());
    let said = command::output(tool.run(place, program, &scratch).args([rounds, calls]))?;
    let shapes = said.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<f64>().ok();
        let shape = number(1).zip(number(2)).zip(number(3));
        let ((plain, with), extra) = shape.ok_or_else(|| format!("calls said `{line}`"))?;
        Ok((words[0].to_owned(), [plain, with, extra]))
    });
    shapes.collect()
}
