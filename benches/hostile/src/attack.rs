//! The attacks, as what one of many connections does when its turn comes.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tailwater_core::{MethodId, RequestId, Stamp};
use tailwater_wire::{
    Cancel, Demand, Deregister, Echo, Hello, Limits, Ping, Request, ServerFrame, VERSION_MAX,
    VERSION_MIN, decode_from_server,
};

/// Computes for as long as its first four bytes say, in nanoseconds.
const SPIN: MethodId = MethodId(2);
/// Work of a request that is to hurt.
const LONG: Duration = Duration::from_micros(200);

/// What the attacker does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Attack {
    /// DEMAND frames as fast as the server reads.
    Demands,
    /// PING, CANCEL and DEREGISTER frames as fast as the server reads.
    Control,
    /// Requests beyond the window.
    Flood,
    /// Frames of a mebibyte, byte by byte.
    Halves,
    /// Connections that never say HELLO.
    Silent,
    /// Echoes that claim a round trip of 0.9 s.
    Echoes,
    /// Sessions that claim an endless demand once.
    Hoarders,
}

impl Attack {
    /// Connections it holds.
    pub(crate) const fn connections(self) -> usize {
        match self {
            Self::Demands | Self::Control => 100,
            Self::Flood => 16,
            Self::Halves | Self::Hoarders => 200,
            Self::Silent => 2_000,
            Self::Echoes => 1,
        }
    }

    /// Whether a round over all connections is followed by a pause of a millisecond.
    pub(crate) const fn pauses(self) -> bool {
        matches!(self, Self::Halves | Self::Silent | Self::Echoes | Self::Hoarders)
    }

    /// What a fresh connection says.
    fn opening(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self == Self::Silent {
            return bytes;
        }
        Hello {
            version_min: VERSION_MIN,
            version_max: VERSION_MAX,
            features: 0,
            max_frame: Limits::DEFAULT,
            client_id: 0,
            tenant: 0,
        }
        .encode(&mut bytes);
        match self {
            Self::Hoarders => request(1, u32::MAX, None, LONG, &mut bytes),
            // A request of a mebibyte, less its last byte but 4,096: the rest comes in drops.
            Self::Halves => {
                let mut whole = Vec::new();
                request_of(vec![0; (1 << 20) - 48], 1, 0, None, &mut whole);
                bytes.extend_from_slice(&whole[..whole.len() - 4_096]);
            }
            _ => {}
        }
        bytes
    }

    /// What it says again and again; empty where it stays silent.
    fn refrain(self, stamp: Option<Stamp>) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Demands => {
                (0..1_024).for_each(|_| Demand { demand: 9, acked: 0 }.encode(&mut bytes));
            }
            Self::Control => {
                for token in 0..340 {
                    Ping { token }.encode(&mut bytes);
                    Cancel { id: RequestId(token) }.encode(&mut bytes);
                    Deregister.encode(&mut bytes);
                }
            }
            Self::Flood => (2..66).for_each(|id| request(id, 0, None, LONG, &mut bytes)),
            Self::Halves => bytes.push(0),
            Self::Echoes => {
                // 0.9 s before the newest stamp: the server sees a round trip of 0.9 s.
                let old = stamp.map(|stamp| Stamp(stamp.0.wrapping_sub(900_000_000)));
                let lie = old.and_then(|old| Echo::new(old, Duration::ZERO));
                // The lie is the attack, and not the work.
                request(2, 0, lie, Duration::ZERO, &mut bytes);
            }
            Self::Silent | Self::Hoarders => {}
        }
        bytes
    }
}

/// One of the attacker's connections.
pub(crate) struct Connection {
    stream: Option<TcpStream>,
    /// Not sent yet.
    output: Vec<u8>,
    /// The newest stamp heard.
    stamp: Option<Stamp>,
    input: Vec<u8>,
}

impl Connection {
    pub(crate) const fn new() -> Self {
        Self { stream: None, output: Vec::new(), stamp: None, input: Vec::new() }
    }

    /// Opens itself if it must, reads and throws away, and says what the attack says.
    pub(crate) fn act(&mut self, attack: Attack, server: SocketAddr) {
        if self.stream.is_none() {
            self.open(attack, server);
        }
        if self.output.is_empty() {
            self.output = attack.refrain(self.stamp);
        }
        if !self.listen(attack) || !self.speak() {
            self.stream = None;
        }
    }

    /// A refused attempt is made again next time.
    fn open(&mut self, attack: Attack, server: SocketAddr) {
        self.output = attack.opening();
        self.input.clear();
        self.stamp = None;
        self.stream = TcpStream::connect(server).ok();
        if let Some(stream) = &self.stream
            && stream.set_nonblocking(true).is_err()
        {
            self.stream = None;
        }
    }

    /// False when the server has closed.
    fn listen(&mut self, attack: Attack) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        let mut scratch = [0; 16 << 10];
        loop {
            match stream.read(&mut scratch) {
                Ok(0) => return false,
                Ok(count) if attack == Attack::Echoes => {
                    self.input.extend_from_slice(&scratch[..count]);
                    note_stamps(&mut self.input, &mut self.stamp);
                }
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    fn speak(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        if self.output.is_empty() {
            return true;
        }
        match stream.write(&self.output) {
            Ok(count) => {
                self.output.drain(..count);
                true
            }
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }
}

fn note_stamps(input: &mut Vec<u8>, stamp: &mut Option<Stamp>) {
    let mut used = 0;
    while let Ok(Some((frame, length))) = decode_from_server(&input[used..], &Limits::default()) {
        used += length;
        *stamp = match frame {
            ServerFrame::Welcome(welcome) => Some(welcome.stamp),
            ServerFrame::Response(response) => Some(response.head.stamp),
            ServerFrame::Reject(reject) => Some(reject.head.stamp),
            ServerFrame::Credit(credit) => Some(credit.stamp),
            _ => *stamp,
        };
    }
    input.drain(..used);
}

/// So much work, as `tailwater serve` offers it.
fn request(id: u64, demand: u32, echo: Option<Echo>, work: Duration, bytes: &mut Vec<u8>) {
    let work_ns = u32::try_from(work.as_nanos()).unwrap_or(u32::MAX);
    let payload = [work_ns.to_le_bytes(), 0_u32.to_le_bytes()].concat();
    request_of(payload, id, demand, echo, bytes);
}

fn request_of(payload: Vec<u8>, id: u64, demand: u32, echo: Option<Echo>, bytes: &mut Vec<u8>) {
    let request = Request {
        id: RequestId(id),
        method: SPIN,
        register: true,
        demand,
        acked: 0,
        echo,
        sent_at: Stamp(0),
        budget_us: 0,
        tenant: 0,
        priority: 128,
        payload: &payload,
    };
    request.encode(&Limits::default(), bytes).expect("it fits the default frame");
}
