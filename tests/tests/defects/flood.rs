//! Frames that cost their sender nothing: handlers, timers and other connections keep their turns.

use super::support::PATIENT;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::{Reply, Server, ServerConfig};
use tailwater_tests::{Peer, controller, eventually};
use tailwater_wire::{Demand, Deregister};

const NAP: u16 = 1;
/// More than the poller reports at once.
const CONNECTIONS: usize = 100;
const CALLS: usize = 5;
/// Counts are published at the end of turns: what is read beside the last nap of a handler is missing in its count.
const NAPS: u32 = 5;
/// Frames that the server may take in while an honest call naps so often for a millisecond. A server that reads on while
/// there is something to read takes ten times as many.
const FRAMES_FOR_A_CALL: u64 = 4_000_000;

/// Sends the same bytes on all connections, whatever each of them takes, until it is told to stop or
/// has been sent away from all.
struct Flood {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Flood {
    fn of(peers: Vec<Peer>, bytes: Vec<u8>) -> Self {
        use std::io::Write as _;
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let thread = std::thread::spawn(move || {
            let clone = |peer: &Peer| peer.socket().try_clone().expect("a descriptor");
            let mut streams: Vec<TcpStream> = peers.iter().map(clone).collect();
            for stream in &streams {
                stream.set_nonblocking(true).expect("a live socket");
            }
            // A frame may be cut by a full socket: what is left of the bytes comes first the next time.
            let mut sent = vec![0; streams.len()];
            while !told.load(SeqCst) && !streams.is_empty() {
                for (stream, sent) in streams.iter_mut().zip(&mut sent) {
                    if let Ok(count) = stream.write(&bytes[*sent..]) {
                        *sent = (*sent + count) % bytes.len();
                    }
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The median of the frames that are read while each of some handlers naps.
fn frames_beside_naps(frame: &[u8]) -> u64 {
    let server = Arc::new(OnceLock::<Server>::new());
    let own = Arc::downgrade(&server);
    let naps = move |_| {
        let own = own.clone();
        async move {
            // Looked at by the handler itself: when its client has a core does not count.
            let read = || own.upgrade().and_then(|server| Some(server.get()?.totals().frames_in));
            let before = read();
            for _ in 0..NAPS {
                tailwater_rt::time::sleep(Duration::from_millis(1)).await;
            }
            let read = read().unwrap_or(0) - before.unwrap_or(0);
            Reply::ok(read.to_le_bytes().to_vec())
        }
    };
    let none = controller("none", &[]);
    let started = Server::start(ServerConfig::default(), none.admission.clone(), naps);
    let server = server.get_or_init(|| started.expect("the test's server starts"));
    let config = ChannelConfig::new(server.address().clone());
    let client = Client::connect_with(config, &none).expect("a client starts");
    assert!(client.call_with(NAP, "", PATIENT).wait().is_ok());
    let mut peers: Vec<Peer> = (0..CONNECTIONS).map(|_| Peer::connect(server.address())).collect();
    for peer in &mut peers {
        peer.greet();
    }
    let flood = Flood::of(peers, frame.repeat((64 << 10) / frame.len()));
    eventually("the flood has begun", || {
        let totals = server.totals();
        totals.frames_in > 100_000 || totals.closed > 0
    });
    let read_meanwhile = |_| {
        let answer = client.call_with(NAP, "", PATIENT).wait().expect("an honest call is answered");
        u64::from_le_bytes(answer.payload[..].try_into().expect("a count"))
    };
    let mut read: Vec<u64> = (0..CALLS).map(read_meanwhile).collect();
    drop(flood);
    read.sort_unstable();
    read[CALLS / 2]
}

#[test]
fn a_flood_of_control_frames_does_not_hold_up_handlers_that_wait_for_a_timer() {
    let (mut demand, mut deregister) = (Vec::new(), Vec::new());
    Demand { demand: 1, acked: 0 }.encode(&mut demand);
    Deregister.encode(&mut deregister);
    for (name, frame) in [("DEMAND", demand), ("DEREGISTER", deregister)] {
        let read = frames_beside_naps(&frame);
        assert!(read < FRAMES_FOR_A_CALL, "{read} frames {name} were read for an honest call");
    }
}
