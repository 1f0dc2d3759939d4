//! One table for both drivers of channels: what becomes of a call whose replica refuses, goes away, or is lost.

use super::*;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use tailwater_core::{Ratio, RequestId};
use tailwater_rt::client::{CallError, CallOptions, ChannelConfig, Client};
use tailwater_wire::{Goodbye, GoodbyeCode, Pong, Reject, ReplyHead, Response};

const LOCK: u16 = 6;
const DRAINING: u16 = 8;
/// That of a later version.
const UNKNOWN: u16 = 99;
/// Calls by which a client finds out how replicas stand: far more than any machine needs.
const KNOCKS: u32 = 1_000_000;

/// What the first replica does with the call. Everything before and after it is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Answers,
    Refuses(u16),
    /// It refuses the call as draining, and closes with GOODBYE.
    Drains,
    /// GOODBYE, by which it has not read the call.
    Leaves,
    /// GOODBYE, by which it has read the call.
    LeavesBehindIt,
    /// GOODBYE without a count.
    LeavesUncounted,
    Closes,
}

/// How the second replica and the retry budget are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Other {
    Well,
    /// It is well, and there is no token.
    Unpaid,
    Away,
}

/// What became of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    AtFirst,
    AtSecond,
    Refused,
    Lost,
}

const OTHERS: [Other; 3] = [Other::Well, Other::Unpaid, Other::Away];

/// By the columns of [`OTHERS`].
const TABLE: [(Does, [Found; 3]); 8] = {
    use Found::{AtFirst, AtSecond, Lost, Refused};
    [
        (Does::Answers, [AtFirst, AtFirst, AtFirst]),
        (Does::Refuses(LOCK), [AtSecond, Refused, Refused]),
        (Does::Refuses(UNKNOWN), [AtSecond, Refused, Refused]),
        // Not begun: it goes elsewhere without a token, or waits for the next server there.
        (Does::Drains, [AtSecond, AtSecond, AtFirst]),
        (Does::Leaves, [AtSecond, AtSecond, AtFirst]),
        // It may have been carried out.
        (Does::LeavesBehindIt, [Lost, Lost, Lost]),
        (Does::LeavesUncounted, [Lost, Lost, Lost]),
        (Does::Closes, [Lost, Lost, Lost]),
    ]
};

/// The first replica: it comes back at once when it has gone.
struct Scripted {
    address: Address,
    /// It greets nobody before this is told.
    opens: Sender<()>,
    is_over: Arc<AtomicBool>,
}

impl Scripted {
    fn start(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let (opens, opened) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        std::thread::spawn(move || accept(&listener, &opened, &over, does));
        Self { address, opens, is_over }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        // Wakes the thread that accepts.
        if let Address::Tcp(address) = &self.address {
            let _ = TcpStream::connect(address);
        }
    }
}

fn accept(listener: &TcpListener, opened: &Receiver<()>, is_over: &AtomicBool, does: Does) {
    if opened.recv().is_err() {
        return;
    }
    let script = Arc::new(Mutex::new(Some(does)));
    for stream in listener.incoming() {
        if is_over.load(SeqCst) {
            return;
        }
        let (stream, script) = (stream.unwrap(), script.clone());
        std::thread::spawn(move || serve(stream, &script));
    }
}

