//! A load for memcached: closed loop, many requests at a time, every answer known beforehand and compared
//! byte for byte.

use crate::Result;
use clap::Args;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tailwater_core::rng::Rng;

/// Batches that a client makes beforehand and then sends in an order of chance.
const BATCHES: usize = 500;
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    clients: u64,
    connections: usize,
    at_once: usize,
    keys: u32,
    /// Of 16 requests; the others are SETs.
    gets: u32,
}

/// 15 GETs to a SET; all keys fit into the server's memory.
pub(super) const MIXED: Load =
    Load { clients: 1, connections: 4, at_once: 64, keys: 20_000, gets: 15 };
/// SETs only, of more than the server can keep.
pub(super) const SETS: Load =
    Load { clients: 4, connections: 2, at_once: 16, keys: 200_000, gets: 0 };
/// GETs only, of keys that all fit.
const GETS: Load = Load { keys: MIXED.keys, gets: 16, ..SETS };

#[derive(Args, Debug)]
pub(crate) struct LoadArgs {
    /// The server's Unix socket.
    socket: PathBuf,
    /// How long.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// GETs instead of SETs; every key is set before.
    #[arg(long)]
    gets: bool,
    /// Ask the server to end afterwards (memcached -A).
    #[arg(long)]
    shutdown: bool,
}

/// SETs or GETs by four clients, for so long.
pub(crate) fn load(args: &LoadArgs) -> Result {
    let (load, name) = if args.gets { (GETS, "GET") } else { (SETS, "SET") };
    if args.gets {
        load.fill(&args.socket)?;
    }
    let done = load.until(&args.socket, Duration::from_secs(args.seconds))?;
    println!("{done} {name} requests, {} a second", done / args.seconds.max(1));
    if args.shutdown {
        Connection::open(&args.socket, PATIENCE)?.tell(b"shutdown\r\n")?;
    }
    Ok(())
}

impl Load {
    /// Writes every key once, so that each GET finds what it expects.
    pub(super) fn fill(&self, socket: &Path) -> Result {
        let mut connection = Connection::open(socket, PATIENCE)?;
        for first in (0..self.keys).step_by(100) {
            let mut batch = Batch::default();
            (first..self.keys.min(first + 100)).for_each(|key| batch.set(key));
            connection.send(&batch)?;
            connection.expect(&batch)?;
        }
        Ok(())
    }

    /// At least so many requests.
    pub(super) fn requests(&self, socket: &Path, requests: u64) -> Result<u64> {
        self.run(socket, |done, _| done >= requests / self.clients)
    }

    /// For so long; says how many requests that were.
    pub(super) fn until(&self, socket: &Path, time: Duration) -> Result<u64> {
        self.run(socket, |_, since| since.elapsed() >= time)
    }

    fn run(&self, socket: &Path, ends: impl Fn(u64, Instant) -> bool + Sync) -> Result<u64> {
        std::thread::scope(|scope| {
            let client = |seed| {
                scope.spawn({
                    let ends = &ends;
                    move || self.client(socket, seed, ends)
                })
            };
            let clients: Vec<_> = (0..self.clients).map(client).collect();
            let done = clients.into_iter().map(|client| client.join().expect("it does not panic"));
            done.sum()
        })
    }

    fn client(&self, socket: &Path, seed: u64, ends: impl Fn(u64, Instant) -> bool) -> Result<u64> {
        let mut chance = Rng::from_seed(seed);
        let batches: Vec<Batch> = (0..BATCHES).map(|_| self.batch(&mut chance)).collect();
        let open = || Connection::open(socket, PATIENCE);
        let mut connections = (0..self.connections).map(|_| open()).collect::<Result<Vec<_>>>()?;
        let (mut done, start) = (0, Instant::now());
        while !ends(done, start) {
            let pick = |_: &Connection| &batches[chance.below(BATCHES as u32) as usize];
            let chosen: Vec<&Batch> = connections.iter().map(pick).collect();
            for (connection, batch) in connections.iter_mut().zip(&chosen) {
                connection.send(batch)?;
            }
            for (connection, batch) in connections.iter_mut().zip(&chosen) {
                connection.expect(batch)?;
            }
            done += (self.at_once * self.connections) as u64;
        }
        Ok(done)
    }

