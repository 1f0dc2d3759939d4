//! Carries commands out, and writes what memcached would answer.

use super::buffers::{Buffer, NoRoom};
use super::front::{Front, line};
use super::parse::{Bad, Command, How, TOO_LARGE, Words};
use super::stats;
use crate::locks::{Blocking, at_once};
use crate::store::{Arithmetic, Failure, Found, Put, Stored, When};
use std::io::Write as _;
use tailwater_sync::budget::{self, Budget};

/// Answers are handed out once they are this long, however many commands wait.
pub(super) const FLUSH_AT: usize = 64 << 10;
/// What stands beside the key and the value in an answer to a `get`, rounded up.
const VALUE_LINE_BYTES: usize = 64;

/// What is left of a `get` that has filled the output: so many bytes of keys, at the line's end, and what
/// the part before has left of the budget.
pub(super) struct Rest {
    pub(super) with_cas: bool,
    pub(super) len: usize,
    pub(super) budget: Option<Budget>,
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
        let result = match left.or(self.budget().map(Budget::new)) {
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
            let _ = at_once(self.store().delete(key, self.now()));
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
                (hit(at_once(self.store().delete(key, now))?, "DELETED"), noreply)
            }
            Command::Touch { key, exptime, noreply } => {
                let touched = at_once(self.store().touch(key, self.expires(exptime), now))?;
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
                    ..=0 => self.store().flush(),
                    _ => self.store().flush_at(self.expires(delay), now),
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
            let found =
                self.store().get(key, now, |found| fits = value(key, &found, with_cas, out));
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
        Ok(match at_once(self.store().add(key, delta, up, now))? {
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
                let found = at_once(self.store().extend(put.key, put.value, before, now))?;
                return Ok(if found { "STORED" } else { "NOT_STORED" });
            }
        };
        let stored = at_once(self.store().put(Put { when, ..put }, now));
        if matches!(stored, Err(Failure::OutOfMemory)) && how == How::Set {
            at_once(self.store().delete(put.key, now))?;
        }
        Ok(match stored? {
            Stored::Stored => "STORED",
            Stored::NotStored => "NOT_STORED",
            Stored::Changed => "EXISTS",
            Stored::NotFound => "NOT_FOUND",
        })
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
