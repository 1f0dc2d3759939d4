//! Carries commands out, and writes what memcached would answer.

use super::buffers::{Buffer, NoRoom, POOL_BYTES, Pool};
use super::parse::{Bad, Command, How, TOO_LARGE, Words};
use super::session::Session;
use super::stats;
use crate::locks::{Blocking, at_once};
use crate::store::{Arithmetic, Failure, Found, Put, Store, Stored, When};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tailwater_sync::budget::{self, Budget};

/// Answers are handed out once they are this long, however many commands wait.
pub(super) const FLUSH_AT: usize = 64 << 10;
/// What stands beside the key and the value in an answer to a `get`, rounded up.
const VALUE_LINE_BYTES: usize = 64;
/// Expiry times up to this are relative, in seconds; later ones are Unix times. memcached's rule.
const RELATIVE_MAX_S: i64 = 60 * 60 * 24 * 30;
/// The store's clock starts here, so that no time is zero, which means never.
const CLOCK_START_S: u32 = 2;

/// What is left of a `get` that has filled the output: so many bytes of keys, at the line's end, and what
/// the part before has left of the budget.
pub(super) struct Rest {
    pub(super) with_cas: bool,
    pub(super) len: usize,
    pub(super) budget: Option<Budget>,
}

/// A store as memcached's protocol presents it, shared by all connections.
#[derive(Debug)]
pub struct Front<L: Blocking> {
    store: Store<L>,
    budget: Option<Duration>,
    started: Instant,
    started_unix_s: i64,
    pub(super) pool: Arc<Pool>,
    pub(super) connections: Connections,
}

/// What became of connections, for `stats`.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub(super) open: AtomicU64,
    pub(super) ever: AtomicU64,
    /// Turned away, because places were taken.
    pub(super) rejected: AtomicU64,
    /// Ended for idleness: at the limit, or to make place for others.
    pub(super) idle_ended: AtomicU64,
}

/// Why a command failed.
enum Fault {
    Store(Failure),
    NoRoom,
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Store(failure)
    }
}

impl From<NoRoom> for Fault {
    fn from(_: NoRoom) -> Self {
        Self::NoRoom
    }
}

