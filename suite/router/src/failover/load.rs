//! An open loop of gets and sets through a router, each of which is checked and dated.

use super::curve::Sample;
use crate::nodes::{Answer, Expected, Read, read, value_of};
use crate::oracle::{REQUESTS_MAX, Registers, Wrong};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tailwater_core::{Instant, Rng};
use tailwater_rt::time::now;

/// Requests sent in a row before answers are looked at: a backlog must not starve the receiver.
const BURST: usize = 16;
/// How long the router may take for what is open.
const DRAIN: Duration = Duration::from_secs(5);

/// Whether nothing more is to be asked, since a signal came. It ends waits, too.
pub(super) type IsOver<'a> = &'a dyn Fn() -> bool;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asks {
    /// Connections, which take turns by chance; at least one.
    pub connections: usize,
    /// Keys, asked for alike; at least one.
    pub keys: u32,
    /// Of a hundred requests, so many are sets.
    pub sets_percent: u32,
    /// Requests per second, with exponential gaps; above 0.
    pub per_second: f64,
    /// Decides times, keys and connections.
    pub seed: u64,
}

/// The load under way.
#[derive(Debug)]
pub(super) struct Load {
    asks: Asks,
    registers: Registers,
    connections: Vec<Connection>,
    rng: Rng,
    /// When the next request is due.
    next: Instant,
    pub(super) ended: Ended,
}

/// What has ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// When each was due, and how long its answer took from then on; `None` for an error.
    samples: Vec<(Instant, Option<Duration>)>,
    /// How late each was sent.
    pub(super) lateness: Vec<Duration>,
    /// The first of the errors, as the router said it.
    pub(super) error: Option<String>,
    /// What was wrong about answers, with their keys.
    pub(super) wrong: Vec<(u32, Wrong)>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    output: Vec<u8>,
    input: Vec<u8>,
    open: VecDeque<Open>,
}

/// A request without an answer so far.
#[derive(Clone, Copy, Debug)]
struct Open {
    due: Instant,
    key: u32,
    number: u32,
    is_set: bool,
}

impl Load {
    /// Connected, and nothing asked.
    pub(super) fn open(router: SocketAddr, asks: Asks) -> Result<Self, String> {
        let open = |_| Connection::open(router).map_err(|error| format!("{router}: {error}"));
        let connections = (0..asks.connections).map(open).collect::<Result<_, _>>()?;
        let rng = Rng::from_seed(asks.seed);
        let (registers, next, ended) = (Registers::new(1, REQUESTS_MAX), now(), Ended::default());
        Ok(Self { asks, registers, connections, rng, next, ended })
    }

    /// Sets each key, and says what the router has against it.
    pub(super) fn fill(&mut self, is_over: IsOver<'_>) -> Result<(), String> {
        for key in 0..self.asks.keys {
            let connection = key as usize % self.connections.len();
            self.ask(connection, now(), (key, true))?;
            if key % 64 == 63 {
                self.drain(is_over)?;
            }
        }
        self.drain(is_over)?;
        let ended = std::mem::take(&mut self.ended);
        if let Some((key, wrong)) = ended.wrong.first() {
            return Err(format!("k{key}: {wrong:?} before any node died"));
        }
        ended.error.map_or(Ok(()), |why| Err(format!("a key could not be set: {why}")))
    }

    /// From now on requests are due.
    pub(super) fn begin(&mut self) {
        self.next = now();
    }

    /// Asks at the rate until then.
    pub(super) fn go_on(&mut self, until: Instant, is_over: IsOver<'_>) -> Result<(), String> {
        while now() < until {
            goes_on(is_over)?;
            self.send_due(until)?;
            self.take(self.next.min(until))?;
        }
        Ok(())
    }

    /// Until everything is answered.
    pub(super) fn drain(&mut self, is_over: IsOver<'_>) -> Result<(), String> {
        let until = now() + DRAIN;
        while self.connections.iter().any(|it| !it.open.is_empty()) {
            goes_on(is_over)?;
            if now() >= until {
                return Err(format!("the router did not answer for {} s", DRAIN.as_secs()));
            }
            self.take(until)?;
        }
        Ok(())
    }

    fn send_due(&mut self, until: Instant) -> Result<(), String> {
        for _ in 0..BURST {
            let (time, due) = (now(), self.next);
            if due > time || due >= until {
                break;
            }
            let gap = self.rng.exponential(1.0 / self.asks.per_second);
            self.next = due + Duration::from_secs_f64(gap);
            let key = self.rng.below(self.asks.keys);
            let is_set = self.rng.below(100) < self.asks.sets_percent;
            let connection = self.rng.below(self.connections.len() as u32) as usize;
            self.ended.lateness.push(time.since(due));
            self.ask(connection, due, (key, is_set))?;
        }
        Ok(())
    }

