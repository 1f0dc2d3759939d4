//! A server recorded for long, of which the slowest requests alone are kept: what that takes of disk and memory, and whether
//! a request is missing. The server's own clock says which are the slowest (`programs/clocked.h`).

use super::own::{Own, OwnCall};
use super::result::Reading;
use super::service::{Server, Service};
use super::watch::{Usage, watch};
use super::{Tried, Variant};
use crate::Result;
use crate::quantile::quantile;
use clap::Args;
use machine::Origin;
use serde::Serialize;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tailwater_load::foreign::{ForeignFindings, ForeignPlan, run as load};
use tailwater_profile::record::{LossKind, MarkKind, Measured, Record};
use tailwater_profile::trace::Reader;

/// The percentile above which requests are kept, and as a share.
const KEEP: &str = "p99.9";
const SHARE: f64 = 0.999;
/// The program's own clock must find at least so many of the requests that are to be above it.
const FOUND_AT_LEAST: f64 = 0.9;
/// How long is recorded first, to learn which requests the program need not note.
const LEARNT_FOR: u64 = 5;
/// The program notes those that were longer than this share then, so ten times as many as are kept.
const NOTED_ABOVE: f64 = 0.99;
/// Room for notes, as a share of all requests: slow minutes have more of them. And at most, 100 MB of them for each thread.
const ROOM: f64 = 0.05;
const ROOM_MAX: f64 = 4_194_304.0;
/// The load begins so long before recording counts, and goes on so long after it.
const WARM_UP: Duration = Duration::from_secs(3);
const AFTERWARDS: Duration = Duration::from_secs(2);
/// From the load's beginning to that of the recording; keys are set meanwhile.
const BEGINS_AFTER: Duration = Duration::from_secs(2);
/// Requests so near to the beginning or the end of the recording are not looked for, in ns.
const EDGE_NS: f64 = 1e8;
/// All of them fit into the server's memory, so that every GET finds its key.
pub(super) const KEYS: u32 = 10_000;
const GETS: f64 = 0.9;

#[derive(Args, Debug)]
pub(crate) struct KeptArgs {
    #[command(flatten)]
    of: Tried,
    /// How long it is recorded; 3600 is an hour.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Requests a second, at times of chance.
    #[arg(long, default_value_t = 20_000.0)]
    rate: f64,
}

#[derive(Debug, Serialize)]
struct KeptResult {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    seconds: u64,
    requests_per_second: f64,
    above: &'static str,
    /// What clients saw.
    clients: Reading,
    usage: Usage,
    trace_bytes: u64,
    #[serde(flatten)]
    found: Checked,
}

/// The kept part beside the program's own notes.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Checked {
    /// Recorded in all.
    recorded: u64,
    /// Calls that the program made from its start to its end, so also before and after.
    own_made: u64,
    /// All that took at least so long are to be there.
    at_least_ns: u64,
    /// The p99.9 of all: as the trace tells it, and as the program measured it.
    p999_ns: u64,
    own_p999_ns: u64,
    /// Requests that took longer by the program's own clock, and how many of these the trace does not have.
    own_above: u64,
    missing: u64,
    /// Kept requests of which the recorder knows that something is lacking, and marks that it lost.
    incomplete: u64,
    lost_marks: u64,
}

/// What a kept trace has.
#[derive(Debug, Default)]
struct Part {
    from: u64,
    to: u64,
    /// Requests with their beginning and their end.
    whole: HashSet<u64>,
    recorded: u64,
    at_least_ns: u64,
    p999_ns: u64,
    incomplete: u64,
    lost_marks: u64,
}

/// A recording under load.
struct Recorded {
    own: Own,
    part: Part,
    clients: ForeignFindings,
    usage: Usage,
}

/// Learns, records and checks, and writes what came of it.
pub(crate) fn kept(args: &KeptArgs) -> Result {
    let (service, origin) = (args.of.server()?, Origin::now());
    let trace = args.of.trial.folder.join("kept.trace");
    let learnt = record(service, args, &trace, LEARNT_FOR, 0)?;
    let mut ticks: Vec<u64> = learnt.own.calls.iter().copied().map(OwnCall::ticks).collect();
    ticks.sort_unstable();
    let least = quantile(&ticks, NOTED_ABOVE).ok_or("the program made no call")?;
    println!("noted: requests of {:.1} µs and more", least as f64 * learnt.own.ns_per_tick / 1e3);
    let Recorded { own, part, clients, usage } =
        record(service, args, &trace, args.seconds, least)?;
    let found = part.check(&own, least as f64 * own.ns_per_tick)?;
    let result = KeptResult {
        title: args.of.trial.title.clone(),
        origin,
        seconds: args.seconds,
        requests_per_second: args.rate,
        above: KEEP,
        clients: Reading::of(clients.intended, clients.answered, &clients.latency),
        usage,
        trace_bytes: std::fs::metadata(&trace).map_or(0, |found| found.len()),
        found,
    };
    machine::result::write(&args.of.trial.out, &result)?;
    println!("{}", result.summary());
    Ok(())
}