fn serve(stream: TcpStream, script: &Mutex<Option<Does>>) {
    let (_, mut stream) = greet(stream);
    let (mut input, mut taken) = (Vec::new(), 0);
    loop {
        let mut output = Vec::new();
        let decoded = decode_from_client(&input, &Limits::default()).unwrap();
        let (length, stays) = match decoded {
            Some((ClientFrame::Request(request), length)) => {
                taken += 1;
                let is_knock = request.payload == b"knock";
                let does = if is_knock { None } else { script.lock().unwrap().take() };
                let does = does.unwrap_or(Does::Answers);
                say(does, request.id, taken, &mut output);
                (length, matches!(does, Does::Answers | Does::Refuses(_)))
            }
            Some((ClientFrame::Ping(ping), length)) => {
                Pong { token: ping.token }.encode(&mut output);
                (length, true)
            }
            Some((_, length)) => (length, true),
            None => {
                let mut some = [0; 1_024];
                match stream.read(&mut some) {
                    Ok(0) => return,
                    Ok(count) => input.extend_from_slice(&some[..count]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
                (0, true)
            }
        };
        input.drain(..length);
        if stream.write_all(&output).is_err() || !stays {
            return;
        }
    }
}

/// Says what it does with a request, which is the last of so many on this connection.
fn say(does: Does, id: RequestId, taken: u64, output: &mut Vec<u8>) {
    let grant = Grant { window: u32::MAX, seq: 0, level: 0, pause: Pause::NONE };
    let head = ReplyHead { id, grant, stamp: Stamp(1), sojourn_ns: 0, waited_ns: 0 };
    let goodbye = Goodbye::new(GoodbyeCode::Draining, "restart");
    match does {
        Does::Answers => {
            let response = Response { head, status: 0, payload: b"first" };
            response.encode(&Limits::default(), output).unwrap();
        }
        Does::Refuses(reason) => Reject { head, reason }.encode(output),
        Does::Drains => {
            Reject { head, reason: DRAINING }.encode(output);
            goodbye.after(taken).encode(output);
        }
        Does::Leaves => goodbye.after(taken - 1).encode(output),
        Does::LeavesBehindIt => goodbye.after(taken).encode(output),
        Does::LeavesUncounted => goodbye.encode(output),
        Does::Closes => {}
    }
}

fn retry(other: Other) -> RetryConfig {
    match other {
        Other::Unpaid => RetryConfig { share: Ratio(0.0), burst: 0, ..PRIMARY },
        Other::Well | Other::Away => PRIMARY,
    }
}

fn answered(payload: &[u8]) -> Found {
    match payload {
        b"first" => Found::AtFirst,
        b"hello" => Found::AtSecond,
        other => panic!("{other:?} was answered"),
    }
}

fn by_client(does: Does, other: Other) -> Found {
    let (first, second) = (Scripted::start(does), start());
    let configs = [&first.address, second.address()].map(|it| ChannelConfig::new(it.clone()));
    let client = Client::replicas(configs.into(), &none(), retry(other)).unwrap();
    let ask = |what: &str| {
        let options = CallOptions { deadline: PATIENCE, ..CallOptions::default() };
        client.call_with(ECHO.0, what, options).wait()
    };
    let knock = || ask("knock").unwrap().payload;
    // One after the other, as only the one that is asked tells that it is well.
    assert!((0..KNOCKS).any(|_| knock() == b"knock"), "the second is never well");
    first.opens.send(()).unwrap();
    assert!((0..KNOCKS).any(|_| knock() == b"first"), "the first is never well");
    if other == Other::Away {
        let _ = second.drain(Duration::ZERO);
        let is_missed = |_| knock() == b"first" && client.trouble().is_some();
        assert!((0..KNOCKS).any(is_missed), "the second is not missed");
    }
    match ask("hello") {
        Ok(answer) => answered(&answer.payload),
        Err(CallError::Shed(_)) => Found::Refused,
        Err(CallError::Disconnected) => Found::Lost,
        Err(error) => panic!("{error:?}"),
    }
}

fn by_fleet(does: Does, other: Other) -> Found {
    let (first, second) = (Scripted::start(does), start());
    first.opens.send(()).unwrap();
    let addresses = [first.address.clone(), second.address().clone()];
    let whose = ThreadClients::all(1);
    let mut fleet = Fleet::connect_to((&addresses, retry(other)), whose, &none(), &[]).unwrap();
    if other == Other::Away {
        let _ = second.drain(Duration::ZERO);
        // The client's connection and that for counts.
        while fleet.connections(now()).up > 2 {
            fleet.turn(Duration::from_millis(10));
        }
    }
    let time = now();
    fleet.submit(0, time, 0, call(time));
    let (_, _, end) = ends(&mut fleet, 1).remove(0);
    match end {
        End::Response { payload, .. } => answered(&payload),
        End::Rejected { .. } => Found::Refused,
        End::Lost => Found::Lost,
        end => panic!("{end:?}"),
    }
}

fn holds(driver: impl Fn(Does, Other) -> Found) {
    for (does, row) in TABLE {
        for (other, expected) in OTHERS.into_iter().zip(row) {
            assert_eq!(driver(does, other), expected, "{does:?}, the other {other:?}");
        }
    }
}

#[test]
fn a_call_of_the_runtimes_client_ends_as_the_table_has_it() {
    holds(by_client);
}

/// What a draining replica had not begun was counted as shed or lost where no other was well.
#[test]
fn a_request_of_the_generator_ends_as_the_table_has_it() {
    holds(by_fleet);
}
