//! Leaves that die, hang, answer garbage and come back: each request has one fate, under each threading model.

use super::models::started;
use super::{HANG, NAME, Port, boxed, channel, controller, eventually, fan, leaf, leaf_at, middle};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_rt::client::{CallError, ChannelConfig, Client};
use tailwater_rt::downstream::TierConfig;
use tailwater_rt::time::now;
use tailwater_rt::{Address, Reply, Request, Server, ServerConfig};

/// Answers every connection with what is no frame.
struct Garbage {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Garbage {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let life = move || {
            for stream in listener.incoming() {
                if stopped.load(Relaxed) {
                    return;
                }
                // The other end may have gone.
                let _ = stream.and_then(|mut stream| stream.write_all(&[0xff; 256]));
            }
        };
        Self { address, stop, thread: Some(std::thread::spawn(life)) }
    }
}

impl Drop for Garbage {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let _ = TcpStream::connect(self.address);
        self.thread.take().map(JoinHandle::join);
    }
}

/// `a` where the right answer came, else a letter for why none did.
fn letter(shard: u8, outcome: &Result<tailwater_rt::client::Answer, CallError>) -> u8 {
    match outcome {
        Ok(answer) if answer.payload == [shard] => b'a',
        Ok(_) => b'?',
        Err(CallError::TimedOut) => b't',
        Err(CallError::Expired) => b'e',
        Err(CallError::Disconnected) => b'd',
        Err(CallError::Shed(Reason::Draining)) => b's',
        Err(_) => b'!',
    }
}

/// Asks the well, the hanging, the garbled and the mortal leaf. No answer where a thread that is held was let go before
/// the fan's end: by the bound of a hold, say, and not by the deadline.
async fn ask_all(request: Request, holds: bool) -> Reply {
    let soon = now() + Duration::from_millis(20);
    let fan = fan(&request).call(0, NAME, "").call(1, HANG, "").call(2, NAME, "");
    let mut fan = Box::pin(fan.call(3, NAME, "").by(soon));
    let outcomes = match fan.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcomes) => outcomes,
        Poll::Pending if holds => return Reply::ok(Vec::new()),
        Poll::Pending => fan.await,
    };
    Reply::ok((0..).zip(&outcomes).map(|(shard, outcome)| letter(shard, outcome)).collect())
}

/// The answers to so many requests that are made at once.
fn ask(client: &Client, requests: usize) -> Vec<Vec<u8>> {
    let calls: Vec<_> = (0..requests).map(|_| client.call(1, "")).collect();
    let answers: Vec<_> =
        calls.into_iter().map(|call| call.wait().expect("it is answered").payload).collect();
    for answer in &answers {
        let [well, hung, garbled, mortal] = answer[..] else { panic!("four calls: {answer:?}") };
        let ends = |found: u8, allowed: &[u8]| assert!(allowed.contains(&found), "{answer:?}");
        ends(well, b"ate");
        ends(hung, b"te");
        ends(garbled, b"edt");
        // A leaf that is being stopped refuses what still reaches it.
        ends(mortal, b"ateds");
    }
    answers
}

#[test]
fn each_request_has_one_fate_whatever_becomes_of_the_leaves() {
    for word in [
        "sib",
        "sip",
        "sdb:2",
        "sdp:2",
        "aib",
        "aip",
        "adb:2",
        "adp:2",
        "aib+2",
        "aip+1",
        "adb:2+2",
        "sib+4",
        "sdb:2+4",
        "aib@spin:20us",
        "sdb:2@spin:20us",
    ] {
        let port = Port::keep();
        let (well, hanging, garbage) = (leaf(0), leaf(1), Garbage::new());
        let mortal = leaf_at(&port, 3);
        let address = mortal.address().clone();
        let leaves = vec![
            channel(&well),
            channel(&hanging),
            ChannelConfig::new(Address::Tcp(garbage.address)),
            channel(&mortal),
        ];
        let tier = TierConfig::new("leaf", leaves).controller(&controller());
        let config = ServerConfig { tiers: vec![tier], ..started(word, 2, &[]) };
        let holds = word.starts_with('s');
        let (server, client) = middle(config, move |request| ask_all(request, holds));
        let mut asked = 0;
        let mut ask_until = |what: &str, holds: fn(u8, u8) -> bool| {
            eventually(what, || {
                asked += 8;
                ask(&client, 8).iter().any(|it| holds(it[0], it[3]))
            });
        };
        ask_until("both are connected", |well, mortal| (well, mortal) == (b'a', b'a'));
        drop(mortal);
        ask_until("one is gone", |well, mortal| well == b'a' && mortal != b'a');
        let again = ServerConfig { listen: address, ..ServerConfig::default() };
        let back = |_: Request| async { Reply::ok(vec![3]) };
        let back = Server::start(again, controller().admission, boxed(back)).unwrap();
        ask_until("it is back", |well, mortal| (well, mortal) == (b'a', b'a'));
        // No other fate than the answers above, and none twice.
        eventually("nothing is left", || server.remaining().unanswered == 0);
        let served = server.totals();
        assert_eq!(served.served, asked, "{word}: {served:?}");
        eventually("the leaf was told", || hanging.remaining().unanswered == 0);
        drop(back);
    }
}