/// On a fresh server, which notes requests of at least `least` ticks.
fn record(
    service: &Service,
    args: &KeptArgs,
    trace: &Path,
    seconds: u64,
    least: u64,
) -> Result<Recorded> {
    let log = args.of.trial.folder.join("own.log");
    let length = Duration::from_secs(seconds);
    let requests = args.rate * (WARM_UP + length + AFTERWARDS).as_secs_f64();
    let share = if least == 0 { 1.0 } else { ROOM };
    let room = (f64::from(KEYS) + requests * share).min(ROOM_MAX) as u64;
    let [room, least] = [room, least].map(|number| number.to_string());
    let environment = [
        ("CLOCKED_LOG", log.as_os_str()),
        ("CLOCKED_CALLS", OsStr::new(&room)),
        ("CLOCKED_LEAST", OsStr::new(&least)),
        ("CLOCKED_MARKS", OsStr::new("1")),
    ];
    let server = Server::start_with(service, &args.of.trial.program, Variant::After, &environment)?;
    let plan = ForeignPlan {
        protocol: service.protocol,
        address: server.address(),
        server_pid: server.pid(),
        connections: service.connections,
        keys: KEYS,
        gets: GETS,
        requests_per_second: args.rate,
        warm_up: WARM_UP,
        measure: length + AFTERWARDS,
        seed: 1,
        spins: false,
    };
    let gives_up = AtomicBool::new(false);
    let (clients, usage) = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            thread::sleep(BEGINS_AFTER);
            let mut attach = server.attach(length, trace);
            attach.args(&args.of.options);
            attach.args(["--keep", KEEP]);
            watch(&mut attach, trace, server.pid(), &gives_up)
        });
        let clients = load(&plan).map_err(|error| error.to_string());
        // Nothing but the flag is read by the other side.
        gives_up.store(clients.is_err(), Ordering::Relaxed);
        (clients, watcher.join().expect("it does not panic"))
    });
    let (clients, usage) = (clients?, usage?);
    server.end()?;
    Ok(Recorded { own: Own::read(&log)?, part: Part::read(trace)?, clients, usage })
}

impl Part {
    fn read(trace: &Path) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", trace.display());
        let file = File::open(trace).map_err(|error| failed(&error))?;
        let reader = Reader::new(BufReader::new(file)).map_err(|error| failed(&error))?;
        let mut part = Self { from: reader.header().clock.ticks, ..Self::default() };
        let mut begun = HashSet::new();
        for record in reader {
            match record.map_err(|error| failed(&error))? {
                Record::Mark(mark) if mark.kind == MarkKind::Start => {
                    begun.insert(mark.request);
                }
                Record::Mark(mark) if mark.kind == MarkKind::End => {
                    part.whole.extend(begun.take(&mark.request));
                }
                Record::Clock(clock) => part.to = part.to.max(clock.ticks),
                Record::Loss(loss) if loss.kind == LossKind::Marks => part.lost_marks += loss.count,
                Record::Figure(figure) => part.figure(figure.what, figure.value),
                _ => {}
            }
        }
        Ok(part)
    }

    fn figure(&mut self, what: Measured, value: u64) {
        match what {
            Measured::Requests => self.recorded = value,
            Measured::RequestsAboveNs => self.at_least_ns = value,
            Measured::RequestsIncomplete => self.incomplete = value,
            Measured::RequestsP999Ns => self.p999_ns = value,
            _ => {}
        }
    }

    /// Looks for every request that the program measured to be long enough. It has noted those of `noted_ns` and more.
    fn check(&self, own: &Own, noted_ns: f64) -> Result<Checked> {
        if own.left_out > 0 {
            return Err(format!("the program had no room for {} notes", own.left_out));
        }
        let least = self.at_least_ns as f64;
        if self.recorded == 0 || noted_ns > least {
            return Err(format!(
                "of {} requests those of {least} ns and more are kept; the program noted those of {noted_ns:.0} ns",
                self.recorded
            ));
        }
        let edge = (EDGE_NS / own.ns_per_tick) as u64;
        let noted = own.within(self.from + edge, self.to.saturating_sub(edge));
        let mut ticks = Vec::new();
        let (mut own_above, mut missing) = (0, 0);
        for call in noted {
            ticks.push(call.ticks());
            // Its marks enclose what it measured: it is at least as long for the trace.
            if own.ns(call) > least {
                own_above += 1;
                missing += u64::from(!self.whole.contains(&call.number));
            }
        }
        ticks.sort_unstable();
        let longer = (self.recorded as f64 * (1.0 - SHARE)).round() as usize;
        // A limit that is too high would hide what is missing.
        if (own_above as f64) < longer as f64 * FOUND_AT_LEAST {
            return Err(format!(
                "{own_above} requests took longer than {least} ns by the program's clock, of {longer} that are to be above {KEEP}"
            ));
        }
        let own_p999 = ticks.len().checked_sub(longer + 1).map_or(0, |at| ticks[at]);
        Ok(Checked {
            recorded: self.recorded,
            own_made: own.made,
            at_least_ns: self.at_least_ns,
            p999_ns: self.p999_ns,
            own_p999_ns: (own_p999 as f64 * own.ns_per_tick).round() as u64,
            own_above,
            missing,
            incomplete: self.incomplete,
            lost_marks: self.lost_marks,
        })
    }
}

