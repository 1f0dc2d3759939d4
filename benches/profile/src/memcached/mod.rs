//! memcached, from Debian's sources and unmodified: CPU time per request under each tool ([`measure`]),
//! and how fast traces of it grow and are read ([`traces`]).

mod host;
mod load;
mod server;

pub(crate) use load::{LoadArgs, load};

use crate::place::Place;
use crate::table::{Line, Section};
use crate::tool::{Tool, present};
use crate::turns::{by_turns, ratios};
use crate::{Effort, Result};
use load::{MIXED, SETS};
use machine::command::output;
use server::{Server, make};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tailwater_stats::result::Spread;

/// CPU time per request that is aimed at, instrumented and not scanned, over that without.
const GOAL: f64 = 1.05;
/// Requests of a run, and of one that keeps a record of each call.
const REQUESTS: u64 = 300_000;
const REQUESTS_FEW: u64 = 60_000;
const CPU: [(&str, usize); 2] = [("CPU ns/request", 0), ("factor", 3)];
const TRACES: [(&str, usize); 5] = [
    ("trace MB/s", 2),
    ("decode s/s", 3),
    ("records/s", 0),
    ("bytes/record", 1),
    ("requests/s", 0),
];
/// LDB's own figures for memcached (section 6.3) are 149 MB/s and 1.7 s/s; a tenth is aimed at.
const GOAL_MB: f64 = 14.9;

pub(crate) fn measure(place: &Place, effort: Effort) -> Result<Section> {
    let about = "CPU time of the server's own threads per request (15 GETs to a SET, 4 connections, 64 \
                 at a time, one worker), and its quotient within a repetition";
    let mut section = Section::new("memcached", about, &CPU);
    if effort.short {
        section.left_out.push(
            "memcached: its sources are fetched in full runs only; type: make bench NAMES=profile"
                .to_owned(),
        );
        return Ok(section);
    }
    let (tools, left_out) = present(place, &Tool::ALL);
    section.left_out = left_out;
    let made = tools.iter().map(|tool| make(place, tool.build()));
    let files = made.collect::<Result<Vec<PathBuf>>>()?;
    if effort.build_only {
        return Ok(section);
    }
    let found = by_turns(tools.len(), effort.repetitions(7), |at| {
        let keeps_all = matches!(tools[at], Tool::Uftrace | Tool::XrayBasic);
        per_request(place, tools[at], &files[at], if keeps_all { REQUESTS_FEW } else { REQUESTS })
    })?;
    for (at, tool) in tools.iter().enumerate() {
        let Some(base) = tools.iter().position(|other| *other == tool.base()) else { continue };
        let factor = ratios(&found[at], &found[base]);
        section.lines.push(Line {
            work: "memcached".to_owned(),
            tool: tool.name().to_owned(),
            runs: found[at].len(),
            of: BTreeMap::from([(CPU[0].0, Spread::of(&found[at])), (CPU[1].0, factor)]),
            goals: if *tool == Tool::Unscanned { vec![(CPU[1].0, GOAL)] } else { vec![] },
        });
    }
    Ok(section)
}

/// CPU time of all threads of the server but the profiler's, after the keys were written once.
fn per_request(place: &Place, tool: Tool, file: &std::path::Path, requests: u64) -> Result<f64> {
    let server = Server::start(place, tool, file, 1)?;
    MIXED.fill(server.socket())?;
    let before = server.cpu_ns();
    MIXED.requests(server.socket(), requests)?;
    let used = server.cpu_ns() - before;
    server.stop()?;
    Ok(used as f64 / requests as f64)
}

pub(crate) fn traces(place: &Place, effort: Effort) -> Result<Section> {
    let about = "four workers, four clients with 16 SETs at a time; a budget of 5 %; decoding is \
                 `tailwater profile report`";
    let mut section = Section::new("traces", about, &TRACES);
    if effort.short {
        section.left_out.push(
            "memcached: its sources are fetched in full runs only; type: make bench NAMES=profile"
                .to_owned(),
        );
        return Ok(section);
    }
    let file = make(place, Tool::Scanned.build())?;
    if effort.build_only {
        return Ok(section);
    }
    let mut runs: [Vec<f64>; TRACES.len()] = Default::default();
    for _ in 0..effort.repetitions(3) {
        let numbers = trace(place, &file)?;
        runs.iter_mut().zip(numbers).for_each(|(run, number)| run.push(number));
    }
    let names = TRACES.iter().map(|(name, _)| *name);
    section.lines.push(Line {
        work: "memcached, SET".to_owned(),
        tool: Tool::Scanned.name().to_owned(),
        runs: runs[0].len(),
        of: names.zip(runs.iter().map(|run| Spread::of(run))).collect(),
        goals: vec![(TRACES[0].0, GOAL_MB)],
    });
    let words = ["profile", "report", "--locks", "--min-count", "100", "--limit", "8"];
    section.quoted = Some(output(place.tailwater().args(words).arg(server::trace(place)))?);
    Ok(section)
}

/// The numbers of [`TRACES`].
fn trace(place: &Place, file: &std::path::Path) -> Result<[f64; TRACES.len()]> {
    let server = Server::start(place, Tool::Scanned, file, 4)?;
    let start = Instant::now();
    let requests = SETS.until(server.socket(), Duration::from_secs(8))?;
    let seconds = start.elapsed().as_secs_f64();
    server.stop()?;
    let trace = server::trace(place);
    let bytes = std::fs::metadata(&trace).map_or(0, |data| data.len()) as f64;
    let start = Instant::now();
    let said = output(place.tailwater().args(["profile", "report", "--json"]).arg(&trace))?;
    let decoding = start.elapsed().as_secs_f64();
    let report: serde_json::Value = serde_json::from_str(&said)
        .map_err(|error| format!("could not read the report: {error}"))?;
    let records = report["records"].as_f64().ok_or("found no number of records in the report")?;
    Ok([
        bytes / 1e6 / seconds,
        decoding / seconds,
        records / seconds,
        bytes / records,
        requests as f64 / seconds,
    ])
}