    fn ask(
        &mut self,
        connection: usize,
        due: Instant,
        (key, is_set): (u32, bool),
    ) -> Result<(), String> {
        let Connection { output, open, .. } = &mut self.connections[connection];
        let number = if is_set {
            let (number, value) = self.registers.set(key).map_err(|full| full.to_string())?;
            output.extend_from_slice(format!("set k{key} 0 0 {}\r\n", value.len()).as_bytes());
            output.extend_from_slice(&value);
            output.extend_from_slice(b"\r\n");
            number
        } else {
            let number = self.registers.get(key).map_err(|full| full.to_string())?;
            output.extend_from_slice(format!("get k{key}\r\n").as_bytes());
            number
        };
        open.push_back(Open { due, key, number, is_set });
        Ok(())
    }

    /// Sends what is there, and takes answers; waits for the first until then.
    fn take(&mut self, until: Instant) -> Result<(), String> {
        self.connections.iter_mut().try_for_each(Connection::flush)?;
        wait(&self.connections, until)?;
        for connection in &mut self.connections {
            connection.flush()?;
            connection.receive(&self.registers, &mut self.ended)?;
        }
        Ok(())
    }
}

impl Ended {
    /// How many there are, and how many of these were errors.
    pub(super) fn counts(&self) -> (usize, usize) {
        let failed = self.samples.iter().filter(|(_, took)| took.is_none());
        (self.samples.len(), failed.count())
    }

    /// What was due, by when that was since this time.
    pub(super) fn since(&self, death: Instant) -> Vec<Sample> {
        let at = |due: Instant| {
            let (after, before) = (due.since(death), death.since(due));
            after.as_nanos() as i64 - before.as_nanos() as i64
        };
        self.samples.iter().map(|(due, took)| (at(*due), *took)).collect()
    }

    fn end(&mut self, registers: &Registers, open: Open, answer: Answer<'_>) {
        let Open { due, key, number, is_set } = open;
        let judged = match answer {
            Answer::Line(b"STORED") if is_set => Some(registers.acknowledge(number)),
            Answer::Value(lines) if !is_set => {
                Some(registers.check(number, Some(value_of(lines).unwrap_or_default())))
            }
            Answer::Miss => Some(registers.check(number, None)),
            // A refusal; what became of a set is not known.
            Answer::Line(line) => {
                self.error.get_or_insert_with(|| String::from_utf8_lossy(line).into_owned());
                None
            }
            Answer::Value(_) => Some(Err(Wrong::Unasked)),
        };
        if let Some(Err(wrong)) = judged {
            self.wrong.push((key, wrong));
        }
        self.samples.push((due, judged.map(|_| now().since(due))));
    }
}

impl Connection {
    fn open(router: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(router)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, output: Vec::new(), input: Vec::new(), open: VecDeque::new() })
    }

    fn flush(&mut self) -> Result<(), String> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("the router takes nothing: {error}")),
            }
        }
        Ok(())
    }

    fn receive(&mut self, registers: &Registers, ended: &mut Ended) -> Result<(), String> {
        let mut part = [0; 64 << 10];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err("the router closed the connection".into()),
                Ok(count) => self.input.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("the router says nothing: {error}")),
            }
        }
        let mut at = 0;
        while at < self.input.len() {
            let open = *self.open.front().ok_or("the router said more than it was asked for")?;
            let key = format!("k{}", open.key);
            let expected =
                if open.is_set { Expected::Line } else { Expected::Value(key.as_bytes()) };
            match read(&self.input[at..], expected) {
                Read::Incomplete(_) => break,
                Read::Whole(answer, used) => {
                    ended.end(registers, open, answer);
                    self.open.pop_front();
                    at += used;
                }
                Read::Broken(why) => return Err(format!("the router has answered {why}")),
            }
        }
        self.input.drain(..at);
        Ok(())
    }
}

fn goes_on(is_over: IsOver<'_>) -> Result<(), String> {
    if is_over() { Err("a signal ended it before the first death".into()) } else { Ok(()) }
}

/// Waits until one has something, or has room for what is unsent; until then at most.
fn wait(connections: &[Connection], until: Instant) -> Result<(), String> {
    let flags = |of: &Connection| match of.output.is_empty() {
        true => PollFlags::IN,
        false => PollFlags::IN | PollFlags::OUT,
    };
    let mut fds: Vec<_> = connections.iter().map(|of| PollFd::new(&of.stream, flags(of))).collect();
    let left = Timespec::try_from(until.since(now())).map_err(|error| error.to_string())?;
    match poll(&mut fds, Some(&left)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(format!("cannot wait for the router: {error}")),
    }
}
