//! Whether the line of a slow path that is planted in a server comes first of all lines that `report --lines` tells. The
//! compiler inlines it, so that no function of its name is there.

use super::recorded::{SETTLES, closed, fill};
use super::service::{Server, Service};
use super::{RunsArgs, Variant};
use crate::Result;
use machine::Origin;
use machine::command::output;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// What the patches call the path (`examples/profiling/patches`).
const PLANTED: &str = "planted_slow_path";
/// A call in 5,000 takes the path: half of those that the report looks at, or more.
const LINES: &str = "--lines=p99.9";

#[derive(Debug, Serialize)]
struct Planted {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    seconds: u64,
    runs: Vec<Found>,
}

/// What the report says of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Found {
    /// The place of the first line in the planted path among those of slow calls of all functions; `None`: it is not there.
    rank: Option<usize>,
    /// The same among lines of the program's own sources: what a library of the system does has none.
    own_rank: Option<usize>,
    /// The same among those of slow calls of the function that handles requests alone, with what these call.
    request_rank: Option<usize>,
    /// That line, and the innermost function that was under way.
    line: String,
    function: String,
    /// What comes first of all.
    first: String,
    first_function: String,
    /// Samples in the path, and in slow calls of whichever function.
    planted: u64,
    samples: u64,
}

/// Measures the runs, and writes them.
pub(crate) fn planted(args: &RunsArgs) -> Result {
    let service = args.of.server()?;
    let (origin, mut runs) = (Origin::now(), Vec::new());
    for _ in 0..args.runs {
        let run = one(service, args)?;
        println!("{}", run.line());
        runs.push(run);
    }
    let title = args.of.trial.title.clone();
    let result = Planted { title, origin, seconds: args.seconds, runs };
    machine::result::write(&args.of.trial.out, &result)?;
    let first = |rank: fn(&Found) -> Option<usize>| {
        result.runs.iter().filter(|run| rank(run) == Some(1)).count()
    };
    println!(
        "{}: the planted line is first of all in {} of {} runs, of the program's own in {}, of slow requests in {}",
        result.title,
        first(|run| run.rank),
        args.runs,
        first(|run| run.own_rank),
        first(|run| run.request_rank)
    );
    Ok(())
}

fn one(service: &Service, args: &RunsArgs) -> Result<Found> {
    let trace = args.of.trial.folder.join("planted.trace");
    let server = Server::start(service, &args.of.trial.program, Variant::After)?;
    fill(service, server.address())?;
    let length = Duration::from_secs(args.seconds);
    thread::scope(|scope| {
        let mut attach = server.attach(length + 2 * SETTLES, &trace);
        attach.arg("--lines").args(&args.of.options);
        let recorder = scope.spawn(move || output(&mut attach));
        thread::sleep(SETTLES);
        let loaded = closed(service, server.address(), length);
        recorder.join().expect("it does not panic")?;
        loaded.map(drop)
    })?;
    server.end()?;
    let of_requests = Found::in_report(&reported(&trace, &["--function", service.function])?)?;
    let all = Found::in_report(&reported(&trace, &[])?)?;
    Ok(Found { request_rank: of_requests.rank, ..all })
}

fn reported(trace: &Path, of: &[&str]) -> Result<Value> {
    let mut report = Command::new("tailwater");
    report.args(["profile", "report", LINES, "--json"]).args(of).arg(trace);
    serde_json::from_str(&output(&mut report)?).map_err(|error| error.to_string())
}

impl Found {
    fn in_report(report: &Value) -> Result<Self> {
        let lines = report["slow_lines"].as_array().ok_or("the report has no lines")?;
        let samples = |one: &Value| one["samples"].as_u64().unwrap_or(0);
        // Paths from here: others would name a machine.
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        let here = format!("{}/", here.display());
        let text =
            |one: &Value, key: &str| one[key].as_str().unwrap_or_default().replace(&here, "");
        let is_planted = |one: &&Value| text(one, "line").contains(PLANTED);
        let first = |key: &str| lines.first().map(|one| text(one, key)).unwrap_or_default();
        let mut found = Self {
            first: first("line"),
            first_function: first("function"),
            planted: lines.iter().filter(is_planted).map(samples).sum(),
            samples: lines.iter().map(samples).sum(),
            ..Self::default()
        };
        if let Some((at, first)) = lines.iter().enumerate().find(|(_, one)| is_planted(one)) {
            // A line of a source: of what has none, a symbol is told, or a library.
            let has_number = |place: &str| {
                place.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok())
            };
            let is_own = |one: &&Value| text(one, "line").split(',').next().is_some_and(has_number);
            found.rank = Some(at + 1);
            found.own_rank = Some(lines[..at].iter().filter(is_own).count() + 1);
            (found.line, found.function) = (text(first, "line"), text(first, "function"));
        }
        Ok(found)
    }

    fn line(&self) -> String {
        let [all, requests] = [self.rank, self.request_rank]
            .map(|rank| rank.map_or("none".to_owned(), |rank| rank.to_string()));
        let Self { line, function, planted, samples, .. } = self;
        format!(
            "place {all}, {requests} in slow requests: {line} in {function}; {planted} of {samples} samples of slow calls"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_planted_line_has_a_place_among_all() {
        let line = |function: &str, line: &str, samples: u64| json!({ "function": function, "line": line, "samples": samples });
        let path = "a.c:9, inlined planted_slow_path at line 3";
        let waits = line("f", "epoll_wait of libc.so.6", 20);
        let report = json!({ "slow_lines": [waits, line("f", "a.c:7", 9), line("g", path, 6), line("g", path, 1)] });
        let found = Found::in_report(&report).expect("lines");
        assert_eq!((found.rank, found.own_rank), (Some(3), Some(2)));
        assert_eq!((found.planted, found.samples), (7, 36));
        assert_eq!(
            (found.first.as_str(), found.first_function.as_str()),
            ("epoll_wait of libc.so.6", "f")
        );
        assert_eq!((found.line.as_str(), found.function.as_str()), (path, "g"));
        let without = json!({ "slow_lines": [line("f", "a.c:7", 9)] });
        assert_eq!(Found::in_report(&without).expect("lines").rank, None);
        assert!(Found::in_report(&json!({})).is_err());
    }
}