    fn batch(&self, chance: &mut Rng) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..self.at_once {
            let key = chance.below(self.keys);
            if chance.below(16) < self.gets { batch.get(key) } else { batch.set(key) }
        }
        batch
    }
}

/// Requests and what must be answered.
#[derive(Debug, Default)]
struct Batch {
    requests: Vec<u8>,
    answers: Vec<u8>,
}

/// A key's value never changes: 10 to 1,000 bytes.
fn value(key: u32) -> Vec<u8> {
    vec![b'a' + (key % 26) as u8; 10 + (key as usize * 7919) % 991]
}

impl Batch {
    fn set(&mut self, key: u32) {
        let value = value(key);
        self.requests.extend_from_slice(format!("set key{key} 0 0 {}\r\n", value.len()).as_bytes());
        self.requests.extend_from_slice(&value);
        self.requests.extend_from_slice(b"\r\n");
        self.answers.extend_from_slice(b"STORED\r\n");
    }

    fn get(&mut self, key: u32) {
        let value = value(key);
        self.requests.extend_from_slice(format!("get key{key}\r\n").as_bytes());
        self.answers.extend_from_slice(format!("VALUE key{key} 0 {}\r\n", value.len()).as_bytes());
        self.answers.extend_from_slice(&value);
        self.answers.extend_from_slice(b"\r\nEND\r\n");
    }
}

/// One connection to a server.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    answer: Vec<u8>,
}

impl Connection {
    /// Waits so long for a server that begins to listen.
    pub(super) fn open(socket: &Path, patience: Duration) -> Result<Self> {
        let start = Instant::now();
        loop {
            match UnixStream::connect(socket) {
                Ok(stream) => {
                    let limited = stream.set_read_timeout(Some(PATIENCE));
                    limited.map_err(|error| format!("{}: {error}", socket.display()))?;
                    return Ok(Self { stream, answer: vec![] });
                }
                Err(error) if start.elapsed() > patience => {
                    let path = socket.display();
                    return Err(format!("nobody listens on {path} after {patience:?}: {error}"));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    pub(super) fn tell(&mut self, request: &[u8]) -> Result {
        self.stream.write_all(request).map_err(|error| format!("memcached does not read: {error}"))
    }

    /// All up to and with `end`; at most a megabyte.
    pub(super) fn ask(&mut self, request: &[u8], end: &[u8]) -> Result<Vec<u8>> {
        self.tell(request)?;
        let mut said = vec![];
        let mut byte = [0];
        while !said.ends_with(end) {
            self.read(&mut byte)?;
            said.extend(byte);
            if said.len() > 1 << 20 {
                return Err("memcached says more than a megabyte".to_owned());
            }
        }
        Ok(said)
    }

    fn send(&mut self, batch: &Batch) -> Result {
        self.tell(&batch.requests)
    }

    fn expect(&mut self, batch: &Batch) -> Result {
        let mut answer = std::mem::take(&mut self.answer);
        answer.resize(batch.answers.len(), 0);
        self.read(&mut answer)?;
        let right = answer == batch.answers;
        self.answer = answer;
        if right { Ok(()) } else { Err("memcached gave a wrong answer".to_owned()) }
    }

    fn read(&mut self, into: &mut [u8]) -> Result {
        self.stream.read_exact(into).map_err(|error| format!("memcached does not answer: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// A server that answers the first connection by `answers`, whatever it is asked.
    fn server(name: &str, answers: Vec<u8>) -> PathBuf {
        let path = std::env::temp_dir().join(format!("profile-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&answers).unwrap();
            // Until the client has gone: its requests must find a reader.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        path
    }

    #[test]
    fn answers_are_compared_byte_for_byte() {
        let few = Load { keys: 3, ..MIXED };
        let right = server("right", b"STORED\r\n".repeat(3));
        assert_eq!(few.fill(&right), Ok(()));
        let wrong = server("wrong", b"STOREX\r\n".repeat(3));
        assert!(few.fill(&wrong).unwrap_err().contains("wrong answer"));
    }

    #[test]
    fn a_get_expects_what_a_set_wrote() {
        let mut batch = Batch::default();
        batch.get(27);
        let text = String::from_utf8(batch.answers).unwrap();
        let length = value(27).len();
        assert!(text.starts_with(&format!("VALUE key27 0 {length}\r\nbbb")), "{text}");
        assert!(text.ends_with("b\r\nEND\r\n"), "{text}");
    }
}
