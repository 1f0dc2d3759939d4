//! A session against a server that follows a script: bytes only, and time as it is told.

mod calls;
mod greeting;
mod life;

use super::*;
use crate::client::Caller;
use crate::net::Address;
use tailwater_control::breakwater::CreditGate;
use tailwater_control::client::{ClientConfig, Expiry, Gate, OpenGate};
use tailwater_core::{MethodId, Pause, Stamp};
use tailwater_wire::{ClientFrame, Credit, Grant, ReplyHead, Welcome, decode_from_client};

/// A session, what it said, and how its calls ended.
struct Scripted {
    session: Session,
    now: Instant,
    /// Numbers the windows.
    seq: u32,
}

/// What a client said, with the numbers that tests look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Hello,
    Request { id: u64, length: usize },
    Cancel(u64),
    Ping,
    Pong(u64),
    Other,
}

fn config() -> ChannelConfig {
    ChannelConfig::new(Address::Tcp(([127, 0, 0, 1], 1).into()))
}

fn queueing(gate: Box<dyn Gate>) -> Control {
    let (announce_demand, deregister_after) = (false, None);
    let expiry = Expiry::Never;
    Control::new(ClientConfig { queue_max: 1_000, expiry, announce_demand, deregister_after }, gate)
}

fn call(length: usize) -> NewCall {
    let (method, payload) = (MethodId(1), vec![7; length]);
    NewCall {
        method,
        payload: payload.into(),
        deadline: None,
        priority: 128,
        tenant: 0,
        caller: Caller::NONE,
    }
}

impl Scripted {
    fn new(config: &ChannelConfig, control: Control, has_replicas: bool) -> Self {
        let session = Session::new(config, control, config.client_id, has_replicas);
        Self { session, now: Instant::from_nanos(1_000_000_000), seq: 0 }
    }

    /// Without control.
    fn open() -> Self {
        Self::new(&config(), queueing(Box::new(OpenGate)), false)
    }

    /// With credits, of which there is one at first.
    fn with_credits() -> Self {
        Self::new(&config(), queueing(Box::new(CreditGate::default())), false)
    }

    /// Connected and greeted, with this window.
    fn greeted(mut self, window: u32) -> Self {
        self.session.on_connected(self.now);
        assert_eq!(self.said(), [Said::Hello]);
        self.welcome(window, Limits::DEFAULT).expect("it is in time");
        self
    }

    fn submit(&mut self, token: u64) -> u64 {
        self.submit_long(token, 4)
    }

    fn submit_long(&mut self, token: u64, length: usize) -> u64 {
        self.session.submit(self.now, token, call(length)).0
    }

    /// As a channel's call is cancelled.
    fn cancel(&mut self, id: u64) {
        if let Some(sent) = self.session.cancel(RequestId(id)) {
            self.session.doubt(self.now, sent);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    /// Lets it run, and takes what it sends.
    fn said(&mut self) -> Vec<Said> {
        self.session.run(self.now).expect("the connection stands");
        self.take_said()
    }

    fn take_said(&mut self) -> Vec<Said> {
        let bytes = std::mem::take(self.session.outgoing.buffer());
        let (mut said, mut used) = (Vec::new(), 0);
        while let Some((frame, length)) =
            decode_from_client(&bytes[used..], &Limits::new(Limits::CEILING)).expect("a frame")
        {
            used += length;
            said.push(match frame {
                ClientFrame::Hello(_) => Said::Hello,
                ClientFrame::Request(it) => Said::Request { id: it.id.0, length: it.payload.len() },
                ClientFrame::Cancel(it) => Said::Cancel(it.id.0),
                ClientFrame::Ping(_) => Said::Ping,
                ClientFrame::Pong(it) => Said::Pong(it.token),
                _ => Said::Other,
            });
        }
        said
    }

    /// The numbers of the requests that it sends.
    fn requests(&mut self) -> Vec<u64> {
        let number = |said| if let Said::Request { id, .. } = said { Some(id) } else { None };
        self.said().into_iter().filter_map(number).collect()
    }

    fn hear(&mut self, frame: ServerFrame<'_>) -> Result<(), Over> {
        let mut bytes = Vec::new();
        frame.encode(&Limits::new(Limits::CEILING), &mut bytes).expect("it fits");
        self.session.on_bytes(self.now, &bytes)
    }

    fn grant(&mut self, window: u32) -> Grant {
        self.seq += 1;
        Grant { window, seq: self.seq, level: 0, pause: Pause::NONE }
    }

    fn welcome(&mut self, window: u32, max_frame: u32) -> Result<(), Over> {
        let grant = self.grant(window);
        let (version, stamp) = (VERSION_MAX, Stamp(1));
        let (features, session, slo_us) = (0, 1, 400);
        let welcome = Welcome { version, features, max_frame, session, grant, slo_us, stamp };
        self.hear(ServerFrame::Welcome(welcome))
    }

    fn credit(&mut self, window: u32) -> Result<(), Over> {
        let grant = self.grant(window);
        self.hear(ServerFrame::Credit(Credit { grant, stamp: Stamp(1) }))
    }

    fn head(&mut self, id: u64, window: u32) -> ReplyHead {
        let grant = self.grant(window);
        let (sojourn_ns, waited_ns) = (2_000, 1_000);
        ReplyHead { id: RequestId(id), grant, stamp: Stamp(1), sojourn_ns, waited_ns }
    }

    fn respond(&mut self, id: u64, status: u16, window: u32) -> Result<(), Over> {
        let head = self.head(id, window);
        self.hear(ServerFrame::Response(Response { head, status, payload: b"ok" }))
    }

    fn reject(&mut self, id: u64, reason: u16, window: u32) -> Result<(), Over> {
        let head = self.head(id, window);
        self.hear(ServerFrame::Reject(Reject { head, reason }))
    }

    /// How calls ended, by token.
    fn ended(&mut self) -> Vec<(u64, End)> {
        let next = || self.session.poll_event().map(|event| (event.token, event.end));
        std::iter::from_fn(next).collect()
    }

    fn outstanding(&self) -> u32 {
        self.session.calls().outstanding()
    }
}

/// It would keep each call until its deadline, and every new one, with another replica beside it.
#[test]
fn a_server_that_trickles_one_answer_is_asked_and_given_up_and_a_slow_one_is_not() {
    let is_kept = |bytes: usize| {
        let mut client = Scripted::open().greeted(64);
        let id = client.submit(1);
        assert_eq!(client.requests(), [id]);
        let mut answer = Vec::new();
        let (head, payload) = (client.head(id, 64), vec![7; 1 << 19]);
        let response = ServerFrame::Response(Response { head, status: 0, payload: &payload });
        response.encode(&Limits::new(Limits::CEILING), &mut answer).expect("it fits");
        answer.chunks(bytes).take(100).all(|part| {
            client.pass(Duration::from_millis(100));
            client.session.on_bytes(client.now, part).expect("nothing is wrong with it");
            let stands = client.session.run(client.now).is_ok();
            client.take_said();
            stands
        })
    };
    assert!(!is_kept(1), "ten seconds of a byte now and then");
    assert!(is_kept(200), "two kibibytes a second");
}
