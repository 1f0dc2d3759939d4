//! A server under an open load, with a second client that does what makes the load's tail.

use super::result::Reading;
use super::visitor::Visitor;
use super::{Run, Variant};
use crate::Result;
use machine::command::output;
use std::ffi::OsStr;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tailwater_load::foreign::{ForeignPlan, Protocol, run as load};

/// How long a server may take until it listens.
const STARTS_WITHIN: Duration = Duration::from_secs(20);
/// And until it has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(20);
/// Between two questions whether it does, and whether it has all keys.
const ASKS_EVERY: Duration = Duration::from_millis(20);
/// Under load and beside the second client, before anything counts.
const WARM_UP: Duration = Duration::from_secs(1);

/// A server, its load, and its second client.
#[derive(Clone, Copy)]
pub(super) struct Service {
    pub(super) protocol: Protocol,
    /// The function that handles what has come on a connection.
    pub(super) function: &'static str,
    /// Its words, on this port.
    pub(super) words: fn(Variant, u16) -> Result<Vec<String>>,
    pub(super) connections: usize,
    pub(super) keys: u32,
    /// The share of the load that are GETs.
    pub(super) gets: f64,
    pub(super) requests_per_second: f64,
    /// How many keys the server was given.
    pub(super) filled: fn(&mut Visitor<'_>) -> Result<u32>,
    /// What the second client does until the load is over. The keys that it lists meanwhile, if it does that.
    pub(super) visit: fn(&mut Visitor<'_>, Variant) -> Result<Option<u64>>,
}

/// One run on a fresh server.
pub(super) fn run(service: &Service, run: Run<'_>) -> Result<Reading> {
    let server = Server::start(service, run.program, run.variant)?;
    let plan = ForeignPlan {
        protocol: service.protocol,
        address: server.address,
        server_pid: server.child.id(),
        connections: service.connections,
        keys: service.keys,
        gets: service.gets,
        requests_per_second: service.requests_per_second,
        warm_up: WARM_UP,
        measure: run.length,
        seed: 1,
        spins: false,
    };
    let over = AtomicBool::new(false);
    let (found, visited) = thread::scope(|scope| {
        let visits = scope.spawn(|| visit(service, &server, run, &over));
        let found = load(&plan).map_err(|error| error.to_string());
        over.store(true, Ordering::Relaxed);
        (found, visits.join().expect("it does not panic"))
    });
    let found = found?;
    let listed = visited?;
    Ok(Reading { listed, ..Reading::of(found.intended, found.answered, &found.latency) })
}

/// Waits until the load has set all keys, begins to record, and visits until the load is over.
fn visit(
    service: &Service,
    server: &Server,
    run: Run<'_>,
    over: &AtomicBool,
) -> Result<Option<u64>> {
    let mut visitor = Visitor::open(server.address, over)?;
    until_filled(service, &mut visitor)?;
    thread::scope(|scope| {
        let recorder = run.trace.map(|trace| {
            let mut attach = server.attach(run.length, trace);
            scope.spawn(move || output(&mut attach))
        });
        let listed = (service.visit)(&mut visitor, run.variant)?;
        if let Some(recorder) = recorder {
            recorder.join().expect("it does not panic")?;
        }
        Ok(listed)
    })
}

/// Waits until the load has set all keys.
pub(super) fn until_filled(service: &Service, visitor: &mut Visitor<'_>) -> Result {
    while (service.filled)(visitor)? < service.keys {
        if visitor.is_over() {
            return Err("the load ended before all keys were there".to_owned());
        }
        thread::sleep(ASKS_EVERY);
    }
    Ok(())
}

/// Ends with us.
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts it and waits until it listens.
    pub(super) fn start(service: &Service, program: &Path, variant: Variant) -> Result<Self> {
        Self::start_with(service, program, variant, &[])
    }

    /// The same, with these in its environment.
    pub(super) fn start_with(
        service: &Service,
        program: &Path,
        variant: Variant,
        environment: &[(&str, &OsStr)],
    ) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(program);
        command.args((service.words)(variant, address.port())?);
        command.envs(environment.iter().copied());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("{}: {error}", program.display()))?;
        let mut server = Self { child, address };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("{} ended with {status}", program.display()));
            }
            if start.elapsed() > STARTS_WITHIN {
                return Err(format!("nothing listens on {address} after {STARTS_WITHIN:?}"));
            }
            thread::sleep(ASKS_EVERY);
        }
        Ok(server)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn end(mut self) -> Result {
        output(Command::new("kill").arg(self.child.id().to_string()))?;
        let start = Instant::now();
        while self.child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if start.elapsed() > ENDS_WITHIN {
                return Err(format!(
                    "the server still runs {ENDS_WITHIN:?} after it was asked to end"
                ));
            }
            thread::sleep(ASKS_EVERY);
        }
        Ok(())
    }

    /// The command that records it for so long.
    pub(super) fn attach(&self, length: Duration, trace: &Path) -> Command {
        let mut attach = Command::new("tailwater");
        attach.args(["profile", "attach", &self.child.id().to_string()]);
        attach.args(["--for", &format!("{}ms", length.as_millis()), "-o"]).arg(trace);
        attach
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One that nothing listens on; another program may take it first, and then the server says so.
fn free_address() -> Result<SocketAddr> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    bound.map_err(|error| format!("found no free port: {error}"))
}
