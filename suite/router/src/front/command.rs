//! A client's command, sent on.

use super::exchange::Exchange;
use crate::nodes::{Nodes, Refusal, Ticket};
use std::io::Write as _;
use std::sync::Arc;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::buffers::Pool;
use tailwater_keyvalue::memcached::parse::{Bad, Command, How, Words};

/// Most keys of one get: what is under way for one client is bounded.
const KEYS_MAX: usize = 1_000;

/// What a command needs that is on its way: the nodes, and its own name.
pub(super) struct Way<'a> {
    pub(super) now: Instant,
    pub(super) nodes: &'a mut Nodes,
    pub(super) ticket: Ticket,
    pub(super) pool: &'a Arc<Pool>,
    /// Writes the lines of `stats`.
    pub(super) report: &'a dyn Fn(&Nodes, &mut Vec<u8>),
}

impl Way<'_> {
    /// Sends a command on, or answers it here.
    pub(super) fn send(mut self, command: Command<'_>) -> Exchange {
        let pool = self.pool.clone();
        let sent = match command {
            Command::Get { keys, with_cas } => self.get(keys, with_cas),
            Command::Store { how, key, flags, exptime, value, noreply } => {
                let stored = Stored { how, key, flags, exptime, value };
                self.store(&stored).map(|nodes| Exchange::of_writes(nodes, noreply, pool))
            }
            Command::Delete { key, noreply } => {
                self.write(key, &[b"delete ", key, b"\r\n"], noreply)
            }
            Command::Add { key, delta, up, noreply } => {
                let (verb, delta) = (if up { "incr " } else { "decr " }, delta.to_string());
                let text = [verb.as_bytes(), key, b" ", delta.as_bytes(), b"\r\n"];
                self.write(key, &text, noreply)
            }
            Command::Touch { key, exptime, noreply } => {
                let exptime = exptime.to_string();
                let text = [b"touch ", key, b" ", exptime.as_bytes(), b"\r\n"];
                self.write(key, &text, noreply)
            }
            Command::FlushAll { delay, noreply } => {
                let line = if delay == 0 {
                    "flush_all\r\n".into()
                } else {
                    format!("flush_all {delay}\r\n")
                };
                let sent = self.nodes.everywhere(self.now, self.ticket, |out| {
                    out.extend_from_slice(line.as_bytes());
                });
                sent.map(|nodes| Exchange::of_writes(nodes, noreply, pool))
            }
            Command::Stats { topic: b"" } => {
                let mut lines = Vec::new();
                (self.report)(self.nodes, &mut lines);
                lines.extend_from_slice(b"END");
                Ok(self.line(lines))
            }
            Command::Stats { .. } => Ok(self.line(b"CLIENT_ERROR stats has no topics here".into())),
            Command::Verbosity { noreply } => {
                Ok(self.line(if noreply { Vec::new() } else { b"OK".into() }))
            }
            // Clients read the number as the version of the protocol that is spoken.
            Command::Version => {
                Ok(self.line(concat!("VERSION 1.4.0-router-", env!("CARGO_PKG_VERSION")).into()))
            }
            Command::Quit => Ok(self.line(Vec::new())),
        };
        sent.unwrap_or_else(|Refusal(why)| {
            Exchange::of_line(why.into_bytes(), 0, self.pool.clone())
        })
    }

    /// Answers what is no command. An old value that a malformed `set` should have replaced must not stay.
    pub(super) fn refuse(self, bad: &Bad<'_>) -> Exchange {
        let line = bad.answer.as_bytes().to_vec();
        let Some(key) = bad.stale.filter(|key| !key.is_empty()) else { return self.line(line) };
        let delete = [b"delete ", key, b"\r\n"];
        let sent = self.nodes.write(self.now, self.ticket, key, |out| {
            delete.iter().for_each(|part| out.extend_from_slice(part));
        });
        // Where no node can be reached, none will be asked before it has forgotten.
        Exchange::of_line(line, sent.unwrap_or(0), self.pool.clone())
    }

    fn line(&self, line: Vec<u8>) -> Exchange {
        Exchange::of_line(line, 0, self.pool.clone())
    }

    fn get(&mut self, keys: Words<'_>, with_cas: bool) -> Result<Exchange, Refusal> {
        if with_cas {
            self.needs_one_replica("gets")?;
        }
        let count = keys.take(KEYS_MAX + 1).count();
        if count > KEYS_MAX {
            return Err(Refusal(format!(
                "SERVER_ERROR more than {KEYS_MAX} keys; ask for fewer at a time"
            )));
        }
        let mut exchange = Exchange::of_values(count as u32, self.pool.clone());
        for key in keys {
            if let Err(Refusal(why)) = self.nodes.get(self.now, self.ticket, key, with_cas) {
                exchange.end(crate::nodes::Outcome::Unreachable(&why));
            }
        }
        Ok(exchange)
    }

    fn store(&mut self, stored: &Stored<'_>) -> Result<u32, Refusal> {
        match stored.how {
            How::Cas(_) => self.needs_one_replica("cas")?,
            How::Add => self.needs_one_replica("add")?,
            How::Set | How::Replace | How::Append | How::Prepend => {}
        }
        self.nodes.write(self.now, self.ticket, stored.key, |out| stored.write(out))
    }

    fn write(&mut self, key: &[u8], text: &[&[u8]], noreply: bool) -> Result<Exchange, Refusal> {
        let nodes = self.nodes.write(self.now, self.ticket, key, |out| {
            text.iter().for_each(|part| out.extend_from_slice(part));
        })?;
        Ok(Exchange::of_writes(nodes, noreply, self.pool.clone()))
    }

    /// Each memcached has uniques of its own, and one that has forgotten a key would add what others hold.
    fn needs_one_replica(&self, command: &str) -> Result<(), Refusal> {
        match self.nodes.replicas() {
            1 => Ok(()),
            replicas => Err(Refusal(format!(
                "SERVER_ERROR {command} needs --replicas 1, and there are {replicas}: nodes do not agree about it"
            ))),
        }
    }
}

/// A storage command.
struct Stored<'a> {
    how: How,
    key: &'a [u8],
    flags: u32,
    exptime: i64,
    value: &'a [u8],
}

impl Stored<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { how, key, flags, exptime, value } = self;
        let verb: &[u8] = match how {
            How::Set => b"set ",
            How::Add => b"add ",
            How::Replace => b"replace ",
            How::Append => b"append ",
            How::Prepend => b"prepend ",
            How::Cas(_) => b"cas ",
        };
        out.reserve(key.len() + value.len() + 96);
        out.extend_from_slice(verb);
        out.extend_from_slice(key);
        let numbers = match how {
            How::Cas(unique) => write!(out, " {flags} {exptime} {} {unique}\r\n", value.len()),
            _ => write!(out, " {flags} {exptime} {}\r\n", value.len()),
        };
        numbers.expect("writing to memory does not fail");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
}