impl<L: Blocking> Front<L> {
    /// With a `budget`, a command that would wait longer than this for locks is answered
    /// `SERVER_ERROR busy` at once.
    #[must_use]
    pub fn new(store: Store<L>, budget: Option<Duration>) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            store,
            budget,
            started: Instant::now(),
            started_unix_s: i64::try_from(unix.as_secs()).unwrap_or(i64::MAX),
            pool: Arc::new(Pool::new(POOL_BYTES)),
            connections: Connections::default(),
        }
    }

    /// Bytes that all connections together may borrow, beyond 32 KiB of input and 128 KiB of output for
    /// each; default 64 MiB. A request that finds no room is answered `SERVER_ERROR out of memory` and ends
    /// its connection, an answer that finds none is that error. Below 4 MiB the largest commands may find
    /// no room although nothing is lent.
    #[must_use]
    pub fn with_buffers(self, bytes: usize) -> Self {
        Self { pool: Arc::new(Pool::new(bytes)), ..self }
    }

    /// A conversation about this store.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::new(self)
    }

    /// The store itself.
    pub const fn store(&self) -> &Store<L> {
        &self.store
    }

    /// Seconds since the server started.
    pub(super) fn uptime_s(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_secs()).unwrap_or(u32::MAX - CLOCK_START_S)
    }

    /// By the Unix clock as it was when the server started.
    pub(super) fn unix_s(&self) -> i64 {
        self.started_unix_s + i64::from(self.uptime_s())
    }

    pub(super) const fn budget(&self) -> Option<Duration> {
        self.budget
    }

    /// Carries `command` out and appends its answer. A `get` pauses when `out` has [`FLUSH_AT`] bytes;
    /// `left` is what an earlier part left of its budget. A command that fails leaves no half answer, except the
    /// parts of a `get` that were handed out before: the error comes where its `END` would.
    pub(super) fn answer(
        &self,
        command: Command<'_>,
        out: &mut Buffer,
        left: Option<Budget>,
    ) -> Option<Rest> {
        let start = out.bytes.len();
        let mut run = || match command {
            Command::Get { keys, with_cas } => self.get(keys, with_cas, out),
            command => Ok(self.run(command, &mut out.bytes).map(|()| None)?),
        };
        let result = match left.or(self.budget.map(Budget::new)) {
            Some(budget) => budget::scope(budget, run),
            None => run(),
        };
        result.unwrap_or_else(|fault| {
            // `noreply` does not silence an error, as in memcached.
            out.bytes.truncate(start);
            line(&mut out.bytes, explain(&fault));
            None
        })
    }

    /// What a malformed command changes: a `set` that fails must not leave the old value behind.
    pub(super) fn reject(&self, bad: &Bad<'_>, out: &mut Vec<u8>) {
        if let Some(key) = bad.stale {
            // Without a budget it is never refused, and a miss is as good.
            let _ = at_once(self.store.delete(key, self.now()));
        }
        if !bad.answer.is_empty() {
            line(out, bad.answer);
        }
    }

    fn run(&self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let now = self.now();
        let (answer, quiet) = match command {
            Command::Get { .. } | Command::Quit => return Ok(()),
            Command::Store { how, key, flags, exptime, value, noreply } => {
                let expires = self.expires(exptime);
                let put = Put { key, value, flags, expires, when: When::Always };
                (self.put(how, put, now)?, noreply)
            }
            Command::Delete { key, noreply } => {
                (hit(at_once(self.store.delete(key, now))?, "DELETED"), noreply)
            }
            Command::Touch { key, exptime, noreply } => {
                let touched = at_once(self.store.touch(key, self.expires(exptime), now))?;
                (hit(touched, "TOUCHED"), noreply)
            }
            Command::Add { key, delta, up, noreply } => match self.add(key, delta, up, now)? {
                Ok(number) => {
                    if !noreply {
                        line(out, &number.to_string());
                    }
                    return Ok(());
                }
                Err(answer) => (answer, noreply),
            },
            Command::FlushAll { delay, noreply } => {
                match delay {
                    ..=0 => self.store.flush(),
                    _ => self.store.flush_at(self.expires(delay), now),
                }
                ("OK", noreply)
            }
            Command::Verbosity { noreply } => ("OK", noreply),
            Command::Stats { topic } => {
                stats::write(self, topic, out);
                return Ok(());
            }
            // Clients read the number as the version of the protocol that is spoken.
            Command::Version => {
                (concat!("VERSION 1.4.0-tailwater-", env!("CARGO_PKG_VERSION")), false)
            }
        };
        if !quiet {
            line(out, answer);
        }
        Ok(())
    }

    fn get(
        &self,
        mut keys: Words<'_>,
        with_cas: bool,
        out: &mut Buffer,
    ) -> Result<Option<Rest>, Fault> {
        let now = self.now();
        while let Some(key) = keys.next() {
            let mut fits = Ok(());
            let found = self.store.get(key, now, |found| fits = value(key, &found, with_cas, out));
            at_once(found).map_err(Failure::from)?;
            fits?;
            if out.bytes.len() >= FLUSH_AT && keys.clone().next().is_some() {
                return Ok(Some(Rest { with_cas, len: keys.len(), budget: budget::current() }));
            }
        }
        line(&mut out.bytes, "END");
        Ok(None)
    }

    fn add(
        &self,
        key: &[u8],
        delta: u64,
        up: bool,
        now: u32,
    ) -> Result<Result<u64, &'static str>, Failure> {
        Ok(match at_once(self.store.add(key, delta, up, now))? {
            Arithmetic::Is(number) => Ok(number),
            Arithmetic::NotFound => Err("NOT_FOUND"),
            Arithmetic::NotANumber => {
                Err("CLIENT_ERROR cannot increment or decrement non-numeric value")
            }
        })
    }

    fn put(&self, how: How, put: Put<'_>, now: u32) -> Result<&'static str, Failure> {
        let when = match how {
            How::Set => When::Always,
            How::Add => When::Absent,
            How::Replace => When::Present,
            How::Cas(unique) => When::Unchanged(unique),
            How::Append | How::Prepend => {
                let before = how == How::Prepend;
                let found = at_once(self.store.extend(put.key, put.value, before, now))?;
                return Ok(if found { "STORED" } else { "NOT_STORED" });
            }
        };
        let stored = at_once(self.store.put(Put { when, ..put }, now));
        if matches!(stored, Err(Failure::OutOfMemory)) && how == How::Set {
            at_once(self.store.delete(put.key, now))?;
        }
        Ok(match stored? {
            Stored::Stored => "STORED",
            Stored::NotStored => "NOT_STORED",
            Stored::Changed => "EXISTS",
            Stored::NotFound => "NOT_FOUND",
        })
    }

    fn now(&self) -> u32 {
        self.uptime_s() + CLOCK_START_S
    }

    /// The second of the store's clock that `exptime` means; zero for never.
    fn expires(&self, exptime: i64) -> u32 {
        let now = i64::from(self.now());
        let at = match exptime {
            0 => return 0,
            ..0 => now,
            1..=RELATIVE_MAX_S => now + exptime,
            unix => now + unix.saturating_sub(self.unix_s()),
        };
        u32::try_from(at.clamp(1, i64::from(u32::MAX))).expect("just clamped")
    }
}

fn value(key: &[u8], found: &Found<'_>, with_cas: bool, out: &mut Buffer) -> Result<(), NoRoom> {
    out.reserve(key.len() + found.value.len() + VALUE_LINE_BYTES)?;
    let out = &mut out.bytes;
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    let numbers = if with_cas {
        write!(out, " {} {} {}\r\n", found.flags, found.value.len(), found.cas)
    } else {
        write!(out, " {} {}\r\n", found.flags, found.value.len())
    };
    numbers.expect("writing to memory does not fail");
    out.extend_from_slice(found.value);
    line(out, "");
    Ok(())
}

const fn hit(found: bool, word: &'static str) -> &'static str {
    if found { word } else { "NOT_FOUND" }
}

const fn explain(fault: &Fault) -> &'static str {
    let Fault::Store(failure) = fault else {
        return "SERVER_ERROR out of memory writing get response";
    };
    match failure {
        Failure::Refused(_) => "SERVER_ERROR busy: waiting for a lock does not fit the budget",
        Failure::OutOfMemory => "SERVER_ERROR out of memory storing object",
        Failure::TooLarge => TOO_LARGE,
        Failure::TooBusy => "SERVER_ERROR busy: the item keeps changing",
    }
}

pub(super) fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}
