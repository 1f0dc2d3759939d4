//! A client without manners: a blocking socket and frames made one by one.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use tailwater_core::{MethodId, RequestId, Stamp};
use tailwater_rt::Address;
use tailwater_wire::{
    GoodbyeCode, Grant, Hello, Limits, Request, ServerFrame, VERSION_MAX, VERSION_MIN, Welcome,
    decode_from_server,
};

/// What a server said, out of its buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The answer to HELLO.
    Welcome(Welcome),
    /// An answer: id, payload, window.
    Response(u64, Vec<u8>, Grant),
    /// A refusal: id, reason, window.
    Reject(u64, u16, Grant),
    /// A window.
    Credit(Grant),
    /// Whether this end is there: the token.
    Ping(u64),
    /// The server is there: the token that it was asked with.
    Pong(u64),
    /// The server's last frame: why, and its words.
    Goodbye(GoodbyeCode, String),
    /// The end of the stream.
    End,
    /// The connection was broken off.
    Reset,
}

/// A request with the fields that tests vary.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Comes back in the answer.
    pub id: u64,
    /// Which procedure.
    pub method: u16,
    /// Whether it registers.
    pub register: bool,
    /// Calls said to wait.
    pub demand: u32,
    /// The newest window said to be known.
    pub acked: u32,
    /// The arguments.
    pub payload: &'a [u8],
}

impl<'a> Call<'a> {
    /// A registering call of `method` with nothing optional.
    #[must_use]
    pub const fn new(id: u64, method: u16, payload: &'a [u8]) -> Self {
        Self { id, method, register: true, demand: 0, acked: 0, payload }
    }

    /// As bytes.
    ///
    /// # Panics
    /// When the payload is longer than a frame may be.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let request = Request {
            id: RequestId(self.id),
            method: MethodId(self.method),
            register: self.register,
            demand: self.demand,
            acked: self.acked,
            echo: None,
            sent_at: Stamp(0),
            budget_us: 0,
            tenant: 0,
            priority: 128,
            payload: self.payload,
        };
        request.encode(&Limits::default(), &mut bytes).expect("the test's payload fits");
        bytes
    }
}

/// A HELLO that offers these versions.
#[must_use]
pub fn hello(version_min: u16, version_max: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    Hello {
        version_min,
        version_max,
        features: 0,
        max_frame: Limits::DEFAULT,
        client_id: 0,
        tenant: 0,
    }
    .encode(&mut bytes);
    bytes
}

/// A client on a blocking socket, which follows no rule by itself.
#[derive(Debug)]
pub struct Peer {
    stream: TcpStream,
    input: Vec<u8>,
}

/// A server that says nothing for so long has failed the test.
const PATIENCE: Duration = Duration::from_secs(30);

impl Peer {
    /// Connects and says nothing.
    ///
    /// # Panics
    /// When nobody listens.
    #[must_use]
    pub fn connect(address: &Address) -> Self {
        let Address::Tcp(address) = address else {
            panic!("raw peers speak TCP, {address} found");
        };
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a live socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("above zero");
        stream.set_write_timeout(Some(PATIENCE)).expect("above zero");
        Self { stream, input: Vec::new() }
    }

    /// Says HELLO and hears WELCOME.
    ///
    /// # Panics
    /// When something else comes.
    pub fn greet(&mut self) -> Welcome {
        self.say(&hello(VERSION_MIN, VERSION_MAX));
        match self.hear() {
            Heard::Welcome(welcome) => welcome,
            other => panic!("WELCOME was due, {other:?} came"),
        }
    }

    /// Says HELLO, and hears whether it was in time.
    ///
    /// # Panics
    /// When something else comes.
    pub fn is_greeted(&mut self) -> bool {
        self.say(&hello(VERSION_MIN, VERSION_MAX));
        match self.hear() {
            Heard::Welcome(_) => true,
            // The reset answers a HELLO behind the farewell.
            Heard::Goodbye(GoodbyeCode::Idle, _) | Heard::Reset => false,
            other => panic!("WELCOME was due, {other:?} came"),
        }
    }

    /// Sends bytes; a server that has closed meanwhile is found out by [`Peer::hear`].
    pub fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends what the socket takes at once; false when the server is gone or takes nothing for half
    /// a minute.
    pub fn try_say(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends a call.
    pub fn call(&mut self, call: &Call<'_>) {
        self.say(&call.bytes());
    }

    /// The next frame, or the end.
    ///
    /// # Panics
    /// When none comes, or bytes that are no frame.
    pub fn hear(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.parse() {
                return heard;
            }
            let mut bytes = [0; 16 << 10];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Heard::End,
                Ok(count) => self.input.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Heard::Reset,
                Err(error) => panic!("the server says nothing: {error}"),
            }
        }
    }

    /// Everything up to the end of the stream.
    pub fn hear_out(&mut self) -> Vec<Heard> {
        let mut all = Vec::new();
        loop {
            match self.hear() {
                Heard::End | Heard::Reset => return all,
                heard => all.push(heard),
            }
        }
    }

    /// Hears everything to the end; the last of it must be a GOODBYE, whose code is returned.
    ///
    /// # Panics
    /// When it is something else.
    pub fn farewell(&mut self) -> GoodbyeCode {
        match self.hear_out().pop() {
            Some(Heard::Goodbye(code, _)) => code,
            other => panic!("GOODBYE was due before the end, {other:?} came"),
        }
    }

    /// Takes up to `most` bytes from the socket and throws them away; how many there were, zero at
    /// the end or when the connection is broken.
    pub fn swallow(&mut self, most: usize) -> usize {
        let mut bytes = vec![0; most];
        self.stream.read(&mut bytes).unwrap_or(0)
    }

    /// Gives the memory of its own buffer back.
    pub fn forget_input(&mut self) {
        self.input.shrink_to_fit();
    }

    /// Says that it will send no more.
    pub fn finish(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The bare socket.
    #[must_use]
    pub const fn socket(&self) -> &TcpStream {
        &self.stream
    }

    fn parse(&mut self) -> Option<Heard> {
        let limits = Limits::default();
        let decoded = decode_from_server(&self.input, &limits);
        let (frame, length) = decoded.expect("a server sends only frames")?;
        let heard = match frame {
            ServerFrame::Welcome(welcome) => Heard::Welcome(welcome),
            ServerFrame::Response(response) => {
                Heard::Response(response.head.id.0, response.payload.to_vec(), response.head.grant)
            }
            ServerFrame::Reject(reject) => {
                Heard::Reject(reject.head.id.0, reject.reason, reject.head.grant)
            }
            ServerFrame::Credit(credit) => Heard::Credit(credit.grant),
            ServerFrame::Ping(ping) => Heard::Ping(ping.token),
            ServerFrame::Pong(pong) => Heard::Pong(pong.token),
            ServerFrame::Goodbye(goodbye) => {
                let code = goodbye.reason().expect("a server's codes are known");
                Heard::Goodbye(code, goodbye.text.into())
            }
        };
        self.input.drain(..length);
        Some(heard)
    }
}
