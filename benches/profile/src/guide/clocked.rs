//! What `tailwater profile report` says of a server's request function beside what the server's own clock says. It is read at the
//! function's entry and exit, and at its call and return (`programs/clocked.h`).

use super::own::{Own, OwnCall};
use super::recorded::{SETTLES, closed, fill};
use super::service::{Server, Service};
use super::{RunsArgs, Variant};
use crate::Result;
use crate::quantile::quantile;
use machine::Origin;
use machine::command::output;
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;
use tailwater_profile::record::Record;
use tailwater_profile::trace::Reader;
use tailwater_stats::result::Spread;

/// The quantile that is compared.
const SHARE: f64 = 0.999;

#[derive(Debug, Serialize)]
struct Clocked {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    seconds: u64,
    function: &'static str,
    runs: Vec<Beside>,
}

/// The p99.9 of one run, by both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Beside {
    /// Calls that the program made while it was recorded.
    made: u64,
    /// Calls that the report's quantiles are of. The others were too short to be seen.
    told: u64,
    own_ns: u64,
    /// The same from the call to the return. What instrumentation adds to a call lies between the two, and no profiler knows less.
    around_ns: u64,
    /// What the program measured of the longest `told` calls: where the report must lie if it missed the shortest.
    own_of_told_ns: u64,
    low_ns: u64,
    /// `None`: the report knows no upper bound.
    high_ns: Option<u64>,
}

/// Measures the runs, and writes them.
pub(crate) fn clocked(args: &RunsArgs) -> Result {
    let service = args.of.server()?;
    let (origin, mut runs) = (Origin::now(), Vec::new());
    for _ in 0..args.runs {
        let run = one(service, args)?;
        println!("{}", run.line());
        runs.push(run);
    }
    let title = args.of.trial.title.clone();
    let result = Clocked { title, origin, seconds: args.seconds, function: service.function, runs };
    machine::result::write(&args.of.trial.out, &result)?;
    println!("{}", result.summary());
    Ok(())
}

fn one(service: &Service, args: &RunsArgs) -> Result<Beside> {
    let [log, trace] = ["own.log", "clocked.trace"].map(|name| args.of.trial.folder.join(name));
    let environment = [("CLOCKED_LOG", log.as_os_str())];
    let server = Server::start_with(service, &args.of.trial.program, Variant::After, &environment)?;
    fill(service, server.address())?;
    // Every worker makes its first call, for which it takes memory.
    closed(service, server.address(), SETTLES)?;
    let length = Duration::from_secs(args.seconds);
    thread::scope(|scope| {
        let mut attach = server.attach(length + 4 * SETTLES, &trace);
        attach.args(&args.of.options);
        let recorder = scope.spawn(move || output(&mut attach));
        thread::sleep(2 * SETTLES);
        let loaded = closed(service, server.address(), length);
        recorder.join().expect("it does not panic")?;
        loaded.map(drop)
    })?;
    server.end()?;
    let own = Own::read(&log)?;
    if own.left_out > 0 {
        return Err(format!("{} calls found no room; type fewer --seconds", own.left_out));
    }
    let (from, to) = window(&trace)?;
    let sorted = |ticks: fn(OwnCall) -> u64| {
        let mut all: Vec<u64> = own.within(from, to).map(ticks).collect();
        all.sort_unstable();
        all
    };
    if own.within(from, to).any(|call| call.around == [0, 0]) {
        return Err("a call was not timed by what calls it; build it anew: patched.sh".to_owned());
    }
    let [ticks, around] = [sorted(OwnCall::ticks), sorted(OwnCall::ticks_around)];
    Beside::of([&ticks, &around], own.ns_per_tick, &reported(service.function, &trace)?)
}

/// When recording began and ended, by the counter. A thread's loop has not ended then: it is told of until the last moment.
fn window(trace: &Path) -> Result<(u64, u64)> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", trace.display());
    let file = File::open(trace).map_err(|error| failed(&error))?;
    let reader = Reader::new(BufReader::new(file)).map_err(|error| failed(&error))?;
    let from = reader.header().clock.ticks;
    let mut to = from;
    for record in reader {
        match record.map_err(|error| failed(&error))? {
            Record::Call(call) => to = to.max(call.end),
            Record::Clock(clock) => to = to.max(clock.ticks),
            _ => {}
        }
    }
    Ok((from, to))
}

/// The function's line of the report.
fn reported(function: &str, trace: &Path) -> Result<Value> {
    let mut report = Command::new("tailwater");
    report.args(["profile", "report", "--json", "--function", function]).arg(trace);
    let said = output(&mut report)?;
    let report: Value = serde_json::from_str(&said).map_err(|error| format!("report: {error}"))?;
    let mut rows = report["functions"].as_array().into_iter().flatten();
    let row = rows.find(|row| row["name"] == function);
    row.cloned().ok_or_else(|| format!("{}: no call of {function} was seen", trace.display()))
}

