//! Whole programs: the thread's CPU time under each tool over that without it, and the same answer from
//! every build.

use crate::make::{Source, compile};
use crate::place::{Place, cargo, sqlite};
use crate::table::{Line, Section};
use crate::tool::{Build, SLEEPER, Tool, present};
use crate::turns::{by_turns, ratios};
use crate::{Effort, Result};
use machine::command;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tailwater_stats::result::Spread;

const COLUMNS: [(&str, usize); 2] = [("CPU ms", 0), ("factor", 3)];

/// One program with its work.
struct Program {
    name: &'static str,
    make: Make,
    /// Before the number of rounds.
    words: &'static [&'static str],
    /// Rounds that take a quarter of a second.
    rounds: u32,
    /// Largest factor that is aimed at, instrumented and not scanned.
    goal: Option<f64>,
}

/// How it is compiled.
#[derive(Clone)]
enum Make {
    C(Source),
    /// With rustc's own way to link through LLVM, or with that and the pass.
    Rust,
}

/// Those of Rust run under fewer tools: what the others need, stable rustc has not.
const RUST: [Tool; 5] = [Tool::Plain, Tool::Unscanned, Tool::Scanned, Tool::Fibers, Tool::Perf];

/// A build for fibers compiles all programs once more, and what that of Rust stands on. The part `calls` has one, too.
const SHORT: [Tool; 3] = [Tool::Plain, Tool::Unscanned, Tool::Scanned];

pub(crate) fn measure(place: &Place, effort: Effort) -> Result<Section> {
    let about = "the thread's CPU time, median [range], and its quotient within a repetition to the \
                 same compiler's program without a tool";
    let mut section = Section::new("programs", about, &COLUMNS);
    let wanted: &[Tool] = if effort.short { &SHORT } else { &Tool::ALL };
    let (tools, left_out) = present(place, wanted);
    section.left_out = left_out;
    for program in programs(place, effort.short, &mut section.left_out)? {
        let able = |tool: &&Tool| matches!(program.make, Make::C(_)) || RUST.contains(tool);
        let tools: Vec<Tool> = tools.iter().filter(able).copied().collect();
        let made = tools.iter().map(|tool| make(place, &program.make, tool.build()));
        let files = made.collect::<Result<Vec<PathBuf>>>()?;
        if !effort.build_only {
            let base = Tool::base;
            section.lines.extend(compare(place, effort, &program, (&tools, base), &files)?);
        }
    }
    Ok(section)
}

/// What of the cost of being scanned is not the scanner's.
pub(crate) fn measure_scanned(place: &Place, effort: Effort) -> Result<Section> {
    let about = "the thread's CPU time, median [range], and its quotient within a repetition to the \
                 same program unscanned, with nothing beside it; beside a process that spins it has the second core to itself";
    let mut section = Section::new("scanned", about, &COLUMNS);
    let (tools, left_out) = present(place, &Tool::SCANNED);
    section.left_out = left_out;
    compile(
        place,
        Build::Clang,
        &[place.program("sleeper.c")],
        &["-shared", "-fPIC"],
        &place.made(SLEEPER),
    )?;
    for program in programs(place, effort.short, &mut section.left_out)? {
        let file = make(place, &program.make, Build::Pass)?;
        if !effort.build_only {
            let files = vec![file; tools.len()];
            let base = |_| Tool::Unscanned;
            section.lines.extend(compare(place, effort, &program, (&tools, base), &files)?);
        }
    }
    Ok(section)
}

fn programs(place: &Place, short: bool, left_out: &mut Vec<String>) -> Result<Vec<Program>> {
    let cxx = |name: &'static str, file: &str| {
        Make::C(Source { name, files: vec![place.program(file)], includes: vec![] })
    };
    let of = |name, make, words, rounds, goal| Program { name, make, words, rounds, goal };
    let mut all = vec![
        of("std::map", cxx("maps", "maps.cpp"), &["tree"][..], 8, Some(1.10)),
        of("std::unordered_map", cxx("maps", "maps.cpp"), &["hash"], 20, Some(1.10)),
        of("serde_json", Make::Rust, &[], 60, Some(1.16)),
    ];
    if place.compiles("clang++-22", &["-include", "nlohmann/json.hpp"]) {
        all.insert(0, of("C++ JSON", cxx("json", "json.cpp"), &[], 16, Some(1.10)));
    } else {
        let needs = "found no nlohmann/json.hpp; type: apt-get install nlohmann-json3-dev";
        left_out.push(format!("C++ JSON: {needs}"));
    }
    // Half a minute for each compiler.
    if short {
        left_out.push(
            "SQLite, programs built for fibers, and the tools of others: too long for --short; type: make bench \
             NAMES=profile"
                .to_owned(),
        );
    } else {
        let folder = sqlite()?;
        let files = vec![place.program("sqlite.c"), folder.join("sqlite3.c")];
        let source = Source { name: "sqlite", files, includes: vec![folder] };
        all.push(of("SQLite", Make::C(source), &[], 3, Some(1.12)));
    }
    Ok(all)
}

