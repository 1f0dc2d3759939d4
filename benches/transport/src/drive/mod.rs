//! The load generator: so many connections, so many calls outstanding on each, every answer checked.
//!
//! A closed loop: an answer makes room for the next call at once. That finds what a request costs; it
//! says nothing about latency under a given load, for which tailwater has an open-loop generator.

mod connection;
mod tally;
mod window;

pub(crate) use window::Outcome;

use crate::host;
use crate::patience::Patience;
use crate::poller::{Poller, Reception};
use crate::protocol::{Grpc, LARGE, Name, Protocol, Tailwater, Tarpc};
use connection::Connection;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tally::Tally;
use window::Reading;

/// The server to load, and how.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct DriveArgs {
    /// What the server speaks.
    #[arg(long)]
    pub(crate) protocol: Name,
    /// Where it listens.
    #[arg(long)]
    pub(crate) connect: SocketAddr,
    /// The process whose CPU time is measured.
    #[arg(long)]
    pub(crate) server_pid: u32,
    /// Another process that is part of the experiment: its CPU time is nobody else's.
    #[arg(long)]
    pub(crate) beside_pid: Option<u32>,
    /// Connections.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16_000))]
    pub(crate) connections: u32,
    /// Calls outstanding on each connection.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(crate) outstanding: u32,
    /// Milliseconds of load before the window.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub(crate) warmup_ms: u64,
    /// Milliseconds that are measured.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) window_ms: u64,
    /// block, spin:50us or poll.
    #[arg(long, default_value = "poll")]
    pub(crate) reception: Reception,
    /// Core to run on.
    #[arg(long, default_value_t = 1)]
    pub(crate) core: usize,
}

/// Longest time for all connections to be open, and for the last answers to come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Longest sleep, so that the end of the window is seen.
const NAP: Duration = Duration::from_millis(100);
/// Received at once, in bytes.
const SCRATCH: usize = 64 << 10;

/// Runs to the end of the window and prints the [`Outcome`] as one line of JSON.
pub(crate) fn main(args: &DriveArgs) -> Result<(), String> {
    let outcome = match args.protocol {
        Name::Tailwater => measure::<Tailwater>(args),
        Name::TailwaterLarge => measure::<Tailwater<LARGE>>(args),
        Name::Grpc => measure::<Grpc>(args),
        Name::Tarpc => measure::<Tarpc>(args),
    }?;
    let line = serde_json::to_string(&outcome).map_err(|error| error.to_string())?;
    println!("{line}");
    Ok(())
}

fn measure<P: Protocol>(args: &DriveArgs) -> Result<Outcome, String> {
    host::pin(args.core)?;
    host::raise_descriptor_limit();
    let mut drive = Drive::<P>::connect(args)?;
    drive.until_open()?;
    drive.start(args.outstanding)?;
    drive.run_for(Duration::from_millis(args.warmup_ms))?;
    let before = Reading::now(args.server_pid, args.beside_pid)?;
    drive.tally.clear();
    drive.run_for(Duration::from_millis(args.window_ms))?;
    let after = Reading::now(args.server_pid, args.beside_pid)?;
    let outcome = Outcome::new(before, after, &mut drive.tally);
    drive.drain()?;
    Ok(outcome)
}

/// Everything of one run.
struct Drive<P> {
    poller: Poller,
    connections: Vec<Connection<P>>,
    started: Instant,
    /// Connections on which no call may be made yet.
    closed: u32,
    /// Calls without an answer.
    outstanding: u64,
    /// Whether an answer makes room for a new call.
    refill: bool,
    tally: Tally,
    /// When the calls were made that the turn at hand finds answered.
    answered: Vec<u64>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl<P: Protocol> Drive<P> {
    fn connect(args: &DriveArgs) -> Result<Self, String> {
        let mut patience = Patience::of(PATIENCE);
        let mut drive = Self {
            poller: Poller::new(args.reception, Some(NAP)).map_err(|error| error.to_string())?,
            connections: Vec::with_capacity(args.connections as usize),
            started: Instant::now(),
            closed: 0,
            outstanding: 0,
            refill: true,
            tally: Tally::new(),
            answered: Vec::new(),
            input: vec![0; SCRATCH],
            output: Vec::with_capacity(SCRATCH),
        };
        for number in 0..args.connections {
            if patience.is_over() {
                return Err(format!("only {number} connections were made in {PATIENCE:?}"));
            }
            let (connection, waits) = Connection::open(args.connect, u64::from(number))
                .map_err(|error| format!("connection {number} to {}: {error}", args.connect))?;
            drive
                .poller
                .watch(connection.socket(), number as usize)
                .map_err(|error| format!("cannot watch connection {number}: {error}"))?;
            drive.connections.push(connection);
            drive.closed += u32::from(waits);
        }
        Ok(drive)
    }

    fn until_open(&mut self) -> Result<(), String> {
        let mut patience = Patience::of(PATIENCE);
        while self.closed > 0 {
            if patience.is_over() {
                return Err(format!("{} connections got no greeting", self.closed));
            }
            self.turn()?;
        }
        Ok(())
    }

    /// Makes the first calls of every connection.
    fn start(&mut self, outstanding: u32) -> Result<(), String> {
        let now_ns = self.now_ns();
        for connection in &mut self.connections {
            self.output.clear();
            for _ in 0..outstanding {
                connection.ask(now_ns, &mut self.output)?;
            }
            self.outstanding += u64::from(outstanding);
            connection.send(&self.output)?;
        }
        Ok(())
    }

    fn run_for(&mut self, time: Duration) -> Result<(), String> {
        let started = Instant::now();
        while started.elapsed() < time {
            self.turn()?;
        }
        Ok(())
    }

    /// Waits for the last answers: a call that was never answered makes the run invalid.
    fn drain(&mut self) -> Result<(), String> {
        self.refill = false;
        let mut patience = Patience::of(PATIENCE);
        while self.outstanding > 0 {
            if patience.is_over() {
                return Err(format!("{} calls were never answered", self.outstanding));
            }
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), String> {
        let ready = self.poller.wait().map_err(|error| error.to_string())?;
        for index in 0..ready {
            let number = self.poller.key(index);
            self.exchange(number).map_err(|error| format!("connection {number}: {error}"))?;
        }
        Ok(())
    }

    /// One `recv`, a new call for every answer, one `send`. A call counts from the moment at which
    /// the answer that it replaces was received.
    fn exchange(&mut self, number: usize) -> Result<(), String> {
        let filled = self.connections[number].receive(&mut self.input)?;
        let now_ns = self.now_ns();
        let connection = &mut self.connections[number];
        self.output.clear();
        let input = &self.input[..filled];
        let opened = connection.take(input, now_ns, &mut self.output, &mut self.answered)?;
        self.closed -= u32::from(opened);
        for sent_ns in self.answered.drain(..) {
            self.tally.count(now_ns - sent_ns);
            self.outstanding -= 1;
            if self.refill {
                connection.ask(now_ns, &mut self.output)?;
                self.outstanding += 1;
            }
        }
        connection.send(&self.output)
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }
}
