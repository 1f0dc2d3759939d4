//! What clients of a server see while it is recorded: a closed loop on all cores, by turns with one that nobody watches.
//! Where it is asked for, a third was not built for it. Latency counts from sending, not from an intended time: a
//! server that stands still delays few requests. With `--load` it is an open loop ([`super::open`]).

use super::kept::KEYS as KEYS_THAT_FIT;
use super::open::{Manner, Offer, load_share, share};
use super::result::Reading;
use super::service::{Server, Service};
use super::{Tried, Variant};
use crate::Result;
use clap::Args;
use machine::Origin;
use serde::Serialize;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
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
/// A section that our pass leaves in a program (`crates/profile-rt/include/tailwater/profile_abi.h`).
const SECTION: &[u8] = b"tw_desc";

/// The runs of a round, by place. The last is there where a plain program is.
const RUNS: [&str; 3] = ["not recorded", "recorded", "plain"];
const RECORDED: usize = 1;

#[derive(Args, Debug)]
pub(crate) struct RecordedArgs {
    #[command(flatten)]
    of: Tried,
    /// Of one run that is recorded and one that is not. With --plain, of three runs; in six, or a multiple, each follows every other
    /// equally often.
    #[arg(long, default_value_t = 7)]
    pairs: usize,
    /// The same program, built without `tailwater profile build`: nobody records it, and the one that is recorded is held against it,
    /// too.
    #[arg(long, value_name = "PROGRAM")]
    plain: Option<PathBuf>,
    /// How long each run counts.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Requests come at this share of what a closed loop gets through, such as 20%, whatever the server does. Latency counts from
    /// the times at which they were due.
    #[arg(long, value_name = "SHARE", value_parser = load_share)]
    load: Option<f64>,
    /// With --load: a run counts where 99 % of its requests were sent at most so late. Its round is measured again otherwise.
    #[arg(long = "late", value_name = "US", default_value_t = 100.0, requires = "load")]
    late_us_max: f64,
    /// With --load: the load spins between requests. It is less late, and takes a core.
    #[arg(long, requires = "load")]
    spins: bool,
    /// The share of requests that are GETs, such as 100%. Where there are any, keys are so few that all are there.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    gets: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Recorded {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    seconds: u64,
    /// Of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    offer: Option<Offer>,
    /// Not recorded, recorded, and the plain program where there is one.
    pairs: Vec<Vec<Reading>>,
    /// Rounds that do not count, as the load was late in a run. Where it is the recorded one, the others are too kind to the recorder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    set_aside: Vec<Vec<Reading>>,
}

/// Measures the rounds, and writes them.
pub(crate) fn recorded(args: &RecordedArgs) -> Result {
    let service = &args.service()?;
    let built: &Path = &args.of.trial.program;
    let mut programs = vec![built, built];
    if let Some(plain) = &args.plain {
        is_plain(plain)?;
        programs.push(plain);
    }
    let origin = Origin::now();
    let offer = args.offer(service)?;
    let (mut pairs, mut set_aside) = (Vec::new(), Vec::new());
    while pairs.len() < args.pairs {
        let seed = (pairs.len() + set_aside.len()) as u64;
        let mut round = vec![Reading::default(); programs.len()];
        for at in order(pairs.len(), programs.len()) {
            let added: Option<&[&str]> = (at == RECORDED).then_some(&[]);
            let run = (service, &args.of, programs[at]);
            round[at] = match &offer {
                Some(offer) => offer.one(run, args.seconds, added, seed)?,
                None => one(run, args.seconds, added)?,
            };
            println!("{}: {}", RUNS[at], round[at].line());
        }
        if offer.is_none_or(|offer| !offer.was_late(&round)) {
            pairs.push(round);
            continue;
        }
        println!("set aside, as requests were sent late");
        set_aside.push(round);
        if set_aside.len() > args.pairs {
            return Err(format!(
                "{} rounds were set aside, and {} count: in one run of each the p99 of how late requests were sent was above {} µs; \
                 wait until the machine is quiet, say --spins, or more by --late",
                set_aside.len(),
                pairs.len(),
                args.late_us_max
            ));
        }
    }
    let title = args.of.trial.title.clone();
    let result = Recorded { title, origin, seconds: args.seconds, offer, pairs, set_aside };
    machine::result::write(&args.of.trial.out, &result)?;
    for base in (0..programs.len()).filter(|at| *at != RECORDED) {
        let ratios: Vec<f64> = result.pairs.iter().map(|round| ratio(round, base)).collect();
        let Spread { min, median, max } = Spread::of(&ratios);
        println!(
            "{}: p99.9 × {median:.2} [{min:.2}–{max:.2}] while recorded, over {}",
            result.title, RUNS[base]
        );
    }
    Ok(())
}