fn make(place: &Place, how: &Make, build: Build) -> Result<PathBuf> {
    match how {
        Make::C(source) => source.make(place, build),
        Make::Rust => rust(place, build),
    }
}

/// Both go through LLVM's linker, or the pass would be charged with what that does.
fn rust(place: &Place, build: Build) -> Result<PathBuf> {
    let target = place.made(&format!("rust-{}", build.name()));
    let manifest = place.program("json/Cargo.toml");
    let mut command = if build.is_ours() {
        let mut command = place.tailwater();
        command.args(["profile", "build"]);
        command.args((build == Build::Fibers).then_some("--fibers")).args(["--", "cargo"]);
        command
    } else {
        let mut command = cargo();
        let flags = ["-Clinker-plugin-lto", "-Clinker=clang-22", "-Clinker-features=-lld"];
        let link = "-Clink-arg=--ld-path=ld.lld-22";
        command.env("RUSTFLAGS", format!("{} {link}", flags.join(" ")));
        command.env("CARGO_BUILD_TARGET", host()?);
        command.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
        command
    };
    // This program's own cargo may have left its words to those below it.
    command.env_remove("CARGO_ENCODED_RUSTFLAGS").env("CARGO_TARGET_DIR", &target);
    command.args(["build", "--release", "--locked", "--manifest-path"]).arg(manifest);
    command::output(&mut command)?;
    Ok(target.join(host()?).join("release/json"))
}

/// The machine's name in rustc's words.
fn host() -> Result<String> {
    let said = command::output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "found no host in what `rustc -vV` says".to_owned())
}

fn compare(
    place: &Place,
    effort: Effort,
    program: &Program,
    (tools, base): (&[Tool], fn(Tool) -> Tool),
    files: &[PathBuf],
) -> Result<Vec<Line>> {
    let rounds = if effort.short { 1 } else { program.rounds };
    let mut answer = None;
    let found = by_turns(tools.len(), effort.repetitions(7), |at| {
        let (said, ns) = run(place, program, tools[at], &files[at], rounds)?;
        let expected = answer.get_or_insert_with(|| said.clone());
        if said != *expected {
            let (name, tool) = (program.name, tools[at].name());
            return Err(format!("{name} under {tool} answered {said}, needed {expected}"));
        }
        Ok(ns)
    })?;
    let line = |(at, tool): (usize, &Tool)| {
        let at_base = tools.iter().position(|other| *other == base(*tool))?;
        let ms: Vec<f64> = found[at].iter().map(|ns| ns / 1e6).collect();
        let factor = ratios(&found[at], &found[at_base]);
        let goal = program.goal.filter(|_| *tool == Tool::Unscanned && base(*tool) != *tool);
        Some(Line {
            work: program.name.to_owned(),
            tool: tool.name().to_owned(),
            runs: ms.len(),
            of: BTreeMap::from([(COLUMNS[0].0, Spread::of(&ms)), (COLUMNS[1].0, factor)]),
            goals: goal.map(|goal| (COLUMNS[1].0, goal)).into_iter().collect(),
        })
    };
    Ok(tools.iter().enumerate().filter_map(line).collect())
}

/// What it answered and its CPU time.
fn run(
    place: &Place,
    program: &Program,
    tool: Tool,
    file: &Path,
    rounds: u32,
) -> Result<(String, f64)> {
    let mut command = tool.run(place, file, &format!("programs-{}.data", tool.build().name()));
    let said = command::output(command.args(program.words).arg(rounds.to_string()))?;
    let parsed = said
        .split_once(' ')
        .and_then(|(answer, ns)| Some((answer.to_owned(), ns.trim().parse::<f64>().ok()?)));
    parsed.ok_or_else(|| format!("{} said `{}`", program.name, said.trim()))
}