impl KeptResult {
    fn summary(&self) -> String {
        let Self { title, seconds, above, usage, found, .. } = self;
        format!(
            "{title}: of {} requests in {seconds} s those above {above}, {} ns and longer; of {} by the program's clock {} \
             are missing. Disk {} bytes at most, {} at the end; memory {} bytes at most.",
            found.recorded,
            found.at_least_ns,
            found.own_above,
            found.missing,
            usage.disk_max,
            self.trace_bytes,
            usage.recorder_max
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of 1 to `count` µs, one a millisecond, numbered by their length.
    fn own(count: u64) -> Own {
        let call = |number: u64| OwnCall {
            number,
            start: number * 1_000_000,
            end: number * 1_000_000 + number * 1_000,
            around: [0, 0],
        };
        Own { ns_per_tick: 1.0, made: count, left_out: 0, calls: (1..=count).map(call).collect() }
    }

    fn part(whole: impl IntoIterator<Item = u64>) -> Part {
        let whole = whole.into_iter().collect();
        Part {
            to: 10_000_000_000,
            whole,
            recorded: 2_000,
            at_least_ns: 1_998_000,
            ..Part::default()
        }
    }

    #[test]
    fn what_is_above_the_percentile_and_not_there_is_missing() {
        let found = part([1_999]).check(&own(2_000), 1_000.0).expect("it is checked");
        assert_eq!((found.own_above, found.missing, found.own_p999_ns), (2, 1, 1_998_000));
        let found = part([1_999, 2_000]).check(&own(2_000), 1_000.0).expect("it is checked");
        assert_eq!((found.own_above, found.missing), (2, 0));
    }

    #[test]
    fn requests_at_the_edges_are_not_looked_for() {
        let narrow = Part { to: 2_101_000_000, ..part([1_999]) };
        let found =
            narrow.check(&own(2_000), 1_000.0).map(|found| (found.own_above, found.missing));
        assert!(found.is_err(), "all of them are less than 100 ms from the end: {found:?}");
        let wide = Part { to: 2_102_000_000, ..part([1_999, 2_000]) };
        let found = wide.check(&own(2_000), 1_000.0).expect("it is checked");
        assert_eq!((found.own_above, found.missing), (2, 0));
    }

    #[test]
    fn a_limit_above_the_programs_own_percentile_is_no_evidence() {
        let high = Part { at_least_ns: 1_999_000, ..part([2_000]) };
        assert!(high.check(&own(2_000), 1_000.0).is_err(), "one of two is looked for");
    }

    #[test]
    fn notes_that_are_not_all_are_no_evidence() {
        assert!(part([]).check(&own(2_000), 2_000_000.0).is_err(), "shorter ones are kept");
        let full = Own { left_out: 1, ..own(2_000) };
        assert!(part([]).check(&full, 1_000.0).unwrap_err().contains("1 notes"));
    }
}
