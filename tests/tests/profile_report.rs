//! What `tailwater profile report` says of a program, held against what the program says of itself. The
//! scenes lie in `crates/profile-rt/tests/programs`.

use crate::profiled::{
    Recorded, alone, folder, in_time, on_one_core, record_program, succeeds, text, tools,
};
use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use tailwater_profile::clock::TickRate;
use tailwater_profile::functions::{Bounds, Durations, Functions, Report};
use tailwater_profile::trace::{Header, Reader};

/// Slow paths that the scene takes in a thousand requests.
const SLOW_PER_THOUSAND: u64 = 10;

/// What a request says of itself.
struct Said {
    generation: u64,
    /// It took so many ticks at least, and at most.
    ticks: [u64; 2],
}

fn said(text: &str) -> Vec<Said> {
    let request = |line: &str| {
        let mut numbers = line.split(' ').map(|word| word.parse().expect("a number"));
        let mut next = || numbers.next().expect("three numbers");
        Said { generation: next(), ticks: [next(), next()] }
    };
    text.lines().map(request).collect()
}

fn calls(report: &Report, name: &str) -> Option<Durations> {
    report.functions.iter().find(|row| row.name == name).map(|row| row.calls)
}

fn statistics(recorded: &Recorded, header: &Header) -> Report {
    let mut functions = Functions::new(header);
    recorded.records.iter().for_each(|record| functions.add(record));
    functions.finish(&recorded.ending)
}

/// Holds a quantile against what the requests say, in which it is the `nth` from above.
fn assert_holds(bounds: Bounds, requests: &[&Said], nth: usize, rate: TickRate) {
    let [least, most] = [0, 1].map(|side| {
        let mut all: Vec<u64> = requests.iter().map(|said| said.ticks[side]).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        rate.ns(all[nth - 1])
    });
    assert!(
        bounds.low_ns <= most && bounds.high_ns.is_some_and(|high_ns| least <= high_ns),
        "number {nth} of {} from above took {least} to {most} ns; the report: {bounds:?}",
        requests.len()
    );
}

/// A recording of the scene, and what it said.
struct Run {
    recorded: Recorded,
    report: Report,
    said: Vec<Said>,
}

fn run(folder: &Path, scenes: &Path, requests: usize) -> Run {
    let mut record = record_program(folder, scenes);
    let done = on_one_core(|| succeeds(record.args(["durations", &requests.to_string()])));
    let trace = folder.join("x.trace");
    let reader = Reader::new(File::open(&trace).expect("a trace")).expect("a header");
    let recorded = Recorded::read(&trace);
    let report = statistics(&recorded, reader.header());
    Run { recorded, report, said: said(&text(&done.stdout)) }
}

/// The scanner has no core but the program's, so most calls that are long begin or end while it is away.
#[test]
fn the_tail_on_a_shared_core_is_within_the_reports_bounds() {
    let _alone = alone();
    let folder = folder("report");
    let scenes = folder.join("scenes");
    tools().compiled("CC", "", "scenes.c", &scenes);
    in_time(1, |thousands| {
        let thousands: usize = thousands.parse().expect("a number");
        let run = run(&folder, &scenes, 1000 * thousands + 999);
        // A machine may be too busy for the scanner to look in time; then there is more to look at.
        let slow = calls(&run.report, "slow_path")?;
        if slow.count < (thousands as u64 + 1) * SLOW_PER_THOUSAND {
            return None;
        }
        assert_eq!(slow.left_out, 0);
        quantiles_hold(&run, thousands + 1)
    });
    slow_path_is_among_the_first(&folder.join("x.trace"));
}

/// The p99.9 of all requests is the `nth` from above, and also that of the seen ones if fewer than a thousand
/// are missed.
fn quantiles_hold(run: &Run, nth: usize) -> Option<()> {
    let request = calls(&run.report, "request")?;
    assert_eq!(request.left_out, 0);
    let rate = run.report.rate;
    let is_seen: HashSet<u64> = run.recorded.calls("request").map(|call| call.generation).collect();
    let all: Vec<&Said> = run.said.iter().collect();
    let (seen, missed): (Vec<&Said>, Vec<&Said>) =
        run.said.iter().partition(|said| is_seen.contains(&said.generation));
    for (share, bounds) in
        [(0.5, request.p50), (0.99, request.p99), (0.999, request.p999), (1.0, request.max)]
    {
        let from_below = (share * seen.len() as f64).ceil() as usize;
        assert_holds(bounds, &seen, seen.len() + 1 - from_below, rate);
    }
    let longest_missed = missed.iter().map(|said| said.ticks[1]).max().unwrap_or(0);
    if missed.len() >= 1000 || rate.ns(longest_missed) > request.p999.low_ns {
        return None;
    }
    assert_holds(request.p999, &all, nth, rate);
    Some(())
}

/// Only the path and the requests that took it take so long, and `main` is around them.
fn slow_path_is_among_the_first(trace: &Path) {
    let mut command = Command::new(&tools().tailwater);
    let table =
        text(&succeeds(command.args(["profile", "report", "--limit", "2"]).arg(trace)).stdout);
    assert!(table.lines().any(|line| line.starts_with("slow_path ")), "{table}");
}
