//! A client's connection to a server that speaks a protocol of others.
//!
//! It is driven as a [`Channel`](tailwater_rt::client::Channel) is. Requests are sent as they come, since nothing controls
//! them, and answers belong to them in their order. A connection that is lost stays lost: its run does not count.

use crate::application::{ForeignFront, Heard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::client::Reply;
use tailwater_control::{DropReason, Offer, Outcome};
use tailwater_core::Instant;
use tailwater_rt::Address;
use tailwater_rt::client::{End, Event, Losses, NewCall};
use tailwater_rt::net::{Dial, Dialed, Dialing, Stream, Transfer};
use tailwater_rt::poll::{Interest, Poller, Readiness};

/// Requests without an answer; further ones end unsent.
const OPEN_MAX: usize = 4_096;
/// Bytes of an answer that is not whole; beyond them the server is broken. memcached's values have a MiB at most.
const ANSWER_MAX: usize = 4 << 20;
/// The status of what is no answer, for applications to find wrong.
const NO_ANSWER: u16 = u16::MAX;

pub(super) struct ForeignLink {
    front: Arc<dyn ForeignFront>,
    /// The poller's.
    key: u64,
    state: State,
    /// What the socket has not taken, behind what it has.
    output: Vec<u8>,
    sent: usize,
    watches_output: bool,
    /// The beginning of an answer.
    input: Vec<u8>,
    /// Requests without an answer, the oldest first.
    open: VecDeque<Open>,
    /// Those that have ended, each until it is asked for.
    ended: VecDeque<Event>,
    lost: Losses,
}

enum State {
    /// Nothing was begun.
    Apart(Address),
    Dialing(Box<Dial>),
    Up(Stream),
    /// It is over, or did not come to be; why.
    Over(String),
}

struct Open {
    token: u64,
    asked_at: Instant,
    call: NewCall,
}

impl ForeignLink {
    /// To this server. It connects when it is driven first, and the poller tells of it under `key`.
    pub(super) fn new(front: Arc<dyn ForeignFront>, address: Address, key: u64) -> Self {
        Self {
            front,
            key,
            state: State::Apart(address),
            output: Vec::new(),
            sent: 0,
            watches_output: false,
            input: Vec::new(),
            open: VecDeque::new(),
            ended: VecDeque::new(),
            lost: Losses::default(),
        }
    }

    /// Hands a call over. Drive afterwards.
    pub(super) fn submit(&mut self, now: Instant, token: u64, call: NewCall) {
        let end = if matches!(self.state, State::Over(_)) {
            End::Unsent(DropReason::Disconnected)
        } else if self.open.len() >= OPEN_MAX {
            End::Unsent(DropReason::QueueFull)
        } else if self.front.request((call.method, &call.payload), &mut self.output) {
            self.open.push_back(Open { token, asked_at: now, call });
            return;
        } else {
            End::NotTaken
        };
        self.ended.push_back(Event { token, at: now, call, end });
    }

    /// The poller says that something can be done. Reads once. Drive afterwards.
    pub(super) fn on_ready(
        &mut self,
        now: Instant,
        poller: &Poller,
        readiness: Readiness,
        scratch: &mut [u8],
    ) {
        match &mut self.state {
            State::Dialing(dial) => match dial.on_ready(poller, readiness) {
                Dialed::Pending => {}
                Dialed::Connected(stream) => self.state = State::Up(stream),
                Dialed::Failed(error) => self.close(now, error.to_string()),
            },
            State::Up(stream) if readiness.readable => match stream.read(scratch) {
                Transfer::Bytes(count) => {
                    self.input.extend_from_slice(&scratch[..count]);
                    self.take_answers(now);
                }
                Transfer::WouldBlock => {}
                Transfer::Closed => self.close(now, "the server closed the connection".into()),
            },
            State::Up(_) | State::Apart(_) | State::Over(_) => {}
        }
    }

    /// Connects, or sends what the socket takes.
    pub(super) fn drive(&mut self, now: Instant, poller: &Poller) {
        if let State::Apart(address) = &self.state {
            let dialing = Dialing::to(address.clone());
            match Dial::begin(dialing, 0, poller, self.key) {
                Ok(dial) => self.state = State::Dialing(Box::new(dial)),
                Err(error) => self.close(now, error.to_string()),
            }
        }
        self.flush(now, poller);
    }

    /// A call that has ended. To be asked for until there is none after anything else was called.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.ended.pop_front()
    }

    pub(super) const fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }

    /// Calls that have not ended.
    pub(super) fn unfinished(&self) -> usize {
        self.open.len()
    }

    /// Why the connection is over, or did not come to be.
    pub(super) fn failure(&self) -> Option<&str> {
        match &self.state {
            State::Over(why) => Some(why),
            State::Apart(_) | State::Dialing(_) | State::Up(_) => None,
        }
    }

    pub(super) const fn losses(&self) -> Losses {
        self.lost
    }

    fn flush(&mut self, now: Instant, poller: &Poller) {
        let State::Up(stream) = &self.state else { return };
        while self.sent < self.output.len() {
            match stream.write(&self.output[self.sent..]) {
                Transfer::Bytes(count) => self.sent += count,
                Transfer::WouldBlock => break,
                Transfer::Closed => {
                    return self.close(now, "the server closed the connection".into());
                }
            }
        }
        // Moving the rest costs less than sending what was before it did.
        if self.sent * 2 >= self.output.len() {
            self.output.drain(..std::mem::take(&mut self.sent));
        }
        let waits = !self.output.is_empty();
        if waits != self.watches_output {
            self.watches_output = waits;
            let interest = Interest { readable: true, writable: waits };
            if let Err(errno) = poller.modify(stream, self.key, interest) {
                self.close(now, format!("the kernel does not watch the connection: {errno}"));
            }
        }
    }

    /// Ends the requests whose answers are whole.
    fn take_answers(&mut self, now: Instant) {
        let mut at = 0;
        let broken = loop {
            let rest = &self.input[at..];
            if rest.is_empty() {
                break None;
            }
            let Some(open) = self.open.front() else {
                break Some("the server said more than it was asked for");
            };
            match self.front.answer((open.call.method, &open.call.payload), rest) {
                Heard::More if rest.len() >= ANSWER_MAX => break Some("an answer has no end"),
                Heard::More => break None,
                Heard::Answer { used, status, payload } => {
                    at += used;
                    let end = |reply| End::Response { status, payload, reply };
                    self.end_oldest(now, Outcome::Served, end);
                }
                Heard::Refused { used, reason } => {
                    at += used;
                    let end = |reply| End::Rejected { reason: Some(reason), reply };
                    self.end_oldest(now, Outcome::Shed(reason), end);
                }
                Heard::Broken(why) => break Some(why),
            }
        };
        self.input.drain(..at);
        if let Some(why) = broken {
            // As an answer that is wrong, so that the run is void whatever else it says.
            let payload = why.as_bytes().to_vec();
            let end = |reply| End::Response { status: NO_ANSWER, payload, reply };
            self.end_oldest(now, Outcome::Served, end);
            self.lost.broken += 1;
            self.lose(now, why.into());
        }
    }

    /// The server has no clock and no offers here.
    fn end_oldest(&mut self, now: Instant, outcome: Outcome, end: impl FnOnce(Reply) -> End) {
        let Some(Open { token, asked_at, call }) = self.open.pop_front() else { return };
        let [sojourn, waited] = [Duration::ZERO; 2];
        let (offer, stamp, elapsed) = (Offer::OPEN, now.stamp(), now.since(asked_at));
        let reply = Reply { outcome, offer, stamp, elapsed, sojourn, waited };
        self.ended.push_back(Event { token, at: now, call, end: end(reply) });
    }

    fn close(&mut self, now: Instant, why: String) {
        self.lost.closed += 1;
        self.lose(now, why);
    }

    /// What was asked and not answered is lost.
    fn lose(&mut self, now: Instant, why: String) {
        self.state = State::Over(why);
        let lost = |Open { token, call, .. }| Event { token, at: now, call, end: End::Lost };
        self.ended.extend(self.open.drain(..).map(lost));
        (self.output, self.input, self.sent) = (Vec::new(), Vec::new(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::{FrontPlace, ServingFront};
    use crate::fleet::{Fleet, FleetError};
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use tailwater_control::Reason;
    use tailwater_core::MethodId;
    use tailwater_rt::client::Caller;
    use tailwater_rt::time::now;

    /// A protocol of lines, each of which answers one.
    struct Lines;

    impl ForeignFront for Lines {
        fn start(&self, _: &FrontPlace<'_>) -> Result<Box<dyn ServingFront>, String> {
            Err("the tests are the server".into())
        }

        fn request(&self, (method, line): (MethodId, &[u8]), bytes: &mut Vec<u8>) -> bool {
            if method == MethodId(1) {
                bytes.extend_from_slice(line);
                bytes.push(b'\n');
            }
            method == MethodId(1)
        }

        fn answer(&self, _: (MethodId, &[u8]), bytes: &[u8]) -> Heard {
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                return Heard::More;
            };
            let used = end + 1;
            match &bytes[..end] {
                b"no" => Heard::Refused { used, reason: Reason::QueueFull },
                b"?" => Heard::Broken("a riddle"),
                line => Heard::Answer { used, status: 0, payload: line.to_vec() },
            }
        }
    }

    fn call(method: MethodId, line: &[u8]) -> NewCall {
        let payload = bytes::Bytes::copy_from_slice(line);
        NewCall { method, payload, deadline: None, priority: 128, tenant: 0, caller: Caller::NONE }
    }

    /// A link, and the other end of its connection.
    struct Pair {
        link: ForeignLink,
        poller: Poller,
        server: TcpStream,
        scratch: Vec<u8>,
    }

    impl Pair {
        fn new() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
            let address = Address::Tcp(listener.local_addr().expect("bound"));
            let mut link = ForeignLink::new(Arc::new(Lines), address, 7);
            let poller = Poller::new().expect("a poller");
            link.drive(now(), &poller);
            let (server, _) = listener.accept().expect("it connects");
            let mut pair = Self { link, poller, server, scratch: vec![0; 64 << 10] };
            pair.turn_until(ForeignLink::is_up);
            pair
        }

        fn ask(&mut self, token: u64, line: &[u8]) {
            self.ask_by(MethodId(1), token, line);
        }

        fn ask_by(&mut self, method: MethodId, token: u64, line: &[u8]) {
            self.link.submit(now(), token, call(method, line));
            self.link.drive(now(), &self.poller);
        }

        fn turn(&mut self) {
            let mut ready = Vec::new();
            self.poller.wait(None, &mut ready);
            for readiness in ready {
                self.link.on_ready(now(), &self.poller, readiness, &mut self.scratch);
                self.link.drive(now(), &self.poller);
            }
        }

        fn turn_until(&mut self, is_done: impl Fn(&ForeignLink) -> bool) {
            while !is_done(&self.link) {
                self.turn();
            }
        }

        /// The server says this, which arrives.
        fn hear(&mut self, part: &[u8]) {
            self.server.write_all(part).expect("it is read");
            self.turn();
        }

        /// Calls that have ended since this was asked last: their tokens, and how.
        fn ends(&mut self) -> Vec<(u64, String)> {
            let told = |Event { token, end, .. }: Event| {
                let how = match end {
                    End::Response { status, payload, .. } => {
                        format!("{status} {}", String::from_utf8_lossy(&payload))
                    }
                    End::Rejected { reason, .. } => format!("refused {reason:?}"),
                    End::Unsent(why) => format!("unsent {why:?}"),
                    other => format!("{other:?}"),
                };
                (token, how)
            };
            std::iter::from_fn(|| self.link.poll_event()).map(told).collect()
        }
    }

    fn told<const N: usize>(ends: [(u64, &str); N]) -> Vec<(u64, String)> {
        ends.into_iter().map(|(token, how)| (token, how.to_owned())).collect()
    }

    #[test]
    fn answers_belong_to_requests_in_their_order_however_they_are_cut() {
        let whole = b"one\nno\nthree\n";
        for cut in 1..whole.len() {
            let mut pair = Pair::new();
            [5, 3, 9].into_iter().for_each(|token| pair.ask(token, b"x"));
            assert_eq!(pair.link.unfinished(), 3);
            pair.hear(&whole[..cut]);
            pair.hear(&whole[cut..]);
            pair.turn_until(|link| link.unfinished() == 0);
            let ends = told([(5, "0 one"), (3, "refused Some(QueueFull)"), (9, "0 three")]);
            assert_eq!(pair.ends(), ends, "cut at {cut}");
            assert!(pair.link.is_up() && pair.link.input.is_empty(), "cut at {cut}");
        }
    }

    #[test]
    fn a_server_that_closes_loses_what_it_has_not_answered_and_is_asked_nothing_more() {
        let mut pair = Pair::new();
        [1, 2].into_iter().for_each(|token| pair.ask(token, b"x"));
        pair.hear(b"one\n");
        pair.server.shutdown(std::net::Shutdown::Both).expect("it stands");
        pair.turn_until(|link| link.failure().is_some());
        pair.ask(3, b"x");
        let ends = told([(1, "0 one"), (2, "Lost"), (3, "unsent Disconnected")]);
        assert_eq!((pair.ends(), pair.link.unfinished()), (ends, 0));
        assert_eq!(pair.link.losses(), Losses { closed: 1, ..Losses::default() });
    }

    #[test]
    fn what_is_no_answer_is_a_wrong_one_and_ends_the_connection() {
        let mut pair = Pair::new();
        [1, 2].into_iter().for_each(|token| pair.ask(token, b"x"));
        pair.hear(b"?\n");
        assert_eq!(pair.ends(), told([(1, "65535 a riddle"), (2, "Lost")]));
        assert_eq!(pair.link.losses(), Losses { broken: 1, ..Losses::default() });
        assert_eq!(pair.link.failure(), Some("a riddle"));
    }

    #[test]
    fn more_answers_than_requests_end_the_connection() {
        let mut pair = Pair::new();
        pair.ask(1, b"x");
        pair.hear(b"one\ntwo\n");
        assert_eq!(pair.ends(), told([(1, "0 one")]));
        assert_eq!(pair.link.losses().broken, 1);
        assert_eq!(pair.link.failure(), Some("the server said more than it was asked for"));
    }

    #[test]
    fn an_answer_without_an_end_is_not_kept_for_ever() {
        let mut pair = Pair::new();
        pair.ask(1, b"x");
        let mut server = pair.server.try_clone().expect("a descriptor");
        // The link closes when it has had enough, perhaps before all was written.
        let says = std::thread::spawn(move || drop(server.write_all(&vec![b'x'; ANSWER_MAX])));
        pair.turn_until(|link| link.failure().is_some());
        assert_eq!(pair.ends(), told([(1, "65535 an answer has no end")]));
        assert_eq!(pair.link.input.capacity(), 0);
        says.join().expect("it has ended");
    }

    #[test]
    fn requests_beyond_the_bound_and_those_of_no_method_end_unsent() {
        let mut pair = Pair::new();
        pair.ask_by(MethodId(2), 7, b"x");
        assert_eq!(pair.ends(), told([(7, "NotTaken")]));
        (0..=OPEN_MAX as u64).for_each(|token| pair.ask(token, b"x"));
        assert_eq!(pair.ends(), told([(OPEN_MAX as u64, "unsent QueueFull")]));
        assert_eq!(pair.link.unfinished(), OPEN_MAX);
    }

    /// More than a socket takes.
    #[test]
    fn what_the_server_does_not_read_waits_and_goes_on_when_it_does() {
        const LINES: usize = 32;
        const LINE: usize = 1 << 20;
        let mut pair = Pair::new();
        let line = vec![b'x'; LINE];
        (0..LINES as u64).for_each(|token| pair.ask(token, &line));
        assert!(pair.link.watches_output, "the socket is full");
        let mut server = pair.server.try_clone().expect("a descriptor");
        let reads = std::thread::spawn(move || {
            let mut all = vec![0; LINES * (LINE + 1)];
            server.read_exact(&mut all).expect("all of it comes");
            all
        });
        pair.turn_until(|link| link.output.is_empty());
        let all = reads.join().expect("it has read");
        assert!(all.chunks(LINE + 1).all(|line| line.ends_with(b"x\n")));
        assert!(!pair.link.watches_output && pair.link.unfinished() == LINES);
    }

    #[test]
    fn where_nothing_listens_the_reason_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        drop(listener);
        let poller = Poller::new().expect("a poller");
        let mut link = ForeignLink::new(Arc::new(Lines), Address::Tcp(address), 7);
        link.drive(now(), &poller);
        let (mut ready, mut scratch) = (Vec::new(), [0; 64]);
        while link.failure().is_none() {
            poller.wait(None, &mut ready);
            for readiness in ready.drain(..) {
                link.on_ready(now(), &poller, readiness, &mut scratch);
            }
        }
        let why = link.failure().unwrap_or_default();
        assert!(why.contains(&address.to_string()) && why.contains("refused"), "{why}");
        assert!(!link.is_up() && link.losses().closed == 1);
    }

    /// What is said to no request is no wrong answer that a run could count.
    #[test]
    fn a_connection_that_is_lost_is_told_of_its_run_and_its_client_asks_nothing_more() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = Address::Tcp(listener.local_addr().expect("bound"));
        let front: Arc<dyn ForeignFront> = Arc::new(Lines);
        let begin = now();
        let mut fleet = Fleet::connect_foreign((&address, &front), 2, &[]).expect("connected");
        assert_eq!(fleet.connections(begin).trouble(), None);
        let [mut told, _silent] = [(); 2].map(|()| listener.accept().expect("a client").0);
        told.write_all(b"more\n").expect("it is read");
        while fleet.connections(begin).lost == 0 {
            fleet.turn(Duration::from_millis(10));
        }
        let found = fleet.connections(begin);
        assert_eq!((found.all, found.up, found.lost, found.remade), (2, 1, 1, 0));
        assert!(found.trouble().is_some(), "{found:?}");
        let lost = usize::from(fleet.stands(0));
        assert!(!fleet.stands(lost) && fleet.stands(1 - lost));
        fleet.submit(lost, now(), 7, call(MethodId(1), b"x"));
        let (client, event) = fleet.poll_event().expect("it has ended");
        let end = End::Unsent(DropReason::Disconnected);
        assert_eq!((client, event.token, event.end), (lost, 7, end));
    }

    #[test]
    fn where_nothing_listens_clients_are_counted_and_the_reason_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = Address::Tcp(listener.local_addr().expect("bound"));
        drop(listener);
        let front: Arc<dyn ForeignFront> = Arc::new(Lines);
        match Fleet::connect_foreign((&address, &front), 2, &[]) {
            Err(error @ FleetError::Unconnected { up: 0, wanted: 2, .. }) => {
                assert!(error.to_string().contains("refused"), "{error}");
            }
            other => panic!("{:?}", other.err()),
        }
    }
}
