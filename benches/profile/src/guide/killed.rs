//! A server under load and the recorder that is attached to it, of which one is killed at a random time: whether the other goes on, or
//! ends well, and what can be read of the trace.

use super::Tried;
use super::recorded::{closed, filled};
use super::service::{Server, Service};
use crate::Result;
use clap::Args;
use machine::Origin;
use machine::command::output;
use serde::Serialize;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tailwater_core::rng::Rng;
use tailwater_profile::record::Record;
use tailwater_profile::trace::{Ending, Reader, Trouble};

/// A death comes so long after the recorder has begun its trace, at most.
const LATEST: Duration = Duration::from_millis(300);
/// Attaching takes a tenth of a second or so, and then comes the death.
const LOADED_FOR: Duration = Duration::from_millis(600);
/// How long a server must go on answering after its recorder's death.
const AFTERWARDS: Duration = Duration::from_millis(200);
/// How long a recorder may take to begin, and to end after its server's death.
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(2);
/// Far longer than any of them lives.
const RECORDS_FOR: Duration = Duration::from_secs(60);

#[derive(Args, Debug)]
pub(crate) struct KilledArgs {
    #[command(flatten)]
    of: Tried,
    /// Of either side.
    #[arg(long, default_value_t = 100)]
    kills: u64,
}

#[derive(Debug, Default, Serialize)]
struct Killed {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    recorders: Deaths,
    servers: Deaths,
}

/// What was left by so many deaths of one side.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Deaths {
    killed: u64,
    /// The other side gave right answers for a while after it, or ended the recording and said so by its code.
    survived: u64,
    /// Traces that could be read: up to the block that was being written where the recorder was killed, else to their end.
    readable: u64,
    /// Calls in all of these.
    calls: u64,
}

/// Kills them, and writes what was left.
pub(crate) fn killed(args: &KilledArgs) -> Result {
    let service = args.of.server()?;
    let (title, origin) = (args.of.trial.title.clone(), Origin::now());
    let trace = args.of.trial.folder.join("killed.trace");
    let mut chance = Rng::from_seed(1);
    let times: Vec<Duration> = (0..args.kills).map(|_| LATEST.mul_f64(chance.unit())).collect();
    let recorders = recorders(service, args, &trace, &times)?;
    let servers = servers(service, args, &trace, &times)?;
    let found = Killed { title, origin, recorders, servers };
    machine::result::write(&args.of.trial.out, &found)?;
    println!("{}", found.summary());
    Ok(())
}

/// One server is to outlive them all.
fn recorders(
    service: &Service,
    args: &KilledArgs,
    trace: &Path,
    times: &[Duration],
) -> Result<Deaths> {
    let program: &Path = &args.of.trial.program;
    let (mut server, mut deaths) = (filled(service, program)?, Deaths::default());
    for after in times {
        let loaded = thread::scope(|scope| {
            let load = scope.spawn(|| closed(service, server.address(), LOADED_FOR));
            let mut attached = start(&server, args, trace)?;
            thread::sleep(*after);
            output(Command::new("kill").args(["-KILL", &recorder(&attached)?]))?;
            ends(&mut attached)?.ok_or("tailwater goes on without its recorder")?;
            Ok::<_, String>(load.join().expect("it does not panic"))
        })?;
        let goes_on = loaded.is_ok() && closed(service, server.address(), AFTERWARDS).is_ok();
        deaths.killed += 1;
        deaths.survived += u64::from(goes_on);
        if !goes_on {
            server = filled(service, program)?;
        }
        deaths.take(trace, &[Ending::Unfinished, Ending::Cut])?;
    }
    // The next one finds all as it should be.
    output(&mut server.attach(AFTERWARDS, trace))?;
    server.end()?;
    Ok(deaths)
}

/// Each has a recorder of its own.
fn servers(
    service: &Service,
    args: &KilledArgs,
    trace: &Path,
    times: &[Duration],
) -> Result<Deaths> {
    let mut deaths = Deaths::default();
    for after in times {
        let server = filled(service, &args.of.trial.program)?;
        let address = server.address();
        let code = thread::scope(|scope| {
            // Its connections break with the server.
            scope.spawn(move || closed(service, address, PATIENCE));
            let mut attached = start(&server, args, trace)?;
            thread::sleep(*after);
            drop(server);
            ends(&mut attached)
        })?;
        deaths.killed += 1;
        deaths.survived += u64::from(code == Some(0));
        deaths.take(trace, &[])?;
    }
    Ok(deaths)
}

