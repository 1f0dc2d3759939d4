//! One attempt to connect, from a name to a stream that can be written to.
//!
//! A name is resolved, its addresses are tried in turn, TLS shakes hands. The attempt holds no thread and
//! has no time limit of its own: its owner drops it when it takes too long.

use super::resolve::Resolving;
use super::{Address, KeepAlive, Stream};
use crate::poll::{Interest, Poller, Readiness};
use rustix::io::Errno;
use std::fmt;
use std::net::SocketAddr;
use std::vec::IntoIter;

/// How to connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dialing {
    /// The server.
    pub address: Address,
    /// How a TCP server whose host is gone is noticed; `None` not at all.
    pub keep_alive: Option<KeepAlive>,
    /// How to speak TLS; `None` for not at all.
    #[cfg(feature = "tls")]
    pub tls: Option<super::tls::TlsClient>,
}

impl Dialing {
    /// To this server, without TLS; a TCP server whose host is gone is noticed after some 30 s.
    #[must_use]
    pub const fn to(address: Address) -> Self {
        Self {
            address,
            keep_alive: Some(KeepAlive::DEFAULT),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

/// An attempt that is under way. Dropping it ends it.
#[derive(Debug)]
pub struct Dial {
    dialing: Dialing,
    key: u64,
    /// Addresses of the name that were not tried yet.
    rest: IntoIter<SocketAddr>,
    /// Rotates a name's addresses: an attempt that its owner ended at a silent address is followed by one
    /// that begins at the next.
    attempt: usize,
    /// The address that is tried, or was last.
    at: Address,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Resolving(Resolving),
    Connecting(Stream),
    /// TLS shakes hands.
    #[cfg(feature = "tls")]
    Securing(Stream),
    Over,
}

/// How far an attempt has come.
#[derive(Debug)]
pub enum Dialed {
    /// Nothing is decided.
    Pending,
    /// It stands; the poller watches it for reading, under the attempt's key. If it
    /// [has unread](Stream::has_unread) bytes, the poller does not tell of them.
    Connected(Stream),
    /// It has failed at every address.
    Failed(DialError),
}

/// Why there is no connection: the address, and what the system, TLS or the server said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DialError(String);

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DialError {}

impl DialError {
    /// A connection to this server is over, or did not come to be: what it said.
    pub(crate) fn of(address: &Address, said: &dyn fmt::Display) -> Self {
        Self(format!("{address}: {said}"))
    }

    #[cfg(feature = "tls")]
    pub(crate) fn of_tls(address: &Address, said: &dyn fmt::Display) -> Self {
        Self(format!("TLS with {address} failed: {said}"))
    }
}

impl Dial {
    /// Begins the attempt of this number, counted by the caller from any number; the poller tells of it
    /// under `key`, and then [`Dial::on_ready`] is to be called.
    ///
    /// # Errors
    /// When it fails at once, as at a Unix socket on which nothing listens.
    pub fn begin(
        dialing: Dialing,
        attempt: usize,
        poller: &Poller,
        key: u64,
    ) -> Result<Self, DialError> {
        let (rest, stage) = (Vec::new().into_iter(), Stage::Over);
        let at = dialing.address.clone();
        let mut dial = Self { dialing, key, rest, attempt, at, stage };
        match dial.dialing.address.clone() {
            Address::Name(host, port) => {
                let resolving =
                    Resolving::begin(&host, port).map_err(|error| dial.unresolved(&error))?;
                poller
                    .add(&resolving, key, Interest::READ)
                    .map_err(|error| dial.unresolved(&error))?;
                dial.stage = Stage::Resolving(resolving);
            }
            address => dial.connect(address, poller)?,
        }
        Ok(dial)
    }

    /// The poller says that something can be done. Not to be called again after another answer than
    /// [`Dialed::Pending`].
    pub fn on_ready(&mut self, poller: &Poller, readiness: Readiness) -> Dialed {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Resolving(resolving) => self.on_answer(resolving, poller),
            Stage::Connecting(stream) if !readiness.writable => {
                self.stage = Stage::Connecting(stream);
                Dialed::Pending
            }
            Stage::Connecting(stream) => match stream.trouble() {
                Some(errno) => {
                    // Closed before the next is watched under the same key.
                    drop(stream);
                    self.go_on(unconnected(&self.at, errno), poller)
                }
                None => self.on_connected(stream, poller),
            },
            #[cfg(feature = "tls")]
            Stage::Securing(stream) => self.shake_hands(stream, poller),
            Stage::Over => Dialed::Failed(DialError("the attempt is over".into())),
        }
    }

    fn on_answer(&mut self, resolving: Resolving, poller: &Poller) -> Dialed {
        match resolving.take() {
            None => {
                self.stage = Stage::Resolving(resolving);
                Dialed::Pending
            }
            Some(Err(error)) => Dialed::Failed(self.unresolved(&error)),
            Some(Ok(mut found)) => {
                let first = self.attempt % found.len().max(1);
                found.rotate_left(first);
                self.rest = found.into_iter();
                self.go_on(self.unresolved(&"the name has no address"), poller)
            }
        }
    }

    /// Tries the name's next address; without one, the attempt has failed as the last did.
    fn go_on(&mut self, mut failed: DialError, poller: &Poller) -> Dialed {
        while let Some(address) = self.rest.next() {
            match self.connect(Address::Tcp(address), poller) {
                Ok(()) => return Dialed::Pending,
                Err(error) => failed = error,
            }
        }
        Dialed::Failed(failed)
    }

    fn connect(&mut self, address: Address, poller: &Poller) -> Result<(), DialError> {
        let connecting = Stream::connect(&address).and_then(|stream| {
            if let Some(keep_alive) = self.dialing.keep_alive {
                stream.set_keep_alive(keep_alive)?;
            }
            poller.add(&stream, self.key, Interest::WRITE)?;
            Ok(stream)
        });
        self.at = address;
        self.stage = Stage::Connecting(connecting.map_err(|errno| unconnected(&self.at, errno))?);
        Ok(())
    }

    fn on_connected(&mut self, stream: Stream, poller: &Poller) -> Dialed {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.dialing.tls {
            return match stream.secure_as_client(tls, &self.dialing.address) {
                Ok(stream) => self.shake_hands(stream, poller),
                Err(error) => Dialed::Failed(self.unsafe_to_use(&error)),
            };
        }
        self.hand_over(stream, poller)
    }

    #[cfg(feature = "tls")]
    fn shake_hands(&mut self, stream: Stream, poller: &Poller) -> Dialed {
        if !stream.shake_hands() {
            let why = stream.tls_failure().unwrap_or_else(|| "the connection broke".into());
            return Dialed::Failed(self.unsafe_to_use(&why));
        }
        if !stream.is_handshaking() {
            return self.hand_over(stream, poller);
        }
        match poller.modify(&stream, self.key, stream.interest(Interest::READ)) {
            Ok(()) => {
                self.stage = Stage::Securing(stream);
                Dialed::Pending
            }
            Err(errno) => Dialed::Failed(self.unsafe_to_use(&errno)),
        }
    }

    fn hand_over(&self, stream: Stream, poller: &Poller) -> Dialed {
        match poller.modify(&stream, self.key, stream.interest(Interest::READ)) {
            Ok(()) => Dialed::Connected(stream),
            Err(errno) => Dialed::Failed(unconnected(&self.at, errno)),
        }
    }

    fn unresolved(&self, error: &dyn fmt::Display) -> DialError {
        DialError(format!("cannot resolve {}: {error}", self.dialing.address))
    }

    #[cfg(feature = "tls")]
    fn unsafe_to_use(&self, error: &dyn fmt::Display) -> DialError {
        DialError::of_tls(&self.dialing.address, error)
    }
}

fn unconnected(address: &Address, errno: Errno) -> DialError {
    DialError(format!("cannot connect to {address}: {errno}"))
}
