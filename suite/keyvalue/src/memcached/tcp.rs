//! The sockets: one thread for each connection, as many as are allowed.

use super::converse::{Patience, converse};
use super::front::Front;
use super::places::{Limits, Places, Room};
use crate::locks::Blocking;
use rustix::net;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

/// After an accept that failed.
const RETRY_AFTER: Duration = Duration::from_millis(10);
/// Enough for a conversation, whose buffers are not on the stack.
const STACK_BYTES: usize = 256 << 10;

/// How the server meets the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// Connections at a time, at least 1; each is a thread and a file descriptor. Default 1,024. A further
    /// one takes the place of the connection that has been idle longest, or is told that there is none.
    pub connections_max: usize,
    /// Connections at a time from one client address, at least 1; of IPv6, from one /64 network. Default
    /// 512. A further one takes the place of that address's longest idle, or is told that there is none.
    pub per_address_max: usize,
    /// A connection that has been idle for less does not give its place to another. Idle is a connection
    /// that has been answered everything and has begun no further command. Default 10 s.
    pub idle_spared: Duration,
    /// A connection that is idle for so long ends, without a word; `None` for never. Default 1 hour.
    pub idle_max: Option<Duration>,
    /// Time in which a peer must send the next 16 KiB, or the rest, of a command that it has begun. The same time
    /// holds for taking 16 KiB, or the rest, of its answers. Not zero; otherwise the connection ends. Default 30 s.
    pub patience: Duration,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            connections_max: 1_024,
            per_address_max: 512,
            idle_spared: Duration::from_secs(10),
            idle_max: Some(Duration::from_secs(3_600)),
            patience: Duration::from_secs(30),
        }
    }
}

impl TcpConfig {
    fn check(&self) -> io::Result<()> {
        let faults = [
            (self.connections_max == 0, "connections_max is 0, needed is 1 or more"),
            (self.per_address_max == 0, "per_address_max is 0, needed is 1 or more"),
            (self.idle_max == Some(Duration::ZERO), "idle_max is 0; None means no limit"),
            (self.patience.is_zero(), "patience is 0, needed is time for 16 KiB to pass"),
        ];
        match faults.into_iter().find(|(found, _)| *found) {
            Some((_, fault)) => Err(io::Error::new(io::ErrorKind::InvalidInput, fault)),
            None => Ok(()),
        }
    }
}

/// A server that runs; dropping it stops it.
#[derive(Debug)]
pub struct TcpServer {
    address: SocketAddr,
    listener: Arc<TcpListener>,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    patience: Patience,
    stopping: AtomicBool,
    places: Places,
}

impl Shared {
    fn new(config: &TcpConfig) -> Self {
        let TcpConfig { connections_max, per_address_max, idle_spared, idle_max, patience } =
            *config;
        Self {
            patience: Patience { idle: idle_max, progress: patience },
            stopping: AtomicBool::new(false),
            places: Places::new(Limits { connections_max, per_address_max, idle_spared }),
        }
    }
}

impl TcpServer {
    /// Listens on `address`, for instance `127.0.0.1:11211`; port zero chooses a free one.
    ///
    /// # Errors
    /// When the address cannot be listened on, or a value of `config` is zero that may not be.
    pub fn start<L: Blocking>(
        front: Arc<Front<L>>,
        address: impl ToSocketAddrs,
        config: TcpConfig,
    ) -> io::Result<Self> {
        config.check()?;
        let listener = Arc::new(TcpListener::bind(address)?);
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(&config));
        let (of_acceptor, heard) = (shared.clone(), listener.clone());
        let acceptor = std::thread::Builder::new()
            .name("accept".into())
            .spawn(move || accept(&heard, &front, &of_acceptor))?;
        Ok(Self { address, listener, shared, acceptor: Some(acceptor) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TcpServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, SeqCst);
        self.shared.places.end_all();
        // Wakes the acceptor, which joins the others. A connection would need a descriptor, of which there
        // may be none left.
        let _ = net::shutdown(&self.listener, net::Shutdown::Both);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept<L: Blocking>(listener: &TcpListener, front: &Arc<Front<L>>, shared: &Arc<Shared>) {
    let mut threads = BTreeMap::new();
    for number in 0_u64.. {
        let accepted = listener.accept();
        if shared.stopping.load(SeqCst) {
            break;
        }
        let Ok((stream, peer)) = accepted else {
            // Out of descriptors or memory: others may give some back meanwhile.
            std::thread::sleep(RETRY_AFTER);
            continue;
        };
        threads.retain(|_, thread: &mut JoinHandle<()>| !thread.is_finished());
        if !make_room(front, shared, peer, &stream, &mut threads) {
            continue;
        }
        if let Ok(thread) = connect(number, stream, peer, front, shared) {
            threads.insert(number, thread);
        }
    }
    // The last may have come in while the others were cut off.
    shared.places.end_all();
    for thread in threads.into_values() {
        let _ = thread.join();
    }
}

/// Whether the connection may stay; if not, its peer has been told.
fn make_room<L: Blocking>(
    front: &Front<L>,
    shared: &Shared,
    peer: SocketAddr,
    mut stream: &TcpStream,
    threads: &mut BTreeMap<u64, JoinHandle<()>>,
) -> bool {
    match shared.places.room_for(peer.ip()) {
        Room::Free => true,
        Room::InsteadOf(number) => {
            front.connections.idle_ended.fetch_add(1, Relaxed);
            // It waits in a read, which has just been ended: its descriptor is free at once.
            if let Some(thread) = threads.remove(&number) {
                let _ = thread.join();
            }
            true
        }
        Room::None(refusal) => {
            front.connections.rejected.fetch_add(1, Relaxed);
            let _ = stream.write_all(refusal.as_bytes());
            false
        }
    }
}

fn connect<L: Blocking>(
    number: u64,
    stream: TcpStream,
    peer: SocketAddr,
    front: &Arc<Front<L>>,
    shared: &Arc<Shared>,
) -> io::Result<JoinHandle<()>> {
    stream.set_nodelay(true)?;
    let stream = Arc::new(stream);
    let activity = shared.places.take(number, peer.ip(), stream.clone());
    front.connections.open.fetch_add(1, Relaxed);
    front.connections.ever.fetch_add(1, Relaxed);
    let open = Open { number, front: front.clone(), shared: shared.clone() };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // Whatever ends a connection concerns that connection only.
        let _ = converse(&open.front, &stream, &activity, open.shared.patience);
    })
}

/// A connection that is counted, until its thread ends, by a panic too, or does not start.
struct Open<L: Blocking> {
    number: u64,
    front: Arc<Front<L>>,
    shared: Arc<Shared>,
}

impl<L: Blocking> Drop for Open<L> {
    fn drop(&mut self) {
        self.front.connections.open.fetch_sub(1, Relaxed);
        self.shared.places.leave(self.number);
    }
}
