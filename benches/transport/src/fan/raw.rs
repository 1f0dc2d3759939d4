//! The yardstick: a fan-out in which nothing is done but what the kernel demands.
//!
//! One thread, level-triggered epoll. Each turn takes what is ready by one `recv` for each socket, then sends what
//! that brought by one `send` for each socket that has something. No sessions, no credits, no queue, no clock.

use super::{FanArgs, LEAVES};
use crate::poller::Poller;
use crate::raw::{
    CONNECTIONS_MAX, FRAME_MAX, HELLO, LISTENER, REQUEST, RESPONSE, SCRATCH, WELCOME, accept,
    address_of, each_frame, listen, respond, socket, welcome,
};
use crate::{host, ready};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};
use std::net::SocketAddr;
use tailwater_wire::{Hello, VERSION_MAX, VERSION_MIN};

/// Serves until killed.
pub(crate) fn serve(args: &FanArgs) -> Result<(), String> {
    host::pin(args.core)?;
    host::raise_descriptor_limit();
    let mut fan = Fan::start(args).map_err(|error| error.to_string())?;
    ready::announce(address_of(&fan.listener)?)?;
    loop {
        fan.turn()?;
    }
}

struct Fan {
    poller: Poller,
    listener: OwnedFd,
    /// The leaves, then the clients; closed ones are `None` until their place is taken again.
    ends: Vec<Option<End>>,
    queries: Queries,
    /// Ends with something to be sent.
    dirty: Vec<usize>,
    input: Vec<u8>,
    /// Connections that there were.
    number: u64,
    copies: bool,
}

/// One connection.
struct End {
    socket: OwnedFd,
    /// No other has it.
    number: u64,
    /// The beginning of a frame whose end has not come yet.
    tail: Vec<u8>,
    output: Vec<u8>,
    is_dirty: bool,
}

/// Requests whose leaves have not all answered, by number. Clients' windows of a closed loop bound them.
#[derive(Default)]
struct Queries {
    all: Vec<Query>,
    free: Vec<usize>,
}

#[derive(Default)]
struct Query {
    /// The client's place and number.
    client: (usize, u64),
    id: [u8; 8],
    payload: Vec<u8>,
    left: usize,
}

impl End {
    fn new(socket: OwnedFd, number: u64) -> Self {
        Self { socket, number, tail: Vec::new(), output: Vec::new(), is_dirty: false }
    }

    /// Greets a leaf. What it says comes later.
    fn connect(leaf: SocketAddr, number: u64) -> Result<Self, Errno> {
        let socket = socket(leaf)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match rustix::net::connect(&socket, &leaf) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        let mut end = Self::new(socket, number);
        let hello = Hello {
            version_min: VERSION_MIN,
            version_max: VERSION_MAX,
            features: 0,
            max_frame: FRAME_MAX,
            client_id: number,
            tenant: 0,
        };
        hello.encode(&mut end.output);
        Ok(end)
    }

    /// One `recv`, behind what was kept. `None`: the connection is over.
    fn receive(&mut self, input: &mut [u8]) -> Option<usize> {
        let kept = self.tail.len();
        input[..kept].copy_from_slice(&self.tail);
        match rustix::net::recv(&self.socket, &mut input[kept..], RecvFlags::empty()) {
            Ok((0, _)) => None,
            Ok((received, _)) => Some(kept + received),
            Err(Errno::AGAIN | Errno::INTR) => Some(kept),
            Err(_) => None,
        }
    }

    /// One `send`. False: the connection is over, or takes no more, which a closed loop's never does.
    fn flush(&mut self) -> bool {
        self.is_dirty = false;
        let sent = rustix::net::send(&self.socket, &self.output, SendFlags::NOSIGNAL);
        let all = sent == Ok(self.output.len());
        self.output.clear();
        all
    }
}

impl Fan {
    fn start(args: &FanArgs) -> Result<Self, Errno> {
        let poller = Poller::new(args.reception, None)?;
        let listener = listen(args.listen)?;
        poller.watch(&listener, LISTENER)?;
        let mut ends = Vec::new();
        for key in 0..LEAVES {
            let leaf = End::connect(args.leaf, key as u64)?;
            poller.watch(&leaf.socket, key)?;
            ends.push(Some(leaf));
        }
        // On loopback the connections stand at once, and take their greetings.
        for leaf in ends.iter_mut().flatten() {
            assert!(leaf.flush(), "a leaf does not take its greeting");
        }
        Ok(Self {
            poller,
            listener,
            ends,
            queries: Queries::default(),
            dirty: Vec::new(),
            input: vec![0; SCRATCH],
            number: LEAVES as u64,
            copies: args.copies,
        })
    }

