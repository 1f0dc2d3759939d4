//! A client's command, sent on.

use super::exchange::Exchange;
use crate::nodes::{DELETE, Nodes, Outcome, Refusal, Ticket};
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::buffers::Share;
use tailwater_keyvalue::memcached::parse::{Bad, Command, How, Words};

/// Most keys of one get: what is under way for one client is bounded.
const KEYS_MAX: usize = 1_000;
/// Longest delay of `flush_all` in seconds; memcached takes more for a Unix time.
const DELAY_MAX: i64 = 60 * 60 * 24 * 30;
/// memcached's words for a line that it cannot read, and why this one is none.
const BAD_EXPTIME: &str =
    "CLIENT_ERROR bad command line format: an expiry time of 32 bits is needed";

/// What a command needs that is on its way: the nodes, and its own name.
pub(super) struct Way<'a> {
    pub(super) now: Instant,
    pub(super) nodes: &'a mut Nodes,
    pub(super) ticket: Ticket,
    /// Of the client.
    pub(super) share: &'a mut Share,
    /// Writes the lines of `stats`.
    pub(super) report: &'a dyn Fn(&Nodes, &mut Vec<u8>),
}

impl Way<'_> {
    /// Sends a command on, or answers it here.
    pub(super) fn send(mut self, command: Command<'_>) -> Exchange {
        let is_quiet = is_quiet(&command);
        let sent = match command {
            Command::Get { keys, with_cas } => self.get(keys, with_cas),
            Command::Store { how, key, flags, exptime, value, .. } => {
                self.store(&Stored { how, key, flags, exptime, value }, is_quiet)
            }
            Command::Delete { key, .. } => self.write(key, &[DELETE, key, b"\r\n"], is_quiet),
            Command::Add { key, delta, up, .. } => {
                let (verb, delta) = (if up { "incr " } else { "decr " }, delta.to_string());
                let command = [verb.as_bytes(), key, b" ", delta.as_bytes(), b"\r\n"];
                self.write(key, &command, is_quiet)
            }
            Command::Touch { key, exptime, .. } => {
                let exptime = exptime.to_string();
                let command = [b"touch ", key, b" ", exptime.as_bytes(), b"\r\n"];
                self.write(key, &command, is_quiet)
            }
            Command::FlushAll { delay, .. } => self.empty(delay, is_quiet),
            Command::Stats { topic: b"" } => {
                let mut lines = Vec::new();
                (self.report)(self.nodes, &mut lines);
                lines.extend_from_slice(b"END");
                Ok(self.line(&lines, false))
            }
            Command::Stats { .. } => Ok(self.line(b"CLIENT_ERROR stats has no topics here", false)),
            Command::Verbosity { .. } => Ok(self.line(b"OK", is_quiet)),
            // Clients read the number as the version of the protocol that is spoken.
            Command::Version => {
                let version = concat!("VERSION 1.4.0-router-", env!("CARGO_PKG_VERSION"));
                Ok(self.line(version.as_bytes(), false))
            }
            Command::Quit => Ok(self.line(b"", false)),
        };
        sent.unwrap_or_else(|Refusal(why)| self.line(why.as_bytes(), is_quiet))
    }

    /// Answers what is no command. An old value that a malformed `set` should have replaced must not stay: where that
    /// cannot be reached, the answer says so.
    pub(super) fn refuse(self, bad: &Bad<'_>) -> Exchange {
        let Some(key) = bad.stale else {
            return Exchange::of_line(bad.answer.as_bytes(), bad.noreply, self.share);
        };
        let sent = self.nodes.write(self.now, self.ticket, key, &[DELETE, key, b"\r\n"]);
        Exchange::of_dropping(bad.answer, sent.unwrap_or(0), bad.noreply, self.share)
    }

    fn line(&mut self, line: &[u8], is_quiet: bool) -> Exchange {
        Exchange::of_line(line, is_quiet, self.share)
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
        let mut exchange = Exchange::of_values(count as u32);
        for key in keys {
            if let Err(Refusal(why)) = self.nodes.get(self.now, self.ticket, key, with_cas) {
                exchange.end(Outcome::Unreachable(&why), self.share);
            }
        }
        Ok(exchange)
    }

    fn store(&mut self, stored: &Stored<'_>, is_quiet: bool) -> Result<Exchange, Refusal> {
        match stored.how {
            How::Cas(_) => self.needs_one_replica("cas")?,
            How::Add => self.needs_one_replica("add")?,
            How::Set | How::Replace | How::Append | How::Prepend => {}
        }
        // memcached reads 32 bits. It refuses the line beyond these, and would take the value behind it for a command.
        if i32::try_from(stored.exptime).is_err() {
            return Err(Refusal(BAD_EXPTIME.into()));
        }
        let (verb, rest) = stored.words();
        let command =
            [verb.as_bytes(), stored.key, rest.as_bytes(), b"\r\n", stored.value, b"\r\n"];
        self.write(stored.key, &command, is_quiet)
    }

    fn write(
        &mut self,
        key: &[u8],
        command: &[&[u8]],
        is_quiet: bool,
    ) -> Result<Exchange, Refusal> {
        let nodes = self.nodes.write(self.now, self.ticket, key, command)?;
        // Eight at most.
        Ok(Exchange::of_writes(nodes, self.nodes.replicas() as u32, is_quiet))
    }

    /// After a delay the router itself empties the nodes: each would do it by its own clock.
    fn empty(&mut self, delay_s: i64, is_quiet: bool) -> Result<Exchange, Refusal> {
        match u64::try_from(delay_s) {
            Err(_) | Ok(0) => {
                let nodes = self.nodes.empty(self.now, self.ticket)?;
                Ok(Exchange::of_writes(nodes, nodes, is_quiet))
            }
            Ok(delay) if delay_s <= DELAY_MAX => {
                self.nodes.empty_at(self.now + Duration::from_secs(delay));
                Ok(self.line(b"OK", is_quiet))
            }
            Ok(_) => Err(Refusal(format!(
                "CLIENT_ERROR flush_all waits for {DELAY_MAX} seconds at most, and takes no time of day"
            ))),
        }
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

const fn is_quiet(command: &Command<'_>) -> bool {
    match command {
        Command::Store { noreply, .. }
        | Command::Delete { noreply, .. }
        | Command::Add { noreply, .. }
        | Command::Touch { noreply, .. }
        | Command::FlushAll { noreply, .. }
        | Command::Verbosity { noreply } => *noreply,
        Command::Get { .. } | Command::Stats { .. } | Command::Version | Command::Quit => false,
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
    /// What stands before the key, and what behind it.
    fn words(&self) -> (&'static str, String) {
        let Self { how, flags, exptime, value, .. } = self;
        let verb = match how {
            How::Set => "set ",
            How::Add => "add ",
            How::Replace => "replace ",
            How::Append => "append ",
            How::Prepend => "prepend ",
            How::Cas(_) => "cas ",
        };
        let numbers = format!(" {flags} {exptime} {}", value.len());
        let rest = match how {
            How::Cas(unique) => format!("{numbers} {unique}"),
            _ => numbers,
        };
        (verb, rest)
    }
}