/// Attaches, and waits until the trace has begun.
fn start(server: &Server, args: &KilledArgs, trace: &Path) -> Result<Child> {
    let _ = std::fs::remove_file(trace);
    let mut attach = server.attach(RECORDS_FOR, trace);
    attach.args(&args.of.options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut attached = attach.spawn().map_err(|error| format!("tailwater: {error}"))?;
    let began = Instant::now();
    while !trace.exists() {
        if let Some(status) = attached.try_wait().map_err(|error| error.to_string())? {
            return Err(format!("`tailwater profile attach` ended with {status}"));
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("no trace has begun after {PATIENCE:?}"));
        }
        thread::sleep(NAP);
    }
    Ok(attached)
}

/// The process that `attach` has started.
fn recorder(attached: &Child) -> Result<String> {
    let pid = attached.id();
    let path = PathBuf::from(format!("/proc/{pid}/task/{pid}/children"));
    let children = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let first = children.split_whitespace().next();
    first.map(str::to_owned).ok_or_else(|| "`tailwater profile attach` has no recorder".to_owned())
}

/// The code with which it ends; `None` where it does not, and is ended here, or by a signal.
fn ends(attached: &mut Child) -> Result<Option<i32>> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = attached.try_wait().map_err(|error| error.to_string())? {
            return Ok(status.code());
        }
        thread::sleep(NAP);
    }
    attached.kill().and_then(|()| attached.wait()).map_err(|error| error.to_string())?;
    Ok(None)
}

/// Whether a trace can be read up to where its recorder came to its end, and the calls in it. It may be finished, or end in these ways.
pub(super) fn read_up_to_there(trace: &Path, unfinished: &[Ending]) -> Result<(bool, u64)> {
    let file = File::open(trace).map_err(|error| format!("{}: {error}", trace.display()))?;
    // Nothing of it was written, not even which program it is of.
    let Ok(mut reader) = Reader::new(BufReader::new(file)) else { return Ok((false, 0)) };
    let (mut is_readable, mut calls) = (true, 0);
    for record in reader.by_ref() {
        match record {
            Ok(Record::Call(_)) => calls += 1,
            Ok(_) => {}
            Err(error) => is_readable &= matches!(error.trouble, Trouble::Cut { .. }),
        }
    }
    let ending = reader.ending();
    // A recorder that lives on must have told of calls; one that is killed has written its first ones after a tenth of a second.
    let is_whole = matches!(ending, Ending::Finished(_)) && calls > 0;
    Ok((is_readable && (is_whole || unfinished.contains(&ending)), calls))
}

impl Deaths {
    /// A trace may be finished, or end in these ways.
    fn take(&mut self, trace: &Path, unfinished: &[Ending]) -> Result {
        let (is_readable, calls) = read_up_to_there(trace, unfinished)?;
        self.readable += u64::from(is_readable);
        self.calls += calls;
        Ok(())
    }

    fn line(&self) -> String {
        let Self { killed, survived, readable, calls } = self;
        format!(
            "{survived} of {killed}, {readable} traces readable up to there, {calls} calls in them"
        )
    }
}

impl Killed {
    fn summary(&self) -> String {
        let (recorders, servers) = (self.recorders.line(), self.servers.line());
        format!(
            "{}: the server went on after its recorder's death in {recorders}; the recorder ended well after its server's in {servers}",
            self.title
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_profile::record::{Call, CallFlags, Clock, FunctionId, ThreadId};
    use tailwater_profile::trace::{Header, Writer};

    #[test]
    fn a_trace_that_ends_early_is_readable_and_one_that_is_damaged_is_not() {
        let path = std::env::temp_dir().join(format!("profile-killed-{}", std::process::id()));
        let clock = Clock { ticks: 1, raw_ns: 1, real_ns: 1 };
        let header = Header {
            architecture: "x".into(),
            pid: 1,
            program: "x".into(),
            build_id: vec![],
            clock,
        };
        let call = Call {
            thread: ThreadId(0),
            function: FunctionId(0),
            parent: None,
            depth: 0,
            generation: 1,
            start: 2,
            start_slack: 0,
            end: 3,
            end_slack: 0,
            flags: CallFlags::default(),
            site: 0,
        };
        let mut whole = Vec::new();
        let mut writer = Writer::new(&mut whole, &header).expect("memory");
        writer.write(&Record::Clock(clock)).expect("memory");
        writer.write(&Record::Call(call)).expect("memory");
        writer.finish().expect("memory");
        drop(writer);
        let readable = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a place");
            let of = |unfinished: &[Ending]| {
                let mut deaths = Deaths::default();
                deaths.take(&path, unfinished).expect("it is there");
                deaths.readable
            };
            [of(&[Ending::Unfinished, Ending::Cut]), of(&[])]
        };
        assert_eq!(readable(&whole), [1, 1]);
        assert_eq!([readable(&whole[..whole.len() - 3]), readable(&[])], [[1, 0], [0, 0]]);
        let middle = whole.len() / 2;
        whole[middle] ^= 1;
        assert_eq!(readable(&whole), [0, 0]);
        std::fs::remove_file(&path).expect("it is there");
    }
}