impl RecordedArgs {
    /// What the load asks, as it was said.
    fn service(&self) -> Result<Service> {
        let service = *self.of.server()?;
        Ok(self.gets.map_or(service, |gets| asking(service, gets)))
    }

    /// What an open loop offers; nothing where the loop is closed.
    fn offer(&self, service: &Service) -> Result<Option<Offer>> {
        let Some(share) = self.load else { return Ok(None) };
        let length = Duration::from_secs(self.seconds);
        let manner = Manner { late_us_max: self.late_us_max, spins: self.spins };
        let offer = Offer::measure(service, &self.of.trial.program, length, (share, manner))?;
        let Offer { closed_per_second, requests_per_second, .. } = offer;
        println!(
            "a closed loop gets {closed_per_second:.0}/s; offered: {requests_per_second:.0}/s"
        );
        Ok(Some(offer))
    }
}

/// The same with so many GETs. Where it is SETs alone, keys may be more than fit, as each GET must find its own.
fn asking(service: Service, gets: f64) -> Service {
    let keys = if gets > 0.0 { service.keys.min(KEYS_THAT_FIT) } else { service.keys };
    Service { gets, keys, ..service }
}

/// The p99.9 of the run that is recorded over that of another.
fn ratio(round: &[Reading], base: usize) -> f64 {
    round[RECORDED].p999_us / round[base].p999_us
}

/// Each round begins with another run. In as many further rounds all is the other way round.
fn order(round: usize, runs: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..runs).map(|place| (place + round) % runs).collect();
    if round / runs % 2 == 1 {
        order.reverse();
    }
    order
}

/// An error where the program was built by `tailwater profile build`.
fn is_plain(program: &Path) -> Result {
    let bytes =
        std::fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    if bytes.windows(SECTION.len()).any(|part| part == SECTION) {
        return Err(format!(
            "{}: found the program as `tailwater profile build` builds it; --plain takes one that was built without",
            program.display()
        ));
    }
    Ok(())
}

/// One run of this program, of so many seconds; recorded, where options are added to those of all.
pub(super) fn one(
    (service, of, program): (&Service, &Tried, &Path),
    seconds: u64,
    added: Option<&[&str]>,
) -> Result<Reading> {
    let server = filled(service, program)?;
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

/// A server of this program, which has every key.
pub(super) fn filled(service: &Service, program: &Path) -> Result<Server> {
    let server = Server::start(service, program, Variant::After)?;
    fill(service, server.address()).map(|()| server)
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
    use super::super::memcached;
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn each_run_has_every_place_and_follows_every_other_equally_often() {
        for runs in [2, 3] {
            let rounds: Vec<Vec<usize>> = (0..2 * runs).map(|round| order(round, runs)).collect();
            for run in 0..runs {
                for place in 0..runs {
                    let there = rounds.iter().filter(|round| round[place] == run).count();
                    assert_eq!(there, 2, "run {run} at place {place}");
                }
                for other in (0..runs).filter(|other| *other != run) {
                    let follows = rounds.iter().flat_map(|round| round.windows(2));
                    assert_eq!(follows.filter(|two| *two == [run, other]).count(), 2);
                }
            }
        }
    }

    #[test]
    fn the_recorded_run_is_held_against_either_other() {
        let round = [200.0, 300.0, 100.0].map(|p999_us| Reading { p999_us, ..Reading::default() });
        assert_eq!([0, 2].map(|base| ratio(&round, base)), [1.5, 3.0]);
    }

    #[test]
    fn what_is_asked_for_is_there_and_what_is_written_may_evict() {
        let keys = |gets| asking(memcached::SERVICE, gets).keys;
        assert_eq!([keys(1.0), keys(0.0)], [KEYS_THAT_FIT, memcached::SERVICE.keys]);
        assert_eq!(asking(memcached::SERVICE, 1.0).gets, 1.0);
    }

    #[test]
    fn a_program_of_ours_is_not_taken_for_a_plain_one() {
        let path = std::env::temp_dir().join(format!("tailwater-plain-{}", std::process::id()));
        let said = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("the folder can be written to");
            is_plain(&path)
        };
        assert_eq!(said(b"\x7fELF .text\0tw_stack\0.data"), Ok(()));
        let why = said(b"\x7fELF .text\0tw_desc\0.data").unwrap_err();
        assert!(why.contains("built without"), "{why}");
        std::fs::remove_file(&path).expect("it was made");
        assert!(is_plain(&path).is_err(), "there is none");
    }

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