impl Beside {
    /// Ticks of each call from entry to exit, and from call to return, both in ascending order.
    fn of([ticks, around]: [&[u64]; 2], ns_per_tick: f64, row: &Value) -> Result<Self> {
        let told = row["count"].as_u64().ok_or("the report has no count")?;
        let low_ns = row["p999"]["low_ns"].as_u64().ok_or("the report has no p99.9")?;
        let longest = &ticks[ticks.len().saturating_sub(told as usize)..];
        let [own, around, of_told] = [ticks, around, longest].map(|all| quantile(all, SHARE));
        let found = own.zip(around).zip(of_told);
        let ((own, around), of_told) = found.ok_or("the program made no call meanwhile")?;
        let ns = |ticks: u64| (ticks as f64 * ns_per_tick).round() as u64;
        Ok(Self {
            made: ticks.len() as u64,
            told,
            own_ns: ns(own),
            around_ns: ns(around),
            own_of_told_ns: ns(of_told),
            low_ns,
            high_ns: row["p999"]["high_ns"].as_u64(),
        })
    }

    /// Whether what the program measured from entry to exit lies between the report's bounds.
    fn is_within(&self) -> bool {
        self.low_ns <= self.own_ns && self.high_ns.is_none_or(|high| self.own_ns <= high)
    }

    /// Whether the report's bounds overlap the time from the inner clock's to the outer one's. What the report times begins before the one and
    /// ends before the other.
    fn overlaps(&self) -> bool {
        self.low_ns <= self.around_ns && self.high_ns.is_none_or(|high| self.own_ns <= high)
    }

    /// How far the bounds are apart, as a share of the middle between them.
    fn width(&self) -> f64 {
        let (low, high) = (self.low_ns as f64, self.high_ns.map_or(f64::INFINITY, |ns| ns as f64));
        if high.is_finite() { (high - low) / f64::midpoint(low, high) } else { f64::INFINITY }
    }

    fn line(&self) -> String {
        let Self { made, told, own_ns, around_ns, own_of_told_ns, low_ns, .. } = self;
        let high = self.high_ns.map_or_else(|| "?".to_owned(), |high| high.to_string());
        format!(
            "own p99.9 {own_ns} ns, {around_ns} ns from call to return, of {made} calls; report {low_ns} to {high} ns of {told} (of the longest so many: \
             {own_of_told_ns} ns)"
        )
    }
}

impl Clocked {
    fn summary(&self) -> String {
        let within = self.runs.iter().filter(|run| run.is_within()).count();
        let met = self.runs.iter().filter(|run| run.overlaps()).count();
        let widths: Vec<f64> = self.runs.iter().map(|run| run.width() * 100.0).collect();
        let Spread { min, median, max } = Spread::of(&widths);
        format!(
            "{}: the report's bounds of the p99.9 of {} hold what the program measured in {within} of {} runs, and overlap the time \
             from that to what its caller measured in {met}; they are {median:.1} % [{min:.1}–{max:.1}] wide",
            self.title,
            self.function,
            self.runs.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_quantile_is_of_all_calls_and_of_as_many_as_the_report_has() {
        // A thousand of 1 to 1,000 ns, and as many of 1 ns that nobody saw.
        let mut ticks = vec![2; 1_000];
        ticks.extend((1..=1_000).map(|ns| ns * 2));
        ticks.sort_unstable();
        // From call to return 20 ticks longer.
        let around: Vec<u64> = ticks.iter().map(|ticks| ticks + 20).collect();
        let of = |ns_per_tick, low, high| {
            let row =
                serde_json::json!({ "count": 1_000, "p999": { "low_ns": low, "high_ns": high } });
            Beside::of([&ticks, &around], ns_per_tick, &row).expect("a row")
        };
        let found = of(0.5, 990, Some(1_010));
        let told = [found.made, found.own_ns, found.around_ns, found.own_of_told_ns];
        assert_eq!(told, [2_000, 998, 1_008, 999]);
        assert!(found.is_within() && found.overlaps());
        assert!((found.width() - 0.02).abs() < 1e-12);
        let endless = of(0.5, 990, None);
        assert!(endless.is_within() && endless.width().is_infinite());
        let between = of(0.5, 1_001, Some(1_020));
        assert!(!between.is_within() && between.overlaps(), "{}", between.line());
        let longer = of(0.5, 1_009, Some(1_010));
        let shorter = of(0.5, 990, Some(997));
        assert!(!longer.overlaps() && !shorter.overlaps(), "{}", longer.line());
        let row = serde_json::json!({ "count": 1, "p999": { "low_ns": 1 } });
        assert!(Beside::of([&[], &[]], 1.0, &row).is_err());
    }
}
