//! What clients of a server see while it is recorded: a closed loop on all cores, by turns with one that nobody watches.
//! Latency counts from sending, not from an intended time: a server that stands still delays few requests.

use super::result::Reading;
use super::service::{Server, Service};
use super::{Tried, Variant};
use crate::Result;
use clap::Args;
use machine::Origin;
use serde::Serialize;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use tailwater_core::rng::Rng;
use tailwater_load::foreign::{ForeignAsk, Protocol};
use tailwater_stats::Histogram;
use tailwater_stats::result::Spread;

/// Each asks one request at a time; with the server they keep two cores busy.
const CLIENTS: u64 = 4;
/// A recorder begins so long before its run counts.
pub(super) const SETTLES: Duration = Duration::from_millis(500);
/// Keys that are set in a row before answers are read.
const FILLED_AT_ONCE: u32 = 64;
/// Where a recording lies, in the folder of a trial.
pub(super) const TRACE: &str = "recorded.trace";
const SILENCE: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
pub(crate) struct RecordedArgs {
    #[command(flatten)]
    of: Tried,
    /// Of one run that is recorded and one that is not.
    #[arg(long, default_value_t = 7)]
    pairs: usize,
    /// How long each run counts.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

#[derive(Debug, Serialize)]
struct Recorded {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    seconds: u64,
    /// Not recorded, and recorded.
    pairs: Vec<[Reading; 2]>,
}

/// Measures the pairs, every other one the other way round, and writes them.
pub(crate) fn recorded(args: &RecordedArgs) -> Result {
    let service = args.of.server()?;
    let origin = Origin::now();
    let mut pairs = Vec::new();
    for number in 0..args.pairs {
        let mut pair = [Reading::default(); 2];
        for at in if number % 2 == 0 { [0, 1] } else { [1, 0] } {
            let added: Option<&[&str]> = (at == 1).then_some(&[]);
            pair[at] = one(service, &args.of, args.seconds, added)?;
            println!("{}: {}", ["plain", "recorded"][at], pair[at].line());
        }
        pairs.push(pair);
    }
    let ratios: Vec<f64> = pairs.iter().map(|[plain, seen]| seen.p999_us / plain.p999_us).collect();
    let title = args.of.trial.title.clone();
    let result = Recorded { title, origin, seconds: args.seconds, pairs };
    machine::result::write(&args.of.trial.out, &result)?;
    let Spread { min, median, max } = Spread::of(&ratios);
    println!("{}: p99.9 × {median:.2} [{min:.2}–{max:.2}] while recorded", args.of.trial.title);
    Ok(())
}

/// One run of so many seconds; recorded, where options are added to those of all.
pub(super) fn one(
    service: &Service,
    of: &Tried,
    seconds: u64,
    added: Option<&[&str]>,
) -> Result<Reading> {
    let server = Server::start(service, &of.trial.program, Variant::After)?;
    fill(service, server.address())?;
    let length = Duration::from_secs(seconds);
    thread::scope(|scope| {
        let trace = of.trial.folder.join(TRACE);
        let recorder = added.map(|added| {
            let mut attach = server.attach(length + 2 * SETTLES, &trace);
            attach.args(&of.options).args(added);
            scope.spawn(move || machine::command::output(&mut attach))
        });
        thread::sleep(SETTLES);
        let latency = closed(service, server.address(), length)?;
        recorder.map_or(Ok(String::new()), |it| it.join().expect("it does not panic"))?;
        Ok(Reading::of(latency.count(), latency.count(), &latency))
    })
}

/// Sets every key.
pub(super) fn fill(service: &Service, address: SocketAddr) -> Result {
    let mut client = Client::open(service.protocol, address)?;
    for first in (0..service.keys).step_by(FILLED_AT_ONCE as usize) {
        let keys = first..service.keys.min(first + FILLED_AT_ONCE);
        client.ask(&keys.map(ForeignAsk::Set).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Every client's latencies.
pub(super) fn closed(
    service: &Service,
    address: SocketAddr,
    length: Duration,
) -> Result<Histogram> {
    let client = |seed| -> Result<Histogram> {
        let mut client = Client::open(service.protocol, address)?;
        let mut chance = Rng::from_seed(seed);
        let (mut latency, start) = (Histogram::new(), Instant::now());
        while start.elapsed() < length {
            let key = chance.below(service.keys);
            let is_get = chance.chance(service.gets);
            let asked = Instant::now();
            client.ask(&[if is_get { ForeignAsk::Get(key) } else { ForeignAsk::Set(key) }])?;
            latency.record(asked.elapsed());
        }
        Ok(latency)
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|seed| scope.spawn(move || client(seed))).collect();
        let mut all = Histogram::new();
        for client in clients {
            all.merge(&client.join().expect("it does not panic")?);
        }
        Ok(all)
    })
}

/// One connection, on which one request at a time is asked.
struct Client {
    protocol: Protocol,
    stream: TcpStream,
    request: Vec<u8>,
    expected: Vec<u8>,
    answer: Vec<u8>,
}

impl Client {
    fn open(protocol: Protocol, address: SocketAddr) -> Result<Self> {
        let open = || {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(SILENCE))?;
            Ok(stream)
        };
        let stream = open().map_err(|error: std::io::Error| format!("{address}: {error}"))?;
        Ok(Self { protocol, stream, request: vec![], expected: vec![], answer: vec![] })
    }

    /// Asks them in a row. Each answer must be the right one.
    fn ask(&mut self, asks: &[ForeignAsk]) -> Result {
        self.request.clear();
        self.expected.clear();
        for ask in asks {
            self.protocol.request(*ask, &mut self.request);
            self.protocol.answer(*ask, &mut self.expected);
        }
        self.answer.resize(self.expected.len(), 0);
        let asked = self.stream.write_all(&self.request);
        let answered = asked.and_then(|()| self.stream.read_exact(&mut self.answer));
        answered.map_err(|error| format!("{asks:?}: {error}"))?;
        if self.answer == self.expected { Ok(()) } else { Err(format!("{asks:?}: a wrong answer")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_wrong_answer_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let mut client = Client::open(Protocol::Memcached, address).expect("it listens");
        let (mut server, _) = listener.accept().expect("it connects");
        server.write_all(b"STORED\r\nSTOREX\r\n").expect("it is read");
        assert_eq!(client.ask(&[ForeignAsk::Set(1)]), Ok(()));
        assert!(client.ask(&[ForeignAsk::Set(1)]).unwrap_err().contains("wrong"));
    }
}