    fn turn(&mut self) -> Result<(), String> {
        for index in 0..self.poller.wait().map_err(|error| error.to_string())? {
            match self.poller.key(index) {
                LISTENER => self.accept().map_err(|error| error.to_string())?,
                key if self.take(key).is_none() => self.close(key)?,
                _ => {}
            }
        }
        while let Some(key) = self.dirty.pop() {
            if self.ends[key].as_mut().is_some_and(|end| !end.flush()) {
                self.close(key)?;
            }
        }
        Ok(())
    }

    fn close(&mut self, key: usize) -> Result<(), String> {
        self.ends[key] = None;
        if key < LEAVES {
            Err(format!("leaf {key} is gone, or said what no leaf says"))
        } else {
            Ok(())
        }
    }

    fn accept(&mut self) -> Result<(), Errno> {
        while let Some(socket) = accept(&self.listener)? {
            let free = self.ends.iter().position(Option::is_none);
            let key = free.unwrap_or(self.ends.len());
            if key >= CONNECTIONS_MAX {
                continue;
            }
            self.poller.watch(&socket, key)?;
            let end = Some(End::new(socket, self.number));
            self.number += 1;
            match free {
                Some(key) => self.ends[key] = end,
                None => self.ends.push(end),
            }
        }
        Ok(())
    }

    /// What an end says. `None`: close the connection.
    fn take(&mut self, key: usize) -> Option<()> {
        let mut input = std::mem::take(&mut self.input);
        let taken = self.take_with(key, &mut input);
        self.input = input;
        taken
    }

    fn take_with(&mut self, key: usize, input: &mut [u8]) -> Option<()> {
        let length = self.ends[key].as_mut()?.receive(input)?;
        let kinds = if key < LEAVES { [WELCOME, RESPONSE] } else { [HELLO, REQUEST] };
        let used = each_frame(&input[..length], kinds, |kind, frame| match (kind, frame) {
            (kind, frame) if kind == REQUEST.0 => self.ask(key, frame),
            (kind, frame) if kind == RESPONSE.0 => self.answer(frame),
            (kind, _) if kind == HELLO.0 => self.say(key, welcome),
            _ => Some(()),
        })?;
        let tail = &mut self.ends[key].as_mut()?.tail;
        tail.clear();
        tail.extend_from_slice(&input[used..length]);
        Some(())
    }

    /// Goes on to all leaves, under a number of our own.
    fn ask(&mut self, client: usize, frame: &[u8]) -> Option<()> {
        let copied = self.copies.then(|| frame.to_vec());
        let frame = copied.as_deref().unwrap_or(frame);
        let slot = self.queries.free.pop().unwrap_or(self.queries.all.len());
        if slot == self.queries.all.len() {
            self.queries.all.push(Query::default());
        }
        let query = &mut self.queries.all[slot];
        query.client = (client, self.ends[client].as_ref()?.number);
        query.left = LEAVES;
        query.id = frame[8..16].try_into().ok()?;
        query.payload.clear();
        query.payload.extend_from_slice(&frame[REQUEST.1..]);
        for leaf in 0..LEAVES {
            self.say(leaf, |output| {
                let begin = output.len();
                output.extend_from_slice(frame);
                output[begin + 8..begin + 16].copy_from_slice(&(slot as u64).to_le_bytes());
            })?;
        }
        Some(())
    }

    /// Counts down, and answers with the last.
    fn answer(&mut self, frame: &[u8]) -> Option<()> {
        let slot = u64::from_le_bytes(frame[8..16].try_into().ok()?) as usize;
        let query = self.queries.all.get_mut(slot)?;
        if query.left == 0 || frame[RESPONSE.1..] != query.payload {
            return None;
        }
        query.left -= 1;
        if query.left > 0 {
            return Some(());
        }
        let query = std::mem::take(query);
        let (client, number) = query.client;
        if self.ends[client].as_ref().is_some_and(|end| end.number == number) {
            self.say(client, |output| respond(&query.id, &query.payload, output))?;
        }
        self.queries.all[slot] = query;
        self.queries.free.push(slot);
        Some(())
    }

    fn say(&mut self, key: usize, what: impl FnOnce(&mut Vec<u8>)) -> Option<()> {
        let end = self.ends[key].as_mut()?;
        what(&mut end.output);
        if !std::mem::replace(&mut end.is_dirty, true) {
            self.dirty.push(key);
        }
        Some(())
    }
}
