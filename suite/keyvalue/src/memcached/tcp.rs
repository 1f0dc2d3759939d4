//! The sockets: one thread for each connection, as many as are allowed.

use super::answer::Front;
use super::session::{Flow, Session};
use crate::locks::Blocking;
use rustix::net;
use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Received at a time.
const READ_BYTES: usize = 16 << 10;
/// After an accept that failed.
const RETRY_AFTER: Duration = Duration::from_millis(10);
/// Enough for a conversation, whose buffers are not on the stack.
const STACK_BYTES: usize = 256 << 10;

/// How the server meets the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// Connections at a time; each is a thread and at most some megabytes of buffers. A further one is
    /// told so and closed. Default 1,024.
    pub connections_max: usize,
    /// A peer that takes none of its answers for so long is cut off. Default 30 s.
    pub write_timeout: Duration,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self { connections_max: 1_024, write_timeout: Duration::from_secs(30) }
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
    config: TcpConfig,
    stopping: AtomicBool,
    /// To cut connections off that wait for their peers.
    open: Mutex<BTreeMap<u64, Arc<TcpStream>>>,
}

impl TcpServer {
    /// Listens on `address`, for instance `127.0.0.1:11211`; port zero chooses a free one.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start<L: Blocking>(
        front: Arc<Front<L>>,
        address: impl ToSocketAddrs,
        config: TcpConfig,
    ) -> io::Result<Self> {
        let listener = Arc::new(TcpListener::bind(address)?);
        let address = listener.local_addr()?;
        let open = Mutex::new(BTreeMap::new());
        let shared = Arc::new(Shared { config, stopping: AtomicBool::new(false), open });
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
        for stream in self.shared.open().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the acceptor, which joins the others. A connection would need a descriptor, of which there
        // may be none left.
        let _ = net::shutdown(&self.listener, net::Shutdown::Both);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<TcpStream>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept<L: Blocking>(listener: &TcpListener, front: &Arc<Front<L>>, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for number in 0_u64.. {
        let accepted = listener.accept();
        if shared.stopping.load(SeqCst) {
            break;
        }
        let Ok((mut stream, _)) = accepted else {
            // Out of descriptors or memory: others may give some back meanwhile.
            std::thread::sleep(RETRY_AFTER);
            continue;
        };
        threads.retain(|thread| !thread.is_finished());
        if threads.len() >= shared.config.connections_max {
            let _ = stream.write_all(b"ERROR Too many open connections\r\n");
            continue;
        }
        if let Ok(thread) = connect(number, stream, front, shared) {
            threads.push(thread);
        }
    }
    // The last may have come in while the others were cut off.
    for stream in shared.open().values() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn connect<L: Blocking>(
    number: u64,
    stream: TcpStream,
    front: &Arc<Front<L>>,
    shared: &Arc<Shared>,
) -> io::Result<JoinHandle<()>> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(shared.config.write_timeout))?;
    let stream = Arc::new(stream);
    shared.open().insert(number, stream.clone());
    front.connections.fetch_add(1, Relaxed);
    front.connections_ever.fetch_add(1, Relaxed);
    let open = Open { number, front: front.clone(), shared: shared.clone() };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // Whatever ends a connection concerns that connection only.
        let _ = converse(&open.front, &stream);
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
        self.front.connections.fetch_sub(1, Relaxed);
        self.shared.open().remove(&self.number);
    }
}

fn converse<L: Blocking>(front: &Front<L>, mut stream: &TcpStream) -> io::Result<()> {
    let mut session = Session::default();
    let (mut input, mut output) = (vec![0; READ_BYTES], Vec::new());
    loop {
        let received = stream.read(&mut input)?;
        if received == 0 {
            return Ok(());
        }
        session.receive(&input[..received]);
        loop {
            let flow = session.proceed(front, &mut output);
            stream.write_all(&output)?;
            output.clear();
            match flow {
                Flow::Send => {}
                Flow::Receive => break,
                Flow::Close => return Ok(()),
            }
        }
    }
}
